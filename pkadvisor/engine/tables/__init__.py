"""The table service on rows: entities, preconditions, groups, pages, tables; and a queue with its recipe."""

"""Sets of entities that change together: groups with something in common, and pairs."""

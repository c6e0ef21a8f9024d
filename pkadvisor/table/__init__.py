"""The vocabulary of a table store: types, filters, keys and what the service counts."""

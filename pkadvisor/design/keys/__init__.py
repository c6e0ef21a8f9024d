"""Key schemes as values: templates, the transforms in them, what a filter says about a key, and keys read from data."""

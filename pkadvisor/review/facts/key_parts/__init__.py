"""Facts of the variable parts of keys."""

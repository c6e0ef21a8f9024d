"""A design file made of what a person has: an export of a table, its storage log, or one of them."""

"""Documents as text pages for a terminal."""

"""Query logs: one module for each format, and what is counted of them."""

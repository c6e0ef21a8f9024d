"""The rows at hand as columns of codes: groups, counts, what a request asks of them, and when they come."""

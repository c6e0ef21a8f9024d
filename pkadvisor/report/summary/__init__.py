"""The verdict on each table of a result with what stands beside it, as values: terminal and HTML pages draw them."""

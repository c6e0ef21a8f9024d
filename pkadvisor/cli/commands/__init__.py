"""One module for each command: its options, its use case, its output."""

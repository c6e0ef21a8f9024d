"""What a request sends: programs on rows, recorded as scripts, and how clients retry."""

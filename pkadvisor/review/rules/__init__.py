"""Rules: their files, their evaluation, and the built-in ones."""

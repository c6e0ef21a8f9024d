"""Rules read from the files in ``rules/``, their evaluation, and the built-in ones."""

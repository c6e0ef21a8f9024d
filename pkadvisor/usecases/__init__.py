"""A module or a folder for each command that computes something: from what was given to a document, without a word."""

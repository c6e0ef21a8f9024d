"""The use cases, one module for each command: from what was given to a document. Nothing here prints."""

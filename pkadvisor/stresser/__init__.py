"""The use case behind ``advisor stress``: from what was given to a stress result. Nothing here prints."""

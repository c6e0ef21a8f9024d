"""The one canonical result and everything rendered from it."""

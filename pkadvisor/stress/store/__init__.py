"""Runs on a store: the embedded engine or a real endpoint, with every answer audited."""

"""Profiles: what a data set looks like, as a document that stands in for it."""

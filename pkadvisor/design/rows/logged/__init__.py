"""Logs as rows and classes: choices in filters, what inserts do not tell, which classes are one."""

"""Runs as arithmetic: the fluid model, the loop in time, clients, and what was measured."""

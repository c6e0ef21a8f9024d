"""Runs as arithmetic: the fluid model, the loop in time, clients, the map that warms up, and what was measured."""

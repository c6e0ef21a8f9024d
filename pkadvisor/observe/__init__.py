"""Reads data sets, query logs, design files and profiles."""

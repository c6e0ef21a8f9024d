"""Data sets: CSV, JSON lines and Parquet read as typed columns, in blocks."""

"""One extent node: its devices, its catalog, replicas and fragments of extents, their checks."""

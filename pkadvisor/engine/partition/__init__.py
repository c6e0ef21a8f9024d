"""The partition layer: ranges on streams, the servers that hold them, their manager, the way to them."""

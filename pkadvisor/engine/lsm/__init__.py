"""A log-structured merge tree over streams: memory table, checkpoints with index and Bloom filter, page cache."""

"""A design and all that is known of it, as rules look at it: subjects, keys, queries, loads, findings."""

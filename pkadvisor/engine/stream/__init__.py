"""The stream layer: blocks in extents in streams, three replicas of each, append only."""

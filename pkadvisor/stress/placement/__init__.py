"""Where keys lie: the map from partitions to servers as it splits and moves, and the result of a run."""

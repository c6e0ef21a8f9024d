"""What a sample tells of the whole table: sizes of groups, what was not seen, intervals."""

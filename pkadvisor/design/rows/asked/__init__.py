"""What requests ask for: operands of their conditions on the sampled rows, and the rows that match."""

"""What a verdict rests on, and whether that carries it."""

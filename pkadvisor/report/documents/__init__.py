"""Results and reviews as JSON documents, and documents read back."""

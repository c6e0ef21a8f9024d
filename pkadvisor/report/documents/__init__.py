"""From values to JSON documents: results, reviews, stress results, and documents read back."""

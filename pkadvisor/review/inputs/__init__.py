"""What a review reads: designs now, before and elsewhere, profiles, and stress results."""

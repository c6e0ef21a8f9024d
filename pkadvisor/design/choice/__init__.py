"""The choice among schemes: candidates, index rows, goals, ranking, confidence, and what would change it."""

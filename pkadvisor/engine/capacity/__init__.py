"""What the service lets through and how long it takes, in whole nanoseconds."""

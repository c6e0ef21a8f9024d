"""Several kinds of one table: which share a PartitionKey, and how their rows are told apart."""

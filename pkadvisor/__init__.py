"""Key design for partitioned table stores: which PartitionKey and RowKey, what they cost, and why."""

__version__ = "0.1.0"

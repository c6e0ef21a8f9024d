"""The wire protocol of table storage: clients of a real endpoint."""

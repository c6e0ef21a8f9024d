"""The load of a workload on keys: hottest partitions and ranges, latency, queues, and what a break is."""

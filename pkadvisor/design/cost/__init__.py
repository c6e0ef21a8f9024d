"""What a scheme costs one workload: requests, entities, storage, terms with intervals, findings."""

"""The advice on published workloads, held against the keys that an expert chose before the tool was run."""

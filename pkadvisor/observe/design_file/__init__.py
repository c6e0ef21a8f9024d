"""The design file: YAML with line numbers, units, and the declared tables and workload."""

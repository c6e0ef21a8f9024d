"""From files to knowledge: data sets, query logs and declared workloads."""

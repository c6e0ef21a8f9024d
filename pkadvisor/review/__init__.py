"""The pre-deploy review: from a design, its workload and its profile to findings, and from findings to a gate."""

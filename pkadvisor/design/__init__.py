"""Weighs key schemes for a workload and ranks them."""

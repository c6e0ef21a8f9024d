"""What becomes of findings: comparison with an earlier design, baseline, suppressions, fixes, the gate."""

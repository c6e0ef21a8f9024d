"""Prints the CPU seconds that one test may take on this machine: those of the reference machine, times how much slower
this one is at a fixed piece of work. A shared machine differs by half from one hour to the next."""

import sys
import time

REFERENCE_S = 0.045
"""CPU seconds of the work below on the machine on which budgets were set. Derived: 0.060 were measured on a quiet
machine that takes 1.3 times as long over ``advisor analyze --sample microblog``."""
SLOWEST = 2.5
"""A machine that is slower than this is overloaded, and its figures say nothing."""


def work() -> float:
    """CPU seconds of building and sorting a dictionary of texts."""
    began = time.process_time()
    counts: dict[str, int] = {}
    for number in range(150_000):
        text = f"{number * 7919 % 30_011:05d}"
        counts[text] = counts.get(text, 0) + number
    sorted(counts.items(), key=lambda item: (item[1], item[0]))
    return time.process_time() - began


slowness = sorted(work() for _ in range(9))[4] / REFERENCE_S
sys.stdout.write(f"{float(sys.argv[1]) * min(SLOWEST, max(1.0, slowness)):.1f}\n")

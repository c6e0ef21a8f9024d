"""Long runs of the simulation: ``python -m tests.simulate --seeds N --first SEED``.

A line for each violation, and a summary as the last line; exit 1 where there was a violation.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulate.run import Report, simulate


def main() -> int:
    """Runs the seeds asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--operations", type=int, default=200, help="operations of each seed's clients")
    parser.add_argument("--processes", type=int, default=2, help="seeds run beside one another")
    parser.add_argument("--events", action="store_true", help="print how often each event occurred")
    given = parser.parse_args()
    began = time.monotonic()
    counts: Counter[str] = Counter()
    operations = judged = faults = wrong = done = virtual_ns = 0
    with ProcessPoolExecutor(given.processes) as pool:
        seeds = range(given.first, given.first + given.seeds)
        for report in pool.map(simulate, seeds, [given.operations] * len(seeds), chunksize=1):
            done += 1
            counts += report.counts
            operations, judged = operations + report.operations, judged + report.judged
            faults, virtual_ns = faults + report.faults, virtual_ns + report.virtual_ns
            if report.violation:
                wrong += 1
                print(f"seed {report.seed}: {_short(report)}", flush=True)
    if given.events:
        for name, count in sorted(counts.items()):
            print(f"{count:>10}  {name}")
    elapsed = time.monotonic() - began
    print(
        f"{done} seeds, {operations} operations, {judged} judged, {faults} faults, {virtual_ns / 3.6e12:.1f} virtual "
        f"hours in {elapsed:.0f} s ({virtual_ns / 1e9 / elapsed:.0f} x real time): {wrong} violations"
    )
    return 1 if wrong else 0


def _short(report: Report) -> str:
    lines = report.violation.splitlines()
    return "\n    ".join(lines[:12])


if __name__ == "__main__":
    sys.exit(main())

"""Long runs of the simulation: ``python -m tests.simulate --seeds N --first SEED``.

A line for each violation, and a summary as the last line; exit 1 where there was a violation. With ``--planted`` the
planted mistakes instead: each is looked for from the first seed on, and exit 1 where one is not found in time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.simulate.planted import BUGS
from tests.simulate.run import Report, simulate


def main() -> int:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulate", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many seeds")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--operations", type=int, default=200, help="operations of each seed's clients")
    parser.add_argument("--processes", type=int, default=2, help="seeds run beside one another")
    parser.add_argument("--events", action="store_true", help="print how often each event occurred")
    parser.add_argument("--planted", action="store_true", help="look for the planted mistakes")
    parser.add_argument("--only", default="", help="planted mistakes whose name holds this")
    given = parser.parse_args()
    return _planted(given) if given.planted else _seeds(given)


def _seeds(given: argparse.Namespace) -> int:
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


def _planted(given: argparse.Namespace) -> int:
    began = time.monotonic()
    chosen = [number for number, bug in enumerate(BUGS) if given.only in bug.name]
    lost = tried = 0
    with ProcessPoolExecutor(given.processes) as pool:
        for number, (seed, seeds, violation) in zip(
            chosen, pool.map(look_for, chosen, [given.first] * len(chosen)), strict=True
        ):
            bug = BUGS[number]
            tried += seeds
            lost += seed is None
            found = f"none of {seeds} seeds shows it" if seed is None else f"seed {seed}: {violation}"
            print(f"{bug.breaks:>4} {bug.name}: {found}", flush=True)
    elapsed = time.monotonic() - began
    print(f"{len(chosen) - lost} of {len(chosen)} planted mistakes found in {tried} seeds, {elapsed:.0f} s")
    return 1 if lost else 0


def look_for(number: int, first: int) -> tuple[int | None, int, str]:
    """The first seed that shows a mistake and has no violation without it; how many were tried; what it shows."""
    bug = BUGS[number]
    for seed in range(first, first + bug.within):
        report = bug.run(seed)
        if report.violation and not simulate(seed).violation:
            return seed, seed - first + 1, report.violation.splitlines()[0][:120]
    return None, bug.within, ""


def _short(report: Report) -> str:
    lines = report.violation.splitlines()
    return "\n    ".join(lines[:12])


if __name__ == "__main__":
    sys.exit(main())

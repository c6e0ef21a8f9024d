"""Judging drawn worlds: ``python -m tests.worlds --seeds N --first S [--law NAME] [--keep FOLDER] [--coverage]``.

A line for each broken law: seed, law, what, scheme, printed and true value. ``--keep`` shrinks the first failure of
each seed and writes it as files that ``advisor`` reads. Exit code 1 where a law is broken.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.worlds.coverage import features
from tests.worlds.draw.world import draw_world
from tests.worlds.known import known
from tests.worlds.law import evidence, samples
from tests.worlds.laws import APART, LAWS, Verdict, judge_seed, keep, smallest

PROGRESS = 25
"""Worlds after which a line of progress is printed."""


def main() -> int:
    """Runs what is asked for."""
    gc.set_threshold(100_000, 20, 20)  # as the command does: what it makes lives to its end
    parser = argparse.ArgumentParser(prog="python -m tests.worlds", description=__doc__)
    parser.add_argument("--seeds", type=int, default=20, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    laws = [*LAWS, *APART, samples.NAME]
    parser.add_argument("--law", action="append", choices=laws, help="only this law; may be repeated (all but samples)")
    parser.add_argument("--rows", type=int, default=10_000, help="at most so many rows")
    parser.add_argument("--keep", type=Path, help="shrink failing worlds and write them into this folder")
    parser.add_argument("--coverage", action="store_true", help="the share of worlds that contain each feature")
    parser.add_argument("--shares", action="store_true", help="how often evidence is judged rightly, ground by ground")
    parser.add_argument("--planted", action="store_true", help="look for the planted mistakes")
    parser.add_argument("--processes", type=int, default=1, help="worlds judged beside one another")
    given = parser.parse_args()
    if given.coverage:
        return _coverage(given)
    if given.shares:
        return _shares(given)
    if given.planted:
        from tests.worlds.planted import look_for_all

        return look_for_all(given.seeds, given.first)
    if given.law == [samples.NAME]:
        return _samples(given)
    return _judge(given)


def _samples(given: argparse.Namespace) -> int:
    """How often intervals of samples hold the truth, group by group, over so many samples of each table."""
    found = list(samples.all_cases(range(given.first, given.first + given.seeds)))
    for name, count, held, told in samples.table_of(found):
        print(f"{held:7.1%} of {count:5} hold the truth, {told:4.0%} given from 5 % of the rows: {name}")
    widths = samples.widths()
    for name, ratio in sorted(widths.items(), key=lambda w: -w[1]):
        print(f"{ratio:7.2f} times as wide as fresh samples spread: {name}")
    wrong = samples.wrong(found)
    told, wide = samples.given_share(found), statistics.median(widths.values())
    print(
        f"{len(found)} figures; {len(wrong)} groups hold the truth too seldom; {told:.0%} are given where 5 % or more "
        f"of the rows are at hand; the median interval is {wide:.2f} times as wide as fresh samples spread"
    )
    return 1 if wrong or told < samples.GIVEN or wide > samples.WIDTH else 0


def _shares(given: argparse.Namespace) -> int:
    """How many whole worlds get a verdict, and how many contradicted ones get none, for each ground."""
    worlds, wrong = Counter[str](), Counter[str]()
    for seed in range(given.first, given.first + given.seeds):
        with tempfile.TemporaryDirectory(prefix="pkadvisor-world-") as folder:
            for name, said in evidence.judged(draw_world(seed, rows_most=given.rows), Path(folder)):
                worlds[name] += 1
                wrong[name] += bool(said)
                if said:
                    print(f"seed {seed}: {said}", flush=True)
    missed = []
    for name, count in worlds.items():
        share, whole = 1 - wrong[name] / count, name == evidence.COMPLETE
        least = 1 - evidence.COMPLETE_MOST if whole else evidence.CONTRADICTED_LEAST
        missed += [name] if share < least else []
        told = "get a verdict" if whole else "get none when it is contradicted"
        print(f"{name}: {share:.1%} of {count} worlds {told}, at least {least:.0%} are promised")
    return 1 if missed else 0


def _judge(given: argparse.Namespace) -> int:
    began, laws = time.monotonic(), tuple(given.law or LAWS)
    wrong = listed = 0
    seconds: Counter[str] = Counter()
    work = partial(judge_seed, laws=laws, rows_most=given.rows)
    with ProcessPoolExecutor(given.processes) as pool:
        for number, verdict in enumerate(pool.map(work, range(given.first, given.first + given.seeds)), 1):
            if number % PROGRESS == 0:
                print(f"{number} of {given.seeds} worlds judged", file=sys.stderr, flush=True)
            seconds.update(verdict.seconds)
            new = [b for b in verdict.broken if known(b) is None]
            listed += len(verdict.broken) - len(new)
            wrong += bool(new)
            for found in new:
                print(f"seed {verdict.seed}: {found}", flush=True)
            if given.keep and new:
                _keep(verdict, given)
    each = ", ".join(f"{name} {total / given.seeds:.2f}" for name, total in seconds.items())
    print(
        f"{given.seeds} worlds in {time.monotonic() - began:.0f} s, CPU seconds each: {each}; "
        f"{wrong} worlds break a law, {listed} figures are known to be wrong"
    )
    return 1 if wrong else 0


def _keep(verdict: Verdict, given: argparse.Namespace) -> None:
    world = draw_world(verdict.seed, rows_most=given.rows)
    found = next(b for b in verdict.broken if known(b) is None)
    keep(smallest(world, found, found.keys), found, given.keep / str(verdict.seed))


def _coverage(given: argparse.Namespace) -> int:
    counts: Counter[str] = Counter()
    for seed in range(given.first, given.first + given.seeds):
        counts.update(features(draw_world(seed)))
    for name, count in sorted(counts.items(), key=lambda c: (c[1], c[0])):
        print(f"{count / given.seeds:7.1%}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The law *samples*: intervals printed for a sample hold the figure of the whole table in at least 93 % of cases.

Tables whose groups have known sizes (``tests/worlds/sampled``) are drawn from at random, by rows and by whole keys; the
truth is what the whole table is counted to by the same schemes, which the law *counted* holds. Cases are told apart by
the kind of figure, the shape of the query and the way of sampling, since a mean over all of them hides the bad ones.
Further: of samples of 5 % and more nine figures in ten are given and not marked as unknown; a figure without an
interval is within 5 %; the median interval is at most 3 times as wide as the estimates of 40 fresh samples spread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from pkadvisor.observe.workload import QueryClass
from tests.worlds.sampled.asking import CLASSES, NEWEST_CLASSES, SCHEMES
from tests.worlds.sampled.cases import Case, cases, estimates, truths
from tests.worlds.sampled.tables import ROWS_WAY, Table, tables

NAME = "samples"
COVERED = 0.93
CASES_LEAST = 60
"""Fewer cases of one group tell little of its share."""
GIVEN, GIVEN_FROM = 0.9, 0.05
WIDTH = 3.0
FRESH = 40
"""Fresh samples that a spread is taken from."""
SHARES = (0.005, 0.02, 0.05, 0.1, 0.3)


def all_cases(seeds: Iterable[int]) -> Iterator[Case]:
    """For each seed a sample of every table, each of a share of its own."""
    every = tables(1)
    asked: Sequence[tuple[QueryClass, ...]] = (CLASSES, NEWEST_CLASSES)
    right = [[truths(table, SCHEMES[:2], classes) for classes in asked] for table in every]
    for seed in seeds:
        for number, (table, true) in enumerate(zip(every, right, strict=True)):
            share = SHARES[(seed + number) % len(SHARES)]
            yield from cases(table, true[0], SCHEMES[:2], CLASSES, share, seed)
            if seed % 4 == 0:
                newest = cases(table, true[1][:1], SCHEMES[:1], NEWEST_CLASSES, share, seed)
                yield from (c for c in newest if c.figure.endswith("newest"))


def table_of(found: Iterable[Case]) -> list[tuple[str, int, float, float]]:
    """(group, cases given, share of them that holds the truth, share given of samples of 5 % and more) of each group,
    the worst first."""
    groups: dict[str, list[Case]] = {}
    for case in found:
        groups.setdefault(f"{case.figure}, {case.way}", []).append(case)
    out = []
    for name, group in groups.items():
        given = [c for c in group if c.given]
        large = [c for c in group if c.share >= GIVEN_FROM]
        held = sum(c.inside for c in given) / max(1, len(given)) if given else 1.0
        out.append((name, len(given), held, sum(c.given for c in large) / max(1, len(large))))
    return sorted(out, key=lambda row: (row[2], row[0]))


def wrong(found: Iterable[Case]) -> list[str]:
    """The groups with enough cases of which too few hold the truth."""
    return [name for name, count, share, _ in table_of(found) if count >= CASES_LEAST and share < COVERED]


def given_share(found: Iterable[Case]) -> float:
    """The share of figures of samples of 5 % and more of the rows that are given."""
    large = [c for c in found if c.share >= GIVEN_FROM and c.way == ROWS_WAY]
    return sum(c.given for c in large) / max(1, len(large))


def widths(names: Sequence[str] = ("of 20", "1 or 100", "Zipf"), share: float = 0.1) -> dict[str, float]:
    """For each figure the median width of its interval ÷ the spread of its estimates over fresh samples (from the 2.5th
    to the 97.5th percentile), over some tables drawn by rows."""
    ratios: dict[str, list[float]] = {}
    for table in (t for t in tables(1) if t.way == ROWS_WAY and t.name in names):
        for name, ratio in _ratios(table, share):
            ratios.setdefault(name, []).append(ratio)
    return {name: float(np.median(found)) for name, found in ratios.items()}


def _ratios(table: Table, share: float) -> Iterator[tuple[str, float]]:
    schemes = SCHEMES[:1]
    fresh = [estimates(table, schemes, CLASSES, share, 10_000 + n)[0] for n in range(FRESH)]
    true = truths(table, schemes, CLASSES)
    found = [c for seed in range(4) for c in cases(table, true, schemes, CLASSES, share, seed)]
    for name in fresh[0]:
        low, high = np.percentile([f[name] for f in fresh], [2.5, 97.5])
        mine = [c.width for c in found if c.figure == name and c.width]
        if mine and high - low > 1e-3 * true[0][name]:
            yield name, float(np.median(mine)) / float(high - low)

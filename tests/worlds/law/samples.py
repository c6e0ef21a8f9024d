"""The law *samples*: intervals printed for a sample hold the figure of the whole table in at least 93 % of cases.

A share of the rows is drawn at random, and the design says of how many it is a sample. The truth is what the whole
table is counted to, by the same schemes: figures that the law *counted* holds. Cases are told apart by the kind of
figure, the shape of the query and the way of sampling, since a mean over all of them hides the bad ones. This law is
about many worlds at once: one world gives cases, ``table`` judges them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from tests.worlds.model import AnyOf, Asked, Compare, World
from tests.worlds.running import Document, analyzed, scheme_of, schemes_of

NAME = "samples"
COVERED = 0.93
CASES_LEAST = 60
"""Fewer cases of one group tell little of its share."""
SHARES = (0.02, 0.05, 0.1, 0.3)
TERMS = ("hottest partition at peak", "entities read", "requests", "partitions")


@dataclass(frozen=True)
class Case:
    """One printed figure of a sample: what it is of, whether it has an interval, and whether that holds the truth."""

    figure: str
    shape: str
    way: str
    given: bool
    inside: bool


def shape_of(asked: Asked) -> str:
    """What is asked, in a word or two."""
    words = ["newest n" if asked.top else "query"]
    conditions = asked.conditions()
    if any(isinstance(c, AnyOf) for c in conditions):
        words.append("or")
    if any(isinstance(c, Compare) and c.operator == "eq" for c in conditions):
        words.append("equal")
    if any(isinstance(c, Compare) and c.operator not in ("eq", "ne") for c in conditions):
        words.append("range")
    if asked.draw is not None and asked.draw.by != "entities":
        words.append(asked.draw.by)
    return " ".join(words)


def cases(world: World, folder: Path) -> Iterator[Case]:
    """The figures of one world's sample."""
    if len(world.kinds) > 1:
        return
    random = Random(world.seed)
    kind, share = world.kinds[0], random.choice(SHARES)
    size = max(40, round(share * len(kind.rows)))
    if size * 2 > len(kind.rows):
        return
    drawn = sorted(random.sample(range(len(kind.rows)), size))
    sampled = replace(kind, rows=tuple(kind.rows[n] for n in drawn))
    extra = {**world.extra, "entities_total": len(kind.rows), "sampling": "random-rows"}
    whole = {scheme_of(s).text: s for s in schemes_of(analyzed(world, folder / "whole")["tables"][0])}
    part = analyzed(replace(world, kinds=(sampled,), extra=extra), folder / "part")["tables"][0]
    for scheme in schemes_of(part):
        true = whole.get(scheme_of(scheme).text)
        if true is not None:
            yield from _scheme(world, scheme, true)


def _scheme(world: World, scheme: Document, true: Document) -> Iterator[Case]:
    right = {t["name"]: t["value"] for t in true["terms"]}
    for term in scheme["terms"]:
        if term["name"] in TERMS:
            yield _case(term["name"], "all classes", term, term["value"], right[term["name"]])
    counted = {c["name"]: c for c in true["classes"]}
    for cls in scheme["classes"]:
        asked = next(a for a in world.asked if a.name == cls["name"])
        other = counted[cls["name"]]
        if asked.operation == "query" and cls["filters"] == other["filters"]:
            found = cls["entities_read_interval"] or {}
            yield _case("entities read", shape_of(asked), found, cls["entities_read"], other["entities_read"])


def _case(figure: str, shape: str, printed: Document, value: float, true: float) -> Case:
    low, high = printed.get("low"), printed.get("high")
    given = low is not None or high is not None
    close = abs(value - true) <= 0.05 * abs(true)
    small = 2e-5 * abs(true)
    inside = (low is None or low <= true + small) and (high is None or true <= high + small) if given else close
    return Case(figure, shape, "random rows", given, inside)


def table(found: Iterable[Case]) -> list[tuple[str, int, int, float]]:
    """(group, cases, how many have an interval, share that holds the truth) of each kind of case, the worst first."""
    groups: dict[str, list[Case]] = {}
    for case in found:
        word = "interval" if case.given else "no interval, within 5 %"
        groups.setdefault(f"{case.figure}, {case.shape}, {case.way}: {word}", []).append(case)
    out = [(name, len(g), sum(c.given for c in g), sum(c.inside for c in g) / len(g)) for name, g in groups.items()]
    return sorted(out, key=lambda row: (row[3], row[0]))


def wrong(found: Iterable[Case]) -> list[str]:
    """The groups with enough cases of which too few hold the truth."""
    return [name for name, count, _, share in table(found) if count >= CASES_LEAST and share < COVERED]

"""The law *best*: in small worlds no main key of a brute enumeration beats the recommended keys beyond a goal's
tolerance.

The enumeration: all orders of up to three properties, divided at each place between PartitionKey and RowKey, each
property
padded or plain, falling, as a period, or as buckets; of more than ``SCHEMES`` some are drawn. They compete through
``--candidates``, so that their plans are the planner's and their counts those that the law *counted* holds against the
truth; what would win among them must not be better than what is recommended without them. Goals are taken in the
documented order, latency left out, and each with its documented tolerance. Not enumerated here: index rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path
from random import Random

from tests.worlds.draw.keys import digits_of
from tests.worlds.key_text import braced
from tests.worlds.model import Kind, Scheme, World
from tests.worlds.rows import lay_out
from tests.worlds.running import Document, analyzed, scheme_of
from tests.worlds.shrink import unused, without_property
from tests.worlds.truth import Broken
from tests.worlds.values import DATETIME, DOUBLE, INT32, INT64

NAME = "best"
ROWS = 300
PROPERTIES = 4
SCHEMES = 120
GOALS = (
    ("constraints", 0.0),
    ("requests", 0.10),
    ("break factor", 0.0),
    ("structures", 0.0),
    ("entities", 0.01),
    ("storage", 0.01),
)
HEADROOM = 3
"""Digits that padding has to spare: fewer bytes for less head-room is no better key."""
ENOUGH = 10.0
"""A break factor from which on more is no better."""


def forms(kind: Kind, name: str) -> list[str]:
    """The ways in which a property may stand in an enumerated key."""
    edm, shown = kind.types[name], braced(name)
    if edm in (INT32, INT64):
        width = digits_of(kind, name) + HEADROOM
        low = min((v for row in kind.rows if isinstance(v := row[name], int)), default=0)
        return [f"{{pad({shown},{width})}}", *([f"{{reverse_pad({shown},{width})}}"] if low >= 0 else [])]
    if edm == DATETIME:
        return [
            f"{{ticks({shown})}}",
            f"{{reverse_ticks({shown})}}",
            f"{{time({shown},'yyyyMM')}}",
            f"{{time({shown},'yyyyMMdd')}}",
        ]
    return [f"{{sortable({shown})}}"] if edm == DOUBLE else [f"{{{shown}}}"]


def enumerated(kind: Kind) -> Iterator[Scheme]:
    """Every main key of up to three properties."""
    for count in (1, 2, 3):
        for names in permutations(kind.types, count):
            for shown in product(*(forms(kind, n) for n in names)):
                for cut in range(count + 1):
                    heads = ["_".join(shown[:cut]) or "all"]
                    heads += [f"{{hash({braced(names[0])},8)}}"] if cut == 0 else []
                    for head in heads:
                        yield Scheme(head, "_".join(shown[cut:]))


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """The enumerated scheme that beats the recommended one, if there is one."""
    if len(world.kinds) > 1 or len(world.kinds[0].rows) > ROWS or "isolation" in world.extra:
        return
    bare = replace(world, current=None, kinds=(replace(world.kinds[0], schemes=()),))
    for name in unused(bare, bare.kinds[0]):
        if name != "id" and len(bare.kinds[0].types) > PROPERTIES:
            bare = replace(bare, kinds=(without_property(bare.kinds[0], name),))
    kind = bare.kinds[0]
    if len(kind.types) > PROPERTIES:
        return
    every = list(enumerated(kind))
    some = Random(world.seed).sample(every, min(len(every), SCHEMES * 3))
    some = [s for s in some if lay_out(kind, s).unique][:SCHEMES]
    before = analyzed(bare, folder / "alone")["tables"][0]["recommended"]
    after = analyzed(replace(bare, kinds=(replace(kind, schemes=tuple(some)),)), folder / "beside")["tables"][0][
        "recommended"
    ]
    if before is None or after is None or after["index_rows"]:
        return
    goal = beaten(before, after)
    if goal is not None:
        one, two = _value(before, goal), _value(after, goal)
        problem = Broken(
            NAME, f"recommended keys, by {goal}", scheme_of(before).text, one, f"{two} of {scheme_of(after).text}"
        )
        yield problem


def _value(scheme: Document, goal: str) -> float:
    value: float = next(g["value"] for g in scheme["goals"] if g["goal"] == goal)
    return value


def beaten(before: Document, after: Document) -> str | None:
    """The goal at which the second scheme is better beyond its tolerance, the goals before it being equal within
    theirs."""
    for goal, tolerance in GOALS:
        one, two = _value(before, goal), _value(after, goal)
        if goal == "break factor":
            one, two = -min(one, ENOUGH), -min(two, ENOUGH)
        size = max(abs(one), abs(two))
        if two < one - tolerance * size - 1e-9 * size:
            return goal
        if two > one + tolerance * size + 1e-9 * size:
            return None
    return None

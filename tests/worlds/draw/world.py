"""A world drawn from its seed."""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.worlds.draw.entities import Drawn, draw_kind
from tests.worlds.draw.further import add_further
from tests.worlds.draw.keys import draw_scheme
from tests.worlds.draw.workload import draw_query, draw_transactions, draw_writes
from tests.worlds.model import Asked, Growth, World

KIND_NAMES = ("Order", "Line", "Note", "Person")
FORMS = ("jsonl", "jsonl", "jsonl", "rest", "csv", "typed-csv")
SCHEMES = 4
"""Schemes of each kind that are counted beside what is recommended."""


def draw_world(seed: int, *, rows_most: int = 10_000) -> World:
    """The world of a seed; the same on every machine."""
    random = Random(seed)
    form = random.choice(FORMS)
    size = random.choices(
        (300, random.randint(300, 800), random.randint(800, 2_000), random.randint(2_000, 10_000)), (60, 25, 13, 2)
    )[0]
    size = min(size, rows_most)
    count = random.choices((1, 2, 3, 4), (70, 18, 8, 4))[0]
    shares = [random.uniform(0.5, 1.5) for _ in range(count)]
    kinds: list[Drawn] = []
    for n, share in enumerate(shares):
        rows = size if count == 1 else max(20, int(size * share / sum(shares)))
        kinds.append(draw_kind(random, KIND_NAMES[n] if count > 1 else "Things", rows, form))
    asked: list[Asked] = []
    writes: list[Asked] = []
    for drawn in kinds:
        label = drawn.kind.name.lower()
        asked += [
            draw_query(random, drawn, f"{label}-q{n}")
            for n in range(random.randint(1 if count > 1 else 2, 6 // count + 1))
        ]
        writes += draw_writes(random, drawn, label)
    transactions = draw_transactions(random, kinds, writes)
    current = draw_scheme(random, kinds[0]) if count == 1 and random.random() < 0.7 else None
    growth = None
    if random.random() < 0.4:
        of = random.choice(("rate", "new_keys", "rows_per_key"))
        growth = Growth(random.choice((3, 8, 50)), random.choice(("month", "year")), of, random.choice((12, 24)))
    extra: dict[str, object] = {}
    if random.random() < 0.1:
        extra["retry"] = random.choice(("none", "fixed", "exponential"))
    if random.random() < 0.1:
        extra["consistency"] = "a queue with steps that can be repeated"
    if random.random() < 0.1 and count == 1:
        extra["erase_by"] = random.choice(kinds[0].shapes).name
    if random.random() < 0.07 and count == 1 and kinds[0].of("group"):
        extra["isolation"] = kinds[0].of("group")[0].name
    world = World(
        seed=seed,
        table="Worlds",
        kinds=tuple(
            replace(d.kind, schemes=tuple(draw_scheme(random, d) for _ in range(SCHEMES if count == 1 else 2)))
            for d in kinds
        ),
        asked=(*asked, *writes),
        current=current,
        transactions=transactions,
        growth=growth,
        retention_days=random.choice((None, None, 30, 365)),
        form=form,
        extra=extra,
    )
    return add_further(world, kinds)

"""Every key of a few properties, as the law *best* enumerates them: main keys, and index rows beside one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, permutations, product

from tests.worlds.draw.keys import digits_of
from tests.worlds.key_text import braced, read_by
from tests.worlds.model import IndexRow, Kind, Scheme, World
from tests.worlds.values import DATETIME, DOUBLE, INT32, INT64

HEADROOM = 3
"""Digits that padding has to spare: fewer bytes for less head-room is no better key."""
SMALL = 10_000
"""Entities up to which one PartitionKey for all of them is proposed."""
YEAR_S = 12 * 2_629_746.0
ONE = "all"
"""The PartitionKey of all entities."""
LABEL = "I:"
"""What stands for the label of an index row until it stands beside a main key."""


def forms(kind: Kind, name: str, coming: int = 0) -> list[str]:
    """The ways in which a property may stand in an enumerated key, where so many entities come until the horizon."""
    edm, shown = kind.types[name], braced(name)
    if edm in (INT32, INT64):
        width = digits_of(kind, name) + HEADROOM
        if coming and counts_up(kind, name):
            width = max(width, len(str(int(kind.rows[-1][name] or 0) + coming)) + 1)
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


def coming(world: World) -> int:
    """Entities that come until the horizon at the rates that growth leads to: an upsert may make a new one."""
    growth = world.growth
    per_s = sum(a.rate * a.entities_per_request for a in world.asked if a.operation in ("insert", "upsert"))
    if growth is None:
        return int(per_s * YEAR_S * 3)
    factor: float = (1 + growth.percent / 100) ** (growth.horizon_months / (12 if growth.per == "year" else 1))
    return int(per_s * YEAR_S / 12 * growth.horizon_months * factor)


def counts_up(kind: Kind, name: str) -> bool:
    """Whether a whole number rises by one with each entity."""
    values = [row[name] for row in kind.rows]
    return kind.types[name] in (INT32, INT64) and all(
        isinstance(a, int) and isinstance(b, int) and b == a + 1 for a, b in pairwise(values)
    )


def one_partition(world: World, kind: Kind) -> bool:
    """Whether the table stays small until the horizon, or while an entity is kept: a reason for one PartitionKey. Fewer
    constraints broken are one as well, and transactions that no other key keeps, which are not judged here."""
    per_s = sum(a.rate * a.entities_per_request for a in world.of(kind.name) if a.operation == "insert")
    year_s = YEAR_S if world.growth is None else YEAR_S / 12 * world.growth.horizon_months
    rows = len(kind.rows) + per_s * year_s
    if world.retention_days is not None:
        rows = max(len(kind.rows), per_s * world.retention_days * 86_400)
    return rows <= SMALL


def _holdable(kind: Kind) -> list[str]:
    """The properties that an application can write into a key: the service sets Timestamp when it stores the row."""
    return [name for name in kind.types if name != "Timestamp"]


def main_keys(kind: Kind, *, single: bool, coming: int = 0) -> Iterator[Scheme]:
    """Every main key of up to three properties; ``single``: one PartitionKey for all as well."""
    for count in (1, 2, 3):
        for names in permutations(_holdable(kind), count):
            for shown in product(*(forms(kind, n, coming) for n in names)):
                for cut in range(count + 1):
                    heads = ["_".join(shown[:cut])] if cut else [ONE] if single else []
                    heads += [f"{{hash({braced(names[0])},8)}}"] if cut == 0 else []
                    for head in heads:
                        yield Scheme(head, "_".join(shown[cut:]))


def index_rows(kind: Kind, *, single: bool, coming: int = 0) -> Iterator[IndexRow]:
    """Every index row of up to three properties: in the entity's partition, under one property, under none, or under
    buckets; full and pointers."""
    for count in (1, 2, 3):
        for names in permutations(_holdable(kind), count):
            for shown in product(*(forms(kind, n, coming) for n in names)):
                places: list[tuple[str | None, str]] = [(None, LABEL + "_".join(shown))]
                places.append((LABEL + shown[0], "_".join(shown[1:])))
                places.append((f"{LABEL}{{hash({braced(names[-1])},8)}}", "_".join(shown)))
                places += [(LABEL, "_".join(shown))] if single else []
                yield from (IndexRow(*place, copy) for place in places for copy in ("full", "pointer"))


def beside(main: Scheme, rows: tuple[IndexRow, ...]) -> Scheme:
    """A main key with index rows, each with a label of its own; the main rows have one where one lies among them.

    Labels are as the product makes them, of the property that a key leads with: a shorter name is no better key.
    """
    taken, labelled = set[str](), []
    for row in rows:
        own = row.row if row.partition is None else row.partition if read_by(row.partition) else row.row
        label = _label(own, taken)
        if row.partition is None:
            labelled.append(replace(row, row=row.row.replace(LABEL, label, 1)))
        else:
            labelled.append(replace(row, partition=row.partition.replace(LABEL, label, 1)))
    inside = any(row.partition is None for row in rows)
    own = main.row if read_by(main.row) else main.partition
    return replace(main, row=(_label(own, taken) if inside else "") + main.row, index_rows=tuple(labelled))


def _label(template: str, taken: set[str]) -> str:
    """The first property of a template in capitals, with a number where that is taken."""
    name = next(("".join(c for c in n.upper() if c.isalnum())[:12] for n in read_by(template)), "ROW")
    label = next(f"{name}{n}:" for n in ("", *range(2, 99)) if f"{name}{n}:" not in taken)
    taken.add(label)
    return label

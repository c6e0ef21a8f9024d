"""Every key of a few properties, as the law *best* enumerates them: main keys, and index rows beside one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations, product

from tests.worlds.draw.keys import digits_of
from tests.worlds.model import IndexRow, Kind, Scheme, World
from tests.worlds.values import DATETIME, DOUBLE, INT32, INT64

HEADROOM = 3
"""Digits that padding has to spare: fewer bytes for less head-room is no better key."""
SMALL = 10_000
"""Entities up to which one PartitionKey for all of them is proposed."""
YEAR_S = 12 * 2_629_746.0
LABEL, OTHERS = "I:", "M:"


def forms(kind: Kind, name: str) -> list[str]:
    """The ways in which a property may stand in an enumerated key."""
    edm = kind.types[name]
    if edm in (INT32, INT64):
        width = digits_of(kind, name) + HEADROOM
        low = min((v for row in kind.rows if isinstance(v := row[name], int)), default=0)
        return [f"{{pad({name},{width})}}", *([f"{{reverse_pad({name},{width})}}"] if low >= 0 else [])]
    if edm == DATETIME:
        return [
            f"{{ticks({name})}}",
            f"{{reverse_ticks({name})}}",
            f"{{time({name},'yyyyMM')}}",
            f"{{time({name},'yyyyMMdd')}}",
        ]
    return [f"{{sortable({name})}}"] if edm == DOUBLE else [f"{{{name}}}"]


def one_partition(world: World, kind: Kind) -> bool:
    """Whether there is a reason for one PartitionKey: a transaction, or the table stays small until the horizon, or
    while an entity is kept."""
    per_s = sum(a.rate * a.entities_per_request for a in world.of(kind.name) if a.operation == "insert")
    year_s = YEAR_S if world.growth is None else YEAR_S / 12 * world.growth.horizon_months
    rows = len(kind.rows) + per_s * year_s
    if world.retention_days is not None:
        rows = max(len(kind.rows), per_s * world.retention_days * 86_400)
    return bool(world.transactions) or rows <= SMALL


def main_keys(kind: Kind, *, single: bool) -> Iterator[Scheme]:
    """Every main key of up to three properties; ``single``: one PartitionKey for all as well."""
    for count in (1, 2, 3):
        for names in permutations(kind.types, count):
            for shown in product(*(forms(kind, n) for n in names)):
                for cut in range(count + 1):
                    heads = ["_".join(shown[:cut])] if cut else ["all"] if single else []
                    heads += [f"{{hash({names[0]},8)}}"] if cut == 0 else []
                    for head in heads:
                        yield Scheme(head, "_".join(shown[cut:]))


def index_rows(kind: Kind, *, single: bool) -> Iterator[IndexRow]:
    """Every index row of up to three properties: in the entity's partition, under one property, under none, or under
    buckets; full and pointers."""
    for count in (1, 2, 3):
        for names in permutations(kind.types, count):
            for shown in product(*(forms(kind, n) for n in names)):
                places: list[tuple[str | None, str]] = [(None, LABEL + "_".join(shown))]
                places.append((LABEL + shown[0], "_".join(shown[1:])))
                places.append((f"{LABEL}{{hash({names[-1]},8)}}", "_".join(shown)))
                places += [(LABEL, "_".join(shown))] if single else []
                yield from (IndexRow(*place, copy) for place in places for copy in ("full", "pointer"))


def beside(main: Scheme, rows: tuple[IndexRow, ...]) -> Scheme:
    """A main key with index rows, their labels numbered; its own rows have a label where one lies among them."""
    numbered = tuple(_numbered(row, number) for number, row in enumerate(rows, 1))
    label = OTHERS if any(row.partition is None for row in rows) else ""
    return replace(main, row=label + main.row, index_rows=numbered)


def _numbered(row: IndexRow, number: int) -> IndexRow:
    label = f"I{number}:"
    if row.partition is None:
        return replace(row, row=row.row.replace(LABEL, label, 1))
    return replace(row, partition=row.partition.replace(LABEL, label, 1))

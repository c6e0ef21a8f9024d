"""Samples of a world in every way that a design can declare: rows, whole keys, a slice of the arrivals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from tests.worlds.model import Kind, World
from tests.worlds.values import BINARY, Row

SHARES = (0.02, 0.05, 0.1, 0.3)
ROWS_LEAST = 40
KEYS_LEAST = 3


def sample_of(world: World, random: Random) -> World | None:
    """A sample of the world's entities and what the design says of it; None where there is too little to draw from."""
    kind = world.kinds[0]
    way = random.choice(list(WAYS))
    found = WAYS[way](kind, random, max(ROWS_LEAST, round(random.choice(SHARES) * len(kind.rows))))
    if found is None:
        return None
    rows, names = found
    if not ROWS_LEAST <= len(rows) <= len(kind.rows) // 2:
        return None
    told: dict[str, object] = {"entities_total": len(kind.rows), "sampling": way}
    told |= {"sampled_by": list(names)} if names else {}
    if len(world.kinds) > 1:  # the first kind alone is a sample
        whole = [replace(other, sampling={"sampling": "complete"}) for other in world.kinds[1:]]
        return replace(world, kinds=(replace(kind, rows=tuple(rows), sampling=told), *whole))
    return replace(world, kinds=(replace(kind, rows=tuple(rows)),), extra={**world.extra, **told})


Sample = tuple[Sequence[Row], tuple[str, ...]]


def _rows(kind: Kind, random: Random, size: int) -> Sample | None:
    """Each row alike."""
    if size > len(kind.rows):
        return None
    return [kind.rows[n] for n in sorted(random.sample(range(len(kind.rows)), size))], ()


def _keys(kind: Kind, random: Random, size: int) -> Sample | None:
    """All rows of some values of a property, drawn until there are rows enough."""
    names = [n for n in ("city", "team", "status") if n in kind.types and kind.types[n] != BINARY]
    names = [n for n in names if all(row[n] is not None for row in kind.rows)]
    if not names:
        return None
    name = random.choice(names)
    values = list(dict.fromkeys(row[name] for row in kind.rows))
    random.shuffle(values)
    for count in range(KEYS_LEAST, len(values)):
        chosen = set(values[:count])
        rows = [row for row in kind.rows if row[name] in chosen]
        if len(rows) >= size:
            return rows, (name,)
    return None


def _slice(kind: Kind, random: Random, size: int) -> Sample | None:
    """Rows that came one after the other."""
    first = random.randrange(max(1, len(kind.rows) - size))
    return kind.rows[first : first + size], ()


WAYS: dict[str, Callable[[Kind, Random, int], Sample | None]] = {
    "random-rows": _rows,
    "random-keys": _keys,
    "slice": _slice,
}

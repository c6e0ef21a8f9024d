"""A failing world made small: queries, kinds, schemes, rows and properties are dropped while the same law still
breaks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.worlds.key_text import read_by
from tests.worlds.model import Asked, Kind, Scheme, World

ATTEMPTS = 60
"""Runs that a shrinking may take."""


def shrunk(world: World, fails: Callable[[World], bool], scheme: Scheme | None, attempts: int = ATTEMPTS) -> World:
    """The smallest world found in so many attempts that still fails."""
    left = attempts
    if scheme is not None:
        owner = _owner(world, scheme)
        alone = tuple(replace(k, schemes=(scheme,) if k.name == owner else ()) for k in world.kinds)
        smaller = replace(world, kinds=alone, current=None)
        left -= 1
        world = smaller if fails(smaller) else world
    progress = True
    while progress and left > 0:
        progress = False
        for smaller in _smaller(world):
            left -= 1
            if fails(smaller):
                world, progress = smaller, True
                break
            if left <= 0:
                break
    return world


def _owner(world: World, scheme: Scheme) -> str:
    read = {n for key in scheme.each_key() for text in key[:2] for n in read_by(text)}
    return next((k.name for k in world.kinds if read <= set(k.types)), world.kinds[0].name)


def _smaller(world: World) -> Iterator[World]:
    """Worlds with less, the boldest first."""
    for kind in world.kinds if len(world.kinds) > 1 else ():
        yield without_kind(world, kind.name)
    for asked in world.asked:
        kept = tuple(a for a in world.asked if a is not asked)
        if kept and not world.transactions:
            yield replace(world, asked=kept)
    if world.transactions:
        yield replace(world, transactions=())
    if world.growth or world.extra or world.retention_days:
        yield replace(world, growth=None, extra={}, retention_days=None)
    if any(k.told or k.total for k in world.kinds):
        yield replace(world, kinds=tuple(replace(k, told={}, total=None) for k in world.kinds))
    if world.current is not None:
        yield replace(world, current=None)
    if any(k.current for k in world.kinds):
        yield replace(world, kinds=tuple(replace(k, current=None) for k in world.kinds))
    for kind in world.kinds:
        for some in _rows(kind):
            yield replace(world, kinds=tuple(some if k is kind else k for k in world.kinds))
        for name in unused(world, kind):
            yield replace(world, kinds=tuple(without_property(k, name) if k is kind else k for k in world.kinds))
    for asked in world.asked:
        plain = replace(asked, peak=None, peak_at=None, p99_ms=None, draw=None)
        if plain != asked:
            yield replace(world, asked=tuple(plain if a is asked else a for a in world.asked))


def _rows(kind: Kind) -> Iterator[Kind]:
    count = len(kind.rows)
    for part in (2, 4, 8):
        size = count // part
        for first in range(0, count, max(1, size)) if size > 2 else ():
            yield replace(kind, rows=kind.rows[:first] + kind.rows[first + size :])


def without_kind(world: World, name: str) -> World:
    """The world without one kind and all that is asked of it."""
    kinds = tuple(k for k in world.kinds if k.name != name)
    asked = tuple(a for a in world.asked if a.kind != name)
    return replace(world, kinds=kinds, asked=asked, transactions=())


def without_property(kind: Kind, name: str) -> Kind:
    """The kind without one property."""
    rows = tuple({n: v for n, v in row.items() if n != name} for row in kind.rows)
    return replace(kind, types={n: e for n, e in kind.types.items() if n != name}, rows=rows)


def unused(world: World, kind: Kind) -> list[str]:
    """Properties that nothing names."""
    named = {kind.arrival or ""}
    schemes = [*kind.schemes, *(s for s in (world.current, kind.current) if s is not None)]
    named |= {n for s in schemes for key in s.each_key() for text in key[:2] for n in read_by(text)}
    for asked in world.of(kind.name):
        named |= names_of(asked)
    named |= {n for t in world.transactions for n in (*t.group_by, *(t.pair or ()))}
    named |= set(map(str, world.extra.values()))
    return [n for n in kind.types if n not in named]


def names_of(asked: Asked) -> set[str]:
    """The properties that a query or write names."""
    out = {c.name for c in asked.comparisons()} | set(asked.parameters()) | set(asked.sets)
    out |= {n for n, _ in asked.order_by}
    if asked.draw is not None:
        out |= {*asked.draw.of, asked.draw.column} - {""}
    return out

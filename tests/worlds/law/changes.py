"""Changes of a world that must not change the advice: other names, other orders, a query in two halves, and the
like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.worlds.key_text import braced
from tests.worlds.model import Asked, IndexRow, Kind, World
from tests.worlds.names import named_template, renamed_properties
from tests.worlds.shrink import names_of
from tests.worlds.values import INT32, STRING

Change = Callable[[World, Random], World]


def renamed(name: str) -> str:
    """The new name of a property: as long, and in the same order among the others."""
    return name[:1].upper() + name[1:]


def restored(text: str, world: World) -> str:
    """A template with the names of before."""
    return named_template(text, {renamed(n): n for k in world.kinds for n in k.types})


def rename(world: World, random: Random) -> World:
    """Other names for the table and all properties, as long as before and in the same order."""
    del random
    return replace(renamed_properties(world, {n: renamed(n) for k in world.kinds for n in k.types}), table="Others")


def permute_rows(world: World, random: Random) -> World:
    """The entities in another order of lines, where nothing is said of the order of arrival by them."""

    def mixed(kind: Kind) -> Kind:
        if kind.arrival == "file_order":
            return kind
        return replace(kind, rows=tuple(random.sample(kind.rows, len(kind.rows))))

    return replace(world, kinds=tuple(map(mixed, world.kinds)))


def permute_asked(world: World, random: Random) -> World:
    """Queries and writes in another order."""
    return replace(world, asked=tuple(random.sample(world.asked, len(world.asked))))


def split(world: World, random: Random) -> World:
    """A query in two of half the rate."""
    queries = [a for a in world.asked if a.operation == "query"]
    if not queries:
        return world
    chosen = random.choice(queries)
    half = replace(chosen, rate=chosen.rate / 2, peak=None if chosen.peak is None else chosen.peak / 2)
    asked: list[Asked] = []
    for each in world.asked:
        asked += [half, replace(half, name=f"{half.name}-b")] if each is chosen else [each]
    return replace(world, asked=tuple(asked))


def unused_property(world: World, random: Random) -> World:
    """A further property that nothing names."""
    kind = random.choice(world.kinds)
    edm = random.choice((STRING, INT32))
    rows = tuple(
        {**row, "zz": random.randrange(10**6) if edm == INT32 else f"t{random.randrange(10**6)}"} for row in kind.rows
    )
    more = replace(kind, types={**kind.types, "zz": edm}, rows=rows)
    return replace(world, kinds=tuple(more if k is kind else k for k in world.kinds))


def unused_index_row(world: World, random: Random) -> World:
    """Beside each scheme the same with an index row in partitions of its own, over a property that nothing names."""
    kinds = []
    for kind in world.kinds:
        named = {n for a in world.of(kind.name) for n in names_of(a)}
        free = [n for n, e in kind.types.items() if n not in named and e in (STRING, INT32)]
        more = []
        for scheme in kind.schemes if free else ():
            extra = IndexRow(f"ZZ:{{{braced(random.choice(free))}}}", scheme.row or "{id}")
            more.append(replace(scheme, index_rows=(*scheme.index_rows, extra)))
        kinds.append(replace(kind, schemes=(*kind.schemes, *more)))
    return replace(world, kinds=tuple(kinds))


CHANGES: dict[str, Change] = {
    "other names": rename,
    "rows in another order": permute_rows,
    "queries in another order": permute_asked,
    "a query in two halves": split,
    "an unused property": unused_property,
}

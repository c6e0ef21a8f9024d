"""What a world has beside what ``world`` draws: rarer keys of the design file and of the key language.

Each is drawn from a stream of its own, so that adding one changes no world that does not have it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from random import Random

from tests.worlds.draw.entities import Drawn
from tests.worlds.draw.keys import draw_scheme
from tests.worlds.model import Asked, Compare, Draw, IndexRow, Kind, Parameter, Scheme, Transaction, World
from tests.worlds.names import renamed_properties
from tests.worlds.values import BINARY, DATETIME, GUID, INT32, STRING

Change = Callable[[World, Random, list[Drawn]], World]
WRITES = ("insert", "update", "upsert", "delete")


def _with_kind(world: World, kind: Kind) -> World:
    return replace(world, kinds=tuple(kind if k.name == kind.name else k for k in world.kinds))


def _with_scheme(world: World, random: Random, scheme: Scheme, kind: Kind) -> World:
    """The world with one more scheme: in use where nothing is, or to be counted."""
    if len(world.kinds) == 1 and world.current is None and random.random() < 0.5:
        return replace(world, current=scheme)
    return _with_kind(world, replace(kind, schemes=(*kind.schemes, scheme)))


# -- keys --------------------------------------------------------------------------------------------------------------


def time_of_day(world: World, random: Random, kinds: list[Drawn]) -> World:
    """A key over the time of day, or the finer part of it."""
    drawn = random.choice(kinds)
    kind = world.kind(drawn.kind.name)
    times = [s.name for s in drawn.shapes if s.edm == DATETIME]
    if not times:
        return world
    name, clock, unique = random.choice(times), random.choice(("'HHmm'", 3, 7)), random.choice(drawn.of("unique")).name
    part = f"{{time_of_day({name},{clock})}}"
    partition, row = random.choice(
        (
            (f"{{time({name},'yyyyMMdd')}}", f"{part}_{{{unique}}}"),
            (part, f"{{{unique}}}"),
            ("all", f"{part}_{{{unique}}}"),
        )
    )
    return _with_scheme(world, random, Scheme(partition, row), kind)


def nested(world: World, random: Random, kinds: list[Drawn]) -> World:
    """Functions within functions, texts of several properties, braces in the text, numbers of texts."""
    drawn = random.choice(kinds)
    kind = world.kind(drawn.kind.name)
    texts = [s.name for s in drawn.shapes if s.edm == STRING and s.role in ("group", "plain")]
    groups = [s.name for s in drawn.of("group") if s.edm != BINARY]
    unique = random.choice(drawn.of("unique")).name
    parts = [f"{{{{{random.choice('ab')}}}}}_{{{unique}}}"]
    if texts:
        text = random.choice(texts)
        parts += [
            f"{{prefix(lower({text}),2)}}", f"{{lower(reverse({text}))}}", f"{{hash(prefix({text},2),8)}}",
            f"{{hash_prefix(lower({text}),2)}}",
        ]  # fmt: skip
    if len(groups) > 1:
        one, two = random.sample(groups, 2)
        parts += [f"{{hash(concat({one},'_',{two}),16)}}"]
    codes = [s.name for s in drawn.shapes if s.name == "code"]
    row = f"{{pad({codes[0]},12)}}_{{{unique}}}" if codes else f"{{{unique}}}"
    return _with_scheme(world, random, Scheme(random.choice(parts), row), kind)


def several_values(world: World, random: Random, kinds: list[Drawn]) -> World:
    """A property with several values, an index row for each of them, and a query for one."""
    if len(world.kinds) > 1:
        return world
    kind, drawn = world.kinds[0], kinds[0]
    delimiter = random.choice(("", ";", "|")) if world.form in ("jsonl", "rest") else ";"
    labels = [f"t{n}" for n in range(random.choice((3, 12)))]
    rows = []
    for row in kind.rows:
        chosen = random.sample(labels, random.choice((0, 1, 1, 2, 3)))
        text = delimiter.join(chosen) if delimiter else json.dumps(chosen)
        rows.append({**row, "tags": text if text else None})
    base = world.current or draw_scheme(random, drawn, index_rows=False)
    part = f"{{each(tags,'{delimiter}')}}" if delimiter else "{each(tags)}"
    unique = drawn.of("unique")[0].name
    index = IndexRow(f"TAG:{part}", f"{{{unique}}}", random.choice(("full", "pointer")))
    if random.random() < 0.3:
        index = IndexRow(None, f"TAG:{part}_{{{unique}}}", "full")
    kind = replace(kind, rows=tuple(rows), types={**kind.types, "tags": STRING}, several={"tags": delimiter})
    query = Asked("things-tag", kind.name, "query", (Compare("tags", "eq", Parameter("tags")),), 1.0)
    current = replace(base, index_rows=(*base.index_rows, index))
    return replace(world, kinds=(kind,), current=current, asked=(query, *world.asked))


def keys_of_kinds(world: World, random: Random, kinds: list[Drawn]) -> World:
    """Keys in use of each kind, or of all but one, which has those of the table."""
    if len(world.kinds) < 2:
        return world
    out, alike = [], random.random() < 0.3
    for drawn in kinds:
        kind = world.kind(drawn.kind.name)
        if alike:
            out.append(replace(kind, current=Scheme("all", f"{{{drawn.of('unique')[0].name}}}")))
            continue
        label = random.choice(("", f"{kind.name.upper()}:"))
        scheme = draw_scheme(random, drawn)
        out.append(replace(kind, current=replace(scheme, row=label + scheme.row)))
    return replace(world, kinds=tuple(out))


def odd_name(world: World, random: Random, kinds: list[Drawn]) -> World:
    """A property whose name stands in backticks, in a key."""
    del kinds
    kind = random.choice(world.kinds)
    if any("`" in text for s in kind.schemes for key in s.each_key() for text in key[:2]):
        return world
    odd = {"ключ.9": random.choice((STRING, INT32))}
    rows = tuple({**row, "ключ.9": f"l{n % 9}" if STRING in odd.values() else n % 9} for n, row in enumerate(kind.rows))
    more = tuple(replace(s, row=f"{{`ключ.9`}}_{s.row}") for s in kind.schemes[:1])
    return _with_kind(world, replace(kind, types={**kind.types, **odd}, rows=rows, schemes=(*more, *kind.schemes[1:])))


# -- the table ---------------------------------------------------------------------------------------------------------


def system_time(world: World, random: Random, kinds: list[Drawn]) -> World:
    """Arrivals as the service keeps them, in Timestamp."""
    del random, kinds
    if len(world.kinds) > 1 or world.kinds[0].arrival != "at":
        return world
    return renamed_properties(world, {"at": "Timestamp"})


def sizes(world: World, random: Random, kinds: list[Drawn]) -> World:
    """What is said of properties beside their types."""
    del kinds
    if world.inferred:
        return world
    out = []
    for kind in world.kinds:
        told: dict[str, dict[str, object]] = {}
        for name, edm in kind.types.items():
            if edm in (STRING, BINARY) and random.random() < 0.3:
                told[name] = {"size": random.choice((0, 7, 300))}
            if random.random() < 0.2:
                told.setdefault(name, {})["sensitive"] = random.choice((True, "personal", "secret"))
        out.append(replace(kind, told=told))
    return replace(world, kinds=tuple(out))


def values_told(world: World, random: Random, kinds: list[Drawn]) -> World:
    """The true number of values of some properties."""
    del kinds
    if world.inferred:
        return world
    out = []
    for kind in world.kinds:
        told = {name: dict(said) for name, said in kind.told.items()}
        for name in (n for n in kind.types if n not in kind.several and random.random() < 0.4):
            count = len({row[name] for row in kind.rows if row[name] is not None})
            if count:
                told.setdefault(name, {})["distinct"] = count
        out.append(replace(kind, told=told))
    return replace(world, kinds=tuple(out))


def complete(world: World, random: Random, kinds: list[Drawn]) -> World:
    """The design says that the data is all there is."""
    del random, kinds
    if len(world.kinds) > 1:
        return replace(world, kinds=tuple(replace(k, total=len(k.rows)) for k in world.kinds))
    return replace(world, extra={**world.extra, "entities_total": world.entities, "sampling": "complete"})


def inferred(world: World, random: Random, kinds: list[Drawn]) -> World:
    """No properties are declared, where a file tells every type and every property has a value."""
    del random, kinds
    there = all(any(row[n] is not None for row in k.rows) for k in world.kinds for n in k.types)
    if world.form != "typed-csv" or not there or any(k.told or k.several for k in world.kinds):
        return world
    return replace(world, inferred=True)


# -- the workload ------------------------------------------------------------------------------------------------------


def spiced_writes(world: World, random: Random, kinds: list[Drawn]) -> World:
    """Writes with goals, hours, draws, and filters in place of keys; peaks over midnight."""
    out = []
    for asked in world.asked:
        drawn = next((d for d in kinds if d.kind.name == asked.kind), None)
        if asked.operation not in WRITES or drawn is None:
            out.append(replace(asked, peak_at=(22, 2)) if asked.peak_at and random.random() < 0.5 else asked)
            continue
        if random.random() < 0.5:
            asked = replace(asked, p99_ms=random.choice((30, 500)))
        if random.random() < 0.5:
            asked = replace(
                asked, peak=round(asked.rate * 3, 9), peak_at=(random.randrange(12), random.randrange(13, 24))
            )
        names = asked.parameters()
        if asked.by_key:
            asked = replace(asked, by_key=() if random.random() < 0.5 else asked.by_key)
            if all(row[n] is not None for row in drawn.kind.rows for n in names):
                asked = replace(asked, draw=random.choice((Draw("distinct", names), Draw("zipf", names, exponent=1.1))))
        out.append(asked)
    return replace(world, asked=tuple(out))


def larger_transaction(world: World, random: Random, kinds: list[Drawn]) -> World:
    """Writes of several operations or kinds that belong together, by one or two properties."""
    if world.transactions:
        return world
    common = [
        (n, edm)
        for n, edm in kinds[0].kind.types.items()
        if all(d.kind.types.get(n) == edm for d in kinds) and any(s.name == n for s in kinds[0].of("group"))
    ]
    several = len(kinds) > 1 and bool(common)
    chosen = kinds if several else [random.choice(kinds)]
    names = [n for n, _ in common] if several else [s.name for s in chosen[0].of("group")]
    names = [n for n in names if all(row[n] is not None for d in chosen for row in d.kind.rows)]
    writes = [w.name for w in world.asked if w.operation in WRITES and any(w.kind == d.kind.name for d in chosen)]
    if len(writes) < 2 or not names:
        return world
    together = tuple(random.sample(writes, random.randint(2, min(3, len(writes)))))
    by = tuple(random.sample(names, random.randint(1, min(2, len(names)))))
    return replace(world, transactions=(Transaction("several", together, by, random.random() < 0.3),))


def pairs(world: World, random: Random, kinds: list[Drawn]) -> World:
    """Writes that change the entities of two values of one property: pairs that the entities name, or any two."""
    drawn = random.choice(kinds)
    kind = world.kind(drawn.kind.name)
    shapes = [s for s in drawn.of("group", "unique") if s.edm in (STRING, INT32, GUID) and s.name in kind.types]
    shapes = [s for s in shapes if s.name not in kind.several and all(row[s.name] is not None for row in kind.rows)]
    writes = [w.name for w in world.asked if w.operation in WRITES and w.kind == kind.name]
    if world.transactions or not shapes or not writes:
        return world
    chosen = random.choice(shapes)
    of_rows = random.random() < 0.7 or len({row[chosen.name] for row in kind.rows}) > 400
    second = f"{chosen.name}Two" if of_rows else "two"
    together = tuple(random.sample(writes, min(len(writes), random.choice((1, 1, 2)))))
    pair = (chosen.name, chosen.name if of_rows else "one", second)
    world = replace(world, transactions=(Transaction("pairs", together, (), random.random() < 0.4, pair),))
    if not of_rows or second in kind.types:
        return world
    near = random.choice([s.name for s in drawn.of("group")] or [chosen.name])
    close: dict[object, list[int]] = {}
    for n, row in enumerate(kind.rows):
        close.setdefault(row.get(near), []).append(n)
    alike = random.choice((0.0, 0.5, 1.0))
    rows = []
    for row in kind.rows:
        others = close[row.get(near)] if random.random() < alike else range(len(kind.rows))
        other = kind.rows[random.choice(others)][chosen.name]
        rows.append({**row, second: None if random.random() < 0.05 else other})
    return _with_kind(world, replace(kind, types={**kind.types, second: chosen.edm}, rows=tuple(rows)))


FURTHER: tuple[tuple[float, Change], ...] = (
    (0.10, time_of_day),
    (0.15, nested),
    (0.07, several_values),
    (0.40, keys_of_kinds),
    (0.06, odd_name),
    (0.07, sizes),
    (0.07, values_told),
    (0.08, complete),
    (0.40, inferred),
    (0.15, spiced_writes),
    (0.20, larger_transaction),
    (0.15, pairs),
    (0.10, system_time),
)
"""How often each is tried, in the order in which they are done."""


def add_further(world: World, kinds: list[Drawn]) -> World:
    """The world with what is drawn of these."""
    for chance, change in FURTHER:
        random = Random(f"{world.seed} {change.__name__}")
        if random.random() < chance:
            world = change(world, random, kinds)
    return world

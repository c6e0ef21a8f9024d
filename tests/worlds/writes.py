"""What a write changes: which rows, in how many requests, in which partitions."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tests.worlds.answers import Answers, row_weights
from tests.worlds.key_text import Call, Part, Writer, parse, properties, read_by
from tests.worlds.model import Asked, Kind, Scheme, Transaction
from tests.worlds.printed import Test
from tests.worlds.requests import Plan
from tests.worlds.rows import Layout
from tests.worlds.sets import insert_requests
from tests.worlds.values import Value


@dataclass(frozen=True)
class Written:
    """Means over the requests of a class: rows written, requests that write, rows by partition.

    ``located``: the entity is read first. ``requests`` None: not counted here (see ``sets``). ``moves``: the
    write changes a key, and where the new row lies is not known.
    """

    rows: float
    requests: float | None
    load: Counter[str]
    located: bool
    moves: bool = False


NOTHING = Written(0.0, 0.0, Counter(), located=False)


def written_by(
    asked: Asked, layout: Layout, answers: Answers, plan: Plan | None, together: Transaction | None
) -> Written:
    """What one class writes under a scheme; ``together``: the declared transaction that it belongs to."""
    if asked.operation == "query":
        return NOTHING
    if asked.operation in ("insert", "upsert") and asked.where is None:
        return _inserted(asked, layout, together)
    assert plan is not None
    return _changed(asked, layout, answers, plan)


def _inserted(asked: Asked, layout: Layout, together: Transaction | None) -> Written:
    """An entity like the one drawn; one whose key holds periods of the arrival falls on the newest of them."""
    load: Counter[str] = Counter()
    rows = 0.0
    newest = [_newest(layout.kind, key[0]) for key in layout.scheme.each_key()]
    for entity, weight in enumerate(row_weights(asked, layout.kind)):
        if weight <= 0:
            continue
        for stored in layout.of_entity[entity]:
            rows += weight
            moved = newest[stored.via]
            load[moved.get(entity, stored.partition)] += weight
    return Written(rows, insert_requests(asked, layout, together), load, located=False)


def _newest(kind: Kind, partition: str) -> dict[int, str]:
    """The partition that takes each entity when it arrives, where the PartitionKey holds the time of arrival."""
    arrival, parts = kind.arrival, parse(partition)
    timed = [p for p in parts if isinstance(p, Call) and p.name == "time" and properties(p) == (arrival,)]
    if arrival is None or arrival == "file_order" or not timed:
        return {}
    writer = Writer(kind.types)
    rest: list[Part] = [p for p in parts if p not in timed]
    last: dict[str, tuple[Value, int]] = {}
    places = [writer.key(rest, row) for row in kind.rows]
    for n, (place, row) in enumerate(zip(places, kind.rows, strict=True)):
        moment = row[arrival]
        if moment is not None and (place not in last or moment >= last[place][0]):  # type: ignore[operator]
            last[place] = (moment, n)
    return {n: writer.key(parts, kind.rows[last[place][1]]) for n, place in enumerate(places) if place in last}


def touched(asked: Asked, scheme: Scheme) -> list[int]:
    """The rows of an entity that an update or delete writes: all copies, and pointers where a key changes."""
    out = [0]
    moved = _sets(asked, scheme.partition, scheme.row)
    for via, (partition, row, copy) in enumerate(scheme.each_key()):
        if via and (asked.operation == "delete" or copy == "full" or moved or _sets(asked, partition, row)):
            out.append(via)
    return out


def _sets(asked: Asked, *templates: str) -> bool:
    """Whether an update sets a property that templates read."""
    return asked.operation == "update" and bool({n for t in templates for n in read_by(t)} & set(asked.sets))


def _changed(asked: Asked, layout: Layout, answers: Answers, plan: Plan) -> Written:
    scheme = layout.scheme
    keys, vias = scheme.each_key(), touched(asked, scheme)
    moves = any(_sets(asked, partition, row) for partition, row, _ in keys)
    located = not _named(asked, plan) or asked.read_modify_write or _unknown(asked, layout, vias[1:])
    load: Counter[str] = Counter()
    rows = requests = 0.0
    # Rows with one PartitionKey are one group transaction: the first that an entity has stands for all of them.
    away = [v for v in vias if v and keys[v][0] not in {scheme.partition, *(keys[w][0] for w in vias if w < v)}]
    twice = {v: 2 if _sets(asked, *keys[v][:2]) else 1 for v in vias}
    first = 2 if _sets(asked, scheme.partition) else 1
    for instance in answers.instances:
        for entity in answers.matching(instance):
            mine = [r for r in layout.of_entity[entity] if r.via in vias]
            rows += instance.weight * sum(twice[r.via] for r in mine)
            apart = {(r.via, r.partition) for r in mine if r.via in away}
            requests += instance.weight * (first + sum(_elsewhere(asked, keys[via]) for via, _ in apart))
            for stored in mine:
                load[stored.partition] += instance.weight * twice[stored.via]
    return Written(rows, requests, load, located, moves)


def _named(asked: Asked, plan: Plan) -> bool:
    """Whether the filter alone makes the key of the entity, and asks for nothing else than equalities."""
    tested = {c.name for c in plan.conditions if isinstance(c, Test)}
    equalities = all(isinstance(c, Test) and c.operator == "eq" for c in plan.conditions)
    whole = plan.via == 0 and plan.access == "point" and not plan.several
    return whole and equalities and tested <= set(asked.equal())


def _unknown(asked: Asked, layout: Layout, vias: list[int]) -> bool:
    """Whether some of these index rows, or a row that moves, is made of values that the filter does not name."""
    keys, named = layout.scheme.each_key(), set(asked.equal())
    if any(not set(read_by(keys[v][0]) + read_by(keys[v][1])) <= named for v in vias):
        return True
    anew = any(copy != "pointer" and _sets(asked, partition, row) for partition, row, copy in keys)
    return anew and not set(layout.kind.types) <= {*named, *asked.sets}


def reads_entity(asked: Asked, layout: Layout, plan: Plan) -> bool:
    """Whether a change that finds an index row must read the entity that it stands for: for its ETag, or where a
    pointer does not tell what its other rows are made of, or whether it is meant."""
    copy = layout.scheme.each_key()[plan.via][2]
    if copy == "main" or asked.read_modify_write:
        return copy != "main"
    others = [v for v in touched(asked, layout.scheme) if v not in (0, plan.via)]
    left = plan.own_kind or plan.does("keep the rows that satisfy") is not None
    return copy == "pointer" and (left or _unknown(asked, layout, others))


def _elsewhere(asked: Asked, key: tuple[str, str, str]) -> int:
    """Requests for the index rows in another partition: two where they move between partitions, one within one."""
    return 2 if _sets(asked, key[0]) else 1

"""Group transactions: which entities a declared transaction writes together, and the requests that this takes.

A request of the service takes at most 100 rows of one partition. A set is sent in one such transaction, or in as few as
its rows need, where all of its entities have one PartitionKey whatever the bucket of a hash happens to be; index rows
in other partitions follow, together where the set fixes their partition too. Index rows of an entity with one
PartitionKey are one transaction in any case.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from math import ceil

from tests.worlds.answers import row_weights
from tests.worlds.key_text import Call, Part, Writer, parse, properties
from tests.worlds.model import Asked, Kind, Scheme, Transaction, World
from tests.worlds.rows import Layout

ROWS_MOST = 100
"""Rows of one group transaction."""


def declared(asked: Asked, world: World) -> Transaction | None:
    """The first transaction that a write belongs to, of those whose writes are all of one kind: what others save is
    counted for the kinds together."""
    of_kind = {a.name: a.entities_per_request for a in world.asked if a.kind == asked.kind}
    for each in world.transactions:
        if asked.name in each.together and of_kind.keys() >= {*each.together}:
            written = [of_kind[name] for name in each.together]
            return replace(each, entities=sum(written)) if max(written) > 1 and each.pair is None else each
    return None


def sets_of(kind: Kind, transaction: Transaction) -> list[list[int]]:
    """The entities of each set."""
    found: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for n, row in enumerate(kind.rows):
        found[tuple(row.get(name) for name in transaction.group_by)].append(n)
    return list(found.values())


def fixed(kind: Kind, sets: Iterable[Iterable[int]], template: str) -> bool:
    """Whether all entities of each set have one key text, not by chance of a hash."""
    writer, parts = Writer(kind.types), parse(template)
    return all(len({_read(writer, kind, parts, n) for n in one}) == 1 for one in sets)


def _read(writer: Writer, kind: Kind, parts: tuple[Part, ...], entity: int) -> tuple[object, ...]:
    row = kind.rows[entity]
    out: list[object] = []
    for part in parts:
        if isinstance(part, Call) and part.name in ("hash", "hash_prefix", "md5_prefix"):
            out += [(type(row[name]), row[name]) for name in properties(part)]
        elif not isinstance(part, str):
            out.append(writer.part(part, row, frozenset()))
    return tuple(out)


def pairs_of(kind: Kind, transaction: Transaction) -> list[tuple[object, object, int]]:
    """The pairs of values that meet, each with how often."""
    assert transaction.pair is not None
    name, first, second = transaction.pair
    if first in kind.types and second in kind.types:
        return [(r[first], r[second], 1) for r in kind.rows if r.get(first) is not None and r.get(second) is not None]
    counts = Counter(row[name] for row in kind.rows if row.get(name) is not None)
    return [(a, b, m * n) for a, m in counts.items() for b, n in counts.items() if a != b]


def pairs_together(kind: Kind, transaction: Transaction, template: str) -> float | None:
    """Share of the pairs of which all entities of both values have one key text by rule; None where none meet."""
    assert transaction.pair is not None
    writer, parts, name = Writer(kind.types), parse(template), transaction.pair[0]
    assigned = any(isinstance(part, Call) and part.name == "seq" for part in parts)
    texts: dict[object, set[object]] = defaultdict(set)
    for n, row in enumerate(kind.rows):
        texts[row.get(name)].add(n if assigned else _read(writer, kind, parts, n))
    whole = together = 0
    for first, second, count in pairs_of(kind, transaction):
        if first not in texts or second not in texts:
            continue
        whole += count
        together += count if len(texts[first] | texts[second]) == 1 else 0
    if not _varies(template):
        return 1.0
    return together / whole if whole else None


def _kept(kind: Kind, transaction: Transaction | None, template: str) -> float:
    """Share of the sets of a transaction that lie in one partition by rule."""
    if transaction is None:
        return 0.0
    if transaction.pair is not None:
        return pairs_together(kind, transaction, template) or 0.0
    return float(fixed(kind, sets_of(kind, transaction), template))


def inside(scheme: Scheme) -> int:
    """Rows of an entity that lie in the main row's partition."""
    return sum(1 for partition, _, _ in scheme.each_key() if partition == scheme.partition)


def insert_requests(asked: Asked, layout: Layout, transaction: Transaction | None) -> float | None:
    """Requests for one request of the application; None where it depends on which entities come together."""
    kind, scheme, each = layout.kind, layout.scheme, asked.entities_per_request
    weights = row_weights(asked, kind)
    keys = scheme.each_key()
    kept = _kept(kind, transaction, scheme.partition)
    away = [via for via, key in enumerate(keys) if key[0] not in {scheme.partition, *(k[0] for k in keys[:via])}]
    grouped = {via for via in away if _kept(kind, transaction, keys[via][0]) == 1}
    stored = [layout.of_entity[n] for n in range(len(weights))]
    partitions = {via: [len({r.partition for r in rows if r.via == via}) for rows in stored] for via in away}
    shares = {via: sum(w * n for w, n in zip(weights, partitions[via], strict=True)) for via in away}
    if max((n for each_entity in partitions.values() for n in each_entity), default=0) > 1 and (each > 1 or kept):
        return None  # rows for each value of a property, of several entities at once
    if each > 1:
        one = kept if _varies(scheme.partition) else 1.0
        at_once = ceil(each / max(1, ROWS_MOST // inside(scheme)))  # all rows of an entity at once
        first = one * at_once + (1 - one) * each
        after = 0.0
        for via in away:
            together = via in grouped or not _varies(scheme.each_key()[via][0])
            if together and 0 < shares[via] < 1:
                return None
            after += shares[via] * (1 if together else each)
        return first + after
    if transaction is None or not kept:
        return 1 + sum(shares.values())
    if asked.draw is not None and asked.draw.by != "entities":
        return None  # sets are written whole: which of them more often, the draw of entities does not say
    if transaction.pair is not None:
        if any(0 < shares[via] < 1 for via in grouped):
            return None
        return 1 - kept / 2 + sum(shares[via] / 2 if via in grouped else shares[via] for via in away)
    requests = 0.0
    most = max(1, ROWS_MOST // inside(scheme))
    if transaction.entities is not None:  # every set has so many
        requests = _requests_each(transaction.entities, most)
        for via in away:
            beside = ROWS_MOST // sum(1 for key in keys if key[0] == keys[via][0])
            requests += shares[via] * (_requests_each(transaction.entities, beside) if via in grouped else 1)
        return requests
    for one_set in sets_of(kind, transaction):
        requests += ceil(len(one_set) / most)
        for via in away:
            written = sum(1 for n in one_set if any(r.via == via for r in layout.of_entity[n]))
            beside = sum(1 for key in keys if key[0] == keys[via][0])
            requests += ceil(written / (ROWS_MOST // beside)) if via in grouped else written
    return requests / len(kind.rows)


def _requests_each(entities: int, most: int) -> float:
    """Group transactions for each entity of a set, of which one takes ``most``."""
    return ceil(entities / most) / entities


def _varies(template: str) -> bool:
    return any(not isinstance(part, str) for part in parse(template))

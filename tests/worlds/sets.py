"""Group transactions: which entities a declared transaction writes together, and the requests that this takes.

A request of the service takes at most 100 rows of one partition. A set is sent in one such transaction, or in as few as
its rows need, where all of its entities have one PartitionKey whatever the bucket of a hash happens to be; index rows
in other partitions follow, together where the set fixes their partition too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from math import ceil

from tests.worlds.answers import row_weights
from tests.worlds.key_text import Call, Part, Writer, parse, properties
from tests.worlds.model import Asked, Kind, Scheme, Transaction
from tests.worlds.rows import Layout

ROWS_MOST = 100
"""Rows of one group transaction."""


def declared(asked: Asked, transactions: Iterable[Transaction]) -> Transaction | None:
    """The first transaction that a write belongs to."""
    return next((t for t in transactions if asked.name in t.together), None)


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
        if isinstance(part, Call) and part.name in ("hash", "hash_prefix"):
            out += [(type(row[name]), row[name]) for name in properties(part)]
        elif not isinstance(part, str):
            out.append(writer.part(part, row, frozenset()))
    return tuple(out)


def inside(scheme: Scheme) -> int:
    """Rows of an entity that lie in the main row's partition."""
    return sum(1 for partition, _, _ in scheme.each_key() if partition == scheme.partition)


def insert_requests(asked: Asked, layout: Layout, transaction: Transaction | None) -> float | None:
    """Requests for one request of the application; None where it depends on which entities come together."""
    kind, scheme, each = layout.kind, layout.scheme, asked.entities_per_request
    weights = row_weights(asked, kind)
    sets = [] if transaction is None else sets_of(kind, transaction)
    kept = transaction is not None and fixed(kind, sets, scheme.partition)
    away = [via for via, key in enumerate(scheme.each_key()) if via and key[0] != scheme.partition]
    shares = {
        via: sum(w for n, w in enumerate(weights) if any(r.via == via for r in layout.of_entity[n])) for via in away
    }
    if each > 1:
        one = kept or not _varies(scheme.partition)
        first = ceil(each * inside(scheme) / ROWS_MOST) if one else each
        after = 0.0
        for via in away:
            together = not _varies(scheme.each_key()[via][0]) or (
                transaction is not None and fixed(kind, sets, scheme.each_key()[via][0])
            )
            if together and 0 < shares[via] < 1:
                return None
            after += shares[via] * (1 if together else each)
        return first + after
    if not kept:
        return 1 + sum(shares.values())
    if asked.draw is not None and asked.draw.by != "entities":
        return None  # sets are written whole: which of them more often, the draw of entities does not say
    requests = 0.0
    most = max(1, ROWS_MOST // inside(scheme))
    grouped = {via for via in away if fixed(kind, sets, scheme.each_key()[via][0])}
    for one_set in sets:
        requests += ceil(len(one_set) / most)
        for via in away:
            written = sum(1 for n in one_set if any(r.via == via for r in layout.of_entity[n]))
            requests += ceil(written / ROWS_MOST) if via in grouped else written
    return requests / len(kind.rows)


def _varies(template: str) -> bool:
    return any(not isinstance(part, str) for part in parse(template))

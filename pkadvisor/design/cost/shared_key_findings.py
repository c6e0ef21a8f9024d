"""What there is to say where rows of several owners can have one key: what the data show breaks the scheme, what the
templates merely allow is a remark with an example."""

from __future__ import annotations

from collections.abc import Iterator

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.load.estimates import Bench, Remark, Violation
from pkadvisor.design.load.shared_keys import SharedKey, example_words, shared_within
from pkadvisor.design.rows.population import Population

SEVERITY = 10.0
"""That of keys that are not unique within one kind."""


def shared_violations(scheme: KeyScheme, bench: Bench) -> list[Violation]:
    """Keys of the scheme that rows of other kinds have, over the rows at hand."""
    out = []
    for number, shared_key in _shared(scheme, bench):
        if not shared_key.real:
            continue
        plain = _taken(number, shared_key)
        out.append(
            Violation(
                "not-unique",
                plain + _example(shared_key),
                float(shared_key.counted or 0),
                0.0,
                "entities",
                SEVERITY + (shared_key.counted or 0) / max(1, shared_key.rows),
                keys=tuple(text for text in (shared_key.collision.partition, shared_key.collision.row) if text),
                hidden=plain,
            )
        )
    return out


def shared_remarks(scheme: KeyScheme, bench: Bench) -> list[Remark]:
    """Keys of the scheme that rows of other kinds could have, and do not have at hand."""
    out = []
    for number, shared_key in _shared(scheme, bench):
        if not shared_key.real:
            subject = f"index row {number}" if number else "an entity"
            out.append(_may_collide(f"{subject} can have the key of a row of {shared_key.owner}", shared_key))
    return out


def _may_collide(plain: str, shared_key: SharedKey) -> Remark:
    none = f"; none of the {shared_key.rows:,} sampled ones has" if shared_key.counted is not None else ""
    return Remark("may-collide", plain + _example(shared_key) + none, plain + none)


def overwriting(scheme: KeyScheme, number: int, rows: int, population: Population) -> Violation:
    """That an index row has the key of an earlier row for so many entities."""
    plain = f"index row {number} has the key of another row for {rows:,} of {population.looked_at}"
    shared_key = shared_within(scheme, number, population)
    keys = (
        () if shared_key is None else tuple(t for t in (shared_key.collision.partition, shared_key.collision.row) if t)
    )
    message = plain if shared_key is None or not keys else plain + _example(shared_key)
    return Violation("not-unique", message, float(rows), 0.0, "entities", SEVERITY, keys=keys, hidden=plain)


def own_row_remarks(scheme: KeyScheme, population: Population) -> list[Remark]:
    """Keys that an entity and the index rows of another could share, and do not at hand."""
    out = []
    for number in range(1, scheme.rows_per_entity):
        shared_key = shared_within(scheme, number, population)
        if shared_key is None or shared_key.counted:
            continue
        subject = "an entity" if shared_key.owner == "the entity itself" else shared_key.owner
        out.append(_may_collide(f"{subject} can have the key of index row {number} of another", shared_key))
    return out


def shared_key_notes(scheme: KeyScheme, bench: Bench, *, redact: bool) -> tuple[str, ...]:
    """What the scheme's keys share or could share with rows of other kinds, as sentences; keys hidden if asked."""
    findings: list[Violation | Remark] = [*shared_violations(scheme, bench), *shared_remarks(scheme, bench)]
    return tuple(f"the keys {scheme.main}: {each.hidden if redact else each.message}" for each in findings)


def _taken(number: int, shared_key: SharedKey) -> str:
    """That rows have keys of other rows: how many, or under which condition."""
    if shared_key.counted is not None:
        many = f"{shared_key.counted:,} of {shared_key.rows:,} entities"
        if number:
            return f"index row {number} has the key of a row of {shared_key.owner} for {many}"
        return f"{many} have the key of a row of {shared_key.owner}"
    taken = " and ".join(f"{{{name}}}" for name in part_properties(shared_key.key.partition))
    subject = f"index row {number}" if number else "an entity"
    where = f" that has the same {taken}" if taken else ""
    return f"{subject} has the key of every row of {shared_key.owner}{where}: the RowKeys do not distinguish them"


def _shared(scheme: KeyScheme, bench: Bench) -> Iterator[tuple[int, SharedKey]]:
    """What is known of each key of the scheme, with the number of its row: 0 of the entity itself."""
    for number, (key, _) in enumerate(scheme.each_key()):
        yield from ((number, shared_key) for shared_key in bench.shared if shared_key.key == key)


def _example(shared_key: SharedKey) -> str:
    return f", e.g. {example_words(shared_key.collision)}"

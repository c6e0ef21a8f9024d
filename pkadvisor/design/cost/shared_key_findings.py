"""What there is to say where rows of several owners can have one key: what the data show breaks the scheme, what the
templates merely allow is a remark with an example."""

from __future__ import annotations

from collections.abc import Iterator

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, Remark, Violation
from pkadvisor.design.load.shared_keys import SharedKey, example_words, shared_within
from pkadvisor.design.rows.population import Population

SEVERITY = 10.0
"""That of keys that are not unique within one kind."""


def shared_violations(scheme: KeyScheme, bench: Bench) -> list[Violation]:
    """Keys of the scheme that rows of other kinds have, over the rows at hand."""
    out = []
    for number, found in _shared(scheme, bench):
        if not found.real:
            continue
        plain = _taken(number, found)
        out.append(
            Violation(
                "not-unique",
                plain + _example(found),
                float(found.counted or 0),
                0.0,
                "entities",
                SEVERITY + (found.counted or 0) / max(1, found.rows),
                keys=tuple(text for text in (found.collision.partition, found.collision.row) if text),
                hidden=plain,
            )
        )
    return out


def shared_remarks(scheme: KeyScheme, bench: Bench) -> list[Remark]:
    """Keys of the scheme that rows of other kinds could have, and do not have at hand."""
    out = []
    for number, found in _shared(scheme, bench):
        if not found.real:
            subject = f"index row {number}" if number else "an entity"
            plain = f"{subject} can have the key of a row of {found.owner}"
            none = f"; none of the {found.rows:,} sampled ones has" if found.counted is not None else ""
            out.append(Remark("may-collide", plain + _example(found) + none, plain + none))
    return out


def overwriting(scheme: KeyScheme, number: int, rows: int, population: Population) -> Violation:
    """That an index row has the key of an earlier row for so many entities."""
    plain = f"index row {number} has the key of another row for {rows:,} of {population.looked_at}"
    found = shared_within(scheme, number, population)
    keys = () if found is None else tuple(t for t in (found.collision.partition, found.collision.row) if t)
    message = plain if found is None or not keys else plain + _example(found)
    return Violation("not-unique", message, float(rows), 0.0, "entities", SEVERITY, keys=keys, hidden=plain)


def own_row_remarks(scheme: KeyScheme, population: Population) -> list[Remark]:
    """Keys that an entity and the index rows of another could share, and do not at hand."""
    out = []
    for number in range(1, scheme.rows_per_entity):
        found = shared_within(scheme, number, population)
        if found is None or found.counted:
            continue
        subject = "an entity" if found.owner == "the entity itself" else found.owner
        plain = f"{subject} can have the key of index row {number} of another"
        none = f"; none of the {found.rows:,} sampled ones has" if found.counted is not None else ""
        out.append(Remark("may-collide", plain + _example(found) + none, plain + none))
    return out


def shared_key_notes(scheme: KeyScheme, bench: Bench, *, redact: bool) -> tuple[str, ...]:
    """What the scheme's keys share or could share with rows of other kinds, as sentences; keys hidden if asked."""
    found: list[Violation | Remark] = [*shared_violations(scheme, bench), *shared_remarks(scheme, bench)]
    return tuple(f"the keys {scheme.main}: {each.hidden if redact else each.message}" for each in found)


def _taken(number: int, found: SharedKey) -> str:
    """That rows have keys of other rows: how many, or under which condition."""
    if found.counted is not None:
        many = f"{found.counted:,} of {found.rows:,} entities"
        if number:
            return f"index row {number} has the key of a row of {found.owner} for {many}"
        return f"{many} have the key of a row of {found.owner}"
    told = " and ".join(f"{{{name}}}" for name in dict.fromkeys(n for p in found.key.partition for n in p.properties))
    subject = f"index row {number}" if number else "an entity"
    where = f" that has the same {told}" if told else ""
    return f"{subject} has the key of every row of {found.owner}{where}: the RowKeys do not distinguish them"


def _shared(scheme: KeyScheme, bench: Bench) -> Iterator[tuple[int, SharedKey]]:
    """What is known of each key of the scheme, with the number of its row: 0 of the entity itself."""
    for number, (key, _) in enumerate(scheme.each_key()):
        yield from ((number, found) for found in bench.shared if found.key == key)


def _example(found: SharedKey) -> str:
    return f", e.g. {example_words(found.collision)}"

"""Whether what the clients saw can be: linearizable per entity (T1, T4, T8, T9), groups whole (T2), pages ordered (T5).

A page is a read of each entity in the range that it covers, the absent ones too: all at one moment between its call and
its return (T3 in part; ``tests/engine/partition`` holds pages against a sequence number). The rows of ``GROUP_ROWS``
are one register: they are written together only, and every page must show them with the same number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from pkadvisor.table.store import (
    Delete,
    Entity,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Key,
    Merge,
    Outcome,
    Query,
    Update,
)
from tests.engine.linearizable import LOST, Operation, search
from tests.simulate.workload import GROUP_ROWS, TABLE, Call, Mix

ABSENT = 0
"""The state of an entity that is not there; states are the numbers that writes carry."""


class Numbered:
    """An entity as a register: the number of the write that it shows, or ``ABSENT``."""

    def __init__(self, writers: dict[str, int]) -> None:
        self._writers = writers  # which number an ETag stands for

    def initial(self) -> int:
        """Nothing is there."""
        return ABSENT

    def step(self, state: Any, call: Any, answer: Any) -> Iterable[int]:
        """What may follow; see ``linearizable.Model``."""
        kind, number, tag = call
        if kind == "read":
            return (state,) if answer is LOST or answer == state else ()
        status, after = self._carried_out(kind, number, tag, state)
        if answer is LOST:
            return (after,)
        return (after,) if answer == status else ()

    def _carried_out(self, kind: str, number: int, tag: str, state: int) -> tuple[int, int]:
        if kind == "put":
            return 204, number
        if kind == "insert":
            return (204, number) if state == ABSENT else (409, state)
        if state == ABSENT:
            return 404, state
        if tag != "*" and self._writers.get(tag) != state:
            return 412, state
        return 204, number


def judge(calls: Sequence[Call], mix: Mix) -> int:
    """Raises AssertionError where no order explains what was seen; how many operations were judged."""
    _check_tags(calls)
    operations = _operations(calls, mix)
    by_key: dict[Hashable, list[Operation]] = {}
    for operation in operations:
        by_key.setdefault(operation.key, []).append(operation)
    model = Numbered(_writers(calls))
    for key in sorted(by_key, key=str):
        found = search(by_key[key], model)
        assert found is None, f"T1: {found}"
    return len(operations)


def _number(entity: Entity) -> int:
    value = entity.properties["v"].value
    assert isinstance(value, int)
    return value


def _writers(calls: Sequence[Call]) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in calls:
        outcome = call.outcome
        if outcome is None or not outcome.ok:
            continue
        match call.operation:
            case Insert() | Update() | Merge() | InsertOrReplace() | InsertOrMerge():
                found[f"{call.operation.entity.key}{outcome.etags[0]}"] = _number(call.operation.entity)
            case Get() | Query():
                for entity in outcome.entities:
                    found[f"{entity.key}{entity.etag}"] = _number(entity)
    return found


def _check_tags(calls: Sequence[Call]) -> None:
    """Every change gives a new tag (T4): one tag of an entity never stands for two numbers."""
    seen: dict[tuple[Key, str], int] = {}
    for call in calls:
        outcome = call.outcome
        if outcome is None or not outcome.ok:
            continue
        shown: list[tuple[Key, str, int]] = [(e.key, e.etag, _number(e)) for e in outcome.entities]
        if isinstance(call.operation, Insert | Update | Merge | InsertOrReplace | InsertOrMerge):
            entity = call.operation.entity
            shown.append((entity.key, outcome.etags[0], _number(entity)))
        for key, tag, number in shown:
            assert tag, f"{key} came without an ETag"
            assert seen.setdefault((key, tag), number) == number, f"T4: {tag} of {key} stands for two changes"


def _operations(calls: Sequence[Call], mix: Mix) -> list[Operation]:
    moments = sorted(
        {(call.called_ns, 0, i) for i, call in enumerate(calls)}
        | {(call.returned_ns, 1, i) for i, call in enumerate(calls) if call.returned_ns is not None}
    )
    called: dict[int, int] = {}
    returned: dict[int, int] = {}
    for place, (_, end, index) in enumerate(moments, start=1):
        (returned if end else called)[index] = place
    found: list[Operation] = []
    for index, call in enumerate(calls):
        for key, what, answer in _parts(call, mix):
            lost = call.outcome is None
            # Parts of one call share its places: each key is judged alone, so they never meet.
            found.append(
                Operation(
                    str(call.client),
                    key,
                    what,
                    called[index],
                    None if lost else returned[index],
                    LOST if lost else answer,
                )
            )
    return found


def _parts(call: Call, mix: Mix) -> list[tuple[Hashable, Any, Any]]:
    """The operation as operations on single registers: (register, call, answer)."""
    outcome = call.outcome
    if outcome is not None and outcome.status == 503:
        return []  # surely not carried out
    status = 0 if outcome is None else outcome.status
    match call.operation:
        case Insert(entity=entity):
            return [(entity.key, ("insert", _number(entity), "*"), status)]
        case InsertOrReplace(entity=entity) | InsertOrMerge(entity=entity):
            return [(entity.key, ("put", _number(entity), "*"), status)]
        case Update(entity=entity, if_match=tag) | Merge(entity=entity, if_match=tag):
            return [(entity.key, ("update", _number(entity), _tag(entity.key, tag)), status)]
        case Delete(key=key, if_match=tag):
            return [(key, ("update", ABSENT, _tag(key, tag)), status)]
        case Get(key=key):
            if outcome is None:
                return []
            seen = _number(outcome.entities[0]) if outcome.ok else ABSENT
            assert outcome.ok or outcome.status == 404, f"a read is answered {outcome.status} {outcome.code}"
            return [(key, ("read", 0, ""), seen)]
        case Group(writes=writes):
            return _group(writes, outcome)
        case Query():
            return [] if outcome is None else _page(call.operation, outcome, mix)
        case _:
            return []


def _tag(key: Key, tag: str) -> str:
    return tag if tag == "*" else f"{key}{tag}"


def _group(writes: Sequence[Any], outcome: Outcome | None) -> list[tuple[Hashable, Any, Any]]:
    bad = len(writes) > len(GROUP_ROWS)
    if bad:
        if outcome is not None:
            assert outcome.status == 404, f"T2: a group with a refused write answers {outcome.status} {outcome.code}"
            assert outcome.failed_index == len(GROUP_ROWS), "T2: the failed write is named"
        return []
    partition = writes[0].entity.key.partition_key
    status = 204 if outcome is not None and outcome.ok else (0 if outcome is None else outcome.status)
    return [((partition, "group"), ("put", _number(writes[0].entity), "*"), status)]


def _page(query: Query, outcome: Outcome, mix: Mix) -> list[tuple[Hashable, Any, Any]]:
    assert outcome.ok, f"a query is answered {outcome.status} {outcome.code}"
    shown = [entity.key for entity in outcome.entities]
    assert shown == sorted(set(shown)), "T5: the keys of a page rise, none comes twice"
    assert len(shown) <= (query.top or 1_000), "T6: a page holds no more than it may"
    wanted = [key for key in _universe(mix) if _matches(query, key)]
    assert set(shown) <= set(wanted), "a page shows what was asked for"
    low = shown[0] if query.continuation and shown else Key("", "")
    if query.continuation and not shown:
        return []
    if outcome.continuation:  # it may end anywhere behind its last row: only up to there is said
        if not shown:
            return []
        wanted = [key for key in wanted if key <= shown[-1]]
    numbers = {entity.key: _number(entity) for entity in outcome.entities}
    found: list[tuple[Hashable, Any, Any]] = []
    groups: dict[str, list[int]] = {}
    for key in wanted:
        if key < low:
            continue
        number = numbers.get(key, ABSENT)
        if key.row_key in GROUP_ROWS:
            groups.setdefault(key.partition_key, []).append(number)
        else:
            found.append((key, ("read", 0, ""), number))
    for partition, members in groups.items():
        assert len(set(members)) == 1, f"T2: a page of {partition} shows a part of a group: {members}"
        if len(members) == len(GROUP_ROWS):
            found.append(((partition, "group"), ("read", 0, ""), members[0]))
    return found


def _universe(mix: Mix) -> list[Key]:
    rows = sorted([f"r{i}" for i in range(mix.rows)] + list(GROUP_ROWS))
    return [Key(partition, row) for partition in sorted(f"p{i}" for i in range(mix.partitions)) for row in rows]


def _matches(query: Query, key: Key) -> bool:
    if query.filter == "":
        return True
    _, operator, value = query.filter.split(" ", 2)
    wanted = value.strip("'")
    return key.partition_key == wanted if operator == "eq" else key.partition_key > wanted


assert TABLE.isalnum(), "a table's name"

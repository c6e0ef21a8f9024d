"""Whether what the clients saw can be: linearizable per entity (T1, T4, T8, T9), groups whole (T2), pages ordered (T5).

A page is a read of each entity in the range that it covers, the absent ones too: all at one moment between its call and
its return (T3 in part; ``tests/engine/partition`` holds pages against a sequence number). A key between the last row of
a page and the first row of the next was absent at some moment between the call of the one and the return of the other.
The rows of a group are one register: they are written together only, and every page must show them with the same
number.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, TypeAlias

from pkadvisor.engine.worlds.simulator import TICKS_AT_START
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrMerge,
    InsertOrReplace,
    Merge,
    Outcome,
    Query,
    Update,
)
from tests.engine.linearizable import LOST, Operation, search
from tests.simulate.workload import SLOTS, TABLES, Call, Mix, padding, slot_of

CLOCKS_NS = 200_000_000
"""How far the clocks of nodes may stand apart at the beginning; beyond it they drift."""

ABSENT = 0
"""The number of an entity that is not there; other numbers are those that writes carry."""

NEVER_SHOWN = -1
"""The number of all writes whose answers were lost and that nobody ever saw: which of them it was matters to nobody."""

Shown: TypeAlias = tuple[int | None, ...]
"""An entity as its numbers: that of ``v``, and those of ``m0`` …; ``None`` for what a projection leaves out."""

GONE: Shown = (ABSENT,) * (1 + SLOTS)


class Numbered:
    """An entity as a register of numbers: that of its last write, and what merges left of earlier ones."""

    def __init__(self, writers: dict[str, int]) -> None:
        self._writers = writers  # which number an ETag stands for

    def initial(self) -> Shown:
        """Nothing is there."""
        return GONE

    def step(self, state: Any, call: Any, answer: Any) -> Iterable[Shown]:
        """What may follow; see ``linearizable.Model``. The number of a read is the least that its filter lets by."""
        kind, number, tag, slot = call
        if kind == "read":
            return (state,) if answer is LOST or _fits(state, number, answer) else ()
        status, after = self._carried_out(kind, number, tag, slot, state)
        if answer is LOST:
            return (after,)
        return (after,) if answer == status else ()

    def only_looks(self, call: Any, answer: Any) -> bool:
        """A read, and whatever was refused."""
        return call[0] == "read" or answer != 204

    def _carried_out(self, kind: str, number: int, tag: str, slot: int, state: Shown) -> tuple[int, Shown]:
        is_there = state[0] != ABSENT
        if kind == "insert" and is_there:
            return 409, state
        if kind in UPDATES and not is_there:
            return 404, state
        if kind in UPDATES and tag != "*" and self._writers.get(tag) != state[0]:
            return 412, state
        return 204, _after(state if kind in MERGES else GONE, number, slot)


UPDATES, MERGES = ("update", "merge"), ("merge", "patch")


def _after(before: Shown, number: int, slot: int) -> Shown:
    """The entity after a write of this number; a write of the number ``ABSENT`` is a deletion."""
    kept = list(before[1:])
    kept[slot] = number
    return (number, *kept) if number != ABSENT else GONE


def _fits(state: Shown, least: int, answer: Shown) -> bool:
    """Whether an entity in this state answers a read so; one that the filter leaves out answers as one that is gone."""
    number = state[0]
    assert number is not None
    shown = number != ABSENT and (least == 0 or number >= least)
    if answer == GONE:
        return not shown
    return shown and all(seen in (None, own) for seen, own in zip(answer, state, strict=True))


Part: TypeAlias = tuple[Hashable, Any, Any, int]
"""An operation on one register: register, call, answer, and the call with which its interval begins."""


def judge(calls: Sequence[Call], mix: Mix) -> int:
    """Raises AssertionError where no order explains what was seen; how many operations were judged."""
    _check_values(calls, mix)
    _check_tags(calls)
    _check_timestamps(calls)
    operations = _operations(calls, mix)
    shown = _shown(operations, _writers(calls))
    by_key: dict[Hashable, list[Operation]] = {}
    for operation in operations:
        if operation.answer is LOST and operation.call[1] not in shown:
            operation.call = (operation.call[0], NEVER_SHOWN, *operation.call[2:])
        by_key.setdefault(operation.key, []).append(operation)
    model = Numbered(_writers(calls))
    for key in sorted(by_key, key=str):
        found = search(by_key[key], model)
        assert found is None, f"T1: {found}"
    return len(operations)


def maybe_written(calls: Sequence[Call]) -> set[tuple[str, EntityKey]]:
    """Entities that a write without an answer may still change."""
    found: set[tuple[str, EntityKey]] = set()
    for call in calls:
        if call.outcome is None and not isinstance(call.operation, Query | Get | CreateTable):
            writes = call.operation.writes if isinstance(call.operation, Group) else (call.operation,)
            found.update(
                (write.table, write.key if isinstance(write, Delete) else write.entity.key) for write in writes
            )
    return found


def _number(entity: Entity) -> int:
    value = entity.properties["v"].value
    assert isinstance(value, int)
    return value


def _numbers(entity: Entity, select: tuple[str, ...]) -> Shown:
    """What an entity shows; a property that it has not counts as absent where it was asked for."""
    names = ["v", *(f"m{slot}" for slot in range(SLOTS))]
    values = [entity.properties[name].value if name in entity.properties else ABSENT for name in names]
    return tuple(value if not select or name in select else None for name, value in zip(names, values, strict=True))


def _shown(operations: Sequence[Operation], writers: dict[str, int]) -> set[int]:
    """The numbers that matter: those that some read showed, and those whose tags somebody had."""
    read = {number for operation in operations if operation.call[0] == "read" for number in operation.answer}
    return {ABSENT, *(number for number in read if number is not None), *writers.values()}


def _check_values(calls: Sequence[Call], mix: Mix) -> None:
    """Every entity is whole: what it carries is what its number says."""
    for call in calls:
        for entity in call.outcome.entities if call.outcome is not None else ():
            number, select = _number(entity), _select(call.operation)
            more = padding(number, mix.padding_bytes)
            own = {"v", f"m{slot_of(number)}"} | ({"p"} if more else set())
            allowed = own | {f"m{slot}" for slot in range(SLOTS)}
            if select:
                own, allowed = own & set(select), allowed & set(select)
            assert own <= set(entity.properties) <= allowed, f"{entity.key} with other properties"
            assert "p" not in own or entity.properties["p"].value == more, f"{entity.key} carries another one's value"


def _select(operation: Any) -> tuple[str, ...]:
    return operation.select if isinstance(operation, Get | Query) else ()


def _check_timestamps(calls: Sequence[Call]) -> None:
    """T4: the Timestamp of an entity is that of its last write, as far as clocks agree, and stays with its tag."""
    written: dict[int, Call] = {}
    for call in calls:
        writes = call.operation.writes if isinstance(call.operation, Group) else (call.operation,)
        for write in writes:
            if isinstance(write, Insert | Update | Merge | InsertOrReplace | InsertOrMerge):
                written[_number(write.entity)] = call
    stamps: dict[tuple[str, EntityKey, str], int] = {}
    for call in calls:
        if call.outcome is None or not isinstance(call.operation, Get | Query):
            continue
        for entity in call.outcome.entities:
            ticks, state = entity.timestamp_ticks, (call.operation.table, entity.key, entity.etag)
            by, at_ns = written[_number(entity)], (ticks - TICKS_AT_START) * 100
            until_ns = call.ended_ns if by.ended_ns is None else by.ended_ns
            assert until_ns is not None
            off_ns = CLOCKS_NS + until_ns // 50
            own = by.began_ns - off_ns <= at_ns <= until_ns + off_ns
            assert own, f"T4: the Timestamp of {entity.key} is not of its last write"
            assert stamps.setdefault(state, ticks) == ticks, f"T4: two Timestamps of {entity.key}"


def _writers(calls: Sequence[Call]) -> dict[str, int]:
    found: dict[str, int] = {}
    for call in calls:
        outcome = call.outcome
        if outcome is None or not outcome.ok:
            continue
        match call.operation:
            case Insert() | Update() | Merge() | InsertOrReplace() | InsertOrMerge():
                key = call.operation.table, call.operation.entity.key
                found[_tag(key, outcome.etags[0])] = _number(call.operation.entity)
            case Group(writes=writes) if outcome.etags:
                first = writes[0]
                found[_tag((first.table, first.entity.key), outcome.etags[0])] = _number(first.entity)
            case Get() | Query():
                for entity in outcome.entities:
                    found[_tag((call.operation.table, entity.key), entity.etag)] = _number(entity)
    return found


def _check_tags(calls: Sequence[Call]) -> None:
    """Every change gives a new tag (T4): one tag of an entity never stands for two numbers."""
    seen: dict[tuple[str, EntityKey, str], int] = {}
    for call in calls:
        outcome = call.outcome
        if outcome is None or not outcome.ok or isinstance(call.operation, CreateTable):
            continue
        table = call.operation.writes[0].table if isinstance(call.operation, Group) else call.operation.table
        shown: list[tuple[EntityKey, str, int]] = [(e.key, e.etag, _number(e)) for e in outcome.entities]
        if isinstance(call.operation, Insert | Update | Merge | InsertOrReplace | InsertOrMerge):
            entity = call.operation.entity
            shown.append((entity.key, outcome.etags[0], _number(entity)))
        for key, tag, number in shown:
            assert tag, f"{key} came without an ETag"
            assert seen.setdefault((table, key, tag), number) == number, f"T4: {tag} of {key} stands for two changes"


def _operations(calls: Sequence[Call], mix: Mix) -> list[Operation]:
    found: list[Operation] = []
    for index, call in enumerate(calls):
        for key, what, answer, began in _parts(call, index, mix):
            lost = call.outcome is None
            # Parts of one call share its places: each key is judged alone, so they never meet.
            found.append(
                Operation(
                    str(call.client),
                    key,
                    what,
                    calls[began].called,
                    None if lost else call.returned,
                    LOST if lost else answer,
                )
            )
    return found


def _parts(call: Call, index: int, mix: Mix) -> list[Part]:
    """The operation as operations on single registers."""
    outcome = call.outcome
    if outcome is not None and outcome.status == 503:
        return []  # surely not carried out
    if isinstance(call.operation, Query):
        return [] if outcome is None else _page(call, call.operation, outcome, index, mix)
    return [(*part, index) for part in _single(call.operation, outcome, mix)]


def _single(operation: Any, outcome: Outcome | None, mix: Mix) -> list[tuple[Hashable, Any, Any]]:
    status = 0 if outcome is None else outcome.status
    match operation:
        case Insert(table=table, entity=entity):
            return [((table, entity.key), _call("insert", entity), status)]
        case InsertOrReplace(table=table, entity=entity):
            return [((table, entity.key), _call("put", entity), status)]
        case InsertOrMerge(table=table, entity=entity):
            return [((table, entity.key), _call("patch", entity), status)]
        case Update(table=table, entity=entity, if_match=tag):
            return [((table, entity.key), _call("update", entity, _tag((table, entity.key), tag)), status)]
        case Merge(table=table, entity=entity, if_match=tag):
            return [((table, entity.key), _call("merge", entity, _tag((table, entity.key), tag)), status)]
        case Delete(table=table, key=key, if_match=tag):
            return [((table, key), ("update", ABSENT, _tag((table, key), tag), 0), status)]
        case Get(table=table, key=key, select=select):
            if outcome is None:
                return []
            seen = _numbers(outcome.entities[0], select) if outcome.ok else GONE
            assert outcome.ok or outcome.status == 404, f"a read is answered {outcome.status} {outcome.code}"
            assert outcome.code != "TableNotFound", "T1: the table is there"
            return [((table, key), ("read", 0, "", 0), seen)]
        case Group(writes=writes):
            return _group(writes, outcome, mix)
        case _:
            return []


def _call(kind: str, entity: Entity, tag: str = "*") -> tuple[str, int, str, int]:
    number = _number(entity)
    return kind, number, tag, slot_of(number)


def _tag(key: tuple[str, EntityKey], tag: str) -> str:
    return tag if tag == "*" else f"{key}{tag}"


def _group(writes: Sequence[Any], outcome: Outcome | None, mix: Mix) -> list[tuple[Hashable, Any, Any]]:
    bad = len(writes) > mix.group
    if bad:
        if outcome is not None:
            assert outcome.status == 404, f"T2: a group with a refused write answers {outcome.status} {outcome.code}"
            assert outcome.failed_index == mix.group, "T2: the failed write is named"
        return []
    first = writes[0]
    key = first.table, first.entity.key
    status = 0 if outcome is None else 204 if outcome.ok else outcome.status
    if outcome is not None and not outcome.ok:
        assert outcome.failed_index == 0, "T2: the failed write is named"
    asked = ("update", _tag(key, first.if_match)) if isinstance(first, Update) else ("put", "*")
    return [((first.table, first.entity.key.partition_key, "group"), _call(asked[0], first.entity, asked[1]), status)]


def _page(call: Call, query: Query, outcome: Outcome, index: int, mix: Mix) -> list[Part]:
    assert outcome.ok, f"a query is answered {outcome.status} {outcome.code}"
    shown = [entity.key for entity in outcome.entities]
    assert shown == sorted(set(shown)), "T5: the keys of a page rise, none comes twice"
    assert len(shown) <= (query.top or 1_000), "T6: a page holds no more than it may"
    wanted = [key for key in _universe(mix) if _matches(query, key)]
    least = _least(query)
    assert set(shown) <= set(wanted), "a page shows what was asked for"
    walked = call.walked
    if walked is not None and walked.last is not None:
        wanted = [key for key in wanted if key > walked.last]
        assert not shown or shown[0] > walked.last, "T5: the keys of a walk rise, none comes twice"
    if outcome.continuation:  # it may end anywhere behind its last row: only up to there is said
        wanted = [key for key in wanted if key <= shown[-1]] if shown else []
    numbers = {entity.key: _numbers(entity, query.select) for entity in outcome.entities}
    found: list[Part] = []
    groups: dict[str, list[Shown]] = {}
    for key in wanted:
        # What a page of a walk does not show before its first row may have been passed over by the pages before.
        between = walked is not None and (not shown or key < shown[0])
        if key.row_key.startswith("g"):
            if not between:
                groups.setdefault(key.partition_key, []).append(numbers.get(key, GONE))
        else:
            began = walked.since if between and walked is not None else index
            found.append(((query.table, key), ("read", least, "", 0), numbers.get(key, GONE), began))
    for partition, members in groups.items():
        assert len(set(members)) == 1, f"T2: a page of {partition} shows a part of a group: {members}"
        if len(members) == mix.group:
            found.append(((query.table, partition, "group"), ("read", least, "", 0), members[0], index))
    return found


def _universe(mix: Mix) -> list[EntityKey]:
    rows = sorted([mix.row(number) for number in range(mix.rows)] + list(mix.group_rows()))
    return [EntityKey(partition, row) for partition in sorted(f"p{i}" for i in range(mix.partitions)) for row in rows]


def _least(query: Query) -> int:
    """The least number of ``v`` that the filter lets by; 0 where it asks for none."""
    found = re.search(r"v ge (\d+)L", query.filter)
    return int(found[1]) if found else 0


def _matches(query: Query, key: EntityKey) -> bool:
    found = re.match(r"PartitionKey (eq|gt) '(\w+)'", query.filter)
    if found is None:
        return True
    return key.partition_key == found[2] if found[1] == "eq" else key.partition_key > found[2]


assert all(table.isalnum() for table in TABLES), "a table's name"

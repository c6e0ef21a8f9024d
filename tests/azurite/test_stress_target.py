"""A load on Azurite through the official client: the answers of the engine, an audit, and nothing left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from pkadvisor.engine.open_store import open_virtual
from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import default_limits
from pkadvisor.rest.endpoint import Endpoint, open_endpoint
from pkadvisor.rest.target import Target, target_of
from pkadvisor.stress.load.load import WorkloadLoad, used_instances
from pkadvisor.stress.requests.plain_table import page_limits
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.retry import policy_of
from pkadvisor.stress.requests.rows import entities_of
from pkadvisor.stress.requests.script_table import script_table
from pkadvisor.stress.store.auditor import Auditor
from pkadvisor.stress.store.own_table import OwnTable, groups_of, table_name
from pkadvisor.stress.store.real_driver import MOST, RealRun, run_real
from pkadvisor.table.store import (
    CreateTable,
    Delete,
    EntityKey,
    Group,
    ListTables,
    Merge,
    Operation,
    Outcome,
    Query,
    Update,
    Write,
)
from tests.azurite.engines import answer, plain
from tests.azurite.support import Azurite
from tests.stress.support import Design, cut, designs

pytestmark = pytest.mark.requires("azurite")

SECOND = 1_000_000_000
LIMITS = default_limits()
REQUESTS = 150


@cache
def small(number: int) -> Design:
    """A sample with few rows: under its recommended keys (0) and its current ones (1)."""
    return cut(designs("footrace")[number], 60)


class Noted:
    """A store that keeps what it was asked and what it answered, in order."""

    def __init__(self, endpoint: Endpoint) -> None:
        self.asked: list[tuple[Operation, Outcome]] = []
        self._endpoint = endpoint

    def execute(self, operation: Operation, at_ms: float) -> Outcome:
        outcome = self._endpoint.execute(operation, at_ms)
        self.asked.append((operation, outcome))
        return outcome


def sent(
    azurite: Azurite, design: Design, concurrency: int, operations_max: int = 10_000, seed: int = 5
) -> tuple[RealRun, Auditor, list[tuple[Operation, Outcome]], list[Any]]:
    """Runs some requests of every class in a table of its own, and removes it."""
    endpoint = open_endpoint(target_of(f"http://127.0.0.1:{azurite.port}", None, None, {}), concurrency)
    name = table_name(seed, f"{design.scheme.text}{concurrency}{operations_max}")
    programs = Programs(design.bench, design.scheme, entities_of(design.bench.population), table=name, seed=seed)
    load = WorkloadLoad.from_workload(design.bench, programs.classes, duration_ns=SECOND, seed=seed, shape="constant")
    load = replace(load, parts=tuple(replace(p, rate=p.rate.times(_even(p.rate, load))) for p in load.parts))
    scripts = script_table(programs, LIMITS, used_instances(load), load.duration_ns, examined_scale=False)
    rows = list(programs.stored)
    noted, auditor = Noted(endpoint), Auditor()
    table = OwnTable(noted, name)
    try:
        table.create()
        groups = groups_of(name, rows, LIMITS)
        table.load(groups, concurrency)
        auditor.stored(name, rows)
        noted.asked.clear()
        run = run_real(
            load, programs, noted, scripts.space, LIMITS, policy_of("none"),
            concurrency=concurrency, operations_max=operations_max, auditor=auditor,
        )  # fmt: skip
        asked = list(noted.asked)
    finally:
        assert table.remove()
        left = noted.execute(ListTables(), 0).tables
        endpoint.close()
    assert not [found for found in left if found.startswith("pkadvisor")]
    return run, auditor, asked, groups


def _even(rate: Any, load: WorkloadLoad) -> Any:
    """A factor after which each class sends as many requests."""
    from pkadvisor.stress.load.arrivals import Steps

    return Steps.flat(REQUESTS / len(load.parts) / max(1e-9, rate.expected(load.duration_ns)))


class Translated:
    """Operations as another store has to be asked them: it has ETags and page tokens of its own."""

    def __init__(self) -> None:
        self._names: dict[tuple[EntityKey | None, str], str] = {}

    def operation(self, operation: Operation) -> Operation:
        if isinstance(operation, Group):
            return Group(tuple(self._write(write) for write in operation.writes))
        if isinstance(operation, Query) and operation.continuation:
            return replace(operation, continuation=self._names[None, operation.continuation])
        return self._write(operation) if isinstance(operation, Update | Merge | Delete) else operation

    def _write(self, write: Write) -> Write:
        if not isinstance(write, Update | Merge | Delete) or write.if_match == "*":
            return write
        key = write.key if isinstance(write, Delete) else write.entity.key
        return replace(write, if_match=self._names[key, write.if_match])

    def learn(self, operation: Operation, one: Outcome, other: Outcome) -> None:
        for mine, theirs in zip(one.entities, other.entities, strict=True):
            self._names[mine.key, mine.etag] = theirs.etag
        if one.continuation:
            self._names[None, one.continuation] = other.continuation


@pytest.mark.parametrize("number", [0, 1], ids=["recommended", "current"])
def test_every_operation_is_answered_as_the_engine_answers_it(azurite: Azurite, number: int) -> None:
    """One after the other, as Azurite got them: statuses, codes, failing index, entities with types, order, pages."""
    design = small(number)
    run, auditor, asked, groups = sent(azurite, design, concurrency=1)
    assert auditor.violations == [] and run.result.complete
    assert len(asked) == run.operations >= REQUESTS
    store, translated = open_virtual(3, table_limits=page_limits(LIMITS)), Translated()
    store.execute(CreateTable(groups[0][0].table))
    for group in groups:
        assert store.execute(Group(group)).ok
    for operation, outcome in asked:
        mine = store.execute(translated.operation(operation))
        assert answer(mine) == answer(outcome), operation
        assert bool(mine.continuation) == bool(outcome.continuation)
        translated.learn(operation, outcome, mine)
    kinds = {type(operation).__name__ for operation, _ in asked}
    assert len(kinds) >= 3, f"the load does more than {kinds}"
    assert any(plain(outcome) for _, outcome in asked)


def test_many_at_once_and_nothing_is_wrong(azurite: Azurite) -> None:
    run, auditor, asked, _ = sent(azurite, small(0), concurrency=16)
    assert auditor.violations == [] and auditor.operations == len(asked) == run.operations
    counts = run.result.classes.values()
    assert sum(c.requests for c in counts) == sum(c.served for c in counts) >= REQUESTS * 0.9
    assert all(a.latency_ns > 0 for a in run.attempts)


def test_no_more_is_sent_than_may_be(azurite: Azurite) -> None:
    run, auditor, asked, _ = sent(azurite, small(0), concurrency=4, operations_max=40)
    assert len(asked) == run.operations == 40
    assert run.stopped == MOST and not run.result.complete
    assert auditor.violations == []


WRONG = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="


@pytest.mark.parametrize(
    ("changed", "error", "says"),
    [
        ({"key": WRONG}, UsageError, "refuses the credentials .403"),
        ({"url": "http://127.0.0.1:9/devstoreaccount1"}, InputError, "the endpoint cannot be reached"),
    ],
)
def test_an_endpoint_that_does_not_let_us_in(
    azurite: Azurite, changed: Mapping[str, str], error: type[Exception], says: str
) -> None:
    target: Target = replace(target_of(f"http://127.0.0.1:{azurite.port}", None, None, {}), **changed)
    endpoint = open_endpoint(target)
    table = OwnTable(endpoint, "pkadvisorrefused", pause=lambda seconds: None)
    try:
        with pytest.raises(error, match=says) as caught:
            table.create()
        assert WRONG not in str(caught.value) and "Signature" not in str(caught.value)
        assert table.remove()
    finally:
        endpoint.close()

"""The engine with its rows and the reference without: the same arrivals give the same integers, retries included."""

from __future__ import annotations

import numpy as np
import pytest

from pkadvisor.engine.capacity.capacity import Bound, Capacity, Enforcement
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import ACCOUNT, open_virtual
from pkadvisor.engine.stamp import Layout
from pkadvisor.engine.tables.row_keys import partition_prefix
from pkadvisor.limits import Limits
from pkadvisor.stress.requests.scripts import KeySpace, Step
from pkadvisor.stress.simulate.course import Traced
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.table.accounting import entity_bytes
from pkadvisor.table.edm import EdmType
from pkadvisor.table.store import (
    CreateTable,
    Entity,
    EntityKey,
    Get,
    Group,
    Insert,
    InsertOrReplace,
    Operation,
    Property,
)
from pkadvisor.table.store import Query as Page
from tests.stress.small import (
    MS,
    SECOND,
    Listed,
    Waits,
    fixed,
    limits,
    one_class,
    page,
    read,
    script,
    write,
)

KEYS, ROWS = 8, 150
SPAN_NS = SECOND
BEGIN_NS = 100 * SECOND
"""When the run begins in the engine's time: what was loaded before is forgotten."""


def entity(partition: int, row: int) -> Entity:
    return Entity(EntityKey(f"{partition:06d}", f"{row:06d}"), {"v": Property(EdmType.INT32, row)})


def loaded(store: EmbeddedStore) -> None:
    """150 rows in each of 8 PartitionKeys."""
    assert store.execute(CreateTable("rows")).status == 204
    for partition in range(KEYS):
        for first in range(0, ROWS, 50):
            rows = tuple(Insert("rows", entity(partition, row)) for row in range(first, first + 50))
            assert store.execute(Group(rows), 1000 * (1 + partition)).status == 202
    assert store.capacity is not None and store.capacity.tally.throttled == 0


def between(low: int, high: int) -> str:
    return f"PartitionKey ge '{low:06d}' and PartitionKey lt '{high:06d}'"


SIZES = np.full(KEYS, ROWS, dtype=np.int64)
SPACE = KeySpace("rows", tuple(f"{i:06d}" for i in range(KEYS)), SIZES)
BYTES = entity_bytes(entity(0, 0))


def moved(step: Step, rows: int) -> Step:
    return step._replace(bytes_moved=rows * BYTES)


SCRIPTS = [
    script([moved(write(1), 1)]),
    script([moved(write(1, 100), 100), moved(read(2), 1)], [moved(write(3), 1)]),
    script([moved(page(0, 3, 450), 450)]),
    script(
        [moved(page(1, 3, 200), 200)],
        [moved(page(2, 4, 200, continued=True), 200)],
        [moved(page(3, 4, 50, continued=True), 50)],
    ),
    script([moved(page(6, 7, 150)._replace(partition=6), 150)]),
    script([read(5)._replace(bytes_moved=0)]),
]


def operation(number: int, step: int, token: str) -> Operation:
    """What a client sends for a step of a script, after a page that ended with a token."""
    match number:
        case 0:
            return InsertOrReplace("rows", entity(1, 7))
        case 1:
            group = Group(tuple(InsertOrReplace("rows", entity(1, row)) for row in range(100)))
            return (group, Get("rows", EntityKey("000002", "000003")), InsertOrReplace("rows", entity(3, 9)))[step]
        case 2:
            return Page("rows", between(0, 3), continuation=token)
        case 3:
            return Page("rows", between(1, 4), top=200, continuation=token)
        case 4:
            return Page("rows", "PartitionKey eq '000006'")
        case _:
            return Get("rows", EntityKey("000005", "none"))


def ready(tight: Limits, enforcement: Enforcement, seed: int, before: int) -> Capacity:
    """A stamp's capacity that has judged as many requests before, all of them long ago."""
    capacity = Capacity(tight, None, enforcement, seed)
    capacity.tally.arrived = capacity.tally.served = before
    return capacity


@pytest.mark.parametrize("enforcement", list(Enforcement))
@pytest.mark.parametrize(("boundary", "seed", "bandwidth"), [(None, 0, 60e6), (2, 1, 60e6), (None, 2, 10e3)])
def test_the_engine_and_the_loop_come_to_the_same_integers(
    boundary: int | None, seed: int, bandwidth: float, enforcement: Enforcement
) -> None:
    """Each attempt of the loop, sent to the engine at its moment, has the same status and latency: so by induction
    the engine's clients would have sent the same attempts."""
    tight = limits(partition_entities_per_s=700, range_entities_per_s=900, range_bytes_per_s=bandwidth)
    dice = np.random.default_rng(seed)
    which = dice.integers(0, len(SCRIPTS), 250)
    moments = np.sort(dice.integers(0, SPAN_NS, 250)).tolist()
    requests = [(at_ns, 0, int(number)) for at_ns, number in zip(moments, which, strict=True)]
    layout = Layout(boundaries=() if boundary is None else (partition_prefix(ACCOUNT, "rows", SPACE.keys[boundary]),))
    with open_virtual(seed, limits=tight, layout=layout, enforcement=enforcement) as store:
        loaded(store)
        assert store.capacity is not None
        capacity = ready(tight, enforcement, seed, store.capacity.tally.arrived)
        trace: list[Traced] = []
        run_loop(
            Listed(requests, SPAN_NS),
            one_class(SPACE, SCRIPTS),
            capacity,
            fixed(*(0, KEYS) if boundary is None else (0, boundary, KEYS)),
            Waits((300 * MS, 700 * MS)),
            trace=trace,
        )
        assert any(each[5] == 503 for each in trace), "some are turned away"
        assert any(each[4] > 1 and each[5] == 200 for each in trace), "and come through later"
        tokens: dict[int, str] = {}
        again: dict[int, str] = {}  # with what the attempt before was sent
        for at_ns, number, stage, step, tried, status, latency_ns in trace:
            if tried == 1:
                again[number] = tokens.get(number, "")
            sent = operation(requests[number][2], step, again[number])
            outcome = store.execute(sent, (BEGIN_NS + at_ns) / MS)
            refused = outcome.status in (500, 503)
            assert (outcome.status if refused else 200, outcome.latency_ns) == (status, latency_ns), (
                f"attempt {tried} of stage {stage}, step {step} of request {number}, script {requests[number][2]}"
            )
            tokens[number] = "" if refused else outcome.continuation
        assert not any(tokens.values()), "every page was asked for, or refused"
        assert store.capacity.tally.rejected == capacity.tally.rejected
        assert (Bound.BANDWIDTH in capacity.tally.rejected) == (bandwidth < 60e6)
        store.check()

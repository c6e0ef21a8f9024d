"""One entity that many read, change and write under If-Match: what commits, in both ways to run, and what is lost."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Generator

import numpy as np
import pytest

from pkadvisor.design.load.contention import SERVED_LOAD, attempts_at_most, contention
from pkadvisor.engine.capacity.capacity import Capacity
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import open_virtual
from pkadvisor.stress.load.arrivals import Steps
from pkadvisor.stress.load.load import ClassLoad, WorkloadLoad
from pkadvisor.stress.placement.run_result import ClassCounts
from pkadvisor.stress.requests.retry import UPDATES_MAX, GivenUp
from pkadvisor.stress.simulate.clients import Clients, run_clients
from pkadvisor.stress.simulate.entity_versions import EntityVersions
from pkadvisor.stress.simulate.loop import run_loop
from pkadvisor.stress.store.driver import StoreRun, run_store
from pkadvisor.table.store import CreateTable, Entity, EntityKey, Get, InsertOrReplace, Operation, Outcome, Update
from tests.stress.small import NEVER_AGAIN, SECOND, fixed, limits, one_class, read, script, space, write
from tests.tiers import sizes

KEY = EntityKey("000000", "row")
AMPLE = 100_000
LIMITS = limits(partition_entities_per_s=AMPLE, range_entities_per_s=AMPLE, server_entities_per_s=AMPLE)
"""No target but the entity itself."""
SCRIPTS = one_class(space(1), [script([read(0)], [write(0)])])
PREDICTED = contention(1, LIMITS).commits_per_s_max


class Counter:
    """Reads the row and writes it under its ETag, again after a 412."""

    classes = ("c",)

    def start(self, *_: int) -> Generator[tuple[Operation, ...], tuple[Outcome, ...], None]:
        for _ in range(UPDATES_MAX):
            (found,) = yield (Get("counters", KEY),)
            (outcome,) = yield (Update("counters", Entity(KEY, {}), found.entities[0].etag),)
            if outcome.status != 412:
                return
        raise GivenUp


def load(per_s: float, seconds: int) -> WorkloadLoad:
    return WorkloadLoad((ClassLoad("c", Steps.flat(per_s), np.ones(1)),), duration_ns=seconds * SECOND, seed=1)


def one_entity() -> EntityVersions:
    return EntityVersions(lambda *_: "it")


def arrays_open(per_s: float, seconds: int) -> ClassCounts:
    return run_loop(
        load(per_s, seconds), SCRIPTS, Capacity(LIMITS), fixed(0, 1), NEVER_AGAIN, versions=one_entity()
    ).classes["c"]


def arrays_clients(clients: int, seconds: int) -> ClassCounts:
    return run_clients(
        Clients(clients), itertools.repeat((0, 0)), SCRIPTS, Capacity(LIMITS), fixed(0, 1), NEVER_AGAIN,
        duration_ns=seconds * SECOND, entity=lambda *_: "it",
    ).classes["c"]  # fmt: skip


def make(store: EmbeddedStore) -> None:
    assert store.execute(CreateTable("counters")).ok
    assert store.execute(InsertOrReplace("counters", Entity(KEY, {}))).ok


def engine_open(per_s: float, seconds: int) -> ClassCounts:
    with open_virtual(limits=LIMITS) as store:
        make(store)
        result, _ = run_store(
            load(per_s, seconds), Counter(), store, SCRIPTS.space, LIMITS, NEVER_AGAIN,
            capacity=store.capacity, begin_ns=SECOND,
        )  # fmt: skip
    return result.classes["c"]


def engine_clients(clients: int, seconds: int) -> ClassCounts:
    """Clients that send the next request after the answer."""
    with open_virtual(limits=LIMITS) as store:
        make(store)
        run = StoreRun(
            Counter(), store, SCRIPTS.space, LIMITS, NEVER_AGAIN, seconds * SECOND,
            capacity=store.capacity, begin_ns=SECOND,
        )  # fmt: skip
        ready = [0] * clients
        for number in itertools.count():
            while run.requests.due_ns is not None and not (ready and ready[0] <= run.requests.due_ns):
                answered_ns = run.attempt()
                if answered_ns is not None:
                    heapq.heappush(ready, answered_ns)
            if not ready or ready[0] >= seconds * SECOND:
                break
            run.requests.arrive(number, heapq.heappop(ready), 0, 0)
        run.check()
    return run.recorder.counts[0]


@pytest.mark.parametrize("clients", sizes([1, 8], [1, 2, 4, 8, 16, 32, 64], "proofs"))
@pytest.mark.parametrize("way", [arrays_clients, engine_clients])
def test_clients_that_change_one_entity_commit_as_often_as_predicted(
    way: Callable[[int, int], ClassCounts], clients: int
) -> None:
    seconds = 10
    counts = way(clients, seconds)
    assert counts.served / seconds == pytest.approx(PREDICTED, rel=0.1)
    assert (counts.conflicts > 0) == (clients > 1) and counts.conflicts >= UPDATES_MAX * counts.lost
    assert counts.conflicts / counts.served >= 0.9 * (clients - 1), "of n that read, one commits"
    assert counts.lost > counts.served or clients <= UPDATES_MAX
    assert counts.entities_written == counts.served, "what did not commit wrote nothing"


@pytest.mark.heavy("thousands of conflicts are carried out on the engine one by one")
@pytest.mark.parametrize("way", [arrays_open, engine_open])
def test_an_open_loop_commits_what_comes_up_to_the_prediction_and_loses_the_rest(
    way: Callable[[float, int], ClassCounts],
) -> None:
    seconds = 20
    half = way(PREDICTED / 2, seconds)
    low, high = contention(PREDICTED / 2, LIMITS).attempts_per_commit, attempts_at_most(0.5)
    assert low is not None
    assert half.served == half.requests - half.lost >= 0.99 * half.requests
    assert 0.9 * low <= 1 + half.conflicts / half.served <= 1.2 * high, "who reads again at once meets the same ones"
    much = way(2.5 * PREDICTED, seconds)
    assert much.served / seconds == pytest.approx(PREDICTED, rel=0.1)
    assert much.lost == much.requests - much.served > much.served / 2
    assert much.conflicts >= UPDATES_MAX * much.lost


def test_at_the_limit_one_update_in_a_hundred_is_given_up() -> None:
    found = arrays_open(SERVED_LOAD * PREDICTED, 60)
    assert 0.003 < found.lost / found.requests < 0.02


def test_both_ways_answer_alike() -> None:
    per_s, seconds = PREDICTED / 2, 20
    arrays, engine = arrays_open(per_s, seconds), engine_open(per_s, seconds)
    assert arrays.requests == engine.requests and arrays.served == pytest.approx(engine.served, rel=0.01)
    assert engine.conflicts == pytest.approx(arrays.conflicts, rel=0.1)

"""Targets, queues and latency as clients of a whole stamp meet them, in virtual time (M1 to M3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from heapq import merge

import pytest

from pkadvisor.engine.capacity.capacity import Bound, Enforcement
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import open_virtual
from pkadvisor.engine.options import MS, SECOND, EngineOptions
from pkadvisor.engine.partition.balancer import MergeRanges, MoveRange, SplitRange
from pkadvisor.engine.stamp import Layout
from pkadvisor.engine.tables import row_keys
from pkadvisor.engine.worlds.faults import NetworkFaults
from pkadvisor.limits import Limits, default_limits
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
    Outcome,
    Property,
    Query,
)
from tests.engine.stamp.stamps import SMALL

TARGET = 100
ACCOUNT = "devstoreaccount1"


def limits(**changes: float) -> Limits:
    found = default_limits()
    wanted: dict[str, float] = {
        "partition_entities_per_s": TARGET,
        "range_entities_per_s": 10 * TARGET,
        "server_entities_per_s": 20 * TARGET,
        **changes,
    }
    for name, value in wanted.items():
        found = found.with_value(name, value)
    return found


def opened(seed: int = 1, **options: object) -> EmbeddedStore:
    store = open_virtual(seed, **{"limits": limits(), **options})  # type: ignore[arg-type]
    assert store.execute(CreateTable("tab")).ok
    return store


def put(partition: str, row: int, value: int = 0) -> Operation:
    return InsertOrReplace("tab", Entity(EntityKey(partition, f"{row:06}"), {"v": Property(EdmType.INT64, value)}))


def steady(store: EmbeddedStore, partition: str, per_s: float, seconds: float, begin_s: float = 1) -> Iterator[Outcome]:
    """The outcomes of evenly spaced writes to one partition."""
    for number in range(round(per_s * seconds)):
        yield store.execute(put(partition, number), 1000 * (begin_s + number / per_s))


def statuses(outcomes: Iterable[Outcome]) -> Counter[int]:
    return Counter(outcome.status for outcome in outcomes)


# ------------------------------------------------------------------------------------------------ targets


def test_a_partition_below_its_target_is_quiet_and_above_it_is_throttled_by_what_is_too_much() -> None:
    with opened() as store:
        assert statuses(steady(store, "p", 0.9 * TARGET, 20)) == {204: 1800}
    with opened() as store:
        found = list(steady(store, "p", 1.1 * TARGET, 30))
        burst_s = limits().burst_s
        assert burst_s == 1.0
        assert statuses(found[: round(burst_s * TARGET)]) == {204: TARGET}  # what it lets through at once
        late = statuses(found[-round(11 * TARGET) :])  # ten seconds
        assert late[503] == pytest.approx(late.total() / 11, rel=0.01)
        assert {outcome.code for outcome in found} == {"", "ServerBusy"}
        capacity = store.capacity
        assert capacity is not None
        refused = statuses(found)[503]
        assert capacity.tally.rejected == {Bound.PARTITION: refused}
        assert capacity.tally.served == len(found) - refused and not capacity.tally.in_flight
        assert store.world.counts["throttled"] == refused  # type: ignore[attr-defined]
        store.check()


def test_what_was_refused_was_not_carried_out() -> None:
    with opened() as store:
        found = [store.execute(put("p", number), 1000) for number in range(3 * TARGET)]
        written = {f"{number:06}" for number, outcome in enumerate(found) if outcome.ok}
        assert len(written) == TARGET
        there = store.execute(Query("tab", "PartitionKey eq 'p'"), 20_000)
        assert {entity.key.row_key for entity in there.entities} == written


def test_elastic_enforcement_lets_more_through_while_the_server_has_room() -> None:
    with opened(enforcement=Enforcement.ELASTIC) as store:
        assert statuses(steady(store, "p", 3 * TARGET, 5)) == {204: 1500}


def test_a_small_account_is_not_throttled_by_its_neighbour() -> None:
    changes = {"partition_entities_per_s": 900.0, "range_entities_per_s": 900.0, "server_entities_per_s": 2.0 * TARGET}
    with opened(limits=limits(**changes)) as big:
        small = big.of_account("small")
        assert small.execute(CreateTable("tab")).ok
        arrivals = merge(
            ((1000 + number * 1000 / (4 * TARGET), "big", number) for number in range(4 * TARGET * 10)),
            ((1000 + number * 1000 / (TARGET / 2), "small", number) for number in range(TARGET * 5)),
        )
        found: dict[str, Counter[int]] = {"big": Counter(), "small": Counter()}
        for at_ms, name, number in arrivals:
            store = big if name == "big" else small
            found[name][store.execute(put("p", number), at_ms).status] += 1
        assert found["small"] == {204: TARGET * 5}
        assert found["big"][204] == pytest.approx(10 * 1.5 * TARGET, rel=0.2)  # what the small one leaves, and a burst
        assert found["big"][503] > 2000


def test_a_group_counts_its_entities_and_a_scan_what_it_examines() -> None:
    """A group toward its partition's target; a page over several partitions toward its range."""
    with opened() as store:
        writes = tuple(put("p", number) for number in range(50))
        group = Group(writes)  # type: ignore[arg-type]
        assert [store.execute(group, 1000).status for _ in range(3)] == [202, 202, 503]
        assert store.execute(put("q", 0), 1000).ok  # another partition
        scan = Query("tab", "v eq 1")
        examined = [store.execute(scan, 3000) for _ in range(2 * 10 * TARGET // 51)]
        assert {outcome.examined for outcome in examined if outcome.ok} == {51}
        assert 10 * TARGET // 51 <= statuses(examined)[200] <= 10 * TARGET // 51 + 1


# ------------------------------------------------------------------------------------------------ latency


def test_latency_is_virtual_and_does_not_hold_up_those_behind() -> None:
    with opened() as store:
        found = [store.execute(put("p", number), 1000 + 20 * number) for number in range(50)]
        assert all(3 * MS < outcome.latency_ns < 60 * MS for outcome in found)
        assert len({outcome.latency_ns for outcome in found}) > 25
        assert store.now_ms() == 1000 + 20 * 49
        refused = [store.execute(put("q", number), 5000) for number in range(2 * TARGET)][-1]
        assert refused.latency_ns == EngineOptions().rejection_ns
        read = store.execute(Get("tab", EntityKey("p", "000001")), 8000)
        assert read.ok and 0 < read.latency_ns < 60 * MS


def test_requests_wait_in_queues_and_what_waits_too_long_is_refused() -> None:
    options = EngineOptions(queue_wait_ns_max=SECOND)
    found = limits(partition_entities_per_s=10_000, range_entities_per_s=10_000, server_entities_per_s=10_000)
    with opened(limits=found, options=options) as store:
        for number in range(200):
            store.execute(put("p", number), 1000 + number)
        waited = [store.execute(put("p", number), 5000) for number in range(3000)]
        assert statuses(waited) == {204: 3000}
        by_latency = [outcome.latency_ns for outcome in waited]
        assert min(by_latency[-100:]) > 140 * MS > 60 * MS > min(by_latency[:100])


def test_an_answer_that_comes_later_than_a_client_waits_is_500_although_it_was_carried_out() -> None:
    options = EngineOptions(operation_timeout_ns=SECOND, queue_wait_ns_max=SECOND - 1, elastic_wait_ns_max=0)
    slow = limits(write_latency_ms_p99=60_000, write_latency_ms_p50=2_000)
    with opened(limits=slow, options=options) as store:
        found = [store.execute(put("p", number), 1000 + 100 * number) for number in range(40)]
        late = [number for number, outcome in enumerate(found) if outcome.status == 500]
        assert late and {found[number].code for number in late} == {"OperationTimedOut"}
        assert {found[number].latency_ns for number in late} == {SECOND}
        for number in late:
            assert found[number].uncertain
            assert store.execute(Get("tab", EntityKey("p", f"{number:06}")), 60_000).ok
        assert store.capacity is not None and store.capacity.tally.timed_out == len(late)


def test_clients_in_a_closed_loop_wait_for_their_answers() -> None:
    """Little's law: clients = throughput × (latency + think time)."""
    wide = limits(partition_entities_per_s=10_000, range_entities_per_s=10_000, server_entities_per_s=10_000)
    with opened(limits=wide) as store:
        spent: list[int] = []

        async def client(number: int) -> int:
            done = 0
            while store.now_ms() < 5_000:
                outcome = await store.perform(put(f"p{number}", done))
                assert outcome.ok
                spent.append(outcome.latency_ns)
                await store.sleep_ms(5)
                done += 1
            return done

        began_ms = store.now_ms()
        done = store.run_all(client(number) for number in range(8))
        past_ms = store.now_ms() - began_ms
        assert sum(done) == len(spent) > 2000
        mean_ms = sum(spent) / len(spent) / MS
        assert len(spent) / past_ms * (mean_ms + 5) == pytest.approx(8, rel=0.02)


def test_without_capacity_nothing_is_throttled_and_nothing_takes_time() -> None:
    with open_virtual(1) as store:
        assert store.capacity is None
        assert store.execute(CreateTable("tab")).ok
        found = [store.execute(put("p", number), 1000) for number in range(500)]
        assert statuses(found) == {204: 500}
        assert {outcome.latency_ns for outcome in found} == {0}


def test_a_doubled_message_that_was_refused_is_not_carried_out_by_its_copy() -> None:
    """The copy comes when there is room again; it gets the answer of the first."""
    doubled = NetworkFaults(delay_ns_min=MS, delay_ns_mean=400 * MS, duplicate_per_million=1_000_000)
    with opened(3, limits=limits(partition_entities_per_s=5)) as store:
        store.world.network.faults = doubled  # type: ignore[attr-defined]
        found = store.perform_all([put("p", number) for number in range(40)])
        assert statuses(found)[503] > 10
        written = {f"{number:06}" for number, outcome in enumerate(found) if outcome.ok}
        there = store.execute(Query("tab"), store.now_ms() + 60_000)
        assert {entity.key.row_key for entity in there.entities} == written
        assert store.world.counts["request arrived twice"] > 0  # type: ignore[attr-defined]


# ------------------------------------------------------------------------------------------------ the map changes


def boundary(partition: str) -> bytes:
    return row_keys.partition_prefix(ACCOUNT, "tab", partition)


def order(store: EmbeddedStore, action: SplitRange | MergeRanges | MoveRange) -> bool:
    assert store.stamp is not None
    leader = store.stamp.leader()
    assert leader is not None
    return store.world.run(leader.order(action))


def test_a_split_gives_each_half_its_own_target_but_no_new_burst() -> None:
    tight = limits(partition_entities_per_s=1000, range_entities_per_s=TARGET)
    with opened(limits=tight, options=replace(SMALL, split_bytes=1 << 30)) as store:
        for number in range(20):
            assert store.execute(put("a" if number % 2 else "z", number), 100 * number).ok
        full = [store.execute(put("az"[number % 2], number), 5000) for number in range(2 * TARGET)]
        assert statuses(full) == {204: TARGET, 503: TARGET}
        (entry,) = store.stamp.map().entries  # type: ignore[union-attr]
        assert order(store, SplitRange(entry.number, "size"))
        assert len(store.stamp.map().entries) == 2  # type: ignore[union-attr]
        assert statuses(store.execute(put(p, 0), store.now_ms()) for p in "az") == {503: 2}
        later = store.now_ms() + 2000
        for partition in "az":
            found = [store.execute(put(partition, number), later) for number in range(2 * TARGET)]
            assert statuses(found) == {204: TARGET, 503: TARGET}
        left, right = (entry.number for entry in store.stamp.map().entries)  # type: ignore[union-attr]
        assert order(store, MergeRanges(left, right))
        assert statuses([store.execute(put("a", 0), store.now_ms())]) == {503: 1}
        store.check()


def test_a_range_that_moves_is_away_for_the_time_of_a_hand_over() -> None:
    options = replace(SMALL, move_ns=2 * SECOND)
    with opened(options=options, layout=Layout(servers=2)) as store:
        assert store.execute(put("p", 1), 1000).ok
        (entry,) = store.stamp.map().entries  # type: ignore[union-attr]
        other = next(name for name in ("server-0", "server-1") if name != entry.server)
        assert order(store, MoveRange(entry.number, other))
        first = store.execute(put("p", 2), store.now_ms())
        assert first.ok and SECOND < first.latency_ns < 3 * SECOND
        later = store.execute(put("p", 3), store.now_ms() + 3000)
        assert later.ok and later.latency_ns < 100 * MS
        store.check()


def test_a_server_that_comes_back_has_an_empty_queue_and_no_ticket_is_lost() -> None:
    options = replace(SMALL, operation_timeout_ns=20 * SECOND)
    with opened(options=options, layout=Layout(servers=1)) as store:
        world = store.world
        found = store.perform_all([put("p", number) for number in range(50)])
        assert statuses(found) == {204: 50}
        world.crash("server-0")  # type: ignore[attr-defined]
        world.start("server-0")  # type: ignore[attr-defined]
        # The front end still means the server's earlier life: whether that one carried it out, nobody can say.
        assert store.execute(put("p", 1), store.now_ms() + 1000).uncertain
        again = store.execute(put("p", 1), store.now_ms() + 1000)
        assert again.ok
        store.check()  # conservation: every arrival is somewhere
        assert store.capacity is not None and not store.capacity.tally.in_flight


def test_throttled_ranges_are_split_by_the_balancer_until_they_are_quiet() -> None:
    """The throttled share reaches the load metrics, and these the policy."""
    tight = limits(partition_entities_per_s=80, range_entities_per_s=TARGET, server_entities_per_s=500)
    options = replace(SMALL, range_requests_per_s=10_000, move_ns=100 * MS)  # only throttling makes a range hot
    with opened(limits=tight, options=options, layout=Layout(servers=2)) as store:
        found = [
            store.execute(put("abcdefgh"[number % 8], number % 50), 1000 + number / (1.6 * TARGET) * 1000)
            for number in range(round(1.6 * TARGET * 25))
        ]
        assert len(store.stamp.map().entries) >= 2  # type: ignore[union-attr]
        early, late = statuses(found[4 * TARGET : 8 * TARGET]), statuses(found[-4 * TARGET :])
        assert early[503] / early.total() == pytest.approx(0.6 / 1.6, abs=0.05)
        assert late[503] == 0
        store.check()


def test_a_hot_partition_cannot_be_split_away() -> None:
    tight = limits(partition_entities_per_s=TARGET / 2, range_entities_per_s=TARGET)
    with opened(limits=tight, options=SMALL, layout=Layout(servers=2)) as store:
        found = list(steady(store, "p", TARGET, 20))
        assert statuses(found[-2 * TARGET :])[503] == pytest.approx(TARGET, rel=0.02)
        assert len(store.stamp.map().entries) == 1  # type: ignore[union-attr]


def test_the_same_seed_gives_the_same_run() -> None:
    def hashed(seed: int) -> tuple[str, tuple[int, ...]]:
        with opened(seed) as store:
            found = list(steady(store, "p", 2 * TARGET, 2))
            insert = store.execute(Insert("tab", Entity(EntityKey("z", "z"), {})), 9000)
            return store.world.event_hash(), tuple(o.latency_ns for o in (*found, insert))  # type: ignore[attr-defined]

    assert hashed(5) == hashed(5) != hashed(6)

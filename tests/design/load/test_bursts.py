"""Bursts: the hottest partition of a busy second takes at least what the log shows on its keys in that second."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from pkadvisor.design.choice.bench_of_section import bench_for
from pkadvisor.design.choice.sections import observed
from pkadvisor.design.cost.cost import estimate, put_down
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.documents.profile import ProfileWorkload
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.observe.profile.profile_json import workload_document, workload_of
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment.designs import tables_of
from pkadvisor.stress.experiment.request import StressRequest
from tests.tiers import sizes

START = 1_767_225_600
TENANTS, IDS, SECONDS, BURST = 20, 200, 120, 3000
"""Entity n is of tenant n mod 20. An even log asks for five entities in each second, in turn."""

Asked = list[tuple[int, int]]
"""Second and entity of each request."""

SCHEMES: dict[str, tuple[KeyScheme, Callable[[int], int]]] = {
    "tenant": (KeyScheme(parse_key("{tenant}", "{pad(id,4)}")), lambda n: n % TENANTS),
    "id": (KeyScheme(parse_key("{pad(id,4)}", "{tenant}")), lambda n: n),
    "one": (KeyScheme(parse_key("all", "{tenant}_{pad(id,4)}")), lambda _: 0),
}
BURSTS: dict[str, Callable[[int], int]] = {
    "one key": lambda _: 77,
    "keys of one tenant": lambda i: 17 + TENANTS * (i % (IDS // TENANTS)),
}


def even() -> Asked:
    return [(second, (second * 5 + k) % IDS) for second in range(SECONDS) for k in range(5)]


def with_burst(entity: Callable[[int], int], second: int = 60, requests: int = BURST) -> Asked:
    return sorted([*even(), *((second, entity(i)) for i in range(requests))])


def line(number: int, op: str, second: int, entity: int) -> str:
    at = {"table": "t", "at": START + second, "id": f"r{number}"}
    values = {"tenant": f"t{entity % TENANTS}", "id": entity}
    if op == "query":
        return json.dumps(at | {"filter": f"tenant eq '{values['tenant']}' and id eq {entity}"})
    if op == "tenant":
        return json.dumps(at | {"op": "insert", "params": {"tenant": values["tenant"]}})
    return json.dumps(at | {"op": op, "params": values})


def bench_of(folder: Path, requests: list[tuple[str, int, int]], busy: bool = True) -> Bench:
    """The data of all entities, and a log of (operation, second, entity)."""
    log, data = folder / "t.jsonl", folder / "t.csv"
    log.write_text("\n".join(line(number, *asked) for number, asked in enumerate(requests)) + "\n")
    rows = (f't{n % TENANTS},{n},"[""x{n}"",""all""]"\n' for n in range(IDS))
    data.write_text("tenant,id,tags\n" + "".join(rows))
    request = AnalyzeRequest(data=(str(data),), logs=(str(log),), tables=("t",))
    ((section, _),) = read_sections(request, SilentProgress())
    workload = observed(section)[0]
    return bench_for(section, workload if busy else replace(workload, busy={}), default_limits())[0]


def busiest(bench: Bench, scheme: KeyScheme) -> float:
    """Entities in the busiest second of the hottest partition, as it is told."""
    found = put_down(scheme, bench)[0].busiest_second()
    return found[2] if found is not None else 0.0


def truth(requests: list[tuple[str, int, int]], partition: Callable[[int], int]) -> int:
    """The most requests that one partition gets within one second."""
    most = 0
    for moment in {second for _, second, _ in requests}:
        here: dict[int, int] = {}
        for _, second, entity in requests:
            if second == moment:
                here[partition(entity)] = here.get(partition(entity), 0) + 1
        most = max(most, *here.values())
    return most


@pytest.mark.parametrize("entities", BURSTS)
@pytest.mark.parametrize("op", sizes(["query", "upsert"], ["query", "insert", "update", "upsert", "delete"], "proofs"))
def test_a_burst_falls_on_the_partitions_of_its_keys(tmp_path: Path, op: str, entities: str) -> None:
    requests = [(op, *asked) for asked in with_burst(BURSTS[entities])]
    bench = bench_of(tmp_path, requests)
    for name, (scheme, partition) in SCHEMES.items():
        assert busiest(bench, scheme) == pytest.approx(truth(requests, partition)), name
    (remark,) = (r for r in estimate(SCHEMES["tenant"][0], bench).remarks if r.code == "burst")
    assert "partition 't17' takes 3,00" in remark.message


@pytest.mark.parametrize("requests", sizes([12_000], [3_000, 12_000], "proofs"))
@pytest.mark.parametrize("op", sizes(["query", "upsert"], ["query", "update", "upsert"], "proofs"))
def test_a_minute_for_one_tenant_falls_on_its_partition(tmp_path: Path, op: str, requests: int) -> None:
    """An import for one tenant, of one minute in ten: more requests than are kept of a minute, and fewer."""
    job = [(300 + n * 60 // requests, 17 + TENANTS * (n % 10)) for n in range(requests)]
    steady = [(second, (second * 5 + k) % IDS) for second in range(600) for k in range(5)]
    bench = bench_of(tmp_path, [(op, *asked) for asked in sorted([*steady, *job])])
    for name, (scheme, partition) in SCHEMES.items():
        minute = [partition(entity) for second, entity in [*steady, *job] if 300 <= second < 360]
        truth_per_s = max(minute.count(group) for group in set(minute)) / 60
        hot = put_down(scheme, bench)[0].hottest()
        assert hot is not None
        assert hot[1].entities_per_s == pytest.approx(truth_per_s, rel=0.15), name


@pytest.mark.parametrize(("begin", "end", "per_s"), [(40, 80, 100.0), (57, 63, 50.0)])
def test_a_minute_that_a_log_cuts_is_as_long_as_the_log_shows_it(
    tmp_path: Path, begin: int, end: int, per_s: float
) -> None:
    """Each minute is for one tenant; of a few seconds nobody tells whether the rate lasts."""
    requests = [("upsert", s, s // 60 + TENANTS * (n % 10)) for s in range(begin, end) for n in range(100)]
    hot = put_down(SCHEMES["tenant"][0], bench_of(tmp_path, requests))[0].hottest()
    assert hot is not None
    assert hot[1].entities_per_s == pytest.approx(per_s)


def test_classes_that_meet_in_a_second_add_up(tmp_path: Path) -> None:
    reads = [("query", *asked) for asked in with_burst(lambda _: 77, requests=1_500)]
    writes = [("upsert", *asked) for asked in with_burst(lambda i: 17 + TENANTS * (i % 5), requests=2_000)]
    requests = sorted([*reads, *writes], key=lambda asked: asked[1])
    bench = bench_of(tmp_path, requests)
    for name, (scheme, partition) in SCHEMES.items():
        assert busiest(bench, scheme) == pytest.approx(truth(requests, partition)), name


def test_a_burst_in_a_second_that_is_not_the_busiest_is_seen(tmp_path: Path) -> None:
    """Three seconds with 900 requests for all entities alike, and one with 600 for one entity."""
    spread = [(second, n % IDS) for second in (10, 30, 50) for n in range(900)]
    requests = [("upsert", *asked) for asked in sorted([*with_burst(lambda _: 77, 20, 600), *spread])]
    bench = bench_of(tmp_path, requests)
    assert busiest(bench, SCHEMES["id"][0]) == pytest.approx(truth(requests, SCHEMES["id"][1]))


def test_without_a_burst_nothing_changes(tmp_path: Path) -> None:
    requests = [("upsert", *asked) for asked in even()]
    bench, plain = bench_of(tmp_path, requests), bench_of(tmp_path, requests, busy=False)
    for scheme, _ in SCHEMES.values():
        found, before = estimate(scheme, bench), estimate(scheme, plain)
        assert (found.hot, found.remarks, found.breaks, found.score) == (
            before.hot and replace(before.hot, second_per_s=found.hot.second_per_s if found.hot else 0.0),
            before.remarks,
            before.breaks,
            before.score,
        )
    assert busiest(bench, SCHEMES["one"][0]) == pytest.approx(5)


def test_a_row_for_each_value_of_a_list_spreads_a_burst_as_the_class_is_spread(tmp_path: Path) -> None:
    """Whose values are asked for in a second is not kept for such rows: half of all of them have the value *all*."""
    requests = [("upsert", *asked) for asked in with_burst(lambda _: 77)]
    by_tag = KeyScheme(parse_key("{tenant}", "{pad(id,4)}"), (IndexRow(parse_key("{each(tags)}", "{pad(id,4)}")),))
    loads = put_down(by_tag, bench_of(tmp_path, requests))[0]
    parts = by_tag.index_rows[0].key.partition
    load = loads.hottest_of(parts)
    assert load is not None
    assert loads.second_per_s(parts, load) == pytest.approx(BURST, rel=0.01)


def test_what_an_insert_does_not_tell_is_not_taken_for_one_key(tmp_path: Path) -> None:
    """A log that names only the tenant of what it inserts says nothing of which ids a burst is on."""
    bench = bench_of(tmp_path, [("tenant", *asked) for asked in with_burst(lambda _: 77)])
    assert busiest(bench, SCHEMES["tenant"][0]) == pytest.approx(BURST)
    assert busiest(bench, SCHEMES["id"][0]) < BURST / 2


def test_a_profile_holds_what_unusual_minutes_ask(tmp_path: Path) -> None:
    job = [(300 + n // 50, 17 + TENANTS * (n % 10)) for n in range(3_000)]
    steady = [(second, (second * 5 + k) % IDS) for second in range(600) for k in range(5)]
    log, data = tmp_path / "t.jsonl", tmp_path / "t.csv"
    data.write_text("tenant,id\n" + "".join(f"t{n % TENANTS},{n}\n" for n in range(IDS)))
    for requests, minutes in (([*steady, *job], 1), (steady, 0)):
        log.write_text("\n".join(line(n, "query", *asked) for n, asked in enumerate(sorted(requests))) + "\n")
        request = AnalyzeRequest(data=(str(data),), logs=(str(log),), tables=("t",))
        ((section, _),) = read_sections(request, SilentProgress())
        workload = observed(section)[0]
        read = workload_of("t", msgspec.convert(msgspec.to_builtins(workload_document(workload)), ProfileWorkload))
        assert sum(len(busy.totals) for busy in read.busy.values()) == minutes
        for name, busy in read.busy.items():
            minute = workload.busy[name].of(busy.totals.keys())
            assert busy.totals == minute.totals
            assert busy.rows.equals(minute.rows)


def refused_bench(folder: Path, requests: Asked, refused: Callable[[int, int], bool]) -> Bench:
    """The bench of a log of queries, of which the service refused some; ``refused`` takes number and second."""
    lines = []
    for number, (second, entity) in enumerate(requests):
        asked = json.loads(line(number, "query", second, entity))
        lines.append(json.dumps(asked | {"client_id": f"c{number}", "status": 503 if refused(number, second) else 200}))
    bench_of(folder, [("query", *asked) for asked in requests])
    (folder / "t.jsonl").write_text("\n".join(lines) + "\n")
    request = AnalyzeRequest(data=(str(folder / "t.csv"),), logs=(str(folder / "t.jsonl"),), tables=("t",))
    ((section, _),) = read_sections(request, SilentProgress())
    workload = observed(section)[0]
    return bench_for(section, workload, default_limits())[0]


@pytest.mark.parametrize("entities", BURSTS)
def test_a_burst_that_the_service_refused_is_held_against_the_target(tmp_path: Path, entities: str) -> None:
    requests = with_burst(BURSTS[entities])
    bench = refused_bench(tmp_path, requests, lambda number, second: second == 60 and number % 10 == 0)
    asked = [("query", *each) for each in requests]
    for name, (scheme, partition) in SCHEMES.items():
        cost, most = estimate(scheme, bench), truth(asked, partition)
        assert cost.hot is not None
        assert cost.hot.entities_per_s == pytest.approx(most), name
        codes = {v.code for v in cost.violations}
        over = most > 2000
        assert bool(codes & {"hot-partition", "hot-entity"}) is over, name
        assert ("hot-entity" in codes) is (entities == "one key"), name
        assert ({r.code for r in cost.remarks} >= {"refused-burst"}) is over, name


def test_refused_requests_outside_of_bursts_say_nothing_of_bursts(tmp_path: Path) -> None:
    requests = with_burst(BURSTS["one key"])
    bench = refused_bench(tmp_path, requests, lambda number, second: second != 60 and second % 3 == 0)
    cost = estimate(SCHEMES["tenant"][0], bench)
    assert not bench.workload.bursts_refused
    assert {r.code for r in cost.remarks} >= {"burst"}
    assert not cost.violations


def test_a_profile_holds_that_bursts_were_refused(tmp_path: Path) -> None:
    bench = refused_bench(tmp_path, with_burst(BURSTS["one key"]), lambda _, second: second == 60)
    stored = msgspec.json.decode(msgspec.json.encode(workload_document(bench.workload)), type=ProfileWorkload)
    assert workload_of("t", stored).bursts_refused


def test_stress_runs_no_bursts_and_says_so(tmp_path: Path) -> None:
    """What it predicts is of the load that it runs; why analyze refuses the keys stays."""
    refused_bench(tmp_path, with_burst(BURSTS["one key"]), lambda number, second: second == 60 and number % 10 == 0)
    reading = AnalyzeRequest(data=(str(tmp_path / "t.csv"),), logs=(str(tmp_path / "t.jsonl"),), tables=("t",))
    (table,) = tables_of(StressRequest(reading), default_limits(), SilentProgress())
    assert any("bursts within a second" in told for told in table.left_out)
    for design in table.designs:
        assert design.estimate.hot is not None
        assert design.estimate.hot.entities_per_s < 100
        assert {"hot-entity"} == {violation.code for violation in design.refused}

"""A log again: every request at its own time with its own parameters, and what a sample of a log makes of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from pkadvisor.cli.inputs import load_sample
from pkadvisor.design.choice.bench_of_section import bench_for
from pkadvisor.design.choice.sections import observed
from pkadvisor.design.load.estimates import Bench
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.load.arrivals import SECOND_NS
from pkadvisor.stress.load.load import Load, used_instances
from pkadvisor.stress.load.loads import NEAR, ReplayClass, ReplayLoad, load_of

READS = "query by channel, posted"


@cache
def logged() -> tuple[Bench, TableTraffic]:
    """A bundled sample with a log of some 1,300 requests, all of them known."""
    sample = load_sample("microblog")
    request = AnalyzeRequest(data=sample.data, logs=sample.logs, design=sample.design)
    ((section, _),) = read_sections(request, SilentProgress())
    assert section.traffic is not None
    bench, _ = bench_for(section, observed(section)[0], default_limits())
    return bench, section.traffic


def changed(traffic: TableTraffic, **fields: object) -> TableTraffic:
    """The traffic with its first class changed."""
    first: ClassTraffic = replace(traffic.classes[0], **fields)  # type: ignore[arg-type]
    return replace(traffic, classes=(first, *traffic.classes[1:]))


def requests(load: Load) -> list[tuple[int, str, int]]:
    """(moment, class, parameters) of every request."""
    return [
        (int(at), load.classes[number], int(instance))
        for batch in load.batches()
        for at, number, instance in zip(batch.at_ns, batch.classes, batch.instances, strict=True)
    ]


def test_a_log_that_is_known_whole_comes_as_it_came() -> None:
    bench, traffic = logged()
    load = ReplayLoad.from_log(bench, traffic)
    found = requests(load)
    assert [at for at, _, _ in found] == sorted(at for at, _, _ in found)
    assert all(0 <= at < load.duration_ns for at, _, _ in found)
    first = min(c.first_us for c in traffic.classes if c.first_us is not None)
    sample = traffic.classes[0].sample
    expected = sorted((int(at) - first) * 1000 for at in sample["at_us"])
    mine = [(at, instance) for at, name, instance in found if name == READS]
    assert [at for at, _ in mine] == expected
    # The parameters are those of the request: its PartitionKey is the channel of the row that stands for it.
    channels = bench.population.frame["channel"]
    rows = bench.demands[0].instances
    keys = dict(zip(sample["at_us"].to_list(), sample["pk"].to_list(), strict=True))
    assert all(channels[int(rows[instance])] == keys[at // 1000 + first] for at, instance in mine)
    assert next(iter(used_instances(load))).tolist() == list(range(sample.height))


def test_group_transactions_come_as_groups_and_declared_classes_do_not_come() -> None:
    bench, traffic = logged()
    load = ReplayLoad.from_log(bench, traffic)
    groups = [name for _, name, _ in requests(load) if name.endswith("in groups")]
    assert len(groups) == traffic.groups.transactions == 4
    assert any(note.startswith("start-page: not in the log") for note in load.notes)


@pytest.mark.parametrize("factor", [0.25, 1.0, 2.5])
def test_a_thin_sample_is_scaled_up_to_the_requests_of_the_log(factor: float) -> None:
    bench, traffic = logged()
    thin = changed(traffic, requests=761 * 40)
    load = ReplayLoad.from_log(bench, thin, [READS], factor=factor, seed=5)
    found = requests(load)
    # The last gap may reach beyond the last request of the log, where the run ends.
    assert 761 * 40 * factor * 0.998 <= len(found) <= 761 * 40 * factor
    assert any(note.startswith(f"{READS}: the log is known by 761 of 30,440 requests") for note in load.notes)
    at = np.array([moment for moment, _, _ in found])
    sampled = np.sort(thin.classes[0].sample["at_us"].to_numpy())
    middle = int((sampled[len(sampled) // 2] - min(c.first_us or 2**62 for c in traffic.classes)) * 1000)
    assert np.count_nonzero(at < middle) == pytest.approx(len(at) / 2, rel=0.01)
    # Parameters come about as often as each other, since each was seen once.
    counts = np.bincount([instance for _, _, instance in found], minlength=761)
    assert counts.mean() == pytest.approx(40 * factor, rel=0.01) and (counts > 0).mean() > 0.99
    assert requests(replace(load, window_ns=17 * SECOND_NS)) == found
    assert requests(ReplayLoad.from_log(bench, thin, [READS], factor=factor, seed=5)) == found


def test_requests_that_were_not_sampled_come_before_the_next_one_that_was() -> None:
    at = np.cumsum(np.arange(1, 401, dtype=np.int64) ** 2)
    load = ReplayLoad((ReplayClass("a", at, np.zeros(400, dtype=np.int64), 1, 3.0),), int(at[-1]) + 400**2)
    found = np.array([moment for moment, _, _ in requests(load)])
    row = np.searchsorted(at, found, side="right") - 1
    assert np.bincount(row).tolist() == [3] * 400
    # Two of three lie anywhere between, so half of those in the later half.
    assert np.mean(found - at[row] > np.append(np.diff(at), 400**2)[row] / 2) == pytest.approx(1 / 3, abs=0.06)


def test_requests_that_were_not_sampled_look_like_their_neighbours() -> None:
    size = 3000
    at = np.arange(size, dtype=np.int64) * SECOND_NS // 10
    part = ReplayClass("a", at, np.arange(size, dtype=np.int64), size, 7.0)
    load = ReplayLoad((part,), 300 * SECOND_NS)
    found = requests(load)
    assert len(found) == 7 * size
    own = np.array([moment // (SECOND_NS // 10) for moment, _, _ in found])
    distance = np.abs(own - np.array([instance for _, _, instance in found]))
    assert distance.max() == NEAR
    counts = np.bincount(own)
    assert (counts == 7).all()


@pytest.mark.parametrize("speed", [0.5, 4.0])
def test_a_log_is_replayed_faster_or_slower(speed: float) -> None:
    bench, traffic = logged()
    plain, fast = ReplayLoad.from_log(bench, traffic), ReplayLoad.from_log(bench, traffic, speed=speed)
    one, other = requests(plain), requests(fast)
    assert len(one) == len(other)
    assert abs(fast.duration_ns - plain.duration_ns / speed) <= 2
    assert max(abs(a / speed - b) for (a, _, _), (b, _, _) in zip(one, other, strict=True)) <= 1


def test_a_run_takes_a_part_of_a_log_and_says_so() -> None:
    bench, traffic = logged()
    whole = requests(ReplayLoad.from_log(bench, traffic))
    load = ReplayLoad.from_log(bench, traffic, duration_ns=60 * SECOND_NS)
    assert requests(load) == [r for r in whole if r[0] < 60 * SECOND_NS]
    assert "the run ends 539 s before the log" in load.notes
    first = min(c.first_us or 2**62 for c in traffic.classes)
    later = ReplayLoad.from_log(bench, traffic, start_us=first + 60_000_000)
    shift = 60 * SECOND_NS
    assert requests(later) == [(at - shift, name, i) for at, name, i in whole if at >= shift]


def test_requests_of_a_coarse_clock_do_not_all_come_at_its_ticks() -> None:
    bench, traffic = logged()
    sample = traffic.classes[0].sample
    coarse = changed(traffic, sample=sample.with_columns(sample["at_us"] // 1_000_000 * 1_000_000))
    plain = requests(ReplayLoad.from_log(bench, coarse, [READS]))
    spread = requests(ReplayLoad.from_log(bench, coarse, [READS], resolution_us=1_000_000))
    assert {at % SECOND_NS for at, _, _ in plain} == {0}
    assert len({at % SECOND_NS for at, _, _ in spread}) > 700
    assert {(at // SECOND_NS, i) for at, _, i in spread} == {(at // SECOND_NS, i) for at, _, i in plain}


def test_a_log_without_times_cannot_be_replayed() -> None:
    import polars as pl

    bench, traffic = logged()
    nameless = replace(
        traffic,
        classes=tuple(replace(c, sample=c.sample.with_columns(at_us=pl.lit(None, pl.Int64))) for c in traffic.classes),
    )
    with pytest.raises(UsageError, match="has a time"):
        ReplayLoad.from_log(bench, nameless)


def test_the_text_trace_is_the_log() -> None:
    bench, traffic = logged()
    load = load_of(bench, "trace,x2", duration_ns=60 * SECOND_NS, traffic=traffic)
    once = load_of(bench, "trace", duration_ns=60 * SECOND_NS, traffic=traffic)
    assert len(requests(load)) == pytest.approx(2 * len(requests(once)), abs=8)
    with pytest.raises(UsageError, match="a trace comes when it came"):
        load_of(bench, "trace,constant", duration_ns=SECOND_NS, traffic=traffic)

"""What the programs of every sample send is what the cost model counts: requests, pages, entities read and written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pkadvisor.cli.inputs import sample_names
from pkadvisor.design.cost.plan_reads import read
from pkadvisor.design.load.breaks import scans
from pkadvisor.stress.placement.living_map import LivingMap
from pkadvisor.stress.requests.script_table import script_table, script_tables
from pkadvisor.stress.requests.scripts import Step
from pkadvisor.stress.simulate.warm import counted_load, warm_map
from tests.stress.small import SECOND, Listed
from tests.stress.support import HOUR_NS, Design, as_it_is, cut, designs, entities_read, entities_written, spread, steps
from tests.tiers import LONG, examples, sizes

WIDE = LONG == "proofs"
INSTANCES = 60
ROWS_SHORT = 1_000
"""Of each sample in the short form."""
SCALED = ("documents", "footrace", "orders")
MINUTE_NS = HOUR_NS // 60


def compared(design: Design, *, whole: bool) -> int:
    """Holds every class against the model, instance by instance; how many were held."""
    programs = design.programs()
    costs = {cost.name: cost for cost in programs.estimate.classes}
    used = []
    for number, count in enumerate(programs.instances):
        # Entities that go together are sent by one of their requests: all of them are needed for a mean.
        grouped = programs.plan(number) is None and design.bench.workload.transactions
        used.append(np.arange(count) if grouped else spread(count, INSTANCES))
    scripts = script_table(programs, design.bench.limits, used, MINUTE_NS, examined_scale=whole)
    scripts.check()
    assert scripts.classes == programs.classes == tuple(costs[name].name for name in programs.classes)
    held = 0
    for number, demand in enumerate(programs.demands):
        cost, of_class = costs[demand.query.name], scripts.epochs[0][number]
        told = f"{design.name}: {cost.name} under {design.scheme.text}"
        own = used[number].tolist()
        sent = np.array([of_class[i].steps for i in own], dtype=float)
        written = np.array([entities_written(of_class[i]) for i in own], dtype=float)
        if cost.plan is None:
            assert sent.mean() == pytest.approx(cost.requests, rel=1e-12), told
            assert written.mean() == pytest.approx(cost.entities_written, rel=1e-12), told
            held += len(own)
            continue
        model = read(cost.plan, demand, design.scheme, design.bench)
        locates = cost.requests_locate > 0 or not cost.operation.writes
        looked = model.requests_each[own] if locates else np.zeros(len(own))
        writes = round(cost.requests_write + cost.requests_after, 9)  # a mean, whose weights sum to 1 but for rounding
        assert (sent == looked + writes).all(), (told, sent, looked + writes)
        assert (written == round(cost.entities_written, 9)).all(), told
        if locates:
            got = np.array([entities_read(of_class[i]) for i in own], dtype=float)
            expected = np.maximum(model.per_instance[own], 1.0)
            assert np.abs(got - expected).max() <= max(0.5, 0.05 * float(expected.max())), (told, got, expected)
            assert got.sum() == pytest.approx(expected.sum(), rel=0.05), told
        held += len(own)
    return held


@pytest.mark.parametrize("name", sizes(sample_names()[::2], sample_names(), "proofs"))
def test_scripts_send_what_the_model_counts(name: str) -> None:
    for design in designs(name):
        some = design if WIDE else cut(design, ROWS_SHORT)
        assert compared(as_it_is(some), whole=False) > 100


@pytest.mark.parametrize("name", sizes(SCALED, [*SCALED, "sensors"], "proofs"))
def test_scripts_of_the_whole_table_scan_what_the_model_scales(name: str) -> None:
    for design in designs(name):
        assert design.bench.population.total > design.bench.population.rows
        assert compared(design, whole=True) > 100


def test_the_scale_changes_what_is_scanned_and_nothing_else() -> None:
    current = designs("orders")[1]
    programs = current.programs()
    used = [spread(count, 20) for count in programs.instances]
    small, large = (
        script_table(programs, current.bench.limits, used, MINUTE_NS, examined_scale=scale) for scale in (False, True)
    )
    assert small.space == large.space and small.space.rows.sum() == large.space.rows.sum()
    number = programs.classes.index("of-customer")
    for instance in used[number].tolist():
        few, many = (steps(s.epochs[0][number][instance]) for s in (small, large))
        assert len(many) > 10 * len(few)
        assert [step.continued for step in many] == [False, *[True] * (len(many) - 1)]
        assert max(step.examined for step in many) <= 1000
        assert {step.partition for step in many} == {step.partition for step in few}


def test_rows_per_key_grow_what_is_scanned_in_one_partition() -> None:
    design = as_it_is(designs("orders")[1])
    programs = design.programs()
    used = [spread(count, 5) for count in programs.instances]
    today, _ = script_tables(programs, design.bench.limits, used, MINUTE_NS, used)
    grown, unscaled = script_tables(programs, design.bench.limits, used, MINUTE_NS, used, 3.0)
    assert unscaled.classes == today.classes and unscaled.epochs == today.epochs
    read = scanned = 0
    for cost in programs.estimate.classes:
        number = programs.classes.index(cost.name)
        for instance in used[number].tolist():
            few, many = (sum(step.examined for step in steps(s.epochs[0][number][instance])) for s in (today, grown))
            assert many == pytest.approx(3 * few if scans(cost) else few, abs=1), cost.name
            read, scanned = read + few, scanned + (many > few)
    assert read and scanned


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("name", sizes(["orders"], ["footrace", "orders"], "proofs"))
def test_what_is_recorded_once_is_what_is_recorded_twice(name: str, whole: bool) -> None:
    for design in designs(name):
        design = design if whole else as_it_is(design)
        programs = design.programs()
        used, some = ([spread(count, most) for count in programs.instances] for most in (40, 15))
        both = script_tables(programs, design.bench.limits, used, MINUTE_NS, some)
        for found, of, scale in zip(both, (used, some), (True, False), strict=True):
            alone = script_table(programs, design.bench.limits, of, MINUTE_NS, examined_scale=scale)
            assert found.classes == alone.classes
            for number, instances in enumerate(of):
                for instance in instances.tolist():
                    one, other = (s.epochs[0][number][instance] for s in (found, alone))
                    assert [list(map(weight, stage)) for stage in one.stages] == [
                        list(map(weight, stage)) for stage in other.stages
                    ]
            if scale:
                assert found.epochs == alone.epochs and found.space == alone.space


@settings(max_examples=examples(30), deadline=None)
@given(st.sampled_from(("microblog", "sensors")), st.integers(1, 40), st.integers(0, 30), st.integers(0, 30))
@example("microblog", 5, 2, 30)
@example("microblog", 5, 30, 2)
@example("sensors", 40, 30, 2)
def test_ranks_and_ranges_are_the_same_for_what_is_sent_and_what_is_compared(
    sample: str, rows: int, sent: int, compared: int
) -> None:
    """Each touches others of the logged keys that have no row, and of the keys of later periods."""
    design = cut(designs(sample)[sent % 2], rows, total=9 * rows if compared % 2 else None)
    programs, limits = design.programs(), design.bench.limits
    used, some = ([spread(count, most) for count in programs.instances] for most in (sent, compared))
    both = script_tables(programs, limits, used, 400 * 24 * HOUR_NS, some)
    for scripts in both:
        scripts.check()
        asked = [(0, n, i) for n, of in enumerate(scripts.epochs[0]) for i, each in enumerate(of) if each.stages]
        load = Listed(asked, SECOND, scripts.classes)
        ranges = warm_map(counted_load(load, scripts, limits), limits, ("a", "b"))
        for other in both:
            LivingMap(other.space, ranges, ("a", "b")).check()
    assert both[0].space == both[1].space


def weight(step: Step) -> Step:
    """A step without its place: ranks are those of whatever was recorded."""
    return step._replace(partition=0, low=0, high=1)

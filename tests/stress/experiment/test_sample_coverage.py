"""Tables of which some keys are at hand, and classes of which some parameters are sent."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pkadvisor.engine.options import SECOND
from pkadvisor.limits import default_limits
from pkadvisor.numbers import percent
from pkadvisor.stress.experiment.designs import DesignedTable
from pkadvisor.stress.experiment.notes import OwnNote, notes_of
from pkadvisor.stress.experiment.parameter_sampling import INSTANCES_MAX, compared_most, picked
from pkadvisor.stress.experiment.prepared_design import PreparedDesign, prepare
from pkadvisor.stress.experiment.runs import COLD, WARM, clients_notes, run_of
from pkadvisor.stress.experiment.sample_coverage import diluted, diluted_notes
from pkadvisor.stress.load.load import WorkloadLoad
from pkadvisor.stress.requests.retry import policy_of
from tests.proof.test_stress_breaks import request_of, tables


@cache
def documents() -> tuple[PreparedDesign, ...]:
    """320 of some 87,000 documents, under the keys in use and those advised."""
    (table,) = tables("documents", ranked=0)
    return tuple(prepare(table, design, request_of("documents"), default_limits()) for design in table.designs)


@pytest.mark.long("proofs")
def test_keys_at_hand_take_what_they_take_in_the_whole_table() -> None:
    """The hottest document takes what was predicted, and the design that is advised throttles nothing."""
    for prepared in documents():
        assert not prepared.all_sampled and all(0 < part <= 1 for part in prepared.parts)
        hot = prepared.design.estimate.hot
        assert hot is not None and max(prepared.partition_loads) == pytest.approx(hot.entities_per_s, rel=0.01)
        found = run_of(prepared, request_of("documents"), policy_of("none"), state=WARM)
        assert found.throttled.sum() == 0 < found.offered.sum()
        assert prepared.whole_per_s == pytest.approx(1550, rel=0.02)
        assert prepared.offered_per_s < 0.06 * prepared.whole_per_s


@pytest.mark.long("proofs")
def test_a_cold_start_has_all_of_the_load_against_what_all_keys_share() -> None:
    current, recommended = (
        run_of(prepared, request_of("documents"), policy_of("none"), state=COLD) for prepared in documents()
    )
    for found in (current, recommended):
        assert found.hottest == -1, "no partition takes so much in truth"
        assert sum(c.requests for c in found.classes.values()) == pytest.approx(30 * 1550, rel=0.05)
    by = {str(bound) for c in current.classes.values() for bound, count in c.throttled.items() if count}
    assert "range" in by and "partition" not in by
    assert recommended.throttled.sum() == 0


@pytest.mark.long("proofs")
def test_what_is_sent_is_said_in_plain_words() -> None:
    first = documents()[0]
    mine = diluted_notes(first.table, first.load, first.parts)
    told = " ".join(": ".join(note) if isinstance(note, OwnNote) else note for note in mine)
    assert "320 of 87,0" in told and "values of document" in told and "are not tested by it" in told
    assert all(note in first.notes for note in mine)
    save, newest = (first.parts[first.programs.classes.index(name)] for name in ("save", "newest-version"))
    assert percent(save) != percent(newest), "else the words need not tell them apart"
    assert f"{percent(newest)} of newest-version" in told and f"{percent(save)} of " in told
    assert "the same of every query and write" in str(diluted_notes(first.table, first.load, [0.5] * len(first.parts)))
    assert diluted(first.load, [1.0] * len(first.parts)) is first.load
    assert diluted_notes(first.table, first.load, [1.0] * len(first.parts)) == ()
    half = diluted(first.load, [0.5] * len(first.parts))
    assert isinstance(half, WorkloadLoad) and isinstance(first.load, WorkloadLoad)
    assert half.expected() == pytest.approx(first.load.expected() / 2)


def test_what_clients_send_is_said() -> None:
    first = documents()[0]
    asked = replace(request_of("documents"), clients=2)
    mix, shorter, keys = clients_notes(first, asked, 20 * SECOND)
    assert "run warmed up" in mix and "the load's own mix" in mix and mix.startswith("2 clients: ")
    assert isinstance(shorter, OwnNote) and shorter.text == "20 s in place of 30 s"
    assert "all of their requests go to the sampled keys" in keys
    whole = replace(first, parts=(1.0,) * len(first.parts))
    assert clients_notes(whole, asked, 30 * SECOND) == [mix]


def test_what_is_said_of_several_designs_is_said_once() -> None:
    found = notes_of({prepared.design.label: prepared.notes for prepared in documents()})
    assert (
        sum("320 of 87,0" in note for note in found) == sum("a warmed-up run sends, of" in note for note in found) == 1
    )
    assert not any(label in note for note in found for label in ("current", "recommended"))
    longer, shorter = OwnNote("lasts", "2 min"), OwnNote("lasts", "1 min")
    assert notes_of({"a": ["x", longer], "b": ["x", longer]}) == ["x", "lasts: 2 min"]
    assert notes_of({"a": [longer], "b": [shorter]}) == ["lasts: a 2 min; b 1 min"]
    assert notes_of({"a": [longer], "b": []}) == ["lasts: a 2 min"]


@cache
def footrace() -> DesignedTable:
    (table,) = tables("footrace", ranked=0)
    return table


@pytest.mark.long("proofs")
def test_partitions_keep_their_share_of_parameters_that_stand_for_all() -> None:
    table = footrace()
    population = table.bench.population
    for demand in table.bench.demands:
        kept = picked(demand.weights, demand, table)
        assert kept is not None, "there are 6,000"
        assert np.count_nonzero(kept) <= INSTANCES_MAX < np.count_nonzero(demand.weights)
        ids, size = population.groups([("p", "event"), ("p", "distance")])
        before = np.bincount(ids[demand.instances], demand.weights, minlength=size)
        after = np.bincount(ids[demand.instances], kept, minlength=size) / kept.sum()
        assert after == pytest.approx(before / before.sum(), abs=1e-9)


@pytest.mark.long("proofs")
def test_more_parameters_are_sent_where_one_alone_would_load_a_partition() -> None:
    table = footrace()
    demand = next(d for d in table.bench.demands if d.query.name == "by-bib")
    busy = replace(
        table,
        designs=tuple(
            replace(
                design,
                estimate=replace(
                    design.estimate,
                    classes=tuple(replace(c, peak_per_s=5000 * c.peak_per_s) for c in design.estimate.classes),
                ),
            )
            for design in table.designs
        ),
    )
    assert picked(demand.weights, demand, busy) is None
    assert picked(demand.weights, demand, table) is not None


@pytest.mark.parametrize(("changed", "most"), [(1, 4_000), (1_000, 200), (14_400, 13), (1e7, 4)])
def test_so_many_parameters_are_compared_as_their_changes_can_be_written_down(changed: float, most: int) -> None:
    """A purge of a day changes 14,400 rows: those of all 57,600 days that may be asked for took 6 GB."""
    cost = SimpleNamespace(name="purge", entities_written=changed)
    table: Any = SimpleNamespace(designs=[SimpleNamespace(estimate=SimpleNamespace(classes=[cost]))])
    demand: Any = SimpleNamespace(query=SimpleNamespace(name="purge"))
    assert compared_most(demand, table) == most

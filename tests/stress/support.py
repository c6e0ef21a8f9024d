"""Samples with their current and recommended schemes, as the tests of the stress harness use them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.population import Population
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.rows import entities_of
from pkadvisor.stress.requests.scripts import Script, Step
from pkadvisor.stress.requests.table_scale import sampled
from tests.proof.support import sample_cases

TABLE = "stress"
HOUR_NS = 3_600_000_000_000


@dataclass(frozen=True)
class Design:
    """A sample under one of its two schemes."""

    name: str
    bench: Bench
    scheme: KeyScheme

    def programs(self) -> Programs:
        """Its programs over the rows at hand."""
        return Programs(self.bench, self.scheme, entities_of(self.bench.population), table=TABLE)


@cache
def designs(name: str) -> tuple[Design, ...]:
    """A sample under its recommended and its current scheme, its table scaled as its design file says.

    In one range no scan meets the end of a range, so none is counted.
    """
    out = []
    for case in sample_cases(name, 80):
        limits = replace(case.bench.limits, scan_boundary_requests=0.0)
        bench = replace(case.bench, limits=limits)
        out += [Design(name, bench, scheme) for scheme in case.schemes[:2]]
    return tuple(out)


def as_it_is(design: Design) -> Design:
    """The rows at hand are the table."""
    return replace(design, bench=sampled(design.bench))


def cut(design: Design, rows: int, *, total: int | None = None) -> Design:
    """The first rows are the data, and the table unless it holds more in ``total``; logged parameters stay."""
    bench = design.bench
    known = bench.population
    count = min(rows, known.rows)
    ghosts = known.frame[known.rows :]
    population = Population(known.frame[:count], known.types, total=total, arrival=known.arrival, ghosts=ghosts)
    places = {
        d.query.name: (int(d.instances[0]) - known.rows + count, int(d.instances[-1]) - known.rows + count + 1)
        for d in bench.demands
        if len(d.instances) and d.instances[0] >= known.rows
    }
    found = demands(bench.workload, population, places)
    return replace(design, bench=replace(bench, population=population, demands=found))


def spread(count: int, most: int) -> np.ndarray:
    """Up to ``most`` numbers below ``count``, spread evenly."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))


def steps(script: Script) -> list[Step]:
    """All steps of a script."""
    return [step for stage in script.stages for step in stage]


def entities_read(script: Script) -> int:
    """What a script reads toward the targets: a request that finds nothing counts one entity."""
    read = [step.examined for step in steps(script) if step.kind is not Kind.WRITE]
    return max(1, sum(read)) if read else 0


def entities_written(script: Script) -> int:
    """What a script writes."""
    return sum(step.entities for step in steps(script) if step.kind is Kind.WRITE)


def weighted(values: Sequence[float], weights: np.ndarray) -> float:
    """The mean by weight."""
    return float((np.asarray(values) * weights).sum() / weights.sum())

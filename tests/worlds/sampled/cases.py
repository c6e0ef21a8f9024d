"""Figures of samples against those of the whole table: the interval of each, and whether it holds the truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pkadvisor.design.choice.certainty.cost_intervals import measures, resample, terms_of
from pkadvisor.design.cost.cost import estimate, measure
from pkadvisor.design.cost.resample import draw_of
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Term
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Basis, QueryClass
from tests.design.support import bench_of
from tests.worlds.sampled.tables import Table

CLOSE = 0.05
"""How far a figure without an interval may be off, as a share of the truth."""
PRINTED = 2e-5
"""What rounding for print moves an end by, as a share."""


@dataclass(frozen=True)
class Case:
    """One figure of a sample: what it is of (the class and its shape, or all classes), how the rows were drawn, whether
    it is given at all or marked as unknown, whether its interval (or the figure itself, where it has none) holds the
    truth, and the width of the interval; None where a side is open."""

    figure: str
    way: str
    share: float
    given: bool
    inside: bool
    width: float | None = None
    told: str = ""


def truths(table: Table, schemes: Sequence[KeyScheme], classes: Sequence[QueryClass]) -> list[Mapping[str, float]]:
    """The figures of the whole table, by scheme."""
    bench = bench_of(table.whole(), *classes)
    return [{name: value for name, (value, _) in measures(measure(s, bench)).items()} for s in schemes]


def cases(
    table: Table,
    true: Sequence[Mapping[str, float]],
    schemes: Sequence[KeyScheme],
    classes: Sequence[QueryClass],
    share: float,
    seed: int,
    *,
    replicates: int = 25,
) -> Iterator[Case]:
    """Every figure of one sample."""
    population = table.sample(share, seed)
    if population is None:
        return
    for scheme, terms, right in zip(schemes, _terms(population, schemes, classes, replicates), true, strict=True):
        for term in terms:
            at = f"{table.name}, {scheme.text}, seed {seed}"
            yield case(term, right[term.name], table.way, share, at)


def case(term: Term, true: float, way: str, share: float, at: str) -> Case:
    """One figure."""
    told = f"{at}: {term.value:.6g} in [{term.low}, {term.high}], true {true:.6g}"
    counted = term.low is not None and term.low == term.high
    if term.basis is Basis.UNKNOWN:
        return Case(term.name, way, share, False, True, None, told)
    if counted or (term.low is None and term.high is None):
        return Case(term.name, way, share, True, abs(term.value - true) <= CLOSE * abs(true), None, told)
    small = PRINTED * abs(true)
    inside = (term.low is None or term.low <= true + small) and (term.high is None or true - small <= term.high)
    width = term.high - term.low if term.low is not None and term.high is not None else None
    return Case(term.name, way, share, True, inside, width, told)


def _terms(
    population: Population, schemes: Sequence[KeyScheme], classes: Sequence[QueryClass], replicates: int
) -> list[tuple[Term, ...]]:
    bench = bench_of(population, *classes)
    draw = draw_of(bench)
    costs = [estimate(scheme, bench) for scheme in schemes]
    if draw.why_not:
        found = [measures(cost) for cost in costs]
        return [tuple(Term(n, v, u, Basis.UNKNOWN) for n, (v, u) in each.items()) for each in found]
    return [terms_of(again, bench, draw) for again in resample(costs, bench, draw, replicates=replicates)]


def estimates(
    table: Table, schemes: Sequence[KeyScheme], classes: Sequence[QueryClass], share: float, seed: int
) -> list[Mapping[str, float]]:
    """The figures of one sample without intervals, by scheme."""
    population = table.sample(share, seed)
    assert population is not None
    bench = bench_of(population, *classes)
    return [{name: value for name, (value, _) in measures(measure(s, bench)).items()} for s in schemes]

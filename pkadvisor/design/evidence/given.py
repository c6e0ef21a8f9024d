"""What a ground is, and the evidence that it is measured on."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.load.estimates import Bench, ClassCost, CostEstimate
from pkadvisor.design.rows.demand import Demand
from pkadvisor.values import dataclass

TOTAL_APART = 1.5
"""Times the rows at hand from which on ``entities_total`` makes them a sample of unknown kind."""


@dataclass(frozen=True, slots=True)
class Ground:
    """One thing that a verdict rests on.

    ``sentence`` says what was measured; ``next`` what to give, empty where the ground ``carries``. ``rests`` is the
    share of the load that depends on it. ``measured`` and ``expected`` are the two numbers that are compared with each
    other, in ``unit``; None where there is only one, or none.
    """

    name: str
    title: str
    sentence: str
    carries: bool = True
    next: str = ""
    rests: float = 0.0
    measured: float | None = None
    expected: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        if self.carries == bool(self.next):
            raise ValueError(f"{self.name}: what to give next goes with a ground that is not enough")
        if not 0 <= self.rests <= 1:
            raise ValueError(f"{self.name}: {self.rests} is not a share")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the grounds are measured on: a section's bench, the scheme that is first, and what was declared."""

    bench: Bench
    best: CostEstimate
    total: int | None
    """``entities_total``, as the command line or the design file says."""
    rows: int
    """Rows of the data set."""
    sampling: str
    """As declared, else as deduced from the rows; ``complete`` where nobody says."""
    log: bool
    logged_s: float | None = None
    """Seconds from the first logged request to the last; None without a log, or of one without times."""
    log_ends_us: float | None = None
    """The time of the last logged request, in µs since 1970; None without a log, or of one without times."""
    kept: bool = False
    """Whether the best scheme is the one in place, and stays."""
    fraction: float = 1.0
    """Share of the requests that the log holds."""
    keys_of_log: bool = False
    """Whether there is no data, and the rows are the keys that the log names."""
    size_stated: bool = False
    """Whether somebody says how large the table is: its total, or how the rows were sampled."""

    @property
    def unsaid(self) -> bool:
        """Whether the data is a sample of which nobody says how it was taken."""
        return self.sampling == "complete" and self.total is not None and self.total > TOTAL_APART * self.rows

    def rests_on(self, wanted: Callable[[Demand], bool]) -> float:
        """The share of the load that some classes make: of the requests or of the entities counted, the larger one."""
        costs = {c.name: c for c in self.best.classes if not c.analytic}
        names = {d.query.name for d in self.bench.demands if d.query.name in costs and wanted(d)}
        shares = [0.0]
        for load in (_requests, _entities):
            every = math.fsum(load(c) for c in costs.values())
            if every > 0:
                shares.append(math.fsum(load(c) for name, c in costs.items() if name in names) / every)
        return min(1.0, max(shares))

    def largest(self, wanted: Callable[[Demand], bool]) -> str:
        """The name of the class that makes most of the load of some classes."""
        costs = {c.name: c for c in self.best.classes if not c.analytic}
        named = [costs[d.query.name] for d in self.bench.demands if d.query.name in costs and wanted(d)]
        return max(named, key=lambda c: (_entities(c), _requests(c), c.name)).name if named else ""


def _requests(cost: ClassCost) -> float:
    return cost.rate_per_s * max(cost.requests, 1.0)


def _entities(cost: ClassCost) -> float:
    return cost.entities_per_s


# -- The verdict on a section: what its ranking says, if what that rests on carries it.


NOT_ENOUGH, HEAT_ONLY = "not_enough", "heat_only"


def verdict_of(judged: Judged, grounds: Sequence[Ground]) -> str:
    """The verdict in a word.

    keep or change (the keys in place), choose (none are in place), unsatisfied (no scheme holds), not_enough (a ground
    does not carry, or keys could not be judged), heat_only (a log without data, or the profile of one).
    """
    ranked = ranking_says(judged)
    if ranked is None:
        section = judged.section
        log = section.traffic is not None or section.workload is not None
        return HEAT_ONLY if log and section.data is None else NOT_ENOUGH
    return ranked if all(ground.carries for ground in grounds) else NOT_ENOUGH


def ranking_says(judged: Judged) -> str | None:
    """keep, change, choose or unsatisfied, if all that was given is right; None where keys could not be judged."""
    advice = judged.advice
    if advice is None:
        return None
    if any(not v.assumed for v in advice.recommended.violations):
        return "unsatisfied"
    if advice.current is None:
        return "choose"
    return "keep" if advice.keep else "change"


def weakest(grounds: Sequence[Ground]) -> Ground | None:
    """Of the grounds that do not carry, the one that most of the load rests on; the first of several alike."""
    return max((g for g in grounds if not g.carries), key=lambda g: g.rests, default=None)

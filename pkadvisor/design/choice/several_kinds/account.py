"""The account's targets against the sum of all tables and kinds: each may hold alone what they do not hold together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from pkadvisor.design.choice.sections import Judged, Section
from pkadvisor.design.cost.cost import beside
from pkadvisor.design.load.breaks import ACCOUNT, SCANS, account_unit
from pkadvisor.design.load.estimates import DEFAULT_HORIZON_FACTOR, Bench, CostEstimate, Violation
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.schedule import schedule_of, shares_by_minute
from pkadvisor.lazy import np
from pkadvisor.limits import Limits
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import Growth, GrowthOf, Rate, Workload
from pkadvisor.values import dataclass

RUNS = (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN)
MONTHS_STEP = 1e-3
"""Exactness of the month in which the load passes the target."""


@dataclass(frozen=True, slots=True)
class Asker:
    """What one table, or one kind of it, asks of a target of the account.

    ``by_class``: load per second of each class at its own peak. ``growth_factor`` is what its growth makes of that at
    the horizon, ``growth`` the declared one where there is any. ``at_least``: a lower bound, there is no data.
    """

    name: str
    by_class: Mapping[str, float]
    rates: Mapping[str, Rate]
    minutes: Mapping[str, MinuteSeries] = field(default_factory=dict)
    growth_factor: float = 1.0
    growth: Growth | None = None
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class AccountLoad:
    """The load of one target of the account in its worst minute: ``shares`` are its parts (of whom, per second), those
    of the tables and kinds with the most load first.

    ``measured`` is the load at the declared peak, ``grown`` after the growth of each, ``at_declared_growth`` after
    growth that somebody declared. ``saved_per_s`` is what group transactions over several kinds save. ``askers`` are
    those that were added up.
    """

    cause: str
    unit: str
    limit: float
    shares: tuple[tuple[Asker, float], ...]
    saved_per_s: float
    measured: float
    grown: float
    at_declared_growth: float
    askers: tuple[Asker, ...] = field(default=(), repr=False)

    def with_other(self, mine: Asker) -> AccountLoad:
        """The load where the asker of that name asks for this instead: its worst minute may be another one."""
        askers = [mine if each.name == mine.name else each for each in self.askers]
        return account_load_of(askers, self.cause, self.unit, self.limit, self.saved_per_s)

    @property
    def break_factor(self) -> float | None:
        """By how much all rates may grow until the target is passed; None without any load."""
        return self.limit / self.measured if self.measured > 0 else None

    @property
    def broken(self) -> bool:
        """Whether the target is passed at the declared peak or after declared growth."""
        return max(self.measured, self.at_declared_growth) > self.limit

    @property
    def months(self) -> float | None:
        """Months until the target is passed, each table at its declared growth; None beyond every horizon."""
        if self.measured > self.limit:
            return 0.0
        end = max((of.growth.horizon_months for of, _ in self.shares if of.growth is not None), default=0.0)
        if self._in_months(end) <= self.limit:
            return None
        low, high = 0.0, end
        while high - low > MONTHS_STEP:
            middle = (low + high) / 2
            low, high = (low, middle) if self._in_months(middle) > self.limit else (middle, high)
        return high

    def _in_months(self, months: float) -> float:
        loads = (
            per_s * (of.growth.factor_per_month ** min(months, of.growth.horizon_months) if of.growth else 1.0)
            for of, per_s in self.shares
        )
        return max(0.0, math.fsum(loads) - self.saved_per_s)

    def violation(self) -> Violation | None:
        """The target passed at the peak or after growth; one of assumed growth alone is marked so."""
        if self.grown <= self.limit:
            return None
        assumed = self.at_declared_growth <= self.limit
        most = ", ".join(f"{of.name} {per_s:,.0f}" for of, per_s in self.shares[:3])
        message = f"all kinds and tables together: {self.measured:,.0f} {self.unit} at the peak ({most})"
        if self.measured <= self.limit:
            message += f", {self.grown:,.0f} after the growth" + (" (assumed growth)" if assumed else "")
        message += f"; target of the account {self.limit:,.0f}"
        severity = self.grown / self.limit
        code = "account" if self.cause == ACCOUNT else "scan-load"
        return Violation(code, message, self.measured, self.limit, self.unit, severity, assumed)


def account_loads(
    kinds: Sequence[tuple[str, Bench, CostEstimate]], limits: Limits, saved_per_s: float = 0.0
) -> tuple[AccountLoad, ...]:
    """The load on each of the account's targets by kinds (name, bench, estimate of the scheme), the heaviest first."""
    return _loads({c: [asker(*kind, c, limits) for kind in kinds] for c in (ACCOUNT, SCANS)}, limits, saved_per_s)


def _loads(askers: Mapping[str, Sequence[Asker]], limits: Limits, saved_per_s: float = 0.0) -> tuple[AccountLoad, ...]:
    units = {ACCOUNT: account_unit(limits), SCANS: "entities/s"}
    loads = []
    for cause, unit in units.items():
        saved = saved_per_s if unit == "requests/s" else 0.0
        loads.append(account_load_of(askers.get(cause, ()), cause, unit, limits.account_requests_per_s, saved))
    return tuple(sorted(loads, key=lambda load: (-load.measured, load.cause)))


def account_load_of(
    askers: Sequence[Asker], cause: str, unit: str, limit: float, saved_per_s: float = 0.0
) -> AccountLoad:
    """The load of one target, in the minute in which all that ask for it load it most together."""
    rates = {f"{n}:{name}": rate for n, each in enumerate(askers) for name, rate in each.rates.items()}
    minutes = {f"{n}:{name}": series for n, each in enumerate(askers) for name, series in each.minutes.items()}
    columns, shares = shares_by_minute(rates, minutes)
    by_asker = np.zeros((len(shares), len(askers)))
    for n, each in enumerate(askers):
        for name, load in each.by_class.items():
            by_asker[:, n] += shares[:, columns[f"{n}:{name}"]] * load
    factors = np.array([each.growth_factor for each in askers])
    declared = np.array([each.growth_factor if each.growth is not None else 1.0 for each in askers])

    def most(growth: np.ndarray) -> float:
        return max(0.0, float((by_asker * growth).sum(axis=1).max(initial=0.0)) - saved_per_s)

    worst = by_asker[int(np.argmax(by_asker.sum(axis=1)))] if len(askers) else np.zeros(0)
    loads = [(of, float(load)) for of, load in zip(askers, worst, strict=True) if load > 0]
    loads.sort(key=lambda share: (-share[1], share[0].name))
    measured, grown, at_declared = (most(growth) for growth in (np.ones(len(askers)), factors, declared))
    return AccountLoad(cause, unit, limit, tuple(loads), saved_per_s, measured, grown, at_declared, tuple(askers))


def asker(name: str, bench: Bench, estimate: CostEstimate, cause: str, limits: Limits) -> Asker:
    """What the scheme of one kind asks of a target, class by class."""
    own = [b for b in estimate.breaks if b.cause == cause]
    load = max((b.measured - b.others for b in own), default=0.0)
    if cause == ACCOUNT and not limits.account_counts_entities:
        values = {c.name: c.peak_per_s * c.requests for c in estimate.classes if not c.analytic}
    elif cause == ACCOUNT:
        values = {
            c.name: c.peak_per_s * (c.entities_read + c.entities_written) for c in estimate.classes if not c.analytic
        }
    else:
        reading = [c for c in estimate.classes if c.plan is not None and not c.analytic]
        several = [c for c in reading if c.plan is not None and (c.plan.several or c.plan.access in RUNS)]
        values = {c.name: c.peak_per_s * c.entities_read for c in several or reading}
    peak = schedule_of(bench.workload, bench.population).peak(values)
    values = {name: value * load / peak for name, value in values.items()} if peak > 0 else {}
    rising = next((b for b in own if bench.growth_of in b.by), None)
    factor = rising.load_at(bench.horizon_factor) / rising.measured if rising is not None else 1.0
    growth = bench.workload.growth if rising is not None else None
    rates = {c.name: c.rate for c in bench.workload.classes}
    return Asker(name, values, rates, bench.workload.minutes, factor, growth)


def declared_asker(name: str, workload: Workload) -> Asker:
    """What a workload asks of the account's requests at the least, where no data tells how its keys answer it."""
    values = {c.name: c.rate.sustained_per_s for c in workload.classes if not c.analytic}
    growth = workload.growth
    raises = growth is None or growth.of in (GrowthOf.RATE, GrowthOf.NEW_KEYS)
    factor = (DEFAULT_HORIZON_FACTOR if growth is None else max(1.0, growth.factor)) if raises else 1.0
    rates = {c.name: c.rate for c in workload.classes}
    return Asker(name, values, rates, workload.minutes, factor, growth if raises else None, at_least=True)


def shared_loads(
    kinds: Sequence[tuple[str, Bench, CostEstimate]],
    unknown: Sequence[tuple[str, Workload]],
    limits: Limits,
    saved_per_s: float = 0.0,
) -> tuple[AccountLoad, ...]:
    """The loads of the targets of which more than one asks something: kinds (name, bench, estimate), and those of which
    there is no data (name, workload)."""
    askers = {c: [asker(*kind, c, limits) for kind in kinds] for c in (ACCOUNT, SCANS)}
    if not limits.account_counts_entities:
        askers[ACCOUNT] += [declared_asker(*each) for each in unknown]
    return tuple(load for load in _loads(askers, limits, saved_per_s) if len(load.shares) > 1)


def table_name(section: Section) -> str:
    """A table, or a kind of one, as it is named among others."""
    return f"{section.table} · {section.kind}" if section.kind else section.table


def judged_beside(
    judged: Sequence[Judged], loads: Sequence[AccountLoad], in_use: Sequence[AccountLoad]
) -> list[Judged]:
    """The answers with every break factor at the account's load of all tables, not at that of one.

    ``loads``: where all have the recommended keys, ``in_use``: where all have those of today, as the keys in use have.
    """
    out = []
    for each in judged:
        advice, bench = each.advice, each.bench
        if bench is None or advice is None:
            out.append(each)
            continue
        name = table_name(each.section)
        priced = {id(c): beside(c, bench_beside(bench, c, loads, name)) for c in (advice.recommended, *advice.ranking)}
        current = advice.current
        if current is not None:
            today = beside(current, bench_beside(bench, current, in_use, name))
            if current is not advice.recommended:
                priced[id(current)] = today
            current = today
        ranking = tuple(priced[id(c)] for c in advice.ranking)
        advice = replace(advice, recommended=priced[id(advice.recommended)], ranking=ranking, current=current)
        out.append(replace(each, bench=bench_beside(bench, advice.recommended, loads, name), advice=advice))
    return out


def bench_beside(bench: Bench, estimate: CostEstimate, loads: Sequence[AccountLoad], name: str) -> Bench:
    """The bench of the table or kind of a name with what the others bring to the account's targets, where this one has
    the scheme."""
    own = {b.cause: b.measured - b.others for b in estimate.breaks if GrowthOf.RATE in b.by}
    others = {
        load.cause: max(
            0.0, load.with_other(asker(name, bench, estimate, load.cause, bench.limits)).measured - own[load.cause]
        )
        for load in loads
        if load.cause in own
    }
    return replace(bench, beside=others) if others else bench

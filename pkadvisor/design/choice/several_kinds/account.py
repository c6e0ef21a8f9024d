"""The account's targets against the sum of all tables and kinds: each may hold alone what they do not hold together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.load.breaks import ACCOUNT, SCANS, account_unit
from pkadvisor.design.load.estimates import Bench, CostEstimate, Violation
from pkadvisor.observe.workload import GrowthOf

if TYPE_CHECKING:
    from pkadvisor.limits import Limits


@dataclass(frozen=True, slots=True)
class Share:
    """One kind's part of an account's load: its name, its load at its peak, the growth to survive, and whether that
    growth is declared."""

    name: str
    per_s: float
    growth: float
    declared: bool


@dataclass(frozen=True, slots=True)
class AccountLoad:
    """The load of one target of the account, the kinds with the most load first.

    The peaks are added up, which is an upper bound where they do not fall together. ``saved_per_s`` is what group
    transactions over several kinds save.
    """

    cause: str
    unit: str
    limit: float
    shares: tuple[Share, ...]
    saved_per_s: float = 0.0

    @property
    def measured(self) -> float:
        """The load at the declared peak."""
        return max(0.0, sum(s.per_s for s in self.shares) - self.saved_per_s)

    @property
    def grown(self) -> float:
        """The load after the growth of each kind."""
        return max(0.0, sum(s.per_s * s.growth for s in self.shares) - self.saved_per_s)

    @property
    def at_declared_growth(self) -> float:
        """The load after growth that somebody declared; assumed growth left out."""
        return max(0.0, sum(s.per_s * (s.growth if s.declared else 1.0) for s in self.shares) - self.saved_per_s)

    @property
    def break_factor(self) -> float | None:
        """By how much all rates may grow until the target is passed; None without any load."""
        return self.limit / self.measured if self.measured > 0 else None

    def violation(self) -> Violation | None:
        """The target passed at the peak or after growth; one of assumed growth alone is marked so."""
        if self.grown <= self.limit:
            return None
        assumed = self.at_declared_growth <= self.limit
        most = ", ".join(f"{s.name} {s.per_s:,.0f}" for s in self.shares[:3])
        message = f"all kinds and tables together: {self.measured:,.0f} {self.unit} at the peak ({most})"
        if self.measured <= self.limit:
            message += f", {self.grown:,.0f} at the horizon" + (" (assumed growth)" if assumed else "")
        message += f"; target of the account {self.limit:,.0f}"
        severity = self.grown / self.limit
        code = "account" if self.cause == ACCOUNT else "scan-load"
        return Violation(code, message, self.measured, self.limit, self.unit, severity, assumed)


def account_loads(
    kinds: Sequence[tuple[str, Bench, CostEstimate]], limits: Limits, saved_per_s: float = 0.0
) -> tuple[AccountLoad, ...]:
    """The load on each of the account's targets by kinds (name, bench, estimate of the scheme), the heaviest first."""
    units = {ACCOUNT: account_unit(limits), SCANS: "entities/s"}
    loads = []
    for cause, unit in units.items():
        shares = []
        for name, bench, found in kinds:
            each = next((b for b in found.breaks if b.cause == cause and GrowthOf.RATE in b.by), None)
            if each is not None:
                growth = bench.horizon_factor if bench.growth_of in each.by else 1.0
                shares.append(Share(name, each.measured, growth, bench.workload.growth is not None))
        saved = saved_per_s if unit == "requests/s" else 0.0
        shares.sort(key=lambda s: (-s.per_s, s.name))
        loads.append(AccountLoad(cause, unit, limits.account_requests_per_s, tuple(shares), saved))
    return tuple(sorted(loads, key=lambda load: (-load.measured, load.cause)))

"""The gate: which findings count, and whether they let a change pass."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pkadvisor.review.views.findings import Finding, Severity, Status
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Gate:
    """``fail_on``: the mildest severity that fails, None for never. ``new_only``: only new and worse findings count."""

    fail_on: Severity | None = Severity.ERROR
    new_only: bool = False

    def stops(self, finding: Finding) -> bool:
        """Whether a finding fails the gate: severe enough, not suppressed, not in the baseline unless it got worse."""
        if self.fail_on is None or finding.severity.rank > self.fail_on.rank or finding.suppressed is not None:
            return False
        if finding.baselined and finding.status is not Status.WORSE:
            return False
        return not self.new_only or finding.status in (Status.NEW, Status.WORSE)

    def passes(self, findings: Iterable[Finding]) -> bool:
        """Whether nothing stops."""
        return not any(self.stops(finding) for finding in findings)


def told(finding: Finding) -> bool:
    """Whether a finding is told: not suppressed, and not in the baseline unless it got worse."""
    return finding.suppressed is None and (not finding.baselined or finding.status is Status.WORSE)


def ordered(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Worst first, then by place, then by rule."""
    return tuple(
        sorted(findings, key=lambda f: (f.severity.rank, f.place.line, f.place.column, f.rule, f.path, f.message))
    )

"""Figures that are known to be wrong and not yet mended: by the number of the finding, how a failure is recognised.

A finding that is mended is removed here; the worlds that broke by it are then held again. An entry says no more than it
must: what is read wrongly of one shape of plan stays judged for all others.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.worlds.model import Compare
from tests.worlds.requests import Plan
from tests.worlds.truth import Broken

SCANS = ("partition-range scan", "table scan")


def _of_plan(test: Callable[[Plan], bool]) -> Callable[[Broken], bool]:
    """A failure of a figure (not of an answer) whose plan has some shape."""
    return lambda found: found.plan is not None and " for {" not in found.what and test(found.plan)


def _writes(plan: Plan) -> bool:
    return plan.asked.operation in ("update", "delete")


def _ranged(plan: Plan) -> bool:
    return any(isinstance(c, Compare) and c.operator not in ("eq", "ne") for c in plan.asked.conditions())


def _nearly(found: Broken) -> bool:
    """Whether the hottest partition is told within a twentieth of its load."""
    if found.what != "hottest partition":
        return False
    printed, true = (float(str(value).split(" at ")[0]) for value in (found.printed, found.true))
    return abs(printed - true) <= 0.05 * true


KNOWN: dict[int, Callable[[Broken], bool]] = {
    22: lambda found: found.law == "best" and found.what.endswith("by constraints"),
    44: _nearly,
    45: _of_plan(lambda p: p.access in SCANS and p.top is not None and any(t.name == "RowKey" for t in p.on_keys)),
    47: _of_plan(lambda p: p.back and p.asked.top is not None),
    48: _of_plan(lambda p: p.several and p.access == "row range" and p.filter.count("RowKey lt '~'") == 1),
    46: lambda found: found.law == "harmless" and found.what.startswith("an unused property: recommended keys"),
}
"""44: a fan-out over a range takes rows to lie in buckets by chance.
45: index rows between those that ``$top`` of a scan wants are taken to lie evenly among them.
47: going back over periods, a set of parameters whose rows end within a period reads one period more or less.
48: a fan-out whose range of RowKeys ends at ``~`` leaves out rows of index rows beyond the last main row.
46: stored bytes are compared as a share of all, so that an unused property makes ties of keys that differ by them.
"""


def known(found: Broken) -> int | None:
    """The number of the finding that a failure belongs to; None for a new one."""
    return next((number for number, like in KNOWN.items() if like(found)), None)

"""What pages call the goals by which schemes are ranked."""

from __future__ import annotations

from pkadvisor.documents.analysis_scheme import AnalysisLostGoal
from pkadvisor.numbers import amount

SAME_LENGTH = "simplicity: both are equally long, so a fixed order decides"
"""What is said of two schemes that are equal even in the last goal."""
GOALS = {"structures": "index rows"}
"""Goals of the document that have another name on a page."""
UNITS = {
    "eventual, all": "one in another partition, written later, counts twice",
    "share of reads through eventually consistent rows": "share of reads through those written later",
}
"""Units of goals that need other words on a page."""


def goal_name(name: str) -> str:
    """What a page calls a goal."""
    return GOALS.get(name, name)


def goal_unit(unit: str) -> str:
    """How a page names the unit of a goal."""
    return UNITS.get(unit, unit)


def lost(loses: AnalysisLostGoal) -> str:
    """By which goal a scheme is behind, with both values."""
    if loses.goal == "simplicity" and loses.value == loses.winner:
        return SAME_LENGTH
    mine, best = amount(loses.value), amount(loses.winner)
    if mine == best and loses.value is not None and loses.winner is not None:
        mine, best = f"{loses.value:,.6g}", f"{loses.winner:,.6g}"  # what decides is shown
    return f"{goal_name(loses.goal)}, {mine} against {best} ({goal_unit(loses.unit)})"

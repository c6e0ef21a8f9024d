"""The words of a verdict and of the reasons beside it, the same in every output."""

from __future__ import annotations

from typing import Any

from pkadvisor.numbers import amount, percent
from pkadvisor.report.text.scheme_page import SAME_LENGTH, goal_name, goal_unit

# The headline of a table, and how it is to be taken: good, bad or warn.
HEADLINES = {
    "keep": ("KEEP THE KEY", "good"),
    "change": ("CHANGE THE KEY", "bad"),
    "choose": ("USE THIS KEY", "good"),
    "unsatisfied": ("NO KEY HOLDS EVERY CONSTRAINT", "bad"),
    "not_enough": ("NOT ENOUGH TO ADVISE", "bad"),
    "heat_only": ("HEAT ONLY", "warn"),
}
VERDICTS = {
    "keep": "keep the key",
    "change": "change the key",
    "choose": "use this key",
    "unsatisfied": "no key holds every constraint",
    "not_enough": "not enough to advise",
    "heat_only": "no data, no advice: only who is asked for",
}


def provisional(table: dict[str, Any]) -> str:
    """What the ranking says beneath a verdict that the inputs do not carry; empty where they do, or nothing is said."""
    if table["verdict"] != "not_enough" or table["recommended"] is None:
        return ""
    return f"if the inputs are right as they are: {VERDICTS[table['ranking_says']]}"


def doubt(table: dict[str, Any]) -> str:
    """What stands directly below the verdict where it is not sure; empty where it is, where nobody is behind it, and
    where there is no verdict to be sure of."""
    found = table["confidence"]
    return "" if found is None or found["sure"] or table["why_not"] else sureness(found)


def give(table: dict[str, Any]) -> str:
    """What to give next, as a sentence; empty where there is advice."""
    return f"give {table['next']}" if table["next"] else ""


def table_title(table: dict[str, Any]) -> str:
    """The name of a table, and of its kind of entity where it holds several."""
    name: str = table["table"]
    return f"{name} · {table['kind']}" if table["kind"] else name


def sureness(found: dict[str, Any]) -> str:
    """How sure it is that the recommended scheme is ahead of the next best."""
    share = found["share"]
    if share is None:
        return f"cannot tell how sure it is: {found['note']}"
    if found["basis"] == "counted":
        return "counted: every row was read, nothing was estimated from a sample"
    if found["sure"]:
        return f"ahead of the next best in {percent(share)} of resamples"
    if found["rows_needed"] is None and found["assumed_share"]:
        return f"ahead of the next best in {percent(share)} of resamples, but {found['note']}"
    more = (
        f"add {found['rows_needed']:,} rows of {found['rows_of']}" if found["rows_needed"] else "more rows do not help"
    )
    return f"cannot tell from the next best ({percent(share)} of resamples): {more}"


def lost(loses: dict[str, Any]) -> str:
    """By which goal a scheme is behind, with both values."""
    if loses["goal"] == "simplicity" and loses["value"] == loses["winner"]:
        return SAME_LENGTH
    mine, best = amount(loses["value"]), amount(loses["winner"])
    if mine == best and loses["value"] is not None and loses["winner"] is not None:
        mine, best = f"{loses['value']:,.6g}", f"{loses['winner']:,.6g}"  # what decides is shown
    return f"{goal_name(loses['goal'])}, {mine} against {best} ({goal_unit(loses['unit'])})"

"""What a stress test says in the end: a sentence for each design, and one for the goals."""

from __future__ import annotations

from typing import Any

from pkadvisor.report.page import lasting, percent, ratio
from pkadvisor.stresser.runs import COLD

QUIET_SHARE = 0.001
"""Share of attempts turned away up to which a design bears a load: the burst of a busy second may be among them."""


def verdict_of(designs: list[dict[str, Any]], goals: list[dict[str, Any]]) -> dict[str, Any]:
    """Sentences in the order of the designs. ``style``: good where the proposed design bears the load and its goals."""
    if not designs:
        return {"sentences": [], "style": "warn", "bears": None, "new_table_bears": None}
    sentences = [_sentence(design) for design in designs]
    proposed = designs[-1]
    missed = [g for g in goals for mark in g["designs"] if mark["label"] == proposed["label"] and not mark["met"]]
    if missed:
        first = missed[0]
        of = f" of {first['query']}" if first["query"] else ""
        more = f" and {len(missed) - 1} more" if missed[1:] else ""
        sentences.append(f"{proposed['label']} misses the goal {first['name']}{of}{more}")
    bears = bears_load(proposed["runs"][0])
    style = "good" if bears and not missed else "bad"
    new = bears_load(_cold(proposed))
    return {"sentences": sentences, "style": style, "bears": bears, "new_table_bears": new}


def bears_load(run: dict[str, Any]) -> bool:
    """Whether a run turned next to nothing away."""
    return bool(run["throttled_share"] <= QUIET_SHARE and run["timed_out"] == 0 and run["lost_share"] <= QUIET_SHARE)


def _sentence(design: dict[str, Any]) -> str:
    warm = design["runs"][0]
    cold = _cold(design)
    if bears_load(warm):
        text = f"{design['label']} bears the load"
        if warm["hottest"]:
            text += f", its hottest partition at {ratio(warm['hottest']['times_target'])} of the target"
    else:
        text = f"{design['label']} does not bear the load: {percent(warm['throttled_share'])} throttled, "
        text += f"{percent(warm['lost_share'])} of the requests lost"
        if warm["hottest"]:
            text += (
                f"; hottest partition {warm['hottest']['partition_key']} at {ratio(warm['hottest']['times_target'])}"
            )
    if cold is not warm and not bears_load(cold) and bears_load(warm):
        text += f"; as a new table it loses {percent(cold['lost_share'])} of the requests{_quiet_from(cold)}"
    return text


def _cold(design: dict[str, Any]) -> dict[str, Any]:
    """The run as a new table; the warmed-up one where it has not come to that."""
    runs: list[dict[str, Any]] = design["runs"]
    return next((run for run in runs if run["state"] == COLD), runs[0])


def _quiet_from(run: dict[str, Any]) -> str:
    """What ended the throttling of a cold start, and when; nothing is said where nothing was split."""
    if not any(event["kind"] == "split" for event in run["events"]):
        return ", and nothing is split within this run"
    line = run["timeline"]
    last = max((i for i, value in enumerate(line["throttled_per_s"]) if value), default=-1)
    if last + 1 >= len(line["throttled_per_s"]):
        return ", to the end of this run"
    return f" until it has been split, after {lasting((last + 1) * line['step_s'])}"

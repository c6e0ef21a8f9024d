"""The sentences of a summary: why, how sure, and the one caveat that matters most."""

from __future__ import annotations

import math
from typing import Any

from pkadvisor.numbers import amount, milliseconds, rate, ratio
from pkadvisor.report.summary.figures import first_break, queries_of, reads_only_what_it_returns
from pkadvisor.report.summary.goals import SAME_LENGTH, lost
from pkadvisor.report.summary.verdicts import ADD_INDEX_ROW, VERDICTS, ranking_of, sureness

KEY_SHOWN = 40
"""Characters of a key value that a sentence shows: it names a partition, and nobody copies it."""
WASTE = 2.0
"""From so many rows read for each that is returned on a query is worth a sentence."""
SHARED_KEYS = "whether two entities"
"""How an unknown begins that asks whether keys are unique."""
SCANS = ("table scan", "partition-range scan")


def why(table: dict[str, Any]) -> str:
    """The reason of the verdict, in one sentence."""
    best, says = table["recommended"], ranking_of(table)
    if table["why_not"]:
        return _sentence(table["why_not"])
    if best is None:
        return _sentence(next(iter(table["cannot_be_known"]), ""))
    if says == "unsatisfied":
        worst = worst_violation(best)
        return _sentence(_head(worst["message"])) if worst else ""
    if says == "keep":
        return "No limit is broken, and no other key is enough better to rewrite every entity."
    if says in ("change", ADD_INDEX_ROW) and table["current"] is not None:
        return _why_change(table, says == ADD_INDEX_ROW)
    return _why_this(table, best)


def confidence(table: dict[str, Any], *, logged: bool) -> str:
    """How sure it is that the recommended keys are the best: high, low or unknown, why, and on what condition.

    Empty where nothing was compared. ``logged``: whether the workload was read from a log.
    """
    found = table["confidence"]
    if found is None or table["why_not"] or table["ranking_says"] == "unsatisfied":
        return ""
    if found["share"] is None:
        return f"unknown ({found['note']})."
    return f"{sureness(found)}, if the workload is as {'in the log' if logged else 'declared'}."


def caveat(table: dict[str, Any], *, logged: bool) -> str:
    """What its owner should know first, in one sentence; empty where there is nothing.

    The order: figures that are guesses, advice that stands on conditions, limits at the growth asked for, atomicity
    that is lost, keys that two entities may share, latency goals that are missed, rows that are read stale, queries
    that still scan, a sample, no log.
    """
    best, current = table["recommended"], table["current"]
    if table["warnings"]:
        return _sentence(table["warnings"][0])
    says = ranking_of(table)
    if best is None or says is None:
        return ""
    if table["verdict"] == "not_enough":
        return f"If the inputs are correct, the ranking says: {VERDICTS[says]}."
    if says == "unsatisfied":
        return _conflict(table)
    grown = [v["message"] for v in best["violations"] if v["assumed_growth"]]
    if grown:
        return f"At the growth to plan for: {_head(grown[0])}."
    apart = [t["name"] for t in best["transactions"] if not t["kept"]]
    if apart:
        return f"'{_brief(apart[0])}' is not always one group transaction: its rows lie in several partitions."
    if unsure := next((t for t in table["cannot_be_known"] if t.startswith(SHARED_KEYS)), ""):
        return _sentence(f"Find out {unsure}")
    if late := _late(table, best):
        return late
    before = {_identity(row) for row in current["index_rows"]} if current is not None else set()
    new = [row for row in best["index_rows"] if _identity(row) not in before and row["consistency"] == "eventual"]
    if new:
        return _stale(best)
    if scan := _scan(best):
        return scan
    data = table["data"]
    if data is not None and data["entities_read"] < data["entities_total"]:
        how = data["sampling"].replace("-", " ")
        return f"Only {data['entities_read']:,} of {data['entities_total']:,} entities were read ({how})."
    if not logged:
        return "The rates are declared and not measured: no log was given."
    return _sentence(next(iter(table["gives_up"]), ""))


def worst_violation(scheme: dict[str, Any]) -> dict[str, Any] | None:
    """Of the constraints that a scheme breaks at today's load, the one that is missed by most; what cannot be measured
    in times of a limit is worse than anything that can."""

    def times(violation: dict[str, Any]) -> float:
        measured, limit = violation["measured"], violation["limit"]
        return float(measured) / float(limit) if measured is not None and limit else math.inf

    return max((v for v in scheme["violations"] if not v["assumed_growth"]), key=times, default=None)


# -- why --------------------------------------------------------------------------------------------------------------


def _why_change(table: dict[str, Any], only_rows: bool) -> str:
    current, best = table["current"], table["recommended"]
    waste = _waste(current, best)
    if only_rows and waste:
        return waste
    broken = [v for v in current["violations"] if not v["assumed_growth"]]
    hot = current["hot_partition"]
    over = next((v for v in broken if v["code"] == "hot-partition" and v["measured"] and v["limit"]), None)
    if hot is not None and over is not None:
        times = ratio(over["measured"] / over["limit"])
        one = f"Partition '{_brief(hot['partition_key'])}' takes {times} its target; Azure cannot split one partition."
        return waste or one
    if broken:
        return f"Current keys: {_head(broken[0]['message'])}."
    first = first_break(current)
    if current["violations"] and first is not None:
        return f"The current keys do not reach the growth to plan for: they break {first.when} ({first.cause})."
    if waste:
        return waste
    return f"The current keys lose by {lost(current['loses'])}." if current["loses"] else ""


def _waste(current: dict[str, Any], best: dict[str, Any]) -> str:
    """The query of the current keys that reads most rows in vain and reads at most half of them after the change."""
    after = {c["name"]: c for c in best["classes"]}
    wasteful = [
        c
        for c in queries_of(current)
        if c["name"] in after
        and c["entities_read"] > WASTE * max(1.0, c["entities_returned"])
        and after[c["name"]]["entities_read"] <= c["entities_read"] / WASTE
    ]
    worst = max(wasteful, key=lambda c: c["rate_per_s"] * c["entities_read"], default=None)
    if worst is None:
        return ""
    read, returned = amount(worst["entities_read"]), amount(worst["entities_returned"])
    recommended = amount(after[worst["name"]]["entities_read"])
    return f"{_brief(worst['name'])} reads {read} rows to return {returned}; recommended: {recommended}."


def _why_this(table: dict[str, Any], best: dict[str, Any]) -> str:
    queries = queries_of(best)
    straight = [c for c in queries if reads_only_what_it_returns(c)]
    which = "Every query reads" if len(straight) == len(queries) else f"{len(straight)} of {len(queries)} queries read"
    said = [f"{which} only the rows that it returns" if which.startswith("Every") else f"{which} only what they return"]
    rival = next(iter(table["alternatives"]), None)
    if rival is not None and rival["loses"] and lost(rival["loses"]) != SAME_LENGTH:
        said.append(f"the next best keys lose by {lost(rival['loses'])}")
    if not queries:
        said = said[1:] or ["no other key was better"]
    return _sentence("; ".join(said))


# -- caveats ----------------------------------------------------------------------------------------------------------


def _conflict(table: dict[str, Any]) -> str:
    found = table["conflicts"]
    sentences = [c["sentence"] for c in found[0]["constraints"]] if found else []
    if len(sentences) > 1:
        return f"No key holds {'both' if len(sentences) == 2 else 'all of these'}: {'; '.join(sentences)}."
    return f"No key holds this: {sentences[0]}." if sentences else ""


def _late(table: dict[str, Any], best: dict[str, Any]) -> str:
    """The class that misses its declared latency goal by most."""
    declared = {q["name"] for q in table["workload"] if q["latency_goal_ms_p99"] is not None}
    late = [
        c
        for c in best["classes"]
        if c["name"] in declared and c["latency_goal_ms_p99"] and c["latency_ms_p99"] > c["latency_goal_ms_p99"]
    ]
    worst = max(late, key=lambda c: c["latency_ms_p99"] / c["latency_goal_ms_p99"], default=None)
    if worst is None:
        return ""
    p99, goal = milliseconds(worst["latency_ms_p99"]), milliseconds(worst["latency_goal_ms_p99"])
    return f"{_brief(worst['name'])} misses its latency goal: p99 {p99}, goal {goal}."


def _stale(best: dict[str, Any]) -> str:
    """Whom it concerns that an index row is written after its entity."""
    late = {
        f"index row {number}"
        for number, row in enumerate(best["index_rows"], 1)
        if row["consistency"] == "eventual"
    }  # fmt: skip
    readers = [c for c in best["classes"] if c["operation"] == "query" and c["via"] in late]
    busiest = max(readers, key=lambda c: float(c["rate_per_s"]), default=None)
    rows = (
        "The index row is written after its entity" if len(late) == 1 else "Index rows are written after their entity"
    )
    return f"{rows}: {'readers' if busiest is None else _brief(busiest['name'])} can miss recent writes."


def _scan(best: dict[str, Any]) -> str:
    scans = [c for c in queries_of(best) if c["access"] in SCANS and not reads_only_what_it_returns(c)]
    worst = max(scans, key=lambda c: c["rate_per_s"] * c["entities_read"], default=None)
    if worst is None:
        return ""
    read, returned = amount(worst["entities_read"]), amount(worst["entities_returned"])
    return (
        f"{_brief(worst['name'])} ({rate(worst['rate_per_s'])}) still scans: it reads {read} rows to return {returned}."
    )


def _identity(row: dict[str, Any]) -> tuple[str, str]:
    return row["partition_key"], row["row_key"]


# -- words ------------------------------------------------------------------------------------------------------------


def _brief(text: str) -> str:
    return text if len(text) <= KEY_SHOWN else f"{text[: KEY_SHOWN - 1]}…"


def _head(message: str) -> str:
    """A message up to its first semicolon."""
    return message.partition("; ")[0].rstrip(".")


def _sentence(text: str) -> str:
    """Text as a sentence: a capital first, where a word begins it, and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return (text[0].upper() + text[1:] if text.split(" ")[0].isalpha() else text) + ("" if text[-1] in ".!?" else ".")

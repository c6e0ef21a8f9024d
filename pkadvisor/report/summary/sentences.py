"""The sentences of a summary: why, who is throttled, how sure, what would change it, and what weakens it."""

from __future__ import annotations

import math
import re

from pkadvisor.documents.analysis_inputs import AnalysisData, AnalysisGround, AnalysisLog
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisIndexRow, AnalysisScheme, AnalysisViolation
from pkadvisor.documents.analysis_table import KEYS_ALONE, AnalysisTable
from pkadvisor.documents.part import HOTTER_KEY, MOVES, OTHER_CASE, OTHER_ESCAPES, RATES_APART, TOO_MANY
from pkadvisor.numbers import milliseconds, percent, rate, ratio
from pkadvisor.report.summary.counters import counter_to_divide
from pkadvisor.report.summary.figures import (
    SAME_LENGTH,
    brief,
    first_break,
    left_out,
    lost,
    queries_of,
    worst_query,
)
from pkadvisor.report.summary.scans import query_reads, reads_only_what_it_returns, still_scans
from pkadvisor.report.summary.verdicts import ADD_INDEX_ROW, condition, no_key_holds, ranking_of, sureness

BUSIEST = "does the log cover the busiest time?"
ONLY_READ = "is this table only read? The log has no writes of it."
QUERY = "query"
NOT_PRICED = "' is left out of the cost: "
WASTE = 2.0
"""From so many rows read for each that is returned on a query is worth a sentence."""
SHARED_KEYS = "whether two entities"
"""How an unknown begins that asks whether keys are unique."""
SHARED = "can two entities"
UNIQUE_IN_SAMPLE = "unique in "
"""How an unknown begins that asks whether what tells the rows at hand apart does so in the whole table."""
NOT_IN_DATA = "' asks for are not in the data"
ABSENT_SHARE = 0.5
"""Share of a query's keys that the data lacks from which rows are taken to be missing: others ask for what is gone."""
UPDATES_CHANGE = "whether updates ("
"""How an unknown begins that asks whether updates change what the recommended keys hold."""


def why(table: AnalysisTable) -> str:
    """The reason of the verdict, and the query that loads the table most, where the reason does not name it."""
    best = table.recommended
    if table.why_not:
        return sentence_of(table.why_not)
    if best is None:
        return sentence_of(next(iter(table.cannot_be_known), ""))
    reason, worst = _reason(table, best), worst_query(table.current or best)
    if worst is None:
        return reason
    name, share = f"'{brief(worst[0].name)}'", percent(min(round(worst[1], 2), 0.99) if worst[1] < 1 else 1)
    if f"{name} reads " in reason:
        return f"{reason.removesuffix('.')}; it is {share} of rows handled."
    return f"{reason} {name} is {share} of rows handled.".strip()


def _reason(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """The reason of the verdict, in one sentence."""
    says = ranking_of(table)
    if says == "unsatisfied":
        worst = worst_violation(best)
        return sentence_of(head_of(worst.message)) if worst else ""
    if says == "keep":
        return "No limit is broken."
    if says in ("change", ADD_INDEX_ROW) and table.current is not None:
        return _why_change(table, table.current, best, says == ADD_INDEX_ROW)
    return _why_this(table, best)


def confidence(table: AnalysisTable, log: AnalysisLog | None) -> str:
    """How sure it is that the recommended keys are the best: high, medium, low or unknown, why, and on what condition.

    Empty where nothing was compared. ``log``: what the workload was read from.
    """
    entry = table.confidence
    if entry is None or table.why_not or table.ranking_says == "unsatisfied":
        return ""
    if entry.share is None:
        return f"unknown ({entry.note.rpartition(', but ')[2].partition(', ')[0]})."
    how_sure = sureness(entry)
    return f"{how_sure}." if how_sure.startswith("low") else f"{how_sure}, if {condition(log)}."


def cautions(table: AnalysisTable, *, logged: bool) -> list[tuple[str, str]]:
    """What weakens the advice, as a caveat, and what its owner should find out, as a question to check; the weightiest
    of each kind, the weightier one first.

    The order: figures that are guesses, advice that stands on conditions, limits at the growth asked for, atomicity
    that is lost, texts asked for in another case, keys of a log that the data lacks, keys that two entities may
    share, latency goals that are missed, rows that updates may move, rows that are read stale, values that the
    current keys alone hold, queries that still scan, a new table that is one range, fixed text of the current keys
    that is gone, a sample, a log without writes, declared rates.
    """
    best, says = table.recommended, ranking_of(table)
    if table.warnings:
        ordered = [("Caveat", sentence_of(table.warnings[0]))]
    elif best is None or says is None or table.verdict == "not_enough":
        return []
    elif says == "unsatisfied":
        return [("Caveat", conflict)] if (conflict := no_key_holds(table)) else []
    else:
        ordered = []
    if best is not None and not table.why_not:
        ordered += [
            ("Caveat", refused_entities(best)),
            ("Caveat", _hotter_key(table)),
            ("Caveat", counter_to_divide(table, best) or _grown(best)),
            ("Caveat", _apart(best)),
            ("Caveat", sentence_of(next((t for t in table.notes if TOO_MANY in t), ""))),
            ("Caveat", _moves(best)),
            ("Caveat", _case_misses(table, best)),
            ("Check", _other_case(table, best)),
            ("Check", _absent(table)),
            ("Check", _shared_keys(table)),
            ("Caveat", _late(table, best)),
            ("Check", _moved(table)),
            ("Check", _stale(best) if _new_late_rows(table.current, best) else ""),
            ("Caveat", sentence_of(next((t for t in table.gives_up if t.startswith(KEYS_ALONE)), ""))),
            ("Caveat", sentence_of(next((t for t in table.notes if NOT_PRICED in t), "")) or still_scans(table, best)),
            ("Caveat", _cold(table, best)),
            ("Caveat", left_out(table.current, best)),
            ("Check", _sampled(table.data) or ("" if logged else _inserts_apart(table.grounds))),
            ("Check", ONLY_READ if logged and all(q.operation == QUERY for q in table.workload) else ""),
            ("Check", BUSIEST if logged else "are the declared rates right? No log was given."),
        ]
    first_of_each: dict[str, str] = {}
    for label, text in ordered:
        if text:
            first_of_each.setdefault(label, text)
    return list(first_of_each.items())


def _hotter_key(table: AnalysisTable) -> str:
    """That the largest key of the table need not be among those that were drawn."""
    doubted = table.confidence is not None and HOTTER_KEY in (table.confidence.note or "")
    return (
        f"{sentence_of(HOTTER_KEY)} Give all rows, or declare whose keys are asked for most (draw)." if doubted else ""
    )


def refused_entities(best: AnalysisFullScheme) -> str:
    """Entities that the service refuses, or keys of a length that it may refuse."""
    messages = {r.code: r.message for r in best.remarks}
    return sentence_of(head_of(messages.get("refused") or messages.get("key-long", "")))


_GROWN = re.compile(r", [0-9,.]+ after (?P<growth>[^,]+), (?P<share>[^ ]+) the target")


def _grown(best: AnalysisFullScheme) -> str:
    text = head_of(next((v.message for v in best.violations if v.assumed_growth), ""))
    grown = _GROWN.search(text)
    if grown is not None:  # in one line: by how much the target is passed, and when
        what = text[: grown.start()].rpartition(": ")[0].partition(" takes ")[0]
        text = f"{what}: {grown['share']} the target after {grown['growth']}"
    return sentence_of(text)


_MINUTES = re.compile(r"after about ([0-9,]+ minutes?)")


def _cold(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """That a new table does not take the peak before its range was split."""
    warm_up = next((t for t in best.terms if t.name == "warm-up"), None)
    after = _MINUTES.search(warm_up.source) if warm_up else None
    if table.ranking_says == "keep" or warm_up is None or after is None or (warm_up.value or 0) <= 1:
        return ""
    return f"A new table takes the peak after about {after[1]}, once it is split."


def _apart(best: AnalysisFullScheme) -> str:
    apart = next((t.name for t in best.transactions if not t.kept), "")
    says = "is not always one group transaction: its rows lie in several partitions."
    return f"'{brief(apart)}' {says}" if apart else ""


def unique_in_sample(table: AnalysisTable) -> str:
    """The question that comes first where the recommended keys are unique only among the rows looked at; else empty."""
    if table.why_not or ranking_of(table) in (None, "keep", "unsatisfied"):
        return ""
    return next((t.partition(": ")[2] for t in table.cannot_be_known if t.startswith(UNIQUE_IN_SAMPLE)), "")


def _other_case(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """Whether case matters, where a query asks for texts that the data has in another case only."""
    escaped = next((t for t in table.notes if t.endswith(OTHER_ESCAPES)), "").removesuffix(OTHER_ESCAPES)
    if escaped:
        return f"which client writes %-escapes in another case? {escaped} finds nothing."
    asked, _, key = next((t for t in table.notes if OTHER_CASE in t), "").partition(OTHER_CASE)
    part = key.partition(" finds ")[0]
    if not asked or part in best.partition_key + best.row_key or _case_misses(table, best):
        return ""
    return f"does case matter? {asked} differs in case alone; {part}, a new key, finds it."


MUCH_MISSED = 10.0
"""Per cent of the requests of a query that ask in another case only, from which on that is no question but a caveat."""


def _percent_of(sentence: str) -> float:
    """The per cent that a sentence begins with; ``<0.01 %`` counts as its bound."""
    return float(sentence.partition(" %")[0].removeprefix("<"))


def _case_misses(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """That much of what a query asks for is in the data in another case only."""
    asked, _, key = next((t for t in table.notes if OTHER_CASE in t), "").partition(OTHER_CASE)
    part = key.partition(" finds ")[0]
    if not asked or _percent_of(asked) < MUCH_MISSED or part in best.partition_key + best.row_key:
        return ""
    return f"{asked.partition(' (')[0]} differs in case alone; only {part} finds it."


def _absent(table: AnalysisTable) -> str:
    """Whether rows are missing, where the log asks mostly for keys that the data lacks."""
    absent = next((t for t in table.notes if t.endswith(NOT_IN_DATA)), "")
    share, _, query = absent.removesuffix(NOT_IN_DATA).partition(" % of the keys that '")
    if not query or _percent_of(absent) <= 100 * ABSENT_SHARE:
        return ""
    return f"is the export whole? {share} % of the keys that '{brief(query)}' asks for are not in it."


def _shared_keys(table: AnalysisTable) -> str:
    asked = next((t for t in table.cannot_be_known if t.startswith(SHARED_KEYS)), "")
    question, _, reason = asked.removeprefix(f"{SHARED_KEYS} ").partition(": ")
    what = question.removeprefix("can ").replace("ever have", "have", 1)
    return f"{SHARED} {what}? {sentence_of(reason)}".strip() if asked else ""


def _moved(table: AnalysisTable) -> str:
    asked = next((t for t in table.cannot_be_known if t.startswith(UPDATES_CHANGE)), "")
    updates, _, what = asked.removeprefix(UPDATES_CHANGE).partition(") change ")
    name = brief(updates.partition("', '")[0].strip("'"))
    return f"does '{name}' change {what.partition(', which')[0]}? Each change moves a row." if asked else ""


def _sampled(data: AnalysisData | None) -> str:
    if data is None:
        return ""
    if data.entities_read == data.entities_total:
        asked = f"does the table hold more than these {data.entities_read:,} entities?"
        return asked if data.sampling == "slice" else ""
    if data.sampling.startswith("random"):
        return f"are the {data.entities_read:,} entities of the sample drawn at random?"
    return f"are the {data.entities_total - data.entities_read:,} entities that were not read like the others?"


def _inserts_apart(grounds: list[AnalysisGround]) -> str:
    """Inserts per second in the data and in the workload where one is several times the other."""
    density = next((g for g in grounds if g.name == "density"), None)
    if density is None or not density.measured or not density.expected:
        return ""
    arrived, declared = density.measured, density.expected
    if max(arrived, declared) <= RATES_APART * min(arrived, declared):
        return ""
    return f"are {rate(declared)} inserts right? {rate(arrived)} arrive in the data."


def _new_late_rows(current: AnalysisFullScheme | None, best: AnalysisFullScheme) -> bool:
    """Whether the advice adds index rows that are written after their entity."""
    before = {_identity(row) for row in current.index_rows} if current is not None else set()
    return any(_identity(row) not in before and row.consistency == "eventual" for row in best.index_rows)


def worst_violation(scheme: AnalysisScheme) -> AnalysisViolation | None:
    """Of the constraints that a scheme breaks at today's load, the one that is missed by most; what cannot be measured
    in times of a limit is worse than anything that can."""

    def times(violation: AnalysisViolation) -> float:
        measured, limit = violation.measured, violation.limit
        return float(measured) / float(limit) if measured is not None and limit else math.inf

    return max((v for v in scheme.violations if not v.assumed_growth), key=times, default=None)


# -- why --------------------------------------------------------------------------------------------------------------


def _why_change(table: AnalysisTable, current: AnalysisFullScheme, best: AnalysisFullScheme, only_rows: bool) -> str:
    waste = _waste(current, best)
    if only_rows and waste:
        return waste
    broken = [v for v in current.violations if not v.assumed_growth]
    lost_keys = next((v.message for v in broken if v.code == "not-unique"), "")
    if lost_keys:
        return f"{lost_keys.partition(' have ')[0]} share a current key: one overwrites the other."
    hot = current.hot_partition
    over = next((v.measured / v.limit for v in broken if v.code == "hot-partition" and v.measured and v.limit), None)
    if hot is not None and over is not None:
        times = ratio(over)
        one = f"Partition '{brief(hot.partition_key)}' takes {times} its target; Azure cannot split one partition."
        return waste or one
    if broken:
        return f"Current keys: {head_of(broken[0].message)}."
    first = first_break(current)
    if current.violations and first is not None:
        outlook, growth = table.forecast, ", less than the growth to plan for"
        if outlook is not None:
            times, assumed = ratio(outlook.horizon_factor), outlook.basis == "assumed"
            growth = (
                f"; no growth is declared, {times} is assumed" if assumed else f", {times} growth is {outlook.basis}"
            )
        when = first.when.removesuffix(" today's load")
        return f"Current keys break {when}{growth}{': ' if waste else '.'}{waste}"
    if waste:
        return waste
    return f"The current keys lose by {lost(current.loses)}." if current.loses else ""


def _waste(current: AnalysisFullScheme, best: AnalysisFullScheme) -> str:
    """The query of the current keys that reads most rows in vain and reads at most half of them after the change."""
    after = {c.name: c for c in best.classes}
    wasteful = [
        c
        for c in queries_of(current)
        if c.name in after
        and c.entities_read > WASTE * max(1.0, c.entities_returned)
        and after[c.name].entities_read <= c.entities_read / WASTE
    ]
    worst = max(wasteful, key=lambda c: c.rate_per_s * c.entities_read, default=None)
    if worst is None:
        return ""
    return f"'{brief(worst.name)}' {query_reads(worst)}."


def _why_this(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    queries = queries_of(best)
    straight = [c for c in queries if reads_only_what_it_returns(c)]
    which = "Every query reads" if len(straight) == len(queries) else f"{len(straight)} of {len(queries)} queries read"
    said = [f"{which} only the rows that it returns" if which.startswith("Every") else f"{which} only what they return"]
    rival = next(iter(table.alternatives), None)
    if rival is not None and rival.loses and lost(rival.loses) != SAME_LENGTH:
        said.append(f"the next best keys lose by {lost(rival.loses)}")
    if not queries:
        said = said[1:] or ["no other key was better"]
    return sentence_of("; ".join(said))


# -- caveats ----------------------------------------------------------------------------------------------------------


def _late(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """The class that misses its declared latency goal by most."""
    declared = {q.name for q in table.workload if q.latency_goal_ms_p99 is not None}
    goals = [(c, c.latency_goal_ms_p99) for c in best.classes if c.name in declared and c.latency_goal_ms_p99]
    late = [(c, goal) for c, goal in goals if c.latency_ms_p99 > goal]
    worst, goal = max(late, key=lambda pair: pair[0].latency_ms_p99 / pair[1], default=(None, 0))
    if worst is None:
        return ""
    p99 = milliseconds(worst.latency_ms_p99)
    return f"'{brief(worst.name)}' misses its latency goal: p99 {p99}, goal {milliseconds(goal)}."


def _moves(best: AnalysisFullScheme) -> str:
    """The class of updates that brings most entities into other partitions."""
    moving = [c for c in best.classes if any(note.startswith(MOVES) for note in c.notes)]
    busiest = max(moving, key=lambda c: float(c.rate_per_s), default=None)
    return "" if busiest is None else f"'{brief(busiest.name)}' moves entities between partitions, in no transaction."


def _stale(best: AnalysisFullScheme) -> str:
    """Whom it concerns that an index row is written after its entity."""
    late = {
        f"index row {number}"
        for number, row in enumerate(best.index_rows, 1)
        if row.consistency == "eventual"
    }  # fmt: skip
    readers = [c for c in best.classes if c.operation == "query" and c.via in late]
    busiest = max(readers, key=lambda c: float(c.rate_per_s), default=None)
    rows = "Its index row comes later" if len(late) == 1 else "Index rows come later"
    who = "readers" if busiest is None else f"'{brief(busiest.name)}'"
    return f"can {who} do without the newest rows? {rows}."


def _identity(row: AnalysisIndexRow) -> tuple[str, str]:
    return row.partition_key, row.row_key


# -- words ------------------------------------------------------------------------------------------------------------


def head_of(message: str) -> str:
    """A message up to its first semicolon."""
    return message.partition("; ")[0].rstrip(".")


def sentence_of(text: str) -> str:
    """Text as a sentence: a capital first, where a word begins it, and a full stop."""
    text = text.strip()
    if not text:
        return ""
    return (text[0].upper() + text[1:] if text.split(" ")[0].isalpha() else text) + ("" if text[-1] in ".!?" else ".")

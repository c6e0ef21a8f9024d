"""The sentence on what would change the advice."""

from __future__ import annotations

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.documents.analysis_table import AnalysisFlip, AnalysisTable
from pkadvisor.numbers import plural, rate
from pkadvisor.report.summary.sentences import brief

SHORT = 24
"""Characters of keys that one line spells out."""
ONE_LINE = 66
"""Characters of a sentence on one line of 80 columns, beside its label: what follows from a rate is never cut off."""
QUOTES = "''"
"""An empty key."""


def changes_if(table: AnalysisTable, *, in_short: bool = False) -> str:
    """What would change the advice, by the rates that were tried; empty where none were.

    ``in_short``: on one line, with the rank of long keys, which 'advisor explain' takes, in place of the keys.
    """
    flip = table.flip
    if flip is None or table.why_not or table.ranking_says == "unsatisfied":
        return ""
    if flip.query is not None and flip.rate_per_s is not None:
        before = next((q.rate_per_s for q in table.workload if q.name == flip.query), None)
        name, then = f"'{brief(flip.query)}'", _instead(flip, table.recommended, in_short)
        if before is None:
            return f"{name} comes at {rate(flip.rate_per_s)}: then {then}."
        turns = "rises" if flip.rate_per_s > before else "falls"
        after = rate(flip.rate_per_s, like=before)
        whole = f"{name} {turns} from {rate(before)} to {after}: then {then}."
        return whole if len(whole) <= ONE_LINE or not in_short else f"{name} {turns} to {after}: {then}."
    if flip.turn == "dominated":
        return "you add queries; no rates of these change it."
    if flip.turn == "ahead":
        keys = "the next best keys" if flip.rank == 2 else f"the keys of rank {flip.rank}"
        return f"the tolerances of the ranking change. Compared alone, {keys} rank first."
    return "you add queries; no rate of one, 0.001x to 1,000x, does."


def _instead(flip: AnalysisFlip, best: AnalysisFullScheme | None, in_short: bool) -> str:
    """What is better after a flip: index rows where only they differ, else the first key that differs, and its rank."""
    keys = flip.keys
    if keys is None or best is None:
        return f"scheme:{flip.rank} is better"
    rows, more = len(keys.index_rows), len(keys.index_rows) - len(best.index_rows)
    if more and (keys.partition_key, keys.row_key) == (best.partition_key, best.row_key):
        if not rows:
            return "no index row is needed"
        return f"{plural(more, 'more index row')} would help" if more > 0 else f"{plural(rows, 'index row')} will do"
    both = f"{keys.partition_key or QUOTES} | {keys.row_key or QUOTES}"
    if not rows and len(both) <= SHORT:
        return f"{both} is better"
    if in_short:
        return f"scheme:{flip.rank} is better"
    for name, key, other in (
        ("PartitionKey", keys.partition_key, best.partition_key),
        ("RowKey", keys.row_key, best.row_key),
    ):
        if key != other:
            return f"{name} {key or QUOTES} is better (scheme:{flip.rank})"
    return f"other index rows are better (scheme:{flip.rank})"

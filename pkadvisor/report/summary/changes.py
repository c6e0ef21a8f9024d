"""What would change the advice, and a sentence in shorter forms."""

from __future__ import annotations

import re
import shlex

from pkadvisor.documents.analysis_table import AnalysisFlip, AnalysisTable
from pkadvisor.numbers import rate
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.summary.counters import rate_beyond_every_key
from pkadvisor.report.summary.figures import brief

NO_RATE = "you add queries. No rate of one query, 0.001x to 1,000x, would."
NOT_WORTH_REWRITING = ("storage", "simplicity")
"""Goals that are no reason to rewrite every row: keys that are ahead by these alone differ in some bytes."""


def changes_if(table: AnalysisTable, inputs: str) -> tuple[str, ...]:
    """What would change the advice, by the rates that were tried, the fullest text first; empty where none were tried.

    ``inputs``: the files and options of the command, with which ``explain`` has the keys that are too long for a line.
    """
    flip = table.flip
    if flip is None or table.why_not or table.ranking_says == "unsatisfied":
        return ()
    if table.ranking_says == "keep" and flip.goal in NOT_WORTH_REWRITING:
        return (NO_RATE,)
    if flip.query is not None and flip.rate_per_s is not None:
        before = next((q.rate_per_s for q in table.workload if q.name == flip.query), None)
        beyond = None if before is None else rate_beyond_every_key(flip, table, before)
        name, after = f"'{brief(flip.query)}'", rate(beyond or flip.rate_per_s, like=before)
        turns = [f"{name} comes at {after}"]
        if before is not None:
            turn = f"{name} {'rises' if flip.rate_per_s > before else 'falls'}"
            turns = [f"{turn} from {rate(before)} to {after}", f"{turn} to {after}"]
        ways = ["then no key holds"] if beyond is not None else _instead(flip, table, inputs)
        return tuple(f"{turn}: {then}." for then in ways for turn in turns)
    if flip.turn == "dominated":
        return ("you add queries. No rate of today's queries would change it.",)
    if flip.turn == "ahead":
        keys = "the next best keys" if flip.rank == 2 else f"the keys of rank {flip.rank}"
        return (f"the tolerances of the ranking change. Compared alone, {keys} rank first.",)
    return (NO_RATE,)


def _instead(flip: AnalysisFlip, table: AnalysisTable, inputs: str) -> list[str]:
    """What is better after a flip, the fullest text first: the keys, or index rows where only they differ; where they
    are long, the command that shows them. A search at that rate may find a better one still."""
    keys, best = flip.keys, table.recommended
    number = f"scheme:{table.kind}:{flip.rank}" if table.kind else f"scheme:{flip.rank}"
    command = f"see advisor explain {shlex.quote(number)} {inputs}".rstrip() if flip.rank is not None else ""
    if keys is None:
        return [command or "other keys are better"]
    rows = [_pair(row.partition_key, row.row_key) for row in keys.index_rows]
    if best is not None and (keys.partition_key, keys.row_key) == (best.partition_key, best.row_key):
        had = [_pair(row.partition_key, row.row_key) for row in best.index_rows]
        more = [row for row in rows if row not in had]
        if more and len(more) == len(rows) - len(had):
            what = f"an index row {more[0]}" if not more[1:] else f"index rows {' and '.join(more)}"
            ways = [f"then {what} would help"]
        else:
            ways = ["then no index row is needed" if not rows else f"then the index rows are {' and '.join(rows)}"]
    else:
        bare = " with no index row" if best is not None and best.index_rows and not rows else ""
        ways = [f"then {' + '.join([_pair(keys.partition_key, keys.row_key), *rows])}{bare} is better"]
    return [*ways, command] if command and rows + ways != ["then no index row is needed"] else ways


def _pair(partition_key: str, row_key: str) -> str:
    return f"{quoted(partition_key)} | {quoted(row_key)}"


# -- shorter forms of a sentence -------------------------------------------------------------------------------------


_APOSTROPHE = re.compile(r"(?<=\w)'(?=s\b)")
_END = re.compile(r"[.;?] ")


def heads(text: str) -> list[str]:
    """A text up to the end of each of its sentences and clauses but the last, longest first: what can stand where the
    whole is too long. Nothing ends within a quoted name, a template or a bracket that stays open."""
    out = []
    for end in _END.finditer(text):
        head = text[: end.start()]
        bracket = ")" if head.count("(") > head.count(")") else ""
        if _APOSTROPHE.sub("", head).count("'") % 2 == 0 and head.count("{") == head.count("}"):
            out.append(head + bracket + ("?" if end[0] == "? " else "."))
    return out[::-1]

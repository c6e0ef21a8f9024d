"""What sections read of schemes: keys, terms, grounds; and the section of the schemes that were ranked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisScheme, AnalysisTerm
from pkadvisor.documents.analysis_table import AnalysisSearch, AnalysisTable
from pkadvisor.documents.score import ScoreDocument
from pkadvisor.numbers import amount, percent, plural
from pkadvisor.report.charts.stacked_bar import Bar, StackedBars, draw
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.stress_words import scheme_target
from pkadvisor.report.summary.figures import BREAKS, PRICE, ROWS, figures_of, lost, read_per_returned
from pkadvisor.report.summary.scans import SCANS, reads_only_what_it_returns
from pkadvisor.report.summary.sentences import SHARED, SHARED_KEYS, UNIQUE_IN_SAMPLE
from pkadvisor.report.summary.summary import TARGET, summarize, summarize_table
from pkadvisor.report.summary.verdicts import CHANGE_QUERY, table_title

PARTS_MOST = 10


def term_of(scheme: AnalysisScheme, name: str) -> AnalysisTerm | None:
    """A term of a scheme's cost; None where it has no such term."""
    return next((term for term in scheme.terms if term.name == name), None)


def keys_of(scheme: AnalysisScheme) -> dict[str, Any]:
    """The templates of a scheme, index rows below."""
    return {
        "partition_key": quoted(scheme.partition_key),
        "row_key": quoted(scheme.row_key),
        "index_rows": [
            {
                "partition_key": quoted(row.partition_key),
                "row_key": quoted(row.row_key),
                "copy": "full copy" if row.copy == "full" else "pointer",
                "when": "same partition, same group transaction"
                if row.consistency == "atomic"
                else "another partition, written after",
            }
            for row in scheme.index_rows
        ],
    }


def grounds_of(grounds: Sequence[AnalysisGround]) -> list[dict[str, Any]]:
    """Each thing that a verdict or figures rest on: a mark, what it is, what was measured, and what to give next; none
    of a document that tells of none."""
    return [
        {
            "word": "enough" if ground.carries else "is not enough",
            "mood": "good" if ground.carries else "bad",
            "name": ground.name,
            "title": ground.title,
            "sentence": ground.sentence,
            "next": ground.next or "",
        }
        for ground in grounds
    ]


# -- candidates --------------------------------------------------------------------------------------------------------


def candidates(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The schemes that were ranked, the current one, and the parts of their scores."""
    if not table.recommended:
        return Missing("No scheme was ranked: give a data set and a log, or a design with its queries.")
    ranked: list[tuple[str, AnalysisScheme]] = [("1", table.recommended)]
    ranked += [(str(a.rank), a) for a in table.alternatives]
    if table.current and table.ranking_says != "keep":
        ranked.append(("current", table.current))
    return ranking_of(
        ranked, "The schemes that were ranked, best first. Each is behind the first by the goal that is named."
    )


def ranking_of(ranked: Sequence[tuple[str, AnalysisScheme]], intro: str) -> Context:
    """Schemes by label in one table, with the parts of their scores; the first has the queries that all have."""
    first = ranked[0][1]
    names = [entry.name for entry in first.classes]
    scored = [(label, scheme) for label, scheme in ranked if scheme.score > 0]
    return {
        "intro": intro,
        "ranked": [
            (label, scheme, keys_of(scheme), {entry.name: entry for entry in scheme.classes})
            for label, scheme in ranked
        ],
        "classes": names,
        "bars": _bars(first, names, scored),
        "term_of": term_of,
        "lost": lost,
    }


def _bars(best: AnalysisScheme, names: list[str], ranked: Sequence[tuple[str, AnalysisScheme]]) -> Markup | None:
    """The same points as bars, where there are few enough to be told apart."""
    parts = {entry.name: entry.score_points for entry in best.classes}
    shown = [name for name in names if parts[name] is not None]
    if not ranked or not 1 < len(shown) <= PARTS_MOST:
        return None
    bars = []
    for label, scheme in ranked:
        points = {entry.name: entry.score_points for entry in scheme.classes}
        bars.append(Bar(label, tuple(points.get(name) or 0 for name in shown), scheme.score))
    first, last = bars[0], bars[-1]
    alt = f"Scheme {first.label} scores {first.total:.1f} points"
    alt += f", scheme {last.label} {last.total:.1f}" if last is not first else ""
    return draw(StackedBars(alt=alt, parts=tuple(shown), bars=tuple(bars), unit="points"))


# -- Sections on queries and writes: what each costs now and then.


SAME = 0.01
"""Less than this share is no difference."""
LEVELS = (
    ("requests", "more requests", "fewer requests"),
    ("entities_read", "reads more", "reads less"),
    ("latency_ms_p99", "slower", "faster"),
)
"""By what a query gets better or worse: the member, and what is said where it grew or fell."""


def queries(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """Each query and write, before and after; what gets worse first. Where no scheme could be priced, the queries
    without any plan."""
    best, current = table.recommended, table.current
    before = current if current and table.ranking_says != "keep" else None
    rows = rows_of(best, before) if best else []
    asked = [] if best else table.workload or []
    if not rows and not asked:
        return Missing("No query or write is known: give a log, or declare queries in a design file.")
    order = {"worse": 0, "mixed": 1, "same": 2, "": 2, "better": 3}
    rows.sort(key=lambda row: (order[row.word], -row.after.rate_per_s))
    words = [row.word for row in rows]
    worse = words.count("worse") + words.count("mixed")
    return {"rows": rows, "asked": asked, "compared": bool(before), "worse": worse}


class QueryRow(NamedTuple):
    """A query or write under the keys of a section, and under the keys before, with what got better or worse."""

    after: AnalysisClassCost
    before: AnalysisClassCost | None
    word: str
    by: list[str]

    @property
    def mood(self) -> str:
        return {"worse": "bad", "mixed": "warn", "better": "good"}.get(self.word, "")


def rows_of(scheme: AnalysisScheme, before: AnalysisScheme | None = None) -> list[QueryRow]:
    """The queries and writes of a scheme beside those of an older one."""
    old = {entry.name: entry for entry in before.classes} if before else {}
    return [QueryRow(entry, old.get(entry.name), *_judged(entry, old.get(entry.name))) for entry in scheme.classes]


def _judged(entry: AnalysisClassCost, old: AnalysisClassCost | None) -> tuple[str, list[str]]:
    """better, worse, mixed or same, and by what it is worse (or better)."""
    if old is None:
        return "", []
    worse: list[str] = []
    better: list[str] = []
    for member, more, fewer in LEVELS:
        now, before = getattr(entry, member), getattr(old, member)
        if abs(now - before) > SAME * max(abs(now), abs(before)):
            (worse if now > before else better).append(more if now > before else fewer)
    if worse:
        return ("mixed" if better else "worse"), worse
    return ("better" if better else "same"), better


# -- The access patterns of an analysis as a matrix: how each query finds its rows under each design.


WASTE = 10.0
"""From so many rows read for each that is returned on, a cell is bad."""


def access(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context | None:
    """Queries and writes down, designs across; the query that reads most rows first. None where no keys were tried."""
    columns = _columns(table)
    if not columns:
        return None
    classes = [{entry.name: entry for entry in scheme.classes} for _, scheme in columns]
    firsts = {name: entry for column in reversed(classes) for name, entry in column.items()}
    names = sorted(firsts, key=lambda name: _order(firsts[name]))
    target = next((float(limit.value) for limit in document.limits.values if limit.name == TARGET), 1.0)
    figures = [figures_of(scheme, target) for _, scheme in columns]
    return {
        "columns": [(label, keys_of(scheme)) for label, scheme in columns],
        "rows": [[column.get(name) for column in classes] for name in names],
        "figures": [(row.label, [row.show(each) for each in figures]) for row in (PRICE, BREAKS)],
        "found": _found,
    }


def _columns(table: AnalysisTable) -> list[tuple[str, AnalysisScheme]]:
    """The designs that are compared: the current one, the recommended one, the next best."""
    best, current = table.recommended, table.current
    if not best:
        return []
    if table.ranking_says == "keep":
        schemes = [("Current", best)]
    else:
        label = "Recommended" if table.verdict in ("change", "choose") else "Best found"
        schemes = [*([("Current", current)] if current else []), (label, best)]
    rivals = list(table.alternatives)
    return [*schemes, *([("Next best", rivals[0])] if rivals else [])]


def _order(entry: AnalysisClassCost) -> tuple[bool, float]:
    """Queries first, those that read most at the head; then writes, the most frequent first."""
    query = entry.operation == "query"
    return not query, -entry.rate_per_s * (entry.entities_read if query else 1.0)


def _found(entry: AnalysisClassCost) -> tuple[str, str, str | None]:
    """How a query finds its rows: the access, its mood, and how many rows it reads for each that it returns; a write
    that reads none is as good as its key."""
    if entry.operation != "query" and not entry.entities_read:
        return entry.access or "by its key", "good", None
    access, times = entry.access or "point", read_per_returned(entry)
    return access, _mood(entry, access, times), None if times is None else amount(times)


def _mood(entry: AnalysisClassCost, access: str, times: float | None) -> str:
    if times is None or times > WASTE:
        return "bad"
    if access in SCANS or not reads_only_what_it_returns(entry):
        return "warn"
    return "good"


# -- The first screen of an analysis: the verdict, how sure it is and why, the keys, and what changes with them.


SURENESS = {"high": "good", "low": "warn", "unknown": "warn"}
"""How sure a verdict is, and how that is to be taken."""
KEYS_ARE = {"keep": "Current keys", CHANGE_QUERY: "Current keys", "unsatisfied": "Best keys found"}
"""What the keys of a verdict are called where they are not recommended."""


def verdict(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The verdict on a table as the terminal has it, with the grounds that it rests on."""
    summary = summarize_table(document, table)
    best, current = table.recommended, table.current
    unknown = table.cannot_be_known
    # Two entities under one key would be lost writes: that question belongs beside the keys, not at the end.
    sampled = [text for text in unknown if text.startswith(UNIQUE_IN_SAMPLE)]
    first = sampled or [text for text in unknown if text.startswith(SHARED_KEYS)]
    cautions = [pair for pair in summary.cautions if not (first and pair[1].startswith(SHARED))]
    return {
        "word": summary.headline,
        "mood": summary.style,
        "why": summary.why[:1].upper() + summary.why[1:],
        "throttled": summary.throttled,
        "changes_if": summary.changes_if,
        "confidence": _confidence(summary.confidence),
        "grounds": grounds_of(table.grounds),
        "keys": keys_of(best) if best and summary.keys is not None else None,
        "keys_are": KEYS_ARE.get(summary.verdict, "Recommended keys"),
        "was": keys_of(current) if current and summary.keys is not None and table.verdict != "keep" else None,
        "key_names": next(iter(summary.key_names), ""),
        "hot_keys": [(percent(key.share), key.of, quoted(key.partition_key)) for key in summary.hot_keys],
        "designs": summary.designs,
        "rows": ROWS,
        "breaks": BREAKS,
        "caveats": [*cautions, *(("Caveat", w) for w in (table.warnings or [])[1:])],
        "ask_first": first if best else [],
        "unknown": plural(len(unknown), "thing") if unknown else "",
        "give": summary.give[:1].upper() + summary.give[1:],
        "next_command": "" if summary.give else summary.next_command,
    }


def _confidence(text: str) -> tuple[str, str, str]:
    """The word for how sure it is, its mood, and the rest of the sentence."""
    word, _, rest = text.partition(" ")
    return word, SURENESS.get(word.strip(".,"), ""), rest


def overview(document: AnalysisDocument, places: Places) -> Context | None:
    """The verdict on each of several tables, the most urgent first, and what they break together."""
    if len(document.tables) < 2:
        return None
    summary = summarize(document)
    numbers = {table_title(t): n for n, t in enumerate(document.tables, 1)}
    return {
        "tables": [(t.headline, t.style, t.title, f"table-{numbers[t.title]}") for t in summary.tables],
        "together": summary.together,
    }


# -- Sections on how it is known: inputs, assumptions, limits, and how to run it again.


def method(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """What was read, what is assumed, and every term of the cost with its source."""
    return {"gap": _gap(table.search)}


def _gap(search: AnalysisSearch | None) -> str:
    if not search:
        return ""
    if search.gap is None:
        return "a limit of the search was hit, and how far the best sets of index rows are is not known"
    return "" if search.gap == 0 else "a limit of the search was hit; the result tells the gap"


def account(document: AnalysisDocument, places: Places) -> Context | None:
    """What the log says of the whole account."""
    return {"log": document.log, "facts": FACTS} if document.log else None


FACTS = {
    "lines": "lines",
    "requests_attempted": "requests",
    "duplicates": "lines written twice",
    "throttled": "throttled requests",
    "retries": "retries",
    "pages": "further pages",
    "missing_hours": "hours missing",
}
"""What a log counts, in words."""


def together(document: AnalysisDocument, places: Places) -> Context | None:
    """The kinds of one table in one arrangement: their group transactions and shared partitions."""
    return {"tables": document.arrangements} if document.arrangements else None


def all_tables(document: AnalysisDocument | ScoreDocument, places: Places) -> Context | None:
    """The account's targets against the sum of all tables and kinds."""
    return {"account": document.account} if document.account else None


def limits(document: AnalysisDocument, places: Places) -> Context:
    """Every limit and price that was used, with its date and source: the template reads the document."""
    return {}


def reproduce(document: AnalysisDocument, places: Places) -> Context:
    """The exact command, the files it was run on, and what to do next with the result."""
    ranked = [(table.table, table.kind) for table in document.tables if table.recommended is not None]
    target = scheme_target(1, ranked) if ranked else ""
    return {"settings": document.settings, "files": document.inputs.files, "target": target}


def scheme(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The templates with example keys, the exact requests, and what the design gives up."""
    best = table.recommended
    if not best:
        return Missing("There is no scheme to show: see the verdict for what is missing.")
    return {"best": best, "keys": keys_of(best)}

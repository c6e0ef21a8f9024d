"""How two designs differ, as text: the verdict, a few figures and what to do next; the rest where it is asked for."""

from __future__ import annotations

from operator import itemgetter

from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.comparison import (
    ComparisonClassFigures,
    ComparisonDocument,
    ComparisonMeasure,
    ComparisonTable,
    ComparisonWorkload,
)
from pkadvisor.numbers import amount, milliseconds, percent, rate
from pkadvisor.report.summary.figures import BREAKS, CAUSES, breaks_at
from pkadvisor.report.summary.sentences import sentence_of
from pkadvisor.report.summary.verdicts import table_title
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.scheme_page import difference, write_grounds
from pkadvisor.report.text.score_page import RESTS_ON
from pkadvisor.report.text.verdict_page import next_lines, sentence_lines

OTHERWISE = 6
"""Queries and writes that two designs declare otherwise, of which the page tells."""
LEVEL = 0.01
"""Up to this relative difference two scores, or two costs, are called the same."""
FIGURES = (
    ("hottest partition, peak", "hottest partition at peak"),
    ("throttled at peak", "throttled at peak"),
    ("requests/s", "requests"),
    ("cost a month with storage", "price"),
    (BREAKS.label, "smallest break factor"),
    ("score of 100", "score"),
)
"""What the first screen shows of both designs, and the measure of the document that holds it."""


def render_comparison(
    document: ComparisonDocument, *, width: int, color: bool, ascii_only: bool, details: bool = False, inputs: str = ""
) -> str:
    """Two designs side by side; a pure function of its arguments.

    ``details``: every measure, query and write that differs, too. ``inputs``: the command to run next, where there is
    one.
    """
    page = Page(max(24, width), color, ascii_only)
    for table in document.tables:
        _first_screen(page, table)
    page.line(f"{document.old} → {document.new}", "head")
    if document.workload is not None:
        _workload(page, document, document.workload)
    if details:
        page.line()
        for table in document.tables:
            _changes(page, table)
    if document.same:
        page.line(_same(document))
    elif inputs:
        page.lines += next_lines(page, inputs)
    return "\n".join(page.lines).rstrip("\n") + "\n"


def comparison_verdict(table: ComparisonTable) -> tuple[str, str]:
    """The headline of a table, and how it is to be taken: good, bad or warn. Broken constraints decide, then scores,
    then costs."""
    if table.old is None or table.new is None:
        return f"ONLY IN THE {'NEW' if table.old is None else 'OLD'} FILE", "warn"
    added, gone = table.violations.added, table.violations.gone
    if bool(added) != bool(gone):
        return ("THE NEW KEYS ARE WORSE", "bad") if added else ("THE NEW KEYS ARE BETTER", "good")
    measures = {measure.name: measure for measure in table.measures}
    for name, better, worse in (("score", "BETTER", "WORSE"), ("price", "CHEAPER", "DEARER")):
        measure = measures.get(name)
        if measure is None or measure.old is None or measure.new is None:
            continue
        old, new = measure.old, measure.new
        if abs(new - old) > LEVEL * max(abs(old), abs(new)):
            word, style = (worse, "bad") if measure.worse else (better, "good")
            return f"THE NEW KEYS ARE {word}", style
    changed = table.classes or any(m.old != m.new for m in table.measures)
    return ("THE NEW KEYS ARE ABOUT AS GOOD", "warn") if changed else ("NO DIFFERENCE", "good")


def comparison_sentences(table: ComparisonTable) -> list[tuple[str, str]]:
    """What is said of a compared table below its figures, each sentence with its label."""
    if table.old is None or table.new is None:
        return []
    moved = [
        (max(old.rate_per_s * old.entities, new.rate_per_s * new.entities), entry, _touched(old), _touched(new))
        for entry in table.classes
        if (old := entry.old) and (new := entry.new) and (old.entities, old.requests) != (new.entities, new.requests)
    ]
    out = []
    for label, worse in (("Worse", True), ("Better", False)):
        entries = [each for each in moved if each[1].worse is worse]
        if entries:
            _, heaviest, before, after = max(entries, key=itemgetter(0))
            more = f"; {len(entries) - 1} more" if entries[1:] else ""
            out.append((label, f"'{heaviest.name}' touches {after}, before {before}{more}."))
    label, violations = "Broken now", table.violations.added
    if not violations:
        label, violations = "No longer broken", table.violations.gone
    if violations:
        more = f"; {len(violations) - 1} more" if violations[1:] else ""
        out.append((label, f"{violations[0].partition('; ')[0]}{more}."))
    weak = next((ground for ground in grounds_of(table) if not ground.carries), None)
    if weak is not None:
        out.append(("Caveat", sentence_of(weak.sentence)))
    return out


def _first_screen(page: Page, table: ComparisonTable) -> None:
    """One table: the verdict, both keys, the figures and the sentences."""
    headline, style = comparison_verdict(table)
    page.line(f"{headline}   {table_title(table)}", style)
    if table.old is not None and table.old == table.new:
        page.record("keys", table.old, 5)
    else:
        page.record("old", table.old or "not in this file", 5)
        page.record("new", table.new or "not in this file", 5)
    for label, old, new in comparison_figures(table):
        page.record(label, f"{old:<22}  {new}".rstrip(), 27)
    for label, text in comparison_sentences(table):
        page.lines += sentence_lines(page, f"{label}:", text)
    page.line()


def comparison_figures(table: ComparisonTable) -> list[tuple[str, str, str]]:
    """The heads, then of each figure its name and both values; empty where one side has no keys, or nothing differs."""
    measures = {measure.name: measure for measure in table.measures}
    if table.old is None or table.new is None or not any(m.old != m.new for m in table.measures):
        return []
    rows = [("", "old", "new")]
    for label, name in FIGURES:
        if name in measures:
            measure, causes = measures[name], table.first_break_cause
            rows.append((label, _shown(measure, measure.old, causes.old), _shown(measure, measure.new, causes.new)))
    return rows


def _shown(measure: ComparisonMeasure, value: float | None, cause: str | None) -> str:
    """A measure of one side, of which the cause is the limit that it reaches first."""
    name = measure.name
    if name == "smallest break factor":
        return breaks_at(value).partition(" (")[0] + (f": {CAUSES.get(cause, cause)}" if cause else "")
    if value is None:
        return "unknown"
    if name == "price":
        return f"{amount(value)} {measure.unit.removesuffix('/month')}"
    if name == "hottest partition at peak":
        return f"{amount(value)} {measure.unit}"
    return percent(value) if measure.unit.startswith("share") else amount(value)


def _workload(page: Page, document: ComparisonDocument, workload: ComparisonWorkload) -> None:
    """What both designs are priced on, and where they declare something else."""
    of = {"log": "the log", "old": document.old, "new": document.new}[workload.of]
    page.wrapped(f"Both are priced on the workload of {of}.")
    if not workload.differs:
        return
    page.wrapped(
        "The two designs declare different workloads (old against new); only the keys are compared:", "  ", "  ", "warn"
    )
    for entry in workload.differs[:OTHERWISE]:
        old, new = ("none" if per_s is None else rate(per_s) for per_s in (entry.old_per_s, entry.new_per_s))
        text = f"{old} against {new}" if old != new else f"{new} in both, with other declarations"
        page.wrapped(f"{entry.name}: {text}", "  - ", "    ")
    if len(workload.differs) > OTHERWISE:
        page.wrapped(f"and {len(workload.differs) - OTHERWISE} more", "  - ")


def _same(document: ComparisonDocument) -> str:
    workload = document.workload
    return "the keys do not differ" if workload is not None and workload.differs else "no difference"


def _changes(page: Page, table: ComparisonTable) -> None:
    page.line(table_title(table), "head")
    if table.old is None or table.new is None:
        page.line()
        return
    write_grounds(page, grounds_of(table), RESTS_ON, asking=True)
    changed = [m for m in table.measures if m.old != m.new]
    if changed:
        page.record("", f"{'old':>12}  {'new':>12}", 28, "")
    for measure in changed:
        old, new = measure.old, measure.new
        values = f"{amount(old):>12}  {amount(new):>12}  {measure.unit}"
        more = f", {difference(old, new)}" if old and new else ""
        page.record(("- " if measure.worse else "  ") + measure.name, f"{values}{more}", 28, "")
    for entry in table.classes:
        page.line(f"  {entry.name}{'  worse' if entry.worse else ''}", "warn" if entry.worse else "")
        page.record("old", _served(entry.old), 4, "    ")
        page.record("new", _served(entry.new), 4, "    ")
    for message in table.violations.gone:
        page.wrapped(f"no longer broken: {message}", "  - ", "    ", "good")
    for message in table.violations.added:
        page.wrapped(f"broken now: {message}", "  - ", "    ", "bad")
    if any(measure.worse for measure in changed):
        page.wrapped("- got worse")
    if not changed and not table.classes:
        page.wrapped("every figure is the same, for every query and write")
    page.line()


def grounds_of(table: ComparisonTable) -> list[AnalysisGround]:
    """What the figures of a compared table rest on: of each ground the side that carries them less, else the new."""
    sides = table.grounds
    weak = {g.name for g in sides.old if not g.carries} - {g.name for g in sides.new if not g.carries}
    return [*(g for g in sides.new if g.name not in weak), *(g for g in sides.old if g.name in weak)]


def _served(served: ComparisonClassFigures | None) -> str:
    if served is None:
        return "not in its workload"
    via = "" if served.via == "main" else f" via {served.via}"
    late = f", p99 {milliseconds(served.latency_ms_p99)}" if served.latency_ms_p99 else ""
    access = served.access or "one entity by its key"
    return f"{access}{via}: {_touched(served)}, {rate(served.rate_per_s)}{late}"


def _touched(served: ComparisonClassFigures) -> str:
    """Entities that a query or write reads and writes, and the requests that it takes."""
    entities, requests = amount(served.entities), amount(served.requests)
    what = "entity" if entities == "1" else "entities"
    return f"{entities} {what} in {requests} request{'' if requests == '1' else 's'}"

"""A stress test as text: for each table the verdict and a few figures, then what to do; the rest below, where it is
asked for."""

from __future__ import annotations

from collections.abc import Callable

from pkadvisor.documents.stress import StressDesign, StressDocument, StressTable, StressVerdict
from pkadvisor.documents.stress_run import StressRun
from pkadvisor.numbers import amount, percent, plural, ratio
from pkadvisor.report import stress_words
from pkadvisor.report.text import stress_details
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.stress_measured import write_measured

COLUMN = 13
NAMES = 22
"""Columns of the names of figures."""
STYLES = {"bears": "good", "bursts": "warn", "untested": "warn", "fails": "bad"}


def render_stress(
    document: StressDocument,
    *,
    width: int,
    color: bool,
    ascii_only: bool,
    details: bool = False,
    inputs: str = "",
) -> str:
    """The page; a pure function of its arguments.

    ``details``: all that was run and measured, too. ``inputs``: the files and options of the command, for the command
    that the page proposes.
    """
    page = Page(max(24, width), color, ascii_only)
    _answer(page, document)
    for table in document.tables:
        _first_screen(page, document, table, details=details)
    if details:
        page.line()
        for table in document.tables:
            _details(page, document, table)
    page.lines.append(f"  next: {page.exact(stress_words.next_step(document, inputs))}")
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _first_screen(page: Page, document: StressDocument, table: StressTable, *, details: bool) -> None:
    """The figures of each design, what they come to, and the answers that options ask for."""
    several = len(document.tables) > 1
    if several:
        page.line(_name(table), "head")
    rows = dict(ROWS if details else FIRST_ROWS)
    expected = document.settings.load == "x1" and not document.settings.growth_months
    rows[stress_words.SERVED] = lambda _, design: _all_served(design, expected=expected)
    _side_by_side(page, table, tuple(rows.items()))
    _verdict(page, table.verdict, details=details)
    _goals(page, table)
    for design in table.designs:
        _asked_for(page, design)
        if design.measured:
            write_measured(page, design.label, design.measured)
    if steps := stress_words.deployment(table):
        page.wrapped(f"Deploy: {steps}.")
    if not details:
        page.wrapped(f"Simulated: {stress_details.simulated(document.settings, table)}.")
        if table is document.tables[-1]:
            page.wrapped(f"{stress_words.STATES[:1].upper()}{stress_words.STATES[1:]}.")
    if several and (details or table is not document.tables[-1]):
        page.line()


def _name(table: StressTable) -> str:
    """A table, or a kind of entities in it."""
    return table.table + (f" · {table.kind}" if table.kind else "")


def _details(page: Page, document: StressDocument, table: StressTable) -> None:
    stress_details.write_settings(page, document, table)
    stress_details.write_throttling(page, [(design.label, run) for design in table.designs for run in design.runs])
    for design in table.designs:
        stress_details.write_design(page, table, design)


def _asked_for(page: Page, design: StressDesign) -> None:
    """What ``--find-limit`` and ``--partition`` ask for."""
    limit, test = design.limit, design.partition_test
    if limit is not None:
        binds = f"; above it, {limit.binds} is the limit" if limit.binds else ""
        page.wrapped(
            f"{design.label}: the highest load that meets the goals is {ratio(limit.factor)} "
            f"({stress_details.asked(limit.requests_per_s)}){binds}",
            "  ", "    ",
        )  # fmt: skip
    if test is not None:
        page.wrapped(
            f"{design.label}, single partition {test.partition_key}: {amount(test.offered_entities_per_s)} "
            f"entities/s offered, {amount(test.accepted_entities_per_s)} accepted, target "
            f"{amount(test.target_entities_per_s)}; it {test.verdict}",
            "  ", "    ", "good" if test.passes else "bad",
        )  # fmt: skip


def _verdict(page: Page, verdict: StressVerdict, *, details: bool) -> None:
    """A sentence for each design in the colour of its own level, and what weighs as much: keys that serve less, and a
    model that was wrong. ``details``: all that there is to say."""
    first = len(verdict.designs) + bool(verdict.keep_current) + bool(verdict.failed_predictions)
    for number, sentence in enumerate(verdict.sentences if details else verdict.sentences[:first]):
        of_design = number < len(verdict.designs)
        style = STYLES[verdict.designs[number].level] if of_design else verdict.style
        page.wrapped(sentence, "  ", "    ", style)


def _answer(page: Page, document: StressDocument) -> None:
    """The first lines: what it comes to for each table, and whether it was run to its end."""
    lines = []
    for table in document.tables:
        label, verdict = table.designs[-1].label, table.verdict
        missed = [goal.name for goal in stress_words.missed_goals(table)]
        bears = "sustains the load" if verdict.bears else "does not sustain the load"
        share = stress_words.sampled_share(table)
        if share < 1:
            bears = bears.replace(
                "the load",
                f"the {percent(share)} of the load that was simulated (the rest goes to partitions not in the data)",
            )
        if verdict.level == "untested":
            bears = "no verdict, this run leaves out what decides"
        if document.settings.faults:
            bears += " under these faults"
        if verdict.level == "bursts":
            bears += ", with bursts throttled and retried"
        joined, goals_met = ("but", "meets") if verdict.bears else ("and", "though it meets")
        goals = f", {joined} misses {missed[0]}" if missed else f", {goals_met} every goal" if table.goals else ""
        if missed[1:]:
            goals += f" and {plural(len(missed) - 1, 'more goal')}"
        if verdict.failed_predictions and not (stress_words.keys_stay(table) and verdict.bears):
            goals += f"; but {plural(verdict.failed_predictions, 'prediction')} did not come true"
        if verdict.bears and not verdict.new_table_bears and not stress_words.keys_stay(table):
            bears += " once Azure has split the table"
            new = "move the queries in steps" if stress_words.table_stays(table) else "a new table does not sustain it"
            goals += f"; {new}"
        keep = "do not change the keys: " if verdict.keep_current else ""
        lines.append((f"{_name(table)}, {keep}{label}: {bears}{goals}", verdict.style))
    if not document.complete:
        text = "interrupted: the figures cover only the part that was run"
        if not document.tables:
            text = "interrupted before anything was run"
        if document.not_run:
            text += f"; not run: {'; '.join(document.not_run)}"
        page.wrapped(text, "", "  ", "warn")
    for text, style in lines:
        page.wrapped(text, "", "  ", style)
    page.line()


# -- side by side -----------------------------------------------------------------------------------------------------


Column = tuple[StressDesign, StressRun]
"""A design and one of its runs."""
Rows = tuple[tuple[str, Callable[[StressRun, StressDesign], str]], ...]
"""The name of each figure, and what shows it of a run and its design."""


def _all_served(design: StressDesign, *, expected: bool) -> str:
    """What the hottest partition is asked for, in times of the target that the runs have: as the analysis predicts
    (``expected``: it is the load that was analyzed), or of another load than that as the model does."""
    hot = design.scheme.hot_partition
    hottest = None if hot is None else hot.entities_per_s_peak or 0
    if not expected:
        hottest = next((each.predicted for each in design.prediction.load if each.name == "hottest partition"), None)
    target = next((run.hottest.target_entities_per_s for run in design.runs if run.hottest), None)
    return "unknown" if hottest is None or target is None else ratio(hottest / target)


CONFLICTS = "conflicts (412)"
ROWS: Rows = (
    ("offered requests/s", lambda run, _: amount(run.offered_requests_per_s)),
    ("served requests/s", lambda run, _: amount(run.served_requests_per_s)),
    ("throttled, simulated", lambda run, _: percent(run.throttled_share)),
    (CONFLICTS, lambda run, _: f"{run.conflicts:,}"),
    ("lost requests", lambda run, _: percent(run.lost_share)),
    ("p50 ms", lambda run, _: stress_details.milliseconds_of(run.latency_ms_p50)),
    ("p99 ms", lambda run, _: stress_details.milliseconds_of(run.latency_ms_p99)),
    ("p99.9 ms", lambda run, _: stress_details.milliseconds_of(run.latency_ms_p99_9)),
    (stress_words.SIMULATED, lambda run, _: ratio(run.hottest.times_target) if run.hottest else "unknown"),
    (stress_words.SERVED, lambda _, design: _all_served(design, expected=True)),
    ("splits / moves", lambda run, _: f"{_count(run, 'split')} / {_count(run, 'move')}"),
)


DETAILS_ONLY = ("offered requests/s", "p50 ms", "p99.9 ms", "splits / moves")
FIRST_ROWS = tuple(row for row in ROWS if row[0] not in DETAILS_ONLY)


def _count(run: StressRun, kind: str) -> int:
    return sum(1 for event in run.events if event.kind == kind)


def _side_by_side(page: Page, table: StressTable, rows: Rows) -> None:
    """A column for each design and state; where they do not fit, a table for each design, or a block for each."""
    columns = [(design, run) for design in table.designs for run in design.runs]
    if not any(run.conflicts for _, run in columns):
        rows = tuple(row for row in rows if row[0] != CONFLICTS)
    if _fits(page, columns):
        _columns(page, columns, rows)
    else:
        for design in table.designs:
            mine = [(design, run) for run in design.runs]
            if _fits(page, mine):
                _columns(page, mine, rows)
                continue
            for _, run in mine:
                page.line(f"  {design.label}, {run.state}", "head")
                for name, show in rows:
                    page.record(name, show(run, design), NAMES, "    ")
    page.line()


def _fits(page: Page, columns: list[Column]) -> bool:
    return 2 + NAMES + COLUMN * len(columns) <= page.width


def _columns(page: Page, columns: list[Column], rows: Rows) -> None:
    """Labels stand over all columns of their design."""
    heads, rest = "", columns
    while rest:
        label = rest[0][0].label
        count = sum(1 for other, _ in rest if other.label == label)
        heads += f"{label[: COLUMN * count - 2]:>{COLUMN}}".ljust(COLUMN * count)
        rest = rest[count:]
    page.line(f"  {'':<{NAMES}}{heads}".rstrip(), "head")
    page.line(f"  {'':<{NAMES}}" + "".join(f"{run.state[: COLUMN - 1]:>{COLUMN}}" for _, run in columns))
    for name, show in rows:
        page.line(f"  {name:<{NAMES}}" + "".join(f"{show(run, design):>{COLUMN}}" for design, run in columns))


def _goals(page: Page, table: StressTable) -> None:
    for goal in table.goals:
        marks = ", ".join(f"{m.label} {'met' if m.met else 'MISSED'}" for m in goal.designs)
        most = f"{amount(goal.most)} ms" if goal.unit == "ms" else percent(goal.most)
        of = f" of {goal.query}" if goal.query else ""
        page.wrapped(f"goal {goal.name}{of} ≤ {most}, warmed up: {marks}", "  ", "    ")

"""Why a scheme is where it is in the ranking, as text."""

from __future__ import annotations

import string

from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisIndexRow, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisFlip, AnalysisTable
from pkadvisor.documents.explanation import (
    ExplanationClassFigures,
    ExplanationScheme,
    ExplanationSchemeKeys,
    ExplanationTogether,
)
from pkadvisor.numbers import amount, breaks, milliseconds, percent, rate
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.escapes import fold
from pkadvisor.report.summary.figures import SAME_LENGTH, FirstBreak, first_break, goal_name, goal_unit, term
from pkadvisor.report.text.page import Page

PAD = 14
ENDLESS = "no limit is reached at any load"
"""What is said in place of a break factor where nothing that grows meets a limit."""
SHOWN = 6
"""Queries that are told one by one; the others cost nearly the same."""


def write_scheme(page: Page, document: ExplanationScheme) -> None:
    """The whole page of ``advisor explain scheme:…``."""
    scheme, other = document.scheme, document.other
    page.line(f"{document.label}   {document.table}" + (f" · {document.kind}" if document.kind else ""), "head")
    write_keys(page, scheme)
    page.line()
    if other is not None:
        page.record("loses to" if not document.wins else "ahead of", _named(other), PAD)
        page.record("because of", _decided(document), PAD)
        if document.wins and document.together is not None and document.decided_by is not None:
            page.record("chosen", f"for {_together(document.together)}", PAD)
    else:
        page.record("alone", "no other scheme was ranked", PAD)
    page.record("score", f"{amount(document.score)} of 100 (useful reads x room for growth)", PAD)
    page.record("holds", held(document), PAD)
    page.line()
    _goals(page, document)
    _queries(page, document)
    _terms(page, document)
    write_findings(page, document)
    _breaks(page, document)
    _turning(page, document)
    _sensitivity(page, document)


def held(document: ExplanationScheme) -> str:
    """Which constraints a scheme holds: growth that nobody declared breaks none today."""
    if document.feasible:
        return "every constraint"
    if all(violation.assumed_growth for violation in document.violations):
        return "every constraint today, and not all after the growth that is assumed"
    return "not every constraint"


def write_keys(page: Page, scheme: AnalysisFullScheme | ExplanationSchemeKeys) -> None:
    """The templates of a scheme, index rows below."""
    page.record("PartitionKey", quoted(scheme.partition_key), PAD)
    page.record("RowKey", quoted(scheme.row_key), PAD)
    for example in scheme.examples[:1]:
        page.record("example", f"{quoted(example.partition_key)}  /  {quoted(example.row_key)}", PAD)
    for row in scheme.index_rows:
        same = row.partition_key == scheme.partition_key
        where = quoted(row.row_key) if same else f"{quoted(row.partition_key)} | {quoted(row.row_key)}"
        when = "same group transaction" if row.consistency == "atomic" else "written after"
        page.record("+ index row", f"{where} ({row.copy}; {when})", PAD)


def _named(scheme: ExplanationSchemeKeys) -> str:
    rank = f" (scheme {scheme.rank})" if scheme.rank is not None else ""
    return f"{scheme.text}{rank}"


def _decided(document: ExplanationScheme) -> str:
    """The goal that decides, both values, and by how much."""
    decision = document.decided_by
    if decision is None:
        if document.verdict == "keep":
            return "it is the current key and good enough: a new key means that every entity must be rewritten"
        if document.together is not None:
            first, second = ("it", "the other") if document.wins else ("the other", "this one")
            return f"{first} was chosen for {_together(document.together)}; compared alone {second} is not worse"
        return "the tolerances against other schemes decide: compared alone, neither is better"
    loser, winner = decision.value, decision.winner
    if loser == winner and decision.goal == "simplicity":
        return SAME_LENGTH
    mine, theirs = (winner, loser) if document.wins else (loser, winner)
    text = f"{goal_name(decision.goal)}: {_value(mine)} against {_value(theirs)} ({goal_unit(decision.unit)})"
    if mine is not None and theirs is not None and min(mine, theirs) > 0:
        text += f", {difference(theirs, mine)}"
    return text


def _together(together: ExplanationTogether) -> str:
    text = f"its kinds together ({', '.join(together.kinds)})"
    if together.kept:
        what = "is one group transaction" if len(together.kept) == 1 else "are one group transaction each"
        text += f", so that {' and '.join(together.kept)} {what}"
    return text


def difference(before: float, after: float) -> str:
    """From one positive number to another: in percent, or as a factor where it is two or more."""
    if after >= 2 * before:
        return f"{amount(after / before)} times as much"
    return f"{percent(abs(after / before - 1))} {'more' if after > before else 'less'}"


def _value(value: float | None) -> str:
    return "no limit" if value is None else amount(value) if abs(value) < 100 else f"{value:,.6g}"


def _goals(page: Page, document: ExplanationScheme) -> None:
    if document.other is None:
        return
    page.line("Goal by goal", "head")
    decided = document.decided_by
    page.record("", f"{'this':>12}  {'other':>12}", 16, "")
    for goal in document.goals:
        here = decided is not None and goal.goal == decided.goal
        values = f"{_value(goal.value):>12}  {_value(goal.other):>12}  {goal_unit(goal.unit)}"
        page.record(("> " if here else "  ") + goal_name(goal.goal), values, 16, "")
        if here:
            break
    else:
        if decided is not None:  # what the last goal compares
            mine, theirs = decided.value, decided.winner
            mine, theirs = (theirs, mine) if document.wins else (mine, theirs)
            values = f"{_value(mine):>12}  {_value(theirs):>12}  {goal_unit(decided.unit)}"
            page.record(f"> {goal_name(decided.goal)}", values, 16, "")
    if decided is not None:
        page.wrapped(f"the goal '{goal_name(decided.goal)}' decides; the goals after it do not count")
    page.line()


def _queries(page: Page, document: ExplanationScheme) -> None:
    page.line("Queries and writes (largest difference first)", "head")
    shown = 0
    for entry in document.classes:
        here, there = entry.this, entry.other
        same = there is not None and _cost(here) == _cost(there)
        if there is not None and (same or shown == SHOWN):
            continue
        shown += 1
        page.line(f"  {entry.name}  {rate(entry.rate_per_s)}")
        page.record("this", _cost(here), 6, "    ")
        if there is not None:
            page.record("other", _cost(there), 6, "    ")
    left = len(document.classes) - shown
    if left and document.other is not None:
        page.wrapped(f"{left} {'others cost' if shown else 'cost'} about the same")
    page.line()


def _cost(figures: ExplanationClassFigures) -> str:
    access = figures.access or "one entity by its key"
    via = "" if figures.via == "main" else f" via {figures.via}"
    late, counted, requests = figures.latency_ms_p99, amount(figures.entities), amount(figures.requests)
    return (
        f"{access}{via}: {counted} {'entity' if counted == '1' else 'entities'}, {requests} "
        f"request{'' if requests == '1' else 's'}" + (f", p99 {milliseconds(late)}" if late else "")
    )


def _terms(page: Page, document: ExplanationScheme) -> None:
    page.line("Terms", "head")
    for each in document.terms:
        other = f"   other {_value(each.other)}" if document.other is not None else ""
        page.record(each.name, f"{_value(each.value)} {each.unit} ({each.basis}){other}", 26)
    page.line()


def write_broken(page: Page, scheme: ExplanationScheme | AnalysisScheme) -> None:
    """What a scheme breaks today, and after the assumed growth."""
    for title, assumed, style in (("Broken constraints", False, "bad"), ("After the assumed growth", True, "warn")):
        page.listed(title, [v.message for v in scheme.violations if v.assumed_growth is assumed], style)


def write_findings(page: Page, document: ExplanationScheme | AnalysisScheme) -> None:
    """What a scheme breaks, and what its owner should know."""
    write_broken(page, document)
    page.listed("Notes", [remark.message for remark in document.remarks])


def write_grounds(
    page: Page, grounds: list[AnalysisGround], title: str, *, verbose: bool = False, asking: bool = False
) -> None:
    """Each thing that a verdict or figures rest on, what does not carry it first, ``asking`` with what to give; without
    ``verbose`` where there is a figure to hold against another."""
    listed = [g for g in grounds if verbose or not g.carries or g.measured is not None or g.load_share]
    if not listed:
        return
    page.line(title, "head")
    for ground in sorted(listed, key=lambda ground: ground.carries):
        mark, style = ("-", "") if ground.carries else ("!", "bad")
        page.wrapped(f"{ground.title}: {ground.sentence}", f"  {mark} ", "    ", style)
        if asking and ground.next:
            page.wrapped(f"give {ground.next}", "    next: ", "          ")
    page.line()


def breaks_first(first: FirstBreak | None) -> str:
    """When a design breaks, in words: ``breaks at 3.8x today's load (the hottest partition)``."""
    return ENDLESS if first is None else f"breaks {first.when} ({first.cause})"


def _breaks(page: Page, document: ExplanationScheme) -> None:
    page.line("When it breaks", "head")
    page.wrapped(breaks_first(first_break(document)))
    for each in document.breaks:
        if not each.growth_of:  # time fills it, whatever grows
            page.wrapped(each.cause, "  - ", "    ")
            continue
        load = f"{_value(each.measured)} of {_value(each.limit)} {each.unit}"
        words = breaks(each.factor)
        when = f"at {words}" if words.endswith("x") else words
        page.wrapped(f"{each.cause}: {when} ({load})", "  - ", "    ")
    page.line()


def flip_sentence(flip: AnalysisFlip) -> str:
    """What would turn the order of two schemes, in one sentence."""
    if flip.turn == "flips":
        times = float(f"{flip.factor:.4g}")
        often = f"{times:,g} times as often ({rate(flip.rate_per_s)})"
        return f"would be better if {flip.query} came {often}"
    if flip.turn == "dominated":
        return "no change of the rates would make it better: no query or write is better with it"
    if flip.turn == "ahead":
        return "compared alone it is better; the tolerances against other schemes rank it lower"
    return "no change of one rate would make it better"


def _turning(page: Page, document: ExplanationScheme) -> None:
    flip = document.flip
    if document.other is None:
        return
    page.line("What would change the ranking", "head")
    if flip is None and document.together is not None and document.decided_by is None:
        page.wrapped("the kinds are decided together: no rate of this kind alone was tried")
        page.line()
        return
    if flip is None:
        page.wrapped("the result file does not say: give the data and the design instead of --result")
        page.line()
        return
    loser = "the other scheme" if document.wins else "this scheme"
    if flip.turn == "flips":
        change = f"{loser} {flip_sentence(flip)}; then the goal '{goal_name(flip.goal or '')}' decides."
        page.wrapped(f"{change} No smaller change of one rate is enough.")
    elif flip.turn == "dominated":
        page.wrapped(f"no change of the rates: {loser} is better for no query and no write")
        for sentence in flip.proof:
            page.wrapped(sentence, "  - ", "    ")
    elif flip.turn == "none":
        page.wrapped("no change of one rate, from a thousandth to a thousand times")
    else:
        page.wrapped(flip_sentence(flip))
    page.line()


def _sensitivity(page: Page, document: ExplanationScheme) -> None:
    sensitivity = document.sensitivity
    if sensitivity is None:
        return
    page.line("Assumed numbers that change the verdict (each tried at half and twice its value)", "head")
    for shift in sensitivity.shifts:
        what = []
        if shift.winner is not None:
            what.append(f"{shift.winner} would be first")
        for each in shift.constraints:
            what.append(f"{each.scheme} {'holds' if each.holds else 'no longer holds'} every constraint")
        values = f"{_value(shift.tried)} instead of {_value(shift.value)} {shift.unit}"
        page.wrapped(f"{shift.name} {values} ({shift.basis}): {'; '.join(what)}", "  - ", "    ")
    others = "others change" if sensitivity.shifts else "assumed numbers change"
    priced = f"{sensitivity.schemes_priced} schemes priced again, no new search"
    page.wrapped(f"{sensitivity.unchanged} {others} nothing ({priced})")


# -- The ranking of an analysis as text: on a wide page one line for each scheme.


WIDE, NARROW = 110, 76
"""From this width on keys stand beside the figures; below the other, each figure has a line of its own."""
HEADS = ("#", "score", "req/s", "rows/s", "hottest", "breaks", "worse in")
NAMES = ("score", "requests/s", "entities/s", "hottest", "breaks at", "worse in")
MILLION = 1_000_000
LEGEND = (
    "score: 0 to 100, useful reads times room for growth; worse in: what puts a scheme below the first; "
    "'advisor explain {target}' tells more of the scheme with number 2"
)
Letters = dict[tuple[str, str, str], str]


def write_ranking(page: Page, table: AnalysisTable, best: AnalysisScheme) -> None:
    """The recommended scheme, the next ones and the current one; index rows as letters that stand below the table."""
    schemes: list[tuple[str, AnalysisScheme]] = [("1", best), *((str(a.rank), a) for a in table.alternatives)]
    if table.current is not None and table.ranking_says != "keep":
        schemes.append(("current", table.current))
    letters: Letters = {}
    for _, scheme in schemes:
        for row in scheme.index_rows:
            letters.setdefault(_identity(row, scheme), _letter(len(letters)))
    cells = [_cells(label, scheme) for label, scheme in schemes]
    keys = [_keys(scheme, letters) for _, scheme in schemes]
    page.line(f"Ranking ({table.examined:,} schemes priced{_unproved(table)})", "head")
    if page.width < NARROW:
        _records(page, cells, keys)
    else:
        _columns(page, cells, keys)
    for (partition_key, row_key, copy), letter in letters.items():
        where = f"{quoted(partition_key)} | {quoted(row_key)}" if partition_key != _SAME else quoted(row_key)
        same = ", same partition" if partition_key == _SAME else ""
        page.record(f"+{letter}", f"{where} ({copy}{same})", 3, "     ")
    page.wrapped(LEGEND.format(target=f"scheme:{table.kind}:2" if table.kind else "scheme:2"), "  ", "  ", "dim")
    page.line()


_SAME = "\0"
"""In place of the PartitionKey of an index row that has that of its entity, whatever that is; no template holds it."""


def _identity(row: AnalysisIndexRow, scheme: AnalysisScheme) -> tuple[str, str, str]:
    partition_key = _SAME if row.partition_key == scheme.partition_key else row.partition_key
    return partition_key, row.row_key, row.copy


def _letter(number: int) -> str:
    return string.ascii_uppercase[number % 26] * (1 + number // 26)


def _cells(label: str, scheme: AnalysisScheme) -> tuple[str, ...]:
    first = first_break(scheme)
    return (
        label,
        amount(scheme.score),
        _short(term(scheme, "requests")),
        _short(term(scheme, "entities counted")),
        _short(term(scheme, "hottest partition at peak")),
        "<0.01x" if first is not None and first.factor < 0.01 else breaks(None if first is None else first.factor),
        goal_name(scheme.loses.goal) if scheme.loses else "",
    )


def _short(value: float | None) -> str:
    """A number of a narrow column: ``17.5M``."""
    return amount(value) if value is None or value < MILLION else f"{value / MILLION:.3g}M"


def _keys(scheme: AnalysisScheme, letters: Letters) -> str:
    rows = "".join(f" +{letters[_identity(row, scheme)]}" for row in scheme.index_rows)
    return f"{quoted(scheme.partition_key)} | {quoted(scheme.row_key)}{rows}"


def _columns(page: Page, cells: list[tuple[str, ...]], keys: list[str]) -> None:
    """Figures in columns; keys behind them where the page is wide, else below them."""
    widths = [max(len(page.exact(row[i])) for row in (HEADS, *cells)) for i in range(len(HEADS))]

    def line(row: tuple[str, ...]) -> str:
        numbers = "  ".join(f"{page.exact(cell):>{size}}" for cell, size in zip(row[:-1], widths[:-1], strict=True))
        return f"  {numbers}  {page.exact(row[-1]):<{widths[-1]}}"

    wide = page.width >= WIDE
    head = line(HEADS)
    page.line(f"{head}  keys" if wide else head, "dim")
    room = page.width - len(head) - 2
    for row, text in zip(cells, keys, strict=True):
        if wide and room >= len(page.exact(text)):
            page.lines.append(f"{line(row)}  {page.exact(text)}")
            continue
        page.lines.append(line(row).rstrip())
        page.lines += [f"     {piece}" for piece in fold(page.exact(text), page.width - 5, conditions=False)]


def _records(page: Page, cells: list[tuple[str, ...]], keys: list[str]) -> None:
    for (label, *values), text in zip(cells, keys, strict=True):
        page.line(f"  {label}")
        for name, cell in zip(NAMES, values, strict=True):
            if cell:
                page.record(name, cell, 10, "    ")
        page.record("", text, 1, "     ")


def _unproved(table: AnalysisTable) -> str:
    """The gap, where a limit of the search left one."""
    looked = table.search
    if looked is None or looked.gap == 0:
        return ""
    return ", gap unknown" if looked.gap is None else f", gap {percent(looked.gap)}"

"""A review as a page of text: the verdict; of each finding place, excerpt, number, fix; what changed; what to do."""

from __future__ import annotations

import textwrap
import unicodedata
from itertools import groupby

from pkadvisor.documents.review import ReviewDiff, ReviewDocument, ReviewError, ReviewFinding, ReviewMetric
from pkadvisor.numbers import plural
from pkadvisor.report import review_words as words
from pkadvisor.report.escapes import fold, log_line, one_line
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.scheme_page import write_grounds

_STYLES = {"error": "bad", "warning": "warn", "info": "dim"}
_DIRECTIONS = {"worse": "bad", "better": "good"}
SHOWN = 5
"""Findings on the first screen."""
_WINDOW = 2_000
"""Characters of a line of a design that are shown; only a design on one line has more."""


def render_review(
    document: ReviewDocument,
    *,
    width: int,
    color: bool,
    ascii_only: bool,
    verbose: bool = False,
    show_suppressed: bool = False,
    errors_shown: bool = False,
    details: bool = True,
) -> str:
    """The page; ``width`` in columns. Keys are folded where it is too narrow, and never cut.

    ``details``: every finding with its line of the design; else the worst ones, each with what to do about it.
    ``errors_shown``: why a design could not be read is shown elsewhere, and here only that it could not.
    """
    page = Page(width, color, ascii_only)
    _verdict(page, document)
    if not (details or verbose):
        _worst_findings(page, words.open_findings(document))
    for design in document.designs if details or verbose else ():
        advised = dict[str, str]()  # what to do is said once
        for finding in design.findings:
            if words.is_open(finding):
                _finding(page, finding, design.design, verbose, advised)
    _grounds(page, document, verbose)
    many, quiet, fresh = len(document.designs) > 1, 0, 0
    for design in document.designs:
        if design.error is not None:
            _unreadable(page, design.design, design.error, reported=errors_shown)
        if design.diff is not None and many and not words.is_loud(design) and not design.diff.notes:
            quiet += 1
        elif design.diff is not None and many and words.is_new(design.diff):
            fresh += 1
        elif design.diff is not None:
            _diff(page, design.design, design.diff, many=many)
    for name, said in words.removed(document):
        page.wrapped(f"{name} {said}", "", "  ", "warn")
    if fresh:
        page.line(f"{plural(fresh, 'design')} new: nothing before {'it' if fresh == 1 else 'them'}")
    if quiet:
        page.line(f"{plural(quiet, 'design')} unchanged: no number, no access and no key")
    if fresh or quiet:
        page.line()
    _suppressed(page, document, show_suppressed)
    _skipped(page, document, verbose)
    page.lines.append(f"  next: {page.exact(words.next_line(document))}")
    return "\n".join(map(log_line, page.lines)) + "\n"


def _verdict(page: Page, document: ReviewDocument) -> None:
    style = "good" if document.outcome == "passed" else "bad"
    page.line(words.verdict(document), "warn" if words.is_gate_off(document) else style)
    compared = words.compared(document)
    if compared:
        page.line(compared)
    for reason, rules in words.skipped_rules(document).items():
        if words.NO_DATA in reason:  # what the verdict does not rest on belongs beside it
            page.wrapped(f"Judged by the design alone: {words.skipped_line(reason, rules)}", "", "  ", "dim")
    page.line()


def render_concise(document: ReviewDocument) -> str:
    """One line for each finding: ``path:line:column: CODE severity message``, as editors read it."""
    lines = [f"{one_line(name)}:{at}: unreadable error {one_line(what)}" for name, at, what in _broken(document)]
    for design, finding in words.open_findings(document):
        place, status = finding.place, f" [{finding.status}]" if finding.status else ""
        head = f"{one_line(design)}:{place.line}:{place.column}: {finding.rule} {finding.severity}"
        lines.append(f"{head} {one_line(finding.message)}{status}")
    return "".join(f"{log_line(line)}\n" for line in lines)


def _broken(document: ReviewDocument) -> list[tuple[str, str, str]]:
    return [
        (name, "{}:{}".format(*words.error_place(error)), error.what) for name, error in words.reading_errors(document)
    ]


def _worst_findings(page: Page, findings: list[tuple[str, ReviewFinding]]) -> None:
    """The worst findings, each with its place and what is wrong; those with the same fix together, above it; then how
    many there are beside them."""
    for (_, _, fix), group in groupby(findings[:SHOWN], lambda each: (each[1].rule, _status(each[1]), each[1].fix)):
        for number, (design, finding) in enumerate(group):
            if not number:
                _head(page, finding)
            page.record("", f"{design}:{finding.place.line}:{finding.place.column}", 1, "")
            page.wrapped(finding.message, "  ", "  ")
        if fix:
            page.wrapped(fix, "  fix: ", "       ")
        page.line()
    left = len(findings) - SHOWN
    if left > 0:
        page.line(f"{plural(left, 'more finding')}: --details shows {'it' if left == 1 else 'them'}")
        page.line()


def _status(finding: ReviewFinding) -> str:
    return f"{finding.severity}, {finding.status}" if finding.status else finding.severity


def _head(page: Page, finding: ReviewFinding) -> None:
    page.line(f"{finding.rule} {finding.name}  [{_status(finding)}]", _STYLES[finding.severity])


def _finding(page: Page, finding: ReviewFinding, design: str, verbose: bool, advised: dict[str, str]) -> None:
    """A finding with its line of the design; ``advised``: fixes and keys that stand above, and with which rule."""
    place = finding.place
    _head(page, finding)
    gutter = len(str(place.line))
    _folded(page, f"{' ' * gutter}--> ", f"{design}:{place.line}:{place.column}")
    _excerpt(page, finding, gutter)
    bar = " " * (gutter + 1)
    numbers = words.numbers(finding)
    if numbers:
        _labelled(page, bar, "value", numbers)
    subject = finding.subject.name
    if finding.subject.scope not in ("design", "table") and subject not in place.excerpt:
        _labelled(page, bar, "affects", f"{words.owner(finding)}: {subject}", exact=True)
    if verbose:
        paths = dict.fromkeys((finding.subject.path, place.path))
        _labelled(page, bar, "path", ", ".join(paths), exact=True)
        for fact in finding.facts:
            value = fact.value
            shown = ", ".join(value) if isinstance(value, list) else _plain(value, fact.unit)
            _labelled(page, bar, "fact", f"{fact.name} = {shown} ({fact.basis})", exact=True)
    above = advised.get(finding.fix, "")
    if above and finding.fix:
        _labelled(page, bar, "fix", f"as for {above} above   (advisor explain {finding.rule})")
    elif finding.fix:
        _labelled(page, bar, "fix", f"{finding.fix}   (advisor explain {finding.rule})")
    else:
        _labelled(page, bar, "more", f"advisor explain {finding.rule}")
    if finding.proposal and finding.proposal not in advised:
        _labelled(page, bar, "instead", finding.proposal, exact=True)
    for advice in (finding.fix, finding.proposal):
        advised.setdefault(advice or "", finding.rule)
    page.line()


def _plain(value: bool | float | str, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else words.quantity(value, unit)


def _labelled(page: Page, bar: str, label: str, text: str, *, exact: bool = False) -> None:
    """``  = value: text``; the text folds under itself, and nothing of it is lost."""
    head = f"{bar}= {label + ':':<10}"
    if exact:
        _folded(page, head, text)
    else:
        _prose(page, head, text)


def _prose(page: Page, head: str, text: str) -> None:
    """Prose behind a head, broken at blanks; a word that is too long is folded."""
    room = max(12, page.width - len(head))
    pieces = textwrap.wrap(page.words(text), room, break_on_hyphens=False) or [""]
    page.lines.append(head + pieces[0])
    page.lines += [" " * len(head) + piece for piece in pieces[1:]]


def _folded(page: Page, head: str, text: str) -> None:
    """Keys and paths behind a head, character by character where they have no blanks."""
    if len(head) + 16 > page.width:
        page.lines.append(head.rstrip())
        head = "    "
    pieces = fold(page.exact(text), max(12, page.width - len(head)), conditions=False) or [""]
    page.lines.append(head + pieces[0].rstrip())
    page.lines += [" " * len(head) + piece.rstrip() for piece in pieces[1:]]


def _excerpt(page: Page, finding: ReviewFinding, gutter: int) -> None:
    """The line of the design with carets below the place; a line that is too long is folded, the carets with it."""
    place = finding.place
    line = place.excerpt
    first = place.column - 1
    last = place.end_column - 1 if place.end_line == place.line else len(line.rstrip())
    if len(line) > _WINDOW:
        start = max(0, first - 40)
        line, first, last = line[start : start + _WINDOW], first - start, last - start
    cells = [(page.exact(c) if c != "\t" else "    ", first <= i < last) for i, c in enumerate(line.rstrip())]
    room = max(12, page.width - gutter - 3)
    indent = next((i for i, (text, marked) in enumerate(cells) if text.strip() or marked), 0)
    if sum(_cells(text) for text, _ in cells) > room and 2 * indent > room:  # a narrow page can spare it
        cells = cells[indent:]
    bar = f"{' ' * gutter} |"
    page.lines.append(page.style(bar, "dim"))
    label = str(place.line)
    for row in _rows(cells, room):
        page.lines.append(f"{page.style(f'{label:>{gutter}} |', 'dim')} {''.join(t for t, _ in row)}".rstrip())
        label = ""
        carets = "".join(("^" if marked else " ") * _cells(text) for text, marked in row).rstrip()
        if carets:
            page.lines.append(f"{page.style(bar, 'dim')} {page.style(carets, _STYLES[finding.severity])}")
    _prose(page, f"{' ' * (gutter + 1)}= ", finding.message)


def _rows(cells: list[tuple[str, bool]], room: int) -> list[list[tuple[str, bool]]]:
    rows: list[list[tuple[str, bool]]] = [[]]
    used = 0
    for text, marked in cells:
        if used + _cells(text) > room and rows[-1]:
            rows.append([])
            used = 0
        rows[-1].append((text, marked))
        used += _cells(text)
    return rows


def _cells(text: str) -> int:
    """Columns of a terminal that a text takes."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in ("W", "F") else 1 for c in text
    )


def _grounds(page: Page, document: ReviewDocument, verbose: bool) -> None:
    """What the figures of the tables with data rest on: what does not carry them; with ``verbose`` all of it."""
    for design in document.designs:
        for table in design.tables:
            grounds = [g for g in table.grounds if verbose or not g.carries]
            name = f"{table.table} · {table.kind}" if table.kind else table.table
            title = f"What the figures of {name} rest on"
            write_grounds(page, grounds, title, verbose=verbose, asking=True)


def _unreadable(page: Page, design: str, error: ReviewError, *, reported: bool) -> None:
    page.line(f"{design} cannot be reviewed", "bad")
    if reported:
        page.line()
        return
    page.wrapped(f"{error.where}: {error.what}" if error.where else error.what, "  ", "    ")
    for line in error.excerpt.split("\n"):
        if line.strip():
            page.lines.append(f"  {page.exact(line)}".rstrip())
    if error.fix:
        page.wrapped(error.fix, "  ", "    ")
    for other in error.others:
        page.wrapped(other, "  ", "    ")
    page.line()


def _diff(page: Page, design: str, diff: ReviewDiff, *, many: bool) -> None:
    against = f"{design} against {diff.against}" if many else f"Against {diff.against}"
    load = "the same load for both" if diff.same_load else "not under the same load"
    page.line(f"{against} ({load})" if words.is_compared(diff) else against, "head")
    for note in words.diff_notes(diff):
        page.wrapped(note, "  ", "    ")
    groups = words.metric_groups(diff)
    for heading, metrics in groups:
        _metrics(page, metrics, heading)
    moved = words.moved_queries(diff)
    for query in moved:
        text = f"{words.read(query, 'before')} → {words.read(query, 'after')}  {query.direction}"
        page.record(f"{words.owner(query)} {query.name}:", page.words(text))
    for key in diff.keys:
        for line in words.key_change(key):
            page.wrapped(f"{words.owner(key)}: {line}", "  ", "    ")
        for name, old, new in words.key_pairs(key):
            page.record(name, f"{old or '(none)'}  ->  {new or '(none)'}")
        for name, row in words.index_rows(key):
            page.record(name, row, pad=18)
    for fixed in diff.fixed:
        page.line(f"  fixed: {fixed.rule} {fixed.name}, {fixed.subject.name}", "good")
    if words.is_compared(diff) and not (groups or moved or diff.fixed or any(words.key_change(k) for k in diff.keys)):
        page.line("  no number, no access and no key changed")
    page.line()


def _metrics(page: Page, metrics: list[ReviewMetric], heading: str) -> None:
    """A table where it fits, else a record for each metric."""
    heads = (heading, "before", "after", "change", "")
    rows = []
    for name, metric in zip(words.metric_names(metrics), metrics, strict=True):
        unit = metric.unit
        values = (words.metric_value(metric.before, unit), words.metric_value(metric.after, unit))
        rows.append((page.exact(name), *values, words.metric_change(metric), page.words(words.metric_verdict(metric))))
    widths = [max(len(row[i]) for row in (heads, *rows)) for i in range(5)]
    styles = [_DIRECTIONS.get(metric.direction, "") for metric in metrics]
    if sum(widths) + 2 + 2 * 4 <= page.width:
        for row, style in zip((heads, *rows), ("dim", *styles), strict=True):
            cells = [f"{row[0]:<{widths[0]}}", *(f"{row[i]:>{widths[i]}}" for i in (1, 2, 3)), row[4]]
            page.lines.append(page.style(f"  {'  '.join(cells)}".rstrip(), style))
        return
    if heading:
        page.line(f"  {heading}", "dim")
    for name, before, after, change, verdict in rows:
        pad = widths[0] + 1 if widths[0] + 40 <= page.width else 14
        page.record(f"{name}:", f"{before} -> {after}{f' ({change})' if change else ''}  {verdict}", pad=pad)


def _suppressed(page: Page, document: ReviewDocument, listed: bool) -> None:
    hidden = words.suppressed_findings(document)
    baselined = words.in_baseline(document)
    if hidden and listed:
        for design, finding in hidden:
            head = f"{finding.rule} {finding.name}  [suppressed {finding.severity}]"
            page.line(head, "dim")
            _folded(page, " --> ", f"{design}:{finding.place.line}:{finding.place.column}")
            where = finding.suppressed.where if finding.suppressed else ""
            _labelled(page, "  ", "reason", f"{words.until(finding)}, {where}", exact=True)
        page.line()
    elif hidden:
        page.line(f"{plural(len(hidden), 'finding')} suppressed (--show-suppressed lists them)")
    if baselined:
        page.line(f"{plural(baselined, 'finding')} in the baseline")


def _skipped(page: Page, document: ReviewDocument, verbose: bool) -> None:
    for reason, rules in words.skipped_rules(document).items():
        if verbose:
            page.wrapped(words.skipped_line(reason, rules), "", "  ", "dim")
            page.wrapped(", ".join(rules), "  ", "  ", "dim")
    if verbose:
        for design in document.designs:
            for entry in design.evaluated:
                if entry.undecided:
                    missing = ", ".join(entry.missing)
                    sentence = (
                        f"{entry.rule} could not be decided {entry.undecided} times, because of missing {missing}"
                    )
                    page.wrapped(f"{design.design}: {sentence}", "", "  ", "dim")

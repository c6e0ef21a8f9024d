"""A review as Markdown for the comment of a pull request and the summary of a build.

The first line is a marker by which a workflow finds the comment that it made before. Everything from a design or from
data is escaped. GitHub takes comments of 65,536 characters and drops larger ones: the text ends before that and says
what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pkadvisor.documents.review import ReviewDiff, ReviewDocument, ReviewFinding, ReviewMetric
from pkadvisor.numbers import percent, plural
from pkadvisor.report import review_words as words
from pkadvisor.report.escapes import code, html, markdown, one_line

CHARACTERS_MAX = 60_000
_RESERVED = 400
"""Characters kept for the sentence that says what was cut."""
_LISTED_MAX = 40
"""Findings in the lists at the top; each stands in full below."""
_SAID_MAX = 300
"""Characters of a message in such a list."""
MARKER = "<!-- pkadvisor:review -->\n"
"""The same however many designs there are: the comment of a pull request is found by it."""
_LONG = 1_500
"""Characters of one text in a finding; a key has at most 1,024."""


def render_markdown(document: ReviewDocument, paths: Mapping[str, str], *, if_changed: float | None = None) -> str:
    """The text. ``if_changed``: a share; where every number moved by less, nothing is new, worse or fixed and the gate
    passed, the text only says so, under a second marker."""
    start = MARKER
    if if_changed is not None and unchanged(document, if_changed):
        said = (
            f"Nothing changed: every number moved by less than {percent(if_changed)}, and no finding is new or fixed."
        )
        return f"{start}<!-- pkadvisor:unchanged -->\n{said}\n"
    text, left, room = [start], dict[str, int](), CHARACTERS_MAX - _RESERVED - len(start)
    for kind, block in _blocks(document, paths):
        if len(block) > room or left:
            left[kind] = left.get(kind, 0) + 1
            continue
        text.append(block)
        room -= len(block)
    if left:
        cut = ", ".join(plural(count, kind) for kind, count in left.items())
        text.append(
            f"\n\n_Left out here: {cut}. A text holds {CHARACTERS_MAX:,} characters; JSON and SARIF hold all._\n"
        )
    return "".join(text)


def unchanged(document: ReviewDocument, share: float) -> bool:
    """Whether a comparison shows nothing worth a word: all designs are compared, and all moves are below a share."""
    if document.outcome != "passed" or not document.designs or words.removed(document):
        return False
    if document.summary.new or document.summary.worse:
        return False
    return all(design.diff is not None and not words.is_loud(design, share) for design in document.designs)


def _blocks(document: ReviewDocument, paths: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(what it is, its text) in the order of the page; each can be left out without harm to the others."""
    yield "heading", f"### Partition-key review: {_verdict(document)}\n"
    many = len(document.designs) > 1
    for broken, error in words.reading_errors(document):
        said = f"{markdown(words.sentence(_short(error.what)))} {markdown(_short(error.fix))}".rstrip()
        yield "unreadable design", f"\n**{code(paths.get(broken, broken))} cannot be reviewed**: {said}\n"
    for gone, said in words.removed(document):
        yield "deleted design", f"\n{code(paths.get(gone, gone))} {markdown(_short(said))}.\n"
    room = _LISTED_MAX
    loud = [d for d in document.designs if d.error is None and words.is_loud(d)]
    for design in sorted(loud, key=lambda d: not any(f.gating for f in d.findings)):
        name = paths.get(design.design, design.design)
        listed = words.listed(design)
        if design.diff is not None:
            yield from _against(design.diff, code(name) if many else "")
        elif listed and many:
            yield "heading", f"\n{code(name)}\n"
        if listed:
            yield "list of findings", _list(listed, name, room)
            room = max(0, room - len(listed))
        if design.diff is not None:
            yield from _diff(design.diff)
    quiet = [d.diff for d in document.designs if d.diff is not None and d not in loud]
    if quiet:
        against = code(quiet[0].against)
        said = f"{plural(len(quiet), 'design')} unchanged" if many else "Nothing changed"
        yield "heading", f"\n{said} against {against}.\n"
    for note in dict.fromkeys(n for d in quiet for n in d.notes):
        yield "note", f"\n{_note(note)}\n"
    opened = words.open_findings(document)
    if opened:
        yield "heading", "\n#### Findings\n\n"
    for name, finding in opened:
        yield "finding", _details(finding, paths.get(name, name))
    fixed = words.fixed_findings(document)
    if fixed:
        yield "heading", "\n#### Fixed\n\n"
    for _, finding in fixed:
        subject = code(finding.subject.name)
        yield "fixed finding", f"- **{finding.rule}** {markdown(finding.name)}: {subject}\n"
    hidden = words.suppressed_findings(document)
    if hidden:
        yield "heading", "\n#### Suppressed\n\n"
    for name, finding in hidden:
        place = code(f"{paths.get(name, name)}:{finding.place.line}")
        reason = markdown(_short(words.until(finding)))
        yield "suppressed finding", f"- **{finding.rule}** {markdown(finding.name)}, {place}: {reason}\n"
    notes = [words.skipped_line(r, rules) for r, rules in words.skipped_rules(document).items() if words.NO_DATA in r]
    baselined = words.in_baseline(document)
    notes += [f"{plural(baselined, 'finding')} in the baseline"] if baselined else []
    if notes:
        yield "note", f"\n<sub>{html('. '.join(notes))}.</sub>\n"


def _verdict(document: ReviewDocument) -> str:
    word = {"passed": "PASSED", "failed": "FAILED", "unreadable": "NOT REVIEWED"}[document.outcome]
    word = "GATE OFF" if words.is_gate_off(document) else word
    counts, fixed = document.summary, len(words.fixed_findings(document))
    changed = [f"{count} {name}" for name, count in (("new", counts.new), ("worse", counts.worse)) if count]
    changed += [f"{fixed} fixed"] if fixed else []
    broken = len(words.unreadable(document))
    parts = [f"{plural(broken, 'design')} cannot be read"] if broken else []
    parts += [f"{words.counted(document)} ({', '.join(changed)})" if changed else words.counted(document)]
    parts += words.outlook(document)
    return f"{word} · {' · '.join(parts)}"


def _short(text: str) -> str:
    """Text that is no key: only somebody who wants to fill the page writes more."""
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _list(findings: Sequence[ReviewFinding], path: str, room: int) -> str:
    """What a reader must not have to unfold, worst first; at most ``room`` findings."""
    rows = [_row(finding, path) for finding in findings[:room]]
    more = f"\n{plural(len(findings) - len(rows), 'finding')} {'more ' if rows else ''}below.\n"
    head = "\n| severity | rule | place | |\n|---|---|---|---|\n" if rows else ""
    return head + "".join(rows) + (more if len(findings) > len(rows) else "")


def _row(finding: ReviewFinding, path: str) -> str:
    message = finding.message
    said = markdown(message if len(message) <= _SAID_MAX else f"{message[:_SAID_MAX]}…")
    severity = f"**{finding.severity}**" if finding.gating else finding.severity
    place = code(f"{path}:{finding.place.line}", in_table=True)
    return f"| {severity} | {finding.rule} {markdown(finding.name)} | {place} | {said} |\n"


def _against(diff: ReviewDiff, name: str) -> Iterator[tuple[str, str]]:
    if name and words.is_new(diff):
        yield "heading", f"\n{name}: a new design, there is nothing before it.\n"
        return
    load = "the same load for both" if diff.same_load else "**not** under the same load"
    heading = f"against {code(diff.against)}{f', {load}' if words.is_compared(diff) else ''}"
    yield "heading", f"\n{f'{name}: ' if name else ''}{heading}.\n"
    for note in words.diff_notes(diff):
        yield "note", f"\n{_note(note)}\n"


def _note(text: str) -> str:
    return markdown(_short(words.sentence(text[:1].upper() + text[1:])))


def _diff(diff: ReviewDiff) -> Iterator[tuple[str, str]]:
    for caption, metrics in words.metric_groups(diff):
        yield "heading", f"\n| {caption} | before | after | change | |\n|---|--:|--:|--:|---|\n"
        for label, metric in zip(words.metric_names(metrics), metrics, strict=True):
            yield "metric", _metric(label, metric)
    moved = words.moved_queries(diff)
    if moved:
        yield "heading", "\n| query | access before | access after | |\n|---|---|---|---|\n"
    for query in moved:
        owner = markdown(words.owner(query))
        cells = [markdown(words.read(query, side)) for side in ("before", "after")]
        shown = f"**{cells[1]}**" if query.direction == "worse" else cells[1]
        label = f"{owner} {code(query.name, in_table=True)}".strip()
        yield "query", f"| {label} | {cells[0]} | {shown} | {query.direction} |\n"
    for key in diff.keys:
        for line in words.key_change(key):
            yield "key change", f"\n{code(words.owner(key))}: {markdown(line)}\n\n"
        for label, old, new in words.key_pairs(key):
            yield "key change", f"- {label}: {code(old)} → {code(new)}\n"
        for label, row in words.index_rows(key):
            yield "key change", f"- {label}: {code(row)}\n"


def _metric(label: str, metric: ReviewMetric) -> str:
    unit, name = metric.unit, markdown(label)
    before, after = (markdown(words.metric_value(value, unit)) for value in (metric.before, metric.after))
    verdict, change = words.metric_verdict(metric), words.metric_change(metric)
    moved = markdown(change)
    shown = f"**{after}**" if verdict.startswith("worse") else after
    return f"| {name} | {before} | {shown} | {moved} | {markdown(verdict)} |\n"


def _details(finding: ReviewFinding, path: str) -> str:
    """One finding, folded away below its headline."""
    place = finding.place
    status = f", {finding.status}" if finding.status else ""
    where = html(f"{path}:{place.line}")
    head = f"<b>{finding.rule}</b> {html(finding.name)} ({finding.severity}{status}), <code>{where}</code>"
    excerpt = one_line(place.excerpt.strip())
    shown = f"\n\n{code(_short(excerpt))}" if excerpt else ""
    items = [("Value", markdown(words.numbers(finding))), ("Fix", markdown(_short(finding.fix)))]
    items += [("Proposed", code(finding.proposal) if finding.proposal else "")]
    items += [("Why", code(f"advisor explain {finding.rule}"))]
    listed = "\n".join(f"- {label}: {text}" for label, text in items if text)
    said = markdown(_short(words.sentence(finding.message)))
    return f"<details><summary>{head}</summary>\n\n{said}{shown}\n\n{listed}\n\n</details>\n"

"""What the formats of a review say in the same words: verdict, counts, numbers, and what a change does to keys."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pkadvisor.documents.review import (
    ReviewDesign,
    ReviewDiff,
    ReviewDocument,
    ReviewError,
    ReviewFinding,
    ReviewKey,
    ReviewMetric,
    ReviewQuery,
)
from pkadvisor.numbers import TIMED_OUT_MS, amount, milliseconds, percent, plural, ratio
from pkadvisor.review.views.findings import agreed

SEVERITIES = ("error", "warning", "info")
BASES = ("declared", "estimated", "counted", "measured")
"""How a number is known, where that is worth a word."""
NO_DATA = "profile"
"""A word in the reason of every rule that was not asked for want of data."""


def is_open(finding: ReviewFinding) -> bool:
    """Whether a finding is told: not suppressed, and not in the baseline unless it got worse."""
    return finding.suppressed is None and (not finding.baselined or finding.status == "worse")


def open_findings(document: ReviewDocument) -> list[tuple[str, ReviewFinding]]:
    """(design, finding) of all that is told, worst first, then in the order of the designs."""
    return [(name, f) for name, f in worst_first(document) if is_open(f)]


def worst_first(document: ReviewDocument) -> list[tuple[str, ReviewFinding]]:
    """(design, finding) of all, worst first, then in the order of the designs."""
    findings = [(d.design, f) for d in document.designs for f in d.findings]
    return sorted(findings, key=lambda pair: SEVERITIES.index(pair[1].severity))


def suppressed_findings(document: ReviewDocument) -> list[tuple[str, ReviewFinding]]:
    """(design, finding) of all that is suppressed."""
    return [(d.design, f) for d in document.designs for f in d.findings if f.suppressed is not None]


def in_baseline(document: ReviewDocument) -> int:
    """How many findings are not told because they were there when the baseline was written."""
    unsuppressed = [f for d in document.designs for f in d.findings if f.suppressed is None]
    return sum(not is_open(finding) for finding in unsuppressed)


def unreadable(document: ReviewDocument) -> list[tuple[str, ReviewError]]:
    """(design, error) of each design that could not be read."""
    return [(d.design, d.error) for d in document.designs if d.error is not None]


def reading_errors(document: ReviewDocument) -> list[tuple[str, ReviewError]]:
    """(design, error) of everything that keeps a design from being read, each at its own place."""
    return [(name, each) for name, error in unreadable(document) for each in (error, *_other_errors(error))]


def _other_errors(error: ReviewError) -> Iterator[ReviewError]:
    """The errors told beside the first: each begins with the same file and a place of its own."""
    file = re.sub(r"(:\d+){1,2}( \([^()]*\))?$", "", error.where)
    for other in error.others:
        place = re.match(r"(:\d+){1,2}( \([^()]*\))?(?=: )", other[len(file) :]) if other.startswith(file) else None
        where = file + place[0] if place else file
        yield ReviewError(
            exit_code=error.exit_code, what=other[len(where) + 2 :] if place else other, where=where, fix="", excerpt=""
        )


def removed(document: ReviewDocument) -> list[tuple[str, str]]:
    """(design file, what went with it) of each that is gone: ``deleted: table Orders``."""
    return [
        (d.design, f"deleted: {'table' if len(d.tables) == 1 else 'tables'} {', '.join(d.tables)}")
        for d in document.designs_removed
    ]


def fixed_findings(document: ReviewDocument) -> list[tuple[str, ReviewFinding]]:
    """(design, finding) of what was found before and is not any more."""
    return [(d.design, f) for d in document.designs if d.diff for f in d.diff.fixed]


def counted(document: ReviewDocument) -> str:
    """``2 errors, 3 info``; what is none is left out."""
    severities: list[str] = [finding.severity for _, finding in open_findings(document)]
    counts = {word: severities.count(word) for word in SEVERITIES}
    parts = [plural(counts[word], word) for word in ("error", "warning") if counts[word]]
    parts += [f"{counts['info']:,} info"] if counts["info"] else []
    return ", ".join(parts) or "no findings"


def is_gate_off(document: ReviewDocument) -> bool:
    """Whether no finding can fail the review (``--fail-on never``); a design that cannot be read still does."""
    return document.gate.fail_on == "never" and document.outcome != "unreadable"


def counts(document: ReviewDocument) -> str:
    """What was found, and what of it fails the review."""
    broken = len(unreadable(document))
    lost = f"{plural(broken, 'design')} cannot be read; " if broken else ""
    gate = document.gate
    only = ", new and worse findings only" if gate.new_only else ""
    asked = "" if is_gate_off(document) else f" (fail-on: {gate.fail_on}{only})"
    return "; ".join([f"{lost}{counted(document)}{asked}", *outlook(document)])


def outlook(document: ReviewDocument) -> list[str]:
    """What a gate that passes leaves open: how soon the first design breaks, and the load of which a lower bound alone
    is known; of one that fails on a load, which keys it is that fail."""
    tables = [table for design in document.designs for table in design.tables]
    if is_gate_off(document) or document.outcome == "unreadable":
        return []
    if document.outcome == "failed":
        return ["these are the current keys"] if any(t.figures is not None for t in tables) else []
    broken = [first for t in tables if t.figures is not None and (first := t.figures.first_break) is not None]
    soonest = min(broken, key=lambda first: first.factor, default=None)
    priced = sum(t.figures is not None for t in tables)
    some = f" of {plural(len(tables) - priced, 'table')}" if priced else ""
    unpriced = [f"the load{some} is a lower bound: no data"] if priced < len(tables) else []
    if soonest is None:
        return unpriced
    of = "rows per key" if soonest.growth_of == ["rows_per_key"] else "load"
    return [f"breaks at {ratio(soonest.factor)} today's {of} ({soonest.cause})", *unpriced]


def verdict(document: ReviewDocument) -> str:
    """The verdict in one line, without what it hangs on: ``GATE FAILED: 2 errors …`` or ``2 errors, gate off``."""
    if is_gate_off(document):
        return f"{counts(document)}, gate off"
    word = {"passed": "GATE PASSED", "failed": "GATE FAILED", "unreadable": "NOT REVIEWED"}[document.outcome]
    return f"{word}: {counts(document)}"


def next_step(document: ReviewDocument) -> tuple[str, str]:
    """(what to do next, the command that helps with it); the command is empty where none does."""
    for name, error in unreadable(document):
        line, column = error_place(error)
        if error.where == name:  # no line of it was read
            return f"correct the name or the file of {name}, which cannot be read: {error.what}", ""
        return f"correct {name}:{line}:{column}, which cannot be read", ""
    unsuppressed = open_findings(document)
    gating = [(name, f) for name, f in unsuppressed if f.gating]
    open_first = gating or unsuppressed
    # What all tables ask together follows from what one of them does.
    for name, finding in sorted(open_first, key=lambda each: each[1].subject.scope == "design"):
        verb = "fix" if gating else "look at"
        place = f"{name}:{finding.place.line}"
        return f"{verb} {finding.rule} in {place} first", f"advisor explain {finding.rule}"
    lacking = sum(len(rules) for reason, rules in skipped_rules(document).items() if NO_DATA in reason)
    if lacking:
        return f"give --profile or --data: {plural(lacking, 'rule')} could not be checked", ""
    return "nothing to do: no finding is open", ""


def next_line(document: ReviewDocument) -> str:
    """The next step on one line: a command that can be pasted, with what it is for behind ``#``, or else what to do."""
    step, command = next_step(document)
    return f"{command}   # {step}" if command else step


def compared(document: ReviewDocument) -> str:
    """``1 new, 0 worse, 2 unchanged, 1 fixed``; empty where nothing was compared."""
    counts, fixed = document.summary, len(fixed_findings(document))
    if not any(d.diff for d in document.designs) and not (counts.new or counts.worse or counts.unchanged):
        return ""
    return f"{counts.new} new, {counts.worse} worse, {counts.unchanged} unchanged, {fixed} fixed"


def quantity(value: float | None, unit: str) -> str:
    """A number with its unit: ``3,400 entities/s``, ``12 %`` of a share, ``1.7x`` of a target."""
    if value is None:
        return "unknown"
    sign, size = ("-" if value < 0 else ""), abs(value)
    if unit.split(" ")[0] == "share":
        return f"{sign}{percent(size)}"
    if unit.split("/")[0] in ("USD", "$"):
        return f"{sign}${amount(size)}{unit[unit.index('/') :] if '/' in unit else ''}"
    if unit.split(" ")[0] == "x":
        return f"{sign}{amount(size)}x"
    return f"{sign}{milliseconds(size)}" if unit == "ms" else agreed(f"{sign}{amount(size)} {unit}".rstrip())


def _short(unit: str) -> bool:
    """Whether a unit stands behind each number; a longer one stands once, behind the name."""
    return unit == "ms" or re.split("[ /]", unit)[0] in ("share", "USD", "$", "x")


def metric_value(value: float | None, unit: str) -> str:
    """A number of a table, with its unit if that is a short one; requests time out long before a minute."""
    if unit == "ms" and value is not None and value > TIMED_OUT_MS:
        return "> 1 min"
    return quantity(value, unit if _short(unit) else "")


def numbers(finding: ReviewFinding) -> str:
    """``3,400 entities/s (declared); limit 2,000 entities/s (1.7x); before 900 entities/s``; empty without a number."""
    measured, limit, unit = finding.measured, finding.limit, finding.unit
    if measured is None:
        return ""
    known = basis(finding)
    pieces = [f"{quantity(measured, unit)}{f' ({known})' if known else ''}"]
    if limit is not None:
        meaningful = limit > 0 and measured >= 0 and not (unit == "ms" and measured > TIMED_OUT_MS)
        times = f" ({ratio(measured / limit)})" if meaningful else ""
        pieces.append(f"limit {quantity(limit, unit)}{times}")
    now = quantity(measured, unit)
    before = quantity(finding.before, unit) if finding.before is not None else now
    if before != now:
        pieces.append(f"before {before}")
    return "; ".join(pieces)


def basis(finding: ReviewFinding) -> str:
    """How the number of a finding is known, where it is that of a fact: declared, estimated, counted."""
    bases = {
        fact.basis
        for fact in finding.facts
        if not isinstance(fact.value, bool) and fact.value == finding.measured and fact.unit == finding.unit
    }
    (only,) = bases if len(bases) == 1 else ("",)
    return only if only in BASES else ""


def owner(item: ReviewMetric | ReviewQuery | ReviewKey | ReviewFinding) -> str:
    """The table of a metric, a query or a key, with its kind."""
    return f"{item.table}{f' ({item.kind})' if item.kind else ''}"


def diff_notes(diff: ReviewDiff) -> list[str]:
    """What is to be known of a comparison, in sentences."""
    notes = ["the design is new: there is nothing before it"] if diff.new_design else []
    if diff.profile_changed:
        notes.append("the profile changed: numbers can move where the design is the same")
    elif diff.load_changed:
        notes.append("the declared load changed: numbers can move where the keys are the same")
    notes += [f"table added: {name}" for name in diff.tables_added]
    notes += [f"table removed: {name}" for name in diff.tables_removed]
    return notes + diff.notes


def metric_groups(diff: ReviewDiff) -> list[tuple[str, list[ReviewMetric]]]:
    """(heading, metrics): of the change of keys under one load, and of the change of load under the old keys.

    Where only the load changed, that stands first; numbers of which none moved are left out.
    """
    load = ("old keys, old and new load", [m for m in diff.load_metrics if m.direction != "same"])
    changed = [m for m in diff.metrics if m.direction != "same"]
    rewritten = any(key.class_ != "none" for key in diff.keys)
    if load[1] and not rewritten:
        groups = [load, ("", changed)]
    else:
        groups = [("", diff.metrics if changed or rewritten else []), load]
    return [(heading, metrics) for heading, metrics in groups if metrics]


def is_compared(diff: ReviewDiff) -> bool:
    """Whether a table stood beside what it was: not where the design is new, or the older one could not be read."""
    return bool(diff.keys or diff.metrics or diff.queries)


def is_new(diff: ReviewDiff) -> bool:
    """Whether a design is new, and there is no more to say of it."""
    return diff.new_design and not diff.notes


def is_loud(design: ReviewDesign, share: float = 0.0) -> bool:
    """Whether a design has something new, worse, fixed or failing, or a number that moved by as much as a share."""
    if any(is_open(f) and (f.gating or f.status in ("new", "worse")) for f in design.findings):
        return True
    diff = design.diff
    return diff is None or not _quiet(diff, share)


def _quiet(diff: ReviewDiff, share: float) -> bool:
    if diff.fixed or any(key.class_ != "none" for key in diff.keys) or moved_queries(diff):
        return False
    if diff.new_design or diff.tables_added or diff.tables_removed:
        return False
    moved = [m for m in diff.load_metrics if m.direction != "same"]
    return all(_small(m, share) for m in (*diff.metrics, *moved))


def _small(metric: ReviewMetric, share: float) -> bool:
    before, after = metric.before, metric.after
    if before is None or after is None:
        return before == after
    return before == after or (metric.direction == "same" and not share) or abs(after - before) < share * abs(before)


def listed(design: ReviewDesign) -> list[ReviewFinding]:
    """The findings of a design that a list at the top names: what fails, is new or worse; of a design that is new or
    not compared, no info."""
    first = design.diff is None or design.diff.new_design

    def wanted(finding: ReviewFinding) -> bool:
        if finding.gating:
            return True
        fresh = finding.status in (None, "new", "worse")
        return fresh and not (first and finding.severity == "info")

    return [f for f in design.findings if is_open(f) and wanted(f)]


def metric_names(metrics: Sequence[ReviewMetric]) -> list[str]:
    """Metrics for people: ``full_scans`` is ``full scans/day``; with their tables, if there are several."""
    many = len({owner(metric) for metric in metrics}) > 1
    names = [_named(metric.name.replace("_", " "), metric.unit) for metric in metrics]
    return [f"{owner(m)} {name}".strip() if many else name for m, name in zip(metrics, names, strict=True)]


def _named(name: str, unit: str) -> str:
    """A name with a unit that is too long to stand behind each number: ``requests/s``, ``stored (bytes/entity)``."""
    head = unit.split("/")[0]
    if _short(unit) or not unit:
        return name
    return f"{name.removesuffix(head)}{unit}" if name.endswith(head) else f"{name} ({unit})"


def moved_queries(diff: ReviewDiff) -> list[ReviewQuery]:
    """Queries that find their entities in another way than before, or with another number of requests."""
    return [q for q in diff.queries if read(q, "before") != read(q, "after")]


def read(query: ReviewQuery, side: str) -> str:
    """How a query finds its entities ``before`` or ``after``: the access, with its requests where there are several."""
    if side == "before":
        return query.read_before or query.access_before or "none"
    return query.read_after or query.access_after or "none"


def metric_change(metric: ReviewMetric) -> str:
    """``+0.96``, ``+3.7 points`` of a share, ``unknown``; empty beside a time that is above a minute."""
    change, unit = metric.change, metric.unit
    if unit == "ms" and max(metric.before or 0, metric.after or 0) > TIMED_OUT_MS:
        return ""
    if change is None:
        return "unknown"
    sign = "-" if change < 0 else "+" if change else ""
    if unit.split(" ")[0] == "share":
        return f"{sign}{amount(100 * abs(change))} points"
    return f"{sign}{metric_value(abs(change), unit)}"


def metric_verdict(metric: ReviewMetric) -> str:
    """Whether it got better or worse, and whether it is over its limit."""
    after, limit, unit = metric.after, metric.limit, metric.unit
    word = metric.direction
    if unit == "ms" and min(metric.before or 0, after or 0) > TIMED_OUT_MS:
        return "above a minute as before"
    return (
        f"{word}, over {metric_value(limit, unit)}" if _over(after, limit) and not _over(limit, TIMED_OUT_MS) else word
    )


def _over(after: float | None, limit: float | None) -> bool:
    return after is not None and limit is not None and after > limit


def key_change(key: ReviewKey) -> list[str]:
    """What a change does to stored entities: lines, empty for no change."""
    if key.class_ == "none":
        return []
    count = key.entities
    many = "every entity" if count is None else "1 entity" if count == 1 else f"{count:,.0f} entities"
    sentences = {
        "rewrite": f"keys changed, entities to rewrite: {many}",
        "additive": f"index rows changed, keys unchanged; index rows to write for: {many}",
        "unknown": "keys changed: whether entities must be rewritten is unknown",
    }
    return [sentences[key.class_]]


def key_pairs(key: ReviewKey) -> list[tuple[str, str, str]]:
    """(which key, old, new) of what changed."""
    pairs = (("PartitionKey", key.partition_key), ("RowKey", key.row_key))
    return [(name, before or "", after or "") for name, (before, after) in pairs if before != after]


def index_rows(key: ReviewKey) -> list[tuple[str, str]]:
    """(``index row added`` or ``removed``, its key)."""
    made = [("index row added", row) for row in key.index_rows_added]
    return made + [("index row removed", row) for row in key.index_rows_removed]


def until(finding: ReviewFinding) -> str:
    """``reason`` and the last day of a suppression."""
    suppressed = finding.suppressed
    assert suppressed is not None
    day = suppressed.until
    return f"{suppressed.reason}{f' (until {day})' if day else ''}"


def skipped_rules(document: ReviewDocument) -> dict[str, list[str]]:
    """Why rules were not asked, and which, over all designs."""
    reasons: dict[str, dict[str, None]] = {}
    for design in document.designs:
        for entry in design.evaluated:
            if entry.skipped:
                reasons.setdefault(entry.skipped, {})[entry.rule] = None
    return {reason: list(rules) for reason, rules in reasons.items()}


def skipped_line(reason: str, rules: list[str]) -> str:
    """``12 rules need a profile (--profile) or data (--data)``."""
    words = reason.removeprefix("needs ")
    verb = ("needs " if len(rules) == 1 else "need ") if words != reason else "not run: "
    return f"{plural(len(rules), 'rule')} {verb}{words}"


def error_place(error: ReviewError) -> tuple[int, int]:
    """Line and column in an error's ``where``, what stands there aside (``a.yaml:5:15 (row_key of T)``); 1, 1 where it
    has none."""
    match = re.search(r":(\d+)(?::(\d+))?(?: \([^()]*\))?$", error.where)
    return (max(1, int(match[1])), max(1, int(match[2] or 1))) if match else (1, 1)


def sentence(text: str) -> str:
    """Text that ends as a sentence does."""
    text = text.strip()
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."

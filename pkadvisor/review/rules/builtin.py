"""Rules that the gate decides itself: PK905 to PK907 here, those of suppressions and baseline beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.load.estimates import Violation
from pkadvisor.errors import did_you_mean
from pkadvisor.observe.design_file.declaration_yaml import Path_
from pkadvisor.observe.workload import Basis
from pkadvisor.review.rules.evaluate import Evaluation
from pkadvisor.review.rules.rule import Rule
from pkadvisor.review.views.findings import FilePlace, Finding, Severity, ShownFact
from pkadvisor.review.views.subjects import keys_path
from pkadvisor.review.views.views import DesignView, TableView
from pkadvisor.table.edm import EdmType

MALFORMED = "PK901"
UNUSED = "PK902"
EXPIRED = "PK903"
STALE = "PK904"
MISMATCH = "PK905"
NOTHING = "PK906"
TWICE = "PK907"
NEVER_SUPPRESSED = (MALFORMED, UNUSED, EXPIRED, STALE)
"""What is about suppressions and the baseline is put right in them."""

SPELLING_MIN = 0.85
"""How alike two names are of which one is a spelling of the other: Order and Orders, not Devices and Invoices."""
_NUMBERS = (EdmType.INT32, EdmType.INT64, EdmType.DOUBLE)


def builtin_finding(
    rule: Rule,
    design: DesignView,
    message: str,
    *,
    path: Path_ = ("tables",),
    logical: str = "",
    subject: str = "",
    severity: Severity | None = None,
    place: FilePlace | None = None,
    fix: str | None = None,
) -> Finding:
    """A finding of a built-in rule at a value of the file; ``place`` where it stands elsewhere."""
    table = path[1] if len(path) > 1 and path[0] == "tables" else ""
    return Finding(
        rule=rule.id,
        name=rule.name,
        severity=severity or rule.severity,
        message=message,
        design=design.name,
        table=str(table),
        kind=None,
        scope=str(rule.scope),
        subject=subject or design.name,
        path=logical or design.document.logical(path),
        place=place or design.place(path, at_key=len(path) == 2),
        fix=rule.fix if fix is None else fix,
        document_path=path,
        pointed=design.document.logical(path),
    )


def evaluate_builtin(rules: Sequence[Rule], design: DesignView) -> tuple[Evaluation, ...]:
    """What the gate itself finds in a design and its profile."""
    evaluations = []
    for rule in rules:
        if rule.id == MISMATCH:
            held = any(t.has_data for t in design.tables) or design.profiled
            findings = tuple(_mismatches(rule, design))
            why = "" if held else "needs a profile (--profile) or data (--data)"
            evaluations.append(Evaluation(rule, len(design.tables) if held else 0, findings, 0, (), why))
        elif rule.id == NOTHING:
            findings = tuple(_without_keys(rule, design))
            evaluations.append(Evaluation(rule, len(design.tables), findings, 0, ()))
        elif rule.id == TWICE:
            others = design.declared_elsewhere
            findings = () if others is None else tuple(_declared_twice(rule, design, others))
            why = "needs several design files" if others is None else ""
            evaluations.append(Evaluation(rule, len(design.tables) if others is not None else 0, findings, 0, (), why))
    return tuple(evaluations)


def keys_by_table(design: DesignView) -> dict[str, tuple[str, str]]:
    """The path of a design file and the keys in it, for each table that it declares, by its name in lower case."""
    return {name.lower(): (design.name, _keys_of(tables[0])) for name, tables in _by_table(design).items()}


def _keys_of(table: TableView) -> str:
    return " / ".join(table.raw_text(0, is_partition) or "''" for is_partition in (True, False))


def _declared_twice(rule: Rule, design: DesignView, others: Mapping[str, tuple[str, str]]) -> Iterator[Finding]:
    for name, tables in _by_table(design).items():
        other = others.get(name.lower())
        if other is None:
            continue
        keys, (path, other_keys) = _keys_of(tables[0]), other
        same = "with the same keys" if keys == other_keys else f"with the keys {other_keys} instead of {keys}"
        message = f"{path} declares the table {name} as well, {same}"
        yield builtin_finding(rule, design, message, path=("tables", name), subject=name)


def _without_keys(rule: Rule, design: DesignView) -> Iterator[Finding]:
    for name, tables in _by_table(design).items():
        if all(t.scheme is None for t in tables):
            message = f"{name} declares no partition_key and row_key: there are no keys to review"
            yield builtin_finding(rule, design, message, path=("tables", name), subject=name)


def _by_table(design: DesignView) -> dict[str, list[TableView]]:
    out: dict[str, list[TableView]] = {}
    for view in design.tables:
        out.setdefault(view.section.table, []).append(view)
    return out


def _mismatches(rule: Rule, design: DesignView) -> Iterator[Finding]:
    tables = [t for t in design.tables if t.has_data]
    names = tuple(dict.fromkeys(t.section.table for t in design.tables))
    without = tuple(n for n in names if all(t.section.table != n for t in tables))
    only = len(names) == 1 and len(design.profiled) == 1
    meant = {other: near_name(other, without) for other in design.unmatched}
    clear = only or any(meant.values())
    for other, near in meant.items() if tables or clear else ():
        message = f"the profile holds a table '{other}', which this design does not declare"
        severity = Severity.ERROR if near or only else Severity.INFO
        fix = f"did you mean '{near}'?" if near else None
        yield builtin_finding(rule, design, message, subject=other, severity=severity, fix=fix)
    if design.profiled and not tables and not (clear and meant):
        yield _silent(rule, design, names, design.profiled, Severity.WARNING if meant else Severity.INFO)
    for view in tables:
        yield from _properties(rule, design, view)


def near_name(other: str, names: Sequence[str]) -> str:
    """The one of the names that is another spelling of ``other``, else an empty text."""
    from difflib import SequenceMatcher

    def alike(name: str) -> float:
        return SequenceMatcher(None, folded(other), folded(name), autojunk=False).ratio()

    def folded(word: str) -> str:
        return re.sub(r"[-_. ]", "", word).lower()

    return next((name for name in sorted(names, key=alike, reverse=True)[:1] if alike(name) >= SPELLING_MIN), "")


def _silent(
    rule: Rule, design: DesignView, names: Sequence[str], profiled: Sequence[str], severity: Severity
) -> Finding:
    """That a profile measures nothing of what is reviewed."""
    there = [name or "a table without a name" for name in profiled]
    message = f"the profile does not cover {_some(names)}: it is of {_some(there)}"
    fix = "make one of these tables as well (advisor profile), or leave the profile out"
    path: Path_ = ("tables", names[0]) if names else ("tables",)
    return builtin_finding(rule, design, message, path=path, severity=severity, fix=fix)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 4 else ""
    shown = names[:3] if more else names
    return ", ".join(shown) + more


def unmatched_tables(
    rule: Rule, designs: Sequence[DesignView], profiled: Sequence[str], elsewhere: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """Tables of a profile that none of several designs names, but for their spelling: at the table that was meant.

    A profile that has nothing of any of them is told once, at the first. ``elsewhere``: tables, in lower case, of
    designs that are not reviewed.
    """
    names = elsewhere | {t.section.table.lower() for d in designs for t in d.tables}
    without = {t.section.table: d for d in designs for t in d.tables if not t.has_data}
    out = []
    for other in profiled:
        meant = near_name(other, tuple(without)) if other.lower() not in names else ""
        if meant:
            message = f"the profile holds a table '{other}', and none '{meant}'"
            fix = f"did you mean '{other}'? Else make the profile again (advisor profile)"
            out.append(builtin_finding(rule, without[meant], message, path=("tables", meant), subject=other, fix=fix))
    if profiled and not out and not any(t.has_data for d in designs for t in d.tables):
        severity = Severity.INFO if all(n.lower() in names for n in profiled) else Severity.WARNING
        first = next((d for d in designs if d.tables), designs[0])
        out.append(_silent(rule, first, tuple(without), profiled, severity))
    return tuple(out)


def _properties(rule: Rule, design: DesignView, view: TableView) -> Iterator[Finding]:
    """Properties that the design names and the profile has not, or has under another type."""
    assert view.section.data is not None
    types, table, kind = view.section.data.types, view.section.table, view.section.kind
    base: Path_ = ("tables", table, "kinds", kind) if kind else ("tables", table)
    own = view.declared.kind_named(kind) or view.declared
    of = f"{table}.{kind}" if kind else table
    lacking = set[str]()
    for row, (key, _) in enumerate(view.scheme.each_key() if view.scheme else ()):
        rows, main = keys_path(view, "index_rows"), keys_path(view, "partition_key")
        below: Path_ = (*rows, "index_rows", row - 1) if row else main
        for word, parts in (("partition_key", key.partition), ("row_key", key.row)):
            for name in part_properties(parts):
                if name not in types and name not in lacking:
                    lacking.add(name)
                    at = (*below, word) if design.document.has((*below, word)) else below
                    message = f"the key names '{name}', which the profile of {of} does not have"
                    fix = did_you_mean(name, tuple(types)) or None
                    yield builtin_finding(rule, design, message, path=at, subject=name, fix=fix)
    for name, edm in own.properties:
        at = (*base, "key_parts" if name in own.key_parts else "properties", name)
        seen = types.get(name)
        if seen is None and name not in lacking:
            message = f"the design declares '{name}', which the profile of {of} does not have"
            near = did_you_mean(name, tuple(t for t in types if t not in dict(own.properties)))
            severity = Severity.ERROR if near else Severity.WARNING
            yield builtin_finding(rule, design, message, path=at, subject=name, severity=severity, fix=near or None)
        elif seen is not None and _other(edm, seen):
            message = f"'{name}' is {_word(edm)} in the design and {_word(seen)} in the profile of {of}"
            yield builtin_finding(rule, design, message, path=at, subject=name, severity=Severity.WARNING)


def _other(declared: EdmType, seen: EdmType) -> bool:
    """Whether values of one type cannot be those of the other: files of text show numbers for texts of digits, and
    whole numbers for doubles."""
    if declared == seen or (declared in _NUMBERS and seen in _NUMBERS):
        return False
    return declared is not EdmType.STRING


def _word(edm: EdmType) -> str:
    return str(edm.value).removeprefix("Edm.").lower()


# -- PK111: the hard constraints for which ``analyze`` refuses the declared keys, where no other rule tells them.


CONSTRAINT = "PK111"
TOLD_BY = {
    "hot-partition": ("PK103", "PK109", "PK501"),
    "hot-entity": ("PK109",),
    "append-only": ("PK101",),
    "hot-range": ("PK108",),
    "account": ("PK107",),
    "not-unique": ("PK307", "PK308", "PK311", "PK405"),
    "key-too-long": ("PK302",),
    "isolation": ("PK704",),
    "secret-shown": ("PK702",),
    "entity-too-large": ("PK603",),
    "transaction-broken": ("PK401",),
    "transaction-too-large": ("PK402",),
    "counter": ("PK309",),
    "hot-entity-contention": ("PK407",),
    "budget": ("PK601",),
}
"""Rules that tell a constraint of that code in words of their own."""


def evaluate_constraints(
    rules: Sequence[Rule], design: DesignView, evaluations: Sequence[Evaluation]
) -> tuple[Evaluation, ...]:
    """What the analysis refuses of the declared keys, beside what the other rules ``evaluations``.

    Of a rule that is not asked nobody wants to hear, so its constraints are not told here either.
    """
    rule = next((rule for rule in rules if rule.id == CONSTRAINT), None)
    if rule is None:
        return ()
    priced = [view for view in design.tables if view.has_data and view.estimate is not None]
    asked = {rule.id for rule in rules}
    findings = tuple(f for view in priced for f in _of_table(rule, design, view, asked, evaluations))
    why = "" if priced else "needs a profile (--profile) or data (--data)"
    return (Evaluation(rule, len(priced), findings, 0, (), why),)


def _of_table(
    rule: Rule, design: DesignView, view: TableView, asked: set[str], evaluations: Sequence[Evaluation]
) -> Iterator[Finding]:
    section = view.section
    errors = {
        f.rule
        for evaluation in evaluations
        for f in evaluation.findings
        if f.severity is Severity.ERROR and f.table == section.table and f.kind in (None, section.kind)
    }
    path = ("tables", section.table, *(("kinds", section.kind) if section.kind else ()))
    name = f"{section.table}.{section.kind}" if section.kind else section.table
    sure = all(ground.carries for ground in view.grounds)
    for broken in view.refused:
        if not _told_elsewhere(broken, errors, asked):
            severity = Severity.ERROR if sure else Severity.WARNING
            message = f"'advisor analyze' refuses these keys: {broken.message}"
            finding = builtin_finding(rule, design, message, path=path, subject=name, severity=severity)
            keys = ShownFact("table.refused_keys", broken.keys, "", Basis.ESTIMATED, from_data=True)
            yield replace(finding, kind=section.kind, facts=(keys,) if broken.keys else ())


def _told_elsewhere(broken: Violation, errors: set[str], asked: set[str]) -> bool:
    tellers = set(TOLD_BY.get(broken.code, ()))
    return bool(tellers & errors or tellers - asked)

"""What the kinds of one table become together, and which constraints contradict each other, as text."""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.documents.analysis import AnalysisAccount, AnalysisArranged, AnalysisArrangement
from pkadvisor.documents.analysis_scheme import AnalysisConstraint, AnalysisKeys
from pkadvisor.documents.analysis_table import AnalysisConflict
from pkadvisor.numbers import amount, plural, ratio
from pkadvisor.report.text.page import Page


def conflicts_text(page: Page, conflicts: Sequence[AnalysisConflict]) -> None:
    """Why no design holds, and what each way out costs."""
    if conflicts:
        page.line("Constraints that exclude each other", "head")
    for conflict in conflicts:
        _constraints(page, conflict.constraints)
        for way in conflict.relaxed if len(conflict.constraints) > 1 else ():
            page.wrapped(_without(way.dropped, way.missed_by), "  ", "    ")
            _keys(page, way.scheme)
            counts = f"{amount(way.requests_per_s)} requests/s, {amount(way.entities_per_s)} entities/s"
            page.wrapped(counts, "     ", "     ")
    if conflicts:
        page.line()


def arranged_text(page: Page, arranged: AnalysisArranged) -> None:
    """The kinds of one table together."""
    chosen = arranged.chosen
    page.line(f"Kinds of {arranged.table} together", "head")
    for bond in arranged.transactions:
        state = "one group transaction" if bond.kept else "not one group transaction"
        writes = ", ".join(bond.writes)
        page.wrapped(f"{bond.name} ({writes}): {state}", "  ", "    ", "" if bond.kept else "warn")
        if bond.impossible_because:
            page.wrapped(f"no key can change that: {bond.impossible_because}", "    ", "    ")
    for group in chosen.shared:
        page.record("share", f"{group.partition_key or chr(39) * 2}: {', '.join(group.kinds)}", 7)
    _arrangement(page, "chosen", chosen)
    for rival in arranged.rivals[:3]:
        _arrangement(page, _kept(rival.kept), rival)
    if arranged.conflicts:
        page.head("Constraints that exclude each other")
    for conflict in arranged.conflicts:
        _constraints(page, conflict.constraints)
        for way in conflict.relaxed if len(conflict.constraints) > 1 else ():
            page.wrapped(_without(way.dropped, None), "  ", "    ")
            for scheme in way.arrangement.schemes:
                page.wrapped(scheme.kind or "", "     ")
                _keys(page, scheme, "       ")
            _arrangement(page, "costs", way.arrangement, "     ")
    page.line()


def account_text(page: Page, account: AnalysisAccount | None) -> None:
    """The account's targets against the sum of all tables and kinds."""
    if account is None:
        return
    page.line("All tables and kinds together", "head")
    for load in account.loads:
        over = load.measured > load.limit
        counts = f"{amount(load.measured)} of {amount(load.limit)} {load.unit} at the peak"
        when = f"breaks at {ratio(load.factor or 0)} the load"
        if load.months is not None:
            when += f"; in {amount(load.months)} months" if load.months else "; now"
        page.wrapped(f"{load.cause}: {counts}; {when}", "  - ", "    ", "bad" if over else "")
        shares = (f"{s.name} {'at least ' if s.at_least else ''}{amount(s.per_s)}" for s in load.shares)
        page.wrapped(", ".join(shares), "    ", "    ")
    for violation in account.violations:
        if (violation.measured or 0) <= (violation.limit or 0):  # else the sum above says it
            page.wrapped(violation.message, "  - ", "    ", "" if violation.assumed_growth else "bad")
    page.line()


def _constraints(page: Page, constraints: Sequence[AnalysisConstraint]) -> None:
    if len(constraints) == 1:
        page.wrapped(f"no scheme holds this: {constraints[0].sentence}", "  ", "    ", "bad")
        return
    page.wrapped(f"no scheme holds these {len(constraints)} constraints together:", "  ", "    ", "bad")
    for constraint in constraints:
        page.wrapped(constraint.sentence, "  - ", "    ")


def _without(dropped: AnalysisConstraint, missed_by: float | None) -> str:
    text = f"best without '{dropped.sentence}'"
    return text + (f" ({amount(missed_by)} times its limit):" if missed_by else ":")


def _kept(names: list[str]) -> str:
    return "keeping " + ", ".join(names) if names else "keeping none"


def _arrangement(page: Page, label: str, layout: AnalysisArrangement, indent: str = "  ") -> None:
    counts = (
        f"{label}: {amount(layout.requests_per_s)} requests/s, {amount(layout.entities_per_s)} entities/s, "
        f"hottest partition {amount(layout.hottest_partition_per_s)} entities/s"
    )
    page.wrapped(counts, indent, indent + "  ")
    broken = [v for v in layout.violations if not v.assumed_growth]
    for violation in broken[:3]:
        kind = f"{violation.kind}: " if violation.kind else ""
        page.wrapped(f"{kind}{violation.message}", indent + "  - ", indent + "    ", "bad")
    if len(broken) > 3:
        page.wrapped(f"and {plural(len(broken) - 3, 'constraint')} more", indent + "  - ")


def _keys(page: Page, scheme: AnalysisKeys, indent: str = "     ") -> None:
    quoted = "''"
    page.record("", f"{scheme.partition_key or quoted} | {scheme.row_key or quoted}", 1, indent)
    for row in scheme.index_rows:
        page.record("", f"+ {row.partition_key} | {row.row_key or quoted} ({row.copy})", 1, indent)

"""What the kinds of one table become together, and which constraints contradict each other: as JSON and as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pkadvisor.design.choice.conflicts import said
from pkadvisor.design.keys.template import format_template
from pkadvisor.report.text.page import Page, amount, plural

if TYPE_CHECKING:
    from pkadvisor.design.choice.conflicts import Conflict, Constraint, Relaxed
    from pkadvisor.design.choice.kinds import Arranged, Arrangement, Bond
    from pkadvisor.design.keys.scheme import KeyScheme
    from pkadvisor.design.load.estimates import Violation
    from pkadvisor.limits import Limits

Number = Callable[[float], float | int | None]
Told = Callable[["Violation"], dict[str, Any]]


# -- JSON --------------------------------------------------------------------------------------------------------------


def conflict_json(found: Conflict, limits: Limits, number: Number, told: Told) -> dict[str, Any]:
    """Constraints that no design of a table holds together, and the best design without each."""
    return {
        "constraints": [_constraint(c, limits) for c in found.constraints],
        "relaxed": [
            {
                "dropped": _constraint(r.dropped, limits),
                "missed_by": _missed_by(r, number),
                "scheme": _scheme(r.design.scheme),
                "requests_per_s": number(r.design.requests_per_s),
                "entities_per_s": number(r.design.entities_per_s),
                "violations": [told(v) for v in r.design.violations],
            }
            for r in found.relaxed
        ],
    }


def _missed_by(found: Relaxed, number: Number) -> float | int | None:
    """Times its limit that a rate is at today's peak; None for what is held or broken as a whole, such as a rule."""
    times = [
        v.measured / v.limit
        for v in found.design.violations
        if (v.code, v.subject) == (found.dropped.code, found.dropped.name)
        and not v.assumed
        and v.limit > 0
        and "/s" in v.unit
    ]
    return number(max(times)) if times else None


def arranged_json(found: Arranged, limits: Limits, number: Number, told: Told) -> dict[str, Any]:
    """The arrangement of one table's kinds, its rivals, and what contradicts what."""

    def arrangement(each: Arrangement) -> dict[str, Any]:
        return {
            "kept": list(each.kept),
            "shared": [{"partition_key": text, "kinds": list(kinds)} for text, kinds in each.shared],
            "schemes": [{"kind": kind, **_scheme(estimate.scheme)} for kind, estimate in each.schemes],
            "requests_per_s": number(each.requests_per_s),
            "requests_per_s_peak": number(each.requests_per_s_peak),
            "entities_per_s": number(each.entities_per_s),
            "hottest_partition_per_s": number(each.hottest_per_s),
            "violations": [{"kind": kind or None, **told(v)} for kind, v in each.violations],
        }

    return {
        "table": found.table,
        "transactions": [_bond(b, found) for b in found.bonds],
        "chosen": arrangement(found.chosen),
        "rivals": [arrangement(a) for a in found.rivals],
        "conflicts": [
            {
                "constraints": [_constraint(c, limits) for c in each.constraints],
                "relaxed": [
                    {"dropped": _constraint(r.dropped, limits), "arrangement": arrangement(r.arrangement)}
                    for r in each.relaxed
                ],
            }
            for each in found.conflicts
        ],
    }


def _constraint(found: Constraint, limits: Limits) -> dict[str, Any]:
    return {"code": found.code, "subject": found.name or None, "sentence": said(found, limits)}


def _scheme(found: KeyScheme) -> dict[str, Any]:
    return {
        "partition_key": format_template(found.main.partition),
        "row_key": format_template(found.main.row),
        "index_rows": [
            {
                "partition_key": format_template(row.key.partition),
                "row_key": format_template(row.key.row),
                "copy": row.copy,
            }
            for row in found.index_rows
        ],
    }


def _bond(bond: Bond, found: Arranged) -> dict[str, Any]:
    why = None
    if bond.missing:
        why = "; ".join(bond.missing)
    return {
        "name": bond.name,
        "required": bond.required,
        "kinds": list(bond.kinds),
        "writes": [m.name for m in bond.members],
        "kept": bond.name in found.chosen.kept,
        "impossible_because": why,
    }


# -- text --------------------------------------------------------------------------------------------------------------


def conflicts_text(page: Page, conflicts: Sequence[dict[str, Any]]) -> None:
    """Why no design holds, and what each way out costs."""
    if conflicts:
        page.line("What contradicts what", "head")
    for conflict in conflicts:
        _constraints(page, conflict["constraints"])
        for way in conflict["relaxed"] if len(conflict["constraints"]) > 1 else ():
            page.wrapped(_without(way["dropped"], way["missed_by"]), "  ", "    ")
            _keys(page, way["scheme"])
            counts = f"{amount(way['requests_per_s'])} requests/s, {amount(way['entities_per_s'])} entities/s"
            page.wrapped(counts, "     ", "     ")
    if conflicts:
        page.line()


def arranged_text(page: Page, found: dict[str, Any]) -> None:
    """The kinds of one table together."""
    chosen = found["chosen"]
    page.line(f"Kinds of {found['table']} together", "head")
    for bond in found["transactions"]:
        state = "one group transaction" if bond["kept"] else "not one group transaction"
        writes = ", ".join(bond["writes"])
        page.wrapped(f"{bond['name']} ({writes}): {state}", "  ", "    ", "" if bond["kept"] else "warn")
        if bond["impossible_because"]:
            page.wrapped(f"no key can change that: {bond['impossible_because']}", "    ", "    ")
    for group in chosen["shared"]:
        page.record("share", f"{group['partition_key'] or chr(39) * 2}: {', '.join(group['kinds'])}", 7)
    _arrangement(page, "chosen", chosen)
    for rival in found["rivals"][:3]:
        _arrangement(page, _kept(rival["kept"]), rival)
    if found["conflicts"]:
        page.line()
        page.line("What contradicts what", "head")
    for conflict in found["conflicts"]:
        _constraints(page, conflict["constraints"])
        for way in conflict["relaxed"] if len(conflict["constraints"]) > 1 else ():
            page.wrapped(_without(way["dropped"], None), "  ", "    ")
            for scheme in way["arrangement"]["schemes"]:
                page.wrapped(scheme["kind"], "     ")
                _keys(page, scheme, "       ")
            _arrangement(page, "costs", way["arrangement"], "     ")
    page.line()


def _constraints(page: Page, constraints: Sequence[dict[str, Any]]) -> None:
    if len(constraints) == 1:
        page.wrapped(
            f"no key looked at holds this, whatever else is given up: {constraints[0]['sentence']}", "  ", "    ", "bad"
        )
        return
    page.wrapped(f"no key looked at holds these {len(constraints)} together:", "  ", "    ", "bad")
    for constraint in constraints:
        page.wrapped(constraint["sentence"], "  - ", "    ")


def _without(dropped: dict[str, Any], missed_by: float | None) -> str:
    text = f"best without '{dropped['sentence']}'"
    return text + (f" ({amount(missed_by)} times its limit):" if missed_by else ":")


def _kept(names: list[str]) -> str:
    return "keeping " + ", ".join(names) if names else "keeping none"


def _arrangement(page: Page, label: str, found: dict[str, Any], indent: str = "  ") -> None:
    counts = (
        f"{label}: {amount(found['requests_per_s'])} requests/s, {amount(found['entities_per_s'])} entities/s, "
        f"hottest partition {amount(found['hottest_partition_per_s'])} entities/s"
    )
    page.wrapped(counts, indent, indent + "  ")
    broken = [v for v in found["violations"] if not v["assumed_growth"]]
    for violation in broken[:3]:
        kind = f"{violation['kind']}: " if violation["kind"] else ""
        page.wrapped(f"{kind}{violation['message']}", indent + "  - ", indent + "    ", "bad")
    if len(broken) > 3:
        page.wrapped(f"and {plural(len(broken) - 3, 'constraint')} more", indent + "  - ")


def _keys(page: Page, scheme: dict[str, Any], indent: str = "     ") -> None:
    quoted = "''"
    page.record("", f"{scheme['partition_key'] or quoted} | {scheme['row_key'] or quoted}", 1, indent)
    for row in scheme["index_rows"]:
        page.record("", f"+ {row['partition_key']} | {row['row_key'] or quoted} ({row['copy']})", 1, indent)

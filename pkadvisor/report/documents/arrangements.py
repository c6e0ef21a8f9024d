"""What the kinds of one table become together, and which constraints contradict each other, as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from pkadvisor.design.choice.conflicts import Conflict, Constraint, Relaxed, constraint_of, said
from pkadvisor.design.choice.several_kinds.account import AccountLoad
from pkadvisor.design.choice.several_kinds.kinds import Arranged, Arrangement, Bond
from pkadvisor.documents import analysis
from pkadvisor.documents.analysis_scheme import AnalysisConstraint
from pkadvisor.documents.analysis_table import AnalysisConflict, AnalysisRelaxed
from pkadvisor.documents.part import number, part_of
from pkadvisor.limits import Limits
from pkadvisor.report.documents.values import Shown, keys_document, violation_json


def conflict_json(conflict: Conflict, limits: Limits, shown: Shown) -> AnalysisConflict:
    """Constraints that no design of a table holds together, and the best design without each."""
    return AnalysisConflict(
        constraints=[_constraint(c, limits) for c in conflict.constraints],
        relaxed=[
            AnalysisRelaxed(
                dropped=_constraint(r.dropped, limits),
                missed_by=_missed_by(r),
                scheme=keys_document(r.design.scheme),
                requests_per_s=number(r.design.requests_per_s),
                entities_per_s=number(r.design.entities_per_s),
                violations=[violation_json(v, shown) for v in r.design.violations],
            )
            for r in conflict.relaxed
        ],
    )


def _missed_by(relaxed: Relaxed) -> float | int | None:
    """Times its limit that a rate is at today's peak; None for what is held or broken as a whole, such as a rule."""
    times = [
        v.measured / v.limit
        for v in relaxed.design.violations
        if constraint_of(v) == relaxed.dropped and not v.assumed and v.limit > 0 and "/s" in v.unit
    ]
    return number(max(times)) if times else None


def account_json(loads: Sequence[AccountLoad], shown: Shown) -> analysis.AnalysisAccount | None:
    """The account's targets against the sum of all tables and kinds; None where one table alone asks for them."""
    if not loads:
        return None
    first = min(loads, key=lambda load: (load.break_factor is None, load.break_factor))
    return analysis.AnalysisAccount(
        break_factor=number(first.break_factor),
        break_cause=first.cause,
        loads=[
            part_of(
                analysis.AnalysisLoad,
                load,
                measured=number(load.measured),
                limit=number(load.limit),
                factor=number(load.break_factor),
                at_horizon=number(load.grown),
                shares=[
                    part_of(analysis.AnalysisLoadShare, of, per_s=number(per_s), growth_declared=of.growth is not None)
                    for of, per_s in load.shares
                ],
            )
            for load in loads
        ],
        violations=[violation_json(v, shown) for load in loads if (v := load.violation()) is not None],
    )


def arranged_json(arranged: Arranged, limits: Limits, shown: Shown) -> analysis.AnalysisArranged:
    """The arrangement of one table's kinds, its rivals, and what contradicts what."""

    def arrangement(each: Arrangement) -> analysis.AnalysisArrangement:
        return part_of(
            analysis.AnalysisArrangement,
            each,
            shared=[analysis.AnalysisShared(partition_key=text, kinds=list(kinds)) for text, kinds in each.shared],
            schemes=[replace(keys_document(estimate.scheme), kind=kind) for kind, estimate in each.schemes],
            hottest_partition_per_s=number(each.hottest_per_s),
            violations=[replace(violation_json(v, shown), kind=kind or None) for kind, v in each.violations],
        )

    return analysis.AnalysisArranged(
        table=arranged.table,
        transactions=[_bond(b, arranged) for b in arranged.bonds],
        chosen=arrangement(arranged.chosen),
        rivals=[arrangement(a) for a in arranged.rivals],
        conflicts=[
            analysis.AnalysisArrangedConflict(
                constraints=[_constraint(c, limits) for c in each.constraints],
                relaxed=[
                    analysis.AnalysisArrangedConflictRelaxed(
                        dropped=_constraint(r.dropped, limits), arrangement=arrangement(r.arrangement)
                    )
                    for r in each.relaxed
                ],
            )
            for each in arranged.conflicts
        ],
    )


def _constraint(constraint: Constraint, limits: Limits) -> AnalysisConstraint:
    return AnalysisConstraint(code=constraint.code, subject=constraint.name or None, sentence=said(constraint, limits))


def _bond(bond: Bond, arranged: Arranged) -> analysis.AnalysisArrangedTransaction:
    return part_of(
        analysis.AnalysisArrangedTransaction,
        bond,
        writes=[m.name for m in bond.members],
        kept=bond.name in arranged.chosen.kept,
        impossible_because="; ".join(bond.missing) or None,
    )

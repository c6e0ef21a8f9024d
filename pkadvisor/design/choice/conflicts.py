"""When no design holds every hard constraint: the smallest set of them that cannot hold together, and what each costs.

A design breaks a set of constraints. Constraints contradict each other, as far as the designs looked at tell, where
every design breaks at least one of them: the least such set is a minimum hitting set, and leaving one of it out shows
what the others allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from pkadvisor.design.choice.goals import best_of
from pkadvisor.design.load.estimates import CostEstimate, Violation
from pkadvisor.limits import Limits

EXHAUSTIVE = 3
"""Sets up to this size are looked for among all; larger ones by leaving out what is not needed."""


@dataclass(frozen=True, slots=True, order=True)
class Constraint:
    """A hard constraint: the code of its violation and, where there are several of a kind, a name."""

    code: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Relaxed:
    """The best design where one constraint of a conflict does not count."""

    dropped: Constraint
    design: CostEstimate
    severity: float
    """By how much it misses the constraint that was dropped; 1 is just at the limit."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Constraints that no design looked at holds together; each alone can be the one to give up."""

    constraints: tuple[Constraint, ...]
    relaxed: tuple[Relaxed, ...]


def constraint_of(violation: Violation) -> Constraint:
    """The constraint that a violation breaks: a set that is too large is as little one group transaction as one that
    lies apart."""
    code = "transaction-broken" if violation.code == "transaction-too-large" else violation.code
    return Constraint(code, violation.subject)


def broken_by(estimate: CostEstimate) -> dict[Constraint, float]:
    """The constraints that a design breaks at the declared load, with the factor by which it misses each."""
    out: dict[Constraint, float] = {}
    for violation in estimate.violations:
        if not violation.assumed:
            constraint = constraint_of(violation)
            out[constraint] = max(out.get(constraint, 0.0), violation.severity)
    return out


def smallest_conflict(broken: Sequence[frozenset[Constraint]]) -> tuple[Constraint, ...]:
    """The fewest constraints of which every set holds one; empty where some set is empty.

    Exact up to three constraints, then irreducible: no member can be left out. Ties go to the first in order.
    """
    if not broken or any(not each for each in broken):
        return ()
    least = [each for each in set(broken) if not any(other < each for other in broken)]
    least.sort(key=sorted)
    every = sorted(frozenset().union(*least))
    for size in range(1, EXHAUSTIVE + 1):
        for chosen in combinations(every, size):
            if all(each & frozenset(chosen) for each in least):
                return chosen
    needed = list(every)
    for candidate in every:
        rest = frozenset(needed) - {candidate}
        if all(each & rest for each in least):
            needed.remove(candidate)
    return tuple(needed)


def conflicts_in(broken: Sequence[frozenset[Constraint]]) -> tuple[tuple[Constraint, ...], ...]:
    """Smallest conflicts one after the other, each without the constraints of those before; empty where a set is."""
    out: list[tuple[Constraint, ...]] = []
    seen: frozenset[Constraint] = frozenset()
    while conflict := smallest_conflict([each - seen for each in broken]):
        out.append(conflict)
        seen |= frozenset(conflict)
    return tuple(out)


def conflicts_among(pool: Sequence[CostEstimate]) -> tuple[Conflict, ...]:
    """Why no design of a pool, which is every one that was priced, is feasible; nothing where one is."""
    broken = [broken_by(estimate) for estimate in pool]
    out = []
    for constraints in conflicts_in([frozenset(each) for each in broken]):
        relaxed = []
        for dropped in constraints:
            rest = frozenset(constraints) - {dropped}
            able = [estimate for estimate, sets in zip(pool, broken, strict=True) if not rest & sets.keys()]
            if able:
                chosen = best_of(able)
                relaxed.append(Relaxed(dropped, chosen, broken_by(chosen).get(dropped, 0.0)))
        out.append(Conflict(constraints, tuple(relaxed)))
    return tuple(out)


def said(constraint: Constraint, limits: Limits) -> str:
    """A constraint in words."""
    of = f" '{constraint.name}'" if constraint.name else ""
    target, account = limits.partition_entities_per_s, limits.account_requests_per_s
    reach = limits.range_entities_per_s
    sentences = {
        "hot-partition": f"no partition takes more than {target:,.0f} entities/s at the peak",
        "hot-entity": f"no entity takes more than {target:,.0f} requests/s at the peak",
        "hot-entity-contention": "no entity is read and written back faster than its round trips allow",
        "hot-range": f"no range of partitions takes more than {reach:,.0f} entities/s at the peak",
        "append-only": f"no range takes more than {reach:,.0f} inserts/s at the peak",
        "scan-load": f"scans stay under {account:,.0f} entities/s",
        "account": f"all requests stay under {account:,.0f}/s",
        "not-unique": "every entity has a key of its own",
        "key-too-long": f"keys stay within {limits.key_units_max:,} UTF-16 units",
        "transaction-broken": f"every set of transaction{of} is one group transaction",
        "isolation": "the isolating property leads every PartitionKey",
        "secret-shown": "no key shows a property that is declared secret",
        "entity-too-large": f"entities stay within {limits.entity_bytes:,} bytes",
        "budget": f"the budget of{of}",
    }
    return sentences.get(constraint.code, constraint.code.replace("-", " ") + of)

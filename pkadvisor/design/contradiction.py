"""Constraints that no scheme holds together: the smallest set of them, and what each one alone stands in the way of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from pkadvisor.design.estimates import CostEstimate
from pkadvisor.design.search import best_of

RULES = {
    "not-unique": "every entity has a key of its own",
    "key-too-long": "every key fits the service",
    "isolation": "what is isolated leads every PartitionKey",
    "hot-partition": "no partition passes its target",
    "append-only": "no key range takes more inserts than its target",
    "hot-range": "no run of partitions passes its target",
    "scan-load": "scans stay below the account's target",
    "account": "all requests stay below the account's target",
}
"""What each code of a violation asks for; transactions are named one by one."""


@dataclass(frozen=True, slots=True)
class Way:
    """The best scheme if one constraint is given up, and what it still breaks besides."""

    without: str
    found: CostEstimate
    still: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Constraints of which every scheme that was looked at breaks one at least; no fewer have that property."""

    constraints: tuple[str, ...]
    ways: tuple[Way, ...]


def broken_by(found: CostEstimate) -> frozenset[str]:
    """The constraints that a scheme breaks at the declared load, each as a sentence."""
    codes = {v.code for v in found.violations if not v.assumed}
    names = {RULES[code] for code in codes if code in RULES}
    names |= {code for code in codes if code not in RULES and not code.startswith("transaction-")}
    if "transaction-broken" in codes:
        names |= {f"transaction '{t.name}' is atomic" for t in found.transactions if t.required and not t.kept}
    if "transaction-too-large" in codes:
        large = [t for t in found.transactions if t.required and t.kept and t.too_large]
        names |= {f"transaction '{t.name}' fits one group transaction" for t in large}
    return frozenset(names)


def contradiction(pool: Sequence[CostEstimate]) -> Contradiction | None:
    """The smallest set of constraints that nothing in the pool holds together; None where something holds all.

    A proof for the schemes at hand, by trying every set of constraints by size: there are as many as kinds of rules.
    """
    breaks = [broken_by(found) for found in pool]
    if not breaks or not all(breaks):
        return None
    names = sorted(frozenset.union(*breaks), key=lambda name: (name not in RULES.values(), name))
    size = next(n for n in range(1, len(names) + 1) if any(_hits(some, breaks) for some in combinations(names, n)))
    first = next(some for some in combinations(names, size) if _hits(some, breaks))
    ways = []
    for name in first:
        best = best_of([_without(found, name) for found in pool])
        original = next(found for found in pool if found.scheme == best.scheme)
        ways.append(Way(name, original, tuple(sorted(broken_by(original) - {name}))))
    return Contradiction(first, tuple(ways))


def _hits(some: Sequence[str], breaks: Sequence[frozenset[str]]) -> bool:
    return all(not found.isdisjoint(some) for found in breaks)


def _without(found: CostEstimate, name: str) -> CostEstimate:
    """The estimate as if one constraint did not exist."""
    # Of two broken transactions one is as bad as both: the violation stays while another is broken.
    kept = tuple(v for v in found.violations if broken_by(replace(found, violations=(v,))) != {name})
    return replace(found, violations=kept)

"""The facts that rules are written over: computed once for each subject, each with its unit and its basis.

A fact is a function of a subject; None means that it is not known, and then no condition that hangs on it holds. For
every fact ``x.y`` that may be unknown there is the fact ``x.y_known``. Every limit of the store is a fact ``limit.…``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType

from pkadvisor.limits import NAMES, Limits
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts import (
    changes,
    costs,
    filters,
    fronts,
    growth,
    index_rows,
    keys,
    loads,
    merged_keys,
    properties,
    queries,
    ranges,
    shared_keys,
    sizes,
    stressed,
    tables,
    write_access,
    writes,
)
from pkadvisor.review.facts.base import Fact, KnownValue
from pkadvisor.review.facts.key_parts import digits, parts, sensitive, values
from pkadvisor.review.views.expressions import FactType, Language, Value
from pkadvisor.review.views.findings import ShownFact
from pkadvisor.review.views.subjects import Scope, Subject, visible

FACTS: tuple[Fact, ...] = (
    *tables.FACTS,
    *loads.FACTS,
    *fronts.FACTS,
    *ranges.FACTS,
    *growth.FACTS,
    *keys.FACTS,
    *merged_keys.FACTS,
    *shared_keys.FACTS,
    *parts.FACTS,
    *values.FACTS,
    *sensitive.FACTS,
    *digits.FACTS,
    *properties.FACTS,
    *queries.FACTS,
    *filters.FACTS,
    *writes.FACTS,
    *write_access.FACTS,
    *index_rows.FACTS,
    *sizes.FACTS,
    *costs.FACTS,
    *stressed.FACTS,
    *changes.FACTS,
)
"""All facts; a new one is a function and a line in the module of its scope."""

BY_NAME: dict[str, Fact] = {fact.name: fact for fact in FACTS}
LIMIT = "limit."
KNOWN = "_known"


@lru_cache(maxsize=16)
def types_for(scope: Scope) -> Mapping[str, FactType]:
    """The facts that a rule of this scope may name."""
    seen = {f"{s}." for s in visible(scope)}
    out: dict[str, FactType] = {}
    for fact in FACTS:
        if fact.name.split(".")[0] + "." in seen:
            out[fact.name] = fact.type
            if fact.may_be_unknown:
                out[fact.name + KNOWN] = FactType.BOOL
    return MappingProxyType(out | {f"{LIMIT}{name}": FactType.NUMBER for name in NAMES})


@lru_cache(maxsize=16)
def language(scope: Scope) -> Language:
    """The expressions that a rule of this scope may hold."""
    return Language(types_for(scope))


class FactBook:
    """The facts of all subjects of a design, each computed at most once."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._found: dict[tuple[str, int], KnownValue | None] = {}
        self._kept: list[Subject] = []
        """Subjects looked at: while they live, no other has their id."""

    def known(self, name: str, subject: Subject) -> KnownValue | None:
        """A fact of a subject, or of what stands above it; None where it is not known. KeyError for no fact."""
        if name.startswith(LIMIT):
            entry = self.limits.of(name.removeprefix(LIMIT))
            return KnownValue(float(entry.value), Basis(entry.basis))
        if name not in BY_NAME and name.endswith(KNOWN):
            return KnownValue(self.known(name.removesuffix(KNOWN), subject) is not None, Basis.DERIVED)
        fact = BY_NAME[name]
        at = subject.above(Scope(name.split(".")[0]))
        key = (name, id(at))
        if key not in self._found:
            self._kept.append(at)
            self._found[key] = fact.of(at)
        return self._found[key]

    def values(self, names: tuple[str, ...], subject: Subject) -> dict[str, Value]:
        """Those of the facts that are known."""
        known_facts = {name: self.known(name, subject) for name in names}
        return {name: known.value for name, known in known_facts.items() if known is not None}

    def shown(self, name: str, subject: Subject) -> ShownFact | None:
        """A fact as a finding shows it."""
        known = self.known(name, subject)
        if known is None:
            return None
        fact = BY_NAME.get(name)
        unit = fact.unit if fact else self.limits.of(name.removeprefix(LIMIT)).unit if name.startswith(LIMIT) else ""
        return ShownFact(name, known.value, unit, known.basis, fact.from_data if fact else False)

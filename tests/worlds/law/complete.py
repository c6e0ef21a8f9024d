"""That the printed requests bring every entity that the filter selects, and after the client's part no other one; and
that they read no period without a moment that is asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tests.worlds.answers import Instance
from tests.worlds.key_text import properties
from tests.worlds.model import Asked, Scheme
from tests.worlds.periods import following, start_of
from tests.worlds.printed import KEYS, satisfied
from tests.worlds.requests import admitted
from tests.worlds.rows import Layout, Stored
from tests.worlds.truth import Broken, Counting
from tests.worlds.values import order_of, time_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.worlds.values import Value

INSTANCES = 8
"""Sets of parameters for which the rows are looked at one by one."""


def missing_rows(asked: Asked, layout: Layout, counting: Counting, scheme: Scheme) -> Iterator[Broken]:
    """At most one broken law for a class: the first set of parameters whose answer is wrong."""
    every = counting.answers.instances
    counting.requests.made = 0
    for instance in every[:: max(1, len(every) // INSTANCES)][:INSTANCES]:
        found = wrong_answer(asked, layout, counting, instance) or _needless_period(layout, counting, instance)
        if found is not None:
            shown = dict(instance.values)
            what = f"{asked.name} for {shown}: the answer of {counting.requests.plan.filter!r}"
            yield Broken("counted", what, scheme.text, *found, counting.requests.plan)
            return


def wrong_answer(asked: Asked, layout: Layout, counting: Counting, instance: Instance) -> tuple[str, str] | None:
    """(what the requests bring, what they should) for one set of parameters; None where they agree."""
    plan, kind = counting.requests.plan, layout.kind
    matching = counting.answers.matching(instance)
    brought: list[int] = []
    for sent in counting.requests.of(instance.values):
        if plan.back and asked.top is not None and len(brought) >= asked.top:
            break
        hits = 0
        for row in layout.rows[sent.start : sent.stop]:
            pointing = layout.scheme.each_key()[row.via][2] == "pointer"
            if not admitted(sent, row) or (pointing and plan.conditions):
                continue
            entity = kind.rows[row.entity]
            if not all(satisfied(c, entity, instance.values, kind.types) for c in plan.conditions):
                continue
            hits += 1
            if (row.via == plan.via or not plan.own_kind) and _kept(plan.client, row, matching):
                brought.append(row.entity)
            if plan.top is not None and hits == plan.top:
                break
    if len(set(brought)) != len(brought):
        return f"{len(brought)} rows", f"{len(set(brought))} entities, some came twice"
    extra, top = set(brought) - matching, asked.top
    if extra:
        return f"{len(extra)} entities that do not match", "none"
    size = len(matching) if top is None else min(top, len(matching))
    if top is None or not asked.order_by:
        return None if len(brought) >= size else (f"{len(brought)} entities", f"{size}")
    ranks = sorted(_rank(kind.rows[n], asked, kind.types) for n in matching)[:size]
    mine = sorted(_rank(kind.rows[n], asked, kind.types) for n in brought)[:size]
    return None if ranks == mine else (f"{len(brought)} entities, not the first ones", f"the first {size}")


def _needless_period(layout: Layout, counting: Counting, instance: Instance) -> tuple[str, str] | None:
    """(what the requests read beside the periods between the bounds of the filter, nothing) for one set of parameters;
    None where they read only these."""
    requests = counting.requests
    for name, period in requests.bounded_periods():
        source, pattern = properties(period)[0], str(period.arguments[1])
        low, high = requests.bounds_of(source, instance.values)
        for sent in requests.of(instance.values):
            narrowed = name == KEYS[0] or sent.partition is not None
            for row in layout.rows[sent.start : sent.stop] if narrowed else ():
                moment = layout.kind.rows[row.entity][source]
                if row.via != requests.plan.via or not isinstance(moment, int):
                    continue
                if not start_of(low, pattern) <= moment < following(high, pattern):
                    return f"a row of {time_text(moment)}", f"periods of {time_text(low)} to {time_text(high)}"
    return None


def _kept(client: tuple[str, ...], row: Stored, matching: frozenset[int]) -> bool:
    """Whether the client keeps a row: what was left to it to filter is what the declared filter says."""
    return not any(s.startswith("keep the rows that satisfy") for s in client) or row.entity in matching


class _Turned:
    """A value that sorts the other way round."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __lt__(self, other: _Turned) -> bool:
        return bool(other.value < self.value)  # type: ignore[operator]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Turned) and self.value == other.value

    __hash__ = None  # type: ignore[assignment]


def _rank(row: Mapping[str, Value | None], asked: Asked, types: Mapping[str, str]) -> list[tuple[bool, object]]:
    """What an entity is ordered by; one without the property comes last."""
    out: list[tuple[bool, object]] = []
    for name, falling in asked.order_by:
        value = row[name]
        order = 0 if value is None else order_of(value, types[name])
        out.append((value is None, _Turned(order) if falling else order))
    return out

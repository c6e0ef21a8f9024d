"""What falls on one partition by the declared draws: certain without any data.

Loads are lower bounds: a read counts as one entity. Of Zipf's law the most frequent of n values is asked for with
probability 1 / (1 + 2^-s + ... + n^-s), which is least where n is endless: 1 / ζ(s), for exponents s above 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.observe.workload import Draw, DrawBy, Operation, QueryClass
from pkadvisor.review.views.key_loads import (
    INSERTS,
    at_peak,
    declared_entities,
    distinct_of,
    follows_clock,
    highest_together,
    partitions_most,
    rated,
    read_first,
    taken_beside,
)
from pkadvisor.review.views.names import counter_of, unique
from pkadvisor.review.views.views import TableView
from pkadvisor.values import dataclass

TERMS = 10_000
"""Terms of a sum over ranks that are added one by one; the rest is bounded by an integral."""
ONE_PARTITION = (Access.POINT, Access.ROW_RANGE, Access.PARTITION_SCAN)


@dataclass(frozen=True, slots=True)
class MissingFact:
    """The fact that would tell whether one partition passes its target, and the load that may fall on one."""

    fact: str
    per_s: float


def most_frequent_share(exponent: float, values: float | None) -> float:
    """The least share of draws that the most frequent of at most so many values takes; None: nobody knows how many."""
    if values is None:
        # 1 + 2^-s + ... is at most TERMS of its terms and the integral over the rest.
        return 1 / (_ranks(TERMS, exponent) + TERMS ** (1 - exponent) / (exponent - 1)) if exponent > 1 else 0.0
    first = min(int(values), TERMS)
    rest = 0.0
    if values > first:
        power = 1 - exponent
        rest = math.log(values / first) if power == 0 else (values**power - first**power) / power
    return 1 / (_ranks(first, exponent) + rest)


def _ranks(count: int, exponent: float) -> float:
    return math.fsum(rank**-exponent for rank in range(1, count + 1))


def drawn_partition_per_s(view: TableView) -> float | None:
    """Requests a second at the peak to the partition that the draws ask for most, at the least; None where no draw
    tells."""
    named = ((q, q.rate.sustained_per_s * taken_beside(q, view)) for q in drawn_to_one(view))
    return highest_together(view, ((ranked_by(q), q, per_s * asked_share(q, view)) for q, per_s in named))


def drawn_to_one(view: TableView) -> Sequence[QueryClass]:
    """Classes of which the declared draw sends a share to one partition of the main key, new entities among them."""
    inserts = [q for q in rated(view) if q.operation in INSERTS and q.draw.stated] if view.scheme is not None else []
    return [q for q in (*in_one_partition(view), *inserts) if asked_share(q, view) > 0]


def ranked_by(query: QueryClass) -> tuple[str, ...]:
    """What a draw ranks: classes over the same values have the same most frequent one."""
    return tuple(sorted(query.draw.of))


def asked_share(query: QueryClass, view: TableView) -> float:
    """The least share of the requests of a class that the declared draw sends to one partition."""
    return _share(query.draw, view) if partition_names(view) <= set(query.draw.of) else 0.0


def asked_entity_share(query: QueryClass, view: TableView) -> float:
    """The least share of the requests of a class that the declared draw sends to one entity: of what it ranks, spread
    over the declared values of the other properties of the key."""
    named = set(view.scheme.main.properties) if view.scheme is not None else set()
    others, known = named - set(query.draw.of), distinct_of(view)
    if not named or not partition_names(view) or not others <= known.keys():
        return 0.0
    return _share(query.draw, view) / math.prod(known[name] for name in others)


def missing_fact(view: TableView) -> MissingFact | None:
    """What nobody says, where the requests that go to one partition each would be too many if one took them all."""
    if view.has_data or view.scheme is None:
        return None
    target = view.limits.partition_entities_per_s * (_entities_alone(view) or 1.0)
    queries = in_one_partition(view)
    each = {q.name: q.rate.sustained_per_s * (1.0 + min(1.0, read_first(q, view))) for q in queries}
    load = at_peak(view, each) if queries else 0.0
    if partitions_most(view.scheme.main.partition, view) is not None or (drawn_partition_per_s(view) or 0.0) > target:
        return None  # decided: by the rule for few partitions, or by the draw
    if load <= target:
        return _of_inserts(view)
    known = distinct_of(view)
    for query in sorted(queries, key=lambda q: (-each[q.name], q.name)):
        draw = query.draw
        unknown = [name for name in draw.of if name not in known]
        if draw.by in (DrawBy.ZIPF, DrawBy.DISTINCT) and unknown and partition_names(view) <= set(draw.of):
            return MissingFact(f"how many values {unknown[0]} has (distinct)", load)
        if not draw.stated and draw.by is DrawBy.ENTITIES and each[query.name] > target:
            return MissingFact(f"how '{query.name}' draws its values (draw)", load)
    return _of_inserts(view)


def _of_inserts(view: TableView) -> MissingFact | None:
    """How many values the inserts spread over, where one partition cannot take all of them; None where a hash spreads
    them, where a time leads, which other rules judge, or where each entity has a partition of its own."""
    assert view.scheme is not None
    parts = variable(view.scheme.main.partition)
    alone = not variable(view.scheme.main.row)
    rows = [q for q in rated(view) if q.operation in INSERTS and not (alone and q.operation is Operation.INSERT)]
    loads = {q.name: q.rate.sustained_per_s * q.entities_per_request for q in rows}
    load = at_peak(view, loads) if loads else 0.0
    spread = load <= view.limits.partition_entities_per_s * (_entities_alone(view) or 1.0)
    if spread or not parts or any(p.hashing is not None for p in parts):
        return None
    names_of_parts = [n for part in parts for n in part.properties]
    entity = view.section.kind or view.section.table
    if follows_clock(parts[0], view) or any(counter_of(n, entity) or unique(n) for n in names_of_parts):
        return None  # each insert goes to another partition, or to the newest one
    open_names = [n for n in parts[0].properties if n not in distinct_of(view)]
    return MissingFact(f"how many values {open_names[0]} has (distinct)", load) if open_names else None


def in_one_partition(view: TableView) -> Sequence[QueryClass]:
    """Classes of which each request goes to one partition of the main key, to its entities or to index rows in it."""
    if view.scheme is None or not partition_names(view):
        return ()
    queries = []
    for query in rated(view):
        if query.operation in (Operation.INSERT, Operation.UPSERT):
            continue
        plan = view.plan_of(query)
        if (
            plan is None
            or plan.access not in ONE_PARTITION
            or not beside_main(plan, view)
            or plan.buckets > 1
            or plan.choices
        ):
            continue
        if plan.periods is None:
            queries.append(query)
    return queries


def beside_main(plan: AccessPlan, view: TableView) -> bool:
    """Whether a plan reads entities, or index rows that lie in the partitions of their entities."""
    scheme = view.scheme
    return scheme is not None and [*scheme.each_key()][plan.via][0].partition == scheme.main.partition


def partition_names(view: TableView) -> set[str]:
    """The properties that the main PartitionKey is made of; none where its texts follow from more than those."""
    assert view.scheme is not None
    parts = variable(view.scheme.main.partition)
    return set() if any(part.assigned for part in parts) else set(part_properties(parts))


def _share(draw: Draw, view: TableView) -> float:
    known = distinct_of(view)
    every = bool(draw.of) and all(n in known for n in draw.of)
    values = float(math.prod(known[n] for n in draw.of)) if every else None
    if values is None and set(draw.of) == partition_names(view):
        values = _entities_alone(view)
    if draw.by is DrawBy.ZIPF:
        return most_frequent_share(draw.exponent, values)
    return 1 / values if draw.by is DrawBy.DISTINCT and values is not None else 0.0


def _entities_alone(view: TableView) -> float | None:
    """How many entities there are, where each has a partition of its own; None where it has not, or nobody says."""
    return declared_entities(view) if view.scheme is not None and not variable(view.scheme.main.row) else None

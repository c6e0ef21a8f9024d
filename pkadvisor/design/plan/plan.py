"""From a query class and a key to the requests that answer it: what the key serves, and what is left to filter.

A filter is taken apart into conditions on single properties. The parts of a key are then walked from the left
(``access_plan``).

    PartitionKey walk            RowKey walk                 access
    all parts fixed              all parts fixed             point
    all parts fixed              a prefix or a range         row range
    all parts fixed              nothing                     partition scan
    all but a bounded period     as above                    as above, in a request for each period
    a prefix or a range          any                         partition-range scan
    nothing                      any                         table scan

A request carries comparisons on the keys, then on properties, at most 15 in all and never an ``or`` over keys. What
does not fit, what a pointer row does not carry, and what no server evaluates is left to the client.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import permutations

from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.key_terms import NOTHING_KNOWN, KeyTerm, KeyText, Known, bounds, direction, within
from pkadvisor.design.keys.scheme import Key, KeyScheme, leading_text, multi_valued, variable
from pkadvisor.design.keys.template import keys_meet
from pkadvisor.design.keys.transforms import Atom, Context, HashPart, Part, PeriodPart, part_properties, time_unit
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.plan.access_plan import FAN_OUT_MAX, Access, AccessPlan, Walk, enumerated, product, walk
from pkadvisor.design.plan.caller import Caller
from pkadvisor.design.plan.other_kinds import leaves_out, leaving_out
from pkadvisor.observe.workload import OrderBy, QueryClass
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import (
    MAX_COMPARISONS,
    Comparison,
    Filter,
    Operator,
    Or,
    comparison_count,
    comparisons,
    properties,
)
from pkadvisor.values import dataclass


def plan(
    query: QueryClass,
    wanted: Conditions,
    scheme: KeyScheme,
    types: Mapping[str, EdmType],
    known: Known = NOTHING_KNOWN,
    walks: Walks | None = None,
) -> tuple[AccessPlan, ...]:
    """The plans through each row (main key and index rows) that could serve the class; the costing picks the cheapest.
    ``walks``: those of these conditions under other schemes, which often have a key in common.

    Through a key with a period that the filter bounds there are two: the partition of each period by its whole key, and
    the range of partitions from the first to the last.
    """
    own = multi_valued(scheme)
    of_lists = replace(wanted, multi={**wanted.multi, **own}) if own else wanted
    planner = _Planner(query, of_lists, scheme, types, known, {} if own or walks is None else walks)
    caller = Caller(query, wanted, scheme, types)
    rows = [via for via in range(scheme.rows_per_entity) if planner.holds_every_answer(via)]
    rows = [via for via in rows if not caller.cannot_name(via)]
    one_by_one = [planner.plan(via, each) for via in rows if (each := planner.enumerated(via))]
    plans = [planner.plan(via) for via in rows]
    # Values of a choice in the RowKey are a request each; all rows of a partition may be fewer requests.
    whole = [planner.plan(p.via, row_choices=False) for p in plans if planner.chooses_rows(p)]
    # The newest n of an order that periods follow can also be had by going back period by period.
    backward = [planner.plan(via, periods, back=True) for via in rows if (periods := planner.back(via))]
    access_plans = (*one_by_one, *plans, *whole, *backward)
    return _keyed(tuple(_of_caller(p, caller) for p in access_plans))


def _of_caller(plan: AccessPlan, caller: Caller) -> AccessPlan:
    unknown, follows = caller.unknown(plan), caller.follows(plan)
    return replace(plan, unknown=unknown, follows=follows) if unknown or follows else plan


def _keyed(plans: tuple[AccessPlan, ...]) -> tuple[AccessPlan, ...]:
    """The plans without scans of all rows of a key, where another one needs a bounded number of requests by its key.

    No key is scanned whole that serves a query, however few rows it has: so no index row is worth its writes because it
    can be scanned whole.
    """
    if any(p.access is not Access.TABLE_SCAN and p.periods is None and not p.follows for p in plans):
        return tuple(p for p in plans if p.access is not Access.TABLE_SCAN)
    return plans


FINE_PERIODS = tuple(unit for unit, seconds in PERIOD_S.items() if seconds <= PERIOD_S["day"])
"""Periods so short that going back to the latest rows of what has been silent for months takes hundreds of requests."""


def bounded(plans: tuple[AccessPlan, ...], query: QueryClass) -> tuple[AccessPlan, ...]:
    """The plans whose work has a bound where no data tells one: no going back by days or hours, each of which holds
    rows of everything, for the rows of one thing. It may have written nothing for long, and then all is read."""
    if query.filter is None or any(not p.back and p.access is not Access.TABLE_SCAN for p in plans):
        return plans
    return tuple(p for p in plans if p.periods is None or not p.back or time_unit(p.periods.format) not in FINE_PERIODS)


Walks = dict[tuple[object, ...], Walk]
"""How far the same conditions reach into some keys, by all that a walk depends on beside them."""


@dataclass(frozen=True, slots=True)
class _Planner:
    query: QueryClass
    wanted: Conditions
    scheme: KeyScheme
    types: Mapping[str, EdmType]
    known: Known
    walks: Walks

    def holds_every_answer(self, via: int) -> bool:
        """Whether each entity that satisfies the filter has just one row there that a request can find.

        An index row is not written where a property of its PartitionKey is missing, and once for each value of a list:
        such properties must be compared by the filter, which nothing that is missing satisfies.
        """
        key, index_row = list(self.scheme.each_key())[via]
        if index_row is None:
            return True
        wanted = self.wanted
        compared = {*wanted.equal, *wanted.folded, *wanted.any_of, *wanted.ranges}
        compared |= {rule.target for rule in wanted.derived}
        lists = {name for part in (*key.partition, *key.row) if part.several for name in part.properties}
        missing = {name for part in key.partition for name in part.properties if self.known.may_lack(name)}
        return lists | missing <= compared

    def enumerated(self, via: int) -> PeriodPart | None:
        """The period of a PartitionKey whose periods can be asked one by one; None where there is none."""
        key, _ = list(self.scheme.each_key())[via]
        return enumerated(key.partition, self.wanted, self.types)

    def back(self, via: int) -> PeriodPart | None:
        """The period of a PartitionKey that holds the newest rows first, where a query asks for the first few of
        exactly that order and fixes everything else in it."""
        key, _ = list(self.scheme.each_key())[via]
        order = [o for o in self.query.order_by if o.property not in self.wanted.equal]
        if self.query.top is None or not order or not order[0].descending:
            return None
        of_order = [p.period for p in key.partition if p.period and p.properties == (order[0].property,)]
        part = of_order[0] if of_order else None
        if part is None or not self.known.always_there(part.property):
            return None
        key_walk = walk(key.partition, self.wanted, self.types, through=part)
        if not key_walk.complete or key_walk.buckets or key_walk.choices:
            return None
        return part if part.order(Context(dict(self.types))) == 1 else None

    def chooses_rows(self, plan: AccessPlan) -> bool:
        """Whether a plan sends a request for each value of a choice in the RowKey that could be left to the server.

        Of a list it could not: an entity has a row for each of its values, and would come several times.
        """
        key, _ = list(self.scheme.each_key())[plan.via]
        in_partition = set(part_properties(key.partition))
        lists = {name for part in key.row if part.several for name in part.properties}
        return bool({*plan.choices} - in_partition - lists)

    def plan(
        self, via: int, periods: PeriodPart | None = None, *, back: bool = False, row_choices: bool = True
    ) -> AccessPlan:
        """The plan through one row; with ``periods``, asking one of them after the other, with ``back`` from the
        newest on until enough is found. Without ``row_choices`` the RowKey takes no choice, and the server filters."""
        key, index_row = list(self.scheme.each_key())[via]
        wanted = self.wanted
        partition, row = self.walked(key, periods, row_choices=row_choices)
        partition = partition if self.range_atom(partition.range_part, key.partition) else partition.by_beginning()
        days = key.partition if partition.complete and periods is None else ()
        row = row if self.range_atom(row.range_part, key.row, days) else row.by_beginning()
        exact = partition.complete
        access, equal_atoms, range_atom = self.access(key, partition, row, periods)
        fans, choices = tuple[HashPart, ...](), tuple[str, ...]()
        served = set[str]()
        if access is not Access.TABLE_SCAN:
            fans = (*partition.buckets, *(row.buckets if exact else ()))
            choices = tuple(dict.fromkeys((*partition.choices, *(row.choices if exact else ()))))
            served = {*partition.exact, *(row.exact if exact else ())}
        served |= self.by_row_alone(partition, row)
        bounded = row.range_part if exact and range_atom and row.range_part else partition.range_part
        if range_atom and range_atom[0] == "p" and bounded is not None and bounded.injective:
            # A missing value stands above ASCII and below other letters: a range of texts may take it in.
            texts = self.types.get(range_atom[1], EdmType.STRING) is EdmType.STRING
            if not texts or self.known.always_there(range_atom[1]):
                served.add(range_atom[1])
        rest = self.rest(served)
        terms, left_out = self.within_kind(self.terms(key, partition, row, access), key, partition, row, access)
        multi = set(wanted.multi)
        pointer = index_row is not None and index_row.copy == "pointer"
        sent, client = _divided(rest, len(terms), multi, pointer=pointer)
        own_kind = self.other_rows_may_match(via, terms, (partition.fixed, row.fixed), left_out, access)
        order = [o for o in self.query.order_by if o.property not in wanted.equal and o.property not in choices]
        ordered = self.order_served(order, key, partition, row, exact)
        still = {p for f in wanted.residual for p in properties_of(f)}
        return AccessPlan(
            query=self.query.name,
            access=access,
            via=via,
            pointer=pointer,
            equal_atoms=equal_atoms,
            range_atom=range_atom,
            periods=periods,
            fans=fans,
            choices=choices,
            unserved=tuple(p for p in wanted.properties if p not in served or p in still),
            order_served=ordered,
            terms=tuple(terms),
            rest=sent,
            client=client,
            own_kind=own_kind,
            periods_open=periods is not None
            and (periods.property not in wanted.ranges or wanted.ranges[periods.property].high is None),
            back=back,
            types=self.types,
            left_out=left_out,
            fixed=partition.fixed,
            begun=partition.beginning is not None,
            top=self.query.top if ordered and not client and not own_kind else None,
        )

    def walked(self, key: Key, periods: PeriodPart | None, *, row_choices: bool) -> tuple[Walk, Walk]:
        """How far the filter reaches into the PartitionKey and into the RowKey."""
        of_partition, walks = (key.partition, periods), self.walks
        if of_partition not in walks:
            walks[of_partition] = walk(key.partition, self.wanted, self.types, through=periods)
        left = FAN_OUT_MAX // max(1, product(walks[of_partition].buckets))
        of_row = (key.row, left, row_choices)
        if of_row not in walks:
            wanted = self.wanted if row_choices else replace(self.wanted, any_of={})
            walks[of_row] = walk(key.row, wanted, self.types, fan_out_max=left)
        return walks[of_partition], walks[of_row]

    def other_rows_may_match(
        self, via: int, terms: list[KeyTerm], fixed: tuple[int, int], left_out: Collection[str], access: Access
    ) -> bool:
        """Whether conditions over keys take in rows of the scheme beside those of ``via``."""
        keys = [key for key, _ in self.scheme.each_key()]
        return not all(
            leaves_out(access, left_out, keys[via], other) or self.apart(keys[via], other, terms, fixed)
            for i, other in enumerate(keys)
            if i != via
        )

    def access(
        self, key: Key, partition: Walk, row: Walk, periods: PeriodPart | None
    ) -> tuple[Access, tuple[Atom, ...], Atom | None]:
        """(how requests reach rows, the groupings that they fix, the one that they bound) of the walks of both keys."""
        if partition.complete:
            in_row = self.range_atom(row.range_part, key.row, () if periods else key.partition)
            range_atom = in_row or self.range_atom(periods, key.partition)
            if row.complete:
                access = Access.POINT
            elif row.fixed or row.beginning or in_row:
                access = Access.ROW_RANGE
            else:
                access = Access.PARTITION_SCAN
            return access, (*partition.atoms, *row.atoms), range_atom
        in_partition = self.range_atom(partition.range_part, key.partition)
        if partition.fixed or partition.beginning or in_partition:
            return Access.PARTITION_RANGE_SCAN, partition.atoms, in_partition
        return Access.TABLE_SCAN, (), None

    def range_atom(self, part: Part | None, parts: tuple[Part, ...], days: tuple[Part, ...] = ()) -> Atom | None:
        """The grouping that a range bounds; None where the order of the key is not that of the values.

        ``days``: the parts of the PartitionKey, which holds the range whole. Within a day a time of day is the time.
        """
        if part is not None and rises_in(part, days):
            name = part.properties[0]
            return ("t", name, part.coarse_unit) if part.coarse_unit else ("p", name)
        if part is None or direction(part, parts, self.types, self.known) == 0:
            return None
        return part.atom

    def terms(self, key: Key, partition: Walk, row: Walk, access: Access) -> list[KeyTerm]:
        """The comparisons on both keys."""
        wanted, types, known = self.wanted, self.types, self.known
        if partition.complete:
            terms = [KeyTerm("PartitionKey", "eq", partition.text)]
            if row.complete:
                return [*terms, KeyTerm("RowKey", "eq", row.text)]
            if row.beginning is not None:
                return [*terms, *within("RowKey", row.beginning)]
            part = row.range_part
            rises = part is not None and rises_in(part, key.partition)
            return [*terms, *bounds("RowKey", key.row, row.text, part, wanted, types, known, rises=rises)]
        if access is Access.PARTITION_RANGE_SCAN and partition.beginning is not None:
            terms = within("PartitionKey", partition.beginning)
        elif access is Access.PARTITION_RANGE_SCAN:
            part = partition.range_part
            terms = bounds("PartitionKey", key.partition, partition.text, part, wanted, types, known)
        else:
            terms = within("PartitionKey", KeyText().plus(leading_text(key.partition)))
        if self.by_row_alone(partition, row):
            terms.append(KeyTerm("RowKey", "eq", row.text))
        elif len(self.scheme.index_rows):  # rows of another kind lie in the same table
            terms += within("RowKey", KeyText().plus(leading_text(key.row)))
        return terms

    def by_row_alone(self, partition: Walk, row: Walk) -> frozenset[str]:
        """The folded texts that a scan over several partitions compares by a whole RowKey: no property is folded."""
        whole = row.complete and not (partition.complete or row.buckets or row.choices)
        return row.exact.intersection(self.wanted.folded) if whole else frozenset()

    def within_kind(
        self, terms: list[KeyTerm], key: Key, partition: Walk, row: Walk, access: Access
    ) -> tuple[list[KeyTerm], frozenset[str]]:
        """The comparisons, bounded by the beginnings of other kinds of rows in the partition where the RowKey fixes
        none, and in the table where the whole table is read; and the beginnings that are left out."""
        others, context = [other for other, _ in self.scheme.each_key() if other != key], Context(dict(self.types))
        if access is Access.TABLE_SCAN:
            labels = [leading_text(other.partition) for other in others]
            return leaving_out(terms, "PartitionKey", key.partition[0], labels, context, self.known)
        if not partition.complete or row.complete or row.text.pieces or row.beginning or not key.row:
            return terms, frozenset()
        labels = [leading_text(other.row) for other in others if other.partition == key.partition]
        return leaving_out(terms, "RowKey", key.row[0], labels, context, self.known)

    def rest(self, served: set[str]) -> list[Filter]:
        """The conditions that the key does not settle, those on single properties first."""
        wanted = self.wanted
        out: list[Filter] = []
        for name in wanted.properties:
            if name in served:
                continue
            if name in wanted.equal:
                out.append(Comparison(name, Operator.EQ, wanted.equal[name]))
            if name in wanted.folded:
                out.append(Comparison(name, Operator.EQ, wanted.folded[name], folded=True))
            if name in wanted.any_of:
                out.append(Or(tuple(Comparison(name, Operator.EQ, o) for o in wanted.any_of[name])))
            if name in wanted.ranges:
                span = wanted.ranges[name]
                if span.low is not None:
                    out.append(Comparison(name, Operator.GE if span.low_inclusive else Operator.GT, span.low))
                if span.high is not None:
                    out.append(Comparison(name, Operator.LE if span.high_inclusive else Operator.LT, span.high))
        return list(dict.fromkeys([*out, *wanted.residual]))

    def apart(self, key: Key, other: Key, terms: list[KeyTerm], fixed: tuple[int, int]) -> bool:
        """Whether no row under ``other`` can meet the comparisons of a request for rows under ``key``, of which these
        fix so many variable parts of the PartitionKey and the RowKey."""
        operators = {term.name: term.operator for term in terms}
        halves = (("PartitionKey", key.partition, other.partition), ("RowKey", key.row, other.row))
        for (name, parts, others), known in zip(halves, fixed, strict=True):
            if name not in operators:
                continue
            label = leading_text(parts)  # all that a request for such rows compares with begins so
            if label and not self.known.begins(others, label):
                return True
            if not keys_meet(parts, None if operators[name] == "eq" else known, others, self.types):
                return True
        if operators.get("PartitionKey") != "eq" or key.partition == other.partition:
            return False
        theirs = leading_text(other.partition)
        if theirs and not self.known.begins(key.partition, theirs):
            return True
        if not all(self.known.meets(*pair) for pair in permutations((key.partition, other.partition))):
            return True
        return self.labelled_apart(key.partition, other.partition) or self.labelled_apart(
            other.partition, key.partition
        )

    def labelled_apart(self, parts: tuple[Part, ...], others: tuple[Part, ...]) -> bool:
        """Whether a label behind what both PartitionKeys begin with, such as a tenant, tells their keys apart."""
        least = min(len(parts), len(others))
        shared = next((n for n in range(least) if parts[n] != others[n]), least)
        place = shared - 1
        lead = variable(parts[:shared])
        if len(lead) != 1 or parts[place] != lead[0] or len(lead[0].properties) != 1 or len(parts) <= shared:
            return False
        label = parts[shared].constant
        return bool(label) and not self.known.goes_on(others, place, label or "")

    def order_served(self, order: list[OrderBy], key: Key, partition: Walk, row: Walk, exact: bool) -> bool:
        """Whether each request's rows come back in the wanted order, so that ``$top`` may stop early."""
        if not order:
            return True
        rows = [(part, key.row) for part in variable(key.row)]
        remaining = rows[row.fixed :]
        if not exact:
            remaining = [(part, key.partition) for part in variable(key.partition)]
            remaining = [*remaining[partition.fixed :], *rows]
            if partition.buckets or partition.choices:
                return False
        left = iter([(p, parts) for p, parts in remaining if not set(p.properties) <= self.wanted.equal.keys()])
        for by in order:
            way = -1 if by.descending else 1
            part, parts = next(left, (None, ()))
            # Periods in order, then the time itself or nothing else: the order of the time, as keys are unique.
            while (
                part is not None
                and (part.period or part.coarse_unit)
                and part.properties == (by.property,)
                and (self._way(part, parts, key) if part.coarse_unit else part.order(Context({}))) == way
            ):
                part, parts = next(left, (None, ()))
                if part is None:
                    return True
            if part is None or part.properties != (by.property,):
                return False
            if part.period or part.coarse_unit or self._way(part, parts, key) != way:
                return False
        return True

    def _way(self, part: Part, parts: tuple[Part, ...], key: Key) -> int:
        """The order of a part's text within one partition; a time of day rises there if all rows are of one day."""
        if rises_in(part, key.partition):
            return 1
        return direction(part, parts, self.types, self.known)


def rises_in(part: Part, partition: tuple[Part, ...]) -> bool:
    """Whether a time of day rises with the time in each partition, as all of its rows are of one day."""
    periods = [other.period for other in partition if other.properties == part.properties]
    return bool(part.rises_within) and any(period and period.unit in part.rises_within for period in periods)


def _divided(
    rest: list[Filter], terms: int, multi: set[str], *, pointer: bool
) -> tuple[tuple[Filter, ...], tuple[Filter, ...]]:
    """(conditions that the server evaluates, conditions left to the client)."""
    sent: list[Filter] = []
    client: list[Filter] = []
    room = MAX_COMPARISONS - terms
    for condition in rest:
        names = set(properties_of(condition))
        over_keys = isinstance(condition, Or) and names.intersection(KEYS)
        count = comparison_count(condition)
        folded = any(comparison.folded for comparison in comparisons(condition))
        if pointer or over_keys or folded or names & multi or count > room:
            client.append(condition)
        else:
            sent.append(condition)
            room -= count
    return tuple(sent), tuple(client)


def properties_of(filter_: Filter) -> tuple[str, ...]:
    """The properties of a filter."""
    return properties(filter_)

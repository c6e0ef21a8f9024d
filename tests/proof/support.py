"""The proof of a plan: its requests, run on a table, against the filter's own definition over every entity.

A *store* answers a ``$filter`` text with keys in its order, and a point read; a plain sorted table is one, Azurite
another. Nothing here knows how a plan was made: what is sent are the texts that the tool prints.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import islice
from typing import Any, Protocol

import polars as pl

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Each
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.plan.requests import ReturnedRow, admits, holds, requests
from pkadvisor.design.rows.demand import Demand
from pkadvisor.observe.workload import OrderBy, QueryClass
from pkadvisor.stress.requests.rows import Properties as Properties
from pkadvisor.stress.requests.rows import RowLayout as Layout
from pkadvisor.stress.requests.rows import Stored as Stored
from pkadvisor.stress.requests.rows import layout as layout
from pkadvisor.table.edm import EdmType, TypedValue, order_key, utf16_key
from pkadvisor.table.odata import Comparison, Filter, bind, conjuncts, evaluate, parameters, parse_filter
from tests.design.support import python_value
from tests.report.support import SAMPLES as ALL_SAMPLES
from tests.report.support import judged_sections
from tests.tiers import sizes

KEYS = ("PartitionKey", "RowKey")
SAMPLES = sizes(("bank", "documents"), ALL_SAMPLES, "proofs")


class Store(Protocol):
    """What a plan's requests are sent to."""

    def query(self, filter_text: str, top: int | None = None) -> list[tuple[str, str]]:
        """Keys of the rows that satisfy a filter, in the store's order."""

    def get(self, partition_key: str, row_key: str) -> bool:
        """Whether there is a row with a key."""


@dataclass
class PlainTable:
    """Rows in a sorted list, asked with ``$filter`` texts: the definition of a table, as short as can be."""

    rows: tuple[Stored, ...]
    scanned: int = 0
    _keys: list[tuple[bytes, bytes]] = field(default_factory=list)
    _matching: dict[str, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rows = tuple(sorted(self.rows, key=lambda r: (utf16_key(r[0]), utf16_key(r[1]))))
        self._keys = [(utf16_key(pk), utf16_key(rk)) for pk, rk, _ in self.rows]
        self._places = {(pk, rk) for pk, rk, _ in self.rows}

    def get(self, partition_key: str, row_key: str) -> bool:
        """Whether there is a row with a key."""
        return (partition_key, row_key) in self._places

    def query(self, filter_text: str, top: int | None = None) -> list[tuple[str, str]]:
        """Keys of the rows that satisfy a filter, in key order."""
        tree = parse_filter(filter_text) if filter_text else None
        mine = conjuncts(tree) if tree is not None else ()
        on_keys = [c for c in mine if isinstance(c, Comparison) and c.property in KEYS]
        rest = [c for c in mine if not (isinstance(c, Comparison) and c.property in KEYS)]
        start, end = self._slice(on_keys)
        out = []
        for number in range(start, end):
            pk, rk, properties = self.rows[number]
            keys = {"PartitionKey": TypedValue(EdmType.STRING, pk), "RowKey": TypedValue(EdmType.STRING, rk)}
            if all(evaluate(c, keys) for c in on_keys) and all(evaluate(c, {**properties, **keys}) for c in rest):
                out.append((pk, rk))
                if top is not None and len(out) == top:
                    break
        self.scanned += end - start
        return out

    def _slice(self, on_keys: Sequence[Comparison]) -> tuple[int, int]:
        """The run of rows that comparisons on the PartitionKey leave."""
        start, end = 0, len(self.rows)
        for c in on_keys:
            if c.property != "PartitionKey":
                continue
            assert isinstance(c.operand, TypedValue)
            key = utf16_key(str(c.operand.value))
            if c.operator in ("eq", "ge", "gt"):
                start = max(start, bisect_left(self._keys, (key, b"")))
            if c.operator in ("eq", "le"):
                end = min(end, bisect_left(self._keys, (key + b"\x00\x00", b"")))
            if c.operator == "lt":
                end = min(end, bisect_left(self._keys, (key, b"")))
        return start, max(start, end)


# -- the comparison --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One sample's entities and classes, cut to a size, with every scheme that was looked at for it."""

    name: str
    bench: Bench
    entities: tuple[Properties, ...]
    schemes: tuple[KeyScheme, ...]
    step: int
    memo: dict[tuple[str, int], list[int]] = field(default_factory=dict)
    _drawn: dict[tuple[str, int], list[dict[str, TypedValue]]] = field(default_factory=dict)

    @property
    def types(self) -> dict[str, EdmType]:
        """Property types."""
        return self.bench.population.types

    def classes(self) -> Iterator[tuple[QueryClass, Demand]]:
        """Classes that find entities by a filter."""
        for demand in self.bench.demands:
            if demand.query.filter is not None:
                yield demand.query, demand

    def instances(self, demand: Demand, count: int) -> list[dict[str, TypedValue]]:
        """Parameters of some requests of a class: the values of rows that it is drawn from, spread over them."""
        known = (demand.query.name, count)
        if known not in self._drawn:
            self._drawn[known] = self._draw(demand, count)
        return self._drawn[known]

    def _draw(self, demand: Demand, count: int) -> list[dict[str, TypedValue]]:
        frame = self.bench.population.frame
        rows = [int(row) for row in demand.instances]
        if demand.query.filter is not None:  # nobody asks for a value that is missing
            needed = [n for n in parameters(demand.query.filter) if n in frame.columns]
            present = frame.select(pl.all_horizontal(pl.col(n).is_not_null() for n in needed)) if needed else None
            asked = present.to_series().to_list() if present is not None else []
            rows = [row for row in rows if not asked or asked[row]]
        # Rows that were kept find something; one that was cut off finds what is like it, or nothing.
        kept = [row for row in rows if row % self.step == 0 and row // self.step < len(self.entities)]
        picked = [*kept[:: max(1, len(kept) // count)][:count], *rows[:1]]
        return [constants(frame.row(row, named=True), self.types) for row in dict.fromkeys(picked)]


def constants(values: Mapping[str, object], types: Mapping[str, EdmType]) -> dict[str, TypedValue]:
    """The typed values of a row; missing ones are absent. A range's bound has the type of its property."""
    out = {}
    for name, value in values.items():
        if value is not None:
            edm = types.get(name.removesuffix(".from").removesuffix(".until"), EdmType.STRING)
            out[name] = TypedValue(edm, python_value(value))  # type: ignore[arg-type]
    return out


def _searched(name: str) -> Iterator[tuple[Bench, tuple[KeyScheme, ...]]]:
    """The sections of a bundled sample, and every scheme of each search: main keys, buckets, index rows."""
    for judged in judged_sections(name):
        assert judged.bench is not None and judged.advice is not None
        advice = judged.advice
        estimates = [c for c in (advice.recommended, advice.current, *advice.ranking) if c is not None]
        # A scheme that gives two entities one key is rejected for that; there is nothing to run.
        unique = [c for c in estimates if all(v.code != "not-unique" for v in c.violations)]
        yield judged.bench, tuple({c.scheme.text: c.scheme for c in unique}.values())


@cache
def sample_cases(name: str, rows: int, *, spread: bool = True) -> tuple[Case, ...]:
    """A bundled sample's sections, cut to some entities, with every scheme that gives each entity its own key.

    The entities are spread over all there are, or the first ones: those of a log lie in a short time.
    """
    out = []
    for bench, schemes in _searched(name):
        population = bench.population
        frame = population.frame.head(population.rows)
        step = max(1, frame.height // rows) if spread else 1
        entities = tuple(
            constants({n: row[n] for n in population.types if n in row}, population.types)
            for row in frame.gather_every(step).head(rows).iter_rows(named=True)
        )
        out.append(Case(name, bench, entities, schemes, step))
    return tuple(out)


def expected(
    filter_: Filter | None, entities: Sequence[Properties], multi: Mapping[str, Each] | None = None
) -> list[int]:
    """Numbers of the entities that satisfy a filter, by its definition."""
    return [n for n, e in enumerate(entities) if filter_ is None or holds(filter_, e, multi or {})]


def answer(
    found: AccessPlan, asked: QueryClass, demand: Demand, place: Layout, store: Store, values: Mapping[str, TypedValue],
    entities: Sequence[Properties], types: Mapping[str, EdmType], ends: tuple[int | None, int | None],
) -> list[int]:  # fmt: skip
    """Entity numbers that a plan's requests bring, after the client's part, in the order of the answer."""
    rows: list[ReturnedRow] = []
    oldest, newest = ends
    for request in requests(found, demand.conditions, values, types, newest=newest, oldest=oldest):
        if found.back and asked.top is not None and len(rows) >= asked.top:
            break
        keys = store.query(request.filter, request.top)
        if request.point is not None:
            assert store.get(*request.point) == bool(keys), (request.point, keys)
        for pk, rk in keys:
            row = ReturnedRow(pk, rk, entities[place.entity_of[pk, rk]])
            if admits(found, place.scheme, row, values, types):
                rows.append(row)
    order = [o for o in asked.order_by if o.property in types]
    return [place.entity_of[r.partition_key, r.row_key] for r in arranged(found, order, asked.top, rows)]


def arranged(
    plan: AccessPlan, order: Sequence[OrderBy], top: int | None, rows: Iterable[ReturnedRow]
) -> list[ReturnedRow]:
    """The rows of all requests in the wanted order, cut off at ``top``; entities without the property come last.

    One request that answers in order is taken as it is; several are merged, and anything else is sorted.
    """
    audited_rows = list(rows)
    if order and (plan.several or not plan.order_served):
        for by in reversed(order):
            audited_rows.sort(key=partial(_sort_key, name=by.property), reverse=by.descending)
            audited_rows.sort(key=partial(_is_missing, name=by.property))
    return audited_rows if top is None else audited_rows[:top]


def _sort_key(row: ReturnedRow, name: str) -> Any:
    value = row.properties.get(name)
    return (value is not None, order_key(value) if value is not None else 0)


def _is_missing(row: ReturnedRow, name: str) -> bool:
    return name not in row.properties


def ends_of(found: AccessPlan, entities: Sequence[Properties]) -> tuple[int | None, int | None]:
    """The first and the last moment in the table of the property whose periods a plan enumerates."""
    if found.periods is None:
        return None, None
    moments = [e[found.periods.property].value for e in entities if found.periods.property in e]
    ticks = [m for m in moments if isinstance(m, int)]
    return min(ticks, default=0), max(ticks, default=0)


def pairs_of(case: Case, scheme: KeyScheme) -> set[tuple[str, str]]:
    """What is to be proved under a scheme, in the words of ``Proved``: each class that finds entities by a filter."""
    return {(f"{case.name}: {asked.name}", scheme.text) for asked, _ in case.classes()}


REQUESTS_MAX = 500
"""A scheme under which more are sent, period after period over years, may get few entities that lie close together."""


def placed(name: str, rows: int, close_rows: int, instances: int, every: int = 1) -> Iterator[tuple[Case, Layout, int]]:
    """Every n-th scheme of a sample with its rows, and for how many parameters its plans are run."""
    for spread, close in zip(sample_cases(name, rows), sample_cases(name, close_rows, spread=False), strict=True):
        for scheme in spread.schemes[::every]:
            many = asks_more(spread, scheme, REQUESTS_MAX, instances)
            case = close if many else spread
            yield case, layout(scheme, case.entities, case.types), 1 if many else instances


def asks_more(case: Case, scheme: KeyScheme, most: int, instances: int) -> bool:
    """Whether all plans of a scheme together send more requests: period after period over years, say."""
    return next(islice(_sent(case, scheme, instances), most, None), None) is not None


def _sent(case: Case, scheme: KeyScheme, instances: int) -> Iterator[object]:
    for query, demand in case.classes():
        for found in plan(query, demand.conditions, scheme, case.types, case.bench.population):
            oldest, newest = ends_of(found, case.entities)
            for values in case.instances(demand, instances):
                yield from requests(found, demand.conditions, values, case.types, newest=newest, oldest=oldest)


def difference(
    got: Sequence[int], wanted: Sequence[int], order: Sequence[OrderBy], top: int | None, entities: Sequence[Properties]
) -> str:
    """How an answer differs from the right one; empty where it does not."""
    if len(set(got)) != len(got):
        return f"{len(got) - len(set(got))} rows came twice"
    extra = set(got) - set(wanted)
    if extra:
        return f"{len(extra)} rows too many, such as {entities[min(extra)]}"
    size = len(wanted) if top is None else min(top, len(wanted))
    if len(got) != size:
        missing = set(wanted) - set(got)
        return f"{len(got)} rows instead of {size}" + (f"; {entities[min(missing)]} is missing" if missing else "")
    if order:
        ranks = [_rank(n, order, entities) for n in got]
        best = sorted(_rank(n, order, entities) for n in wanted)[: len(got)]
        if ranks != best:
            return "not in the promised order, or not the first ones"
    return ""


def _rank(number: int, order: Sequence[OrderBy], entities: Sequence[Properties]) -> tuple[object, ...]:
    """What an entity is ordered by; one without the property comes last."""
    out: list[object] = []
    for by in order:
        value = entities[number].get(by.property)
        key = order_key(value) if value is not None else None
        out.append((key is None, _Turned(key, by.descending)))
    return tuple(out)


@dataclass(frozen=True, order=False)
class _Turned:
    value: object
    descending: bool

    def __lt__(self, other: _Turned) -> bool:
        if self.value is None or other.value is None:
            return False
        less = self.value < other.value  # type: ignore[operator]
        more = other.value < self.value  # type: ignore[operator]
        return bool(more if self.descending else less)


@dataclass(frozen=True)
class Proved:
    """One plan for one set of parameters: how many entities it brought, and how that differs from what is right."""

    query: str
    scheme: str
    via: int
    entities: int
    wrong: str


def prove(case: Case, scheme: KeyScheme, store: Store, place: Layout, *, instances: int) -> Iterator[Proved]:
    """Every plan of every class under one scheme, run."""
    for asked, demand in case.classes():
        assert asked.filter is not None
        for found in plan(asked, demand.conditions, scheme, case.types, case.bench.population):
            ends = ends_of(found, case.entities)
            for number, values in enumerate(case.instances(demand, instances)):
                memo = (asked.name, number)
                if memo not in case.memo:
                    case.memo[memo] = expected(bind(asked.filter, values), case.entities)
                wanted = case.memo[memo]
                got = answer(found, asked, demand, place, store, values, case.entities, case.types, ends)
                order = [o for o in asked.order_by if o.property in case.types]
                wrong = difference(got, wanted, order, asked.top, case.entities)
                yield Proved(f"{case.name}: {asked.name}", scheme.text, found.via, len(got), wrong)

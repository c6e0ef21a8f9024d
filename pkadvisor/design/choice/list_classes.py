"""Queries that ask for one of several values of a property, and index rows with a row for each: which are weighed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pkadvisor.design.choice.asked_texts import asked, several_values
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import Key, KeyScheme, multi_valued
from pkadvisor.design.keys.transforms import ListPart
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import Demand, demands
from pkadvisor.design.rows.population import Population
from pkadvisor.observe.workload import Operation, QueryClass, Workload
from pkadvisor.table.odata import properties


def with_values_asked(bench: Bench) -> Bench:
    """The bench on which queries that ask for one of several values are counted over the rows for each value."""
    population, queries = bench.population, []
    for demand in bench.demands:
        query = demand.query
        lists = []
        if query.operation is Operation.QUERY and query.one_of is None:
            several = [(n, several_values(demand, n, population)) for n in asked(demand, population)]
            lists = [(n, s.part.delimiter) for n, s in several if s is not None and s.by_value]
        queries.append(replace(query, one_of=lists[0]) if len(lists) == 1 else query)
    if all(mine is demand.query for mine, demand in zip(queries, bench.demands, strict=True)):
        return bench
    workload = replace(bench.workload, classes=tuple(queries))
    changed = [
        demand if mine is demand.query else _again(mine, demand, workload, population)
        for mine, demand in zip(queries, bench.demands, strict=True)
    ]
    return replace(bench, workload=workload, demands=tuple(changed))


def _again(query: QueryClass, demand: Demand, workload: Workload, population: Population) -> Demand:
    """The demand of a class as of one that asks for one of several values."""
    rows, places = demand.instances, {}
    if len(rows) and int(rows[0]) >= population.rows:
        places = {query.name: (int(rows[0]), int(rows[-1]) + 1)}
    (again,) = demands(replace(workload, classes=(query,)), population, places)
    return again


def weighable(
    workload: Workload, scheme: KeyScheme | None, *, values: bool = False
) -> tuple[Workload, KeyScheme | None, tuple[str, ...]]:
    """Without what is planned and proved but not weighed: rows for each value of a property, and who asks for them.

    With ``values`` those of a PartitionKey are weighed, and queries of one value of them.
    """
    multi = multi_valued(scheme) if scheme is not None else {}
    if scheme is None or not multi:
        return workload, scheme, ()
    without_rows = without_list_rows(scheme, values=values)
    weighed = multi_valued(without_rows)
    workload = of_one_value(workload, without_rows)
    classes = workload.classes
    multi = {n: p for n, p in multi.items() if n not in weighed}
    one = {c.name for c in classes if c.one_of is not None}
    asking = [
        c.name
        for c in classes
        if c.filter is not None and set(properties(c.filter)) & {*multi, *weighed} and c.name not in one
    ]
    if not multi and not asking:
        return workload, scheme, ()
    multi = multi or weighed
    note = f"rows for each value of {', '.join(multi)} are not weighed: what they cost to read and write is left out"
    if asking:
        note += f", and so is {', '.join(asking)}; 'advisor explain query:{asking[0]}' shows its plan"
    classes = tuple(c for c in workload.classes if c.name not in asking)
    return replace(workload, classes=classes), without_rows, (note,)


def without_list_rows(scheme: KeyScheme, *, values: bool) -> KeyScheme:
    """A design without the index rows for each value that are not weighed; without ``values`` none of them is."""
    return replace(scheme, index_rows=tuple(row for row in scheme.index_rows if _weighed(row.key, values=values)))


def without_values_asked(bench: Bench) -> tuple[Bench, tuple[str, ...]]:
    """(the bench without the queries that ask for one of several values, their names)."""
    names = tuple(d.query.name for d in bench.demands if d.query.one_of is not None)
    classes = tuple(c for c in bench.workload.classes if c.name not in names)
    demands_left = tuple(d for d in bench.demands if d.query.name not in names)
    return replace(bench, workload=replace(bench.workload, classes=classes), demands=demands_left), names


def of_one_value(workload: Workload, scheme: KeyScheme | None) -> Workload:
    """The workload with the queries that ask for one of several values, as index rows of a design take them apart."""
    if scheme is None or not (lists := multi_valued(scheme)):
        return workload
    return replace(workload, classes=tuple(_of_one(c, lists) for c in workload.classes))


def _weighed(key: Key, *, values: bool) -> bool:
    """Whether rows under a key are weighed: of a key with rows for each value where one part of the PartitionKey makes
    them."""
    lists = [p for p in (*key.partition, *key.row) if p.several is not None]
    return not lists or (values and len(lists) == 1 and lists[0] in key.partition)


def _of_one(query: QueryClass, lists: Mapping[str, ListPart]) -> QueryClass:
    """A query that names one of several values of a property, as index rows of the design take it apart."""
    wanted = conditions(query.filter)
    names = [n for n in (*wanted.equal, *wanted.any_of) if n in lists]
    if query.operation is not Operation.QUERY or len(names) != 1:
        return query
    part = lists[names[0]]
    return replace(query, one_of=(part.property, getattr(part, "delimiter", "")))

"""Texts that a query asks for by equality and may mean otherwise: in another case, or as one of several values.

A store compares texts character by character. Where the data hold ``Bob`` and ``bob``, or a log asks for ``BOB``, a key
over ``{lower(name)}`` finds every spelling; where a property holds ``["red","big"]``, only rows for each value
(``{each(tags)}``) find the entities with one of them. Whether that is meant, only the application knows: keys with the
folded text compete with all others, and rows for each value are weighed beside the keys that win.

Queries that ask for one of several values of a property, and index rows with a row for each: which are weighed.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Protocol

from pkadvisor.design.choice.kind_labels import label_word
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import Key, KeyScheme, multi_valued, variable
from pkadvisor.design.keys.transforms import Each, ListPart, Lower, Part
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.rows.demand import Demand, demands
from pkadvisor.design.rows.list_values import list_rows
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.strange_values import shown_value
from pkadvisor.documents.part import OTHER_CASE, OTHER_ESCAPES
from pkadvisor.lazy import pl
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Operation, QueryClass, Workload
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import Parameter, TypedValue, properties
from pkadvisor.values import dataclass


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


LISTS_SHARE, DELIMITED_SHARE = 0.9, 0.3
"""Share of the distinct texts that must be JSON arrays, or have a delimiter, before a property is taken to hold several
values: assumed."""
FIRST_LOOK = 50
DELIMITERS = (";", ",", "|")
ASKED_SHARE = 0.5
"""Share of the requests of a class that must name one piece of longer texts before it is taken to ask for pieces."""


class Proposer(Protocol):
    """Whoever makes keys for a workload."""

    @property
    def bench(self) -> Bench:
        """What keys are weighed on."""

    def reading(self) -> list[Demand]:
        """Classes that find entities by a filter, the heaviest first."""

    def part(self, name: str) -> Part:
        """The piece of key for a property."""

    def join(self, parts: Iterable[Part], prefix: str = "") -> tuple[Part, ...]:
        """Parts with a separator between them, after a literal prefix."""


def asked(demand: Demand, population: Population) -> Iterator[str]:
    """The String properties that a class asks for by equality, and whose values are at hand."""
    for name in (*demand.conditions.equal, *demand.conditions.any_of):
        if population.has(name) and name not in population.hashed and population.types.get(name) is EdmType.STRING:
            yield name


def texts_asked(demand: Demand, name: str, population: Population) -> dict[str, float]:
    """The texts that a class asks of a property, each with its share of the requests."""
    wanted = demand.conditions
    operands = wanted.any_of[name] if name in wanted.any_of else (wanted.equal[name],)
    out: dict[str, float] = {}
    for operand in operands:
        if isinstance(operand, TypedValue):
            text = str(operand.value)
            out[text] = out.get(text, 0.0) + 1.0 / len(operands)
        elif isinstance(operand, Parameter) and population.has(operand.name) and not operand.offset:
            texts = population.frame.get_column(operand.name).gather(demand.instances)
            rows = pl.DataFrame({"text": texts.cast(pl.String), "weight": demand.weights}).drop_nulls()
            for text, weight in rows.group_by("text").agg(pl.col("weight").sum()).sort("text").iter_rows():
                out[text] = out.get(text, 0.0) + weight / len(operands)
    return out


@remembered("texts of entities")
def _own_texts(name: str, population: Population) -> pl.Series:
    """The distinct texts that entities have, sorted."""
    return population.frame.get_column(name)[: population.rows].drop_nulls().unique().sort()


# -- another case ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Spellings:
    """How the texts of a property differ in case: ``variants`` of the data have another spelling there; ``missed`` is
    the share of the requests of a class for a text that is there in another case only."""

    variants: int
    missed: float
    escaped: float = 0.0
    """The share that differs in the letters of %-escapes alone, which one client writes otherwise."""
    example: tuple[str, str] = ("", "")
    """A text that is asked for in another case, and that of the data."""

    @property
    def folded(self) -> bool:
        """Whether a key over the text in lower case finds what one over the text as it is does not."""
        return bool(self.variants or self.missed)


def spellings(demand: Demand, name: str, population: Population) -> Spellings | None:
    """The spellings of a property that a class asks for; None where case makes no difference."""
    by_folded = _by_folded(name, population)
    variants = sum(len(texts) for texts in by_folded.values() if len(texts) > 1)
    fold, missed, escaped, pairs = Lower(name), 0.0, 0.0, list[tuple[float, str, str]]()
    for text, weight in texts_asked(demand, name, population).items():
        others = by_folded.get(fold.changed(text), ())
        if not others or text in others:
            continue
        pairs.append((weight, text, others[0]))
        missed += weight
        escaped += weight if any(_escapes_alike(text) == _escapes_alike(other) for other in others) else 0.0
    example = max(pairs, default=(0.0, "", ""))[1:]
    return Spellings(variants, missed - escaped, escaped, example) if variants or missed else None


_ESCAPE = re.compile("%[0-9a-fA-F]{2}")


def _escapes_alike(text: str) -> str:
    """A text with its %-escapes in upper case."""
    return _ESCAPE.sub(lambda escape: escape[0].upper(), text)


@remembered("spellings")
def _by_folded(name: str, population: Population) -> dict[str, tuple[str, ...]]:
    out: dict[str, list[str]] = {}
    fold = Lower("text")
    for text in _own_texts(name, population).to_list():
        out.setdefault(fold.changed(text), []).append(text)
    return {folded: tuple(spelled) for folded, spelled in out.items()}


def _case_notes(demand: Demand, population: Population) -> Iterator[str]:
    for name in asked(demand, population):
        cases = spellings(demand, name, population)
        if cases is None:
            continue
        finds = f"{Lower(name)} finds every spelling; eq finds one"
        if cases.missed:
            yield f"{_share(cases.missed, demand, name, cases)}{OTHER_CASE}{finds}"
        if cases.escaped:
            yield f"{_share(cases.escaped, demand, name, cases)}{OTHER_ESCAPES}"
        if cases.variants:
            values = f"{cases.variants:,} values of {name}, which {demand.query.name} asks for,"
            yield f"{values} differ from another in case alone: if they mean the same, a key over {finds}"


def _share(share: float, demand: Demand, name: str, cases: Spellings) -> str:
    pair = " for ".join(f"'{shown_value(text)}'" for text in cases.example)
    return f"{percent(share)} of what '{demand.query.name}' asks of {name} ({pair})"


# -- several values --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Several:
    """A property whose texts hold several values. ``by_value``: the class asks for one of them, not for whole texts; of
    JSON arrays a declared parameter is taken for one."""

    part: Each
    by_value: bool


def several_values(demand: Demand, name: str, population: Population) -> Several | None:
    """How a property that a class asks for holds several values; None where it holds one."""
    own, texts = _own_texts(name, population), texts_asked(demand, name, population)
    for part in (Each(name), *(Each(name, d) for d in DELIMITERS)):
        values = _lists(part, own)
        pieces = {value for items in values.values() if len(items) > 1 for value in items}
        whole = any(len(values.get(text, ())) > 1 for text in texts)
        named = sum(weight for text, weight in texts.items() if text in pieces)
        by_value = not whole and named > 0 and named >= ASKED_SHARE * sum(texts.values())
        by_value |= not part.delimiter and _declared(demand, demand.conditions.equal.get(name), population)
        if pieces and (by_value or not part.delimiter):
            return Several(part, by_value)
    return None


def _declared(demand: Demand, operand: object, population: Population) -> bool:
    """Whether a class asks by a parameter of which no log tells the values."""
    logged = bool(len(demand.instances)) and int(demand.instances[0]) >= population.rows
    return isinstance(operand, Parameter) and not logged


def _lists(part: Each, texts: pl.Series) -> dict[str, tuple[str, ...]]:
    """The values of each text; empty where too few texts are lists."""
    all_texts = texts.to_list()
    if not part.delimiter and not any(text.lstrip().startswith("[") for text in all_texts[:FIRST_LOOK]):
        return {}
    values = {text: part.values_of(text) for text in all_texts}
    lists = sum(items != (text,) for text, items in values.items())
    return values if lists >= (DELIMITED_SHARE if part.delimiter else LISTS_SHARE) * len(all_texts) else {}


@dataclass(frozen=True, slots=True)
class EachCost:
    """What rows for each value cost: rows of an entity, and what a query for one value reads in how many requests."""

    rows: float
    read: float
    requests: float


def each_cost(demand: Demand, list_asked: Several, bench: Bench) -> EachCost:
    """Rows for each value weighed: means over the entities at hand, and over the requests of a class.

    A request for a whole text is taken to mean any of its values alike.
    """
    population, name = bench.population, list_asked.part.property
    column = population.frame.get_column(name)[: population.rows]
    values = {text: list_asked.part.values_of(text) for text in _own_texts(name, population).to_list()}
    of_rows = [() if text is None else values[text] for text in column.to_list()]
    others = list(_others(demand, name, population))
    instances = demand.instances.tolist()

    def with_others(own: dict[str, pl.Series], rows: list[int] | slice) -> pl.DataFrame:
        return pl.DataFrame({**{n: population.frame.get_column(n)[rows] for n in others}, **own})

    lists = pl.List(pl.String)
    held = with_others({"#value": pl.Series(of_rows, dtype=lists)}, slice(0, population.rows))
    rows = held.explode("#value").drop_nulls("#value")
    counts = rows.group_by([*others, "#value"]).agg(pl.len().alias("#rows"))
    operand = demand.conditions.equal.get(name)
    wanted = [list(texts_asked(demand, name, population))] * len(instances)
    if isinstance(operand, Parameter):
        texts = population.frame.get_column(operand.name)[instances].to_list()
        wanted = [[] if text is None else list(values.get(text, (text,))) for text in texts]
    shares = [weight / max(1, len(each)) for weight, each in zip(demand.weights.tolist(), wanted, strict=True)]
    own = {"#value": pl.Series(wanted, dtype=lists), "#share": pl.Series(shares, dtype=pl.Float64)}
    asking = with_others(own, instances).explode("#value")
    met = asking.join(counts, on=[*others, "#value"], how="left", maintain_order="left")
    scale = population.total / max(1, population.rows)
    met = met.with_columns((pl.col("#rows").fill_null(0) * scale).alias("#read"))
    page = bench.limits.page_entities
    several = len(wanted[0]) if wanted and not isinstance(operand, Parameter) else 1
    read = math.fsum((met["#read"].clip(1) * met["#share"]).to_list()) * several
    pages = math.fsum(((met["#read"] / page).ceil().clip(1) * met["#share"]).to_list()) * several
    return EachCost(rows.height / max(1, population.rows), read, pages)


def _others(demand: Demand, name: str, population: Population) -> Iterator[str]:
    """Further properties that a class asks for by equality with a parameter: they stand before the value in a key."""
    for other, operand in demand.conditions.equal.items():
        if other != name and isinstance(operand, Parameter) and operand.name == other and population.has(other):
            yield other


def each_row(demand: Demand, several: Several, scheme: KeyScheme, ground: Proposer) -> Key:
    """The key of rows for each value beside a main key: what the class fixes, the value; then what tells entities
    apart."""
    others = list(_others(demand, several.part.property, ground.bench.population))
    label = f"{label_word(several.part.property)}:"
    identity = [
        p for p in (*variable(scheme.main.partition), *variable(scheme.main.row)) if not set(p.properties) & {*others}
    ]
    identity = [p for p in identity if p.assigned or (p.injective and several.part.property not in p.properties)]
    partition = ground.join([*(ground.part(n) for n in others), several.part], label)
    return Key(partition, ground.join(identity))


def _several_notes(demand: Demand, best: CostEstimate, ground: Proposer) -> Iterator[str]:
    bench = ground.bench
    for name in asked(demand, bench.population):
        several = several_values(demand, name, bench.population)
        if several is None:
            continue
        cost = each_cost(demand, several, bench)
        asks = "asks for one of them" if several.by_value else "compares the whole text"
        now = next(c for c in best.classes if c.name == demand.query.name)
        writes = sum(
            d.query.rate.mean_per_s * d.query.entities_per_request
            for d in bench.demands
            if d.query.operation in (Operation.INSERT, Operation.UPSERT, Operation.DELETE)
        )
        more = demand.query.rate.mean_per_s * (cost.requests - now.requests) + writes * cost.rows
        row = each_row(demand, several, best.scheme, ground)
        change = f"{'+' if more > 0 else '−'}{amount(abs(more))} requests/s in all"
        change = change if abs(more) > 1e-9 else "as many requests/s in all"
        yield (
            f"{name} holds several values, and {demand.query.name} {asks}: an index row {row} would find entities by "
            f"one value, {amount(cost.read)} read in {amount(cost.requests)} requests "
            f"(now {amount(now.entities_read)} in {amount(now.requests)}); an entity has {amount(cost.rows)} such "
            f"rows, each written by a request of its own: {change}"
        )


def _one_of_note(demand: Demand, population: Population) -> Iterator[str]:
    """That a declared parameter is taken for one of several values."""
    if demand.of_values is None or demand.query.one_of is None:
        return
    part = Each(*demand.query.one_of)
    if _declared(demand, demand.of_values.conditions.equal.get(part.property), population):
        each = list_rows(part, population).population.rows / max(1, population.rows)
        yield (
            f"{part.property} holds {amount(each)} values on average, and {demand.query.name} is taken to ask "
            f"for one of them, for each of each entity alike; an index row with {part} is as many rows"
        )


def text_notes(best: CostEstimate, ground: Proposer) -> list[str]:
    """What to say of texts that queries may mean otherwise, beside the keys that win; each once."""
    out: list[str] = []
    for demand in ground.reading():
        out += _one_of_note(demand, ground.bench.population)
        out += _several_notes(demand, best, ground)
        out += _case_notes(demand, ground.bench.population)
    return list(dict.fromkeys(out))

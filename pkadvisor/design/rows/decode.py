"""From requests over PartitionKey and RowKey back to queries over properties, through the current design's templates.

A log knows only keys. Under a design, ``PartitionKey eq 'X'`` fixes the properties that the PartitionKey is made of,
and a RowKey range fixes those in its common prefix and bounds the next. Without a design the keys are the properties.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose
from typing import TYPE_CHECKING, Final

from pkadvisor.design.keys.keyreader import decode_key, decode_part, decode_periods, decode_prefix
from pkadvisor.design.keys.scheme import Key, KeyScheme, leading_text
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.key_ranges import HIGH, LOW, OPEN_END, decode_range
from pkadvisor.design.rows.logged.choices import (
    choice_filter,
    choices_in,
    constants_of,
    expanded,
    plain_name,
    python_of,
)
from pkadvisor.design.rows.logged.twins import rate_of_both, same_class, shape_of, twin_of, weighed
from pkadvisor.design.rows.sets.logged_pairs import logged_transactions
from pkadvisor.observe.busy import REQUESTS, SECOND, BusyRequests
from pkadvisor.observe.minutes import added
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation, OrderBy, QueryClass, Rate, Workload
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
    from pkadvisor.observe.minutes import MinuteSeries
    from pkadvisor.table.odata import Comparison, Filter, Literal, Parameter

KEYS = ("PartitionKey", "RowKey")
SAME_RATE: Final = 0.01
"""Rates that differ by less are one: a design file holds four digits."""
_OPERATIONS = {
    "query": Operation.QUERY,
    "insert": Operation.INSERT,
    "update": Operation.UPDATE,
    "merge": Operation.UPDATE,
    "upsert": Operation.UPSERT,
    "delete": Operation.DELETE,
}


@dataclass(frozen=True, slots=True)
class Observed:
    """A workload read from a log: ``undecoded`` counts sampled requests whose key fits no template of the design."""

    workload: Workload
    undecoded: int
    sampled: int
    notes: tuple[str, ...]


def observe(
    traffic: TableTraffic,
    scheme: KeyScheme | None,
    types: Mapping[str, EdmType],
    declared: Workload | None,
    covered_s: float,
) -> Observed:
    """The classes of a table's log over properties, with the parameters seen.

    Declared classes of the same shape lend them their name, rate and goals.
    """
    classes: list[QueryClass] = []
    instances: dict[str, pl.DataFrame] = {}
    minutes: dict[str, MinuteSeries] = {}
    busy: dict[str, BusyRequests] = {}
    lent: set[str] = set()
    notes: list[str] = []
    logged: dict[str, QueryClass] = {}
    undecoded = sampled = 0
    groups = traffic.groups
    batch = next((c for c in traffic.classes if c.op == "batch"), None)
    grouped_names: list[str] = []
    decoded = [(found, _decode_class(found, scheme, types)) for found in traffic.classes if found.op != "batch"]
    shapes = {(_OPERATIONS[str(found.op)], shape_of(read.filter)) for found, read in decoded}
    for found, read in decoded:
        undecoded += read.undecoded
        sampled += found.sample.height
        rate = _rate(found, batch, groups.entities)
        if traffic.fraction < 1 and rate.basis is Basis.COUNTED:
            rate = replace(rate, basis=Basis.ESTIMATED)
        order = tuple(_order(text) for text in found.order_by)
        name = _name(found, read.filter, classes)
        query = QueryClass(
            name=name,
            operation=_OPERATIONS[str(found.op)],
            filter=None if found.op in ("insert", "upsert") else read.filter,
            rate=rate,
            kind=found.kind or None,
            order_by=order,
            top=found.top,
            draw=Draw(DrawBy.LOG, stated=True),
            entities_per_request=groups.entities / groups.transactions
            if found.grouped and groups.transactions
            else 1.0,
        )
        alike = next((c for c in classes if c.name in logged and same_class(logged[c.name], query)), None)
        if alike is not None:  # the numbers of its literals have other types: 5 and 5.5, or 5000000000
            before = logged[alike.name]
            share = before.rate.mean_per_s / max(before.rate.mean_per_s + rate.mean_per_s, 1e-300)
            both = minutes.get(alike.name), found.minutes
            logged[alike.name] = replace(before, rate=rate_of_both(before.rate, rate, *both))
            if alike.rate is before.rate:
                classes[classes.index(alike)] = replace(alike, rate=logged[alike.name].rate)
            if both[0] is not None and both[1] is not None:
                minutes[alike.name] = added(both[0], both[1], both[0].burst_at)
            if read.busy is not None and alike.name in busy:
                busy[alike.name] = busy[alike.name].beside(read.busy)
            if read.frame is not None and alike.name in instances:
                instances[alike.name] = weighed(instances[alike.name], read.frame, share)
            continue
        # A second logged shape of the same properties is a class of its own.
        twin = twin_of(query, declared, {c.name for c in classes}, shapes)
        if twin is not None:
            if not isclose(twin.rate.mean_per_s, rate.mean_per_s, rel_tol=SAME_RATE):
                notes.append(f"{twin.name}: rate and goals as declared, parameters as logged")
            lent.add(twin.name)
            query = replace(twin, draw=query.draw, filter=query.filter, entities_per_request=query.entities_per_request)
        if found.grouped:
            grouped_names.append(query.name)
        logged[query.name] = replace(query, rate=rate, top=found.top, order_by=order)
        classes.append(query)
        if read.frame is not None and read.frame.height:
            instances[query.name] = read.frame
        if read.busy is not None:
            busy[query.name] = read.busy
        if found.minutes is not None:
            minutes[query.name] = found.minutes
    named = {c.name for c in classes}
    rest = tuple(c for c in declared.classes if c.name not in named) if declared else ()
    timed = any(c.mean_per_s is not None for c in traffic.classes)
    absent = Rate(0.0, 0.0, None, Basis.COUNTED if timed else Basis.UNKNOWN)
    rates = {name: logged[name].rate for name in sorted(lent)} | {c.name: absent for c in rest}
    transactions = logged_transactions(groups, grouped_names, scheme, types, declared.transactions if declared else ())
    base = declared or Workload(traffic.name, ())
    workload = replace(
        base,
        table=traffic.name,
        classes=(*classes, *rest),
        transactions=transactions,
        instances=instances,
        minutes=minutes,
        logged=rates,
        busy=busy,
    )
    del covered_s
    return Observed(workload, undecoded, sampled, tuple(notes))


def _order(text: str) -> OrderBy:
    """``ts desc`` or ``-ts`` as a sort key."""
    name, _, way = text.strip().partition(" ")
    return OrderBy(name.removeprefix("-"), name.startswith("-") or way.strip().lower() == "desc")


def _rate(found: ClassTraffic, batch: ClassTraffic | None, entities: int) -> Rate:
    source = batch if found.grouped and batch is not None else found
    share = found.requests / entities if found.grouped and entities else 1.0
    if source.mean_per_s is None:
        return Rate(0.0, 0.0, None, Basis.UNKNOWN)
    mean = source.mean_per_s * share
    return Rate(mean, max(mean, source.peak_per_s * share), source.peak_per_minute * share / 60, Basis.COUNTED)


@dataclass(frozen=True, slots=True)
class _Decoded:
    filter: Filter | None
    frame: pl.DataFrame | None
    undecoded: int
    busy: BusyRequests | None = None


def _decode_class(found: ClassTraffic, scheme: KeyScheme | None, types: Mapping[str, EdmType]) -> _Decoded:
    """The filter over properties that most sampled requests of a class share, and their parameters."""
    rows: list[tuple[tuple[str, ...], dict[str, object]]] = []
    undecoded = 0
    for sample in found.sample.iter_rows(named=True):
        values = _instance(found, sample, scheme, types)
        if values is None:
            undecoded += 1
        else:
            rows.append((tuple(sorted(values)), values))
    if not rows:
        return _Decoded(None if found.filter is None else _without_keys(found.filter, {}, types), None, undecoded)
    shape, _ = Counter(names for names, _ in rows).most_common(1)[0]
    kept = [values for names, values in rows if names == shape]
    constants = {name: constants_of(kept, name) for name in shape if isinstance(kept[0][name], tuple)}
    instances = expanded(kept, constants) if constants else kept
    plain = tuple(name for name in shape if name not in constants)
    return _Decoded(
        _filter_of(plain, found, constants, types),
        _frame(instances, tuple(instances[0]), types),
        undecoded + len(rows) - len(kept),
        _busy(found, shape, bool(constants), scheme, types),
    )


def _busy(
    found: ClassTraffic,
    shape: tuple[str, ...],
    choices: bool,
    scheme: KeyScheme | None,
    types: Mapping[str, EdmType],
) -> BusyRequests | None:
    """The busiest seconds with the parameters that a class has; requests without them count in the totals alone, and
    those that name several values of a property."""
    import polars as pl

    if found.busy is None:
        return None
    read = [
        (values, sample[SECOND], sample[REQUESTS])
        for sample in ([] if choices else found.busy.rows.iter_rows(named=True))
        if (values := _instance(found, sample, scheme, types)) is not None and tuple(sorted(values)) == shape
    ]
    if not shape or not read:
        return BusyRequests(found.busy.totals, found.busy.rows.clear().select(SECOND, REQUESTS))
    frame = _frame([values for values, _, _ in read], shape, types).drop("_weight")
    columns = {SECOND: [second for _, second, _ in read], REQUESTS: [n for _, _, n in read]}
    return BusyRequests(found.busy.totals, frame.hstack(pl.DataFrame(columns)))


def _instance(
    found: ClassTraffic, sample: dict[str, object], scheme: KeyScheme | None, types: Mapping[str, EdmType]
) -> dict[str, object] | None:
    """Property values (and range bounds) behind one sampled request; None where they fit no template."""
    text = sample.get("params")
    params = json.loads(text) if isinstance(text, str) else {}
    if any(v is not None for v in params.values()):
        compared = _from_filter(found, sample)[-1] if found.filter is not None and not found.address else {}
        named = {k: v for k, v in params.items() if k in types} if str(found.op) != "query" else params
        return compared | {k: v for k, v in named.items() if v is not None}
    pk, rk = sample.get("pk"), sample.get("rk")
    bounds: dict[str, tuple[str, str]] = {}
    values: dict[str, object] = {}
    if found.filter is not None and not found.address:
        pk, rk, bounds, values = _from_filter(found, sample)
    if scheme is None:
        if isinstance(pk, str):
            values["PartitionKey"] = pk
        if isinstance(rk, str):
            values["RowKey"] = rk
        for name, (low, high) in bounds.items():
            values[name + LOW], values[name + HIGH] = low, high
        return values
    _, read = _row_read(scheme, pk, rk, bounds, types)
    # What a filter says of a property itself is more exact than a range of keys.
    return None if read is None else {**read, **values}


def _row_read(
    scheme: KeyScheme, pk: object, rk: object, bounds: Mapping[str, tuple[str, str]], types: Mapping[str, EdmType]
) -> tuple[int, dict[str, object] | None]:
    """The row that a request names (0: the main row, i: the i-th index row), and what its key says of properties.

    Of several that it fits it is that with the most fixed text in what the request names, else the first.
    """
    best: tuple[int, int, dict[str, object] | None] = (-1, 0, None)
    for via, (key, _) in enumerate(scheme.each_key()):
        read = _through(key, pk, rk, bounds, types)
        if read is None:
            continue
        halves = ((key.partition, pk, KEYS[0]), (key.row, rk, KEYS[1]))
        named = [part for parts, text, name in halves if isinstance(text, str) or name in bounds for part in parts]
        fixed = sum(len(part.constant or "") for part in named)
        if fixed > best[0]:
            best = fixed, via, read
    return best[1:]


def row_named(found: ClassTraffic, sample: dict[str, object], scheme: KeyScheme, types: Mapping[str, EdmType]) -> int:
    """The row that a sampled request names: 0 for the main row and where it fits none, i for the i-th index row."""
    pk, rk = sample.get("pk"), sample.get("rk")
    bounds: dict[str, tuple[str, str]] = {}
    if found.filter is not None and not found.address:
        pk, rk, bounds, _ = _from_filter(found, sample)
    return _row_read(scheme, pk, rk, bounds, types)[0]


def fits_key(found: ClassTraffic, sample: dict[str, object], key: Key, types: Mapping[str, EdmType]) -> bool:
    """Whether a sampled request can be for rows under a key; True where it names neither PartitionKey nor RowKey."""
    pk, rk = sample.get("pk"), sample.get("rk")
    bounds: dict[str, tuple[str, str]] = {}
    if found.filter is not None and not found.address:
        pk, rk, bounds, _ = _from_filter(found, sample)
    return _through(key, pk, rk, bounds, types) is not None


def _through(
    key: Key, pk: object, rk: object, bounds: Mapping[str, tuple[str, str]], types: Mapping[str, EdmType]
) -> dict[str, object] | None:
    """What the keys that a request names say of properties; a period that is named bounds the time in it."""
    values = _told(key, pk, rk, bounds, types)
    if values is None:
        return None
    for parts, text in ((key.partition, pk), (key.row, rk)):
        for name, (first, last) in decode_periods(parts, text, types).items() if isinstance(text, str) else ():
            if not {name, name + LOW, name + HIGH} & values.keys():
                values |= {name + LOW: first, name + HIGH: last}
    return values


def _told(
    key: Key, pk: object, rk: object, bounds: Mapping[str, tuple[str, str]], types: Mapping[str, EdmType]
) -> dict[str, object] | None:
    values: dict[str, object] = {}
    if isinstance(pk, str):
        read = decode_key(key.partition, pk, types)
        if read is None:
            return None
        values |= read
    elif "PartitionKey" in bounds:
        read = decode_range(key.partition, *bounds["PartitionKey"], types)
        if read is None:
            return None
        values |= read
    if isinstance(rk, str):
        read = decode_key(key.row, rk, types)
        if read is None:
            return None
        values |= read
    elif "RowKey" in bounds:
        read = decode_range(key.row, *bounds["RowKey"], types)
        if read is None:
            return None
        values |= read
    elif leading_text(key.row) and len(key.row) > 1 and rk is None and not bounds:
        return values
    return values


def _from_filter(
    found: ClassTraffic, sample: dict[str, object]
) -> tuple[object, object, dict[str, tuple[str, str]], dict[str, object]]:
    """(pk, rk, bounds on the keys, other values) of a request with a ``$filter``."""
    from pkadvisor.table.edm import parse_literal
    from pkadvisor.table.odata import Comparison, Parameter, conjuncts

    texts = sample.get("literals")
    literals = [parse_literal(t) for t in texts] if isinstance(texts, list) else []
    pk: object = None
    rk: object = None
    sides: dict[str, list[str]] = {}
    values: dict[str, object] = {}
    assert found.filter is not None
    ranges = _ranges_of_properties(found.filter)
    choices = choices_in(found.filter, KEYS)
    for part in conjuncts(found.filter):
        if part in choices:
            values[choices[part]] = _chosen(part, literals)
        if not isinstance(part, Comparison):
            continue
        operand = part.operand
        if isinstance(operand, Parameter):
            index = int(operand.name[1:])
            if index >= len(literals):
                continue
            operand = literals[index]
        value = operand.value
        if part.property in KEYS and isinstance(value, str):
            if part.operator == "eq":
                pk, rk = (value, rk) if part.property == "PartitionKey" else (pk, value)
            else:
                side = sides.setdefault(part.property, ["", OPEN_END])
                # A range of keys holds its lower end, and not its upper one; the least text above an end follows it.
                beyond = part.operator in ("gt", "le") and value != OPEN_END
                side[0 if part.operator in ("ge", "gt") else 1] = value + "\0" * beyond
        elif part.operator == "eq" or part in ranges:
            values[ranges.get(part, part.property)] = python_of(operand)
    return pk, rk, {name: (s[0], s[1]) for name, s in sides.items()}, values


def _chosen(choice: Filter, literals: Sequence[Literal]) -> tuple[Literal, ...]:
    """The literals of one request at the places of a choice."""
    from pkadvisor.table.odata import parameters

    places = [int(name[1:]) for name in parameters(choice)]
    return tuple(literals[place] for place in places if place < len(literals))


def _ranges_of_properties(filter_: Filter) -> dict[Comparison, str]:
    """The comparisons that bound a property by a parameter of the shape, and where each instance has its value.

    One for each side of a property; a second one stays as it was logged, and is not counted.
    """
    from pkadvisor.table.odata import Comparison, Parameter, conjuncts

    bounds: dict[Comparison, str] = {}
    for part in conjuncts(filter_):
        if isinstance(part, Comparison) and isinstance(part.operand, Parameter) and part.property not in KEYS:
            side = {"gt": LOW, "ge": LOW, "lt": HIGH, "le": HIGH}.get(part.operator)
            if side is not None and part.property + side not in bounds.values():
                bounds[part] = part.property + side
    return bounds


def _filter_of(
    names: tuple[str, ...],
    found: ClassTraffic,
    constants: Mapping[str, Mapping[int, Literal]],
    types: Mapping[str, EdmType],
) -> Filter | None:
    """The filter over properties whose parameters have these names, with what the log compared besides the keys."""
    from pkadvisor.table.odata import And, Comparison, Operator

    parts: list[Filter] = []
    by_filter = found.filter is not None and not found.address
    own = _ranges_of_properties(found.filter) if found.filter is not None and by_filter else {}
    names = tuple(name for name in names if name not in own.values())
    for name in names:
        if name.endswith((LOW, HIGH)):
            continue
        parts.append(Comparison(name, Operator.EQ, _parameter(name, types)))
    for name in names:
        if name.endswith(LOW):
            parts.append(Comparison(name.removesuffix(LOW), Operator.GE, _parameter(name, types)))
        elif name.endswith(HIGH):
            parts.append(Comparison(name.removesuffix(HIGH), Operator.LT, _parameter(name, types)))
    rest = _without_keys(found.filter, constants, types) if found.filter is not None and by_filter else None
    if rest is not None:
        parts.append(rest)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _parameter(name: str, types: Mapping[str, EdmType]) -> Parameter:
    """A parameter with the quotes of its type; numbers need none."""
    from pkadvisor.table.odata import Parameter

    return Parameter(name, _quoted(plain_name(name), types))


def _quoted(name: str, types: Mapping[str, EdmType]) -> EdmType | None:
    edm = types.get(name, EdmType.STRING if name in KEYS else None)
    return edm if edm in (EdmType.STRING, EdmType.DATETIME, EdmType.GUID) else None


def _without_keys(
    filter_: Filter, constants: Mapping[str, Mapping[int, Literal]], types: Mapping[str, EdmType]
) -> Filter | None:
    """What a logged filter compares besides keys and equalities: kept as it was, but for the names of bounds and of
    what choices name."""
    from pkadvisor.table.odata import And, Comparison, Or, conjuncts, properties

    bounds = _ranges_of_properties(filter_)
    choices = choices_in(filter_, KEYS)

    def named(part: Filter) -> Filter:
        if isinstance(part, Comparison) and part in bounds:
            return replace(part, operand=_parameter(bounds[part], types))
        if isinstance(part, Or) and (name := choices.get(part, "")) in constants:
            return choice_filter(part, name, constants[name], _quoted(name, types))
        return part

    kept = [
        named(part)
        for part in conjuncts(filter_)
        if not (isinstance(part, Comparison) and (part.property in KEYS or part.operator == "eq"))
        and not set(properties(part)) & set(KEYS)
    ]
    if not kept:
        return None
    return kept[0] if len(kept) == 1 else And(tuple(kept))


def _frame(rows: list[dict[str, object]], names: tuple[str, ...], types: Mapping[str, EdmType]) -> pl.DataFrame:
    import polars as pl

    from pkadvisor.design.rows.values import polars_type

    columns = {}
    for name in names:
        edm = types.get(plain_name(name), EdmType.STRING)
        columns[name] = pl.Series(name, [row[name] for row in rows], dtype=polars_type(edm), strict=False)
    frame = pl.DataFrame(columns)
    return (
        frame.with_columns(pl.lit(1.0 / max(1, len(rows))).alias("_weight"))
        if names
        else pl.DataFrame({"_weight": [1.0 / len(rows)] * len(rows)})
    )


def _name(found: ClassTraffic, filter_: Filter | None, taken: Iterable[QueryClass]) -> str:
    """A readable name: the operation and the properties it names."""
    from pkadvisor.table.odata import properties

    names = [plain_name(n) for n in (properties(filter_) if filter_ is not None else ())]
    stem = str(found.op)
    if found.op == "query" and filter_ is None:
        stem = "scan"
    base = stem + (" by " + ", ".join(dict.fromkeys(names)) if names and found.op not in ("insert", "upsert") else "")
    if found.grouped:
        base += " in groups"
    if found.top:
        base += f", first {found.top}"
    name, number = base, 2
    known = {c.name for c in taken}
    while name in known:
        name, number = f"{base} ({number})", number + 1
    return name


__all__ = ["Atom", "Observed", "decode_key", "decode_part", "decode_prefix", "observe"]

"""From requests over PartitionKey and RowKey back to queries over properties, through the current design's templates.

A log knows only keys. Under a design, ``PartitionKey eq 'X'`` fixes the properties that the PartitionKey is made of,
and a RowKey range fixes those in its common prefix and bounds the next. Without a design the keys are the properties.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from math import isclose
from typing import Final

from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.rows.key_ranges import FOLDED, HIGH, LOW
from pkadvisor.design.rows.logged import twins
from pkadvisor.design.rows.logged.choices import choice_filter, choices_in, constants_of, expanded, plain_name
from pkadvisor.design.rows.logged.committed import committed, reads_apart
from pkadvisor.design.rows.logged.known_entities import entity_reader
from pkadvisor.design.rows.logged.orders import order_of, order_of_keys
from pkadvisor.design.rows.logged.requests import KeyReader, properties_of, ranges_of_properties, reader_of, requests_of
from pkadvisor.design.rows.logged.shapes import PartOfClass, foreign_requests, names_of, parts_of, requests_in
from pkadvisor.design.rows.logged.spellings import spelled
from pkadvisor.design.rows.logged.unusual_minutes import with_unusual_minutes
from pkadvisor.design.rows.sets.pairs import logged_transactions
from pkadvisor.design.rows.values import polars_type
from pkadvisor.lazy import pl
from pkadvisor.numbers import percent
from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
from pkadvisor.observe.minutes import MinuteSeries, added
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.workload import (
    REQUESTS,
    SPAN,
    Basis,
    BusyRequests,
    Draw,
    DrawBy,
    Operation,
    QueryClass,
    Rate,
    Workload,
)
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import And, Comparison, Filter, Operator, Or, Parameter, TypedValue, conjuncts, properties
from pkadvisor.values import dataclass

NOT_FOUND: Final = 404
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
    """A workload read from a log: ``workload.foreign`` holds the requests whose keys fit no template of the design."""

    workload: Workload
    notes: tuple[str, ...]


def observe(
    traffic: TableTraffic,
    scheme: KeyScheme | None,
    types: Mapping[str, EdmType],
    declared: Workload | None,
    logged_requests: int | None = None,
    *,
    one_kind: bool = True,
    data: DataProfile | None = None,
) -> Observed:
    """The classes of a table's log over properties, with the parameters seen.

    Declared classes of the same shape lend them their name, rate and goals. ``logged_requests``: of the whole table,
    where this is the log of one kind of it; ``one_kind``: whether it has no others; ``data`` shows what an update of a
    trace changes.
    """
    reader = None if scheme is None else entity_reader(scheme, types, data) or reader_of(scheme, types)
    requests = [committed(each) for each in traffic.classes if each.op != "batch"]
    parts = [part for each in requests for part in parts_of(each, reader, types, one_kind=one_kind)]
    if logged_requests is None:
        logged_requests = requests_in(traffic)
    foreign = foreign_requests([part for part in parts if part.foreign], logged_requests)
    changed = ((part, twins.changed_by(part, reader, types, declared, data)) for part in parts if not part.foreign)
    decoded = [(part.traffic, _decode_class(part, reader, types, sets, data)) for part, sets in changed]
    decoded, log_notes = reads_apart(decoded)
    shapes = {(_OPERATIONS[str(each.op)], twins.shape_of(read.filter)) for each, read in decoded}
    in_keys = {name for key, _ in scheme.each_key() for name in key.properties} if scheme is not None else set()
    log = _LoggedClasses()
    for class_traffic, read in decoded:
        query = _query_of(class_traffic, read, traffic, scheme, types, log.classes)
        alike = log.alike(query)
        if alike is not None:
            log.add_to(alike, query.rate, class_traffic, read)
        else:
            twin = twins.twin_of(query, declared, {c.name for c in log.classes}, shapes, in_keys)
            log.add(*_knowing(query, read, twin, data), twin, class_traffic)
    base, names = declared or Workload(traffic.name, ()), {c.name for c in log.classes}
    rest = tuple(c for c in base.classes if c.name not in names)
    timed = any(c.mean_per_s is not None for c in traffic.classes)
    absent = Rate(0.0, 0.0, None, Basis.COUNTED if timed else Basis.UNKNOWN)
    rates = {name: log.logged[name].rate for name in sorted(log.lent)} | {c.name: absent for c in rest}
    workload = replace(
        base,
        table=traffic.name,
        classes=(*log.classes, *rest),
        transactions=logged_transactions(traffic.groups, log.grouped, scheme, types, base.transactions),
        instances=log.instances,
        came=log.came,
        absent=log.absent,
        conflicts=log.conflicts,
        read_whole=log.read_whole if any(c.address or c.pk_equal for c in traffic.classes) else {},
        minutes=log.minutes,
        logged=rates,
        busy=log.busy,
        foreign=foreign,
        bursts_refused=traffic.bursts_refused,
    )
    return Observed(workload, (*log.notes, *log_notes))


def _knowing(
    query: QueryClass, read: _Decoded, twin: QueryClass | None, data: DataProfile | None
) -> tuple[QueryClass, _Decoded]:
    """A logged write with what its declared twin knows beyond the keys in use."""
    known = twins.known_besides(twin, query) if twin is not None else ()
    if twin is None or not known:
        return query, read
    frame = twins.with_known(read.frame, known, data.sample if data is not None else None)
    draw = query.draw if frame is not None else twin.draw
    return replace(query, filter=twin.filter, draw=draw), _Decoded(twin.filter, frame, sets=read.sets)


def _query_of(
    class_traffic: ClassTraffic,
    read: _Decoded,
    traffic: TableTraffic,
    scheme: KeyScheme | None,
    types: Mapping[str, EdmType],
    before: Sequence[QueryClass],
) -> QueryClass:
    """A logged class over properties; ``before`` are those that have their names already."""
    groups = traffic.groups
    batch = next((c for c in traffic.classes if c.op == "batch"), None)
    rate = _rate(class_traffic, batch, groups.entities)
    if traffic.fraction < 1 and rate.basis is Basis.COUNTED:
        rate = replace(rate, basis=Basis.ESTIMATED)
    order = tuple(order_of(text) for text in class_traffic.order_by)
    together = class_traffic.grouped and groups.transactions
    return QueryClass(
        name=_name(class_traffic, read, before),
        operation=_OPERATIONS[str(class_traffic.op)],
        filter=None if class_traffic.op in ("insert", "upsert") else read.filter,
        rate=rate,
        kind=class_traffic.kind or None,
        order_by=order or order_of_keys(class_traffic, scheme, read.filter, types, traffic),
        top=class_traffic.top,
        draw=Draw(DrawBy.LOG, stated=True),
        sets=read.sets,
        read_modify_write=class_traffic.conflicts > 0,
        entities_per_request=groups.entities / groups.transactions if together else 1.0,
    )


@dataclass(slots=True)
class _LoggedClasses:
    """The classes of a log one by one, by name. ``logged`` holds each as the log tells it, ``lent`` the names of those
    that have the rate and the goals of a declared class, ``grouped`` those that came in group transactions."""

    classes: list[QueryClass] = field(default_factory=list)
    instances: dict[str, pl.DataFrame] = field(default_factory=dict)
    minutes: dict[str, MinuteSeries] = field(default_factory=dict)
    busy: dict[str, BusyRequests] = field(default_factory=dict)
    came: dict[str, Sequence[int]] = field(default_factory=dict)
    absent: dict[str, float] = field(default_factory=dict)
    conflicts: dict[str, float] = field(default_factory=dict)
    read_whole: dict[str, dict[str, float]] = field(default_factory=dict)
    logged: dict[str, QueryClass] = field(default_factory=dict)
    lent: set[str] = field(default_factory=set)
    grouped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def alike(self, query: QueryClass) -> QueryClass | None:
        """A class that differs in the types of its literals alone: 5 and 5.5, or 5000000000."""
        return next(
            (c for c in self.classes if c.name in self.logged and twins.same_class(self.logged[c.name], query)), None
        )

    def add_to(self, alike: QueryClass, rate: Rate, class_traffic: ClassTraffic, read: _Decoded) -> None:
        """Requests of a class that is there."""
        name, before = alike.name, self.logged[alike.name]
        share = before.rate.mean_per_s / max(before.rate.mean_per_s + rate.mean_per_s, 1e-300)
        first, second = self.minutes.get(name), class_traffic.minutes
        whole = {what: share * of for what, of in self.read_whole[name].items()}
        whole[class_traffic.reads_all_of] = whole.get(class_traffic.reads_all_of, 0.0) + 1 - share
        self.read_whole[name] = whole
        self.logged[name] = replace(before, rate=twins.rate_of_both(before.rate, rate, first, second))
        if alike.rate is before.rate:
            self.classes[self.classes.index(alike)] = replace(alike, rate=self.logged[name].rate)
        if first is not None and second is not None:
            self.minutes[name] = added(first, second, first.burst_at)
        if read.busy is not None and name in self.busy:
            self.busy[name] = self.busy[name].beside(read.busy)
        if read.frame is not None and name in self.instances:
            self.instances[name] = twins.weighed(self.instances[name], read.frame, share)
            self.came.pop(name, None)

    def add(self, query: QueryClass, read: _Decoded, twin: QueryClass | None, class_traffic: ClassTraffic) -> None:
        """A class of its own; a declared ``twin`` lends it what it declares."""
        as_logged = query
        if twin is not None:
            if not isclose(twin.rate.mean_per_s, query.rate.mean_per_s, rel_tol=twins.SAME_RATE):
                self.notes.append(f"{twin.name}: rate and goals as declared, parameters as logged")
            self.lent.add(twin.name)
            query = replace(
                twin,
                draw=query.draw,
                filter=twins.unfolded(query.filter, twin.filter),
                entities_per_request=query.entities_per_request,
                sets=twin.sets or query.sets,
                read_modify_write=twin.read_modify_write or query.read_modify_write,
            )
        name = query.name
        if class_traffic.conflicts:
            self.conflicts[name] = class_traffic.conflicts
            self.notes.append(
                f"'{name}': {percent(class_traffic.conflicts)} of its attempts got 412, so it reads, changes and "
                "writes under If-Match; its rate is that of the others"
            )
        if class_traffic.grouped:
            self.grouped.append(name)
        self.logged[name] = replace(as_logged, name=name)
        self.classes.append(query)
        if read.frame is not None and read.frame.height:
            self.instances[name] = read.frame
            if len(read.came) == read.frame.height:
                self.came[name] = read.came
        self.read_whole[name] = {class_traffic.reads_all_of: 1.0}
        if missing := int((class_traffic.sample["status"] == NOT_FOUND).sum()):
            self.absent[name] = missing / class_traffic.sample.height
        if read.busy is not None:
            self.busy[name] = read.busy
        if class_traffic.minutes is not None:
            self.minutes[name] = class_traffic.minutes


def _rate(traffic: ClassTraffic, batch: ClassTraffic | None, entities: int) -> Rate:
    source = batch if traffic.grouped and batch is not None else traffic
    share = traffic.requests / entities if traffic.grouped and entities else 1.0
    if source.mean_per_s is None:
        return Rate(0.0, 0.0, None, Basis.UNKNOWN)
    mean = source.mean_per_s * share
    return Rate(mean, max(mean, source.peak_per_s * share), source.peak_per_minute * share / 60, Basis.COUNTED)


@dataclass(frozen=True, slots=True)
class _Decoded:
    filter: Filter | None
    frame: pl.DataFrame | None
    busy: BusyRequests | None = None
    came: Sequence[int] = ()
    sets: tuple[str, ...] = ()


def _decode_class(
    part: PartOfClass,
    reader: KeyReader | None,
    types: Mapping[str, EdmType],
    sets: tuple[str, ...],
    data: DataProfile | None,
) -> _Decoded:
    """The filter over properties of requests that say the same properties, and their parameters; of updates without
    those that it ``sets``."""
    traffic, rows = part.traffic, [{n: v for n, v in values.items() if n not in sets} for values in part.values]
    if not rows:
        return _Decoded(None if traffic.filter is None else _without_keys(traffic.filter, {}, types), None)
    names = names_of(rows[0])
    constants = {name: constants_of(rows, name) for name in names if isinstance(rows[0][name], tuple)}
    instances = [_by_parameter(row) for row in (expanded(rows, constants) if constants else rows)]
    plain = tuple(name for name in names if name not in constants)
    frame = spelled(_frame(instances, tuple(instances[0]), types), names, data)
    return _Decoded(
        _filter_of(plain, traffic, constants, types),
        frame,
        _busy(part, frame, bool(constants), reader, types, data),
        [] if constants else [at for at in part.came if at is not None],
        sets,
    )


def _by_parameter(values: Mapping[str, object]) -> dict[str, object]:
    """Values by the names of parameters: a text of which the lower case is known stands for its property."""
    return {name.removesuffix(FOLDED): value for name, value in values.items()}


def _busy(
    part: PartOfClass,
    instances: pl.DataFrame,
    choices: bool,
    reader: KeyReader | None,
    types: Mapping[str, EdmType],
    data: DataProfile | None,
) -> BusyRequests | None:
    """The busiest spans with the parameters that a class has; requests without them count in the totals alone, and
    those that name several values of a property."""
    traffic = part.traffic
    if traffic.busy is None:
        return None
    samples = [] if choices else list(traffic.busy.rows.iter_rows(named=True))
    read = [
        (values, sample[SPAN], sample[REQUESTS])
        for sample, request in zip(samples, requests_of(traffic, samples), strict=True)
        if (values := properties_of(traffic, request, reader, types)) is not None and names_of(values) == part.names
    ]
    if not part.names or not read:
        return BusyRequests(traffic.busy.totals, traffic.busy.rows.clear().select(SPAN, REQUESTS))
    names = tuple(name for name in _by_parameter(dict.fromkeys(part.names)) if name in instances.columns)
    frame = _frame([_by_parameter(values) for values, _, _ in read], names, types).drop("_weight")
    columns = {SPAN: [span for _, span, _ in read], REQUESTS: [n for _, _, n in read]}
    frame = spelled(frame, part.names, data)
    busy = BusyRequests(traffic.busy.totals, frame.hstack(pl.DataFrame(columns)))
    return with_unusual_minutes(busy, instances)


def _filter_of(
    names: tuple[str, ...],
    traffic: ClassTraffic,
    constants: Mapping[str, Mapping[int, TypedValue]],
    types: Mapping[str, EdmType],
) -> Filter | None:
    """The filter over properties whose parameters have these names, with what the log compared besides the keys."""
    parts: list[Filter] = []
    by_filter = traffic.filter is not None and not traffic.address
    own = ranges_of_properties(traffic.filter) if traffic.filter is not None and by_filter else {}
    names = tuple(name for name in names if name not in own.values())
    for name in names:
        if name.endswith((LOW, HIGH)):
            continue
        plain = name.removesuffix(FOLDED)
        parts.append(Comparison(plain, Operator.EQ, _parameter(plain, types), folded=plain != name))
    for name in names:
        if name.endswith(LOW):
            parts.append(Comparison(name.removesuffix(LOW), Operator.GE, _parameter(name, types)))
        elif name.endswith(HIGH):
            parts.append(Comparison(name.removesuffix(HIGH), Operator.LT, _parameter(name, types)))
    rest = _without_keys(traffic.filter, constants, types) if traffic.filter is not None and by_filter else None
    if rest is not None:
        parts.append(rest)
    if not parts:
        return None
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def _parameter(name: str, types: Mapping[str, EdmType]) -> Parameter:
    """A parameter with the quotes of its type; numbers need none."""
    return Parameter(name, _quoted(plain_name(name), types))


def _quoted(name: str, types: Mapping[str, EdmType]) -> EdmType | None:
    edm = types.get(name, EdmType.STRING if name in KEYS else None)
    return edm if edm in (EdmType.STRING, EdmType.DATETIME, EdmType.GUID) else None


def _without_keys(
    filter_: Filter, constants: Mapping[str, Mapping[int, TypedValue]], types: Mapping[str, EdmType]
) -> Filter | None:
    """What a logged filter compares besides keys and equalities: kept as it was, but for the names of bounds and of
    what choices name."""
    bounds = ranges_of_properties(filter_)
    choices = choices_in(filter_)

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


def _name(traffic: ClassTraffic, read: _Decoded, taken: Iterable[QueryClass]) -> str:
    """A readable name: the operation, the properties it changes and those it names."""
    names = [plain_name(n) for n in (properties(read.filter) if read.filter is not None else ())]
    stem = " ".join(filter(None, (str(traffic.op), ", ".join(read.sets))))
    if traffic.op == "query" and read.filter is None:
        stem = "scan"
    base = stem + (" by " + ", ".join(dict.fromkeys(names)) if names and traffic.op not in ("insert", "upsert") else "")
    if traffic.grouped:
        base += " in groups"
    if traffic.top:
        base += f", first {traffic.top}"
    name, number = base, 2
    known = {c.name for c in taken}
    while name in known:
        name, number = f"{base} ({number})", number + 1
    return name

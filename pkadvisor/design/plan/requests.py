"""From a plan and the values of one request to the requests that are sent, and what the client does with the answers.

    plan + values ─► requests ─► rows of each ─► admitted ─► arranged ─► the answer

``requests`` writes every ``$filter``; ``admits`` is the client's filter on one row; ``arranged`` puts the rows of all
requests into the wanted order and cuts them off. ``client_work`` says the same in words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import TYPE_CHECKING

from pkadvisor.design.keys.conditions import Conditions, Operand, Range
from pkadvisor.design.keys.key_terms import Choice, Filling, Hole, operand_value, shown_filter
from pkadvisor.design.keys.scheme import Key, KeyScheme, encode, isolating_lead, multi_valued
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Context, ListPart, Part, PeriodPart, Value, part_properties, time_unit
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount
from pkadvisor.observe.workload import Operation, OrderBy, Pair, QueryClass, Transaction, Workload
from pkadvisor.table.edm import TICKS_MAX, TICKS_UNIX_EPOCH, EdmType, TypedValue
from pkadvisor.table.odata import (
    MAX_COMPARISONS,
    And,
    Comparison,
    Filter,
    Not,
    Operator,
    Or,
    Parameter,
    bind,
    comparison_count,
    evaluate,
    format_filter,
)
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

TARGET_KEYS = ("TargetPartitionKey", "TargetRowKey")
"""The properties of a pointer row: the full key of the entity that it stands for."""
PERIODS_MAX = 100_000
"""More periods than this between two bounds are a mistake, not a plan."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: its ``$filter`` (empty: everything), and the key where it is a point read by address.

    ``conditions`` are what the filter says, joined by ``and``, for whoever need not read the text.
    """

    filter: str
    point: tuple[str, str] | None
    top: int | None
    conditions: tuple[Filter, ...] = field(default=(), compare=False, repr=False)


def requests(
    plan: AccessPlan,
    wanted: Conditions,
    values: Mapping[str, TypedValue],
    types: Mapping[str, EdmType],
    *,
    newest: int | None = None,
    oldest: int | None = None,
) -> Iterator[Request]:
    """Every request that answers one query, each once.

    ``values`` are the parameters by name. ``newest`` and ``oldest`` (ticks) end an enumeration of periods that has no
    bound there. A plan that goes back is asked from the newest period on, until ``top`` rows are found.
    Raises UsageError where a parameter has no value, ValueError where periods have no end.
    """
    sent = set[str]()
    fans = list(dict.fromkeys(plan.fans))
    for numbers in product(*(part.buckets() for part in fans)):
        for chosen in _choices(plan, wanted, values):
            for moment in _moments(plan, wanted, chosen, newest, oldest):
                filling = Filling(chosen, dict(zip(fans, numbers, strict=True)), moment)
                texts = [term.text.fill(filling, types) for term in plan.terms]
                shown = [term.shown(text) for term, text in zip(plan.terms, texts, strict=True)]
                conditions: list[Filter] = [
                    Comparison(term.name, Operator(term.operator), TypedValue(EdmType.STRING, text))
                    for term, text in zip(plan.terms, texts, strict=True)
                ]
                for condition in plan.rest:
                    bound = bind(condition, chosen)
                    text = format_filter(bound, parameters=False)
                    shown.append(f"({text})" if isinstance(bound, Or) else text)
                    conditions.append(bound)
                text = " and ".join(dict.fromkeys(shown))
                assert len(plan.terms) + sum(map(comparison_count, plan.rest)) <= MAX_COMPARISONS
                if text in sent:
                    continue
                sent.add(text)
                keys = {t.name: text for t, text in zip(plan.terms, texts, strict=True) if t.operator == "eq"}
                point = None
                if not plan.rest and len(plan.terms) == 2 and len(keys) == 2:
                    point = (keys["PartitionKey"], keys["RowKey"])
                yield Request(text, point, plan.top, tuple(conditions))


def _choices(plan: AccessPlan, wanted: Conditions, values: Mapping[str, TypedValue]) -> Iterator[dict[str, TypedValue]]:
    """The values with each combination of choices."""
    options = []
    for name in plan.choices:
        literals = [constant_of(o, values) for o in wanted.any_of[name]]
        options.append(list(dict.fromkeys(literals)))
    for picked in product(*options):
        yield {**values, **{Choice(n).slot: v for n, v in zip(plan.choices, picked, strict=True)}}


def constant_of(operand: Operand, values: Mapping[str, TypedValue]) -> TypedValue:
    """The value of an operand; UsageError where its parameter has none."""
    bound = bind(Comparison("x", Operator.EQ, operand), values)
    constant = bound.operand  # type: ignore[union-attr]
    assert isinstance(constant, TypedValue)
    return constant


def _moments(
    plan: AccessPlan,
    wanted: Conditions,
    values: Mapping[str, TypedValue],
    newest: int | None,
    oldest: int | None,
) -> Iterator[int | None]:
    """One moment (ticks) of each period between the bounds."""
    if plan.periods is None:
        yield None
        return
    span = wanted.ranges.get(plan.periods.property, Range())
    low = oldest if span.low is None else operand_value(span.low, values)
    high = newest if span.high is None else operand_value(span.high, values)
    if high is None or low is None:
        raise ValueError(f"the periods of {plan.periods.property} have no {'beginning' if low is None else 'end'}")
    if span.high is not None and not span.high_inclusive:
        high -= 1
    if plan.back:  # no further than the periods that the table has
        high = high if newest is None else min(high, newest)
        low = min(high, low if oldest is None else max(low, oldest))
    part, count = plan.periods, 0
    moment: int | None = int(high if plan.back else low)
    while moment is not None and (previous_end(low, part) < moment if plan.back else moment <= high):
        yield moment
        count += 1
        if count > PERIODS_MAX:
            raise ValueError(f"more than {PERIODS_MAX:,} periods of {part.format}")
        moment = previous_end(moment, part) if plan.back else next_period(moment, part)


def _start(moment: int, part: PeriodPart) -> datetime:
    """The first moment of the period that a tick falls into."""
    from datetime import datetime

    context = Context({part.property: EdmType.DATETIME})
    start = part.value_of(part.text_of(moment, context), context)
    assert isinstance(start, datetime)
    return start


def previous_end(moment: int, part: PeriodPart) -> int:
    """The last tick before the period that a moment falls into; -1 before the year 1."""
    from datetime import datetime, timedelta

    start = _start(moment, part)
    micros = (start - datetime(1970, 1, 1, tzinfo=start.tzinfo)) // timedelta(microseconds=1)
    return micros * 10 + TICKS_UNIX_EPOCH - 1


def next_period(moment: int, part: PeriodPart) -> int | None:
    """The first tick of the period after the one that a moment falls into; None after the year 9999."""
    from datetime import datetime, timedelta

    start = _start(moment, part)
    unit = time_unit(part.format)
    try:
        if unit == "year":
            following = start.replace(year=start.year + 1)
        elif unit == "month":
            following = (start + timedelta(days=31)).replace(day=1)
        else:
            following = start + timedelta(**{f"{unit}s": 1})
    except (OverflowError, ValueError):
        return None
    seconds = (following - datetime(1970, 1, 1, tzinfo=following.tzinfo)) // timedelta(seconds=1)
    ticks = seconds * 10_000_000 + TICKS_UNIX_EPOCH
    return ticks if ticks <= TICKS_MAX else None


# -- the client's part -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReturnedRow:
    """A row that a request returned, with the properties of its entity (of a pointer: those of its target)."""

    partition_key: str
    row_key: str
    properties: Mapping[str, TypedValue]


def holds(filter_: Filter, properties: Mapping[str, TypedValue], multi: Mapping[str, ListPart]) -> bool:
    """Whether an entity satisfies a filter: a multi-valued property equals what any of its values equals."""
    match filter_:
        case Comparison() if filter_.property in multi:
            literal = properties.get(filter_.property)
            values = multi[filter_.property].values_of(None if literal is None else literal.value)
            return any(evaluate(filter_, {filter_.property: TypedValue(EdmType.STRING, v)}) for v in values)
        case And():
            return all(holds(o, properties, multi) for o in filter_.operands)
        case Or():
            return any(holds(o, properties, multi) for o in filter_.operands)
        case Not():
            return not holds(filter_.operand, properties, multi)
    return evaluate(filter_, properties)


def admits(
    plan: AccessPlan,
    scheme: KeyScheme,
    row: ReturnedRow,
    values: Mapping[str, TypedValue],
    types: Mapping[str, EdmType],
) -> bool:
    """Whether the client keeps a row: it is of the plan's kind, and meets what was left to the client."""
    multi = multi_valued(scheme)
    if plan.own_kind:
        key = list(scheme.each_key())[plan.via][0]
        if (row.partition_key, row.row_key) not in keys_of(key, row.properties, types):
            return False
    return all(holds(bind(f, values), row.properties, multi) for f in plan.client)


def keys_of(
    key: Key, properties: Mapping[str, TypedValue], types: Mapping[str, EdmType], number: int = 0
) -> list[tuple[str, str]]:
    """(PartitionKey, RowKey) of each row that an entity has under one key: one, or one per value of ``each``.

    ``number`` is what ``seq`` writes.
    """
    values: dict[str, Value] = {n: c.value for n, c in properties.items()}
    values["#seq"] = number
    parts = [each for part in (*key.partition, *key.row) if (each := part.several) is not None]
    if not parts:
        return [(encode(key.partition, values, dict(types)), encode(key.row, values, dict(types)))]
    out = []
    names = list(dict.fromkeys(p.property for p in parts))
    options = [next(p for p in parts if p.property == n).values_of(values.get(n)) for n in names]
    for picked in product(*options):
        mine = {**values, **dict(zip(names, picked, strict=True))}
        out.append((encode(key.partition, mine, dict(types)), encode(key.row, mine, dict(types))))
    return out


def client_work(
    plan: AccessPlan,
    fan_out: float | None,
    order: Sequence[OrderBy] = (),
    top: int | None = None,
    multi: Collection[str] = (),
) -> list[str]:
    """What is left to the application, in words; ``fan_out`` is the mean number of requests where it is known.

    ``multi`` names the properties that hold several values.
    """
    from pkadvisor.table.odata import format_filter, properties

    out = []
    join = "merge the answers" if plan.order_served and order else "join the answers"
    if plan.buckets > 1:
        out.append(f"send one request for each of the {plan.buckets} buckets and {join}")
    if plan.choices:
        out.append(f"send one request for each value of {', '.join(plan.choices)} and {join}")
    if plan.back:
        mean = "" if fan_out is None else f" ({amount(fan_out)} periods on average)"
        enough = top or plan.top or "enough"
        out.append(f"read the periods one by one from the newest back, until {enough} rows are found{mean}")
        out.append("stop at the first period of the table")
    elif plan.periods is not None and (fan_out is None or fan_out > 1):
        mean = "" if fan_out is None else f" ({amount(fan_out)} on average)"
        out.append(f"send one request for each period{mean} and {join}")
        if plan.periods_open:
            out.append("continue to the present period: the range has no end")
    if plan.follows and plan.pointer:
        out.append(f"read the entity that each pointer names ({', '.join(TARGET_KEYS)})")
    elif plan.pointer:
        out.append(f"write under the key that each pointer names ({', '.join(TARGET_KEYS)})")
    if plan.own_kind:
        out.append("skip rows of other kinds in your client: they share this partition")
    for condition in plan.client:
        of_any = "" if not set(properties(condition)) & set(multi) else ", for any of its values"
        out.append(f"keep the rows that satisfy: {shown_filter(format_filter(condition))}{of_any}")
    if plan.follows and not plan.pointer:
        out.append("read the entity of each copy: the copy has another ETag")
    if not plan.order_served:
        out.append("sort the answer")
    if top is not None and (plan.several or plan.top is None):
        out.append(f"keep the first {top:,}")
    out += _beyond_the_padding(plan)
    if plan.access in ("partition-range scan", "table scan"):
        out.append("follow every continuation token, also from an empty page")
    return out


def _beyond_the_padding(plan: AccessPlan) -> list[str]:
    """What to write for a bound that may have more digits than its padding."""
    out = []
    for term in plan.terms:
        for piece in term.text.pieces:
            if isinstance(piece, Hole) and piece.bound and piece.part.padded_width:
                (operand,) = (o for _, o in piece.operands)
                if operand.offset if isinstance(operand, Parameter) else 0:
                    falls = piece.part.order(Context({})) < 0
                    below, beyond = ("':'", "'-'") if falls else ("'-'", "':'")
                    name, width = piece.part.properties[0], piece.part.padded_width
                    out.append(
                        f"end the key with {beyond} in place of a bound on {name} of more than {width} digits, with "
                        f"{below} of one below {'0' if falls else f'-{10**width}'}"
                    )
    return list(dict.fromkeys(out))


# -- How a pair that lies in two partitions is brought to its end after a failure: which rows are written in which
# order.


INTENT_ROWS = 2
"""Writes in the partition of the intents for each pair: the row, and its end."""
LOAD_SHARE = 0.5
"""Share of a partition's target that the intents may take, so that the search for old ones is left room: assumed."""
OLD = "5 min"
KEPT = "1 h"


@dataclass(frozen=True, slots=True)
class PairRepair:
    """The steps of one pair in their order, how old intents are found, and the requests that a pair takes apart."""

    steps: tuple[str, ...]
    find: str
    requests: float


def repair_of(declared: Transaction, scheme: KeyScheme, workload: Workload, limits: Limits) -> PairRepair | None:
    """The protocol for a declared pair under a scheme; None for what is no pair."""
    pair = declared.pair
    if pair is None:
        return None
    writes = [c for c in workload.classes if c.name in declared.together]
    marks = any(c.operation is Operation.UPDATE for c in writes)
    partition = _intents(pair, scheme, workload.isolation, _buckets(writes, limits))
    first, second = (_keys(scheme, pair, name) for name in pair.parameters)
    what = " and ".join(dict.fromkeys(f"'{c.name}'" for c in writes))
    noted = ", with the row 'DONE:{id}' in the same group transaction" if marks else ""
    last = "set its state to done" if marks else "delete the intent row"
    steps = [
        f"insert the intent row: PartitionKey '{partition}', RowKey '{{ticks(now)}}_{{id}}', with "
        f"{pair.parameters[0]}, {pair.parameters[1]} and all that {what} will change",
        f"{what} of {pair.parameters[0]}: {first}{noted}",
        f"{what} of {pair.parameters[1]}: {second}{noted}",
        f"{last}" + (f"; {KEPT} later delete both DONE rows, then the intent row" if marks else ""),
    ]
    unless = "a DONE row that is there already (409) says that its step is done"
    if not marks:
        unless = "a row that is there already (409), or gone already (404), says that its step is done"
    open_ = " whose state is not done" if marks else ""
    ranges = f"PartitionKey eq '{partition}' and RowKey lt '{{ticks(now)}}' of {OLD} ago"
    each = "for each of its partitions " if "{" in partition else ""
    find = f"{each}{ranges}: repeat the steps from 2 on of each intent{open_}; {unless}"
    return PairRepair(tuple(steps), find, 7.0 if marks else 4.0)


def _buckets(writes: Iterable[QueryClass], limits: Limits) -> int:
    """Partitions that bear the intents of all pairs at the peak: two entities are one pair."""
    peak = sum(c.rate.sustained_per_s * c.entities_per_request for c in writes) / 2
    return max(1, math.ceil(peak * INTENT_ROWS / (LOAD_SHARE * limits.partition_entities_per_s)))


def _intents(pair: Pair, scheme: KeyScheme, isolation: str | None, buckets: int) -> str:
    """The PartitionKey of intent rows: where tenants are isolated in the range of keys of the first one's tenant."""
    label = "INTENT" if buckets == 1 else f"INTENT:{{hash(id,{buckets})}}"
    lead = None if isolation is None else isolating_lead(scheme.main.partition, isolation)
    return label if lead is None else f"{_of(lead, pair, pair.parameters[0])}_{label}"


def _keys(scheme: KeyScheme, pair: Pair, parameter: str) -> str:
    partition, row = (_of(parts, pair, parameter) for parts in (scheme.main.partition, scheme.main.row))
    return f"PartitionKey '{partition}', RowKey '{row}'"


def _of(parts: Sequence[Part], pair: Pair, parameter: str) -> str:
    """A template with the parameter for the pair's property, the other one for what is called as a parameter, and
    other properties as those of its entity."""
    text = format_template(tuple(parts))
    names = sorted(set(part_properties(parts)), key=len, reverse=True)
    if not names:
        return text
    (other,) = {*pair.parameters} - {parameter}
    pattern = "|".join(re.escape(name) for name in names)

    def named(match: re.Match[str]) -> str:
        if match[0] == pair.property:
            return parameter
        return other if match[0] in pair.parameters else f"{match[0]} of {parameter}"

    inside = re.compile(rf"(?<![\w'])(?:{pattern})(?![\w'])")
    return re.sub(r"\{[^{}]*\}", lambda part: inside.sub(named, part[0]), text)

"""A plain table store: keys in a list, requests as texts. Of a plan it reads little more than the `$filter` texts.

What a plan says in words (counts, atoms) is then compared with what its texts select.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.scheme import Key, encode
from pkadvisor.design.keys.template import parse_template, separators
from pkadvisor.design.keys.transforms import Context, Time, Value
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.table.edm import EdmType, TypedValue, utf16_key
from pkadvisor.table.odata import Filter, Parameter, bind, evaluate, parse_filter
from tests.design.support import python_value

Row = Mapping[str, object]

_KEY_TERM = re.compile(r"(PartitionKey|RowKey) (eq|ge|gt|le|lt) '((?:[^']|'')*)'(?: and )?")
_KEYS = ("PartitionKey", "RowKey")
_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_OFFSET = re.compile(r"([\w.]+?)((?:[+-]\d+(?:ms|min|[shdw])?)?)((?:-1tick)?)(?=[,)]|$)")
_UNIT = {"": 1, "s": 10**7, "min": 60 * 10**7, "h": 3600 * 10**7, "d": 86400 * 10**7, "w": 7 * 86400 * 10**7}


@dataclass(frozen=True)
class Request:
    """One request: bounds on the two keys as UTF-16 and a filter on the other properties."""

    terms: tuple[tuple[str, str, bytes], ...]
    rest: Filter | None

    def in_bounds(self, partition: str, row: str) -> bool:
        """Whether the service scans the entity."""
        for name, operator, bound in self.terms:
            key = utf16_key(partition if name == "PartitionKey" else row)
            if not {
                "eq": key == bound,
                "ge": key >= bound,
                "gt": key > bound,
                "le": key <= bound,
                "lt": key < bound,
            }[operator]:
                return False
        return True


def literals(row: Row, types: Mapping[str, EdmType]) -> dict[str, TypedValue]:
    """The properties of an entity as typed literals; missing ones are absent."""
    return {n: TypedValue(types[n], python_value(v)) for n, v in row.items() if v is not None}  # type: ignore[arg-type]


def fill(
    template: str, values: Mapping[str, Value], types: Mapping[str, EdmType], between: str, numbers: Iterator[int]
) -> str:
    """The text of a key with its holes filled; ``numbers`` are the buckets chosen for `{0…n}` holes."""

    def hole(match: re.Match[str]) -> str:
        if match.group() in ("{{", "}}"):
            return match.group()[0]
        inner = match.group(1)
        if inner.startswith("0…"):
            return str(next(numbers)).zfill(len(inner[2:]))
        moved = dict(values)
        found = _OFFSET.search(inner)
        if found and (found[2] or found[3]):
            name, offset, tick = found.groups()
            digits = re.match(r"[+-]\d+", offset or "-0")
            assert digits is not None
            inner = inner.replace(name + offset + tick, name)
            value = moved[name]
            assert isinstance(value, int)
            moved[name] = value + int(digits.group()) * _UNIT[offset[digits.end() :]] - bool(tick)
        (part,) = parse_template("{" + inner + "}", known=types)
        return part.encode(moved, Context(dict(types), between))

    return _HOLE.sub(hole, template)


def requests(
    plan: AccessPlan,
    key: Key,
    wanted: Conditions,
    values: Mapping[str, Value],
    rows: Sequence[Row],
    types: Mapping[str, EdmType],
) -> list[Request]:
    """Every request that the application sends for one set of parameters, each once."""
    (text,) = plan.filters
    terms = _KEY_TERM.findall(text)
    rest = _KEY_TERM.sub("", text).removesuffix(" and ")
    filter_ = parse_filter(rest, parameters=True) if rest else None
    # Both ends of a range name the same bucket: a hole counts once for each key.
    first = {name: bound for name, _, bound in reversed(terms)}
    buckets = {name: [int(n) for n in re.findall(r"\{0…(\d+)\}", first.get(name, ""))] for name in _KEYS}
    every = [*buckets["PartitionKey"], *buckets["RowKey"]]
    out = []
    for numbers in product(*(range(n + 1) for n in every)):
        for chosen in _choices(plan, wanted, values):
            for moment in _periods(plan, wanted, chosen, rows):
                bound_values = {**chosen, **({plan.periods.property: moment} if plan.periods else {})}
                found = []
                for name, operator, bound in terms:
                    side = separators(key.partition if name == "PartitionKey" else key.row)
                    at = bound_values if name == "PartitionKey" else chosen
                    mine = iter(numbers if name == "PartitionKey" else numbers[len(buckets["PartitionKey"]) :])
                    shown = fill(bound.replace("''", "'"), at, types, side, mine)
                    found.append((name, operator, utf16_key(shown)))
                given = {n: TypedValue(types[n], v) for n, v in values.items() if v is not None}
                out.append(Request(tuple(found), bind(filter_, given) if filter_ is not None else None))
    return list(dict.fromkeys(out))


def _choices(plan: AccessPlan, wanted: Conditions, values: Mapping[str, Value]) -> Iterator[dict[str, Value]]:
    constants = {n: o.value for n, o in wanted.equal.items() if isinstance(o, TypedValue)}
    options = []
    for name in plan.choices:
        found = []
        for operand in wanted.any_of[name]:
            found.append(values[operand.name] if isinstance(operand, Parameter) else operand.value)
        options.append(list(dict.fromkeys(found)))
    for picked in product(*options):
        yield {**values, **constants, **dict(zip(plan.choices, picked, strict=True))}


def _periods(plan: AccessPlan, wanted: Conditions, values: Mapping[str, Value], rows: Sequence[Row]) -> list[Value]:
    """One moment in each period between the bounds, as far as the table holds it."""
    if plan.periods is None:
        return [None]
    part: Time = plan.periods
    bounds = wanted.ranges[part.property]
    low, high = _operand(bounds.low, values), _operand(bounds.high, values)
    assert low is not None
    context = Context({part.property: EdmType.DATETIME})

    def period(moment: int) -> str:
        return part.encode({part.property: moment}, context)

    first = period(low)
    last = "9" if high is None else period(high if bounds.high_inclusive else max(low, high - 10))
    moments = [python_value(row[part.property]) for row in rows if row[part.property] is not None]
    shown = {period(m): m for m in moments if isinstance(m, int)}
    return [m for text, m in sorted(shown.items()) if first <= text <= last]


def _operand(operand: object, values: Mapping[str, Value]) -> int | None:
    if operand is None:
        return None
    if isinstance(operand, Parameter):
        value = values[operand.name]
        assert isinstance(value, int)
        return value + operand.offset_ticks
    assert isinstance(operand, TypedValue)
    assert isinstance(operand.value, int)
    return operand.value


@dataclass(frozen=True)
class Answer:
    """What a plan's requests scan and return: row numbers, once for each request that meets them."""

    scanned: list[int]
    returned: list[int]
    requests: int


def execute(
    plan: AccessPlan, key: Key, wanted: Conditions, instance: Row, rows: Sequence[Row], types: Mapping[str, EdmType]
) -> Answer:
    """Send a plan's requests to a plain list of entities."""
    values = {n: python_value(v) for n, v in instance.items()}
    keys = []
    for row in rows:
        plain = {n: python_value(v) for n, v in row.items()}
        keys.append((encode(key.partition, plain, dict(types)), encode(key.row, plain, dict(types))))
    sent = requests(plan, key, wanted, values, rows, types)
    scanned, returned = [], []
    for request in sent:
        for number, (partition, row_key) in enumerate(keys):
            if request.in_bounds(partition, row_key):
                scanned.append(number)
                if request.rest is None or evaluate(request.rest, literals(rows[number], types)):
                    returned.append(number)
    return Answer(sorted(scanned), sorted(returned), len(sent))


def matching(filter_: Filter, instance: Row, rows: Sequence[Row], types: Mapping[str, EdmType]) -> list[int]:
    """Row numbers that satisfy a filter over properties, by its definition."""
    bound = bind(filter_, literals(instance, types))
    return [number for number, row in enumerate(rows) if evaluate(bound, literals(row, types))]


def naive_moment(text: str) -> datetime:
    """A UTC moment from ISO text."""
    return datetime.fromisoformat(text + "+00:00")

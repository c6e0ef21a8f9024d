"""What a logged request says of properties: through the keys that it names and the templates that wrote them.

The keys of a log repeat. A text is taken apart once for each template, however many requests name it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from pkadvisor.design.keys.keyreader import decode_clocks, decode_folded, decode_key, decode_periods
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.rows.key_ranges import FOLDED, HIGH, LOW, OPEN_END, decode_range
from pkadvisor.design.rows.logged.choices import choices_in, python_of
from pkadvisor.observe.logs.traffic import ClassTraffic
from pkadvisor.table.edm import KEYS, EdmType, parse_literal
from pkadvisor.table.odata import Comparison, Filter, Parameter, TypedValue, conjuncts, parameters
from pkadvisor.values import dataclass

_READERS: Final = 16
"""Schemes whose readers are held: those of the kinds of one table."""
_TEXTS: Final = 8_192
"""Texts of one key that are held in what they say."""

Values = Mapping[str, object]
Bounds = Mapping[str, tuple[str, str]]
_Read = tuple[Values, Mapping[str, tuple[datetime, datetime]], Mapping[str, timedelta]]
"""What a key says: values, the first and the last moment of the periods in it, and times of day."""
_DAY: Final = timedelta(days=1)
_LEAST: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class LoggedRequest:
    """The keys that a request names, whole or as (first, behind the last), and what it says of properties itself.

    ``params``: the parameters that the log names, empty where it names none.
    """

    partition: str | None
    row: str | None
    bounds: Bounds
    values: Values
    params: Values

    def names(self, key: str) -> bool:
        """Whether the request says anything of ``PartitionKey`` or ``RowKey``."""
        return key in self.bounds or (self.partition if key == KEYS[0] else self.row) is not None


def requests_of(logged: ClassTraffic, samples: Iterable[Mapping[str, object]]) -> list[LoggedRequest]:
    """The requests of some samples of a class, in their order."""
    by_filter = logged.filter is not None and not logged.address
    compared = _Compared(logged.filter) if by_filter and logged.filter is not None else None
    out = []
    for sample in samples:
        text = sample.get("params")
        named = json.loads(text) if isinstance(text, str) else {}
        params = {name: value for name, value in named.items() if value is not None}
        if compared is not None:
            out.append(compared.request(sample.get("literals"), params))
        else:
            partition, row = sample.get("pk"), sample.get("rk")
            keys = (partition if isinstance(partition, str) else None, row if isinstance(row, str) else None)
            out.append(LoggedRequest(*keys, {}, {}, params))
    return out


class _Compared:
    """The comparisons of a filter, whose parameters each request fills with its literals."""

    def __init__(self, filter_: Filter) -> None:
        self.conjuncts = list(conjuncts(filter_))
        self.ranges = ranges_of_properties(filter_)
        self.choices = choices_in(filter_)

    def request(self, texts: object, params: Values) -> LoggedRequest:
        literals = [parse_literal(t) for t in texts] if isinstance(texts, list) else []
        keys: dict[str, str] = {}
        sides: dict[str, list[str]] = {}
        values: dict[str, object] = {}
        for part in self.conjuncts:
            if part in self.choices:
                values[self.choices[part]] = _chosen(part, literals)
            if not isinstance(part, Comparison):
                continue
            operand = part.operand
            if isinstance(operand, Parameter):
                place = int(operand.name[1:])
                if place >= len(literals):
                    continue
                operand = literals[place]
            value = operand.value
            if part.property in KEYS and isinstance(value, str):
                if part.operator == "eq":
                    keys[part.property] = value
                else:
                    side = sides.setdefault(part.property, ["", OPEN_END])
                    # A range holds its lower end and not its upper one; the least text above an end follows it.
                    beyond = part.operator in ("gt", "le") and value != OPEN_END
                    side[0 if part.operator in ("ge", "gt") else 1] = value + "\0" * beyond
            elif part.operator == "eq" or part in self.ranges:
                values[self.ranges.get(part, part.property)] = python_of(operand)
        bounds = {name: (first, behind) for name, (first, behind) in sides.items()}
        return LoggedRequest(keys.get(KEYS[0]), keys.get(KEYS[1]), bounds, values, params)


def _chosen(choice: Filter, literals: Sequence[TypedValue]) -> tuple[TypedValue, ...]:
    """The literals of one request at the places of a choice."""
    places = [int(name[1:]) for name in parameters(choice)]
    return tuple(literals[place] for place in places if place < len(literals))


def ranges_of_properties(filter_: Filter) -> dict[Comparison, str]:
    """The comparisons that bound a property by a parameter of the shape, and where each instance has its value.

    One for each side of a property; a second one stays as it was logged, and is not counted.
    """
    bounds: dict[Comparison, str] = {}
    for part in conjuncts(filter_):
        if isinstance(part, Comparison) and isinstance(part.operand, Parameter) and part.property not in KEYS:
            side = {"gt": LOW, "ge": LOW, "lt": HIGH, "le": HIGH}.get(part.operator)
            if side is not None and part.property + side not in bounds.values():
                bounds[part] = part.property + side
    return bounds


class RowReader:
    """Takes the keys of one row of a scheme apart."""

    def __init__(self, key: Key, types: Mapping[str, EdmType]) -> None:
        self.key = key
        self._types = types
        self._halves = ((KEYS[0], key.partition), (KEYS[1], key.row))
        self._whole = lru_cache(maxsize=_TEXTS)(self._read_whole)
        self._range = lru_cache(maxsize=_TEXTS)(self._read_range)

    def read(self, request: LoggedRequest) -> Values | None:
        """What the keys of a request say of properties; None where they are not of this row.

        A period that is named bounds the time in it where nothing says the time more exactly; with a day, the time of
        day tells it.
        """
        values: dict[str, object] = {}
        periods: dict[str, tuple[datetime, datetime]] = {}
        clocks: dict[str, timedelta] = {}
        for (name, _), text in zip(self._halves, (request.partition, request.row), strict=True):
            if text is not None:
                read = self._whole(name, text)
            elif name in request.bounds:
                read = self._range(name, *request.bounds[name])
            else:
                continue
            if read is None:
                return None
            values |= read[0]
            clocks |= read[2]
            for period, span in read[1].items():
                periods.setdefault(period, span)
        for name, (first, last) in periods.items():
            if not {name, name + LOW, name + HIGH} & values.keys():
                of_day = clocks if last - first < _DAY else {}
                day = first.replace(hour=0, minute=0, second=0, microsecond=0)
                if name in of_day:
                    values[name] = day + of_day[name]
                    continue
                until = of_day.get(name + HIGH)
                values[name + LOW] = max(first, day + of_day.get(name + LOW, timedelta()))
                values[name + HIGH] = last if until is None else min(last, day + until)
        return values

    def fixed_where_named(self, request: LoggedRequest) -> int:
        """The characters of fixed text in the templates of the keys that a request names."""
        parts = [part for name, half in self._halves if request.names(name) for part in half]
        return sum(len(part.constant or "") for part in parts)

    def _read_whole(self, name: str, text: str) -> _Read | None:
        parts = dict(self._halves)[name]
        values = decode_key(parts, text, self._types)
        if values is None:
            return None
        clocks: dict[str, timedelta] = {}
        for name_of_time, (first, lasts) in decode_clocks(parts, text, self._types).items():
            if lasts:
                clocks |= {name_of_time + LOW: first, name_of_time + HIGH: first + lasts - _LEAST}
            else:
                clocks[name_of_time] = first
        values |= {name + FOLDED: value for name, value in decode_folded(parts, text, self._types).items()}
        return values, decode_periods(parts, text, self._types), clocks

    def _read_range(self, name: str, first: str, behind: str) -> _Read | None:
        values = decode_range(dict(self._halves)[name], first, behind, self._types)
        if values is None:
            return None
        clocks = {n: value for n, value in values.items() if isinstance(value, timedelta)}
        return {n: value for n, value in values.items() if n not in clocks}, {}, clocks


class KeyReader:
    """Takes the keys of a scheme's rows apart; in ``rows`` the main row stands first."""

    def __init__(self, scheme: KeyScheme, types: Mapping[str, EdmType]) -> None:
        self.rows = tuple(RowReader(key, types) for key, _ in scheme.each_key())

    def fits(self, request: LoggedRequest) -> bool:
        """Whether a request can be for rows of the scheme; True where it names neither PartitionKey nor RowKey."""
        return any(row.read(request) is not None for row in self.rows)

    def closeness(self, request: LoggedRequest) -> int | None:
        """The most fixed text that a row which a request fits has in the keys that it names; None where it fits none.

        Of a request without keys the properties in the keys count: of the finest rows there are the most.
        """
        fitting = [row for row in self.rows if row.read(request) is not None]
        if not any(map(request.names, KEYS)):
            return max(len(row.key.properties) for row in fitting)
        return max((row.fixed_where_named(request) for row in fitting), default=None)

    def row_read(self, request: LoggedRequest) -> tuple[int, Values | None]:
        """The row that a request names (0: the main row, i: the i-th index row), and what its key says of properties.

        Of several that it fits it is that with the most fixed text in what the request names, else the first.
        """
        best: tuple[int, int, Values | None] = (-1, 0, None)
        for via, row in enumerate(self.rows):
            values = row.read(request)
            if values is not None and (fixed := row.fixed_where_named(request)) > best[0]:
                best = fixed, via, values
        return best[1:]


def reader_of(scheme: KeyScheme, types: Mapping[str, EdmType]) -> KeyReader:
    """The reader of a scheme's keys, which holds what it has read."""
    return _reader_of(scheme, tuple(types.items()))


@lru_cache(maxsize=_READERS)
def _reader_of(scheme: KeyScheme, types: tuple[tuple[str, EdmType], ...]) -> KeyReader:
    return KeyReader(scheme, dict(types))


def properties_of(
    logged: ClassTraffic, request: LoggedRequest, reader: KeyReader | None, types: Mapping[str, EdmType]
) -> dict[str, object] | None:
    """Property values, and bounds of ranges, behind a request; None where its keys fit no row of the scheme.

    Without a scheme the keys are properties.
    """
    writes = str(logged.op) != "query"
    params = {n: v for n, v in request.params.items() if n in types or not writes}
    if reader is None:
        out = dict(request.values)
        for name, text in zip(KEYS, (request.partition, request.row), strict=True):
            if text is not None and not params:
                out[name] = text
        for name, (first, behind) in request.bounds.items():
            out[name + LOW], out[name + HIGH] = first, behind
        return out | params
    _, read = reader.row_read(request)
    if read is None and not params:
        return None
    # What a filter says of a property itself is more exact than a range of keys.
    values = {**(read or {}), **request.values, **params}
    return {n: v for n, v in values.items() if not n.endswith(FOLDED) or n.removesuffix(FOLDED) not in values}

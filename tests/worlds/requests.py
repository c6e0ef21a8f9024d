"""The requests that a printed plan sends for one set of parameters, and the rows that their keys span.

A *plan* is what a class of a printed scheme says that it sends: filters, ``$top``, and what is left to the client.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product

from tests.worlds.key_text import Call, Part, Property, Writer, parse, properties, separators
from tests.worlds.model import Asked, Constant
from tests.worlds.periods import following, preceding, start_of
from tests.worlds.printed import KEYS, Test, Tree, fan_numbers, key_parts, read_filter
from tests.worlds.rows import Layout, Stored
from tests.worlds.values import DATETIME, Row, Value, shifted, units

REQUESTS_MOST = 20_000
"""More requests than this of one class are not counted: periods of a second between bounds that lie years apart."""


class TooManyError(Exception):
    """The requests of a class are too many to be counted one by one."""


@dataclass(frozen=True)
class Plan:
    """What a printed scheme says of one class: which key, which filter, ``$top``, and what the client does."""

    asked: Asked
    via: int
    filter: str
    top: int | None
    client: tuple[str, ...]
    access: str | None

    @cached_property
    def conditions(self) -> tuple[Test | Tree, ...]:
        """The comparisons that are not on keys."""
        return tuple(c for c in read_filter(self.filter) if isinstance(c, Tree) or c.name not in KEYS)

    @cached_property
    def on_keys(self) -> tuple[Test, ...]:
        """The comparisons on keys."""
        return tuple(c for c in read_filter(self.filter) if isinstance(c, Test) and c.name in KEYS)

    def does(self, begin: str) -> str | None:
        """A sentence of the client's work that begins so."""
        return next((s for s in self.client if s.startswith(begin)), None)

    @cached_property
    def follows(self) -> bool:
        """Whether the entity behind each row is read."""
        return self.does("read the entity ") is not None

    @cached_property
    def several(self) -> bool:
        """Whether several requests are sent: for buckets, for values, for periods."""
        return any(s.startswith("send one request for each") for s in self.client) or self.back

    @cached_property
    def back(self) -> bool:
        """Whether periods are asked from the newest on."""
        return self.does("read the periods one by one from the newest") is not None

    @cached_property
    def own_kind(self) -> bool:
        """Whether the client drops rows under other keys."""
        return self.does("skip rows of other kinds") is not None


def plan_of(asked: Asked, printed: Mapping[str, object]) -> Plan:
    """The plan of a printed class."""
    via = str(printed["via"])
    filters = printed["filters"]
    assert isinstance(filters, list) and len(filters) == 1
    number = 0 if via == "main" else int(via.removeprefix("index row "))
    client = printed["client_work"]
    assert isinstance(client, list)
    top, access = printed["top"], printed["access"]
    assert top is None or isinstance(top, int)
    return Plan(asked, number, str(filters[0]), top, tuple(map(str, client)), None if access is None else str(access))


@dataclass(frozen=True)
class Sent:
    """One request: the run of rows that its keys span, and whether it names one partition."""

    terms: tuple[tuple[str, str, str], ...]
    """The comparisons on keys, filled."""
    start: int
    stop: int
    partition: str | None
    row_bounds: tuple[tuple[str, bytes], ...] = ()
    """Comparisons on the RowKey where the PartitionKey is not fixed: they select rows and narrow nothing."""
    point: bool = False


Filled = tuple[tuple[str, str, list[str | Call]], ...]
"""Comparisons on keys: the key, the operator, and texts with what stands for a bucket."""


@dataclass
class Requests:
    """The requests of one plan over one layout."""

    plan: Plan
    layout: Layout
    made: int = 0
    _writer: Writer = field(init=False)
    _ranges: dict[tuple[tuple[str, str, str], ...], Sent] = field(default_factory=dict)
    _ends: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._writer = Writer(self.layout.kind.types)
        templates = self.layout.scheme.each_key()[self.plan.via]
        self._beside = {n: separators(parse(t)) for n, t in zip(KEYS, templates[:2], strict=True)}
        self._terms = [(t.name, t.operator, _told_apart(t.name, key_parts(t.operand))) for t in self.plan.on_keys]
        self._fans = list(
            dict.fromkeys(p for _, _, parts in self._terms for p in parts if isinstance(p, Call) and p.name == "fan")
        )
        several = self.plan.does("send one request for each value of ")
        read = {n for _, _, parts in self._terms for p in parts for n in properties(p)}
        self._choices = {n: o for n, o in self.plan.asked.choices().items() if several and n in read}
        self._period = self._enumerated()
        numbers = product(*(fan_numbers(fan) for fan in self._fans))
        self._numbers = [dict(zip(self._fans, each, strict=True)) for each in numbers]

    def _enumerated(self) -> Call | None:
        """The period of a PartitionKey that is asked one by one: its time is not fixed by the filter."""
        fixed = {*self.plan.asked.equal(), *self._choices}
        for name, operator, parts in self._terms:
            for part in parts if name == KEYS[0] and operator == "eq" else ():
                if isinstance(part, Call) and part.name == "time":
                    source = part.arguments[0]
                    assert isinstance(source, Property)
                    if source.name not in fixed:
                        return part
        return None

    def _ends_of(self, name: str) -> tuple[int, int]:
        """The first and the last moment in the table of a time."""
        if name not in self._ends:
            moments = [v for row in self.layout.kind.rows if isinstance(v := row[name], int)]
            self._ends[name] = min(moments, default=0), max(moments, default=0)
        return self._ends[name]

    def _moments(self, asked: Row) -> Iterator[int | None]:
        if self._period is None:
            yield None
            return
        name, pattern = properties(self._period)[0], str(self._period.arguments[1])
        low, high = self.bounds_of(name, asked)
        moment: int | None = high if self.plan.back else low
        while moment is not None and (start_of(low, pattern) <= moment if self.plan.back else moment <= high):
            yield moment
            moment = preceding(moment, pattern) if self.plan.back else following(moment, pattern)

    def bounds_of(self, name: str, asked: Row) -> tuple[int, int]:
        """The moments between which periods are asked, both included."""
        ends = low, high = self._ends_of(name)
        for each in self.plan.asked.comparisons():
            if each.name != name or each not in self.plan.asked.conditions():
                continue
            value = bound_value(each.operand, asked, DATETIME)
            assert isinstance(value, int)
            if each.operator in ("gt", "ge"):
                low = value
            elif each.operator in ("lt", "le"):
                high = value - (each.operator == "lt")
        if self.plan.back:  # no further than the periods that the table has
            high = min(high, ends[1])
            low = min(max(low, ends[0]), high)
        return low, high

    def bounded_periods(self) -> Iterator[tuple[str, Call]]:
        """The key and the period of each that a range over periods ends with."""
        for name, operator, parts in self._terms:
            last = next((part for part in reversed(parts) if not isinstance(part, str)), None)
            if operator in ("lt", "le") and isinstance(last, Call) and last.name == "time":
                yield name, last

    def of(self, asked: Row) -> Iterator[Sent]:
        """Every request for one set of parameters, each once."""
        seen = set[tuple[tuple[str, str, str], ...]]()
        of_bucket: Iterable[Filled] = self._of_a_bucket(asked)
        if self._fans:
            of_bucket = list(of_bucket)
        for fans in self._numbers:
            for filled in of_bucket:
                terms = tuple(
                    (n, op, "".join([p if isinstance(p, str) else fans[p] for p in pieces])) for n, op, pieces in filled
                )
                if terms not in seen:
                    seen.add(terms)
                    self.made += 1
                    if self.made > REQUESTS_MOST:
                        raise TooManyError(self.plan.filter)
                    yield self._sent(terms)

    def _of_a_bucket(self, asked: Row) -> Iterator[Filled]:
        """The comparisons of the requests for one bucket: for each choice and each period."""
        types = self.layout.kind.types
        constants = {n: o.value for n, o in self.plan.asked.equal().items() if isinstance(o, Constant)}
        asked = {**constants, **asked}  # in a key they are printed as their properties
        options = [[bound_value(o, asked, types[n]) for o in operands] for n, operands in self._choices.items()]
        for chosen in product(*options):
            values = {**asked, **dict(zip(self._choices, chosen, strict=True))}
            for moment in self._moments(asked):
                yield tuple((n, op, self._pieces(n, op, parts, values, moment)) for n, op, parts in self._terms)

    def _pieces(
        self, name: str, operator: str, parts: Sequence[Part], values: Row, moment: int | None
    ) -> list[str | Call]:
        """The texts of the parts of a key, with what stands for a bucket as it is."""
        out: list[str | Call] = []
        for part in parts:
            if isinstance(part, str) or (isinstance(part, Call) and part.name == "fan"):
                out.append(part)
            elif part is self._period and name == KEYS[0] and moment is not None:
                out.append(self._writer.part(part, {properties(part)[0]: moment}, self._beside[name]))
            else:
                end = "" if operator == "eq" else _beyond(part, values, self.layout.kind.types)
                if end:
                    return [*out, end]
                out.append(self._writer.part(part, values, self._beside[name]))
        return out

    def _sent(self, terms: tuple[tuple[str, str, str], ...]) -> Sent:
        if terms not in self._ranges:
            self._ranges[terms] = spanned(self.layout, terms)
        return self._ranges[terms]


def _told_apart(name: str, parts: Sequence[Part]) -> tuple[Part, ...]:
    """The parts with their fan-outs numbered: two with the same buckets are two all the same."""
    out: list[Part] = []
    for part in parts:
        if isinstance(part, Call) and part.name == "fan":
            part = Call("fan", (*part.arguments, f"{name} {len(out)}"))
        out.append(part)
    return tuple(out)


def _beyond(part: Part, values: Row, types: Mapping[str, str]) -> str:
    """What ends a key in place of a bound that is wider than its padding, as the client's work says."""
    if not isinstance(part, Call) or part.name not in ("pad", "reverse_pad"):
        return ""
    source, width = part.arguments
    assert isinstance(source, Property) and isinstance(width, int)
    value = values.get(source.name)
    if not source.offset or not isinstance(value, int):
        return ""
    moved = shifted(value, source.offset, types[source.name])
    assert isinstance(moved, int)
    if part.name == "pad":
        return ":" if moved >= 10**width else "-" if moved < -(10**width) else ""
    return "-" if moved >= 10**width else ":" if moved < 0 else ""


def bound_value(operand: object, asked: Row, edm: str) -> Value:
    """The value of an operand for one set of parameters."""
    if isinstance(operand, Constant):
        return operand.value
    value = asked[operand.name]  # type: ignore[attr-defined]
    assert value is not None
    return shifted(value, operand.offset, edm)  # type: ignore[attr-defined]


def spanned(layout: Layout, terms: Sequence[tuple[str, str, str]]) -> Sent:
    """The run of rows that comparisons on the keys span."""
    places = layout.places
    exact = next((units(text) for name, op, text in terms if name == KEYS[0] and op == "eq"), None)
    if exact is None:
        start, stop = 0, len(places)
        for name, operator, text in terms:
            key = units(text)
            if name != KEYS[0]:
                continue
            below, above = bisect_left(places, (key, b"")), bisect_left(places, (key + b"\0\0", b""))
            if operator in ("ge", "gt"):
                start = max(start, below if operator == "ge" else above)
            else:
                stop = min(stop, below if operator == "lt" else above)
        rows = tuple((op, units(text)) for name, op, text in terms if name == KEYS[1])
        return Sent(tuple(terms), start, max(start, stop), None, rows)
    start, stop = bisect_left(places, (exact, b"")), bisect_left(places, (exact + b"\0\0", b""))
    point = False
    for name, operator, text in terms:
        if name == KEYS[1]:
            place = (exact, units(text))
            if operator in ("ge", "gt", "eq"):
                start = max(start, (bisect_right if operator == "gt" else bisect_left)(places, place))
            if operator in ("le", "lt", "eq"):
                stop = min(stop, (bisect_left if operator == "lt" else bisect_right)(places, place))
            point = point or operator == "eq"
    return Sent(tuple(terms), start, max(start, stop), exact.decode("utf-16-be", "surrogatepass"), point=point)


def admitted(sent: Sent, row: Stored) -> bool:
    """Whether a row satisfies the comparisons on the RowKey that narrow nothing."""
    key = units(row.row)
    tests = {"eq": key.__eq__, "ge": key.__ge__, "gt": key.__gt__, "le": key.__le__, "lt": key.__lt__}
    return all(tests[operator](bound) for operator, bound in sent.row_bounds)

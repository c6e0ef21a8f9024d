"""The truth: rows of a table under given keys, sorted, and what the printed requests read of them, counted by loops.

A *plan* is what a class of a printed scheme says that it sends: filters, ``$top``, and what is left to the client. Its
consequences are counted here: which rows a request's keys span, how many pages, and whether all matching rows come.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from math import ceil

from tests.worlds.answers import Answers, Instance
from tests.worlds.key_text import Call, Part, Property, Writer, parse, properties, read_by, separators
from tests.worlds.model import Asked, Constant, Kind, Scheme
from tests.worlds.periods import following, preceding, start_of
from tests.worlds.printed import KEYS, Test, Tree, fan_numbers, key_parts, read_filter, satisfied
from tests.worlds.values import DATETIME, Row, Value, shifted, units

PAGE = 1000
"""Entities of a page."""
BOUNDARY = 1
"""Continuations that a scan over several partitions is charged with: an assumption that the limits file states."""
Place = tuple[bytes, bytes]


REQUESTS_MOST = 20_000
"""More requests than this of one class are not counted: periods of a second between bounds that lie years apart."""


class TooMany(Exception):
    """The requests of a class are too many to be counted one by one."""


class Broken(AssertionError):
    """A law that does not hold: what, the printed and the true value."""

    def __init__(
        self, law: str, what: str, scheme: str, printed: object, true: object, plan: Plan | None = None
    ) -> None:
        sent = "" if plan is None else f"; sent: {plan.filter!r}, $top {plan.top}, {plan.access} via {plan.via}"
        super().__init__(f"{law}: {what} under {scheme}: printed {printed}, true {true}{sent}")
        self.plan = plan
        self.keys: Scheme | None = None
        """The scheme, where the law is about one."""
        self.law, self.what, self.scheme, self.printed, self.true = law, what, scheme, printed, true

    def __reduce__(self) -> tuple[object, ...]:
        """How it is sent from one process to another."""
        given = (self.law, self.what, self.scheme, self.printed, self.true, self.plan)
        return Broken, given, {"keys": self.keys}


@dataclass(frozen=True)
class Stored:
    """One row: its key, the entity, and the number of the key that it is written under (0: the main one)."""

    partition: str
    row: str
    entity: int
    via: int


@dataclass(frozen=True)
class Layout:
    """Every row of a table under a scheme, in the order of the store."""

    kind: Kind
    scheme: Scheme
    rows: tuple[Stored, ...]

    @cached_property
    def places(self) -> list[Place]:
        """What rows are sorted by."""
        return [(units(r.partition), units(r.row)) for r in self.rows]

    @cached_property
    def unique(self) -> bool:
        """Whether no two rows share a key."""
        return all(a != b for a, b in zip(self.places, self.places[1:], strict=False))

    @cached_property
    def of_entity(self) -> dict[int, list[Stored]]:
        """The rows of each entity."""
        out: dict[int, list[Stored]] = {n: [] for n in range(len(self.kind.rows))}
        for row in self.rows:
            out[row.entity].append(row)
        return out


def lay_out(kind: Kind, scheme: Scheme) -> Layout:
    """All rows that a scheme stores: an index row only where all that it is looked up by is present."""
    writer, rows = Writer(kind.types), list[Stored]()
    numbers = _sequence_numbers(kind, scheme, writer)
    for number, entity in enumerate(kind.rows):
        values = {**entity, "#seq": numbers[number]}
        for via, (partition, row, _) in enumerate(scheme.keys()):
            if via and any(entity[name] is None for name in read_by(partition)):
                continue
            rows.append(Stored(writer.key(parse(partition), values), writer.key(parse(row), values), number, via))
    rows.sort(key=lambda r: (units(r.partition), units(r.row)))
    return Layout(kind, scheme, tuple(rows))


def _sequence_numbers(kind: Kind, scheme: Scheme, writer: Writer) -> list[int]:
    if "{seq(" not in scheme.partition + scheme.row:
        return [0] * len(kind.rows)
    seen, out = Counter[tuple[str, str]](), list[int]()
    for row in kind.rows:
        key = (writer.key(parse(scheme.partition), row), writer.key(parse(scheme.row), row))
        out.append(seen[key])
        seen[key] += 1
    return out


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

    @property
    def pointer(self) -> bool:
        """Whether the entity behind each row is read."""
        return self.does("read the entity that each pointer names") is not None

    @property
    def several(self) -> bool:
        """Whether several requests are sent: for buckets, for values, for periods."""
        return any(s.startswith("send one request for each") for s in self.client) or self.back

    @property
    def back(self) -> bool:
        """Whether periods are asked from the newest on."""
        return self.does("begin with the newest period") is not None

    @property
    def own_kind(self) -> bool:
        """Whether the client drops rows under other keys."""
        return self.does("drop rows of other kinds") is not None


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


@dataclass
class Requests:
    """The requests of one plan over one layout."""

    plan: Plan
    layout: Layout
    made: int = 0
    _writer: Writer = field(init=False)
    _ranges: dict[tuple[tuple[str, str, str], ...], Sent] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._writer = Writer(self.layout.kind.types)
        templates = self.layout.scheme.keys()[self.plan.via]
        self._beside = {n: separators(parse(t)) for n, t in zip(KEYS, templates[:2], strict=True)}
        self._terms = [(t.name, t.operator, _told_apart(t.name, key_parts(t.operand))) for t in self.plan.on_keys]
        self._fans = list(
            dict.fromkeys(p for _, _, parts in self._terms for p in parts if isinstance(p, Call) and p.name == "fan")
        )
        several = self.plan.does("send one request for each value of ")
        read = {n for _, _, parts in self._terms for p in parts for n in properties(p)}
        self._choices = {n: o for n, o in self.plan.asked.choices().items() if several and n in read}
        self._period = self._enumerated()

    def _enumerated(self) -> Call | None:
        """The period of a PartitionKey that is enumerated: its time is not fixed by the filter."""
        fixed = {*self.plan.asked.equal(), *self._choices}
        for name, operator, parts in self._terms:
            last = next((p for p in reversed(parts) if not isinstance(p, str)), None)
            if name == KEYS[0] and operator == "eq" and isinstance(last, Call) and last.name == "time":
                source = last.arguments[0]
                assert isinstance(source, Property)
                if source.name not in fixed:
                    return last
        return None

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The first and the last moment in the table of the time whose periods are enumerated."""
        assert self._period is not None
        name = properties(self._period)[0]
        moments = [v for row in self.layout.kind.rows if isinstance(v := row[name], int)]
        return min(moments), max(moments)

    def _moments(self, asked: Row) -> Iterator[int | None]:
        if self._period is None:
            yield None
            return
        name, pattern = properties(self._period)[0], str(self._period.arguments[1])
        low, high = self._bounds_of(name, asked)
        moment: int | None = high if self.plan.back else low
        while moment is not None and (start_of(low, pattern) <= moment if self.plan.back else moment <= high):
            yield moment
            moment = preceding(moment, pattern) if self.plan.back else following(moment, pattern)

    def _bounds_of(self, name: str, asked: Row) -> tuple[int, int]:
        """The moments between which periods are asked, both included."""
        low, high = self._ends
        for each in self.plan.asked.comparisons():
            if each.name != name or each not in self.plan.asked.conditions():
                continue
            value = bound_value(each.operand, asked, DATETIME)
            assert isinstance(value, int)
            if each.operator in ("gt", "ge"):
                low = value
            elif each.operator in ("lt", "le"):
                high = value - (each.operator == "lt")
        return low, high

    def of(self, asked: Row) -> Iterator[Sent]:
        """Every request for one set of parameters, each once."""
        types, seen = self.layout.kind.types, set[tuple[tuple[str, str, str], ...]]()
        options = [[bound_value(o, asked, types[n]) for o in operands] for n, operands in self._choices.items()]
        for numbers in product(*(fan_numbers(fan) for fan in self._fans)):
            fans = dict(zip(self._fans, numbers, strict=True))
            for chosen in product(*options):
                values = {**asked, **dict(zip(self._choices, chosen, strict=True))}
                for moment in self._moments(asked):
                    terms = tuple(
                        (n, op, self._text(n, op, parts, values, fans, moment)) for n, op, parts in self._terms
                    )
                    if terms not in seen:
                        seen.add(terms)
                        self.made += 1
                        if self.made > REQUESTS_MOST:
                            raise TooMany(self.plan.filter)
                        yield self._sent(terms)

    def _text(
        self, name: str, operator: str, parts: Sequence[Part], values: Row, fans: Mapping[Call, str], moment: int | None
    ) -> str:
        out: list[str] = []
        for part in parts:
            if isinstance(part, Call) and part in fans:
                out.append(fans[part])
            elif part is self._period and name == KEYS[0] and moment is not None:
                out.append(self._writer.part(part, {properties(part)[0]: moment}, self._beside[name]))
            else:
                end = "" if operator == "eq" else _beyond(part, values, self.layout.kind.types)
                if end:
                    return "".join([*out, end])
                out.append(self._writer.part(part, values, self._beside[name]))
        return "".join(out)

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


@dataclass
class Count:
    """What one set of parameters costs: entities read and returned, requests sent, entities by partition."""

    read: int
    returned: int
    requests: int
    sent: int
    load: Counter[str]
    fetched: int = 0
    """Of the requests, those that read the entity behind a pointer."""


@dataclass
class Counting:
    """The counts of one plan, instance by instance."""

    requests: Requests
    answers: Answers
    _runs: dict[tuple[int, int], Counter[str]] = field(default_factory=dict)

    def count(self, instance: Instance) -> Count:
        """What one instance costs; raises Broken through ``check`` only."""
        plan, layout = self.requests.plan, self.requests.layout
        matching = self.answers.matching(instance)
        load, read, pages, sent_total, fetched, got = Counter[str](), 0, 0, 0, 0, 0
        boundary = 0
        for sent in self.requests.of(instance.values):
            if plan.back and plan.asked.top is not None and got >= plan.asked.top:
                break
            stop = sent.stop
            if plan.top is not None:
                stop, hits = self._stop(sent, matching, plan.top)
                got += hits
            elif plan.back:
                got += sum(1 for r in layout.rows[sent.start : stop] if r.entity in matching and r.via == plan.via)
            scanned = stop - sent.start
            read += scanned
            sent_total += 1
            pages += max(1, ceil(scanned / PAGE))
            if sent.partition is None:
                boundary = BOUNDARY
                load.update(self._run(sent.start, stop))
            else:
                load[sent.partition] += max(1, scanned)
            if plan.pointer:
                for row in self._followed(sent, stop, matching):
                    fetched += 1
                    load[self._main(row.entity)] += 1
        returned = len(matching) if plan.asked.top is None else min(len(matching), plan.asked.top)
        return Count(max(1, read) + fetched, returned, pages + boundary + fetched, sent_total, load, fetched)

    def _main(self, entity: int) -> str:
        return next(r.partition for r in self.requests.layout.of_entity[entity] if r.via == 0)

    def _followed(self, sent: Sent, stop: int, matching: frozenset[int]) -> list[Stored]:
        """The pointer rows whose entities are read: all that the server returns, in order until ``top`` suffice."""
        plan = self.requests.plan
        rows = [r for r in self.requests.layout.rows[sent.start : stop] if r.via == plan.via]
        return rows

    def _run(self, start: int, stop: int) -> Counter[str]:
        if (start, stop) not in self._runs:
            self._runs[start, stop] = Counter(r.partition for r in self.requests.layout.rows[start:stop])
        return self._runs[start, stop]

    def _stop(self, sent: Sent, matching: frozenset[int], top: int) -> tuple[int, int]:
        """(the row behind the last one that a request with ``$top`` reads, how many it returns)."""
        hits, rows = 0, self.requests.layout.rows
        for at in range(sent.start, sent.stop):
            if rows[at].entity in matching and admitted(sent, rows[at]):
                hits += 1
                if hits == top:
                    return at + 1, hits
        return sent.stop, hits


def admitted(sent: Sent, row: Stored) -> bool:
    """Whether a row satisfies the comparisons on the RowKey that narrow nothing."""
    key = units(row.row)
    tests = {"eq": key.__eq__, "ge": key.__ge__, "gt": key.__gt__, "le": key.__le__, "lt": key.__lt__}
    return all(tests[operator](bound) for operator, bound in sent.row_bounds)

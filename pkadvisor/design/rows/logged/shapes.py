"""The parts of a logged class whose requests say the same properties: the filters over keys are alike, what they mean
need not be.

``RowKey ge 'D' and RowKey lt 'E'`` asks for one day where both texts begin with a day, and for a month where they
begin with a month. Requests whose keys no template of the design writes are a part of their own: they ask for other
entities than those that are judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

from pkadvisor.design.rows.logged.requests import KeyReader, LoggedRequest, properties_of, requests_of
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.traffic import ClassTraffic, TableTraffic
from pkadvisor.observe.minutes import MinuteSeries
from pkadvisor.observe.workload import ForeignRequests
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import properties
from pkadvisor.values import dataclass

RARE: Final = 0.02
"""Share of a class's sampled requests below which those that say other properties count as the rest of the class."""


@dataclass(frozen=True, slots=True)
class PartOfClass:
    """Requests of a class that say the same properties: their names, ascending, and the values of each request.

    ``came`` is when each came, in µs since 1970. ``foreign``: no template of the design writes the keys that they name.
    """

    traffic: ClassTraffic
    names: tuple[str, ...] = ()
    values: list[dict[str, object]] = field(default_factory=list)
    foreign: bool = False
    came: list[int | None] = field(default_factory=list)


def names_of(values: Mapping[str, object]) -> tuple[str, ...]:
    """The properties of a request, ascending."""
    return tuple(sorted(values))


def parts_of(
    logged: ClassTraffic, reader: KeyReader | None, types: Mapping[str, EdmType], *, one_kind: bool = True
) -> tuple[PartOfClass, ...]:
    """The parts of a class, in the order of their first request; of an insert into a table of one kind there are no
    foreign ones.

    New entities may have keys that nothing in the design foresees, and they are entities of the table all the same.
    """
    adds = one_kind and logged.op in ("insert", "upsert")
    read = [properties_of(logged, asked, reader, types) for asked in requests_of(logged, _rows(logged))]
    shapes = [_names(values) for values in read]
    counted = Counter(shape for shape in shapes if shape is not None)
    if not counted:
        return (PartOfClass(logged, foreign=bool(shapes) and not adds),)
    commonest, _ = counted.most_common(1)[0]
    homes = {shape: shape if n >= RARE * len(shapes) else commonest for shape, n in counted.items()}
    foreign = commonest if adds else None

    def home_of(values: dict[str, object] | None) -> tuple[str, ...] | None:
        return foreign if values is None else homes.get(names_of(values), commonest)

    home = [home_of(values) for values in read]
    if len(set(home)) == 1:
        whole, came = _values_of(logged, read, shapes, commonest)
        return (PartOfClass(logged, commonest, whole, came=came),)
    busy_home = [home_of(properties_of(logged, asked, reader, types)) for asked in busy_requests(logged)]
    out = []
    for one in dict.fromkeys(home):
        values, came = _values_of(logged, read, shapes, one)
        some = some_of(logged, [at == one for at in home], [at == one for at in busy_home])
        out.append(PartOfClass(some, one or (), values, foreign=one is None, came=came))
    return tuple(out)


def _values_of(
    logged: ClassTraffic,
    read: Sequence[dict[str, object] | None],
    shapes: Sequence[tuple[str, ...] | None],
    one: tuple[str, ...] | None,
) -> tuple[list[dict[str, object]], list[int | None]]:
    """The values of the sampled requests of one shape, and when each came."""
    times = logged.sample["at_us"].to_list()
    some = [(v, at) for v, shape, at in zip(read, shapes, times, strict=True) if v is not None and shape == one]
    return [values for values, _ in some], [at for _, at in some]


def _names(values: Mapping[str, object] | None) -> tuple[str, ...] | None:
    return None if values is None else names_of(values)


def _rows(logged: ClassTraffic) -> list[dict[str, object]]:
    return list(logged.sample.iter_rows(named=True))


def busy_requests(logged: ClassTraffic) -> list[LoggedRequest]:
    """What a class asks for in the busiest seconds of its table."""
    return [] if logged.busy is None else requests_of(logged, logged.busy.rows.iter_rows(named=True))


def some_of(logged: ClassTraffic, chosen: Sequence[bool], busy: Sequence[bool]) -> ClassTraffic:
    """A class with some of its sampled requests, and of those in its busiest seconds; rates, counts and minutes fall
    with the share of the sampled ones."""
    if all(chosen):
        return logged
    share, minutes = sum(chosen) / len(chosen), logged.minutes
    if minutes is not None:
        counts = tuple(max(1, round(n * share)) for n in minutes.requests)
        minutes = MinuteSeries(minutes.at, counts, minutes.of_day, minutes.burst_at)
    return replace(
        logged,
        sample=logged.sample.filter(pl.Series(chosen, dtype=pl.Boolean)),
        requests=max(1, round(logged.requests * share)),
        mean_per_s=None if logged.mean_per_s is None else logged.mean_per_s * share,
        peak_per_s=max(1, round(logged.peak_per_s * share)) if logged.peak_per_s else 0,
        peak_per_minute=max(1, round(logged.peak_per_minute * share)) if logged.peak_per_minute else 0,
        minutes=minutes,
        busy=None if logged.busy is None else logged.busy.part(busy, share),
    )


def names_keys(traffic: TableTraffic) -> bool:
    """Whether a logged request names a PartitionKey or a RowKey: a trace may name properties alone."""
    for logged in traffic.classes:
        over = properties(logged.filter) if logged.filter is not None and not logged.address else ()
        named = logged.sample["pk"].is_not_null() | logged.sample["rk"].is_not_null()
        if logged.op != "batch" and (set(over) & set(KEYS) or named.any()):
            return True
    return False


def requests_in(traffic: TableTraffic) -> int:
    """The logged requests of a table, each part of a group transaction as one."""
    return sum(each.requests for each in traffic.classes if each.op != "batch")


def foreign_requests(parts: Sequence[PartOfClass], logged: int) -> ForeignRequests:
    """Of so many logged requests those whose keys no template of the design writes; a key of the commonest class."""
    if not parts:
        return ForeignRequests(logged=logged)
    most = max(parts, key=lambda part: part.traffic.requests).traffic
    asked = requests_of(most, _rows(most)[:1])[0]
    partition, row = (
        own if own is not None else asked.bounds.get(name, (None,))[0]
        for name, own in (("PartitionKey", asked.partition), ("RowKey", asked.row))
    )
    requests = sum(part.traffic.requests for part in parts)
    return ForeignRequests(requests, logged, str(most.op), partition, row)

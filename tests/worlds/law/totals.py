"""Of the law *counted*: what a scheme prints of the whole table: sums over classes, partitions, bytes, and its end.

A class whose figure is not held exactly (see ``counted``) enters the sums as it is printed: then it is the sum that is
held. Bytes are those of the capacity formula of 2010: 4, and 2 for each UTF-16 code unit of both keys; for each
property that is present 8, 2 for each unit of its name, and its value. Targets are the published ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import log

from tests.worlds.model import Asked, Growth, World
from tests.worlds.rows import Layout
from tests.worlds.running import Document
from tests.worlds.values import BINARY, BOOLEAN, DATETIME, DOUBLE, GUID, INT32, INT64, STRING, Value, units

PARTITION_PER_S, ACCOUNT_PER_S = 2000.0, 20_000.0
POINTER_BYTES = 80
"""Of the two properties of a pointer row: an assumption that the limits state."""
FIXED_BYTES = {INT32: 4, INT64: 8, DOUBLE: 8, DATETIME: 8, GUID: 16, BOOLEAN: 1}
TOTAL = ("requests", "requests to locate", "entities read", "entities written")


@dataclass
class Figures:
    """What one class comes to: means of a request, and the loads that its reads and writes put on partitions."""

    asked: Asked
    values: dict[str, float]
    read_load: Mapping[str, float]
    written_load: Mapping[str, float]
    grows: tuple[bool, bool]
    """Whether what it reads, and what it writes, grows with the rows of a key."""


Pair = tuple[str, object, object]
"""A figure's name, as printed, as it is."""


def hours(world: World) -> list[dict[str, float]]:
    """Rates of all classes in each hour of the day: a class with declared hours has its peak only then."""
    out = []
    for hour in range(24):
        rates = {}
        for asked in world.asked:
            begin, end = asked.peak_at or (0, 24)
            inside = begin <= hour < end if begin < end else hour >= begin or hour < end
            rates[asked.name] = (asked.peak or asked.rate) if inside else asked.rate
        out.append(rates)
    return list({tuple(rates.items()): rates for rates in out}.values())


def property_bytes(value: Value, name: str, edm: str, size: int | None) -> float:
    """Stored bytes of one property."""
    length = 0.0
    if edm == STRING:
        assert isinstance(value, str)
        length = 4 + 2 * (len(units(value)) // 2 if size is None else size)
    elif edm == BINARY:
        assert isinstance(value, bytes)
        length = 4 + (len(value) if size is None else size)
    return 8 + 2 * (len(units(name)) // 2) + FIXED_BYTES.get(edm, 0) + length


def row_bytes(layout: Layout) -> dict[int, float]:
    """Mean stored bytes of each row of an entity, over those that have the row."""
    kind, keys = layout.kind, layout.scheme.each_key()
    values = [
        sum(
            property_bytes(v, n, kind.types[n], kind.told.get(n, {}).get("size"))  # type: ignore[arg-type]
            for n, v in row.items()
            if v is not None and n != "Timestamp"
        )
        for row in kind.rows
    ]
    total, count = Counter[int](), Counter[int]()
    for row in layout.rows:
        held = POINTER_BYTES if keys[row.via][2] == "pointer" else values[row.entity]
        total[row.via] += 4 + len(units(row.partition)) + len(units(row.row)) + held  # type: ignore[assignment]
        count[row.via] += 1
    return {via: total[via] / count[via] if count[via] else 0.0 for via in range(len(keys))}


def sums(found: list[Figures], world: World) -> dict[str, float]:
    """The terms that are sums over all classes but the analytic ones."""
    live = [f for f in found if not f.asked.analytic]
    out = {name: sum(f.asked.rate * f.values[name] for f in live) for name in TOTAL}
    out["entities counted"] = out["entities read"] + out["entities written"]
    out["requests at peak"] = max(
        sum(rates[f.asked.name] * f.values["requests"] for f in live) for rates in hours(world)
    )
    return out


def worst(found: list[Figures], world: World, score: Callable[[float, float], float]) -> tuple[float, str]:
    """(the highest score, of which partition) over all partitions and hours, of what stays and what grows there."""
    best, at = 0.0, ""
    for rates in hours(world):
        loads = (Counter[str](), Counter[str]())
        for each in found:
            if each.asked.analytic:
                continue
            rate = rates[each.asked.name]
            for load, grows in zip((each.read_load, each.written_load), each.grows, strict=True):
                for partition, entities in load.items():
                    loads[grows][partition] += rate * entities
        for partition in {**loads[0], **loads[1]}:
            value = score(loads[0][partition], loads[1][partition])
            if value > best:
                best, at = value, partition
    return best, at


def load_of(found: list[Figures], world: World, partition: str) -> float:
    """The load of one partition in its worst hour."""
    live = [f for f in found if not f.asked.analytic]
    loads = {f.asked.name: f.read_load.get(partition, 0.0) + f.written_load.get(partition, 0.0) for f in live}
    return max(sum(rates[name] * load for name, load in loads.items()) for rates in hours(world))


def grown_by(months: float, growth: Growth) -> float:
    """The factor of so many months."""
    factor: float = 1 + growth.percent / 100
    return factor ** (months / (12 if growth.per == "year" else 1))


def horizon(world: World) -> float:
    """The factor of the declared growth, over all of its time; 3 where none is declared."""
    return 3.0 if world.growth is None else grown_by(world.growth.horizon_months, world.growth)


def terms(printed: Document, layout: Layout, found: list[Figures], world: World) -> Iterator[Pair]:
    """Printed terms with the sums, bytes and partitions that they should be."""
    true = sums(found, world)
    each = row_bytes(layout)
    shares = Counter(row.via for row in layout.rows)
    entities = len(layout.kind.rows)
    stored = {via: size * shares[via] / entities for via, size in each.items()}
    true["partitions"] = len({row.partition for row in layout.rows if row.via == 0})
    true["stored"] = sum(stored.values())
    true["index rows"] = sum(size for via, size in stored.items() if via)
    true["storage"] = entities * true["stored"] / 1e9
    true["horizon"] = horizon(world)
    for term in printed["terms"]:
        if term["name"] in true:
            yield term["name"], term["value"], true[term["name"]]


def breaks(
    printed: Document, found: list[Figures], world: World, others: list[Figures] | None, saved_per_s: float
) -> Iterator[Pair]:
    """Printed break factors and months, with those that follow from the loads.

    ``others`` are the classes of the other kinds, which ask for the account too; None where they are not known: then
    the account is left out. ``saved_per_s`` is what transactions over several kinds save of all requests together.
    """
    hottest, _ = worst(found, world, lambda still, grown: still + grown)
    fill, _ = worst(
        found,
        world,
        lambda still, grown: grown / (PARTITION_PER_S - still) if still < PARTITION_PER_S and grown else 0.0,
    )
    crowded, _ = worst(found, world, lambda still, grown: float(grown > 0 and still >= PARTITION_PER_S))
    true = {"the hottest partition": PARTITION_PER_S / hottest if hottest else None}
    if fill and not crowded:
        true["scans of one partition"] = 1 / fill
    alone = sums(found, world)["requests at peak"]
    if alone and others is not None:
        together = sums([*found, *others], world)["requests at peak"]
        true["the account's requests"] = ACCOUNT_PER_S / max(alone, together - saved_per_s)
    for cause in printed["breaks"]:
        wanted = true.get(cause["cause"])
        if wanted is None or cause["unit"] == "x":
            continue
        yield f"break factor: {cause['cause']}", cause["factor"], wanted
        if cause["months"] is not None and world.growth is not None:
            months = max(0.0, log(wanted) / log(grown_by(1, world.growth)))
            yield f"months: {cause['cause']}", cause["months"], months
    able = [b["factor"] for b in printed["breaks"] if _growing(world) in b["growth_of"]]
    able += [
        b["limit"] / b["measured"]
        for b in printed["breaks"]
        if b["measured"] > b["limit"] and _growing(world) not in b["growth_of"] and b["unit"] != "numbers"
    ]
    term = next(t["value"] for t in printed["terms"] if t["name"] == "break factor")
    if able and term is not None:
        yield "break factor", term, min(able)


def _growing(world: World) -> str:
    return "rate" if world.growth is None else world.growth.of

"""Buckets and periods for index rows: finer rows for a set whose hottest partition or write range is that of a row.

A row in another partition has the key of one query, often of few values, and so its partitions take what the main key
spreads. The variants compete with all other schemes: buckets multiply the requests of the query that the row is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pkadvisor.design.choice.candidates import Ground, bucket_properties, buckets_by
from pkadvisor.design.choice.index_candidates import periods_for
from pkadvisor.design.cost.buckets import append_buckets, partition_buckets
from pkadvisor.design.cost.class_cost import class_cost
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Literal, Part, Time
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.rows.fronts import write_fronts
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.table.edm import EdmType

HOT, APPENDS = "hot-partition", "append-only"


def refine_rows(found: CostEstimate, ground: Ground) -> Iterator[KeyScheme]:
    """Finer variants of a scheme, where the PartitionKey that breaks worst is an index row's.

    Buckets or periods end a PartitionKey that is hot; buckets lead one that appends, which no period spreads. Nothing
    where another constraint is missed by more, or where the key at fault is the main one, which ``candidates.refine``
    gives buckets.
    """
    bench, scheme = ground.bench, found.scheme
    worst = max((v.severity for v in found.violations), default=0.0)
    broken = {v.code for v in found.violations if v.severity == worst}
    via = _via(scheme, _hottest(found, bench)) if HOT in broken else 0
    if via:
        names = bucket_properties(scheme.index_rows[via - 1].key, ground)
        needed = buckets_by(names, lambda n: partition_buckets(n, scheme, bench, found.classes, via=via), ground)
        for bucket in needed:
            yield _finer(scheme, via, (), (Literal(ground.separator), bucket), "hash bucket")
        for period in _periods(found, via, ground):
            yield _finer(scheme, via, (), (Literal(ground.separator), period), "time bucket")
    front = _via(scheme, _appending(found, bench)) if APPENDS in broken else 0
    if front:
        names, inserts = bucket_properties(scheme.index_rows[front - 1].key, ground), found.inserts_per_s_peak
        needed = buckets_by(
            names, lambda n: append_buckets(n, scheme, bench, found.classes, inserts, via=front), ground
        )
        for bucket in needed:
            yield _finer(scheme, front, (bucket, Literal(ground.separator)), (), "hash bucket")


def _periods(found: CostEstimate, via: int, ground: Ground) -> list[Time]:
    """Periods of the first time in the RowKey of an index row, for the heaviest class that reads the row; none where
    its PartitionKey holds that time already."""
    key = found.scheme.index_rows[via - 1].key
    times = [n for part in key.row for n in part.properties if ground.types.get(n) is EdmType.DATETIME]
    reading = [c for c in found.classes if c.plan is not None and c.plan.via == via]
    if not times or not reading or any(times[0] in part.properties for part in key.partition):
        return []
    heaviest = max(reading, key=lambda c: (c.rate_per_s, c.name)).name
    demand = next(d for d in ground.bench.demands if d.query.name == heaviest)
    return [Time(times[0], pattern) for pattern in periods_for(times[0], demand, ground)]


def _hottest(found: CostEstimate, bench: Bench) -> tuple[Part, ...]:
    """The PartitionKey template of the partition that takes most."""
    loads = LoadMap(bench.population, schedule_of(bench.workload, bench.population))
    for demand in bench.demands:
        class_cost(demand, found.scheme, bench, found.transactions, loads.of(demand.query.name))
    hottest = loads.hottest()
    return () if hottest is None else hottest[0]


def _appending(found: CostEstimate, bench: Bench) -> tuple[Part, ...]:
    """The PartitionKey template with the fewest ranges that take the inserts; of equals the main one."""
    limits, inserts = bench.limits, found.inserts_per_s_peak or None
    fewest: tuple[float, tuple[Part, ...]] = (float("inf"), ())
    for key, _ in found.scheme.each_key():
        lasting = write_fronts(key.partition, bench.population, limits, inserts).lasting(limits.lasting_s)
        if lasting is not None and lasting < fewest[0]:
            fewest = (lasting, key.partition)
    return fewest[1]


def _via(scheme: KeyScheme, partition: tuple[Part, ...]) -> int:
    """The one index row (from 1) without buckets that has a PartitionKey; 0 for the main key's, and where rows share
    it."""
    rows = [via for via, row in enumerate(scheme.index_rows, 1) if row.key.partition == partition]
    plain = not any(part.bucket_count for part in partition)
    return rows[0] if len(rows) == 1 and plain and partition != scheme.main.partition else 0


def _finer(scheme: KeyScheme, via: int, lead: tuple[Part, ...], tail: tuple[Part, ...], pattern: str) -> KeyScheme:
    """The scheme with parts put before and after the PartitionKey of one index row."""
    row = scheme.index_rows[via - 1]
    finer = replace(row, key=Key((*lead, *row.key.partition, *tail), row.key.row))
    rows = (*scheme.index_rows[: via - 1], finer, *scheme.index_rows[via:])
    return KeyScheme(scheme.main, rows, f"{scheme.pattern}, {pattern}")

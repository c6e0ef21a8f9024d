"""Buckets for index rows: finer rows for a set whose hottest partition or write range is that of a row.

A row in another partition has the key of one query, often of few values, and so its partitions take what the main key
spreads. The variants compete with all other schemes: buckets multiply the requests of the query that the row is for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pkadvisor.design.choice.candidates import Ground, bucket_properties, buckets_by
from pkadvisor.design.cost.buckets import append_buckets, partition_buckets
from pkadvisor.design.cost.class_cost import class_cost
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.transforms import Literal, Part
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.rows.fronts import write_fronts
from pkadvisor.design.rows.schedule import schedule_of

HOT, APPENDS = "hot-partition", "append-only"


def refine_rows(found: CostEstimate, ground: Ground) -> Iterator[KeyScheme]:
    """Variants of a scheme in which the PartitionKey that breaks worst, if it is an index row's, has buckets.

    They end a PartitionKey that is hot, and lead one that appends. Nothing where another constraint is missed by more,
    or where the key at fault is the main one, which ``candidates.refine`` gives buckets.
    """
    bench, scheme = ground.bench, found.scheme
    worst = max((v.severity for v in found.violations), default=0.0)
    broken = {v.code for v in found.violations if v.severity == worst}
    via = _via(scheme, _hottest(found, bench)) if HOT in broken else 0
    if via:
        names = bucket_properties(scheme.index_rows[via - 1].key, ground)
        needed = buckets_by(names, lambda n: partition_buckets(n, scheme, bench, found.classes, via=via), ground)
        for bucket in needed:
            yield _bucketed(scheme, via, (), (Literal(ground.separator), bucket))
    front = _via(scheme, _appending(found, bench)) if APPENDS in broken else 0
    if front:
        names, inserts = bucket_properties(scheme.index_rows[front - 1].key, ground), found.inserts_per_s_peak
        needed = buckets_by(
            names, lambda n: append_buckets(n, scheme, bench, found.classes, inserts, via=front), ground
        )
        for bucket in needed:
            yield _bucketed(scheme, front, (bucket, Literal(ground.separator)), ())


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


def _bucketed(scheme: KeyScheme, via: int, lead: tuple[Part, ...], tail: tuple[Part, ...]) -> KeyScheme:
    """The scheme with parts put before and after the PartitionKey of one index row."""
    row = scheme.index_rows[via - 1]
    finer = replace(row, key=Key((*lead, *row.key.partition, *tail), row.key.row))
    rows = (*scheme.index_rows[: via - 1], finer, *scheme.index_rows[via:])
    return KeyScheme(scheme.main, rows, f"{scheme.pattern}, hash bucket")

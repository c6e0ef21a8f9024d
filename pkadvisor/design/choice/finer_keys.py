"""Finer main keys for what was measured as too hot: hash buckets, as many as the load needs.

Classes that a key serves poorly get index rows later on, and put no load on its partitions then: buckets are counted
with their load and without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.cost.buckets import BucketCount, append_buckets, partition_buckets
from pkadvisor.design.keys.scheme import Key, KeyScheme, variable
from pkadvisor.design.keys.transforms import Escaped, Field, Hash, Literal, Lower, Part, part_properties
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, ClassCost, CostEstimate
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.atoms import atoms_of

VALUES_PER_BUCKET = 4
"""Distinct values at hand for each bucket at the least: of fewer, a bucket is hardly more than a value. Assumed."""
SCANNED = ("hot-range", "scan-load")
"""Constraints that requests for several partitions miss: buckets ask fewer of them, one by one."""
FOLDED_INTO = (8, 32)
"""Buckets of what a PartitionKey holds, in place of it. Assumed."""
BUCKETED_BY = 2
"""Properties of a RowKey that are tried to bucket by, of those with values enough."""


def poorly_served(estimate: CostEstimate, ground: KeyGround) -> list[str]:
    """Classes that read much more than they return, the most wasteful first; one name for those that ask alike. Where
    the key misses a limit, every class that reads more than it returns."""
    alike = ground.alike()
    much = 1 if estimate.violations else 2
    waste: dict[str, float] = {}
    for c in estimate.classes:
        if (
            c.plan is not None
            and not c.analytic
            and (
                c.plan.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN)
                or c.fan_out > 1
                or c.entities_read > much * max(1.0, c.entities_returned)
            )
        ):
            wasted = c.rate_per_s * (c.requests + (c.entities_read - max(1.0, c.entities_returned)) / 1000)
            waste[alike[c.name]] = waste.get(alike[c.name], 0.0) + wasted
    return sorted(waste, key=lambda name: (-waste[name], name))


def refine(estimate: CostEstimate, ground: KeyGround) -> Iterator[KeyScheme]:
    """Bucketed variants of a scheme whose hottest partition or write range passes its target at the horizon.

    The count leaves head-room at the horizon, since another one later is a migration; where none is enough, the one
    that comes nearest is tried.
    """
    bench, scheme, key = ground.bench, estimate.scheme, estimate.scheme.main
    limits, horizon = bench.limits, estimate.horizon_factor
    hashed = bucketed_texts(key, ground)
    if estimate.hot is not None and estimate.hot.entities_per_s * horizon > limits.partition_entities_per_s:
        for some, costs in ((bench, estimate.classes), _served_well(estimate, ground)):
            for bucket in buckets_by(
                hashed, partial(partition_buckets, scheme=scheme, bench=some, costs=costs), ground
            ):
                yield KeyScheme(Key((*key.partition, Literal(ground.separator), bucket), key.row), (), "hash bucket")
    if any(v.code in SCANNED for v in estimate.violations):
        yield from _in_buckets_of_its_own(scheme, ground)
    fronts = estimate.fronts.lasting(limits.lasting_s)
    if fronts is not None and estimate.inserts_per_s_peak * horizon / fronts > limits.range_entities_per_s:
        own = [text_of(name, key.partition) for name in part_properties(variable(key.partition))]

        def needed(text: Escaped) -> BucketCount | None:
            return append_buckets(text, scheme, bench, estimate.classes, estimate.inserts_per_s_peak)

        for bucket in (*buckets_by(hashed, needed, ground), *buckets_by(own, needed, ground, len(own))):
            lead = (bucket, Literal(ground.separator)) if key.partition else (bucket,)
            yield KeyScheme(Key((*lead, *key.partition), key.row), (), "hash bucket")


def _in_buckets_of_its_own(scheme: KeyScheme, ground: KeyGround) -> Iterator[KeyScheme]:
    """A scheme with buckets of what its PartitionKey holds in place of that, which begins the RowKey: a range asks each
    bucket in its order, and entities that have it in common still share a partition."""
    key = scheme.main
    own = variable(key.partition)
    whole = len(own) == 1 and (own[0].injective or own[0].tells_folded)
    if whole and not own[0].bucket_count and len(own[0].properties) == 1:
        text = text_of(own[0].properties[0], own)
        if ground.population.distinct(atoms_of([text])) > 1:
            for count in FOLDED_INTO:
                row = ground.join((*own, *variable(key.row)))
                yield KeyScheme(Key((_bucket(text, count),), row), (), "hash bucket")


def recounted(estimate: CostEstimate, ground: KeyGround) -> Iterator[KeyScheme]:
    """The scheme with as many hash buckets as bear ``BREAK_ENOUGH`` times the load that its hottest partition has now:
    when ``refine`` counted them, it had no index rows, which take reads off the key and add writes to it."""
    limits, scheme = ground.bench.limits, estimate.scheme
    allowed = limits.partition_entities_per_s * limits.headroom_warn_share
    for bucket in scheme.main.partition:
        built = bucket.bucket_count
        if built is None or bucket.bucketed is None or estimate.hot is None or not scheme.index_rows:
            continue
        count = math.ceil(built * estimate.hot.entities_per_s * BREAK_ENOUGH / allowed)
        if 1 < count < built:
            fewer = _bucket(bucket.bucketed, count)
            partition = tuple(fewer if part == bucket else part for part in scheme.main.partition)
            keys = [
                replace(key, partition=partition) if key.partition == scheme.main.partition else key
                for key, _ in scheme.each_key()
            ]
            rows = tuple(replace(row, key=key) for row, key in zip(scheme.index_rows, keys[1:], strict=True))
            yield replace(scheme, main=keys[0], index_rows=rows)


def _served_well(estimate: CostEstimate, ground: KeyGround) -> tuple[Bench, tuple[ClassCost, ...]]:
    """The bench of the classes that need no index row, and what these cost."""
    alike, poor = ground.alike(), set(poorly_served(estimate, ground))
    classes = zip(ground.bench.demands, estimate.classes, strict=True)
    served = [(demand, cost) for demand, cost in classes if alike[demand.query.name] not in poor]
    return replace(ground.bench, demands=tuple(d for d, _ in served)), tuple(c for _, c in served)


def bucketed_texts(key: Key, ground: KeyGround) -> list[Escaped]:
    """Properties to bucket by: in the RowKey, so that a point read can compute it, and in lower case where the RowKey
    is; the one most filters fix first."""
    partition = part_properties(key.partition)
    names = [name for name in part_properties(key.row) if name not in partition]
    spread = [n for n in names if ground.population.distinct([("p", n)]) > 16]
    return [text_of(n, key.row) for n in sorted(spread, key=lambda n: (-ground.weight(n), names.index(n)))]


def text_of(name: str, parts: Iterable[Part]) -> Escaped:
    """The text of a property as the parts of a key read it: whoever makes these may know no more of it."""
    return Field(name) if any(part.reads_case(name) for part in parts) else Lower(name)


def _bucket(text: Escaped, count: int) -> Hash:
    return Hash(text.plain_property or text, count)


def buckets_by(
    texts: Iterable[Escaped],
    needed: Callable[[Escaped], BucketCount | None],
    ground: KeyGround,
    most: int = BUCKETED_BY,
) -> Iterator[Hash]:
    """The buckets that a key needs by its first ``most`` properties with values enough: those with head-room at the
    horizon, as many as bear so much that more is no merit, and as few as have the room for growth to plan for. Where
    none has, as many as the first can fill; where no count is enough, the one that comes nearest, if any does.

    A bucket of about one value is that value: it divides no better, and every read must ask for all of them. So a
    property of fewer than ``VALUES_PER_BUCKET`` values for each bucket gives way to the next.
    """
    left, filled = most, list[Hash]()
    for text in texts:
        if not left:
            return
        buckets = needed(text)
        counts = (
            [] if buckets is None else [c for c in (buckets.comfort, buckets.limit, buckets.nearest) if c is not None]
        )
        room = ground.population.distinct(atoms_of([text])) // VALUES_PER_BUCKET
        count = next((c for c in counts if c <= room), None)
        if counts and count is None:
            filled += [_bucket(text, 2 ** int(math.log2(room)))] if room > 1 else []
            continue
        left -= 1
        if count is not None and count > 1:
            yield _bucket(text, count)
            if buckets is not None and buckets.ample is not None and count < buckets.ample <= room:
                yield _bucket(text, buckets.ample)
            if buckets is not None and buckets.planned is not None and 1 < buckets.planned < count:
                yield _bucket(text, buckets.planned)
    if left == most:
        yield from filled[:1]

"""What is hot and what helps: loads over their targets at the horizon, bursts, and loads near their targets.

Three verdicts (as DynamoDB's throttle reasons and CockroachDB's hot-spot classes tell apart): *hot entity*, no key
helps; *hot partition*, no split helps; *hot range*, a split helps after the minutes that the service needs for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.design.cost.buckets import BucketCount, append_buckets, partition_buckets
from pkadvisor.design.keys.scheme import Key, KeyScheme, variable
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.breaks import ACCOUNT, ENTITY, FILLING, INSERTS, PARTITION, RUN, SCANS, account_unit
from pkadvisor.design.load.estimates import Bench, Break, ClassCost, HotPartition, Remark, Violation
from pkadvisor.design.load.heat import LoadMap, PartitionLoad
from pkadvisor.design.load.keyfacts import encode_row
from pkadvisor.design.rows.fronts import Fronts
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.documents.part import REFUSED_BURST
from pkadvisor.limits import Limits
from pkadvisor.numbers import amount, percent, ratio
from pkadvisor.observe.workload import GrowthOf

HELPS = {
    "hot-entity": "no key helps: cache its reads, or shard its writes over several entities",
    "hot-partition": "Azure cannot split one PartitionKey value: use a finer PartitionKey or hash buckets",
    "hot-range": "Azure splits it only after minutes: raise the load slowly",
    "first-rows": "give each reader a hash bucket of its own to ask, or use a queue service",
    "append-only": "no split helps: begin the PartitionKey with hash buckets or another property",
    "scan-load": "only a key whose parts the filter fixes reads fewer entities",
    "account": "keys that need fewer requests help, or a second storage account",
}
"""What helps against each verdict."""
ALONE = 1.1
"""A partition that takes no more than this times its hottest entity is hot by that entity alone."""


def hot_partition(loads: LoadMap, bench: Bench) -> HotPartition | None:
    """The partition that takes most at the peak, with its verdict."""
    hottest = loads.hottest()
    if hottest is None:
        return None
    parts, load = hottest
    entity = loads.hottest_entity()
    verdict = _verdict(load.entities_per_s, entity[1].entities_per_s if entity else 0.0, bench)
    return HotPartition(
        _text(parts, load, bench.population),
        load.entities_per_s,
        load.share,
        load.partitions,
        verdict,
        HELPS.get(verdict, ""),
        load.mean_per_s,
        loads.second_per_s(parts, load),
        loads.basis,
        parts,
        load.row,
    )


def _verdict(partition: float, entity: float, bench: Bench) -> str:
    """Whether a load is over the head-room line now, or over its target when the rates have grown; and by what."""
    limit = bench.limits.partition_entities_per_s
    horizon = bench.horizon_factor if bench.growth_of is GrowthOf.RATE else 1.0

    def hot(load: float) -> bool:
        return load > limit * bench.limits.headroom_share or load * horizon > limit

    if hot(entity):
        return "hot-entity"
    return "hot-partition" if hot(partition) else ""


def _text(parts: tuple[Part, ...], load: PartitionLoad, population: Population) -> str:
    return encode_row(parts, under(parts, population), load.row) if load.row is not None else format_template(parts)


def _partition_name(text: str) -> str:
    return f"partition '{text}'" if text else "the one partition ''"


def heat_violations(
    scheme: KeyScheme, bench: Bench, loads: LoadMap, fronts: Fronts, inserts_peak: float, breaks: Sequence[Break]
) -> list[Violation]:
    """Loads that are over their targets now, or when what is declared to grow has grown over its horizon."""
    limit_breaks: dict[str, Break] = {}
    for each in breaks:  # of two growths of one cause the one that the workload has
        if each.cause not in limit_breaks or bench.growth_of in each.by:
            limit_breaks[each.cause] = each
    out: list[Violation] = []
    entity = loads.hottest_entity()
    entity_over = entity is not None and ENTITY in limit_breaks and _over(limit_breaks[ENTITY], bench)
    if entity is not None and entity_over:
        key, load = entity
        text, keys = _entity_name(key, load, bench.population)
        out.append(_violation("hot-entity", text, limit_breaks[ENTITY], bench, keys))
    hot = loads.hottest()
    by_entity = entity_over and hot is not None and hot[1].entities_per_s <= ALONE * limit_breaks[ENTITY].measured
    if hot is not None and PARTITION in limit_breaks and not by_entity and _over(limit_breaks[PARTITION], bench):
        text = _text(hot[0], hot[1], bench.population)
        what = f"{_partition_name(text)} takes {percent(hot[1].share)} of the load"
        out.append(_violation("hot-partition", what, limit_breaks[PARTITION], bench, (text,) if text else ()))
    filling = loads.first_to_fill(bench.limits.partition_entities_per_s)
    growing = bench.growth_of is GrowthOf.ROWS_PER_KEY
    if filling is not None and growing and FILLING in limit_breaks and not any(v.code == "hot-partition" for v in out):
        text = _text(filling[0], filling[1], bench.population)
        if _over(limit_breaks[FILLING], bench) and not by_entity:
            what = f"{_partition_name(text)} grows, and queries scan it"
            out.append(_violation("hot-partition", what, limit_breaks[FILLING], bench, (text,) if text else ()))
    lasting = fronts.lasting(bench.limits.lasting_s)
    if lasting is not None and INSERTS in limit_breaks and _over(limit_breaks[INSERTS], bench):
        template = format_template(scheme.main.partition) or "''"
        what = f"all inserts go to {ranges_text(lasting)} at a time under {template}: {inserts_peak:,.0f} entities/s"
        out.append(_violation("append-only", what, limit_breaks[INSERTS], bench, (), "entities/s in one range"))
    if RUN in limit_breaks and _over(limit_breaks[RUN], bench):
        out.append(_hot_run(loads.busiest_run[1], limit_breaks[RUN], bench))
    # The account's target is stated for requests "assuming entities of 1 KiB"; for scans it is read as entities.
    if SCANS in limit_breaks and _over(alone(limit_breaks[SCANS]), bench):
        out.append(_violation("scan-load", SCANS, alone(limit_breaks[SCANS]), bench))
    if ACCOUNT in limit_breaks and _over(alone(limit_breaks[ACCOUNT]), bench):
        unit = account_unit(bench.limits)
        out.append(_violation("account", "all requests together", alone(limit_breaks[ACCOUNT]), bench, (), unit))
    return out


def _hot_run(reader: str, limit_break: Break, bench: Bench) -> Violation:
    """One range of keys that a query reads over its target: a run of partitions, or the first rows of all."""
    asked = [d.query for d in bench.demands if d.query.name == reader and d.query.top]
    top = max((query.top or 0 for query in asked), default=0)
    first_per_s = sum((query.top or 0) * query.rate.sustained_per_s for query in asked)
    if limit_break.measured > first_per_s * (1 + 1e-6):  # a scan that $top does not stop
        what = f"'{reader}' reads neighbouring partitions, which one server holds until Azure splits them"
        return _violation("hot-range", what, limit_break, bench)
    what = f"'{reader}' reads the first {amount(top)} rows each time, which lie in one range of keys"
    return replace(_violation("first-rows", what, limit_break, bench), code="hot-range")


def alone(shared: Break) -> Break:
    """A target with this table's own load on it: schemes of a table are compared by that, whatever others bring."""
    return replace(shared, measured=shared.measured - shared.others, others=0.0)


def _at_horizon(limit_break: Break, bench: Bench) -> float:
    return limit_break.load_at(bench.horizon_factor if bench.growth_of in limit_break.by else 1.0)


def _over(limit_break: Break, bench: Bench) -> bool:
    return _at_horizon(limit_break, bench) > limit_break.limit


def _violation(
    code: str, what: str, limit_break: Break, bench: Bench, keys: tuple[str, ...] = (), unit: str = "entities/s"
) -> Violation:
    declared, reached = bench.workload.growth is not None, _at_horizon(limit_break, bench)
    peak = "in the busiest second" if bench.workload.bursts_refused else "at the peak"
    when, load = f"{limit_break.measured:,.0f} {unit} {peak}", limit_break.measured
    if limit_break.measured <= limit_break.limit:
        of = "" if bench.growth_of is GrowthOf.RATE else f" of the {WORDS[bench.growth_of]}"
        when += f", {grown(load, reached, declared, of)}"
        load = reached
    share = ratio(load / limit_break.limit)
    message = f"{what}: {when}, {share} the target of {limit_break.limit:,.0f}; {HELPS[code]}"
    assumed = limit_break.measured <= limit_break.limit and not declared
    return Violation(
        code, message, limit_break.measured, limit_break.limit, unit, reached / limit_break.limit, assumed, keys
    )


def grown(load: float, reached: float, declared: bool, of: str = "") -> str:
    """A load after growth, with the factor between both and where it comes from."""
    return f"{reached:,.0f} after {amount(reached / load)}x growth{of}" + ("" if declared else " (assumed)")


WORDS = {GrowthOf.RATE: "rates", GrowthOf.NEW_KEYS: "keys", GrowthOf.ROWS_PER_KEY: "rows per key"}
"""What grows, in words."""


def _entity_name(key: Key, load: PartitionLoad, population: Population) -> tuple[str, tuple[str, ...]]:
    if load.row is None:
        return f"one entity of {key}", ()
    population = under((*key.partition, *key.row), population)
    keys = tuple(encode_row(parts, population, load.row) for parts in (key.partition, key.row))
    return f"the entity '{keys[0]}' | '{keys[1]}' alone", tuple(k for k in keys if k)


def heat_remarks(scheme: KeyScheme, bench: Bench, loads: LoadMap, breaks: Sequence[Break]) -> list[Remark]:
    """Loads between the head-room line and the target, busiest seconds over it, and the hottest partition of the main
    rows where index rows have a hotter one."""
    limits, out = bench.limits, list[Remark]()
    hot = loads.hottest()
    target = limits.partition_entities_per_s
    partition = next((b for b in breaks if b.cause == PARTITION), None)
    if hot is not None and partition is not None and not _over(partition, bench):
        load = hot[1].entities_per_s
        if load > target * limits.headroom_share:
            tail = f"takes {percent(load / target)} of its target at the peak: more than "
            tail += f"{percent(limits.headroom_share)} leaves little room for growth"
            name = _partition_name(_text(hot[0], hot[1], bench.population))
            out.append(Remark("head-room", f"{name} {tail}", f"one partition {tail}"))
    main = scheme.main.partition
    of_index_rows = hot is not None and hot[0] in [row.key.partition for row in scheme.index_rows if hot[0] != main]
    of_main_rows = loads.hottest_of(main) if of_index_rows else None
    if of_main_rows is not None:
        load = of_main_rows.entities_per_s
        tail = f"takes {amount(load)} entities/s at the peak, {percent(load / target)} of its target"
        tail += "; a partition of index rows is hotter"
        name = _partition_name(_text(main, of_main_rows, bench.population))
        out.append(
            Remark(
                "main-rows",
                f"without index rows, {name} {tail}",
                f"without index rows, one partition {tail}",
            )
        )
    burst = loads.busiest_second()
    if bench.workload.bursts_refused and hot is not None and hot[1].entities_per_s > target:
        tail = f"takes {amount(hot[1].entities_per_s)} entities in its busiest second, "
        tail += f"{ratio(hot[1].entities_per_s / target)} its target; the log shows that such bursts are refused"
        name = _partition_name(_text(hot[0], hot[1], bench.population))
        out.append(Remark(REFUSED_BURST, f"{name} {tail}", f"one partition {tail}"))
    elif burst is not None and burst[2] > target >= burst[1].entities_per_s:
        out.append(_burst(burst[2], _text(*burst[:2], bench.population), limits))
    return out


def _burst(second_per_s: float, text: str, limits: Limits) -> Remark:
    """A busiest second over the target, as a token bucket sees it: in a second it admits its allowance and the rate."""
    target, allowance = limits.partition_entities_per_s, limits.burst_s * limits.partition_entities_per_s
    over = second_per_s - target
    tail = (
        f"takes {second_per_s:,.0f} entities in its busiest second, {ratio(second_per_s / target)} its "
        f"target; throttled if the burst allowance is under {over:,.0f} entities "
        f"({allowance:,.0f} are assumed: {'it passes' if over <= allowance else 'it is throttled'})"
    )
    code = "burst" if over <= allowance else "throttled-burst"
    return Remark(code, f"{_partition_name(text)} {tail}", f"one partition {tail}")


def ranges_text(fronts: float) -> str:
    """A number of key ranges in words."""
    return f"{amount(fronts)} key range{'s' if fronts >= 1.005 else ''}"


def bucket_words(
    scheme: KeyScheme, bench: Bench, costs: tuple[ClassCost, ...], inserts_per_s: float
) -> tuple[str, ...]:
    """For each bucketed property of the PartitionKey: why so many buckets, and what one more or less would do."""
    out = []
    parts = variable(scheme.main.partition)
    for part in parts:
        text, count = part.bucketed, part.bucket_count
        if count is None or text is None or not bench.population.has(text.properties[0]):
            continue
        buckets, what = partition_buckets(text, scheme, bench, costs, count), "partition"
        if part is parts[0] and inserts_per_s:
            other = append_buckets(text, scheme, bench, costs, inserts_per_s, count)
            if other is not None and _count_needed(other) > _count_needed(buckets):
                buckets, what = other, "range"
        out.append(_bucket_text(text.plain_property or str(text)[1:-1], count, buckets, what))
    return tuple(out)


def _count_needed(buckets: BucketCount) -> float:
    return dict(buckets.load_per_s)[1] if buckets.comfort is None else float(buckets.comfort)


def _bucket_text(name: str, count: int, buckets: BucketCount, what: str) -> str:
    loads = dict(buckets.load_per_s)
    text = (
        f"{count} buckets by {name}: the fullest {what} takes {loads[count]:,.0f} entities/s at the "
        f"peak after the growth, of {buckets.target_per_s:,.0f}"
    )
    others = [f"{loads[c]:,.0f} with {c}" for c in (count - 1, count + 1) if c in loads]
    text += f" ({', '.join(others)}); {buckets.reason}"
    if buckets.chosen is not None and buckets.chosen > 1:
        text += f" ({100 * buckets.usable_share:.0f} % of the target); another count later moves every entity"
    return text

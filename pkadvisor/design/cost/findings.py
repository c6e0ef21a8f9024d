"""What is wrong or noteworthy about a scheme: hard constraints that it breaks, and remarks that break nothing."""

from __future__ import annotations

from pkadvisor.design.cost.heat_findings import bucket_words, heat_violations, ranges_text
from pkadvisor.design.cost.key_findings import key_remarks
from pkadvisor.design.cost.shared_key_findings import overwriting, shared_violations
from pkadvisor.design.keys.scheme import KeyScheme, isolating_lead
from pkadvisor.design.keys.template import format_template, shown_by
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.broken_sets import sets_weight
from pkadvisor.design.load.estimates import Bench, Break, ClassCost, Remark, TransactionOutcome, Violation
from pkadvisor.design.load.heat import LoadMap
from pkadvisor.design.load.identifiers import time_collisions
from pkadvisor.design.load.keyfacts import collision, key_surplus, longest, longest_row, rows_overwritten
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.fronts import Fronts, reaction_s, write_fronts
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Basis, DrawBy, Operation
from pkadvisor.table.edm import SERVER_TIME, EdmType

FEW_PARTITIONS = 50
CROWDED = 0.9
"""Share of the largest partition, divided by that of the busiest key range in the inserts, from which on that partition
is named as the reason why one server takes them: assumed."""
HALF_DONE = "half-done-pair"
"""Code of the remark that tells the protocol of a pair."""


def violations_of(
    scheme: KeyScheme,
    bench: Bench,
    fronts: Fronts,
    inserts_peak: float,
    loads: LoadMap,
    breaks: tuple[Break, ...],
    surplus: int,
    transactions: tuple[TransactionOutcome, ...],
) -> tuple[Violation, ...]:
    population = bench.population
    out = heat_violations(scheme, bench, loads, fronts, inserts_peak, breaks)
    if surplus:
        example, keys = collision(scheme.main, population)
        plain = f"{surplus:,} of {population.looked_at} have a key that an earlier one has"
        if of_all := population.surplus_of_all(atoms_of((*scheme.main.partition, *scheme.main.row))):
            plain = f"{of_all:,} of {population.drawn_from:,} entities share a key with another (every row was read)"
        out.append(
            Violation(
                "not-unique",
                plain + example,
                float(surplus),
                0.0,
                "entities",
                10.0 + surplus / max(1, population.rows),
                keys=keys,
                hidden=plain,
            )
        )
    else:
        out += _collisions_of_time(scheme, bench)
    for number, row in enumerate(scheme.index_rows, 1):
        if shared := rows_overwritten(scheme, number, population):
            out.append(overwriting(scheme, number, shared, population))
        if not surplus and key_surplus(row.key, population):
            out.append(Violation("not-unique", f"index rows share a key: {row.key}", 1.0, 0.0, "entities", 10.0))
    out += shared_violations(scheme, bench)
    out += _broken_sets(transactions, bench)
    isolation = bench.workload.isolation
    if isolation is not None:
        out += _not_isolated(scheme, isolation)
    out += _secrets_shown(scheme, bench.secret)
    out += _legality(scheme, bench)
    return tuple(out)


def _broken_sets(transactions: tuple[TransactionOutcome, ...], bench: Bench) -> list[Violation]:
    """Required transactions that are not written whole, each with its broken sets of those of all of them."""
    required = [t for t in transactions if t.required]
    sets_of = float(sum(t.sets for t in required))
    out = []
    for outcome in (t for t in required if t.broken):
        code, measured, limit, unit = "transaction-broken", 1.0, 0.0, "transaction"
        message = f"transaction '{outcome.name}' spans partitions: its entities differ in the PartitionKey"
        if outcome.kept:
            message = (
                f"{outcome.too_large:,} of {outcome.groups:,} sets of '{outcome.name}' do not fit one group transaction"
            )
            code, measured, unit = "transaction-too-large", float(outcome.too_large), "sets"
            limit = float(bench.limits.group_transaction_entities)
        elif outcome.guaranteed is not None:
            message = f"transaction '{outcome.name}' spans partitions: {outcome.guaranteed.sentence}"
            measured, unit = 1 - outcome.share_kept, "share of pairs"
        elif outcome.groups:
            message += f" ({outcome.broken:,} of {outcome.groups:,} sets)"
        severity = sets_weight(outcome.broken, sets_of)
        out.append(
            Violation(
                code,
                message,
                measured,
                limit,
                unit,
                severity,
                subject=outcome.name,
                sets=float(outcome.broken),
                sets_of=sets_of,
            )
        )
    return out


def _half_done(outcome: TransactionOutcome) -> list[Remark]:
    """The protocol that brings pairs in two partitions to their end."""
    if outcome.repair is None:
        return []
    steps = "; ".join(f"({n}) {step}" for n, step in enumerate(outcome.repair.steps, 1))
    return [Remark(HALF_DONE, f"'{outcome.name}' half done: {steps}. The repair asks {outcome.repair.find}")]


def _collisions_of_time(scheme: KeyScheme, bench: Bench) -> list[Violation]:
    """A main key that entities to come, or those that are not at hand, are expected to share."""
    collisions = time_collisions(scheme.main, bench)
    if collisions is None:
        return []
    operations = {c.operation for c in bench.workload.classes}
    upserted = Operation.UPSERT in operations and Operation.INSERT not in operations
    what = "overwrites one" if upserted else "finds its key taken (409)"
    message = (
        f"about {amount(collisions.expected)} of {amount(collisions.entities)} entities are expected to have the key "
        f"of another, which {what}: nothing but {collisions.instant.name} tells them apart, in the unit of one "
        f"{collisions.instant.unit} that its values show, and {amount(collisions.per_s)} entities/s come"
    )
    share = min(1.0, collisions.expected / max(1.0, collisions.entities))
    return [Violation("not-unique", message, collisions.expected, 0.0, "entities", 2.0 + 8 * share, subject="time")]


def _not_isolated(scheme: KeyScheme, name: str) -> list[Violation]:
    """A PartitionKey outside of the range of keys that one value of the isolating property has under the main key."""
    range_of_keys = isolating_lead(scheme.main.partition, name)
    for key, _ in scheme.each_key():
        lead, text = isolating_lead(key.partition, name), format_template(key.partition) or "''"
        if lead is None:
            message = f"the PartitionKey {text} does not lead with {name}: it mixes what must stay apart"
        elif lead != range_of_keys and range_of_keys is not None:
            message = f"the PartitionKey {text} of an index row lies outside of the range of keys of its {name}: "
            message += f"begin it with {format_template(range_of_keys)}"
        else:
            continue
        return [Violation("isolation", message, 1.0, 0.0, "rule", 5.0)]
    return []


def _secrets_shown(scheme: KeyScheme, secret: frozenset[str]) -> list[Violation]:
    """A key that shows the value of a property that is declared secret."""
    every = (part for key, _ in scheme.each_key() for part in (*key.partition, *key.row))
    shown = (name for part in every if shown_by(part) == "value" for name in part.properties)
    names = sorted(secret.intersection(shown))
    if not names:
        return []
    message = f"a key shows {', '.join(names)}, declared secret: keys are part of URLs, which logs and traces keep"
    return [Violation("secret-shown", message, float(len(names)), 0.0, "properties", 5.0)]


def _legality(scheme: KeyScheme, bench: Bench) -> list[Violation]:
    """Keys over the service's length, over the rows at hand."""
    out = []
    limit = float(bench.limits.key_units_max)
    for key, _ in scheme.each_key():
        for name, parts in (("PartitionKey", key.partition), ("RowKey", key.row)):
            reach = longest(parts, bench.population)
            if reach > limit:
                row = longest_row(parts, bench.population)
                message = f"{name} {format_template(parts)} reaches {reach:,} UTF-16 units"
                message += f" in row {row:,}" if row else ""
                out.append(Violation("key-too-long", message, float(reach), limit, "UTF-16 units", 10.0))
    return out


def _counts(cost: ClassCost) -> str:
    returned = cost.entities_returned
    shown = f"{returned:,.0f}" if returned >= 100 or returned == int(returned) else amount(returned)
    return f"{cost.entities_read:,.0f} entities read for {shown} returned"


def remarks_of(
    scheme: KeyScheme,
    bench: Bench,
    costs: tuple[ClassCost, ...],
    fronts: Fronts,
    inserts_peak: float,
    transactions: tuple[TransactionOutcome, ...],
) -> tuple[Remark, ...]:
    """What is said of a scheme beside its numbers, the most important first."""
    out = [remark for cost in costs if (remark := _scan_remark(cost, bench)) is not None]
    out += _range_remarks(bench, costs)
    out += _lost_remarks(bench, costs)
    out += _order_remarks(scheme, bench)
    out += key_remarks(scheme, bench)
    out += [r for outcome in transactions if (r := _transaction_remark(outcome, bench)) is not None]
    out += _append_only(scheme, bench, fronts)
    out += [remark for outcome in transactions for remark in _half_done(outcome)]
    out += _burst_remarks(bench, fronts, inserts_peak)
    out += _recent_remarks(scheme, bench, costs, inserts_peak)
    out += [Remark("buckets", text) for text in bucket_words(scheme, bench, costs, inserts_peak)]
    out += _few_partitions(scheme, bench)
    return tuple(sorted(out, key=lambda remark: remark.code not in FIRST))


def _scan_remark(cost: ClassCost, bench: Bench) -> Remark | None:
    """What a class reads for what it returns, and that no key spares the read where it asks for Timestamp."""
    if cost.plan is None:
        return None
    if cost.plan.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN):
        place = "the table" if cost.plan.access is Access.TABLE_SCAN else "a range of partitions"
        code = "table-scan"
    elif cost.plan.access is Access.PARTITION_SCAN and cost.entities_read > 10 * max(1.0, cost.entities_returned):
        place, code = "its partition", "partition-scan"
    else:
        return None
    message = f"{cost.name} scans {place}: {_counts(cost)}"
    if any(d.query.name == cost.name and SERVER_TIME in d.conditions.properties for d in bench.demands):
        message += (
            f"; no key can hold {SERVER_TIME}, which the service sets: write the time of the change into a property "
            "of your own and filter on that"
        )
    return Remark(code, message)


def _transaction_remark(outcome: TransactionOutcome, bench: Bench) -> Remark | None:
    if not outcome.kept and not outcome.required:
        spread = "its entities spread over partitions" if outcome.guaranteed is None else outcome.guaranteed.sentence
        return Remark("transaction-broken", f"'{outcome.name}' cannot be one group transaction: {spread}")
    if outcome.kept and outcome.too_large:
        return Remark(
            "transaction-too-large",
            f"{outcome.too_large:,} of {outcome.groups:,} sets of '{outcome.name}' exceed "
            f"{bench.limits.group_transaction_entities} rows: several group transactions, not one",
        )
    return None


def _append_only(scheme: KeyScheme, bench: Bench, fronts: Fronts) -> list[Remark]:
    """Why one server takes the inserts: they follow the key order, or most entities are of one partition."""
    atoms = atoms_of(scheme.main.partition)
    one_front = fronts.median is not None and fronts.median < 2 and fronts.basis is Basis.COUNTED
    if not one_front or bench.population.distinct(atoms) <= 1:
        return []
    largest = float(bench.population.counts(atoms).max()) / bench.population.rows
    if fronts.median is not None and fronts.median * largest >= CROWDED:
        crowded = f"one partition holds {percent(largest)} of the entities, so one server takes most inserts"
        return [Remark("append-only", crowded)]
    follow = "inserts are append-only: they follow the key order, so one server takes all of them"
    return [Remark("append-only", follow)]


def _few_partitions(scheme: KeyScheme, bench: Bench) -> list[Remark]:
    count = round(bench.population.groups_total(atoms_of(scheme.main.partition)))
    if not 1 <= count < FEW_PARTITIONS or bench.population.rows < 2 * FEW_PARTITIONS:
        return []
    partitions = f"{count} partition{'s' if count > 1 else ''}"
    return [Remark("few-partitions", f"{partitions} in all: at most as many servers can share the load")]


def _burst_remarks(bench: Bench, fronts: Fronts, inserts_peak: float) -> list[Remark]:
    """Inserts that crowd for a while into fewer ranges than can take them, where the state that lasts is within
    the target."""
    limits = bench.limits
    lasting, target = fronts.lasting(limits.lasting_s), limits.range_entities_per_s
    if lasting is None or fronts.least is None or fronts.least_share is None or fronts.least >= lasting:
        return []
    load = inserts_peak * bench.horizon_factor / fronts.least
    if load <= target or inserts_peak * bench.horizon_factor / lasting > target:
        return []
    crowd = ranges_text(fronts.least)
    share = percent(fronts.least_share)
    if fronts.least_lasts_s is None:
        message = (
            f"for {share} of the time inserts crowd into {crowd}, which is over target at the peak after the growth "
            f"({load:,.0f} entities/s in one of {target:,.0f}); how long at a time is not known"
        )
        return [Remark("append-burst", message)]
    n = fronts.least_lasts_s
    allowance = (load - target) * n / target
    when = "after each boundary" if fronts.basis is Basis.DERIVED else "at a time"
    message = (
        f"inserts crowd into {crowd} for {share} of the time: over target for {n:,.0f} s {when} at the peak after the "
        f"growth ({load:,.0f} entities/s in one of {target:,.0f}); throttled if the burst allowance is under "
        f"{allowance:,.0f} s of the target (assumed: {limits.burst_s:g} s)"
    )
    return [Remark("append-burst", message)]


def _recent_remarks(scheme: KeyScheme, bench: Bench, costs: tuple[ClassCost, ...], inserts_peak: float) -> list[Remark]:
    """Reads of the newest entities follow the inserts: what came since the last split lies in their ranges alone.

    Of reads spread over the newest ``window_s`` seconds, so much as the service's reaction is of that window.
    """
    limits, population = bench.limits, bench.population
    keys, loads = list(scheme.each_key()), dict[tuple[Part, ...], tuple[float, list[str]]]()
    for demand, cost in zip(bench.demands, costs, strict=True):
        query = demand.query
        if query.operation is not Operation.QUERY or query.draw.by is not DrawBy.NEWEST or query.analytic:
            continue
        if cost.plan is None or cost.plan.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN):
            continue
        parts = keys[cost.plan.via][0].partition
        fronts = write_fronts(parts, population, limits, inserts_peak or None).lasting(limits.lasting_s)
        if fronts is None:
            continue
        since = min(1.0, reaction_s(limits) / max(query.draw.window_s, 1e-9))
        load = cost.peak_per_s * bench.horizon_factor * query.draw.share * since * cost.entities_read / fronts
        before, names = loads.get(parts, (0.0, []))
        loads[parts] = (before + load, [*names, query.name])
    return [
        Remark(
            "recent-reads",
            f"{', '.join(names)}: reads of the newest entities follow the inserts under "
            f"{format_template(parts) or chr(39) * 2}: {load:,.0f} entities/s in one key range at the peak after "
            f"the growth, of {limits.range_entities_per_s:,.0f}, and splitting does not help",
        )
        for parts, (load, names) in loads.items()
        if load > limits.range_entities_per_s
    ]


FIRST = ("unpadded", "ambiguous", "width", "key-long")
"""Remarks that come before the others: a key of which one is true is not kept, or not for long."""


def _order_remarks(scheme: KeyScheme, bench: Bench) -> list[Remark]:
    """Numbers written without padding where somebody needs their order, or where they touch another part."""
    out = []
    types = bench.population.types
    ordered = {o.property for d in bench.demands for o in d.query.order_by} | {
        name for d in bench.demands for name in d.conditions.ranges
    }
    for key, _ in scheme.each_key():
        for parts in (key.partition, key.row):
            for position, part in enumerate(parts):
                name = part.plain_property
                if not name or not types.get(name, EdmType.STRING).numeric:
                    continue
                neighbour = parts[position + 1] if position + 1 < len(parts) else None
                if neighbour is not None and neighbour.constant is None:
                    out.append(Remark("ambiguous", f"{{{name}}} touches {neighbour}: 1 + 11 and 11 + 1 give one key"))
                message = f"{{{name}}} is a number without padding: 10 sorts before 2"
                if name in ordered:
                    out.append(Remark("unpadded", message))
                elif parts is key.row:
                    out.append(Remark("unsorted", f"{message}; no query asks for its order"))
    return list(dict.fromkeys(out))


def _range_remarks(bench: Bench, costs: tuple[ClassCost, ...]) -> list[Remark]:
    """Classes with ranges of several properties, of which a key has one in order."""
    out = []
    ranges = {d.query.name: list(d.bounds) for d in bench.demands}
    for cost in costs:
        names = ranges[cost.name]
        if len(names) > 1 and not cost.analytic and cost.entities_read > 2 * max(1.0, cost.entities_returned):
            message = (
                f"{cost.name} has ranges of {' and '.join(names)}; a key has one property in order: "
                f"{_counts(cost)}; a property written for it helps: the cell of a grid, a flag of what passes a limit"
            )
            out.append(Remark("several-ranges", message))
    return out


def _lost_remarks(bench: Bench, costs: tuple[ClassCost, ...]) -> list[Remark]:
    """Lists whose entities do not lie together, or not in the order in which they are wanted."""
    out = []
    by_name = {d.query.name: d.query for d in bench.demands}
    for cost in costs:
        query, plan = by_name[cost.name], cost.plan
        if plan is None or query.operation is not Operation.QUERY or query.analytic:
            continue
        what = ""
        if plan.access in (Access.TABLE_SCAN, Access.PARTITION_RANGE_SCAN):
            several = cost.entities_returned > 1.5 or query.order_by
            if several and cost.entities_read > 2 * cost.entities_returned:
                what = f"what {cost.name} lists is scattered over the partitions of this key"
        elif plan.buckets > 1:
            what = f"{cost.name} costs {plan.buckets} requests instead of 1: one for each bucket"
        elif not plan.order_served and query.top is not None and cost.entities_read > 2 * cost.entities_returned:
            what = f"{cost.name} needs an order that the keys do not have: the client must read all rows and sort them"
        if what:
            out.append(Remark("lost-range", what))
    return out

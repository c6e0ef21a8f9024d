"""Why a query is served as it is under a scheme: for each part of a key, whether the query fixes, bounds or misses it.

A key is read from the left, so the first part that a query does not fix decides how much is read; the words here name
that part and what stands in its way.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pkadvisor.design.cost.class_cost import preference
from pkadvisor.design.keys.conditions import Conditions
from pkadvisor.design.keys.key_terms import Known, direction
from pkadvisor.design.keys.scheme import Key, KeyScheme, multi_valued
from pkadvisor.design.keys.transforms import Context, ListPart, Part, PeriodPart, part_properties
from pkadvisor.design.load.estimates import Bench, Read
from pkadvisor.design.load.keyfacts import typed_values
from pkadvisor.design.plan.access_plan import FAN_OUT_MAX, Access, AccessPlan, beginning_of, fixing
from pkadvisor.design.plan.caller import ASSIGNED, ETAG, Caller
from pkadvisor.design.plan.requests import client_work, requests
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import list_part
from pkadvisor.documents.explanation import ExplanationCounts
from pkadvisor.errors import UsageError
from pkadvisor.numbers import amount
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, EdmType, TypedValue
from pkadvisor.table.odata import Comparison, Operator, parameters
from pkadvisor.values import dataclass

EXAMPLE_REQUESTS = 3
BEHIND = "it comes after a part that the query does not fix"
WASTE = 1.01
"""Entities read for one returned from which something is to be explained."""


@dataclass(frozen=True, slots=True)
class PartStory:
    """One variable part of a key: its template, how the query meets it, and that in words.

    ``state`` is fixed, choice, bucket, period, begins, range, open or behind (fixed, but after an open part).
    """

    part: str
    state: str
    words: str


def stories(
    parts: tuple[Part, ...],
    wanted: Conditions,
    types: Mapping[str, EdmType],
    known: Known,
    periods: PeriodPart | None = None,
) -> tuple[PartStory, ...]:
    """How a query meets each variable part of a key, from the left; ``periods`` are asked one by one."""
    out: list[PartStory] = []
    end = ""
    for part in parts:
        if part.constant is not None:
            continue
        shown, fixed = str(part), fixing(part, wanted)
        if part is periods:
            out.append(PartStory(shown, "period", f"each {periods.unit} is a request of its own"))
        elif end and fixed is not None:
            out.append(PartStory(shown, "behind", f"the query fixes it, but it comes after {end}"))
        elif end:
            out.append(PartStory(shown, "open", BEHIND))
        elif fixed is not None:
            out.append(_fixed(part, *fixed))
        elif part.hashing is not None and part.hashing.buckets_total <= FAN_OUT_MAX:
            names = ", ".join(part.properties)
            words = f"the query does not fix {names}: each of the {part.hashing.buckets_total} buckets is read"
            out.append(PartStory(shown, "bucket", words))
        else:
            end = shown
            out.append(_stopping(part, parts, wanted, types, known))
    return tuple(out)


def _fixed(part: Part, shown: Part, operands: tuple[tuple[str, Any], ...], chosen: tuple[str, ...]) -> PartStory:
    names = ", ".join(name for name, _ in operands)
    if chosen:
        words = f"the query names several values of {', '.join(chosen)}: a request for each"
        return PartStory(str(part), "choice", words)
    if shown != part:
        return PartStory(str(part), "fixed", f"fixed through {names}: it is {str(shown)[1:-1]} in all the data")
    return PartStory(str(part), "fixed", f"fixed by {names}")


def _stopping(
    part: Part, parts: tuple[Part, ...], wanted: Conditions, types: Mapping[str, EdmType], known: Known
) -> PartStory:
    """The part at which the known beginning of the key ends."""
    shown = str(part)
    start = beginning_of(part, wanted)
    if start is not None:
        return PartStory(shown, "begins", f"it begins with {start[0][1][0][0]}, which the query fixes")
    name = part.properties[0] if part.properties else ""
    if name in wanted.ranges and len(part.properties) == 1:
        if direction(part, parts, types, known):
            what = "whole periods that the range touches" if part.period is not None else "the range"
            return PartStory(shown, "range", f"bounded by {what} on {name}")
        why = part.disorder(Context(dict(types)), known.fits)
        return PartStory(shown, "open", f"the range on {name} is no range of keys: {why}")
    if not name:
        return PartStory(shown, "open", "a number that only the application knows")
    missing = [n for n in part.properties if n not in wanted.equal]
    if folded := [n for n in missing if n in wanted.folded]:
        return PartStory(shown, "open", f"the query knows {', '.join(folded)} in lower case alone")
    return PartStory(shown, "open", f"the query does not fix {', '.join(missing)}")


@dataclass(frozen=True, slots=True)
class Explained:
    """One class under one scheme: the plan that serves it, what it was counted to read, and why nothing is better."""

    query: QueryClass
    scheme: KeyScheme
    chosen: AccessPlan | None
    counts: ExplanationCounts | None
    partition: tuple[PartStory, ...]
    row: tuple[PartStory, ...]
    client: tuple[str, ...]
    why: tuple[str, ...]
    others: tuple[tuple[str, str], ...]
    """(row, what it would read) for every other row of the scheme."""
    examples: tuple[str, ...]
    examples_total: int


def explain(
    query: QueryClass,
    wanted: Conditions,
    scheme: KeyScheme,
    types: Mapping[str, EdmType],
    known: Known,
    bench: Bench | None,
    demand: Demand | None,
) -> Explained:
    """Explain one class under one scheme; without a bench the plan is chosen by its access kind alone."""
    from pkadvisor.design.plan.plan import bounded, plan

    if query.filter is None and query.operation.writes:
        return Explained(
            query, scheme, None, None, (), (), (), ("it is written by its key: nothing is searched for",), (), (), 0
        )
    plans = plan(query, wanted, scheme, types, known)
    plans = bounded(plans, query) if bench is None else plans
    reads = [_read(p, scheme, bench, demand) for p in plans]
    counted = [_counts(r) for r in reads]
    order = sorted(range(len(plans)), key=lambda i: _cost(plans[i], reads[i]))
    best = order[0]
    chosen, counts = plans[best], counted[best]
    key = list(scheme.each_key())[chosen.via][0]
    partition = stories(key.partition, wanted, types, known, chosen.periods)
    row = stories(key.row, wanted, types, known)
    examples, total = _examples(chosen, wanted, types, bench, demand, {**multi_valued(scheme), **wanted.multi})
    others = tuple((_row_name(plans[i]), _summary(plans[i], counted[i])) for i in order[1:])
    caller = Caller(query, wanted, scheme, types)
    for via in range(scheme.rows_per_entity):
        if missing := caller.cannot_name(via):
            others += ((f"index row {via}", f"not used: its copies do not hold {missing}"),)
    fan_out = counts.fan_out if counts else None
    multi = {**multi_valued(scheme), **wanted.multi}
    return Explained(
        query, scheme, chosen, counts, partition, row,
        tuple(client_work(chosen, fan_out, query.order_by, query.top, multi)),
        _why(chosen, key, partition, row, wanted, query, counts), others, examples, total,
    )  # fmt: skip


def _read(plan: AccessPlan, scheme: KeyScheme, bench: Bench | None, demand: Demand | None) -> Read | None:
    """What a plan reads over all parameters; None where nothing can be counted."""
    from pkadvisor.design.cost.plan_reads import read

    if bench is None or demand is None:
        return None
    multi = {**multi_valued(scheme), **demand.conditions.multi}
    parts = list(scheme.each_key())[plan.via][0]
    in_row = list_part(parts.row) is not None and list_part(parts.partition) is None
    if set(demand.conditions.properties) & set(multi) and (demand.of_values is None or in_row):
        return None  # an entity with several values is not one row of one group
    return read(plan, demand, scheme, bench)


def _counts(cost: Read | None) -> ExplanationCounts | None:
    """Entities read and returned, requests and pages: means over the parameters."""
    if cost is None:
        return None
    return ExplanationCounts(
        entities_read=cost.entities,
        entities_read_max=cost.entities_max,
        entities_returned=cost.returned,
        requests=cost.requests,
        fan_out=cost.fan_out,
        pages_per_request=cost.requests / max(1.0, cost.fan_out),
    )


def _cost(plan: AccessPlan, read: Read | None) -> tuple[float, float, int, int]:
    """What plans are compared by, as the cost model does."""
    if read is None:
        return (float(plan.access.rank), float(plan.buckets), int(plan.follows), plan.via)
    return preference(read)


def _row_name(plan: AccessPlan) -> str:
    name = "the main key" if plan.via == 0 else f"index row {plan.via}"
    return f"{name}, going back" if plan.back else name


def _summary(plan: AccessPlan, counts: ExplanationCounts | None) -> str:
    text = str(plan.access)
    if plan.several:
        text += " in several requests"
    if counts is not None:
        text += f": reads {amount(counts.entities_read)} in {amount(counts.requests)} requests"
    return text


def _why(
    chosen: AccessPlan,
    key: Key,
    partition: tuple[PartStory, ...],
    row: tuple[PartStory, ...],
    wanted: Conditions,
    query: QueryClass,
    counts: ExplanationCounts | None,
) -> tuple[str, ...]:
    """Why no better plan exists under this scheme."""
    out: list[str] = []
    waste = counts is None or bool(wanted.residual) or counts.entities_read > WASTE * max(1.0, counts.entities_returned)
    if not waste:
        out.append("only the returned rows are read")
    open_states = ("open", "bucket", "choice", "behind", "period") if waste else ("bucket", "choice", "period")
    for name, part_stories in (("PartitionKey", partition), ("RowKey", row)):
        if name == "RowKey" and chosen.access in (Access.PARTITION_RANGE_SCAN, Access.TABLE_SCAN):
            useful = [s.part for s in part_stories if s.state in ("fixed", "range", "choice", "begins")]
            if useful:
                out.append(f"RowKey: {', '.join(useful)} would narrow the scan, but only inside a known PartitionKey")
            continue
        for story in part_stories:
            if story.state not in open_states or story.words == BEHIND:
                continue
            row_by_row = " is compared row by row: " if story.state == "behind" else ": "
            out.append(f"{name}: {story.part}{row_by_row}{story.words}")
    if chosen.unknown:
        out.append(f"the {query.operation} needs {_needs(chosen.unknown)}: it reads before it writes")
    in_keys = set(part_properties((*key.partition, *key.row)))
    strangers = [n for n in chosen.unserved if n not in in_keys]
    if strangers and waste:
        out.append(f"{', '.join(strangers)}: not in this key, so Azure compares every row that it reads")
    if any(not isinstance(f, Comparison) or f.operator is Operator.NE for f in wanted.residual):
        out.append("ne, not, and an or over several properties select no range of keys")
    elif wanted.residual:
        out.append("a further condition on a property that is fixed or bounded already is compared row by row")
    if query.order_by and not chosen.order_served:
        names = ", ".join(o.property + (" descending" if o.descending else "") for o in query.order_by)
        out.append(f"the wanted order ({names}) is not that of the key: the client reads all rows and sorts them")
    if not out:
        out.append("the key serves every condition of the query")
    return tuple(out)


def _needs(unknown: tuple[str, ...]) -> str:
    """What a change lacks, in words."""
    named = [name for name in unknown if name not in (ASSIGNED, ETAG)]
    shown = [f"{', '.join(named)}, which its filter does not name"] if named else []
    shown += [ASSIGNED] if ASSIGNED in unknown else []
    shown += ["the ETag of the entity"] if ETAG in unknown else []
    return " and ".join(shown)


def _examples(
    plan: AccessPlan,
    wanted: Conditions,
    types: Mapping[str, EdmType],
    bench: Bench | None,
    demand: Demand | None,
    multi: Mapping[str, ListPart],
) -> tuple[tuple[str, ...], int]:
    """(the first requests for the parameters of one entity, how many there are)."""
    if bench is None or demand is None or bench.population.hashed or demand.query.filter is None:
        return (), 0
    needed = parameters(demand.query.filter)
    oldest, newest = _ends(plan, bench)
    for row in demand.instances[:200]:
        values: dict[str, TypedValue] = typed_values(bench.population, int(row))
        for name, part in multi.items():  # who asks, asks for one of the values
            several = part.values_of(values.pop(name).value) if name in values else ()
            if several:
                values[name] = TypedValue(EdmType.STRING, several[0])
        if all(name in values for name in needed):
            try:
                sent = list(requests(plan, wanted, values, types, newest=newest, oldest=oldest))
            except (UsageError, ValueError):
                return (), 0
            return tuple(r.filter for r in sent[:EXAMPLE_REQUESTS]), len(sent)
    return (), 0


def _ends(plan: AccessPlan, bench: Bench) -> tuple[int | None, int | None]:
    """The first and the last moment at hand of the time whose periods are enumerated."""
    if plan.periods is None:
        return None, None
    moments = bench.population.coded(plan.periods.property).values.dt.epoch("us").to_list()
    return (moments[0] * 10 + TICKS_UNIX_EPOCH, moments[-1] * 10 + TICKS_UNIX_EPOCH) if moments else (None, None)

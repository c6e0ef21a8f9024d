"""How a pair that lies in two partitions is brought to its end after a failure: which rows are written in which order.

The pattern is that of a log written ahead (eventually consistent transactions, Azure Storage table design patterns): an
intent row says what is to be done before anything is, each side is changed by itself, and whoever finds an old intent
row repeats what may be missing. A change that must not be repeated leaves a mark in its own group transaction.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence

from pkadvisor.design.keys.scheme import KeyScheme, isolating_lead
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.limits import Limits
from pkadvisor.observe.workload import Operation, Pair, QueryClass, Transaction, Workload
from pkadvisor.values import dataclass

INTENT_ROWS = 2
"""Writes in the partition of the intents for each pair: the row, and its end."""
LOAD_SHARE = 0.5
"""Share of a partition's target that the intents may take, so that the search for old ones is left room: assumed."""
OLD = "5 min"
KEPT = "1 h"


@dataclass(frozen=True, slots=True)
class PairRepair:
    """The steps of one pair in their order, how old intents are found, and the requests that a pair takes apart."""

    steps: tuple[str, ...]
    find: str
    requests: float


def repair_of(declared: Transaction, scheme: KeyScheme, workload: Workload, limits: Limits) -> PairRepair | None:
    """The protocol for a declared pair under a scheme; None for what is no pair."""
    pair = declared.pair
    if pair is None:
        return None
    writes = [c for c in workload.classes if c.name in declared.together]
    marks = any(c.operation is Operation.UPDATE for c in writes)
    partition = _intents(pair, scheme, workload.isolation, _buckets(writes, limits))
    first, second = (_keys(scheme, pair, name) for name in pair.parameters)
    what = " and ".join(dict.fromkeys(f"'{c.name}'" for c in writes))
    noted = ", with the row 'DONE:{id}' in the same group transaction" if marks else ""
    last = "set its state to done" if marks else "delete the intent row"
    steps = [
        f"insert the intent row: PartitionKey '{partition}', RowKey '{{ticks(now)}}_{{id}}', with "
        f"{pair.parameters[0]}, {pair.parameters[1]} and all that {what} will change",
        f"{what} of {pair.parameters[0]}: {first}{noted}",
        f"{what} of {pair.parameters[1]}: {second}{noted}",
        f"{last}" + (f"; {KEPT} later delete both DONE rows, then the intent row" if marks else ""),
    ]
    unless = "a DONE row that is there already (409) says that its step is done"
    if not marks:
        unless = "a row that is there already (409), or gone already (404), says that its step is done"
    open_ = " whose state is not done" if marks else ""
    ranges = f"PartitionKey eq '{partition}' and RowKey lt '{{ticks(now)}}' of {OLD} ago"
    each = "for each of its partitions " if "{" in partition else ""
    find = f"{each}{ranges}: repeat the steps from 2 on of each intent{open_}; {unless}"
    return PairRepair(tuple(steps), find, 7.0 if marks else 4.0)


def _buckets(writes: Iterable[QueryClass], limits: Limits) -> int:
    """Partitions that bear the intents of all pairs at the peak: two entities are one pair."""
    peak = sum(c.rate.sustained_per_s * c.entities_per_request for c in writes) / 2
    return max(1, math.ceil(peak * INTENT_ROWS / (LOAD_SHARE * limits.partition_entities_per_s)))


def _intents(pair: Pair, scheme: KeyScheme, isolation: str | None, buckets: int) -> str:
    """The PartitionKey of intent rows: where tenants are isolated in the range of keys of the first one's tenant."""
    label = "INTENT" if buckets == 1 else f"INTENT:{{hash(id,{buckets})}}"
    lead = None if isolation is None else isolating_lead(scheme.main.partition, isolation)
    return label if lead is None else f"{_of(lead, pair, pair.parameters[0])}_{label}"


def _keys(scheme: KeyScheme, pair: Pair, parameter: str) -> str:
    partition, row = (_of(parts, pair, parameter) for parts in (scheme.main.partition, scheme.main.row))
    return f"PartitionKey '{partition}', RowKey '{row}'"


def _of(parts: Sequence[Part], pair: Pair, parameter: str) -> str:
    """A template with the parameter for the pair's property, the other one for what is called as a parameter, and
    other properties as those of its entity."""
    text = format_template(tuple(parts))
    names = sorted(set(part_properties(parts)), key=len, reverse=True)
    if not names:
        return text
    (other,) = {*pair.parameters} - {parameter}
    pattern = "|".join(re.escape(name) for name in names)

    def named(match: re.Match[str]) -> str:
        if match[0] == pair.property:
            return parameter
        return other if match[0] in pair.parameters else f"{match[0]} of {parameter}"

    inside = re.compile(rf"(?<![\w'])(?:{pattern})(?![\w'])")
    return re.sub(r"\{[^{}]*\}", lambda part: inside.sub(named, part[0]), text)

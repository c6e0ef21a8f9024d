"""What the entities of a log's groups have in common, and the pairs of values where they have nothing.

A group transaction of the service lies in one partition. Applications also write what belongs together one by one; a
trace then gives the writes one ``group``, and their keys differ.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.keys.keyreader import decode_key
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.design.rows.values import polars_type
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.traffic import Groups
from pkadvisor.observe.workload import Pair, Transaction
from pkadvisor.table.edm import EdmType

PARAMETERS = ("first", "second")
ALIKE = 0.95
"""Share of the sampled groups that must agree on a property to have it in common: keys may be written wrongly."""
Values = Mapping[str, object]


def logged_transactions(
    groups: Groups,
    names: Sequence[str],
    scheme: KeyScheme | None,
    types: Mapping[str, EdmType],
    declared: Sequence[Transaction],
) -> tuple[Transaction, ...]:
    """The declared transactions with the pairs that a log shows, and that of the log's groups (``names``: their
    writes)."""
    parts = [_parts(n, groups, scheme, types) for n in range(len(groups.sample))]
    read = [each for each in parts if each]
    out = [_with_pairs(t, read, types) for t in declared]
    if not names or any(t.pair is not None and set(t.together) & set(names) for t in out):
        return tuple(out)
    in_key = _in_key(scheme, read)
    if not in_key:
        return tuple(out)
    apart = [name for name in in_key if _alike(name, read) < ALIKE]
    mean = groups.entities / max(1, groups.transactions)
    if not apart:
        return (*out, Transaction("logged group", tuple(names), in_key, False, mean))
    common = tuple(name for name in in_key if name not in apart)
    if len(apart) == 1 and all(len(each) == 2 for each in read):
        transaction = Transaction("logged pairs", tuple(names), (), False, mean, Pair(apart[0], PARAMETERS))
        return (*out, _with_pairs(transaction, read, types))
    return (*out, Transaction("logged group", tuple(names), common, False, mean)) if common else tuple(out)


def _in_key(scheme: KeyScheme | None, groups: Sequence[Sequence[Values]]) -> tuple[str, ...]:
    """The properties by which the log's writes came together: those of the current PartitionKey, and those that all
    parts of a group name, and name alike.

    A PartitionKey of a period or a hash tells no value of its property that the parts share: it counts where nothing
    else does.
    """
    several = [each for each in groups if len(each) > 1]
    shared = [name for name in (several[0][0] if several else {}) if all(name in p for each in several for p in each)]
    alike = [name for name in shared if _alike(name, several) >= ALIKE]
    if scheme is not None:
        in_partition = part_properties(scheme.main.partition)
        told = [name for name in in_partition if any(name in part for each in several for part in each)]
        in_row = [name for name in part_properties(scheme.main.row) if name in alike]
        return tuple(dict.fromkeys([*told, *in_row])) or in_partition
    return ("PartitionKey",) if not several or "PartitionKey" in shared else tuple(alike)


def _parts(number: int, groups: Groups, scheme: KeyScheme | None, types: Mapping[str, EdmType]) -> list[Values]:
    """What each part of a sampled group says of properties; empty where one says nothing."""
    out: list[Values] = []
    keys = [] if scheme is None else [key for key, _ in scheme.each_key()]
    for (_, pk, rk), text in zip(groups.sample[number], groups.params[number], strict=True):
        values = dict[str, object]() if text is None else dict(json.loads(text))
        if pk is not None and scheme is None:
            values |= {"PartitionKey": pk}
        for key in keys if pk is not None else ():
            partition_values = decode_key(key.partition, pk, types) if pk is not None else None
            rest = decode_key(key.row, rk, types) if rk is not None else {}
            if partition_values is not None and rest is not None:
                values = {**partition_values, **rest, **values}
                break
        if not values:
            return []
        out.append(values)
    return out


def _alike(name: str, groups: Sequence[Sequence[Values]]) -> float:
    """Share of the groups of several parts whose parts name one value of a property; 1 where none tells."""
    several = [{str(part[name]) for part in each} for each in groups if len(each) > 1 and all(name in p for p in each)]
    return sum(len(each) == 1 for each in several) / len(several) if several else 1.0


def _with_pairs(declared: Transaction, groups: Sequence[Sequence[Values]], types: Mapping[str, EdmType]) -> Transaction:
    """A transaction over pairs with those that groups of two parts name."""
    pair = declared.pair
    if pair is None:
        return declared
    name = pair.property
    pairs = [(each[0][name], each[1][name]) for each in groups if len(each) == 2 and all(name in p for p in each)]
    if not pairs:
        return declared
    return replace(declared, pair=replace(pair, seen=_frame(pairs, types.get(name, EdmType.STRING)), source="the log"))


def _frame(pairs: Sequence[tuple[object, object]], edm: EdmType) -> pl.DataFrame:
    counts = Counter(pairs)
    columns = [
        pl.Series(side, [pair[n] for pair in counts], dtype=polars_type(edm), strict=False)
        for n, side in enumerate(PARAMETERS)
    ]
    weights = pl.Series("_weight", [count / len(pairs) for count in counts.values()], dtype=pl.Float64)
    return pl.DataFrame([*columns, weights]).drop_nulls()

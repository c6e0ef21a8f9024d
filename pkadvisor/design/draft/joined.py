"""Kinds of rows that the group transactions of a log write together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pkadvisor.design.draft.workload import is_query
from pkadvisor.design.keys.key_columns import fits
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.table.edm import KEYS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pkadvisor.design.draft.tables import DraftKind, DraftTable
    from pkadvisor.design.draft.workload import DraftClass

SHARE_LEAST = 0.1
"""Share of the logged groups from which kinds that they write together are told."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Writes of several kinds that come in one group transaction: in ``groups`` of the ``looked_at`` ones."""

    writes: tuple[str, ...]
    group_by: tuple[str, ...]
    groups: int
    looked_at: int


def joined_kinds(table: DraftTable, classes: Sequence[DraftClass]) -> tuple[Joined, ...]:
    """The kinds that groups of the log write together, where one template writes the PartitionKey of all of them."""
    if table.traffic is None or len(table.kinds) < 2:
        return ()
    counts = _kinds_of_groups(table)
    looked_at, out = sum(counts.values()), []
    by_name = {kind.name: kind for kind in table.kinds}
    for kinds, groups in sorted(counts.items(), key=lambda entry: (-entry[1], sorted(map(str, entry[0])))):
        members = [by_name[name] for name in by_name if name in kinds]
        writes = tuple(
            c.query.name for c in classes if c.kind in kinds and not is_query(c) and c.query.entities_per_request > 1
        )
        shared = _shared_properties(members)
        if len(members) > 1 and len(writes) > 1 and shared and groups >= SHARE_LEAST * looked_at:
            out.append(Joined(writes, shared, groups, looked_at))
    return tuple(out[:1])


def _shared_properties(kinds: Sequence[DraftKind]) -> tuple[str, ...]:
    """The properties of the PartitionKey that all kinds write alike; none where they differ."""
    texts = {format_template(kind.key.partition) for kind in kinds}
    names = part_properties(kinds[0].key.partition)
    alike = all(len({kind.types[name] for kind in kinds}) == 1 for name in names) if len(texts) == 1 else False
    return names if alike else ()


def _kinds_of_groups(table: DraftTable) -> Counter[frozenset[str | None]]:
    """How many of the sampled groups write which kinds; of those whose parts all have keys that some kind writes."""
    import polars as pl

    assert table.traffic is not None
    parts = [(number, pk, rk) for number, group in enumerate(table.traffic.groups.sample) for _, pk, rk in group]
    schema = {"group": pl.Int64, KEYS[0]: pl.String, KEYS[1]: pl.String}
    left = pl.DataFrame(parts, schema=schema, orient="row")
    kinds: dict[int, set[str | None]] = {}
    for kind in table.kinds:
        own = fits(kind.key, kind.types)
        for number in left.filter(own).get_column("group").unique().to_list():
            kinds.setdefault(number, set()).add(kind.name)
        left = left.filter(~own)
    unknown = set(left.get_column("group").to_list())
    return Counter(frozenset(names) for number, names in kinds.items() if number not in unknown)

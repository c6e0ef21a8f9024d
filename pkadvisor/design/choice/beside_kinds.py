"""What the other kinds of a table bring to partitions that a kind shares with them.

A partition is one PartitionKey value, whatever kinds of rows it holds: its target is for the load of all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from pkadvisor.design.choice.asked_texts import weighable
from pkadvisor.design.choice.bench_of_section import bench_for, of_known_properties, rows_of_other_kinds
from pkadvisor.design.choice.sections import Section, keys_in_use, observed
from pkadvisor.design.cost.cost import put_down
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.heat import loads_by_text
from pkadvisor.errors import UsageError
from pkadvisor.limits import Limits


def with_loads_of_other_kinds(
    bench: Bench,
    section: Section,
    limits: Limits,
    settled: Mapping[str, KeyScheme] = MappingProxyType({}),
    benches: dict[str, Bench | None] | None = None,
) -> Bench:
    """The bench with the loads of the other kinds under their current keys, or those ``settled`` for them, by the
    PartitionKeys that rows of both may have. ``benches`` keeps those of the other kinds, which are made where needed.
    """
    loads, by_kind = {}, benches if benches is not None else {}
    for other in section.siblings:
        kind = other.kind or ""
        scheme = settled.get(kind) or keys_in_use(other)
        if scheme is None or not _may_share(bench, scheme):
            continue
        if kind not in by_kind:
            by_kind[kind] = _bench_of(other, scheme, limits)
        theirs = by_kind[kind]
        loads[kind] = _loads_of(theirs, scheme) if theirs is not None else {}
    in_use = [
        rows.with_loads({} if rows.kind in settled else loads.get(rows.kind, {}))
        for rows in bench.other_kinds
        if not rows.advised
    ]
    advised = [rows.with_loads(loads.get(rows.kind, {})) for rows in rows_of_other_kinds(section, settled)]
    return replace(bench, other_kinds=(*in_use, *advised))


def _may_share(bench: Bench, scheme: KeyScheme) -> bool:
    """Whether some PartitionKey of another kind is made of properties that this kind has too."""
    templates = [{name for part in key.partition for name in part.properties} for key, _ in scheme.each_key()]
    return any(names <= bench.population.types.keys() for names in templates)


def _bench_of(section: Section, scheme: KeyScheme, limits: Limits) -> Bench | None:
    """The bench of a kind by itself; None where its workload cannot be priced."""
    if section.data is None or section.data.hashed:
        return None
    try:
        workload, _, _ = observed(section)
        workload, _, _ = weighable(workload, scheme, values=False)
        workload, _ = of_known_properties(workload, section)
        return bench_for(replace(section, siblings=()), workload, limits)[0]
    except UsageError:  # told where that kind is judged
        return None


def _loads_of(bench: Bench, scheme: KeyScheme) -> dict[tuple[object, ...], dict[str, float]]:
    """Entities a second at the peak for each PartitionKey of a kind, by template and text, without other kinds."""
    loads, _, _ = put_down(scheme, replace(bench, other_kinds=()))
    return {parts: loads_by_text(loads, parts, bench.population) for parts in loads.templates()}

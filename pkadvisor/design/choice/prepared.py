"""What given keys of a section are priced on, without a search for better ones.

What the keys of one kind share with the keys in use of the other kinds of its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.design.choice.asked_texts import weighable, with_values_asked
from pkadvisor.design.choice.bench_of_section import bench_for, check_classes, names_of_others, of_known_properties
from pkadvisor.design.choice.beside_kinds import with_loads_of_other_kinds
from pkadvisor.design.choice.sections import Section, keys_in_use, observed, types_of
from pkadvisor.design.cost.other_kind_rows import counts_other_kinds, kinds_read
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, CostEstimate
from pkadvisor.design.load.shared_keys import Entities, shared_among_kinds
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.logged.shapes import names_keys
from pkadvisor.errors import UsageError
from pkadvisor.limits import Limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.design_file.declaration import check_properties
from pkadvisor.observe.workload import Workload
from pkadvisor.table.edm import KEYS
from pkadvisor.table.filters import properties


def with_shared_keys(bench: Bench, section: Section, schemes: Sequence[KeyScheme | None]) -> Bench:
    """The bench with what the schemes of one kind share with the keys in use of the others."""
    own = [scheme for scheme in schemes if scheme is not None]
    others = [
        (entities_of(other), keys) for other in section.siblings if own and (keys := keys_in_use(other)) is not None
    ]
    if not others:
        return bench
    entities = entities_of(section)
    shared_keies = [shared for scheme in own for shared in shared_among_kinds(entities, scheme, others)]
    return replace(bench, shared=(*bench.shared, *dict.fromkeys(shared_keies)))


def scans_of_other_kinds(bench: Bench, designs: Sequence[CostEstimate | None]) -> tuple[str, ...]:
    """That scans of the table, and of whole partitions that other kinds share, read the rows of these as well, and
    whether they are counted."""
    demands = {demand.query.name: demand for demand in bench.demands}
    sentences = []
    for design in designs:
        for each in design.classes if design is not None else ():
            plan = each.plan
            key = [*design.scheme.each_key()][plan.via][0] if design is not None and plan is not None else None
            met = kinds_read(plan, key, bench.other_kinds) if plan is not None and key is not None else ()
            if plan is None or key is None or not met:
                continue
            kinds = " and ".join(dict.fromkeys(rows.kind for rows in met))
            counted = counts_other_kinds(plan, demands[each.name], key, met)
            said = "they are counted" if counted else "they are not counted"
            if plan.access is Access.TABLE_SCAN:
                sentences.append(f"'{each.name}' scans the table, and so reads the rows of {kinds} as well: {said}")
            else:
                sentences.append(
                    f"'{each.name}' reads whole partitions, and so the rows of {kinds} that lie in them: {said}; a "
                    "label at the beginning of the RowKeys would set the kinds apart"
                )
    return tuple(dict.fromkeys(sentences))


def entities_of(section: Section) -> Entities:
    """What is known of the entities of a section."""
    data = section.data
    frame = None if data is None else data.sample
    return Entities(
        section.kind or "", types_of(section), frame, frozenset() if data is None else frozenset(data.hashed)
    )


def prepared(section: Section, limits: Limits, dataset: Dataset | None = None) -> tuple[Bench, KeyScheme | None]:
    """(the bench, the design in place) of a section with data, for whoever prices given keys without a search.

    UsageError where there is no workload, or where its rates are not known.
    """
    workload, scheme, _ = observed(section)
    workload, scheme, _ = weighable(workload, scheme, values=not section.siblings)
    workload, _ = of_known_properties(workload, section)
    assert section.data is not None
    if section.declared is not None:
        others = names_of_others(section)
        check_properties(section.declared, section.data.types, kind=section.kind, others=others, all_asked=True)
    if not any(c.rate.mean_per_s > 0 for c in workload.classes):
        fix = "declare queries and writes with rates in the design, or give a --log"
        raise UsageError(f"{section.table} has no workload to price keys on", where=section.design_path, fix=fix)
    if unexplained_keys(section, scheme):
        what = "the log names keys that the data does not have"
        raise UsageError(what, where=section.design_path, fix="declare in the design what they are made of")
    check_classes(workload, section)
    bench, _ = bench_for(section, workload, limits, dataset)
    bench = bench if section.siblings else with_values_asked(bench)
    bench = with_loads_of_other_kinds(bench, section, limits) if section.siblings else bench
    return with_shared_keys(bench, section, (scheme,)), scheme


def unexplained_keys(section: Section, scheme: KeyScheme | None) -> bool:
    """Whether logged requests name keys of which neither a design nor the data says what they are made of."""
    if scheme is not None or (section.data is not None and set(KEYS) <= set(section.data.types)):
        return False
    if section.traffic is not None:
        return names_keys(section.traffic)
    return section.workload is not None and asks_for_keys(section.workload)


def asks_for_keys(workload: Workload) -> bool:
    """Whether a filter of a workload names a PartitionKey or a RowKey."""
    return any(set(KEYS) & set(properties(c.filter)) for c in workload.classes if c.filter is not None)

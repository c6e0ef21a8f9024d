"""What given keys of a section are priced on, without a search for better ones."""

from __future__ import annotations

from pkadvisor.design.choice.bench_of_section import bench_for, names_of_others
from pkadvisor.design.choice.checked_classes import check_classes, of_known_properties
from pkadvisor.design.choice.list_classes import weighable, with_values_asked
from pkadvisor.design.choice.sections import Section, observed
from pkadvisor.design.choice.shared import with_shared_keys
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.logged.shapes import names_keys
from pkadvisor.errors import UsageError
from pkadvisor.limits import Limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.design_file.declaration import check_properties
from pkadvisor.table.edm import KEYS


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
    return with_shared_keys(bench, section, (scheme,)), scheme


def unexplained_keys(section: Section, scheme: KeyScheme | None) -> bool:
    """Whether logged requests name keys of which neither a design nor the data says what they are made of."""
    if section.traffic is None or scheme is not None:
        return False
    if section.data is not None and set(KEYS) <= set(section.data.types):
        return False
    return names_keys(section.traffic)

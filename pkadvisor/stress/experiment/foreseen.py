"""The load of the hottest partition as the model has it, at the rates of a run.

The estimate of a design is about the worst minute of each resource: a rare scan and a busy minute of something else may
never meet. A run has rates of its own, so the same loads are added up at these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkadvisor.stress.experiment.stand import Stand


def hottest_foreseen(stand: Stand) -> float | None:
    """Entities/s of the PartitionKey that takes most, its part of scans over several among them; None where the model
    puts no load on partitions."""
    import numpy as np

    from pkadvisor.design.cost.class_cost import class_cost
    from pkadvisor.design.load.heat import LoadMap
    from pkadvisor.design.rows.schedule import Schedule

    bench, design = stand.table.bench, stand.design
    if design.estimate.hot is None:
        return None
    columns = {name: place for place, name in enumerate(sorted(c.name for c in bench.workload.classes))}
    peaks = {c.name: c.rate.sustained_per_s for c in bench.workload.classes}
    shares = np.zeros(len(columns))
    for name, rate, part in zip(stand.programs.classes, stand.rates_per_s, stand.parts, strict=True):
        if part and peaks[name]:
            shares[columns[name]] = rate / part / peaks[name]
    loads = LoadMap(bench.population, Schedule(columns, shares[None, :], shares, np.zeros((0, len(columns)))))
    for demand in bench.demands:
        class_cost(demand, design.scheme, bench, design.estimate.transactions, loads.of(demand.query.name))
    found = loads.hottest()
    return None if found is None else found[1].entities_per_s

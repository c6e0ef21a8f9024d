"""A design ready to be run: its rows, what its clients send, and the same as numbers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.engine.options import SECOND, EngineOptions

if TYPE_CHECKING:
    from pkadvisor.limits import Limits
    from pkadvisor.stress.load import Load
    from pkadvisor.stress.programs import Programs
    from pkadvisor.stress.scripts import Scripts
    from pkadvisor.stresser.designs import Design, Table
    from pkadvisor.stresser.request import StressRequest


@dataclass(frozen=True, slots=True)
class Stand:
    """One design on its stand: ``load`` is the same for every design of the table."""

    table: Table
    design: Design
    limits: Limits
    options: EngineOptions
    programs: Programs
    load: Load
    scripts: Scripts


def options_of(limits: Limits) -> EngineOptions:
    """The engine's thresholds, with the times and rates that the limits of a store state."""
    return replace(
        EngineOptions(),
        evaluate_ns=round(limits.t_eval_s * SECOND),
        sustain_ns=round(limits.t_sustain_s * SECOND),
        move_ns=round(limits.t_move_s * SECOND),
        splits_per_pass=int(limits.splits_per_pass),
        range_requests_per_s=max(1, int(limits.range_entities_per_s)),
        server_requests_per_s=max(1, int(limits.server_entities_per_s)),
    )


def entities_of(table: Table) -> list[dict[str, object]]:
    """The entities of the data as typed values, in the order of the file."""
    from pkadvisor.stress.rows import constants

    population = table.sample.population
    frame = population.frame.head(population.rows)
    names = [name for name in population.types if name in frame.columns]
    return [constants(row, population.types) for row in frame.select(names).iter_rows(named=True)]

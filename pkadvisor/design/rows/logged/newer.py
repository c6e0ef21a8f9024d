"""Entities that a log asks for and inserts itself: they are newer than the data, and their absence there says nothing.

A log holds a sample of each class: of many inserted entities, those at hand stand for all.
"""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Ints, np, pl
from pkadvisor.observe.workload import DrawBy, Operation, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

ADDING = (Operation.INSERT, Operation.UPSERT)
IDENTIFYING = (EdmType.STRING, EdmType.GUID, EdmType.INT32, EdmType.INT64)
"""Types of identifiers: two entities may have one time, or one measured number."""


@dataclass(frozen=True, slots=True)
class Inserted:
    """The rows below the data that hold logged inserts, and the share of all logged inserts that they are."""

    rows: Ints
    share: float


def sampled_share(workload: Workload, names: Iterable[str]) -> float:
    """The share of the logged requests of some classes that are at hand."""
    held = logged = 0
    for name in names:
        height = workload.instances[name].height if name in workload.instances else 0
        minutes = workload.minutes.get(name)
        held += height
        logged += max(height, sum(minutes.requests) if minutes is not None else 0)
    return held / logged if held else 1.0


def inserted_by_log(demands: Iterable[Demand], workload: Workload, population: Population) -> Inserted:
    """The entities that the log of a workload inserts, without those that the data has under another key."""
    adding = [d for d in demands if d.query.operation in ADDING and d.query.draw.by is DrawBy.LOG]
    rows = [np.empty(0, dtype=np.int64)]
    for demand in adding:
        frame, instances = workload.instances.get(demand.query.name), demand.instances
        rows.append(instances[~_identified(instances, frame.columns if frame is not None else (), population)])
    return Inserted(np.concatenate(rows), sampled_share(workload, [d.query.name for d in adding]))


def _identified(rows: Ints, named: Iterable[str], population: Population) -> Bools:
    """Whether some ``named`` property that tells the entities of the data apart has the value of one of them: then an
    inserted entity is no newer one."""
    found = np.zeros(len(rows), dtype=bool)
    for name in named if population.rows > 1 else ():
        atom = ("p", name)
        apart = population.types.get(name) in IDENTIFYING and population.has(name)
        if apart and population.distinct([atom]) == population.rows:
            found |= population.counts([atom])[population.groups([atom])[0][rows]] > 0
    return found


def share_there(demand: Demand, sets: Iterable[Iterable[Atom]], inserted: Inserted, population: Population) -> float:
    """The share of a class's requests for whose values some entity is there, by each set of atoms: one of the data, or
    one that the log inserts."""
    there = np.ones(len(demand.instances), dtype=bool)
    either = there
    for atoms in sets:
        mine = population.matching(atoms, demand.instances) > 0
        there, either = there & mine, either & (mine | _among(atoms, demand.instances, inserted, population))
    old = demand.mean(there.astype(float))
    newer = demand.mean(either.astype(float)) - old
    return min(1.0, old + newer / inserted.share)


def _among(atoms: Iterable[Atom], asked: Ints, inserted: Inserted, population: Population) -> Bools:
    ids, _ = population.groups(atoms)
    among: Bools = np.isin(ids[asked], ids[inserted.rows])
    return among


def without_inserted(absent: pl.Series, name: str, workload: Workload) -> pl.Series:
    """Values of a property that the data lacks, without those that the log inserts."""
    adding = [c.name for c in workload.classes if c.operation in ADDING and c.name in workload.instances]
    frames = [workload.instances[one] for one in adding]
    columns = [f.get_column(name) for f in frames if name in f.columns and f.schema[name] == absent.dtype]
    if not columns:
        return absent
    newer = absent.is_in(pl.concat(columns).unique().implode())
    hidden = round(int(newer.sum()) * (1 / sampled_share(workload, adding) - 1))
    left = absent.filter(~newer)
    return left.head(max(0, left.len() - hidden))

"""Facts of a design and of its tables: what is declared, how many partitions there are, and how large they are."""

from __future__ import annotations

from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.keys.transforms import Part
from pkadvisor.observe.design_file.declaration import is_table_name
from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact, KnownValue, number
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.key_loads import entities_of, partitions_most, values_most
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import EdmType


def tables(subject: Subject) -> float:
    """Tables that the file declares."""
    return float(len(subject.design.declaration.tables))


def names_refused(subject: Subject) -> tuple[str, ...]:
    """Names of tables that the service refuses."""
    return tuple(f"'{t.name}'" for t in subject.design.declaration.tables if not is_table_name(t.name))


def has_keys(subject: Subject) -> bool:
    """Whether the current keys are declared."""
    return subject.view.scheme is not None


def index_rows(subject: Subject) -> float | None:
    """Further rows written for each entity.

    Further rows of the keys in use; unknown where no keys are declared.
    """
    scheme = subject.view.scheme
    return None if scheme is None else float(len(scheme.index_rows))


def has_data(subject: Subject) -> bool:
    """Whether a profile tells of the entities."""
    return subject.view.has_data


def entities(subject: Subject) -> float | None:
    """Entities in the table.

    Declared, or those of complete data.
    """
    return entities_of(subject.view)


def entities_of_all(view: TableView) -> float | None:
    """Entities of the table with all its kinds; None where the number of one kind is not known."""
    declared = view.section.declared
    if declared is not None and declared.entities_total:
        return float(declared.entities_total)
    kinds = [entities_of(t) for t in view.design.tables if t.section.table == view.section.table]
    return None if None in kinds else sum(n for n in kinds if n is not None)


# -- partitions -----------------------------------------------------------------------------------------------------


def partitions(subject: Subject) -> KnownValue | None:
    """Partitions of the entities themselves: counted with data, else the most that their key can have."""
    view = subject.view
    if view.scheme is None:
        return None
    if view.has_data and view.estimate is not None:
        return KnownValue(float(view.estimate.partitions), Basis.ESTIMATED)
    most = partitions_most(view.scheme.main.partition, view)
    return None if most is None else KnownValue(most, Basis.DERIVED)


def partition_entities(subject: Subject) -> KnownValue | None:
    """Entities of the largest partition of the main key with data; without, the mean of all that there can be."""
    view = subject.view
    if view.has_data and view.estimate is not None and view.bench is not None:
        from pkadvisor.design.load.heat import sizes_of

        sizes = sizes_of(view.estimate, view.bench)
        return KnownValue(sizes.largest, sizes.basis)
    total, most = entities_of_all(view), partitions(subject)
    return None if total is None or most is None else KnownValue(total / number(most), Basis.DERIVED)


def partitions_closed(parts: tuple[Part, ...], view: TableView) -> bool:
    """Whether entities that are new fall into partitions that exist already, whenever they come."""
    if partitions_most(parts, view) is not None:
        return True
    if view.bench is None or any(part.function in ("time", "ticks", "reverse_ticks") for part in variable(parts)):
        return False
    from pkadvisor.design.load.breaks import takes_new_keys

    population = view.bench.population
    if population.sampling == "slice":
        return False
    names = {name for part in variable(parts) for name in part.properties if values_most(part, view) is None}
    if any(population.types.get(n) is not EdmType.STRING for n in names) or population.arrival_order() is None:
        return False  # a number may count on, and without the order of the inserts nobody knows whether values end
    return bool(takes_new_keys(parts, population))


def key_partitions(subject: Subject) -> KnownValue | None:
    """Partitions under a PartitionKey: counted with data for that of the entities, else the most that there can be."""
    if subject.key.row == 0 and subject.view.has_data:
        return partitions(subject)
    most = partitions_most(subject.key.parts, subject.view)
    return None if most is None else KnownValue(most, Basis.DERIVED)


def key_closed(subject: Subject) -> bool:
    """Whether new rows never make new partitions under this PartitionKey."""
    return subject.key.is_partition and partitions_closed(subject.key.parts, subject.view)


def key_hashed(subject: Subject) -> bool:
    """Whether a hash divides the rows, so that their partitions take about the same."""
    hashes = [(p, p.hashing) for p in subject.key.parts if p.hashing is not None]
    return any(values_most(p, subject.view) == hashing.buckets_total for p, hashing in hashes)


def key_of_truths(subject: Subject) -> bool:
    """Whether truth values alone make a PartitionKey."""
    types, transforms = subject.view.types, variable(subject.key.parts)
    truths = [p for p in transforms if p.plain_property and types.get(p.plain_property) is EdmType.BOOLEAN]
    return subject.key.is_partition and bool(truths) and len(truths) == len(transforms)


_NUMBER, _BOOL = FactType.NUMBER, FactType.BOOL

FACTS: tuple[Fact, ...] = (
    Fact("design.tables", _NUMBER, "tables", tables, may_be_unknown=False),
    Fact("design.names_refused", FactType.TEXTS, "", names_refused, may_be_unknown=False),
    Fact("table.has_keys", _BOOL, "", has_keys, may_be_unknown=False),
    Fact("table.has_data", _BOOL, "", has_data, may_be_unknown=False),
    Fact("table.index_rows", _NUMBER, "index rows", index_rows),
    Fact("table.entities", _NUMBER, "entities", entities, Basis.DECLARED),
    Fact("table.partitions", _NUMBER, "partitions", partitions),
    Fact("table.partition_entities", _NUMBER, "entities", partition_entities),
    Fact("key.partitions", _NUMBER, "partitions", key_partitions),
    Fact("key.partitions_closed", _BOOL, "", key_closed, Basis.DERIVED, may_be_unknown=False),
    Fact("key.partitioned_by_hash", _BOOL, "", key_hashed, Basis.DERIVED, may_be_unknown=False),
    Fact("key.partitioned_by_truth", _BOOL, "", key_of_truths, may_be_unknown=False),
)

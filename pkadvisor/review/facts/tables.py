"""Facts of a design and of its tables: what is declared, and what is known beside it."""

from __future__ import annotations

from pkadvisor.observe.workload import Basis
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView


def tables(subject: Subject) -> float:
    """Tables that the file declares."""
    return float(len(subject.design.declaration.tables))


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

    Entities of the table: declared, or those of complete data.
    """
    return entities_of(subject.view)


def declared_total(view: TableView) -> float | None:
    """Entities that the design declares for a kind, else for its table."""
    declared = view.section.declared
    kind = next((k for k in declared.kinds if k.name == view.section.kind), None) if declared else None
    total = (kind.entities_total if kind else None) or (declared.entities_total if declared else None)
    return float(total) if total else None


def entities_of(view: TableView) -> float | None:
    """Entities of a table or kind: declared, or those of complete data; None where neither is there."""
    if total := declared_total(view):
        return total
    declared, data = view.section.declared, view.section.data
    if data is None or (declared is not None and str(declared.sampling) != "complete"):
        return None
    return float(data.rows)


def entities_of_all(view: TableView) -> float | None:
    """Entities of the table with all its kinds; None where the number of one kind is not known."""
    declared = view.section.declared
    if declared is not None and declared.entities_total:
        return float(declared.entities_total)
    kinds = [entities_of(t) for t in view.design.tables if t.section.table == view.section.table]
    return None if None in kinds else sum(n for n in kinds if n is not None)


FACTS: tuple[Fact, ...] = (
    Fact("design.tables", FactType.NUMBER, "tables", tables, may_be_unknown=False),
    Fact("table.has_keys", FactType.BOOL, "", has_keys, may_be_unknown=False),
    Fact("table.has_data", FactType.BOOL, "", has_data, may_be_unknown=False),
    Fact("table.index_rows", FactType.NUMBER, "index rows", index_rows),
    Fact("table.entities", FactType.NUMBER, "entities", entities, Basis.DECLARED),
)

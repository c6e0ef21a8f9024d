"""Facts of properties, and of tables as far as their properties tell: what is sensitive, what must be erasable."""

from __future__ import annotations

from pkadvisor.design.choice.sections import sensitivity_of
from pkadvisor.design.keys.scheme import variable
from pkadvisor.design.plan.access_plan import AccessPlan
from pkadvisor.observe.workload import Basis, Operation, QueryClass, Rate
from pkadvisor.review.facts.base import Fact, sure
from pkadvisor.review.views import names, served
from pkadvisor.review.views.expressions import FactType
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.table.edm import SYSTEM_PROPERTIES
from pkadvisor.table.odata import And, Comparison, Operator, Parameter


def sensitivity(view: TableView) -> dict[str, str]:
    """``personal`` or ``secret`` by property, as the design declares it."""
    return sensitivity_of(view.section)


def type_(subject: Subject) -> str:
    """Its Edm type."""
    return str(subject.property_.type)


def size(subject: Subject) -> float | None:
    """Its declared mean size."""
    return None if subject.property_.size is None else float(subject.property_.size)


def declared_sensitive(subject: Subject) -> str:
    """secret or personal where the design says so, else empty."""
    return sensitivity(subject.view).get(subject.item.name, "")


def personal_name(subject: Subject) -> bool:
    """Whether it is named as data on a person."""
    return names.personal(subject.item.name)


def secret_name(subject: Subject) -> bool:
    """Whether it is named as a secret."""
    return names.secret(subject.item.name)


def used_as(subject: Subject) -> str:
    """The undeclared name, the same but for a slip, that queries or writes use in place of this unused one."""
    return served.used_as(subject.item.name, subject.view)


def in_key(subject: Subject) -> bool:
    """Whether a key is made of it."""
    return subject.item.name in _in_keys(subject.view)


def _in_keys(view: TableView) -> set[str]:
    return {n for key, _ in view.scheme.each_key() for n in key.properties} if view.scheme else set()


# --- tables -----------------------------------------------------------------------------------------------------------


def sensitive_properties(subject: Subject) -> tuple[str, ...]:
    """Properties declared personal."""
    return tuple(n for n, kind in sensitivity(subject.view).items() if kind == "personal")


def secret_properties(subject: Subject) -> tuple[str, ...]:
    """Properties declared secret."""
    return tuple(n for n, kind in sensitivity(subject.view).items() if kind == "secret")


def ordinary_properties(subject: Subject) -> tuple[str, ...]:
    """Properties neither sensitive nor in a key.

    Properties that are neither sensitive nor in a key.
    """
    apart = {*sensitivity(subject.view), *_in_keys(subject.view), *SYSTEM_PROPERTIES}
    return tuple(n for n in subject.view.types if n not in apart)


def erase_by(subject: Subject) -> str | None:
    """The property by which entities must be erasable."""
    name: str | None = subject.view.workload.erase_by
    return name


def _erasing(view: TableView) -> AccessPlan | None:
    """The best way to find everything of one value of ``erase_by``."""
    query = erasure_query(view)
    plans = view.plans_under(query, view.scheme) if query is not None and view.scheme is not None else ()
    return plans[0] if plans else None


def erasure_query(view: TableView) -> QueryClass | None:
    """The query for everything of one value of ``erase_by``, inside one value of what is kept apart."""
    name = view.workload.erase_by
    if name is None or (view.types and name not in view.types):
        return None
    names = tuple(dict.fromkeys((*_apart(view), name)))
    fixed = tuple(Comparison(n, Operator.EQ, Parameter(n, view.types.get(n))) for n in names)
    return QueryClass("erasure", Operation.QUERY, fixed[0] if len(fixed) == 1 else And(fixed), Rate(0.0, 0.0))


def _apart(view: TableView) -> tuple[str, ...]:
    """The property that is declared to keep entities apart, where there is one."""
    name = view.workload.isolation
    return () if name is None or (view.types and name not in view.types) else (name,)


def erasure_key(subject: Subject) -> str | None:
    """A PartitionKey by which they are found."""
    name = subject.view.workload.erase_by
    if name is None:
        return None
    return "_".join(f"{{{n}}}" for n in dict.fromkeys((*_apart(subject.view), name)))


def erasure_of(subject: Subject) -> str | None:
    """The property by which an erasure finds its entities.

    What an erasure is given: a value of ``erase_by``, and of what is kept apart.
    """
    name = subject.view.workload.erase_by
    return None if name is None else " and ".join(dict.fromkeys((*_apart(subject.view), name)))


def erasure_scans(subject: Subject) -> bool | None:
    """Whether finding everything to erase reads a run of partitions or the table.

    Unknown where nothing must be erasable. With data what it determines counts too (a customer's tenant).
    """
    plan = _erasing(subject.view)
    if plan is not None and _reads_all(plan, subject.view):
        return True
    estimate = subject.view.estimate
    if estimate is not None and estimate.erasure is not None:
        return estimate.erasure.scans
    return None if plan is None else str(plan.access) in ("partition-range scan", "table scan")


def _reads_all(plan: AccessPlan, view: TableView) -> bool:
    """Whether a plan reads a partition in which everything lies."""
    assert view.scheme is not None
    key, _ = list(view.scheme.each_key())[plan.via]
    return str(plan.access) == "partition scan" and not variable(key.partition)


def erasure_access(subject: Subject) -> str | None:
    """How everything to erase is found."""
    plan = _erasing(subject.view)
    if plan is None:
        return None
    return "scan of the only partition" if _reads_all(plan, subject.view) else str(plan.access)


def erasure_requests(subject: Subject) -> float | None:
    """Requests to find and delete everything of one value, on average."""
    estimate = subject.view.estimate
    return None if estimate is None or estimate.erasure is None else estimate.erasure.requests


FACTS: tuple[Fact, ...] = (
    Fact("property.type", FactType.TEXT, "", type_, may_be_unknown=False),
    Fact("property.size", FactType.NUMBER, "bytes or characters", size),
    Fact("property.declared_sensitive", FactType.TEXT, "", declared_sensitive, may_be_unknown=False),
    Fact("property.personal_name", FactType.BOOL, "", personal_name, may_be_unknown=False),
    Fact("property.secret_name", FactType.BOOL, "", secret_name, may_be_unknown=False),
    Fact("property.used_as", FactType.TEXT, "", used_as, may_be_unknown=False),
    Fact("property.in_key", FactType.BOOL, "", in_key, may_be_unknown=False),
    sure("table.sensitive_properties", FactType.TEXTS, "", sensitive_properties),
    sure("table.secret_properties", FactType.TEXTS, "", secret_properties),
    sure("table.ordinary_properties", FactType.TEXTS, "", ordinary_properties),
    Fact("table.erase_by", FactType.TEXT, "", erase_by),
    Fact("table.erasure_scans", FactType.BOOL, "", erasure_scans),
    Fact("table.erasure_key", FactType.TEXT, "", erasure_key),
    Fact("table.erasure_of", FactType.TEXT, "", erasure_of),
    Fact("table.erasure_access", FactType.TEXT, "", erasure_access),
    Fact("table.erasure_requests", FactType.NUMBER, "requests", erasure_requests, Basis.ESTIMATED),
)

"""What a fact is."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pkadvisor.observe.minutes import DAY
from pkadvisor.observe.workload import Basis, QueryClass
from pkadvisor.review.views.expressions import FactType, Value
from pkadvisor.review.views.subjects import Subject
from pkadvisor.review.views.views import TableView
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class KnownValue:
    """A value with the place it comes from."""

    value: Value
    basis: Basis


def number(known: KnownValue) -> float:
    """The value of a fact that is a number."""
    assert isinstance(known.value, int | float)
    assert not isinstance(known.value, bool)
    return float(known.value)


QUERY_NAMES = "names of queries and writes"
"""The unit of a fact that lists some: a sentence quotes each of them."""

Found = KnownValue | Value | int | None
"""What a fact function returns: a bare value has the basis of its fact."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A named fact: ``scope.name``, its type, its unit (empty for truths and texts), and how it is computed.

    ``about``: what users read of it, which is the first paragraph of its function's docstring where nothing is given.
    ``from_data``: its value is one of the data, such as a key. ``may_be_unknown`` facts have a ``…_known`` beside them.
    """

    name: str
    type: FactType
    unit: str
    compute: Callable[[Subject], Found]
    basis: Basis = Basis.DECLARED
    about: str = ""
    may_be_unknown: bool = True
    from_data: bool = False
    needs_diff: bool = False
    """Whether it is only known where a design is compared with an earlier one."""

    def __post_init__(self) -> None:
        paragraph = (self.compute.__doc__ or "").partition("\n\n")[0]
        object.__setattr__(self, "about", self.about or " ".join(paragraph.split()))

    def of(self, subject: Subject) -> KnownValue | None:
        """The value for a subject of its scope."""
        computed = self.compute(subject)
        if computed is None or isinstance(computed, KnownValue):
            return computed
        return KnownValue(float(computed) if self.type is FactType.NUMBER else computed, self.basis)  # type: ignore[arg-type]


def sure(
    name: str,
    type_: FactType,
    unit: str,
    compute: Callable[[Subject], Found],
    basis: Basis = Basis.DECLARED,
    about: str = "",
) -> Fact:
    """A fact that is always known."""
    return Fact(name, type_, unit, compute, basis, about, may_be_unknown=False)


DAY_S = 86_400.0


def entities_per_s(view: TableView, classes: Iterable[QueryClass]) -> float | None:
    """Mean entities a second of some classes of writes; None where there are none, and where a log of less than a day
    is all that tells of one: its minutes may be the busiest or the quietest."""
    total = 0.0
    series = view.workload.minutes
    at = [minute for each in series.values() for minute in each.at]
    short = not any(each.of_day for each in series.values()) and bool(at) and max(at) - min(at) + 1 < DAY
    for query in classes:
        if short and query.name in series and query.rate.mean_per_s > 0:
            return None
        total += query.rate.mean_per_s * query.entities_per_request
    return total or None

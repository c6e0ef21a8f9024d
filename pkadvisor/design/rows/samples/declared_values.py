"""How many values a property is declared to have at the most, compared with the rows at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, prod
from typing import Any, Final, Protocol

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.lazy import pl
from pkadvisor.observe.profile.data_profile import DataProfile

_MEMO: Final = "declared values"


class RowsAtHand(Protocol):
    """What is asked here of the rows at hand (see ``Population``)."""

    data: pl.DataFrame
    memo: dict[object, Any]

    def has(self, name: str) -> bool: ...

    def coded(self, name: str) -> Any: ...


def keep_declared(declared: Mapping[str, int], population: RowsAtHand, data: DataProfile) -> list[str]:
    """Keep the declared numbers of values that the data does not contradict; what it does, in words: the data wins.

    Values are counted over every row where there are few enough of them, else over the rows at hand.
    """
    exact = {p.column.name: round(p.distinct.estimate()) for p in data.properties if not p.distinct.relative_error}
    contradicted, most = list[str](), dict[str, int]()
    for name, number in declared.items():
        if not population.has(name):
            continue
        seen = population.data.get_column(name).drop_nulls().n_unique()
        seen = max(seen, exact.get(name, 0))
        if seen > number:
            contradicted.append(
                f"{name} is declared to have {number:,} values at the most (distinct), but the data has {seen:,}: "
                "the data is taken"
            )
        else:
            most[name] = number
    population.memo[_MEMO] = most
    return contradicted


def groups_most(population: RowsAtHand, atoms: Iterable[Atom]) -> float:
    """The groups that there can be of functions of properties whose number of values is declared; else infinite.

    A property that some rows miss has one group more: that of the rows without it.
    """
    most: Mapping[str, int] = population.memo.get(_MEMO, {})
    names = {str(atom[1]) for atom in atoms if atom[0] in ("p", "t", "h")}
    if not most or not names or any(atom[0] not in ("p", "t", "h") for atom in atoms) or not names <= most.keys():
        return inf
    return float(prod(most[name] + population.coded(name).has_missing for name in names))

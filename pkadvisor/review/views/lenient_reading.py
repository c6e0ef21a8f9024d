"""What a review reads that planning would refuse: characters no key may have, parameters in the types of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pkadvisor.design.keys.transforms import FORBIDDEN
from pkadvisor.observe.workload import Workload
from pkadvisor.review.views.holes import HOLES
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import And, Comparison, Filter, Not, Or, Parameter

if TYPE_CHECKING:
    pass


def as_shown(tree: Filter, types: Mapping[str, EdmType]) -> Filter:
    """A filter with its parameters in the types of the data: their values are read from there."""
    match tree:
        case Comparison(operand=Parameter() as operand):
            edm = types.get(tree.property, operand.type)
            moved = operand.prefix or operand.suffix or operand.offset or operand.offset_ticks
            return tree if moved else replace(tree, operand=replace(operand, type=edm))
        case And() | Or():
            return replace(tree, operands=tuple(as_shown(o, types) for o in tree.operands))
        case Not():
            return replace(tree, operand=as_shown(tree.operand, types))
    return tree


def shown(workload: Workload, types: Mapping[str, EdmType]) -> Workload:
    """The classes with their parameters in the types of the data."""
    classes = tuple(
        replace(c, filter=as_shown(c.filter, types)) if c.filter is not None else c for c in workload.classes
    )
    return replace(workload, classes=classes)


def without(workload: Workload, gone: frozenset[str]) -> Workload:
    """A workload without some classes and the transactions that name them."""
    classes = tuple(c for c in workload.classes if c.name not in gone)
    transactions = tuple(t for t in workload.transactions if not gone & set(t.together))
    return replace(workload, classes=classes, transactions=transactions)


def without_forbidden(placed: Any) -> Any:
    """A template whose literal text has ``_`` for characters that no key may have, so that the rest can be read."""
    if placed is None:
        return None
    out, at = "", 0
    for hole in HOLES.finditer(placed.text):
        out += _clean(placed.text[at : hole.start()]) + hole[0]
        at = hole.end()
    return replace(placed, text=out + _clean(placed.text[at:]))


def _clean(text: str) -> str:
    return "".join("_" if c in FORBIDDEN else c for c in text)


def without_keys(declared: Any) -> Any:
    """A declaration whose keys nobody reads: they are read by ``TableView``, which forgives more."""
    return None if declared is None else replace(declared, partition_key=None, row_key=None, index_rows=())

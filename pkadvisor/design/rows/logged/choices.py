"""Choices between values in a logged ``$filter`` (``city eq 'a' or city eq 'b'``): which of the values are constants.

A log shows texts, not which of them the application fills in. A value that every request names at one place is taken
for a constant; the others are values of a parameter. A request for several values is one instance for each of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from pkadvisor.design.keys.transforms.canonical import moment_of
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.filters import FURTHER, entity_number
from pkadvisor.table.odata import Comparison, Filter, Operator, Or, Parameter, TypedValue, conjuncts, properties

Values = dict[str, object]


def plain_name(name: str) -> str:
    """The property behind the name of a parameter."""
    return entity_number(name)[0].removesuffix(LOW).removesuffix(HIGH)


def python_of(literal: TypedValue) -> object:
    """The value of a literal as the rows at hand hold it."""
    if literal.type is EdmType.DATETIME and isinstance(literal.value, int):
        return moment_of(literal.value)
    return literal.value


def choices_in(filter_: Filter) -> dict[Or, str]:
    """The conjuncts that compare one property, and nothing else of it, with several parameters; with its name."""
    parts = list(conjuncts(filter_))
    out: dict[Or, str] = {}
    for part in parts:
        if not isinstance(part, Or):
            continue
        names = {*properties(part)}
        alike = all(
            isinstance(c, Comparison) and c.operator is Operator.EQ and isinstance(c.operand, Parameter)
            for c in part.operands
        )
        others = {name for other in parts if other is not part for name in properties(other)}
        if alike and len(names) == 1 and not names & {*KEYS, *others}:
            out[part] = names.pop()
    return out


def constants_of(rows: Sequence[Values], name: str) -> dict[int, TypedValue]:
    """The places of a choice at which every request names one value, with it; none where there is one request."""
    texts: list[tuple[TypedValue, ...]] = [v for row in rows if isinstance(v := row[name], tuple)]
    if len(texts) < 2:
        return {}
    return {place: values[0] for place, values in enumerate(zip(*texts, strict=True)) if len({*values}) == 1}


def expanded(rows: Sequence[Values], constants: Mapping[str, Mapping[int, TypedValue]]) -> list[Values]:
    """An instance for each value of the parameters of each choice: every one of them stands first once."""
    return [made for row in rows for made in _instances(row, constants)]


def _instances(row: Values, constants: Mapping[str, Mapping[int, TypedValue]]) -> Iterator[Values]:
    free: dict[str, list[object]] = {}
    for name, known in constants.items():
        values = row[name]
        assert isinstance(values, tuple)
        free[name] = [python_of(literal) for place, literal in enumerate(values) if place not in known]
    plain = {name: value for name, value in row.items() if name not in constants}
    for first in product(*(range(len(values)) for values in free.values() if values)):
        made, places = dict(plain), iter(first)
        for name, values in free.items():
            begin = next(places) if values else 0
            for n in range(len(values)):
                made[name if n == 0 else f"{name}{FURTHER}{n + 1}"] = values[(begin + n) % len(values)]
        yield made


def choice_filter(part: Or, name: str, constants: Mapping[int, TypedValue], edm: EdmType | None) -> Or:
    """The choice with the parameters of an instance, and with the literals that are constants."""
    operands: list[Filter] = []
    number = 0
    for place in range(len(part.operands)):
        if place in constants:
            operands.append(Comparison(name, Operator.EQ, constants[place]))
            continue
        number += 1
        own = name if number == 1 else f"{name}{FURTHER}{number}"
        operands.append(Comparison(name, Operator.EQ, Parameter(own, edm)))
    return Or(tuple(operands))

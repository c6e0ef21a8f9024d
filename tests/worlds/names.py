"""A world with other names for its properties."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tests.worlds.model import AnyOf, Asked, Compare, Condition, Kind, Negated, Parameter, Scheme, Transaction, World


def named_template(text: str, names: Mapping[str, str]) -> str:
    """A template with other names."""
    for old, new in names.items():
        text = re.sub(rf"(?<=[{{(,`]){re.escape(old)}(?=[}},)`])", new, text)
    return text


def _scheme(scheme: Scheme, names: Mapping[str, str]) -> Scheme:
    def template(text: str) -> str:
        return named_template(text, names)

    rows = tuple(
        replace(r, partition=None if r.partition is None else template(r.partition), row=template(r.row))
        for r in scheme.index_rows
    )
    return Scheme(template(scheme.partition), template(scheme.row), rows)


def _condition(condition: Condition, names: Mapping[str, str]) -> Condition:
    match condition:
        case AnyOf():
            return AnyOf(tuple(c for i in condition.items if isinstance(c := _condition(i, names), Compare)))
        case Negated():
            inner = _condition(condition.item, names)
            assert isinstance(inner, Compare)
            return Negated(inner)
        case Compare():
            operand = condition.operand
            if isinstance(operand, Parameter):
                operand = replace(operand, name=names.get(operand.name, operand.name))
            return Compare(names.get(condition.name, condition.name), condition.operator, operand)


def _asked(asked: Asked, names: Mapping[str, str]) -> Asked:
    def several(found: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.get(n, n) for n in found)

    draw = asked.draw
    if draw is not None:
        draw = replace(draw, of=several(draw.of), column=names.get(draw.column, draw.column))
    return replace(
        asked,
        where=None if asked.where is None else tuple(_condition(c, names) for c in asked.where),
        draw=draw,
        order_by=tuple((names.get(n, n), falling) for n, falling in asked.order_by),
        sets=several(asked.sets),
        by_key=several(asked.by_key),
    )


def _kind(kind: Kind, names: Mapping[str, str]) -> Kind:
    return replace(
        kind,
        types={names.get(n, n): e for n, e in kind.types.items()},
        rows=tuple({names.get(n, n): v for n, v in row.items()} for row in kind.rows),
        arrival=names.get(kind.arrival or "", kind.arrival),
        schemes=tuple(_scheme(s, names) for s in kind.schemes),
        current=None if kind.current is None else _scheme(kind.current, names),
        several={names.get(n, n): d for n, d in kind.several.items()},
        told={names.get(n, n): t for n, t in kind.told.items()},
    )


def _transaction(found: Transaction, names: Mapping[str, str]) -> Transaction:
    pair = None if found.pair is None else tuple(names.get(n, n) for n in found.pair)
    return replace(found, group_by=tuple(names.get(n, n) for n in found.group_by), pair=pair)


def renamed_properties(world: World, names: Mapping[str, str]) -> World:
    """The world with other names for some properties, in the same order."""
    return replace(
        world,
        kinds=tuple(_kind(k, names) for k in world.kinds),
        asked=tuple(_asked(a, names) for a in world.asked),
        current=None if world.current is None else _scheme(world.current, names),
        transactions=tuple(_transaction(t, names) for t in world.transactions),
        extra={k: names.get(str(v), v) if k in ("isolation", "erase_by") else v for k, v in world.extra.items()},
    )

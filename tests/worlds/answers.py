"""What each query asks for, by its definition: whose values fill the parameters, and which entities match."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from tests.worlds.key_text import items
from tests.worlds.model import AnyOf, Asked, Compare, Condition, Constant, Kind, Negated, Parameter
from tests.worlds.values import Row, Value, holds, order_of, shifted


@dataclass(frozen=True, eq=False)
class Instance:
    """One set of parameters: the values, the share of the requests that have them, and an entity that has them."""

    values: Row
    weight: float
    entity: int
    rank: int = 0
    """Under Zipf's law the size of the group, to tell ties."""


def operand_value(operand: Parameter | Constant, asked: Row, edm: str) -> Value | None:
    """The value of an operand; None where its parameter has none."""
    if isinstance(operand, Constant):
        return operand.value
    value = asked[operand.name]
    return None if value is None else shifted(value, operand.offset, edm)


def meets(condition: Condition, row: Row, asked: Row, types: Mapping[str, str]) -> bool:
    """Whether an entity satisfies one conjunct."""
    match condition:
        case Compare():
            edm = types[condition.name]
            value = operand_value(condition.operand, asked, edm)
            return value is not None and holds(row[condition.name], condition.operator, value, edm)
        case Negated():
            return not meets(condition.item, row, asked, types)
        case AnyOf():
            return any(meets(c, row, asked, types) for c in condition.items)


def row_weights(asked: Asked, kind: Kind) -> list[float]:
    """How likely the values of each entity fill the parameters; the weights sum to 1.

    Nobody asks for a value that is missing.
    """
    rows, draw = kind.rows, asked.draw
    weights = [1.0] * len(rows)
    if draw is not None and draw.by in ("distinct", "zipf"):
        keys = [tuple(row[name] for name in draw.of) for row in rows]
        sizes = Counter(keys)
        ranked = {key: rank for rank, (key, _) in enumerate(sizes.most_common(), 1)}
        for n, key in enumerate(keys):
            share = ranked[key] ** -draw.exponent if draw.by == "zipf" else 1.0
            weights[n] = share / sizes[key]
    elif draw is not None and draw.by == "weight":
        weights = [float(max(0, value)) if isinstance(value := row[draw.column], int) else 0.0 for row in rows]
    elif draw is not None and draw.by == "newest":
        moments = [v if isinstance(v := row[str(kind.arrival)], int) else -(2**62) for row in rows]
        recent = [m > max(moments) - draw.window_s * 1_000_000 for m in moments]
        count = sum(recent)
        weights = [(1 - draw.share) / len(rows) + (draw.share / count if new else 0.0) for new in recent]
    needed = asked.parameters()
    weights = [0.0 if any(row[n] is None for n in needed) else w for row, w in zip(rows, weights, strict=True)]
    total = sum(weights)
    return [w / total for w in weights] if total > 0 else weights


def _varies(condition: Condition) -> bool:
    """Whether a conjunct has a parameter."""
    items = condition.items if isinstance(condition, AnyOf) else (condition,)
    tests = [c.item if isinstance(c, Negated) else c for c in items]
    return any(isinstance(c.operand, Parameter) for c in tests)


def _filled(condition: Condition, values: Mapping[int, Value | None]) -> Condition:
    """The conjunct with the values of its parameters, by the identity of these."""
    if isinstance(condition, AnyOf):
        return AnyOf(tuple(_of_constant(c, values) for c in condition.items))
    if isinstance(condition, Negated):
        return Negated(_of_constant(condition.item, values))
    return _of_constant(condition, values)


def _of_constant(test: Compare, values: Mapping[int, Value | None]) -> Compare:
    value = values.get(id(test.operand))
    return test if value is None else Compare(test.name, test.operator, Constant(value))


@dataclass
class Answers:
    """The instances of one class and the entities that each asks for."""

    asked: Asked
    kind: Kind
    _found: dict[int, frozenset[int]] = field(default_factory=dict)

    @cached_property
    def _of_values(self) -> tuple[Kind, list[int]]:
        """The kind with a row for each value that a query may ask for, and the entity of each row.

        A query that fixes a property with several values by a parameter asks for one of them, whichever, alike.
        """
        lists = {c.name: self.kind.several[c.name] for c in self._one_of() if c.name in self.kind.several}
        if not lists:
            return self.kind, list(range(len(self.kind.rows)))
        rows, origin = list[Row](), list[int]()
        for n, row in enumerate(self.kind.rows):
            for chosen in product(*([(name, one) for one in items(row[name], by)] for name, by in lists.items())):
                rows.append({**row, **dict(chosen)})
                origin.append(n)
        return replace(self.kind, rows=tuple(rows)), origin

    def _one_of(self) -> list[Compare]:
        """The equalities with a parameter of a query."""
        if self.asked.operation != "query":
            return []
        equal = [c for c in self.asked.conditions() if isinstance(c, Compare) and c.operator == "eq"]
        return [c for c in equal if isinstance(c.operand, Parameter)]

    @cached_property
    def instances(self) -> tuple[Instance, ...]:
        """Sets of parameters that differ, with the weights of all entities that have them."""
        kind, origin = self._of_values
        needed, weights = self.asked.parameters(), row_weights(self.asked, kind)
        summed: dict[tuple[object, ...], tuple[float, int]] = {}
        for n, weight in enumerate(weights):
            if weight > 0:
                key = tuple((type(v), v) for v in (kind.rows[n][name] for name in needed))
                before = summed.get(key, (0.0, n))
                summed[key] = (before[0] + weight, before[1])
        return tuple(
            Instance({name: kind.rows[row][name] for name in needed}, weight, origin[row])
            for weight, row in summed.values()
        )

    @cached_property
    def tied(self) -> bool:
        """Whether groups of one size share ranks under Zipf's law: which is asked for more, nobody knows."""
        draw = self.asked.draw
        if draw is None or draw.by != "zipf":
            return False
        sizes = Counter(tuple(row[name] for name in draw.of) for row in self.kind.rows)
        return len(set(sizes.values())) < len(sizes)

    @cached_property
    def _equal(self) -> list[Compare]:
        """The equalities with a parameter among the conjuncts."""
        return [c for c in self._with_parameter if c.operator == "eq"]

    @cached_property
    def _ranged(self) -> list[Compare]:
        """The conjuncts that bound one property by parameters: the first that has such bounds."""
        bounds = [c for c in self._with_parameter if c.operator in ("gt", "ge", "lt", "le")]
        return [c for c in bounds if c.name == bounds[0].name]

    @cached_property
    def _with_parameter(self) -> list[Compare]:
        found = [c for c in self.asked.conditions() if isinstance(c, Compare)]
        return [c for c in found if isinstance(c.operand, Parameter)]

    @cached_property
    def _indexed(self) -> dict[tuple[object, ...], tuple[list[object], list[int]]]:
        """By the values of the equalities: rows in the order of the property that is bounded, beside its values."""
        rows, types = self._of_values[0].rows, self.kind.types
        groups: dict[tuple[object, ...], list[tuple[object, int]]] = {}
        for n in self._constant:
            order: object = 0
            for bound in self._ranged[:1]:
                value = rows[n][bound.name]
                order = None if value is None or value != value else order_of(value, types[bound.name])
            if order is not None:
                groups.setdefault(tuple(rows[n][c.name] for c in self._equal), []).append((order, n))
        out: dict[tuple[object, ...], tuple[list[object], list[int]]] = {}
        for key, group in groups.items():
            group.sort()  # type: ignore[misc]
            out[key] = ([order for order, _ in group], [n for _, n in group])
        return out

    @cached_property
    def most(self) -> int:
        """The most entities that one instance asks for."""
        return max((len(self.matching(i)) for i in self.instances), default=0)

    def matching(self, instance: Instance) -> frozenset[int]:
        """The entities that satisfy the filter for one instance."""
        known = self._found.get(id(instance))
        if known is None:
            known = self._found[id(instance)] = self._match(instance)
        return known

    def _match(self, instance: Instance) -> frozenset[int]:
        (kind, origin), sought = self._of_values, (*self._equal, *self._ranged)
        rows, types = kind.rows, kind.types
        values = [operand_value(c.operand, instance.values, types[c.name]) for c in sought]
        if any(value is None or value != value for value in values):
            return frozenset()
        orders, looked = self._indexed.get(tuple(values[: len(self._equal)]), ([], []))
        begin, end = 0, len(looked)
        for bound, value in zip(self._ranged, values[len(self._equal) :], strict=True):
            assert value is not None
            side = bisect_left if bound.operator in ("ge", "lt") else bisect_right
            at = side(orders, order_of(value, types[bound.name]))  # type: ignore[type-var]
            begin, end = (max(begin, at), end) if bound.operator in ("ge", "gt") else (begin, min(end, at))
        named = {n: operand_value(p, instance.values, types[p.name]) for n, p in self._parameters.items()}
        left = [_filled(c, named) for c in self.asked.conditions() if _varies(c) and c not in sought]
        return frozenset(
            origin[n] for n in looked[begin:end] if all(meets(c, rows[n], instance.values, types) for c in left)
        )

    @cached_property
    def _parameters(self) -> dict[int, Parameter]:
        """The operands that are parameters, by their identity."""
        return {id(o): o for c in self.asked.comparisons() if isinstance(o := c.operand, Parameter)}

    @cached_property
    def _constant(self) -> list[int]:
        """The rows for each value that satisfy the conditions without parameters."""
        fixed = [c for c in self.asked.conditions() if not _varies(c)]
        rows, types = self._of_values[0].rows, self.kind.types
        return [n for n, row in enumerate(rows) if all(meets(c, row, {}, types) for c in fixed)]

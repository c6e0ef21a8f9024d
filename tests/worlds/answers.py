"""What each query asks for, by its definition: whose values fill the parameters, and which entities match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

from tests.worlds.key_text import items
from tests.worlds.model import AnyOf, Asked, Compare, Condition, Constant, Kind, Negated, Parameter
from tests.worlds.values import Row, Value, holds, shifted


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
    def _indexed(self) -> tuple[str, dict[object, list[int]]] | None:
        """Entities by one property that the filter fixes by a parameter."""
        for condition in self.asked.conditions():
            if isinstance(condition, Compare) and condition.operator == "eq":
                index: dict[object, list[int]] = {}
                for n in self._constant:
                    index.setdefault(self._of_values[0].rows[n][condition.name], []).append(n)
                return condition.name, index
        return None

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
        (kind, origin), conditions = self._of_values, self.asked.conditions()
        rows, types = kind.rows, kind.types
        looked: list[int] = self._constant
        if self._indexed is not None:
            name, index = self._indexed
            first = next(c for c in conditions if isinstance(c, Compare) and c.operator == "eq" and c.name == name)
            looked = index.get(operand_value(first.operand, instance.values, types[name]), [])
        named = {n: operand_value(p, instance.values, types[p.name]) for n, p in self._parameters.items()}
        left = [_filled(c, named) for c in conditions if _varies(c)]
        return frozenset(origin[n] for n in looked if all(meets(c, rows[n], instance.values, types) for c in left))

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

"""Which features of the design file and of the key language a world contains."""

from __future__ import annotations

import re

from tests.worlds.files import design
from tests.worlds.model import AnyOf, Asked, Compare, Negated, Parameter, World


def features(world: World) -> set[str]:
    """The features of one world, by name."""
    out = {f"form {world.form}", f"kinds {len(world.kinds)}"}
    out |= {f"table key {name}" for name in design(world)["tables"][world.table]}
    for kind in world.kinds:
        out |= {f"type {edm}" for edm in kind.types.values()}
        out |= {f"arrival {'time' if kind.arrival == 'at' else kind.arrival}"}
        if any(value is None for row in kind.rows for value in row.values()):
            out.add("missing values")
        if any(isinstance(v, str) and re.search(r"[^\w .:-]", v) for row in kind.rows for v in row.values()):
            out.add("hostile text")
        for scheme in (*kind.schemes, *([world.current] if world.current else [])):
            out |= _scheme_features(scheme.text)
            out |= {
                f"index row {r.copy}, {'elsewhere' if r.partition else 'same partition'}" for r in scheme.index_rows
            }
    out.add(f"rows {'2,000 and more' if world.entities >= 2000 else '300 to 2,000'}")
    for asked in world.asked:
        out |= _asked_features(asked, world)
    if world.growth is not None:
        out.add(f"growth of {world.growth.of}")
    out |= {f"transaction {'required' if t.required else 'wanted'}" for t in world.transactions}
    return out


def _scheme_features(text: str) -> set[str]:
    out = {f"key {name}" for name in re.findall(r"\b([a-z_]+)\(", text)}
    if re.search(r"\{\w+\}", text):
        out.add("key property")
    return out


def _asked_features(asked: Asked, world: World) -> set[str]:
    out = {f"operation {asked.operation}"}
    types = world.kind(asked.kind).types
    ranges: dict[str, set[str]] = {}
    for condition in asked.conditions():
        match condition:
            case AnyOf():
                names = {c.name for c in condition.items}
                out.add(f"filter or over {'one property' if len(names) == 1 else 'several'}")
            case Negated():
                out.add("filter not")
            case Compare():
                operand = "parameter" if isinstance(condition.operand, Parameter) else "constant"
                if condition.operator in ("eq", "ne"):
                    out.add(f"filter {condition.operator} {operand}")
                else:
                    ranges.setdefault(condition.name, set()).add(condition.operator)
                if isinstance(condition.operand, Parameter) and condition.operand.offset:
                    out.add(f"offset of {types[condition.name]}")
    out |= {"range " + " ".join(sorted(operators)) for operators in ranges.values()}
    if asked.operation == "query" and not asked.conditions():
        out.add("filter empty")
    out |= {f"order {'falling' if falling else 'rising'}" for _, falling in asked.order_by}
    for name in ("top", "peak", "peak_at", "p99_ms", "analytic", "sets", "read_modify_write"):
        if getattr(asked, name):
            out.add(f"class key {name}")
    if asked.entities_per_request > 1:
        out.add("class key entities_per_request")
    if asked.draw is not None:
        out.add(f"draw {asked.draw.by}")
    return out

"""Which features of the design file and of the key language a world contains.

The keys of the design file are those that the world's own file has, model by model, so that the schema says which there
are (``declared_features``); those of a sample are of the file that the law *samples* writes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from pkadvisor.observe.design_file.declaration import design_schema
from tests.worlds.draw.sampling import sample_of
from tests.worlds.files import design
from tests.worlds.model import AnyOf, Asked, Compare, Negated, Parameter, World

LISTS = {
    "queries": "query", "writes": "write", "transactions": "transaction", "index_rows": "index row",
}  # fmt: skip
MODELS = {
    "TableModel": "table", "KindModel": "kind", "QueryModel": "query", "WriteModel": "write",
    "TransactionModel": "transaction", "IndexRowModel": "index row", "GrowthModel": "growth",
}  # fmt: skip
ELSEWHERE = ("table key key_parts", "kind key key_parts")
"""Keys of exports without columns: ``tests/strangers`` has those."""
NAMED = ("sampling", "operation", "copy", "retry", "of")
"""Keys whose values are a closed set of words."""


def declared_features() -> set[str]:
    """Every key that the schema of the design file knows, model by model, and the words of closed sets."""
    schema = design_schema()
    out = set()
    for model, label in MODELS.items():
        for name, what in schema["$defs"][model]["properties"].items():
            out.add(f"{label} key {name}")
            if name in NAMED:
                words = what.get("enum") or next((a["enum"] for a in what.get("anyOf", ()) if "enum" in a), ())
                out |= {f"{label} {name} {word}" for word in words}
    for model, label in (("DrawModel", "draw"), ("PropertyModel", "property")):
        whole = next(a for a in schema["$defs"][model]["anyOf"] if "properties" in a)
        out |= {f"{label} key {name}" for name in whole["properties"]}
    return out - set(ELSEWHERE)


def features(world: World) -> set[str]:
    """The features of one world, by name."""
    out = {f"form {world.form}", f"kinds {len(world.kinds)}"}
    out |= set(_keys(design(world)["tables"][world.table], "table"))
    sampled = sample_of(world, Random(world.seed))
    if sampled is not None:
        out |= set(_keys(design(sampled)["tables"][world.table], "table"))
    for kind in world.kinds:
        out |= {f"type {edm}" for edm in kind.types.values()}
        out |= {f"arrival {'time' if kind.arrival == 'at' else kind.arrival}"}
        if any(value is None for row in kind.rows for value in row.values()):
            out.add("missing values")
        if any(isinstance(v, str) and re.search(r"[^\w .:-]", v) for row in kind.rows for v in row.values()):
            out.add("hostile text")
        for scheme in (*kind.schemes, *(s for s in (world.keys_in_use(kind.name),) if s is not None)):
            out |= _scheme_features(scheme.text)
            out |= {
                f"index row {r.copy}, {'elsewhere' if r.partition else 'same partition'}" for r in scheme.index_rows
            }
    out.add(f"rows {'2,000 and more' if world.entities >= 2000 else '300 to 2,000'}")
    for asked in world.asked:
        out |= _asked_features(asked, world)
    for transaction in world.transactions:
        written = [a for a in world.asked if a.name in transaction.together]
        out.add(f"transaction {'required' if transaction.required else 'wanted'}")
        out.add(f"transaction of {'one write' if len(written) == 1 else 'several writes'}")
        if len({a.kind for a in written}) > 1:
            out.add("transaction of several kinds")
        if transaction.pair is not None:
            named = any(transaction.pair[2] in kind.types for kind in world.kinds)
            out.add(f"transaction over pairs {'of rows' if named else 'of any two values'}")
        if len(transaction.group_by) > 1:
            out.add("transaction by several properties")
    return out


def _keys(values: Mapping[str, Any], label: str) -> Iterator[str]:
    """``label key name`` of everything that a part of the design file has."""
    for name, value in values.items():
        yield f"{label} key {name}"
        if name in NAMED and isinstance(value, str):
            yield f"{label} {name} {value}"
        if name in LISTS:
            for part in value:
                yield from _keys(part, LISTS[name])
        elif name == "kinds":
            for part in value.values():
                yield from _keys(part, "kind")
        elif name == "properties":
            yield from (f"property key {key}" for part in value.values() if isinstance(part, dict) for key in part)
        elif name in ("growth", "draw") and isinstance(value, dict):
            yield from _keys(value, name)


def _scheme_features(text: str) -> set[str]:
    out = {f"key {name}" for name in re.findall(r"\b([a-z_]+)\(", text)}
    if re.search(r"\{\w+\}", text):
        out.add("key property")
    if re.search(r"\{\w+\(\w+\(", text):
        out.add("key function of a function")
    if "{`" in text:
        out.add("key property in backticks")
    if "{{" in text:
        out.add("key text with braces")
    return out


def _asked_features(asked: Asked, world: World) -> set[str]:
    out = set()
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
                if condition.operator in ("eq", "ne", "lower"):
                    out.add(f"filter {condition.operator} {operand}")
                else:
                    ranges.setdefault(condition.name, set()).add(condition.operator)
                if isinstance(condition.operand, Parameter) and condition.operand.offset:
                    out.add(f"offset of {types[condition.name]}")
    out |= {"range " + " ".join(sorted(operators)) for operators in ranges.values()}
    if asked.operation == "query" and not asked.conditions():
        out.add("filter empty")
    out |= {f"order {'falling' if falling else 'rising'}" for _, falling in asked.order_by}
    if asked.peak_at and asked.peak_at[0] > asked.peak_at[1]:
        out.add("peak over midnight")
    if asked.entities_per_request > 1:
        out.add("several entities in a request")
    out.add(f"draw {asked.draw.by if asked.draw else 'entities'}")
    return out

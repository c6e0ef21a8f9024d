"""Printed requests as texts that a table store takes: keys and parameters filled in."""

from __future__ import annotations

from collections.abc import Mapping

from tests.worlds.printed import Test, Tree, operand_value
from tests.worlds.values import Row, constant_text


def request_text(
    terms: tuple[tuple[str, str, str], ...], rest: tuple[Test | Tree, ...], asked: Row, types: Mapping[str, str]
) -> str:
    """The ``$filter`` of one request."""
    keys = [f"{name} {operator} '" + text.replace("'", "''") + "'" for name, operator, text in terms]
    return " and ".join([*keys, *(_text(c, asked, types) for c in rest)])


def _text(tree: Test | Tree, asked: Row, types: Mapping[str, str]) -> str:
    if isinstance(tree, Test):
        edm = types[tree.name]
        return f"{tree.name} {tree.operator} {constant_text(operand_value(tree.operand, edm, asked, types), edm)}"
    inner = [_text(o, asked, types) for o in tree.operands]
    return f"not ({inner[0]})" if tree.operator == "not" else "(" + f" {tree.operator} ".join(inner) + ")"

"""A part of ``.ci/full`` runs every module that has a long form for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tiers import PARTS

HERE = Path(__file__).parent


def parts_of(text: str) -> Iterator[str]:
    """The parts that a module asks for: ``sizes(…, …, "part")`` or ``LONG == "part"``."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "sizes":
            yield from (str(more.value) for more in node.args[2:] if isinstance(more, ast.Constant))
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name) and node.left.id == "LONG":
            yield from (str(other.value) for other in node.comparators if isinstance(other, ast.Constant))


def test_a_part_runs_each_module_that_asks_for_it() -> None:
    asked = {
        (part, path.relative_to(HERE).as_posix())
        for path in HERE.rglob("*.py")
        if path.parent != HERE
        for part in parts_of(path.read_text(encoding="utf-8"))
    }
    assert {part for part, _ in asked} >= {"simulation", "proofs", "real", "azurite"}
    assert len({module for _, module in asked}) > 5
    assert [(part, module) for part, module in asked if not module.startswith(PARTS[part])] == []


def test_what_parts_run_is_there() -> None:
    assert [place for places in PARTS.values() for place in places if not (HERE / place).exists()] == []


@pytest.mark.parametrize("text", ['sizes(\n    [1], [1, 2], "proofs"\n)', 'WIDE = 1 if LONG == "proofs" else 2'])
def test_both_ways_to_ask_for_a_part_are_seen(text: str) -> None:
    assert list(parts_of(text)) == ["proofs"]

"""What is pinned: a value that moves fails by its name, and everything else by its digest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.report import pins

SMALL: dict[str, Any] = {
    "tables": [
        {"table": "T", "verdict": "keep", "recommended": {"score": 90, "classes": [{"name": "q", "requests": 1}]}}
    ],
    "notes": ["a", "b"],
}


def test_leaves_go_by_the_names_of_their_entries() -> None:
    assert dict(pins.flat(SMALL)) == {
        "tables.T.table": "T",
        "tables.T.verdict": "keep",
        "tables.T.recommended.score": 90,
        "tables.T.recommended.classes.q.name": "q",
        "tables.T.recommended.classes.q.requests": 1,
        "notes.0": "a",
        "notes.1": "b",
    }
    twice = {"rows": [{"name": "a", "n": 1}, {"name": "a", "n": 2}]}
    assert [path for path, _ in pins.flat(twice)] == ["rows.0.name", "rows.0.n", "rows.1.name", "rows.1.n"]


def test_a_change_of_a_value_of_another_leaf_or_of_the_page_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pins, "GOLDEN", tmp_path)
    monkeypatch.setenv("PKADVISOR_GOLDEN", "write")
    pins.pin("small", SMALL, b"page")
    monkeypatch.delenv("PKADVISOR_GOLDEN")
    pins.pin("small", SMALL, b"page")
    moved = json.loads(json.dumps(SMALL))
    moved["tables"][0]["recommended"]["classes"][0]["requests"] = 2
    with pytest.raises(AssertionError, match="writes the new values"):
        pins.pin("small", moved, b"page")
    for document, page in (({**SMALL, "notes": ["a", "c"]}, b"page"), (SMALL, b"other")):
        with pytest.raises(AssertionError, match="not among the values"):
            pins.pin("small", document, page)

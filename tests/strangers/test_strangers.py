"""Folders of strangers: ``init --from`` and ``analyze``, nothing edited, end in the right keys or the question."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.main import main
from pkadvisor.observe.design_file.declaration import DeclaredKeys
from pkadvisor.observe.design_file.read_declaration import load_declaration
from tests.strangers.folders import STRANGERS, Stranger

ANSWERED = [make for make in STRANGERS if not make().question]
ASKED = [make for make in STRANGERS if make().question]
WITH_KEYS = [make for make in STRANGERS if make().current]


def begun(stranger: Stranger, folder: Path, patch: pytest.MonkeyPatch) -> int:
    """The folder with what ``init --from`` writes into it."""
    stranger.write(folder)
    patch.chdir(folder)
    given = [word for name in stranger.data for word in ("--from", name)]
    given += [word for name in stranger.logs for word in ("--log", name)]
    return main(["init", *given, "--yes", "-q"])


def recommended(result: dict[str, Any]) -> list[str]:
    """The recommended keys of each table or kind, as ``PK | RK``."""
    found = [t["recommended"] for t in result["tables"]]
    return [f"{r['partition_key']} | {r['row_key']}" if r else "" for r in found]


@pytest.mark.parametrize("make", ANSWERED)
def test_nothing_edited_they_end_in_the_right_keys(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    assert main(["analyze", "-q", "--out", "json=with.json"]) == 0
    with_design = recommended(json.loads(Path("with.json").read_text()))
    assert len(with_design) == len(stranger.right)
    for keys, right in zip(with_design, stranger.right, strict=True):
        assert re.search(right, keys), f"{stranger.name}: {keys}"
    logs = [word for name in stranger.logs for word in ("--log", name)]
    assert main(["analyze", *stranger.data, *logs, "-q", "--isolated", "--out", "json=without.json"]) == 0
    assert recommended(json.loads(Path("without.json").read_text())) == with_design


@pytest.mark.parametrize("make", ASKED)
def test_where_the_files_do_not_tell_enough_they_are_asked(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = make()
    code = begun(stranger, tmp_path, monkeypatch)
    said = capsys.readouterr().err
    if code == 0:
        code = main(["analyze", "-q"])
        said = Path("design.yaml").read_text() + capsys.readouterr().err
    assert code == 2
    assert stranger.question in said


@pytest.mark.parametrize("make", WITH_KEYS)
def test_the_keys_in_use_are_written_and_reproduce_the_export(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    text = Path("design.yaml").read_text()
    templates = []
    for table in load_declaration("design.yaml", text).tables:
        keys = [k.keys for k in table.kinds] or [DeclaredKeys(table.partition_key, table.row_key)]
        templates += [f"{k.partition.text} | {k.row.text}" for k in keys if k.partition and k.row]
    assert sorted(templates) == sorted(stranger.current)
    shares = re.findall(r"inferred: ([0-9,]+) of ([0-9,]+) (?:exported|logged) keys", text)
    assert len(shares) == len(stranger.current)
    assert all(exact == rows for exact, rows in shares)

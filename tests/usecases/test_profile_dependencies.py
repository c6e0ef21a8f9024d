"""Profiles tell which properties are functions of others, although the values are hidden."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.cli.main import main

DESIGN = """schema: 1
tables:
  Parts:
    partition_key: "{code}"
    row_key: "x"
    properties: {id: int64, code: string}
    queries:
      - {name: by-id, filter: "id eq {id}", rate: 500/s}
"""


@pytest.mark.parametrize(("related", "passes"), [(True, True), (False, False)])
def test_a_key_is_judged_alike_with_data_and_with_its_profile(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], related: bool, passes: bool
) -> None:
    rows = [f"{n},{(n if related else n * 7919 % 500):05d},s{n % 9}" for n in range(500)]
    (tmp_path / "parts.csv").write_text("\n".join(["id,code,shop", *rows, ""]), encoding="utf-8")
    (tmp_path / "d.yaml").write_text(DESIGN, encoding="utf-8")
    design, data, made = (str(tmp_path / name) for name in ("d.yaml", "parts.csv", "p.json"))
    assert main(["profile", data, "--design", design, "--out", made]) == 0
    (table,) = json.loads((tmp_path / "p.json").read_text())["tables"]
    assert ("00007" in json.dumps(table)) is False
    assert table["data"]["dependencies"] == ([["code", "id", "{pad(id,5)}"]] if related else [])
    capsys.readouterr()
    for given in (["--data", data], ["--profile", made]):
        assert (main(["review", design, *given]) == 0) is passes
        assert ("PK201" in capsys.readouterr().out) is not passes

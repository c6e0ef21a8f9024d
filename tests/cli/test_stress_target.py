"""``advisor stress`` and a real endpoint: what is refused before anybody is dialled, and what a measured file does."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Ask

SIGNATURE = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789%3D"


@pytest.fixture(autouse=True)
def nobody_is_dialled(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("somebody was dialled")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--target", f"https://a.table.core.windows.net/?sv=1&sig={SIGNATURE}"), "command line"),
        (("--connection-string-file", f"AccountName=a;AccountKey={SIGNATURE}"), "command line"),
        (("--target", "https://a.table.core.windows.net"), "no credential"),
        (("--target", "http://a.table.core.windows.net"), "over http"),
        (("--dry-run",), "no endpoint to run on"),
        (("--calibrate", "measured.toml"), "no endpoint to run on"),
        (("--sas-file", "sas.txt"), "no endpoint to run on"),
        (("--target", "http://127.0.0.1:9", "--calibrate", "no/such/folder/f.toml"), "no such folder"),
    ],
)
def test_what_is_refused(ask: Ask, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = ask("stress", "--sample", "footrace", *arguments)
    assert code == 2 and says in err and not out
    assert SIGNATURE[:12] not in err
    assert len(err.splitlines()) <= 4


@pytest.mark.long("proofs")
def test_a_measured_number_is_used_and_called_measured(ask: Ask, tmp_path: Path) -> None:
    from pkadvisor.report.text.stress_measured import calibration_file
    from tests.stress.store.test_calibration import document, entry

    path = tmp_path / "measured.toml"
    found = [entry("read_latency_ms_p50", 6.25), entry("read_latency_ms_p99", 31.5)]
    path.write_text(calibration_file(document(found)) or "", encoding="utf-8")
    code, out, err = ask(
        "analyze", "--sample", "footrace", "--sample-rows", "200", "--limits", str(path), "--format", "json"
    )
    assert code == 0, err
    values = {one["name"]: one for one in json.loads(out)["limits"]["values"]}
    assert values["read_latency_ms_p50"]["value"] == 6.25
    assert values["read_latency_ms_p50"]["basis"] == "measured"
    assert values["write_latency_ms_p50"]["basis"] == "assumed"

"""``advisor keys``: what could be a key of data of which no query is known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.cli import shared
from tests.cli.support import Ask

ROWS = "deviceId,at,site,level,note\n" + "".join(
    f"dev{i % 25},2026-01-01T00:{i // 60:02}:{i % 60:02}Z,s{i % 3},{i % 7}.5,{'' if i % 9 else 'x'}\n"
    for i in range(300)
)


def found(ask: Ask, tmp_path: Path, text: str) -> dict[str, object]:
    (tmp_path / "readings.csv").write_text(text, encoding="utf-8")
    code, page, errors = ask("keys", str(tmp_path / "readings.csv"), "--format", "json")
    assert (code, errors) == (0, "")
    (table,) = json.loads(page)["tables"]
    return dict(table)


def test_what_is_unique_and_what_divides(ask: Ask, tmp_path: Path) -> None:
    table = found(ask, tmp_path, ROWS)
    assert table["identifies"] == [["at"]], "a time of its own for each; no measure, and nothing that is missing"
    assert table["divides"] == ["deviceId", "site"], "the even one of many values first, then the coarse one"
    assert table["example"] == {"partition_key": "{deviceId}", "row_key": "{reverse_ticks(at)}"}
    shares = {p["name"]: p["largest_share"] for p in table["properties"]}  # type: ignore[attr-defined]
    assert shares["deviceId"] == pytest.approx(12 / 300) and shares["site"] == pytest.approx(1 / 3)


def test_pairs_are_tried_where_nothing_alone_is_unique(ask: Ask, tmp_path: Path) -> None:
    rows = "tenant,number,paid\n" + "".join(f"t{i % 20},{i // 20},true\n" for i in range(200))
    table = found(ask, tmp_path, rows)
    assert sorted(map(sorted, table["identifies"])) == [["number", "tenant"]]  # type: ignore[call-overload]
    assert table["example"] == {"partition_key": "{tenant}", "row_key": "{pad(number,10)}"} or table["example"] == {
        "partition_key": "{tenant}",
        "row_key": "{pad(number,19)}",
    }


def test_an_amount_that_is_nearly_unique_is_no_key_to_begin_with(ask: Ask, tmp_path: Path) -> None:
    """Both entries of a booking stand in its partition; hardly two entries have the same amount."""
    rows = "cents,booking_id,account\n" + "".join(
        f"{7 * (i - i % 99)},b{i // 2:03},a{i % 2}{i % 7}\n" for i in range(400)
    )
    table = found(ask, tmp_path, rows)
    assert table["example"] == {"partition_key": "{booking_id}", "row_key": "{account}"}
    days = "day,hour,station,level\n" + "".join(f"d{i // 24:02},{i % 24},s{i % 10}{i % 24},1.5\n" for i in range(720))
    assert found(ask, tmp_path, days)["example"], "where what divides best does not go with any RowKey, the next does"


def test_what_has_no_key_is_said(ask: Ask, tmp_path: Path) -> None:
    table = found(ask, tmp_path, "kind\n" + "a\n" * 30 + "b\n" * 10)
    assert (table["identifies"], table["divides"], table["example"]) == ([], ["kind"], None)
    code, page, _ = ask("keys", str(tmp_path / "readings.csv"))
    assert code == 0 and "No property and no pair of properties is unique" in page and "not advice" in page


def test_exported_keys_are_shown_as_templates(ask: Ask, tmp_path: Path) -> None:
    rows = "PartitionKey,RowKey,device,n\n" + "".join(f"d{i % 9},{i:05},d{i % 9},{i}\n" for i in range(90))
    table = found(ask, tmp_path, rows)
    assert table["exported_keys"] and table["example"] is None


def test_a_page_names_the_next_command(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my readings.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask("keys")[0] == 2
    assert ask("keys", "none.csv")[0] == 2
    assert "next:" not in ask("keys", "my readings.csv")[2], "a pipe gets none"
    said: list[str] = []
    monkeypatch.setattr(shared, "is_terminal", lambda stream: True)
    monkeypatch.setattr(shared, "say", lambda text, **how: said.append(text))
    ask("keys", "my readings.csv")
    assert said == []  # -q
    from types import SimpleNamespace

    shared.say_next("advisor review", SimpleNamespace(quiet=False, format="text", color="never"))  # type: ignore[arg-type]
    assert said == ["next: advisor review"]


def test_hostile_names_are_shown_as_text(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("\x1b[31mid,b\n" + "".join(f"{i},{i % 3}\n" for i in range(30)), encoding="utf-8")
    code, page, errors = ask("keys", str(tmp_path / "d.csv"))
    assert "\x1b" not in page + errors and code in (0, 3)


def test_a_profile_may_be_asked_for_as_other_files_are(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "d.csv").write_text(ROWS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask("profile", "d.csv", "--out", "json=p.json")[0] == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d.csv", "p.json"]
    assert json.loads((tmp_path / "p.json").read_text())["tables"]
    for wrong in ("html=p.html", "json="):
        code, _, errors = ask("profile", "d.csv", "--out", wrong)
        assert (code, "a profile is JSON" in errors) == (2, True)
    assert ask("profile", "d.csv", "--out", "./json=q.json")[0] == 0
    assert (tmp_path / "json=q.json").is_file()

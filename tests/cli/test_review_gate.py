"""``advisor review`` from the command line: baselines and suppressions are written, and the day is a given."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from tests.cli.support import Ask
from tests.review.gate_support import DESIGN, RULES, TEXT

FILE = ".pkadvisor-baseline.json"
SUPPRESSED = TEXT.rstrip("\n") + '  # pkadvisor: ignore[ACME002] reason="weekly" until=2026-11-21\n'


@pytest.fixture
def review(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """``advisor review`` in a folder with a design in which a query scans."""
    monkeypatch.chdir(tmp_path)
    for name, content in {**{f"rules/{n}": t for n, t in RULES.items()}, DESIGN: TEXT}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    fixed = ("--rules", "rules", "--select", "ACME", "--select", "PK9")
    return lambda *words: ask("review", DESIGN, *fixed, *words)


def test_a_baseline_is_written_and_read_and_pruned(
    review: Ask, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review()[0] == 1
    code, _, errors = review("--baseline", FILE)
    assert (code, "--write-baseline" in errors) == (2, True)
    (tmp_path / "pkadvisor.toml").write_text(f'baseline = "{FILE}"\n', encoding="utf-8")
    code, page, errors = review()
    assert (code, "ACME002" in page, errors) == (1, True, ""), "one that is settled and not begun knows nothing"
    assert main(["review", DESIGN, "--rules", "rules", "--select", "ACME"]) == 1
    assert capsys.readouterr().err.startswith(f"no baseline yet at {FILE}: --write-baseline begins one\n")
    (tmp_path / "pkadvisor.toml").unlink()
    code, page, _ = review("--baseline", FILE, "--write-baseline")
    assert (code, "ACME002" in page) == (0, False)
    kept = (tmp_path / FILE).read_text(encoding="utf-8")
    assert kept.count("ACME002") == 1
    assert review("--baseline", FILE)[0] == 0
    (tmp_path / DESIGN).write_text(TEXT.replace("status eq", "tenantId eq"), encoding="utf-8")
    code, page, _ = review("--baseline", FILE)
    assert (code, "PK904" in page) == (0, True)
    assert (tmp_path / FILE).read_text(encoding="utf-8") == kept, "only what is asked for is written"
    assert review("--baseline", FILE, "--prune-baseline")[0] == 0
    assert "ACME002" not in (tmp_path / FILE).read_text(encoding="utf-8")
    (tmp_path / FILE).write_text("{", encoding="utf-8")
    assert review("--baseline", FILE)[0] == 3
    assert (tmp_path / FILE).read_text(encoding="utf-8") == "{"


def test_suppressions_are_added_and_listed(review: Ask, tmp_path: Path) -> None:
    code, page, _ = review("--add-ignore", "one report a week")
    assert (code, "ACME002" in page) == (0, False)
    text = (tmp_path / DESIGN).read_text(encoding="utf-8")
    assert text == TEXT.rstrip("\n") + '  # pkadvisor: ignore[ACME002] reason="one report a week"\n'
    code, page, _ = review("--show-suppressed")
    assert code == 0
    assert "ACME002 scan  [suppressed" in page
    assert f"one report a week, {DESIGN}:9" in page
    assert review("--add-ignore", "again")[0] == 0
    assert (tmp_path / DESIGN).read_text(encoding="utf-8") == text


def test_one_call_suppresses_what_a_suppressed_finding_stood_for(ask: Ask, tmp_path: Path) -> None:
    keys = '    partition_key: "{tenantId}"\n    row_key: "{orderId}"\n'
    filter_text = "tenantId eq '{tenantId}' and orderId eq '{orderId}'"
    query = f'    queries:\n      - {{name: one, filter: "{filter_text}", rate: 5/s}}'
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    old.write_text(f"schema: 1\ntables:\n  Orders:\n{keys}{query}\n", encoding="utf-8")
    new.write_text(old.read_text(encoding="utf-8").replace('{tenantId}"', '{customerId}"', 1), encoding="utf-8")
    against = ("review", str(new), "--against", str(old))
    code, page, _ = ask(*against)
    assert (code, "PK802" in page, "PK201" in page) == (1, True, False)
    code, page, _ = ask(*against, "--add-ignore", "a rare report")
    assert (code, "PK201" in page) == (0, False)
    comment = '# pkadvisor: ignore[PK201, PK802] reason="a rare report"\n'
    assert new.read_text(encoding="utf-8").endswith(comment)
    assert ask("review", str(new))[0] == 0, "without the earlier design the scan itself is suppressed too"


def test_the_day_comes_from_one_place(review: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / DESIGN).write_text(SUPPRESSED, encoding="utf-8")
    assert review("--today", "2026-11-21")[0] == 0
    code, page, _ = review("--today", "2026-11-22")
    assert (code, "PK903" in page) == (1, True)
    monkeypatch.setenv("PKADVISOR_TODAY", "2026-11-22")
    assert review()[0] == 1
    monkeypatch.delenv("PKADVISOR_TODAY")
    monkeypatch.setattr("pkadvisor.cli.commands.review.clock_day", lambda: "2026-11-22")
    assert review()[0] == 1
    monkeypatch.setattr("pkadvisor.cli.commands.review.clock_day", lambda: "2026-11-21")
    assert review()[0] == 0
    assert review("--today", "tomorrow")[0] == 2


def test_one_older_file_beside_the_design(review: Ask, tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text(TEXT, encoding="utf-8")
    assert review("--against", "old.yaml")[0] == 1
    assert review("--against", "old.yaml", "--new-only")[0] == 0
    assert review("--against", "none.yaml")[0] == 2
    code, _, errors = review("--against-ref", "main")
    assert (code, "not in a git repository" in errors) == (2, True)


@pytest.mark.parametrize("option", ["--profile", "--data", "--limits", "--rules", "--baseline", "--against"])
def test_what_is_named_and_missing_is_a_usage_error_with_the_name_that_was_meant(
    review: Ask, tmp_path: Path, option: str
) -> None:
    (tmp_path / "things.json").write_text("{}", encoding="utf-8")
    (tmp_path / "thing").mkdir()
    code, page, errors = review(option, "thinks" if option == "--rules" else "thinks.json")
    assert (code, page) == (2, "")
    assert f"{option} thinks" in errors and "there is no such" in errors and "did you mean 'thing" in errors


def test_a_profile_that_is_settled_and_missing_is_told_at_its_line(review: Ask, tmp_path: Path) -> None:
    (tmp_path / "pkadvisor.toml").write_text('schema = 1\nprofile = "none.json"\n', encoding="utf-8")
    code, _, errors = review()
    assert code == 2 and "pkadvisor.toml:2" in errors and "there is no such file" in errors


def test_a_suppression_without_a_reason_is_not_added(review: Ask, tmp_path: Path) -> None:
    for reason in ("", "  "):
        code, _, errors = review("--add-ignore", reason)
        assert code == 2 and "a reason is needed" in errors
    assert (tmp_path / DESIGN).read_text(encoding="utf-8") == TEXT


def test_one_design_of_a_project_with_a_profile_of_another_passes(ask: Ask, tmp_path: Path) -> None:
    schema = tmp_path / "schema"
    schema.mkdir()
    table = '    partition_key: "{tenant}"\n    row_key: "{id}"\n    properties: {tenant: string, id: string}\n'
    (schema / "orders.yaml").write_text(f"schema: 1\ntables:\n  Orders:\n{table}", encoding="utf-8")
    (schema / "devices.yaml").write_text(f"schema: 1\ntables:\n  Devices:\n{table}", encoding="utf-8")
    rows = "".join(f"t{i % 7},x{i}\n" for i in range(50))
    (tmp_path / "orders.csv").write_text("tenant,id\n" + rows, encoding="utf-8")
    made = ("orders.csv", "--design", "schema/orders.yaml", "--out", "schema/profile.json")
    assert ask("profile", *made)[0] == 0
    settings = 'designs = ["schema/*.yaml"]\nprofile = "schema/profile.json"\n'
    (tmp_path / "pkadvisor.toml").write_text(settings, encoding="utf-8")
    code, page, _ = ask("review", "schema/devices.yaml", "--select", "PK905")
    assert (code, "the profile does not cover Devices" in page, "1 info" in page) == (0, True, True)
    assert ask("review", "--select", "PK905")[0] == 0
    assert "no findings" in ask("review", "schema/orders.yaml", "--select", "PK905")[1]


def test_a_bundled_sample_is_reviewed_with_its_data(ask: Ask) -> None:
    code, page, _ = ask("review", "--sample", "documents", "--fail-on", "never")
    assert code == 0 and page.splitlines()[0].endswith("gate off")
    assert "need a profile" not in page, "the data of the sample is read"
    for words, says in (
        (("--sample", "documents", "--data", "x.csv"), "brings its own data"),
        (("--sample", "nothing"), "no bundled sample"),
    ):
        code, out, err = ask("review", *words)
        assert (code, out) == (2, "") and says in err


def test_details_show_the_line_of_the_design(review: Ask) -> None:
    first, whole = review("--fail-on", "never")[1], review("--fail-on", "never", "--details")[1]
    assert " --> " not in first and " --> " in whole
    assert first.splitlines()[-1] == whole.splitlines()[-1]

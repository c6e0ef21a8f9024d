"""What the README shows is what the tool prints."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from pkadvisor.cli.main import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_shown_page_is_the_printed_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page in the README is printed line by line."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["analyze", "--sample", "footrace"]) == 0
    printed = capsys.readouterr().out.splitlines()
    block = re.search(r"```text\n(CHANGE THE KEY .*?)```", README, re.DOTALL)
    assert block is not None
    assert block.group(1).splitlines() == printed


def test_the_stress_page_shown_is_the_one_that_is_kept() -> None:
    """Its pages are made and compared in tests/report/text/test_stress_page.py."""
    kept = iter((ROOT / "tests" / "report" / "golden" / "stress-footrace-100.txt").read_text("utf-8").splitlines())
    block = re.search(r"```text\n(Registrations, .*?)```", README, re.DOTALL)
    assert block is not None
    shown = [line for line in block.group(1).splitlines() if line and "[cut]" not in line]
    assert len(shown) > 10
    for line in shown:
        assert any(line == other for other in kept), f"not printed, or not here: {line!r}"


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        assert re.search(rf"^\|[^|]*{re.escape(name)}", README, re.MULTILINE), f"{name} is not in the table"


def test_the_examples_of_templates_are_what_they_give() -> None:
    from pkadvisor.design.keys.scheme import encode
    from pkadvisor.design.keys.template import parse_template
    from pkadvisor.table.edm import EdmType, parse_datetime_ticks

    types = {"bib": EdmType.INT32, "device": EdmType.STRING, "posted": EdmType.DATETIME}
    values = {"bib": 1544, "device": "dev-17", "posted": parse_datetime_ticks("2026-11-21T10:34:05.25Z")}
    rows = re.findall(r"^\| `(\{[^`]+\})` \| `([^`]+)`", README, re.MULTILINE)
    assert len(rows) >= 14
    for template, text in rows:
        assert encode(parse_template(template, known=types), values, types) == text, template  # type: ignore[arg-type]


def test_the_rule_and_the_settings_shown_are_ones_that_load(tmp_path: Path) -> None:
    from pkadvisor.cli.settings_file import read_settings
    from pkadvisor.review.rules.rule import load_rules

    settings, rule = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "index-rows.toml").write_text(rule, encoding="utf-8")
    (tmp_path / "pkadvisor.toml").write_text(settings, encoding="utf-8")
    loaded = load_rules([tmp_path / "own"])
    assert [r.name for r in loaded if r.id == "ACME001"] == ["too-many-index-rows"]
    found = read_settings(tmp_path / "pkadvisor.toml")
    assert [s.rule for s in found.suppress] == ["PK101"]
    found.check_rules(loaded)


def test_the_table_of_the_review_names_every_hundred_of_rules() -> None:
    from pkadvisor.review.rules.rule import load_rules

    shown = set(re.findall(r"^\| (PK\d)xx \|", README, re.MULTILINE))
    assert shown == {rule.id[:3] for rule in load_rules()}
    told = re.search(r"asks (\d+) rules", README)
    assert told is not None
    assert int(told[1]) == len(load_rules())


CODE = README[README.index("## The code\n") :]
PATH = r"(?:pkadvisor|tests|rules|samples|templates|\.ci)/[\w./-]*"


def test_every_path_that_the_section_about_the_code_names_is_there() -> None:
    paths = re.findall(rf"`({PATH})", CODE)
    assert len(paths) > 40
    assert [path for path in paths if not (ROOT / path.split("::")[0]).exists()] == []
    for folder, text in re.findall(r"^\| `(pkadvisor/\w+/)` \| (.*) \|$", CODE, re.MULTILINE):
        rooms = re.findall(r"`(\w+/)`", text)
        assert [room for room in rooms if not (ROOT / folder / room).is_dir()] == []


def test_every_name_that_the_section_about_the_code_names_is_in_its_module() -> None:
    added = CODE[CODE.index("Where to add:") : CODE.index("Tests mirror the package")]
    named = [
        (path, name)
        for path, names in re.findall(r"`(pkadvisor/[\w/]+\.py)`:\s+((?:`\w+`(?:,\s+|\s+\([^)]*\)\s+or\s+)?)+)", added)
        for name in re.findall(r"`(\w+)`", names)
    ]
    assert len(named) > 10
    for path, name in named:
        module = importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        assert hasattr(module, name), (path, name)


def test_every_room_is_in_the_section_about_the_code() -> None:
    rooms = {path.parent.relative_to(ROOT).as_posix() + "/" for path in (ROOT / "pkadvisor").glob("*/__init__.py")}
    assert rooms - {"pkadvisor/__pycache__/"} == set(re.findall(r"^\| `(pkadvisor/\w+/)` \|", CODE, re.MULTILINE))


def test_no_folder_of_the_package_holds_more_than_a_reader_can_look_over() -> None:
    folders: dict[Path, int] = {}
    for path in (ROOT / "pkadvisor").rglob("*.py"):
        folders[path.parent] = folders.get(path.parent, 0) + 1
    assert {folder.name: count for folder, count in folders.items() if count > 25} == {}

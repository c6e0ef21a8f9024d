"""What the README shows is what the tool prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pkadvisor.cli.main import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_shown_page_is_the_printed_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every line of the page in the README is printed, in this order; marked cuts leave lines out."""
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["analyze", "--sample", "footrace"]) == 0
    printed = iter(capsys.readouterr().out.splitlines())
    block = re.search(r"```text\n(  data .*?)```", README, re.DOTALL)
    assert block is not None
    shown = [line for line in block.group(1).splitlines() if line and "[cut:" not in line]
    assert len(shown) > 30
    for line in shown:
        assert any(line == other for other in printed), f"not printed, or not here: {line!r}"


def test_every_dependency_has_its_reason() -> None:
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for requirement in project["dependencies"]:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        assert re.search(rf"^\|[^|]*{re.escape(name)}", README, re.MULTILINE), f"{name} is not in the table"


def test_the_examples_of_templates_are_what_they_give() -> None:
    from pkadvisor.design.scheme import encode
    from pkadvisor.design.template import parse_template
    from pkadvisor.table.edm import EdmType, parse_datetime_ticks

    types = {"bib": EdmType.INT32, "device": EdmType.STRING, "posted": EdmType.DATETIME}
    values = {"bib": 1544, "device": "dev-17", "posted": parse_datetime_ticks("2026-11-21T10:34:05.25Z")}
    rows = re.findall(r"^\| `(\{[^`]+\})` \| `([^`]+)`", README, re.MULTILINE)
    assert len(rows) >= 14
    for template, text in rows:
        assert encode(parse_template(template, known=types), values, types) == text, template  # type: ignore[arg-type]

"""What README and the manual name, show and link to is there, and says what they say; they are short enough to read."""

from __future__ import annotations

import importlib
import io
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.manual import PAGES, title_and_summary
from pkadvisor.resources import resource
from tests.manual.pages import FILES, README, ROOT, block_of, blocks_of, prose_of, text_of

GOLDEN = ROOT / "tests" / "report" / "golden"
_OUTPUT = re.compile(
    r"<!-- output: (?P<file>[\w.-]+), (?P<count>\d+) lines(?: from '(?P<first>[^']+)')? -->\n"
    r"```text\n(?P<shown>.*?)```\n",
    re.DOTALL,
)
_LIST = re.compile(r"<!-- pages -->\n(?P<shown>.*?)<!-- /pages -->\n", re.DOTALL)


def test_every_page_is_listed_and_short() -> None:
    assert {path.stem for path in resource("manual").glob("*.md")} == set(PAGES)
    assert {name: len(text_of(name).splitlines()) for name in PAGES if len(text_of(name).splitlines()) > 150} == {}
    assert len(text_of("README").splitlines()) <= 250


@pytest.mark.parametrize("name", PAGES)
def test_a_page_begins_with_its_title_and_one_sentence(name: str) -> None:
    title, summary = title_and_summary(name)
    assert title
    assert re.fullmatch(r"[A-Z][^.\n]*\.", summary), summary
    assert len(summary) <= 64
    assert not [line for line in text_of(name).splitlines() if len(line) > 120 and not line.startswith(("|", "{"))]


def made(name: str) -> str:
    """A page with what it shows of pinned pages, and README with the list of pages, as they are now."""

    def output(found: re.Match[str]) -> str:
        lines = (GOLDEN / found["file"]).read_text(encoding="utf-8").splitlines(keepends=True)
        begin = next(i for i, line in enumerate(lines) if (found["first"] or "") in line)
        shown = lines[begin : begin + int(found["count"])]
        while shown and not shown[-1].strip():
            shown.pop()
        return found[0].replace(f"```text\n{found['shown']}", f"```text\n{''.join(shown)}")

    def pages(found: re.Match[str]) -> str:
        rows = [f"| [{page}](pkadvisor/manual/{page}.md) | {title_and_summary(page)[1]} |\n" for page in PAGES]
        return f"<!-- pages -->\n| page | what for |\n| --- | --- |\n{''.join(rows)}<!-- /pages -->\n"

    return _LIST.sub(pages, _OUTPUT.sub(output, text_of(name)))


@pytest.mark.parametrize("name", FILES)
def test_shown_output_is_that_of_the_pinned_pages(name: str) -> None:
    """PKADVISOR_GOLDEN=write writes it anew."""
    if os.environ.get("PKADVISOR_GOLDEN") == "write":
        FILES[name].write_text(made(name), encoding="utf-8")
    assert text_of(name) == made(name)


def test_readme_and_the_page_about_stress_show_output() -> None:
    shown = {name: [len(found["shown"].splitlines()) for found in _OUTPUT.finditer(text_of(name))] for name in FILES}
    assert {name for name, counts in shown.items() if counts} == {"README", "stress"}
    assert 10 <= sum(shown["README"]) <= 25
    assert _LIST.search(text_of("README"))
    marks = [mark for name in FILES for mark in re.findall(r"<!-- (?:output|pages)", text_of(name))]
    assert len(marks) == sum(map(len, shown.values())) + 1


# -- links, paths, names, options --------------------------------------------------------------------------------------


def anchors_of(path: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("name", FILES)
def test_every_link_leads_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose_of(name)):
        if target.startswith("https://"):
            continue
        path, _, anchor = target.partition("#")
        file = FILES[name].parent / path if path else FILES[name]
        assert file.is_file(), target
        assert not anchor or anchor in anchors_of(file), target


PATH = r"(?:pkadvisor|tests|rules|samples|templates|\.ci)/[\w./-]*"


@pytest.mark.parametrize("name", FILES)
def test_every_path_that_a_page_names_is_there(name: str) -> None:
    assert [path for path in re.findall(rf"`({PATH})", prose_of(name)) if not (ROOT / path).exists()] == []


def test_every_name_that_the_page_about_the_code_names_is_in_its_module() -> None:
    listed = re.findall(r"`(pkadvisor/[\w/]+\.py)`:\s+((?:`\w+`(?:,\s+|\s+\([^)]*\)\s+or\s+)?)+)", text_of("extending"))
    named = [(path, name) for path, names in listed for name in re.findall(r"`(\w+)`", names)]
    assert len(named) > 14
    for path, name in named:
        module = importlib.import_module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
        assert hasattr(module, name), (path, name)


def test_every_folder_of_the_package_is_on_the_page_about_the_code() -> None:
    text = text_of("extending")
    folders = {path.parent.relative_to(ROOT).as_posix() + "/" for path in (ROOT / "pkadvisor").glob("*/__init__.py")}
    assert folders == set(re.findall(r"^\| `(pkadvisor/\w+/)` \|", text, re.MULTILINE))
    for folder, about in re.findall(r"^\| `(pkadvisor/\w+/)` \| (.*) \|$", text, re.MULTILINE):
        inside = re.findall(r"`(\w+/)`", about)
        assert [name for name in inside if not (ROOT / folder / name).is_dir()] == []


def options_of(command: Any) -> Iterator[str]:
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for inner in getattr(command, "commands", {}).values():
        yield from options_of(inner)


def variables_of(command: Any) -> Iterator[str]:
    yield from (parameter.envvar for parameter in command.params if parameter.envvar)
    for inner in getattr(command, "commands", {}).values():
        yield from variables_of(inner)


TEST_OPTIONS = {"--seeds", "--first", "--seconds", "--law", "--keep", "--coverage", "--planted", "--kind"}
TEST_VARIABLES = {"PKADVISOR_LONG", "PKADVISOR_SHARED", "PKADVISOR_REQUIRE", "PKADVISOR_GOLDEN"}


def test_every_command_option_and_variable_that_a_page_names_exists() -> None:
    from typer.main import get_command

    from pkadvisor.cli.app import app

    root: Any = get_command(app)
    options, variables = {*options_of(root), "--help"}, set(variables_of(root))
    for name in FILES:
        ours = re.sub(r"`npm [^`]*`", "", re.sub(r"<!--.*?-->", "", text_of(name)))
        if name == "README":
            ours = ours[: ours.index("```sh")] + ours[ours.index("## Three stories") :]
        known = options | (TEST_OPTIONS if name == "testing" else set())
        assert set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", ours)) <= known, name
        assert set(re.findall(r"PKADVISOR_[A-Z_]+", ours)) - TEST_VARIABLES <= variables, name
        commands = set(re.findall(r"(?:`|^)advisor ([a-z]+)", ours, re.MULTILINE))
        assert commands <= set(root.commands), name


def test_every_option_and_every_key_of_a_design_file_is_explained() -> None:
    from typer.main import get_command

    from pkadvisor.cli.app import app
    from pkadvisor.observe.design_file.declaration import design_schema

    options = {option for option in options_of(get_command(app)) if option.startswith("--")}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", "".join(map(text_of, FILES))))
    assert options <= named
    keys = {key for model in design_schema()["$defs"].values() for key in model.get("properties", ())}
    assert len(keys) > 40
    explained = text_of("design-file") + text_of("workload")
    assert {key for key in keys if not re.search(rf"\b{key}\b", explained)} == set()


# -- what pages state --------------------------------------------------------------------------------------------------


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = chain.from_iterable(project["optional-dependencies"].values())
    for requirement in [*project["dependencies"], *extras]:
        name = re.split(r"[<>=\[ ]", requirement)[0]
        if name != "pkadvisor":
            assert re.search(rf"^\|[^|]*\b{re.escape(name)}\b", README.read_text("utf-8"), re.MULTILINE), name


def test_the_examples_of_templates_are_what_they_give() -> None:
    from pkadvisor.design.keys.scheme import encode
    from pkadvisor.design.keys.template import parse_template
    from pkadvisor.design.keys.transforms import TRANSFORMS
    from pkadvisor.table.edm import EdmType, parse_datetime_ticks

    types = {"bib": EdmType.INT32, "device": EdmType.STRING, "posted": EdmType.DATETIME}
    values = {"bib": 1544, "device": "dev-17", "posted": parse_datetime_ticks("2026-11-21T10:34:05.25Z")}
    rows = re.findall(r"^\| `(\{[^`]+\})` \| `([^`]+)` \|", text_of("key-templates"), re.MULTILINE)
    assert len(rows) >= 16
    for template, text in rows:
        assert encode(parse_template(template, known=types), values, types) == text, template  # type: ignore[arg-type]
    functions = set(re.findall(r"^\| `\{(\w+)\(", text_of("key-templates"), re.MULTILINE))
    assert set(TRANSFORMS) - functions <= {"concat"}


def test_the_python_shown_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pkadvisor.observe.logs.trace import claims

    code = block_of("key-templates", "python", "")
    exec(compile(code, "key-templates.md", "exec"), {})
    monkeypatch.chdir(tmp_path)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(compile(block_of("embedded-store", "python", "store"), "embedded-store.md", "exec"), {})
    assert re.fullmatch(r"2 \d+ \d+\n403 StoreIsReadOnly\n\d+ files copied\n", printed.getvalue())
    line = '10.0.0.1 - - [01/Nov/2026:12:00:00 +0000] "GET /orders/1042?customer=c07 HTTP/1.1" 200 512\n'
    script = [sys.executable, "-c", block_of("logs", "python", "script")]
    written = subprocess.run(script, input=line, capture_output=True, text=True, check=True).stdout
    assert written == """{"table": "Orders", "filter": "order_id eq '1042' and customer eq 'c07'"}\n"""
    assert claims(written.encode())
    assert all(claims(shown.encode()) for shown in block_of("logs", "json", "trace").splitlines())


def test_the_design_shown_is_one_that_is_read(tmp_path: Path) -> None:
    from pkadvisor.observe.design_file.read_declaration import load_declaration

    pair = block_of("workload", "yaml", "pair").partition("transactions:\n")[2]
    design = block_of("design-file", "yaml", "design").replace("    transactions:\n", f"    transactions:\n{pair}")
    design = design.replace("[book], pair: {from: account, to: account}", "[register], pair: {from: bib, to: bib}")
    path = tmp_path / "design.yaml"
    path.write_text(design + block_of("design-file", "yaml", "kinds"), encoding="utf-8")
    assert [table.name for table in load_declaration(path).tables] == ["Registrations", "Shop"]


def test_the_numbers_of_a_store_are_on_its_page() -> None:
    from pkadvisor.engine.partition.range_partition import Statistics

    rows = re.findall(r"^\| (`[^|]+) \|", text_of("embedded-store").partition("## Statistics")[2], re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(rows)) == list(Statistics.__struct_fields__)


def test_the_settings_rule_and_limits_shown_are_ones_that_load(tmp_path: Path) -> None:
    from pkadvisor.cli.settings_file import read_settings
    from pkadvisor.limits import load_limits
    from pkadvisor.review.rules.rule import load_rules

    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "index-rows.toml").write_text(block_of("review-ci", "toml", "rule"), encoding="utf-8")
    (tmp_path / "pkadvisor.toml").write_text(block_of("review-ci", "toml", "settings"), encoding="utf-8")
    (tmp_path / "account.toml").write_text(block_of("numbers", "toml", "limits"), encoding="utf-8")
    loaded = load_rules([tmp_path / "own"])
    assert [rule.name for rule in loaded if rule.id == "ACME001"] == ["too-many-index-rows"]
    found = read_settings(tmp_path / "pkadvisor.toml")
    assert [suppressed.rule for suppressed in found.suppress] == ["PK101"]
    found.check_rules(loaded)
    assert load_limits(str(tmp_path / "account.toml")).partition_entities_per_s == 1500


def test_the_numbers_are_those_of_the_bundled_limits() -> None:
    limits = tomllib.loads(resource("rules", "limits", "azure-table.toml").read_text(encoding="utf-8"))
    bundled = {
        (name, str(number["value"]), number["unit"], number["basis"])
        for name, number in limits.items()
        if isinstance(number, dict)
    }
    row = r"^\| `(\w+)` \| ([^|]+) \| ([^|]+) \| (\w+) \|"
    assert set(re.findall(row, text_of("numbers"), re.MULTILINE)) == bundled


def test_the_page_about_the_review_names_every_hundred_of_rules() -> None:
    from pkadvisor.review.rules.rule import load_rules

    rules = load_rules(cases=False)
    assert set(re.findall(r"^\| (PK\d)xx \|", text_of("review"), re.MULTILINE)) == {rule.id[:3] for rule in rules}
    assert re.findall(r"There are (\d+) rules", text_of("review")) == [str(len(rules))]
    ids = {found for name in FILES for found in re.findall(r"\bPK\d{3}\b", text_of(name))}
    assert ids <= {rule.id for rule in rules}


def test_the_verdicts_are_those_of_the_output() -> None:
    from pkadvisor.report.html.stress_sections import LEVELS
    from pkadvisor.report.summary.verdicts import HEADLINES

    for page, known in ("quick-start", HEADLINES), ("stress", LEVELS):
        named = re.findall(r"^\| ([A-Z, ]{5,}) \|", text_of(page), re.MULTILINE)
        assert sorted(named) == sorted(headline for headline, _ in known.values()), page


def test_every_format_of_the_review_is_on_its_page() -> None:
    from pkadvisor.cli.shared import ReviewFormat

    formats = text_of("review-ci").partition("## Output formats")[2].partition("## Settings")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", formats, re.MULTILINE)
    named = {word for row in rows for word in re.findall(r"`([\w-]+)`", row)}
    assert named == {name.replace("_", "-") for name in ReviewFormat.__members__}


def test_every_block_has_a_language_that_a_test_knows() -> None:
    assert {block.language for name in FILES for block in blocks_of(name)} == {
        "sh", "text", "yaml", "toml", "json", "python",
    }  # fmt: skip

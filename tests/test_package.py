"""The package as others receive it: what it declares, ships, promises and imports."""

from __future__ import annotations

import ast
import functools
import graphlib
import os
import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

import pkadvisor
from pkadvisor.resources import resource

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "pkadvisor").rglob("*.py"))
# The dependency that brings a module, where it is not called like the module.
DISTRIBUTIONS = {
    "ruamel": "ruamel.yaml",
    "pydantic_core": "pydantic",
    "cel_expr_python": "cel-expr-python",
    "google_crc32c": "google-crc32c",
    "markupsafe": "jinja2",
    "azure": "azure-data-tables",
    "requests": "azure-data-tables",
}
EXTRAS = ("fast", "real")
"""Extras that bring what the package itself imports, inside of functions."""


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


@functools.cache
def nodes_of(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of a file of the package, for every test that looks at them."""
    return tuple(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported_modules(path: Path) -> set[str]:
    names: set[str] = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


def test_the_command_is_installed_under_its_name() -> None:
    (command,) = entry_points(group="console_scripts", name="advisor")
    assert command.value == "pkadvisor.cli.main:run"
    assert re.fullmatch(r"\d+\.\d+\.\d+", pkadvisor.__version__)


def test_what_is_imported_is_declared(project: dict[str, Any]) -> None:
    extras = project["project"]["optional-dependencies"]
    texts = [*project["project"]["dependencies"], *(text for name in EXTRAS for text in extras[name])]
    declared = {re.split(r"[<>=!~ ]", text)[0] for text in texts}
    used = set().union(*map(imported_modules, SOURCES)) - set(sys.stdlib_module_names) - {"pkadvisor"}
    assert {DISTRIBUTIONS.get(name, name) for name in used} <= declared


def test_every_resource_folder_of_the_checkout_is_shipped(project: dict[str, Any]) -> None:
    shipped = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    for folder in ("rules", "templates", "samples"):
        filled = any(path.is_file() for path in (ROOT / folder).rglob("*"))
        assert filled == (folder in shipped), folder
        assert shipped.get(folder, f"pkadvisor/_data/{folder}") == f"pkadvisor/_data/{folder}"
    assert shipped.keys() <= {"rules", "templates", "samples"}  # the manual lies in the package
    assert resource("rules", "limits").is_dir()
    assert resource("samples", "footrace", "sample.toml").is_file()


def test_every_room_stands_on_a_floor(project: dict[str, Any]) -> None:
    contracts = project["tool"]["importlinter"]["contracts"]
    (floors,) = (c for c in contracts if c["type"] == "layers" and "containers" not in c)
    listed = {room.strip() for layer in floors["layers"] for room in re.split(r"[|:]", layer)}
    rooms = {path.stem for path in (ROOT / "pkadvisor").glob("*.py")} - {"__init__", "__main__"}
    rooms |= {path.parent.name for path in (ROOT / "pkadvisor").glob("*/__init__.py")}
    assert {f"pkadvisor.{room}" for room in rooms} <= listed


@pytest.mark.parametrize("name", ["main", "test"])
def test_the_readme_says_each_command_once_between_markers(name: str) -> None:
    text = (ROOT / "README.md").read_text()
    (block,) = re.findall(rf"<!-- command:{name} -->\n(.*?)<!-- /command:{name} -->", text, re.DOTALL)
    lines = [line for line in block.splitlines() if line.strip() and not line.startswith("```")]
    assert len(lines) == 1
    assert lines[0].startswith("python3 -m venv .venv && .venv/bin/pip install")


def test_checks_run_as_they_are_checked_out() -> None:
    for name in ("run", "full"):
        script = ROOT / ".ci" / name
        assert os.access(script, os.X_OK)
        subprocess.run(["bash", "-n", script], check=True)


def test_constraints_are_exact_and_name_no_place() -> None:
    lines = (ROOT / ".ci" / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", pin) for pin in pins)
    assert {"ruff", "mypy", "import-linter"} <= {pin.partition("==")[0] for pin in pins}


def test_one_version_of_azurite_is_installed_and_advised() -> None:
    """What the tests know of Azurite holds for one version of it."""
    (installed,) = re.findall(r"^azurite=(.+)$", (ROOT / ".ci" / "prepare").read_text(), re.MULTILINE)
    for page in (resource("manual", "testing.md"), ROOT / "tests" / "conftest.py"):
        assert re.findall(r"azurite@([0-9.]+)", page.read_text()) == [installed], page


def test_a_test_without_its_tool_skips_and_fails_where_the_tool_is_required(tmp_path: Path) -> None:
    """The marker ``requires``, tried on a tool that exists nowhere."""
    (tmp_path / "conftest.py").write_text(
        (ROOT / "tests" / "conftest.py").read_text() + "\nTOOLS['unobtainable'] = ('no-such-program-anywhere',)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = requires(name)\n")
    (tmp_path / "test_it.py").write_text(
        "import pytest\n\n@pytest.mark.requires('unobtainable')\ndef test_it():\n    pass\n"
    )

    def outcome(require: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", str(tmp_path)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PKADVISOR_REQUIRE": require},
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    code, text = outcome("")
    assert code == 0
    assert "1 skipped" in text
    assert "needs unobtainable: none of no-such-program-anywhere is installed" in text
    code, text = outcome("node,unobtainable")
    assert code == 1
    assert "PKADVISOR_REQUIRE asks for it" in text
    code, text = outcome("chromiun")
    assert code not in (0, 1)
    assert "chromiun" in text


def imports_of(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """The modules of the package that a file imports, at whatever place, types included."""
    found = set[str]()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules.keys()) | ({node.module} if names - modules.keys() else set())
    return (found & modules.keys()) - {name}


def test_no_two_files_import_one_another() -> None:
    modules = {}
    for path in (ROOT / "pkadvisor").rglob("*.py"):
        parts = path.relative_to(ROOT).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    graph = {name: imports_of(name, path, modules) for name, path in modules.items()}
    assert sum(map(len, graph.values())) > 2000
    graphlib.TopologicalSorter(graph).prepare()  # CycleError names the files
    with pytest.raises(graphlib.CycleError):
        graphlib.TopologicalSorter({**graph, "pkadvisor.errors": {"pkadvisor.cli.main"}}).prepare()


def _classes_of_parts() -> set[str]:
    from pkadvisor.design.keys import transforms

    exported = {name: getattr(transforms, name) for name in transforms.__all__}
    return {name for name, thing in exported.items() if isinstance(thing, type) and issubclass(thing, transforms.Part)}


def questions_of_class(nodes: Sequence[ast.AST]) -> list[int]:
    """The lines that ask whether something is of the class of a key part: isinstance, a class pattern, type() is."""
    mine = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pkadvisor.design.keys.transforms")
        for alias in node.names
        if alias.name in _classes_of_parts()
    }
    if not mine:
        return []

    def names(node: ast.AST) -> bool:
        return any(isinstance(inner, ast.Name) and inner.id in mine for inner in ast.walk(node))

    lines = []
    for node in nodes:
        asks = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "type")
        if isinstance(node, ast.Call) and asks and any(names(argument) for argument in node.args[1:]):
            lines.append(node.lineno)
        if isinstance(node, ast.MatchClass) and names(node.cls):
            lines.append(node.lineno)
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            lines += [node.lineno] if any(names(side) for side in node.comparators) else []
    return lines


def test_key_parts_answer_for_themselves() -> None:
    keys = ROOT / "pkadvisor" / "design" / "keys"
    asking = {str(path): questions_of_class(nodes_of(path)) for path in SOURCES if not path.is_relative_to(keys)}
    assert {path: lines for path, lines in asking.items() if lines} == {}


@pytest.mark.parametrize(
    "question",
    [
        "isinstance(part, Pad)",
        "isinstance(part, int | Pad)",
        "isinstance(part, (Pad, int))",
        "type(part) is Pad",
        "match part:\n    case Pad():\n        pass",
    ],
)
def test_a_question_for_the_class_of_a_part_is_seen(question: str) -> None:
    def lines(source: str) -> list[int]:
        return questions_of_class(list(ast.walk(ast.parse(source))))

    assert lines(f"from pkadvisor.design.keys.transforms import Pad\n{question}\n")
    assert lines(f"from pkadvisor.design.keys.transforms import Pad as P\n{question.replace('Pad', 'P')}\n")
    assert not lines("from pkadvisor.design.keys.transforms import Pad\nPad('n', 5)\n")


def test_no_folder_of_the_package_holds_more_than_a_reader_can_look_over() -> None:
    folders = Counter(path.parent for path in SOURCES)
    assert {folder.name: count for folder, count in folders.items() if count > 25} == {}


FILE_LINES_MAX, FUNCTION_LINES_MAX = 450, 60
LONG_FUNCTIONS = {"stress/simulate/fluid_numpy.py:_walk": 67, "stress/simulate/fluid_pass.py:sequential": 100}
"""Functions that are longer still, with their lines; each may only become shorter, and leaves when it is. These two are
the inner loops of stress runs, where a call for each attempt is what a run takes longest for."""


def function_lines(nodes: Iterable[ast.AST]) -> dict[str, int]:
    """The lines of each function of a file, decorators left out; of those of one name the longest."""
    out = Counter[str]()
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            out[node.name] = max(out[node.name], (node.end_lineno or node.lineno) - node.lineno + 1)
    return dict(out)


def test_no_file_and_no_function_is_longer_than_a_reader_takes_in() -> None:
    paths = {str(path.relative_to(ROOT / "pkadvisor")): path for path in SOURCES}
    everything = [*SOURCES, *(ROOT / "tests").rglob("*.py")]
    files = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in everything}
    functions = {
        f"{name}:{function}": lines
        for name, path in paths.items()
        for function, lines in function_lines(nodes_of(path)).items()
    }
    assert {name: lines for name, lines in files.items() if lines > FILE_LINES_MAX} == {}
    longer = {name: lines for name, lines in functions.items() if lines > FUNCTION_LINES_MAX}
    assert longer.keys() == LONG_FUNCTIONS.keys()
    assert {name: lines for name, lines in longer.items() if lines > LONG_FUNCTIONS[name]} == {}


def test_the_lines_of_a_function_are_counted_from_its_name_to_its_end() -> None:
    source = "@cache\ndef f():\n    x = 1\n\n    async def g():\n        pass\n    return x\n"
    assert function_lines(ast.walk(ast.parse(source))) == {"f": 6, "g": 2}


def test_the_name_of_a_class_stands_for_one_thing() -> None:
    names = Counter(node.name for path in SOURCES for node in nodes_of(path) if isinstance(node, ast.ClassDef))
    assert {name for name, count in names.items() if count > 1} == set()


STRING_SUBSCRIPTS_MAX = 199
"""Places that read a mapping or a frame by a name in quotes; the number may only become smaller."""


def test_values_have_types_and_not_names_in_quotes() -> None:
    written = Counter(
        str(path.relative_to(ROOT))
        for path in SOURCES
        for node in nodes_of(path)
        if isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Constant)
        and isinstance(node.slice.value, str)
        and not (isinstance(node.value, ast.Name) and node.value.id == "Literal")
    )
    assert written.total() <= STRING_SUBSCRIPTS_MAX, written.most_common(10)


def test_a_shown_number_of_few_digits_is_written_by_the_helpers_that_know_no_exponent() -> None:
    """``f"{98_500:.3g}"`` is 9.85e+04. Values of six digits, and those that are read back as numbers, may stay."""
    few = re.compile(r"(?<!float\(f')(?<!float\(f\")\{[^{}]*:,?\.[1-4]g\}")
    guarded = {"numbers.py", "scales.py", "explanation.py", "scheme_page.py", "score_page.py", "front_windows.py"}
    guarded |= {"findings.py", "evaluate.py", "text.py", "workload.py", "reads.py"}
    files = sorted((ROOT / "pkadvisor").rglob("*.py"))
    assert [path.name for path in files if path.name not in guarded and few.search(path.read_text())] == []

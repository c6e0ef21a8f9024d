"""``advisor init``: a repository that is reviewed from now on."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from pkadvisor.cli.commands import starters
from pkadvisor.cli.configuration import NAME
from pkadvisor.cli.console import say, write_text
from pkadvisor.cli.output import write_whole
from pkadvisor.cli.shared import Format, Shared, examples, option, unfold
from pkadvisor.errors import UsageError

EPILOG = examples(
    "advisor init shop --ci github --pre-commit",
    "advisor samples write footrace race",
    "advisor init races --from race/registrations.csv",
)
PRE_COMMIT = ".pre-commit-config.yaml"
EXAMPLE = "schema/devices.yaml"
SAMPLE_ROWS = 10_000


class Ci(StrEnum):
    github = "github"
    azure = "azure"
    none = "none"


@unfold
def init(
    folder: Annotated[
        str, typer.Argument(metavar="[DIR]", help="The root of the repository; created if missing.", show_default=False)
    ] = ".",
    *,
    source: Annotated[
        str | None, option("--from", metavar="DATA", help="A data file: begin the design with its properties.")
    ] = None,
    ci: Annotated[Ci, option("--ci", help="Write a pipeline as well.", show_default=True)] = Ci.none,
    pre_commit: Annotated[bool, option("--pre-commit", help="Write a pre-commit hook as well.")] = False,
    force: Annotated[bool, option("--force", help="Overwrite files that exist.")] = False,
    no_input: Annotated[bool, option("--no-input", help="Ask nothing; nothing is asked so far.")] = False,
    shared: Shared,
) -> None:
    """Write settings, a first design, and what runs 'advisor review' on every change.

    Files that exist are kept unless --force is given; a .pre-commit-config.yaml always is, for it holds other hooks.
    Run again, it changes nothing.
    """
    root = Path(folder)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file", where="DIR", fix="name a folder")
    files = planned(root, source, ci, pre_commit=pre_commit)
    blocked = next((p for name in files for p in _above(root, name) if p.exists() and not p.is_dir()), None)
    if blocked is not None:
        raise UsageError(f"{blocked} is a file", where="DIR", fix="a folder of this name is needed")
    taken = next((root / name for name in files if (root / name).is_dir()), None)
    if taken is not None:
        raise UsageError(f"{taken} is a folder", where="DIR", fix="a file of this name is needed")
    wrote: list[Path] = []
    kept: list[tuple[Path, bool]] = []
    for name, text in files.items():
        path = root / name
        if path.exists() and (not force or name == PRE_COMMIT):
            kept.append((path, path.read_bytes() == text.encode()))
            continue
        write_whole(path, text.encode())
        wrote.append(path)
    _tell(root, wrote, kept, source, shared)


def planned(root: Path, source: str | None, ci: Ci, *, pre_commit: bool) -> dict[str, str]:
    """The files, by their paths below the root, with their texts."""
    others = [path for pattern in ("*.yaml", "*.yml") for path in (root / "schema").glob(pattern)]
    files = {NAME: starters.SETTINGS}
    if source is not None:
        name, text = _from_data(source)
        files[f"schema/{name}.yaml"] = text
    elif not others or others == [root / EXAMPLE]:  # an example beside real designs would only be in the way
        files[EXAMPLE] = starters.DESIGN
    if ci is not Ci.none:
        name, text = starters.CI_FILES[ci]
        files[name] = text
    if pre_commit:
        files[PRE_COMMIT] = starters.PRE_COMMIT
    return files


def _from_data(source: str) -> tuple[str, str]:
    """(name, design) for a data file."""
    from pkadvisor.cli.inputs import STDIN, check_files, path_text
    from pkadvisor.inputs import profiled_data
    from pkadvisor.observe.design_file.declaration import skeleton

    if source == STDIN:
        raise UsageError("standard input has no name for a table", where="--from", fix="name a file")
    check_files((path_text(source), "--from"))
    profiled, _ = profiled_data((source,), None, sample_rows=SAMPLE_ROWS)[0]
    stem = Path(path_text(source)).name.split(".")[0]
    columns = [(p.column.name, p.column.edm) for p in profiled.properties]
    name = re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-") or "table"
    words = re.findall(r"[A-Za-z0-9]+", stem)
    table = "".join(word[:1].upper() + word[1:] for word in words) or "Table"
    return name, starters.started(skeleton(columns, table))


def _above(root: Path, name: str) -> list[Path]:
    return [root / parent for parent in list(Path(name).parents)[:-1]]


def _tell(root: Path, wrote: list[Path], kept: list[tuple[Path, bool]], source: str | None, shared: Shared) -> None:
    if shared.format is Format.json:
        lists = {"wrote": [p.as_posix() for p in wrote], "kept": [p.as_posix() for p, _ in kept]}
        write_text(json.dumps({"schema_version": 1, **lists}, indent=2))
    if shared.quiet:
        return
    for path in wrote:
        say(f"wrote {path}", color=shared.color)
    for path, same in kept:
        if same:
            say(f"kept {path}", color=shared.color)
            continue
        if path.name == PRE_COMMIT:
            if "pkadvisor" not in path.read_text(encoding="utf-8", errors="replace"):
                say(f"kept {path}; add this below its repos:", color=shared.color)
                for line in starters.PRE_COMMIT_HOOK.splitlines():
                    say(line, color=shared.color)
                continue
            say(f"kept {path}", color=shared.color)
            continue
        say(f"kept {path}; --force overwrites it", color=shared.color)
    go = "" if root == Path() else f"cd {root}, then "
    if source is not None:
        say(f"next: fill in the rates, then: advisor analyze {source} --design DESIGN", color=shared.color)
    say(f"next: {go}advisor review", color=shared.color)

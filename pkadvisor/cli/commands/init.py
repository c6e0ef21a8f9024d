"""``advisor init``: a repository that is reviewed from now on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from pkadvisor.cli.console import say, write_text
from pkadvisor.cli.inputs import STDIN, check_files, path_text
from pkadvisor.cli.output import write_whole
from pkadvisor.cli.shared import Format, Shared, examples, option, unfold
from pkadvisor.errors import UsageError
from pkadvisor.usecases.init import PRE_COMMIT_FILE, PRE_COMMIT_HOOK, Ci, planned

EPILOG = examples(
    "advisor init shop --ci github --pre-commit",
    "advisor samples write footrace race",
    "advisor init races --from race/registrations.csv",
)


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
    if source == STDIN:
        raise UsageError("standard input has no name for a table", where="--from", fix="name a file")
    if source is not None:
        check_files((path_text(source), "--from"))
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
        if path.exists() and (not force or name == PRE_COMMIT_FILE):
            kept.append((path, path.read_bytes() == text.encode()))
            continue
        write_whole(path, text.encode())
        wrote.append(path)
    _tell(root, wrote, kept, source, shared)


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
        if path.name == PRE_COMMIT_FILE:
            if "pkadvisor" not in path.read_text(encoding="utf-8", errors="replace"):
                say(f"kept {path}; add this below its repos:", color=shared.color)
                for line in PRE_COMMIT_HOOK.splitlines():
                    say(line, color=shared.color)
                continue
            say(f"kept {path}", color=shared.color)
            continue
        say(f"kept {path}; --force overwrites it", color=shared.color)
    go = "" if root == Path() else f"cd {root}, then "
    if source is not None:
        say(f"next: fill in the rates, then: advisor analyze {source} --design DESIGN", color=shared.color)
    say(f"next: {go}advisor review", color=shared.color)

"""``advisor init``: a repository that is reviewed from now on."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import typer

from pkadvisor.cli.commands.analyze import listen, parse_fraction, parse_share
from pkadvisor.cli.console import is_terminal, say, write_text
from pkadvisor.cli.inputs import STDIN, check_inputs, path_text
from pkadvisor.cli.output import write_whole
from pkadvisor.cli.shared import Format, Shared, argument, option, unfold
from pkadvisor.errors import UsageError
from pkadvisor.usecases.init import DESIGN_FILE, PRE_COMMIT_FILE, Given, planned
from pkadvisor.usecases.pipelines import Ci, Install, hook_text, install_from, own_source
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Drafting:
    """The files that a design is inferred from."""

    source: list[str] | None = option(
        "Data files to infer the design from. Several may follow.", metavar="DATA...", names="--from"
    )
    log: list[str] | None = option(
        "Query logs or folders of them; several may follow, a glob may stand in quotes: 'logs/**/*.log'.",
        metavar="LOG...",
    )
    account: str | None = option("Read only this storage account of the logs.", metavar="NAME")
    log_fraction: str = option("Share of the requests that the logs hold.", "100%", metavar="SHARE")
    max_bad_lines: str = option(
        "Stop above this share of unreadable lines, rows or log files.", "1%", metavar="SHARE", env=True
    )


@unfold
def init(
    folder: str = argument("The root of the repository; created if missing.", "[DIR]", "."),
    *,
    drafting: Drafting,
    ci: Ci = option("Write a pipeline as well.", Ci.none),
    pre_commit: bool = option("Write a pre-commit hook as well.", False),
    install: str | None = option(
        "Where pipelines and hook install pkadvisor from: a repository, a wheel, a version.", metavar="SOURCE"
    ),
    force: bool = option("Overwrite files that exist.", False),
    yes: bool = option("Ask no question: use the defaults.", False, names="--yes --no-input"),
    shared: Shared,
) -> None:
    """Write settings, a design, and what runs 'advisor review' on every change.

    With --from or --log the design is what these files tell: types, keys, requests and rates, each line with where it
    comes from. 'advisor analyze' without arguments then uses it. On a terminal it asks for what no file tells.

    Pipelines and hook install pkadvisor from --install: git+https://HOST/OWNER/pkadvisor@REF, a wheel in the
    repository, or pkadvisor==VERSION of an index. Without it they take it from where this one came, if others can.

    Files that exist are kept unless --force is given; a .pre-commit-config.yaml always is, for it holds other hooks.
    Run again, it changes nothing.

    Examples:
        advisor init shop --ci github --pre-commit --install git+https://example.org/tools/pkadvisor
        advisor samples write microblog blog
        advisor init posts --from blog/blogs.csv --yes
        advisor init blogs --from blog/blogs.csv --log blog/table-000000.log.gz --yes
    """
    root = Path(folder)
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is a file", where="DIR", fix="name a folder")
    sources, logs, share = drafting.source or [], drafting.log or [], parse_share(drafting.max_bad_lines)
    if STDIN in sources:
        raise UsageError("standard input has no name for a table", where="--from", fix="name a file")
    check_inputs(*((path_text(text), "--from") for text in sources), *((text, "--log") for text in logs))
    source_of_tool = None
    if install is not None or ci is not Ci.none or pre_commit:
        source_of_tool = own_source() if install is None else install_from(install, root)
    ask = None if yes or not (is_terminal(sys.stdin) and is_terminal(sys.stderr)) else _ask
    with listen(shared) as progress:
        given = Given(tuple(sources), tuple(logs), drafting.account, share, parse_fraction(drafting.log_fraction))
        files = planned(root, given, ci, pre_commit=pre_commit, install=source_of_tool, progress=progress, ask=ask)
    wrote, existing = _write(root, files, force=force)
    _report(root, wrote, existing, drafted=bool(sources or logs), install=source_of_tool, shared=shared)


def _ask(question: str, default: str) -> str:
    """A question on the terminal; an empty line takes the default."""
    return str(typer.prompt(question, default=default, err=True))


def _write(root: Path, files: dict[str, str], *, force: bool) -> tuple[list[Path], list[tuple[Path, bool]]]:
    """Write the files that are not there yet, or all with ``force``.

    Returns those written, and those that stay, each with whether it says the same already.
    """
    folders = (root / parent for name in files for parent in list(Path(name).parents)[:-1])
    blocked = next((folder for folder in folders if folder.exists() and not folder.is_dir()), None)
    if blocked is not None:
        raise UsageError(f"{blocked} is a file", where="DIR", fix="a folder of this name is needed")
    taken = next((root / name for name in files if (root / name).is_dir()), None)
    if taken is not None:
        raise UsageError(f"{taken} is a folder", where="DIR", fix="a file of this name is needed")
    wrote: list[Path] = []
    existing: list[tuple[Path, bool]] = []
    for name, text in files.items():
        path = root / name
        if path.exists() and (not force or name == PRE_COMMIT_FILE):
            existing.append((path, path.read_bytes() == text.encode()))
            continue
        write_whole(path, text.encode())
        wrote.append(path)
    return wrote, existing


def _report(
    root: Path,
    wrote: list[Path],
    existing: list[tuple[Path, bool]],
    *,
    drafted: bool,
    install: Install | None,
    shared: Shared,
) -> None:
    if shared.format is Format.json:
        lists = {"wrote": [p.as_posix() for p in wrote], "kept": [p.as_posix() for p, _ in existing]}
        write_text(json.dumps({"schema_version": 1, **lists}, indent=2))
    if shared.quiet:
        return
    for path in wrote:
        say(f"wrote {path}", color=shared.color)
    for path, same in existing:
        if same:
            say(f"kept {path}", color=shared.color)
        elif path.name != PRE_COMMIT_FILE:
            say(f"kept {path}; --force overwrites it", color=shared.color)
        elif install is None or "pkadvisor" in path.read_text(encoding="utf-8", errors="replace"):
            say(f"kept {path}", color=shared.color)
        else:
            for line in (f"kept {path}; add this below its repos:", *hook_text(install).splitlines()):
                say(line, color=shared.color)
    go = "" if root == Path() else f"cd {shlex.quote(str(root))} && "
    if drafted:
        say(
            f"next: {go}advisor analyze   # {root / DESIGN_FILE} says what is assumed: correct it first",
            color=shared.color,
        )
        return
    say(f"next: {go}advisor review", color=shared.color)

"""Running ``advisor`` on the files of a world, in this process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.worlds.files import data_arguments, write
from tests.worlds.model import IndexRow, Scheme, World

Document = dict[str, Any]


_results: dict[str, Document] = {}
"""The last results, by what was read for them: several laws, and folders of one world, ask for the same."""
RESULTS_KEPT = 16


def forget_results() -> None:
    """Before and after a change of the package: a result is that of the package as it was, and so is a key read."""
    from pkadvisor.design.rows.logged import requests

    _results.clear()
    requests._reader_of.cache_clear()


def request(world: World, folder: Path, **more: Any) -> AnalyzeRequest:
    """What the command line asks for with the files of a world."""
    candidates = folder / "candidates.yaml"
    given = {
        "data": data_arguments(world, folder),
        "design": str(folder / "design.yaml"),
        "candidates": str(candidates) if any(k.schemes for k in world.kinds) else None,
    }
    return AnalyzeRequest(**{**given, **more})


def analyzed(world: World, folder: Path, **more: Any) -> Document:
    """The result of ``advisor analyze`` on a world, whose files are written into a folder."""
    from tests.plain import analyze

    return _result("analyze", lambda asked: analyze(asked, SilentProgress()), world, folder, **more)


def ranked(world: World, folder: Path, *, search: bool = True, **more: Any) -> Document:
    """As ``analyzed``, without what would turn the ranking: no law reads that, it takes an eighth of an analysis, and
    the world itself and its log are analysed with it. Without ``search`` the schemes of the world are ranked alone."""
    from pkadvisor.design.choice import search as candidates
    from pkadvisor.usecases import analyze as use_case
    from tests.plain import analyze

    def run(asked: AnalyzeRequest) -> Document:
        with ExitStack() as patched:
            patched.enter_context(patch.object(use_case, "with_turning", lambda judged: judged))
            if not search:
                patched.enter_context(patch.object(candidates, "main_keys", lambda ground: []))
                patched.enter_context(patch.object(candidates, "worth_extending", lambda mains, ground: []))
            return analyze(asked, SilentProgress())

    return _result("rank", run, world, folder, **more)


def scored(world: World, folder: Path) -> dict[str | None, list[Document]]:
    """For each kind the schemes of a world as ``advisor score`` prints them, or the keys in use where there are none:
    priced as in an analysis, without its search."""
    from tests.plain import score

    document = _result("score", lambda asked: score(asked, (), SilentProgress()), world, folder)
    return {table["kind"]: [card["scheme"] for card in table["schemes"]] for table in document["tables"]}


def _result(
    command: str, run: Callable[[AnalyzeRequest], Document], world: World, folder: Path, **more: Any
) -> Document:
    write(world, folder)
    asked = request(world, folder, **more)
    known = command + _read_for(asked, folder)
    if known not in _results:
        while len(_results) >= RESULTS_KEPT:
            del _results[next(iter(_results))]
        _results[known] = run(asked)
    return _results[known]


def _read_for(asked: AnalyzeRequest, folder: Path) -> str:
    """A digest of all that an analysis reads: what is asked for, every file of the folder, and the logs."""
    digest = sha256(repr(asked).replace(str(folder), "").encode())
    for path in sorted({*(p for p in folder.rglob("*") if p.is_file()), *map(Path, asked.logs)}):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}".encode() + content)
    return digest.hexdigest()


def scheme_of(printed: Document) -> Scheme:
    """A printed scheme."""
    rows = tuple(
        IndexRow(
            None if r["partition_key"] == printed["partition_key"] else r["partition_key"], r["row_key"], r["copy"]
        )
        for r in printed["index_rows"]
    )
    return Scheme(printed["partition_key"], printed["row_key"], rows)


def schemes_of(table: Document) -> list[Document]:
    """Every scheme that a result prints for a table, each once."""
    found = [table["recommended"], table["current"], *table["alternatives"]]
    return list({scheme_of(s).text: s for s in found if s is not None}.values())

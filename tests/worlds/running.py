"""Running ``advisor`` on the files of a world, in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.worlds.files import data_arguments, write
from tests.worlds.model import IndexRow, Scheme, World

Document = dict[str, Any]


_LAST: list[tuple[World, Document]] = []
"""The last world and its result: several laws begin with it."""


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
    from pkadvisor.usecases.analyze import analyze

    write(world, folder)
    if not more and _LAST and _LAST[0][0] is world:
        return _LAST[0][1]
    document = analyze(request(world, folder, **more), SilentProgress())
    if not more:
        _LAST[:] = [(world, document)]
    return document


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

"""Damage of one file of a store, whatever its kind: three replicas serve all, one serves all or refuses in words."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from pkadvisor.engine.open_store import open_directory
from pkadvisor.engine.options import SECOND
from pkadvisor.engine.worlds.world import EngineError
from pkadvisor.table.store import CreateTable, Delete, EntityKey, InsertOrReplace, Query
from tests.engine.machine.killed import SMALL, TABLE, entity, text_of
from tests.tiers import sizes

ROWS = 150


def _flip(path: Path, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def _tear(path: Path, chance: Random) -> None:
    os.truncate(path, chance.randrange(path.stat().st_size))


def _blank(path: Path, chance: Random) -> None:
    data = bytearray(path.read_bytes())
    start = chance.randrange(len(data))
    data[start : start + 4096] = bytes(len(data[start : start + 4096]))
    path.write_bytes(data)


def _lengthen(path: Path, chance: Random) -> None:
    with path.open("ab") as file:
        file.write(chance.randbytes(chance.randrange(1, 5000)))


DAMAGES: list[Callable[[Path, Random], None]] = sizes([_flip, _tear], [_flip, _tear, _blank, _lengthen])
ROOT = ("format", "lock")
"""Files of the directory itself, of which there is one whatever the replicas; a bit of them may turn."""


def _kind(path: Path) -> str:
    return "journal" if path.parent.name == "journal" else path.suffix if path.suffix == ".extent" else path.name


@pytest.fixture(scope="module", params=sizes([3], [1, 3], "simulation"))
def store_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[int, Path]:
    """A closed store with rows in memory, in its log and in checkpoints."""
    folder = tmp_path_factory.mktemp("store") / "store"
    with open_directory(folder, replicas=request.param, durability="written", options=SMALL) as store:
        assert store.execute(CreateTable(TABLE)).ok
        for row in range(ROWS):
            assert store.execute(InsertOrReplace(TABLE, entity(f"p{row % 7}", f"{row:04}", row))).ok
            if row % 5 == 4:
                assert store.execute(Delete(TABLE, EntityKey(f"p{(row - 3) % 7}", f"{row - 3:04}"))).ok
    return request.param, folder


KEPT = {(f"p{row % 7}", f"{row:04}"): row for row in range(ROWS) if row % 5 != 1}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("seed", sizes([0], range(8), "simulation"))
def test_damage_of_any_one_file_is_mended_or_refused(
    damage: Callable[[Path, Random], None],
    seed: int,
    store_of: tuple[int, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pkadvisor.engine.open_store.START_NS", 5 * SECOND)
    replicas, source = store_of
    chance = Random(f"{damage.__name__} {seed}")
    kinds: dict[str, list[Path]] = {}
    for path in sorted(source.rglob("*")):
        if path.is_file() and path.stat().st_size:
            kinds.setdefault(_kind(path), []).append(path)
    for kind, paths in kinds.items():
        copy = tmp_path / kind
        shutil.copytree(source, copy)
        damage(copy / chance.choice(paths).relative_to(source), chance)
        try:
            with open_directory(copy, durability="written", options=SMALL) as store:
                token, found = "", {}
                while True:
                    page = store.execute(Query(TABLE, continuation=token))
                    if not page.ok:
                        assert replicas == 1 and page.status in (500, 503), (kind, page)
                        break
                    for each in page.entities:
                        value = each.properties["v"].value
                        assert each.properties["t"].value == text_of(value)  # type: ignore[arg-type]
                        found[each.key.partition_key, each.key.row_key] = value
                    token = page.continuation
                    if not token:
                        ends_early = (replicas, kind, damage) == (1, "journal", _tear)  # as a crash leaves it
                        assert found == KEPT or ends_early, kind
                        break
        except EngineError as error:
            one_of_a_kind = replicas == 1 or (kind in ROOT and damage is not _flip)
            assert one_of_a_kind, (kind, error)
            assert str(error)
        shutil.rmtree(copy)

"""Drawn worlds under every law: a handful of fixed seeds in the short form, more in the long form of part
``worlds``."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.design.keys.transforms import FUNCTIONS
from tests.tiers import sizes
from tests.worlds.coverage import declared_features, features
from tests.worlds.draw.enlarge import enlarged
from tests.worlds.draw.world import draw_world
from tests.worlds.files import design, write
from tests.worlds.known import KNOWN, known
from tests.worlds.law import changes, evidence, harmless, large, logs
from tests.worlds.laws import LAWS, judge
from tests.worlds.mistakes import wrapped
from tests.worlds.model import Kind, Scheme
from tests.worlds.names import named_template
from tests.worlds.planted import MISTAKES, Mistake, shows
from tests.worlds.running import analyzed
from tests.worlds.shrink import shrunk
from tests.worlds.values import STRING

SHORT = (21,)
HELD = (4, 22, 3028, 20004, 1795460762, 1795460771, 1795907357, 1795907763, 1795947303, 1795947311, 1796002005)
"""Worlds in which a law did not hold once."""
LONG = (2, 3, *range(1000, 1300), *HELD)
LARGE = (6, 8)
"""Of one kind, with keys in use and queries by equality; a world takes two minutes and 3 GB."""
ROWS = 300


@pytest.mark.heavy("a world takes some ten analyses, and is judged by all laws at once")
@pytest.mark.parametrize("seed", sizes(SHORT, LONG, "worlds"))
def test_a_world_breaks_no_law_but_by_what_is_known(seed: int) -> None:
    found = judge(draw_world(seed, rows_most=ROWS), tuple(LAWS)).broken
    assert [str(b) for b in found if known(b) is None] == []


@pytest.mark.long("worlds")
@pytest.mark.parametrize("seed", LARGE)
def test_a_world_of_a_million_rows_breaks_no_law(seed: int, tmp_path: Path) -> None:
    assert [str(b) for b in large.broken(enlarged(draw_world(seed, rows_most=ROWS), large.ROWS), tmp_path)] == []


SHOWN = tuple(m for m in MISTAKES if m.name == "everybody_is_asked_for")
"""Planted mistakes of the short form."""


@pytest.mark.parametrize("mistake", sizes(SHOWN, MISTAKES, "worlds"), ids=lambda m: m.name)
def test_a_planted_mistake_is_found(mistake: Mistake) -> None:
    assert shows(mistake, mistake.seed)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: m.name)
def test_what_a_mistake_replaces_is_there(mistake: Mistake) -> None:
    """The long form alone would say that a function was renamed."""
    with mistake.planted():
        pass


def test_known_findings_are_few() -> None:
    assert len(KNOWN) <= 19


def test_the_same_seed_draws_the_same_world() -> None:
    assert draw_world(7) == draw_world(7)
    assert draw_world(7) != draw_world(8)


@pytest.mark.long("worlds")
def test_every_feature_stands_in_one_world_of_a_hundred() -> None:
    seen: dict[str, int] = {}
    for seed in range(300):
        for feature in features(draw_world(seed, rows_most=300)):
            seen[feature] = seen.get(feature, 0) + 1
    seen.pop("rows 2,000 and more", None)
    assert {name: count for name, count in seen.items() if count < 3} == {}
    wanted = {f"type {t}" for t in ("string", "int32", "int64", "double", "boolean", "datetime", "guid", "binary")}
    wanted |= {f"range {a} {b}" for a in ("ge", "gt") for b in ("le", "lt")}
    wanted |= {f"draw {by}" for by in ("entities", "distinct", "zipf", "weight", "newest")}
    wanted |= {f"key {part.function}" for part in FUNCTIONS} | declared_features()
    assert wanted - seen.keys() == set()


def test_the_files_of_a_world_are_its_own(tmp_path: Path) -> None:
    world = draw_world(3, rows_most=300)
    write(world, tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert "design.yaml" in names and len(names) >= 2
    assert set(design(world)["tables"]) == {world.table}


def test_a_failing_world_is_shrunk_while_it_fails() -> None:
    world = draw_world(12, rows_most=300)
    name = world.asked[0].name
    small = shrunk(world, lambda w: any(a.name == name for a in w.asked) and w.entities >= 10, None)
    assert [a.name for a in small.asked] == [name]
    assert 10 <= small.entities < 40


def test_harmless_sees_a_changed_count(tmp_path: Path) -> None:
    world = replace(draw_world(3, rows_most=300), extra={})
    before = analyzed(world, tmp_path)
    table = before["tables"][0]
    assert list(harmless._compared("nothing", world, table, copy.deepcopy(table))) == []
    other = copy.deepcopy(table)
    other["recommended"]["classes"][0]["requests"] *= 1.001
    assert [b.what for b in harmless._compared("a plant", world, table, other)] != []


def test_names_in_backticks_are_changed_and_restored() -> None:
    world = replace(draw_world(3, rows_most=300), kinds=(Kind("K", {"ключ.9": STRING, "id": STRING}, ()),))
    other = named_template("{`ключ.9`}_{lower(id)}", {n: changes.renamed(n) for n in world.kinds[0].types})
    assert other == "{`Ключ.9`}_{lower(Id)}"
    assert changes.restored(other, world) == "{`ключ.9`}_{lower(id)}"


def test_an_upper_bound_of_what_is_returned_is_a_lower_bound_of_what_is_read_before_top() -> None:
    true: dict[str, Any] = {"rate_per_s": 1, "entities_returned": 9, "entities_read": 400, "requests": 2, "notes": []}
    bound = ["entities returned are an upper bound"]

    def wrong(top: int | None, **logged: object) -> list[str]:
        one = true | {"top": top}
        found = logs._same_counts("trace", Scheme("all", "{id}"), "a query", one, [one | {"notes": bound} | logged])
        return [b.what.split()[1] for b in found]

    assert wrong(10, entities_returned=10, entities_read=390) == []
    assert wrong(10, entities_read=410) == ["entities_read"]
    assert wrong(10, entities_returned=8) == ["entities_returned"]
    assert wrong(None, entities_read=390) == ["entities_read"]


def test_a_mistake_with_other_arguments_is_told_before_it_is_looked_for() -> None:
    """It would end in an exception, which breaks every law and shows nothing."""
    with pytest.MonkeyPatch.context() as patch, pytest.raises(AssertionError, match="takes other arguments"):
        wrapped(patch, "pkadvisor.design.plan.plan.bounds", lambda _: lambda name, parts: [])


def test_a_log_without_inserts_has_no_transaction_of_them(tmp_path: Path) -> None:
    """Queries that tell strangers by their id leave the inserts out: the design names what it declares, and no more."""
    given, _, _ = evidence.drawn(draw_world(1_795_870_833), tmp_path)
    assert given.lines
    assert {a.operation for a in given.world.asked} == {"query"}
    assert given.world.transactions == ()

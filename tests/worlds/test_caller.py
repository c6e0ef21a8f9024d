"""The law *counted* on a world whose writes find their rows through index rows of every form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.worlds.law import counted
from tests.worlds.model import Asked, Compare, IndexRow, Kind, Parameter, Scheme, World
from tests.worlds.planted import BY_HAND
from tests.worlds.running import forget_results
from tests.worlds.values import STRING

ENTITIES = 120
NAMES = ("tenant", "user", "mail", "region", "name")
ROWS = tuple(
    {"tenant": f"t{n % 4}", "user": f"u{n:03}", "mail": f"m{n:03}", "region": f"r{n % 7}", "name": f"n{n % 11}"}
    for n in range(ENTITIES)
)
REGION = IndexRow("REGION:{region}", "{tenant}_{user}", "pointer")


def schemes() -> tuple[Scheme, ...]:
    out = []
    for copy in ("full", "pointer"):
        for row in ("", "{name}_{user}"):
            by_mail = IndexRow("MAIL:{mail}", row, copy)
            out += [Scheme("{tenant}", "{user}", (by_mail,)), Scheme("{tenant}", "{user}", (by_mail, REGION))]
            out.append(Scheme("{tenant}_{user}", "", (by_mail,)))
    return tuple(out)


def equal(*names: str) -> tuple[Compare, ...]:
    return tuple(Compare(name, "eq", Parameter(name)) for name in names)


ASKED = (
    Asked("get", "", "query", equal("tenant", "user"), 5.0),
    Asked("rename", "", "update", equal("mail"), 2.0, sets=("name",)),
    Asked("move", "", "update", equal("mail"), 1.0, sets=("user",)),
    Asked("drop", "", "delete", equal("mail"), 1.0),
    Asked("drop-of-name", "", "delete", equal("mail", "name"), 1.0),
    Asked("rename-by-key", "", "update", equal("tenant", "user"), 1.0, sets=("name",)),
    Asked("new-mail", "", "update", equal("tenant", "user"), 1.0, sets=("mail",)),
    Asked("drop-all-named", "", "delete", equal("tenant", "user", "mail", "region", "name"), 1.0),
    Asked("careful", "", "update", equal("mail"), 0.001, sets=("region",), read_modify_write=True),
)


def test_what_writes_must_read_is_counted(tmp_path: Path) -> None:
    kind = Kind("", dict.fromkeys(NAMES, STRING), ROWS, schemes=schemes())
    world = World(0, "Users", (kind,), ASKED, current=schemes()[0])
    assert [str(b) for b in counted.broken(world, tmp_path)] == []


@pytest.mark.long("worlds")
def test_a_caller_that_knows_every_key_is_found(tmp_path: Path) -> None:
    forget_results()
    kind = Kind("", dict.fromkeys(NAMES, STRING), ROWS, schemes=schemes())
    world = World(0, "Users", (kind,), ASKED, current=schemes()[0])
    with next(m for m in BY_HAND if m.name == "callers_know_every_key").planted():
        broken = {b.what for b in counted.broken(world, tmp_path)}
    forget_results()
    assert broken >= {"rename: requests to locate", "drop: requests"}

"""What generators of candidates, planner and ties must not leave out, each on a small world by hand: nothing is broken
there, and with the mistake planted something is.

An expert's keys, handed in, do not beat the advice. What is asked by a property that a rule derives costs what it costs
by the other one; the order of the parts of a PartitionKey changes no plan; names of properties choose no key.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import sizes
from tests.worlds.law import best, counted
from tests.worlds.model import Asked, Compare, IndexRow, Kind, Parameter, Scheme, World
from tests.worlds.planted import BY_HAND
from tests.worlds.running import analyzed, forget_results, scheme_of
from tests.worlds.values import DATETIME, INT32, STRING

HOUR = 3_600_000_000
START = 1_772_000_000_000_000
TYPES = {"at": DATETIME, "number": INT32, "rank": INT32}
ROWS: tuple[dict[str, Any], ...] = tuple(
    {
        "id": f"e{n * 71 % 127:03d}",
        "of": f"g{n % 6}",
        "part": f"p{n // 6:02d}",
        "at": START + n * HOUR,
        "number": n * 3,
        "rank": n * 7 % 120,
        "code": f"{n * 3:05d}",
        "tags": json.dumps([("red", "big", "old")[n % 3], ("new", "red")[n % 2]]),
        "name": ("Bob" if n % 2 else "bob") + str(n // 2),
    }
    for n in range(120)
)


def equal(*by: str, rate: float = 20.0, **more: Any) -> Asked:
    where = tuple(Compare(name, "eq", Parameter(name)) for name in by)
    return Asked("by-" + "-".join(by), "", "query", where, rate, **more)


def within(name: str, width: int, *more: Compare) -> Asked:
    bounds = Compare(name, "ge", Parameter(name)), Compare(name, "lt", Parameter(name, width))
    return Asked(f"within-{name}", "", "query", (*more, *bounds), 20.0)


def world(names: str, *asked: Asked, shown: dict[str, str] | None = None) -> World:
    """The rows with some properties, of which some are ``shown`` by other names."""
    by = {name: (shown or {}).get(name, name) for name in names.split()}
    rows = tuple({other: row[name] for name, other in by.items()} for row in ROWS)
    types = {other: TYPES.get(name, STRING) for name, other in by.items()}
    return World(0, "Things", (Kind("", types, rows, "at" if "at" in by else None),), asked)


def advised(of: World, folder: Path) -> best.Document:
    found: best.Document = analyzed(of, folder)["tables"][0]["recommended"]
    return found


def beaten(of: World, expert: Scheme, folder: Path) -> list[str]:
    """The goal at which an expert's scheme beats the advice for a world."""
    before = advised(of, folder / "alone")
    return [str(b) for b in best.judge(best.Counts(of), before, best.compete(of, [expert], folder / "expert"))]


def ranges_of_all(folder: Path) -> list[str]:
    """A main key serves one order; the table grows, so that not all rows lie in one partition."""
    asked = equal("id", rate=50.0), within("rank", 3), within("number", 9), Asked("put", "", "insert", None, 0.001)
    rows = IndexRow("RANK:", "{pad(rank,10)}_{id}"), IndexRow("NUMBER:", "{pad(number,10)}_{id}")
    return beaten(world("id rank number", *asked), Scheme("{id}", "", rows), folder)


def long_index_rows(folder: Path) -> list[str]:
    asked = equal("of", rate=40.0, order_by=(("at", True),), top=5), equal("id")
    expert = Scheme("{of}", "{reverse_ticks(at)}_{id}", (IndexRow("ID:{id}", ""),))
    return beaten(world("id of at", *asked), expert, folder)


def one_partition(folder: Path) -> list[str]:
    return beaten(world("id of at", equal("of", rate=300.0)), Scheme("{of}_{hash(id,3)}", "{id}"), folder)


def rules(folder: Path) -> list[str]:
    one = advised(world("number code of", equal("code"), equal("number")), folder / "number")
    other = advised(world("number code of", equal("code"), replace(equal("code"), name="again")), folder / "code")
    before, after = best.printed_goals(one), best.printed_goals(other)
    return [g for g in ("structures", "storage") if before[g] > after[g]]


def periods(folder: Path) -> list[str]:
    asked = within("at", 24 * HOUR, Compare("of", "eq", Parameter("of")))
    schemes = [Scheme(p, "{ticks(at)}_{id}") for p in ("{of}_{time(at,'yyyyMMdd')}", "{time(at,'yyyyMMdd')}_{of}")]
    printed = {scheme_of(d).text: d["classes"] for d in best.compete(world("id of at", asked), schemes, folder)}
    counts = [[(c["requests"], c["entities_read"]) for c in printed[s.text]] for s in schemes]
    return [] if counts[0] == counts[1] else [f"{counts[0]} and {counts[1]}"]


def ties(folder: Path) -> list[str]:
    keys = []
    for name in ("of", "zz"):
        of = world("part of", equal(name, "part"), shown={"of": name})
        keys.append(scheme_of(advised(of, folder / name)).text.replace("{zz}", "{of}"))
    return [] if keys[0] == keys[1] else keys


def lists(folder: Path) -> list[str]:
    return _said("{each(tags)}", world("id tags", equal("tags")), folder)


def case(folder: Path) -> list[str]:
    return _said("{lower(name)}", world("id name", equal("name")), folder)


def missing(folder: Path) -> list[str]:
    """Of twenty in a group half have no number: the first four have one, behind pointers to buckets of entities."""
    first = equal("of", order_by=(("number", False),), top=4)
    numbers = [row["number"] if n % 4 < 2 else None for n, row in enumerate(ROWS)]
    rows = tuple({"id": row["id"], "of": row["of"], "number": n} for row, n in zip(ROWS, numbers, strict=True))
    by_number = IndexRow("OF:{of}", "{pad(number,4)}_{id}", "pointer")
    schemes = (Scheme("{hash(id,9)}", "{id}", (by_number,)),)
    kind = Kind("", {"id": STRING, "of": STRING, "number": INT32}, rows, schemes=schemes)
    return [str(b) for b in counted.broken(World(0, "Things", (kind,), (equal("id"), first)), folder)]


def _said(part: str, of: World, folder: Path) -> list[str]:
    return [] if part in json.dumps(analyzed(of, folder)) else [f"{part} is not proposed"]


CASES: dict[str, Callable[[Path], list[str]]] = {
    "ranges_need_an_equality": ranges_of_all,
    "rules_serve_no_other_property": rules,
    "periods_only_close_a_key": periods,
    "lists_pass_in_silence": lists,
    "case_passes_in_silence": case,
    "texts_break_ties": ties,
    "index_rows_repeat_the_main_key": long_index_rows,
    "one_pattern_is_tried": one_partition,
    "missing_values_sort_first": missing,
}


@pytest.mark.parametrize("name", sizes(list(CASES)[::3], CASES, "worlds"))
def test_a_mistake_breaks_what_holds_without_it(name: str, tmp_path: Path) -> None:
    forget_results()
    assert CASES[name](tmp_path / "without") == []
    forget_results()
    with next(m for m in BY_HAND if m.name == name).planted():
        assert CASES[name](tmp_path / "with") != []
    forget_results()

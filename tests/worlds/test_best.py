"""The law *best* on worlds by hand: it holds, and it finds an index row that is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.design.choice import row_sets, search
from tests.worlds.answers import Answers
from tests.worlds.enumerated import beside, index_rows, main_keys, one_partition
from tests.worlds.law.best import GOALS, _of_class, beaten, broken
from tests.worlds.model import Asked, Compare, Constant, IndexRow, Kind, Parameter, Scheme, Transaction, World
from tests.worlds.rows import lay_out
from tests.worlds.running import forget_results, ranked
from tests.worlds.values import DATETIME, INT32, STRING

MINUTE = 60_000_000
START = 1_772_000_000_000_000


def world(*more: Asked) -> World:
    """Two hundred entities, one a minute: by id, and the newest five of all."""
    rows = tuple({"id": f"e{n * 71 % 211:03d}", "at": START + n * MINUTE} for n in range(200))
    by_id = Asked("by-id", "things", "query", (Compare("id", "eq", Parameter("id")),), 50.0)
    newest = Asked("newest", "things", "query", (), 20.0, order_by=(("at", True),), top=5)
    return World(5, "Things", (Kind("things", {"id": STRING, "at": DATETIME}, rows, "at"),), (by_id, newest, *more))


def test_no_enumerated_scheme_beats_the_advice(tmp_path: Path) -> None:
    assert list(broken(world(), tmp_path)) == []


@pytest.mark.parametrize(("top", "counted"), [(3, (1.5, 60.0)), (None, (2.0, 200.0))])
def test_where_the_rows_wanted_lie_among_others_today_prefers_no_order_of_a_key(
    top: int | None, counted: tuple[float, float]
) -> None:
    """The three that are wanted lie first of 200 rows, which is chance; all of them are counted."""
    rows = tuple({"id": n, "team": "a" if n < 10 else "b"} for n in range(200))
    kind = Kind("things", {"id": INT32, "team": STRING}, rows)
    asked = Asked("some", "things", "query", (Compare("team", "eq", Constant("a")),), 20.0, top=top)
    printed = {"requests": 1.5, "entities_read": 60.0, "entities_written": 0, "via": "main", "access": "table scan"}
    printed |= {"filters": ["team eq 'a'"], "top": top, "client_work": []}
    assert _of_class(Answers(asked, kind), printed, lay_out(kind, Scheme("{pad(id,4)}", ""))) == pytest.approx(counted)


@pytest.mark.long("worlds")
def test_a_missing_index_row_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without one the newest cost a scan of the table: two requests in place of one, twenty times a second."""
    monkeypatch.setattr(row_sets, "index_rows", lambda *_: iter(()))
    forget_results()
    found = list(broken(world(), tmp_path))
    forget_results()
    assert [b.what for b in found][:1] == ["recommended keys, by requests"]
    assert float(str(found[0].printed)) == pytest.approx(90)
    assert float(str(found[0].true).split(" of ")[0]) == pytest.approx(70)


def growing(transaction: Transaction) -> World:
    """Two hundred entities of two teams, 150 of one; three come a second, and a required transaction joins them."""
    rows = tuple({"id": f"e{n:03d}", "team": "a" if n % 4 else "b"} for n in range(200))
    asked = (
        Asked("by-id", "things", "query", (Compare("id", "eq", Parameter("id")),), 20.0),
        Asked("put", "things", "insert", None, 3.0),
        Asked("pay", "things", "insert", None, 3.0),
    )
    kind = Kind("things", {"id": STRING, "team": STRING}, rows)
    return World(5, "Things", (kind,), asked, transactions=(transaction,))


def test_one_partition_of_a_growing_table_wins_by_no_requests(tmp_path: Path) -> None:
    """A set of 150 entities fits no group transaction under any key: cheaper requests are no reason for one
    PartitionKey."""
    whole = growing(Transaction("of-team", ("put",), ("team",), required=True))
    recommended = ranked(whole, tmp_path / "alone")["tables"][0]["recommended"]
    assert [v["code"] for v in recommended["violations"]] == ["transaction-too-large"]
    assert recommended["partition_key"] == "{team}"
    assert list(broken(whole, tmp_path)) == []


@pytest.mark.long("worlds")
def test_one_partition_that_misses_less_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any two entities may meet in a payment: only one PartitionKey keeps it."""
    whole = growing(Transaction("of-two", ("put", "pay"), (), required=True, pair=("id", "payer", "payee")))
    assert list(broken(whole, tmp_path)) == []
    monkeypatch.setattr(
        search, "with_reason", lambda all_, *_: [c for c in all_ if not search.constant(c.scheme.main.partition)]
    )
    forget_results()
    found = list(broken(whole, tmp_path))
    forget_results()
    assert {b.what for b in found} == {"recommended keys, by constraints"}


def test_index_rows_are_enumerated_beside_a_main_key() -> None:
    kind = world().kinds[0]
    rows = set(index_rows(kind, single=True))
    assert IndexRow("I:", "{reverse_ticks(at)}_{id}") in rows
    assert IndexRow("I:{time(at,'yyyyMMdd')}", "{id}", "pointer") in rows
    assert not any(row.partition == "I:" for row in index_rows(kind, single=False))
    inside = beside(Scheme("{id}", "x"), (IndexRow(None, "I:{at}"), IndexRow("I:{at}", "")))
    assert inside == Scheme("{id}", "ID:x", (IndexRow(None, "AT:{at}"), IndexRow("AT2:{at}", "")))
    assert {s.partition for s in main_keys(kind, single=True)} - {
        s.partition for s in main_keys(kind, single=False)
    } == {"all"}


@pytest.mark.parametrize(("rate", "reason"), [(0.0003, True), (1.0, False)])
def test_one_partition_is_enumerated_where_there_is_a_reason(rate: float, reason: bool) -> None:
    grows = world(Asked("put", "things", "insert", None, rate))
    assert one_partition(grows, grows.kinds[0]) is reason


def test_goals_decide_in_their_order_beyond_their_tolerance() -> None:
    same = dict.fromkeys((name for name, _ in GOALS), 20.0)
    assert beaten(same, same) is None
    assert beaten(same, {**same, "requests": 18.5, "storage": 19.9}) is None
    assert beaten(same, {**same, "constraints": 19.5, "requests": 1.0}) is None
    assert beaten(same, {**same, "constraints": 18.5}) == "constraints"
    assert beaten({**same, "constraints": 1.01}, {**same, "constraints": 0.0}) == "constraints"
    one_missed = {**same, "missed": 1.0, "requests": 40.0}
    assert beaten(one_missed, {**same, "missed": 2.0}) is None
    assert beaten(one_missed, {**same, "missed": 1.0}) == "requests"
    assert beaten(same, {**same, "requests": 17.0, "entities": 40.0}) == "requests"
    assert beaten(same, {**same, "requests": 25.0, "entities": 1.0}) is None
    assert beaten({**same, "break factor": 3.0}, {**same, "break factor": 9.0}) == "break factor"
    alone, spread = {**same, "spread reads": 0.0, "break factor": 3.0}, {**same, "spread reads": 1.0}
    assert beaten(spread, alone) == "spread reads"
    assert beaten(alone, spread) is None
    assert beaten({**alone, "room": 0.7}, spread) == "room"
    assert beaten({**alone, "room": 0.7}, {**spread, "requests": 31.0}) is None

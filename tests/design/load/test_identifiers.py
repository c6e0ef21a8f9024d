"""Keys that are unique in a sample, and what they need to be unique in the table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.identifiers import InUse, expected_collisions, identities, in_use, missing_identifiers
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.observe.workload import Operation, QueryClass, Rate
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

ROWS = 400
TYPES = {
    "id": EdmType.INT32,
    "kind": EdmType.INT32,
    "shop": EdmType.STRING,
    "at": EdmType.DATETIME,
    "note_id": EdmType.STRING,
}
START = datetime(2026, 1, 1, tzinfo=UTC)
AT = [("p", "shop"), ("p", "at")]


def bench(*asked: QueryClass, total: int = 1_000_000, step_us: int = 1_000_001, sampling: str = "slice") -> Bench:
    """Rows of 8 shops, one in each step; every id is unique among them."""
    columns: dict[str, list[object]] = {
        "id": list(range(0, 2 * ROWS, 2)),
        "kind": [n % 2 for n in range(ROWS)],
        "shop": [f"s{n % 8}" for n in range(ROWS)],
        "at": [START + timedelta(microseconds=step_us * n) for n in range(ROWS)],
        "note_id": [f"n{n}" for n in range(ROWS)],
    }
    population = population_of(columns, TYPES, total=total, complete=total == ROWS, sampling=sampling, arrival="at")
    return bench_of(population, *asked)


def insert(per_s: float) -> QueryClass:
    return QueryClass("add", Operation.INSERT, None, Rate(per_s, per_s))


READ = query("one", "id eq {id} and kind eq {kind}")
CHANGE = query("set", "id eq {id} and kind eq {kind} and shop eq '{shop}'", operation=Operation.UPDATE)


def test_a_whole_key_that_is_declared_stays_whole() -> None:
    """The id is unique at hand, and the request names the kind as well."""
    for key in main_keys(KeyGround(bench(READ))):
        assert {"id", "kind"} <= set(key.main.properties), key.text
    assert any("kind" not in key.main.properties for key in main_keys(KeyGround(bench(READ, total=ROWS))))
    alone = bench(READ, total=ROWS)
    alone.population.complete = False  # as the keys that a log names: nobody knows how many others there are
    assert all({"id", "kind"} <= set(key.main.properties) for key in main_keys(KeyGround(alone)))


def test_what_a_write_names_is_believed_before_a_query() -> None:
    assert identities(bench(READ)) == (("id", "kind"),)
    assert identities(bench(READ, CHANGE)) == (("id", "kind", "shop"),)


def test_a_property_that_changes_identifies_nothing() -> None:
    changed = query("move", "id eq {id} and kind eq {kind}", operation=Operation.UPDATE, sets=["kind"])
    assert identities(bench(changed)) == ()


def test_what_an_update_changes_tells_nothing_apart_although_it_is_unique_at_hand() -> None:
    """Of a whole table, too: the next value may be another entity's."""
    by_id = query("move", "id eq {id}", operation=Operation.UPDATE, sets=["note_id"])
    assert missing_identifiers([("p", "note_id")], bench(by_id, total=ROWS), list) == ["id"]
    assert missing_identifiers([("p", "id")], bench(by_id, total=ROWS), list) == []


def test_what_is_wanted_in_an_order_names_many_entities_although_it_is_unique_at_hand() -> None:
    """Of the few rows of a sample, or of a young table, no two have the same account; the caller says that some do."""
    newest = query("newest", "note_id eq '{note_id}'", order=["-at"], top=20)
    for total in (ROWS, 1_000_000):
        found = bench(newest, total=total)
        assert identities(found) == ()
        assert missing_identifiers([("p", "note_id")], found, lambda: ["id"]) == ["id"]
        for key in main_keys(KeyGround(found)):
            assert {"id", "at"} & set(key.main.properties), key.text
        timed = [("p", "note_id"), ("p", "at")]
        assert missing_identifiers(timed, bench(newest, insert(3000.0), total=total, step_us=1_000_000), lambda: ["id"])
    named = bench(newest, query("set", "note_id eq '{note_id}'", operation=Operation.UPDATE))
    assert missing_identifiers([("p", "note_id")], named, lambda: ["id"]) == []


def test_a_property_with_one_value_that_a_look_up_names_stays_in_the_key() -> None:
    """Of one race the bib identifies; whoever asks by race and bib has, or will have, other races."""
    columns = {"race": ["one"] * 9, "bib": list(range(9))}
    types = {"race": EdmType.STRING, "bib": EdmType.INT32}
    found = bench_of(population_of(columns, types), query("one", "race eq '{race}' and bib eq {bib}"))
    assert missing_identifiers([("p", "bib")], found, list) == ["race"]


def test_a_range_names_more_than_one_entity() -> None:
    assert identities(bench(query("since", "id eq {id} and at ge datetime'{at}'"))) == ()


@pytest.mark.parametrize(("spare", "missing"), [(["note_id", "id"], ["note_id"]), (["kind"], ["kind"]), ([], [])])
def test_an_identifier_stands_beside_a_time(spare: list[str], missing: list[str]) -> None:
    of_shop = query("newest", "shop eq '{shop}'", order=["-at"])
    found = bench(of_shop, insert(30.0), total=233_000_000)
    assert missing_identifiers(AT, found, lambda: spare) == missing
    complete = bench(of_shop, insert(30.0), total=ROWS)  # those to come share a time as those do that are not at hand
    assert missing_identifiers(AT, complete, lambda: spare) == missing


@pytest.mark.parametrize(("step_us", "unit"), [(1_000_001, 1e-6), (1_001_000, 1e-3), (1_000_000, 1.0)])
def test_collisions_follow_from_rate_total_and_resolution(step_us: int, unit: float) -> None:
    """1,000,000 entities at 2/s, an eighth of the pairs of one shop."""
    found = expected_collisions(AT, bench(insert(2.0), step_us=step_us))
    assert found == pytest.approx(1_000_000 * 2 * unit / 2 / 8, rel=0.05)
    assert expected_collisions([("p", "at")], bench(insert(2.0), step_us=step_us)) == pytest.approx(1e6 * unit)


def test_where_no_insert_is_declared_the_others_came_as_those_at_hand_did() -> None:
    """400 rows in 399 s, in microseconds, an eighth of the pairs of one shop; of all rows nothing is left to chance."""
    assert expected_collisions(AT, bench(READ)) == pytest.approx(1_000_000 * 400 / 399 * 1e-6 / 2 / 8, rel=0.05)
    assert expected_collisions(AT, bench(READ, total=ROWS)) == 0.0


def test_a_time_that_is_fine_enough_may_stand_alone_where_there_is_no_identifier() -> None:
    slow = bench(insert(0.01), total=1_000)
    assert expected_collisions(AT, slow) < 1
    assert missing_identifiers(AT, slow, lambda: ["kind"]) == []


def test_the_advised_keys_of_a_log_keep_its_identifier() -> None:
    of_shop = query("newest", "shop eq '{shop}'", order=["-at"])
    one = query("one", "shop eq '{shop}' and note_id eq '{note_id}'")
    for key in main_keys(KeyGround(bench(of_shop, one, insert(30.0)))):
        assert ("p", "note_id") in atoms_of((*key.main.partition, *key.main.row)), key.text


def test_beside_a_time_stands_what_the_current_key_has_there() -> None:
    """Events of several kinds in one moment: all rows at hand have times of their own, and those to come may not."""
    slow = bench(insert(0.01), total=ROWS)
    current = KeyScheme(parse_key("{time(at,'yyyyMMdd')}", "{ticks(at)}_{kind}"))
    assert in_use(current, slow) == InUse(current.main, (), ("kind",))
    assert missing_identifiers([("p", "at")], slow, list, in_use(current, slow)) == ["kind"]
    assert missing_identifiers([("p", "note_id")], slow, list, in_use(current, slow)) == []


def test_a_guid_that_many_entities_share_is_no_identifier_beside_one_of_each_entity() -> None:
    """Rows of four owners: of the current keys {owner} and {id} tell entities apart, and a key keeps {id} of them."""
    columns: dict[str, list[object]] = {
        "owner": [f"5f6af5fe-8579-6b36-e130-1552d0cdb17{n % 4}" for n in range(ROWS)],
        "at": [START + timedelta(seconds=n) for n in range(ROWS)],
        "id": list(range(ROWS)),
    }
    types = {"owner": EdmType.GUID, "at": EdmType.DATETIME, "id": EdmType.INT32}
    shared = bench_of(population_of(columns, types, arrival="at"), insert(0.01))
    current = in_use(KeyScheme(parse_key("{owner}", "{at}_{id}")), shared)
    assert current.identifiers == ("id",)
    assert missing_identifiers([("p", "owner"), ("p", "at")], shared, list, current) == ["id"]
    assert in_use(KeyScheme(parse_key("{owner}", "{at}")), shared).identifiers == ("owner",)

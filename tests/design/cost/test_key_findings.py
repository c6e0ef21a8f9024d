"""What is said about the text of keys: each remark with an example from the data, and none where nothing is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.design.choice.goals import good_enough
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.cost.key_findings import key_remarks
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, check_types, parse_key
from pkadvisor.design.load.keyfacts import collision
from pkadvisor.design.rows.population import Population
from pkadvisor.errors import UsageError
from pkadvisor.observe.workload import Operation
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"event": EdmType.STRING, "bib": EdmType.INT32, "at": EdmType.DATETIME, "text": EdmType.STRING}


def population(**columns: Sequence[object]) -> Population:
    start = datetime(2024, 3, 31, tzinfo=UTC)
    plain: Mapping[str, Sequence[object]] = {
        "event": ["a", "b", "c"],
        "bib": [1, 20, 300],
        "at": [start + timedelta(hours=h) for h in range(3)],
        "text": ["x", "y", "z"],
    }
    return population_of({**plain, **columns}, TYPES, zoneless=frozenset({"at"}))


def remarks(found: Population, partition: str, row: str, *, changes: Sequence[str] = ()) -> dict[str, str]:
    correct = query("correct", "bib eq {bib}", operation=Operation.UPDATE, sets=changes)
    bench = bench_of(found, correct)
    return {r.code: r.message for r in key_remarks(KeyScheme(parse_key(partition, row, known=TYPES)), bench)}


def test_a_good_key_gives_no_remark() -> None:
    assert remarks(population(), "{event}", "{pad(bib,3)}", changes=["text"]) == {}


@pytest.mark.parametrize(
    ("row", "bibs", "says"),
    [
        ("{pad(bib,2)}", [1, 20, 300], "is too narrow for 1 of 3 entities, such as bib 300: it needs 3 digits"),
        ("{reverse_pad(bib,1)}", [1, 20, 300], "too narrow for 2 of 3 entities, such as bib 300"),
        ("{reverse_pad(bib,3)}", [-5, 1, 2], "cannot order numbers below zero, such as bib -5"),
        ("{pad(bib,1)}", [-300, -20, 5], "too narrow for 2 of 3 entities, such as bib -20: it needs 3 digits"),
    ],
)  # fmt: skip
def test_a_width_too_small(row: str, bibs: list[int], says: str) -> None:
    assert says in remarks(population(bib=bibs), "{event}", row)["width"]


def test_a_separator_inside_a_value() -> None:
    found = remarks(population(event=["a_b", "b", "c_"]), "{event}_{text}", "{pad(bib,3)}")
    assert found["separator"] == (
        "event holds a separator of the key in 2 of 3 entities, such as 'a_b': written 'a~005Fb'"
    )
    assert "separator" not in remarks(population(event=["a_b", "b", "c_"]), "{event}", "{pad(bib,3)}")


def test_a_tilde_between_values_is_ambiguous() -> None:
    assert "give one key" in remarks(population(), "{event}~{text}", "{pad(bib,3)}")["ambiguous"]
    first, second = ({"event": "x~", "text": "007E"}, {"event": "x", "text": "007E~"})
    key = parse_key("{event}~{text}", "")
    assert key.encode(first, TYPES) == key.encode(second, TYPES)


@pytest.mark.parametrize("row", ["{ticks(at)}", "{at}", "{time(at,'yyyyMMdd')}_{pad(bib,3)}"])
def test_a_time_without_zone(row: str) -> None:
    assert "no time zone in the data, such as 2024-03-31T00:00:00" in remarks(population(), "{event}", row)["time-zone"]


def test_a_hash_over_a_property_that_changes() -> None:
    says = remarks(population(), "{hash(lower(text),8)}", "{pad(bib,3)}", changes=["text"])["mutable-hash"]
    assert "hashes text, such as 'x', which 'correct' changes" in says
    assert "mutable-hash" not in remarks(population(), "{hash(text,8)}", "{pad(bib,3)}", changes=["event"])


def test_long_keys_warn_over_a_kibibyte_and_fail_over_two() -> None:
    # Astral characters are two units each; an escape is five.
    units_600, units_1100 = "😀" * 300, "/" * 220
    for text, warned, failed in (("x" * 512, False, False), (units_600, True, False), (units_1100, False, True)):
        found = population(text=[text, "y", "z"])
        assert ("key-long" in remarks(found, "{text}", "{pad(bib,3)}")) is warned
        scheme = KeyScheme(parse_key("{text}", "{pad(bib,3)}"))
        broken = {v.code: v for v in estimate(scheme, bench_of(found, query("q", "bib eq {bib}"))).violations}
        assert ("key-too-long" in broken) is failed
        assert not failed or "reaches 1,100 UTF-16 units in row 1" in broken["key-too-long"].message
    says = remarks(population(text=["y", "z", units_600]), "{text}", "{bib}")["key-long"]
    assert says.startswith("PartitionKey reaches 1,200 bytes in row 3, over the documented 1 KiB; {text} has 600 ")


def test_two_entities_with_one_key_are_named() -> None:
    found = population(event=["a", "a", "c"])
    says, keys = collision(parse_key("{event}", ""), found)
    assert says == ", e.g. 2 under 'a' | '' (rows 1 and 2: bib '1' and '20')"
    assert keys == ("a",)
    same = population_of({"event": ["a", "a"]}, {"event": EdmType.STRING})
    assert "rows 1 and 2 are equal in every property" in collision(parse_key("{event}", ""), same)[0]


def test_keys_of_one_value_of_several_collide_by_their_text() -> None:
    scheme = KeyScheme(parse_key("{event}{text}", ""), (IndexRow(parse_key("T:{text}", "{event}")),))
    found = population(event=["a", "ab", "c"], text=["bc", "c", "d"])
    assert "not-unique" in {v.code for v in estimate(scheme, bench_of(found, query("q", "bib eq {bib}"))).violations}


def test_a_wrong_type_is_told_with_a_value() -> None:
    parts = parse_key("{pad(event,4)}_{hash(concat(event,'_',ticks(bib)),4)}", "").partition
    with pytest.raises(UsageError, match="ticks cannot read bib: it is Int32, such as '42', not DateTime"):
        check_types(parts, TYPES, "row_key", lambda name: 42)


@pytest.mark.parametrize(
    ("text", "told"), [("bib ge {bib} and bib lt {bib+2} and at ge datetime'{at}'", True), ("bib ge {bib}", False)]
)
def test_a_key_has_one_property_in_order(text: str, *, told: bool) -> None:
    places = population(
        bib=[*range(20)] * 20,
        at=[datetime(2024, 1, 1, n // 20, tzinfo=UTC) for n in range(400)],
        event=["a"] * 400,
        text=["x"] * 400,
    )
    bench = bench_of(places, query("in a box", text))
    said = {
        r.code: r.message for r in estimate(KeyScheme(parse_key("{event}", "{pad(bib,3)}", known=TYPES)), bench).remarks
    }
    assert ("several-ranges" in said) == told
    if told:
        assert said["several-ranges"].startswith("in a box has ranges of bib and at; a key has one property in order: ")


@pytest.mark.parametrize(("text", "code"), [("bib ge {bib}", "unpadded"), ("bib eq {bib}", "unsorted")])
def test_a_number_without_padding_matters_where_its_order_is_asked_for(text: str, code: str) -> None:
    """A key in use is not kept with the first remark, and every entity would be rewritten for the second."""
    bench = bench_of(population(), query("by bib", text))
    found = estimate(KeyScheme(parse_key("{event}", "{bib}", known=TYPES)), bench)
    assert {r.code for r in found.remarks} & {"unpadded", "unsorted"} == {code}
    now = replace(found, violations=(), break_factor=100.0)
    assert good_enough(now, now) == (code == "unsorted")

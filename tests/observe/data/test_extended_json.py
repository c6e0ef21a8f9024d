"""Exports of MongoDB: typed values are what they stand for, under the name of their field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.observe.data.extended_json import plain_value
from tests.observe.data.test_dataset import edms, load, rows

TYPED: list[tuple[Any, Any]] = [
    ({"$oid": "e1bc94c6001ab501fcbb8a74"}, "e1bc94c6001ab501fcbb8a74"),
    ({"$date": "2001-12-07T00:00:00Z"}, "2001-12-07T00:00:00Z"),
    ({"$date": {"$numberLong": "1007683200001"}}, "2001-12-07T00:00:00.001Z"),
    ({"$date": -1}, "1969-12-31T23:59:59.999Z"),
    ({"$numberInt": "-7"}, -7),
    ({"$numberLong": "9007199254740993"}, 9007199254740993),
    ({"$numberDouble": "2.5"}, 2.5),
    ({"$numberDouble": "NaN"}, None),
    ({"$numberDecimal": "19.90"}, 19.9),
    ({"$uuid": "3b241101-e2bb-4255-8caf-4136c566a962"}, "3b241101-e2bb-4255-8caf-4136c566a962"),
    ({"$binary": {"base64": "OyQRAeK7QlWMr0E2xWapYg==", "subType": "04"}}, "3b241101-e2bb-4255-8caf-4136c566a962"),
    ({"$binary": "AAE=", "$type": "00"}, "AAE="),
]
NO_TYPED_VALUES: list[Any] = [
    {},
    {"city": "Graz"},
    {"$oid": 7},
    {"$oid": "a", "more": 1},
    {"$date": {"$numberLong": "x"}},
    {"$date": 10**30},
    {"$numberLong": "seven"},
]


@pytest.mark.parametrize(("written", "value"), TYPED)
def test_a_typed_value_is_what_it_stands_for(written: Any, value: Any) -> None:
    assert plain_value(written) == value and type(plain_value(written)) is type(value)


@pytest.mark.parametrize("written", NO_TYPED_VALUES)
def test_another_object_stays_as_it_is(written: Any) -> None:
    assert plain_value(written) == written


def test_an_export_has_the_columns_that_queries_name(tmp_path: Path) -> None:
    lines = [
        {"_id": {"$oid": f"{n:024x}"}, "collected": {"$date": f"2001-12-0{n}T00:00:00Z"}, "at": {"town": f"t{n}"},
         "sheet": {"$numberInt": str(n)}}
        for n in range(1, 4)
    ]  # fmt: skip
    dataset = load(tmp_path, "".join(json.dumps(line) + "\n" for line in lines), "sheets.json")
    assert edms(dataset) == {"_id": "String", "collected": "DateTime", "at.town": "String", "sheet": "Int32"}
    assert [row[0] for row in rows(dataset)] == [f"{n:024x}" for n in range(1, 4)]

"""The kit itself: what is written is what was given, and a service that does not come up says why."""

from __future__ import annotations

import socket
import subprocess
import sys
from uuid import UUID

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError, ServiceRequestError
from azure.data.tables import EdmType as WireType
from azure.data.tables import EntityProperty

from pkadvisor.table.edm import EdmType, TypedValue, parse_datetime_ticks
from tests.azurite.process import free_port, stop, wait_until_it_answers
from tests.azurite.support import ACCOUNT, LONGEST_KEY, TRANSACTION_CHARACTERS, Azurite, Entity, Table, utf16_length

needs_azurite = pytest.mark.requires("azurite")

PROPERTIES = {
    "string": TypedValue(EdmType.STRING, "5"),
    "empty": TypedValue(EdmType.STRING, ""),
    "int32": TypedValue(EdmType.INT32, 5),
    "int64": TypedValue(EdmType.INT64, 5),
    "double": TypedValue(EdmType.DOUBLE, 5.0),
    "infinite": TypedValue(EdmType.DOUBLE, float("-inf")),
    "boolean": TypedValue(EdmType.BOOLEAN, True),
    "datetime": TypedValue(EdmType.DATETIME, parse_datetime_ticks("2020-01-01T00:00:00.0000001Z")),
    "guid": TypedValue(EdmType.GUID, "0f000000-0000-4000-8000-000000000000"),
    "binary": TypedValue(EdmType.BINARY, b"a\xff"),
}


@needs_azurite
def test_values_are_stored_with_their_type(azurite: Azurite) -> None:
    table = azurite.create("types")
    assert table.load([("p", "all", PROPERTIES), ("p", "none", {})]) == 2
    stored = table.client.get_entity("p", "all")
    assert type(stored["double"]) is float  # a whole number, and yet no Int32
    assert stored.pop("datetime").tables_service_value == "2020-01-01T00:00:00.0000001Z"
    assert stored == {
        "PartitionKey": "p",
        "RowKey": "all",
        "string": "5",
        "empty": "",
        "int32": 5,
        "int64": EntityProperty(5, WireType.INT64),
        "double": 5.0,
        "infinite": float("-inf"),
        "boolean": True,
        "guid": UUID("0f000000-0000-4000-8000-000000000000"),
        "binary": b"a\xff",
    }
    assert table.client.get_entity("p", "none") == {"PartitionKey": "p", "RowKey": "none"}


@needs_azurite
def test_many_entities_take_several_transactions_and_pages(azurite: Azurite) -> None:
    """More of one partition than a transaction holds, more in all than a page, and not in order."""
    table = azurite.create("many")
    keys = [(f"p{number % 7}", f"{number:05}") for number in range(2500)]
    assert table.load((*both, {"n": TypedValue(EdmType.INT32, 1)}) for both in reversed(keys)) == 2500
    assert table.query("") == sorted(keys)
    assert table.query("n eq 1", top=1500) == sorted(keys)[:1500]


@needs_azurite
def test_large_entities_are_spread_over_transactions(azurite: Azurite) -> None:
    table = azurite.create("large")
    text = TypedValue(EdmType.STRING, "é" * 30_000)
    size = 6 * 30_000
    count = 3 * (4 * 2**20 // size)  # three requests at least, of what the service takes
    assert count * size > 4 * TRANSACTION_CHARACTERS
    assert table.load([("p", f"{number:03}", {"text": text}) for number in range(count)]) == count
    assert len(table.query("")) == count


@needs_azurite
def test_keys_that_are_too_long_are_left_out_and_would_be_refused(azurite: Azurite) -> None:
    table = azurite.create("long")
    fits, astral, long = "k" * LONGEST_KEY, "\U0001f600" * (LONGEST_KEY // 2), "k" * (LONGEST_KEY + 1)
    entities: list[Entity] = [(fits, "x", {}), ("x", astral, {}), (long, "x", {}), ("x", astral + "k", {})]
    assert table.load(entities) == 2
    assert table.left_out == 2
    assert table.query("") == [(fits, "x"), ("x", astral)]
    assert utf16_length(astral) == LONGEST_KEY
    for keys in ((long, "x"), ("x", astral + "k")):
        with pytest.raises(HttpResponseError, match="InvalidInput"):
            table.client.submit_transaction([("create", dict(zip(("PartitionKey", "RowKey"), keys, strict=True)))])


@needs_azurite
def test_a_key_that_is_there_is_an_error(azurite: Azurite) -> None:
    table = azurite.create("twice")
    table.load([("p", "r", {})])
    with pytest.raises(HttpResponseError, match="EntityAlreadyExists"):
        table.load([("p", "r", {})])
    with pytest.raises(ResourceExistsError):
        azurite.create("twice")
    with pytest.raises(ValueError, match="system property"):
        table.load([("p", "s", {"RowKey": TypedValue(EdmType.STRING, "t")})])


def test_the_client_dials_nothing_but_loopback_and_gives_up_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://192.0.2.1:9")  # an address that answers nobody
    dialled: list[object] = []
    connect = socket.socket.connect

    def note(self: socket.socket, address: object) -> None:
        dialled.append(address)
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", note)
    port = free_port()
    nobody = Azurite.at(port)
    try:
        assert f"127.0.0.1:{port}/{ACCOUNT}" in nobody.service.url
        with pytest.raises(ServiceRequestError):
            Table(nobody.service.get_table_client("unheard")).get("p", "r")
    finally:
        nobody.close()
    assert dialled == [("127.0.0.1", port)]


def test_a_service_that_ends_or_is_silent_is_not_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"]) as ends:
        assert wait_until_it_answers(ends, free_port()) == "ended with exit code 3"
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeps:
        try:
            assert wait_until_it_answers(sleeps, free_port(), 0.2) == "no answer within 0.2 s"
        finally:
            stop(sleeps)
    assert sleeps.returncode not in (None, 0)

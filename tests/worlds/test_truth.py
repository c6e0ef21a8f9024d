"""The truth itself: the encoder against the published vectors, counts of tiny tables against answers by hand."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.worlds.key_text import Writer, items, parse
from tests.worlds.values import EPOCH, TICKS_OF_EPOCH, Value

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "keys.json").read_text())


def read(text: object, edm: str) -> Value | None:
    """A value of the file of vectors."""
    if text is None or isinstance(text, bool):
        return text
    assert isinstance(text, str)
    if edm in ("Int32", "Int64"):
        return int(text)
    if edm == "Double":
        return float(text.replace("INF", "inf"))
    if edm == "DateTime":
        whole = datetime.fromisoformat(text[:19]).replace(tzinfo=UTC) - EPOCH
        return (whole.days * 86400 + whole.seconds) * 1_000_000 + int(text[20:27]) // 10
    return bytes.fromhex(text) if edm == "Binary" else text


def exact(vector: dict[str, dict[str, str]]) -> bool:
    """Whether the times of a vector are whole microseconds, as a world's are."""
    texts = [vector["values"][n] for n, edm in vector["types"].items() if edm == "DateTime"]
    return all(text is None or text[26] == "0" for text in texts)


@pytest.mark.parametrize("vector", [v for v in VECTORS["vectors"] if exact(v)], ids=lambda v: v["template"])
def test_the_encoder_writes_every_vector(vector: dict[str, dict[str, str]]) -> None:
    values = {n: read(v, vector["types"].get(n, "Int32")) for n, v in vector["values"].items()}
    writer = Writer({n: edm.lower() for n, edm in vector["types"].items()})
    assert writer.key(parse(str(vector["template"])), values) == vector["key"]


@pytest.mark.parametrize("vector", VECTORS["lists"], ids=lambda v: v["value"])
def test_the_values_of_a_property_with_several(vector: dict[str, str]) -> None:
    assert list(items(vector["value"], vector["delimiter"])) == vector["items"]


def test_ticks_begin_in_the_year_1() -> None:
    assert (EPOCH - datetime(1, 1, 1, tzinfo=UTC)).days * 86400 * 10**7 == TICKS_OF_EPOCH

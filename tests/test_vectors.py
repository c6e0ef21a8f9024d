"""The committed key vectors: the project writes each key, and what is arithmetic follows from its definition alone."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pkadvisor.design.keys.scheme import encode, key_expression
from pkadvisor.design.keys.template import format_template, parse_template
from pkadvisor.design.keys.transforms import TRANSFORMS, Each, Value
from pkadvisor.table.edm import EdmType, parse_datetime_ticks
from tests.design.support import frame_of

VECTORS_FILE = Path(__file__).parent / "vectors" / "keys.json"
FILE: dict[str, Any] = json.loads(VECTORS_FILE.read_text(encoding="ascii"))
VECTORS: list[dict[str, Any]] = FILE["vectors"]
NAMES = [f"{n}-{v['template']}" for n, v in enumerate(VECTORS)]


def scalar(value: Any, edm: EdmType) -> Value:
    """A value of the file as ``encode`` takes it."""
    if value is None or edm is EdmType.BOOLEAN:
        return value  # type: ignore[no-any-return]
    read: dict[EdmType, Callable[[str], Value]] = {
        EdmType.INT32: int,
        EdmType.INT64: int,
        EdmType.DOUBLE: float,
        EdmType.DATETIME: parse_datetime_ticks,
        EdmType.BINARY: bytes.fromhex,
    }
    return read.get(edm, str)(value)


def cell(value: Any, edm: EdmType) -> object:
    """A value of the file as a column holds it."""
    if value is not None and edm is EdmType.DATETIME:
        assert value.endswith("0Z")
        return datetime.fromisoformat(value[:-2]).replace(tzinfo=UTC)
    return scalar(value, edm)


def fits_a_column(vector: dict[str, Any]) -> bool:
    """Columns hold microseconds, so that a vector of 100 ns is one for ``encode`` alone."""
    moments = [vector["values"][name] for name, edm in vector["types"].items() if edm == "DateTime"]
    return all(moment is None or moment.endswith("0Z") for moment in moments)


@pytest.mark.parametrize("vector", VECTORS, ids=NAMES)
def test_the_project_writes_the_key(vector: dict[str, Any]) -> None:
    types = {name: EdmType(edm) for name, edm in vector["types"].items()}
    parts = parse_template(vector["template"])
    assert format_template(parts) == vector["template"]
    assert encode(parts, {n: scalar(v, types[n]) for n, v in vector["values"].items()}, types) == vector["key"]
    if fits_a_column(vector):
        # Beside a missing value and after an equal one: what a key is does not depend on its neighbours.
        cells = {n: [None if n != "#seq" else 0, cell(v, types[n]), cell(v, types[n])] for n, v in
                 vector["values"].items()} or {"_": [None] * 3}  # fmt: skip
        frame = frame_of(cells, types or {"_": EdmType.STRING})
        found = frame.select(key=key_expression(parts, types), rows=pl.int_range(pl.len()))["key"].to_list()
        assert found[1:] == [vector["key"]] * 2


# -- from the definitions, with nothing of the project --------------------------------------------------------------

_MOMENT = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{7})Z")
_TICKS_MAX = 3_155_378_975_999_999_999
_FORMS = {"yyyy": "{0:04}", "MM": "{1:02}", "dd": "{2:02}", "HH": "{3:02}", "mm": "{4:02}", "ss": "{5:02}",
          "YYYY": "{7:04}", "ww": "{8:02}"}  # fmt: skip


def fields(text: str) -> list[int]:
    """Year to second, the 100 ns of the second, and the ISO year and week."""
    match = _MOMENT.fullmatch(text)
    assert match
    found = [int(group) for group in match.groups()]
    year, week, _ = datetime(*found[:3]).isocalendar()  # type: ignore[arg-type]
    return [*found, year, week]


def fraction(text: str) -> str:
    """The digits of the second's fraction."""
    return text.split(".")[1].removesuffix("Z")


def ticks(text: str) -> int:
    year, month, day, hour, minute, second, fraction, *_ = fields(text)
    days = datetime(year, month, day).toordinal() - 1
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 10_000_000 + fraction


def padded(number: int, width: int) -> str:
    """Digits filled with zeros; below zero a hyphen and what is left of 10^width."""
    return str(number).zfill(width) if number >= 0 else "-" + str(10**width + number).zfill(width)


def shortest(text: str) -> str:
    """The fewest digits that read back as the same double, nearest to it; from 10^-4 to below 10^16 with a point."""
    if text in ("INF", "-INF", "NaN"):
        return text
    value = float(text)
    if value == 0:
        return "0.0"
    exact = Decimal(abs(value))
    for count in range(1, 18):
        tried = [Context(count, rounding).plus(exact) for rounding in (ROUND_HALF_EVEN, ROUND_CEILING, ROUND_FLOOR)]
        fitting = [one for one in tried if float(one) == abs(value)]
        if fitting:
            break
    sign, digits = "-" * (value < 0), "".join(map(str, fitting[0].as_tuple().digits)).rstrip("0")
    exponent = fitting[0].adjusted()
    if not -4 <= exponent < 16:
        tail = f".{digits[1:]}" if digits[1:] else ""
        return f"{sign}{digits[0]}{tail}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    return f"{sign}{whole}.{digits[exponent + 1 :] or '0'}"


def sortable(text: str, edm: str) -> str:
    """Offset by half of the range; a double as its bits, all inverted below zero, else the first."""
    if edm == "Int32":
        return struct.pack(">I", int(text) + 2**31).hex()
    if edm == "Int64":
        return struct.pack(">Q", int(text) + 2**63).hex()
    if text == "NaN":
        return "fff8000000000000"
    value = float(text)
    (bits,) = struct.unpack(">Q", struct.pack(">d", 0.0 if value == 0 else value))
    return f"{2**64 - 1 - bits if bits >= 2**63 else bits + 2**63:016x}"


def canonical(value: Any, edm: str) -> str:
    if edm == "Boolean":
        return "true" if value else "false"
    if edm == "Double":
        return shortest(value)
    return value.lower() if edm in ("Guid", "Binary") else str(value)


def defined(function: str, argument: str, value: Any, edm: str) -> str:
    """The key of one value by the definition of a function."""
    match function:
        case "pad" if edm == "String":
            return value.rjust(int(argument), "0")  # type: ignore[no-any-return]
        case "pad":
            return padded(int(value), int(argument))
        case "reverse_pad":
            return padded(10 ** int(argument) - 1 - int(value), int(argument))
        case "sortable":
            return sortable(value, edm)
        case "ticks":
            return f"{ticks(value):0{argument or 19}d}"
        case "reverse_ticks":
            return f"{_TICKS_MAX - ticks(value):019d}"
        case "time_of_day" if argument.startswith("'"):
            form = argument.strip("'").replace("fff", fraction(value)[:3])
            return re.sub("HH|mm|ss", lambda m: _FORMS[m[0]].format(*fields(value)), form)
        case "time_of_day":
            return (re.sub("[:.Z]", "", value.split("T")[1]) + "0")[: 6 + int(argument)]  # type: ignore[no-any-return]
        case "time":
            form = re.sub("|".join(_FORMS), lambda m: _FORMS[m[0]], argument.strip("'"))
            return form.format(*fields(value))
    assert function == ""
    return canonical(value, edm)


_ONE = re.compile(r"\{(?:(pad|reverse_pad|sortable|ticks|reverse_ticks|time_of_day|time)\()?p(?:,([^)]*))?\)?\}")
_HASHED = re.compile(r"\{(hash|hash_prefix|md5_prefix)\((.*),(\d+)\)\}(.*)", re.DOTALL)
_BARE = [v for v in VECTORS if v["template"] == "{p}" and v["types"]["p"] not in ("String", "DateTime")]
ALONE = [*_BARE, *(v for v in VECTORS if v["template"] != "{p}" and _ONE.fullmatch(v["template"]))]


@pytest.mark.parametrize("vector", ALONE, ids=[f"{v['template']}-{v['values']['p']!r}" for v in ALONE])
def test_numbers_and_times_follow_from_their_definition(vector: dict[str, Any]) -> None:
    match = _ONE.fullmatch(vector["template"])
    assert match
    value = vector["values"]["p"]
    expected = "~-" if value is None else defined(match[1] or "", match[2] or "", value, vector["types"]["p"])
    assert vector["key"] == re.sub("/", "~002F", expected)


def test_hashes_follow_from_their_definition() -> None:
    found = [vector for vector in VECTORS if re.match(r"\{(hash|md5)", vector["template"])]
    assert len(found) > 30
    for vector in found:
        assert "hashed" in vector
        match = _HASHED.fullmatch(vector["template"])
        assert match
        function, source, number, rest = match.groups()
        digest = hashlib.new("md5" if function == "md5_prefix" else "sha256", vector["hashed"].encode()).digest()
        if function == "hash":
            expected = str(int.from_bytes(digest[:8], "big") % int(number)).zfill(len(str(int(number) - 1)))
        else:
            expected = digest.hex()[: int(number)]
        assert vector["key"].startswith(expected)
        assert rest or vector["key"] == expected
        if source in vector["values"] and vector["types"][source] != "DateTime":
            value = vector["values"][source]
            assert vector["hashed"] == ("~-" if value is None else canonical(value, vector["types"][source]))


def test_escapes_follow_from_their_definition() -> None:
    for vector in VECTORS:
        if vector["template"] != "{p}" or vector["types"]["p"] != "String" or vector["values"]["p"] is None:
            continue
        units = struct.unpack(f">{len(vector['values']['p'].encode('utf-16-be')) // 2}H",
                              vector["values"]["p"].encode("utf-16-be"))  # fmt: skip
        special = {*map(ord, "/\\#?~"), 0xFFFF, *range(0x20), *range(0x7F, 0xA0)}
        escaped = b"".join(f"~{u:04X}".encode("utf-16-be") if u in special else u.to_bytes(2, "big") for u in units)
        assert vector["key"] == escaped.decode("utf-16-be")


# -- the file ---------------------------------------------------------------------------------------------------------


def test_every_function_has_vectors_also_without_a_value() -> None:
    for function in TRANSFORMS:
        of_it = [v for v in VECTORS if f"{function}(" in v["template"]]
        assert of_it, function
        if function == "seq":  # the application always assigns one
            continue
        assert any(None in v["values"].values() for v in of_it), function
        alone = [v for v in of_it if set(v["types"].items()) == {("p", "String")}]
        assert not alone or any(v["values"]["p"] == "" for v in alone), function
    bare = {v["types"]["p"] for v in VECTORS if v["template"] == "{p}"}
    assert bare == {edm.value for edm in EdmType}


def test_every_vector_stands_once_and_says_all_it_needs() -> None:
    seen = [json.dumps([v["template"], v["types"], v["values"]]) for v in VECTORS]
    assert len(set(seen)) == len(seen) >= 150
    for vector in VECTORS:
        assert set(vector) - {"hashed"} == {"template", "types", "values", "key"} <= set(FILE["fields"])
        assert set(vector["types"]) == set(vector["values"])
        for name, value in vector["values"].items():
            edm = vector["types"][name]
            assert value is None or isinstance(value, bool if edm == "Boolean" else str)
            assert edm in FILE["encodings"]["values"]


@pytest.mark.parametrize("case", FILE["lists"], ids=[json.dumps(c["value"]) for c in FILE["lists"]])
def test_values_of_lists(case: dict[str, Any]) -> None:
    assert list(Each("p", case["delimiter"]).values_of(case["value"])) == case["items"]

"""Documents that were written before: read back, checked as far as they are used, and looked into.

A file is taken for what it may be: somebody else's. Every member that is looked at has the type that the schema
promises, or the file is refused with the place of the first that has not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from pkadvisor.errors import InputError, UsageError
from pkadvisor.files import read_bytes

RESULT, SCORE, STRESS = "pkadvisor result", "pkadvisor score", "pkadvisor stress"
REVIEW, COMPARISON = "pkadvisor review", "pkadvisor comparison"
DOCUMENTS = (RESULT, STRESS, REVIEW, COMPARISON, SCORE)
"""What there can be a page of."""
BYTES_MAX = 200_000_000
_BITS_MAX = 1023  # of a whole number: a greater one is no float


class OrNone(NamedTuple):
    """The shape of a member that may be null."""

    shape: Any


_NUMBER = (int, float)
_AMOUNT = (int, float, type(None))
_TEXT = str
_TEXT_OR_NONE = (str, type(None))
_INDEX_ROW = {"partition_key": _TEXT, "row_key": _TEXT, "copy": _TEXT, "consistency": _TEXT}
_CLASS = {
    "name": _TEXT,
    "operation": _TEXT,
    "rate_per_s": _NUMBER,
    "access": _TEXT_OR_NONE,
    "via": _TEXT,
    "fan_out": _NUMBER,
    "entities_read": _NUMBER,
    "entities_returned": _NUMBER,
    "entities_written": _NUMBER,
    "requests": _NUMBER,
    "latency_ms_p99?": _AMOUNT,
}
_SCHEME: dict[str, Any] = {
    "rank": (int, type(None)),
    "partition_key": _TEXT,
    "row_key": _TEXT,
    "index_rows": [_INDEX_ROW],
    "feasible": bool,
    "score": _NUMBER,
    "terms": [{"name": _TEXT, "value": _AMOUNT, "unit": _TEXT, "basis": _TEXT}],
    "goals": [{"goal": _TEXT, "unit": _TEXT, "value": _AMOUNT}],
    "break_cause": _TEXT,
    "breaks": [{"cause": _TEXT, "measured": _AMOUNT, "limit": _AMOUNT, "unit": _TEXT, "factor": _AMOUNT}],
    "classes": [_CLASS],
    "violations": [{"code": _TEXT, "message": _TEXT, "assumed_growth": bool}],
    "remarks": [{"message": _TEXT}],
    "examples?": [{"partition_key": _TEXT, "row_key": _TEXT}],
}
_LOSES = {"goal": _TEXT, "unit": _TEXT, "value": _AMOUNT, "winner": _AMOUNT}
_FLIP = {
    "turn": _TEXT,
    "rank": (int, type(None)),
    "query": _TEXT_OR_NONE,
    "factor": _AMOUNT,
    "rate_per_s": _AMOUNT,
    "goal": _TEXT_OR_NONE,
    "proof": [_TEXT],
}
_ARRANGED = {"table": _TEXT, "chosen": {"kept": [_TEXT], "schemes": [{"kind": _TEXT}]}}
_GROUND = {
    "title": _TEXT,
    "name": _TEXT,
    "sentence": _TEXT,
    "carries": bool,
    "next": _TEXT_OR_NONE,
    "load_share": _AMOUNT,
    "measured": _AMOUNT,
}
_TABLE = {"table": _TEXT, "kind": _TEXT_OR_NONE, "grounds?": [_GROUND]}
_WRITES = {STRESS: "advisor stress … --out json=stress.json writes one"}


def load_stored(path: Path | str, where: str) -> dict[str, Any]:
    """A result or a score card. UsageError (2) where there is no file, InputError (3) where it is neither."""
    name = f"{where} {path}".strip()
    document = load_document(path, where, kinds=(RESULT, SCORE))
    wrong = first_wrong(document, {"tables": [_TABLE], "arrangements?": [_ARRANGED]}, "")
    for number, table in enumerate([] if wrong else document["tables"]):
        wrong = wrong or _wrong_table(table, document["document"], f"tables[{number}]")
    if wrong:
        raise InputError(f"is not whole: {wrong}", where=name, fix="made by another version? analyse again")
    return document


def load_document(path: Path | str, where: str, *, kinds: tuple[str, ...]) -> dict[str, Any]:
    """A document of one of the ``kinds``, of a version that is read here; what is in it is not looked at.

    UsageError (2) where there is no file, InputError (3) where it is something else.
    """
    path = Path(path)
    name = f"{where} {path}".strip()
    writes = _WRITES.get(kinds[0], "advisor analyze … --out json=result.json writes one")
    try:
        document = json.loads(read_bytes(path, BYTES_MAX), parse_constant=_no_number)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", where=name, fix="name a result file") from None
    except (ValueError, RecursionError):
        raise InputError("is not JSON", where=name, fix=writes) from None
    kind = document.get("document") if isinstance(document, dict) else None
    if kind not in kinds:
        raise InputError("is not a stress result" if kinds == (STRESS,) else "is not a result", where=name, fix=writes)
    version = str(document.get("schema_version"))
    if version.split(".")[0] != "1":
        fix = "analyse again" if kind == RESULT else "run the command that made it again"
        raise InputError(f"is of version {version[:20]}, which is not read here", where=name, fix=fix)
    return dict(document)


def _no_number(text: str) -> None:
    """JSON has no NaN and no infinity."""
    raise ValueError(text)


def _wrong_table(table: dict[str, Any], kind: str, at: str) -> str:
    if kind == SCORE:
        return first_wrong(table, {"schemes": [{"scheme": _SCHEME}]}, at)
    wrong = first_wrong(table, {"verdict": _TEXT, "alternatives": [_SCHEME]}, at)
    for name, shape in (("recommended", _SCHEME), ("current", _SCHEME), ("flip", _FLIP)):
        if not wrong and table.get(name) is not None:
            wrong = first_wrong(table, {name: shape}, at)
    schemes = [] if wrong else [table["recommended"], table["current"], *table["alternatives"]]
    for scheme in schemes:
        if scheme is not None and scheme.get("loses") is not None:
            wrong = wrong or first_wrong(scheme, {"loses": _LOSES}, at)
    return wrong


def first_wrong(value: Any, shape: Any, at: str) -> str:
    """Where a value has not the shape, in words; empty where it has. A key with a question mark may be missing."""
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"{at or 'the document'} is not a mapping"
        for name, inner in shape.items():
            key = name.removesuffix("?")
            if key not in value:
                if key != name:
                    continue
                return f"{at}.{key} is missing".lstrip(".")
            wrong = first_wrong(value[key], inner, f"{at}.{key}".lstrip("."))
            if wrong:
                return wrong
        return ""
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{at} is not a list"
        return next((w for n, item in enumerate(value) if (w := first_wrong(item, shape[0], f"{at}[{n}]"))), "")
    if isinstance(shape, OrNone):
        return "" if value is None else first_wrong(value, shape.shape, at)
    types = shape if isinstance(shape, tuple) else (shape,)
    good = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    good = good and not (isinstance(value, int) and value.bit_length() > _BITS_MAX)
    return "" if good else f"{at} cannot be {str(value)[:40]!r}"


def scheme_text(scheme: dict[str, Any]) -> str:
    """A scheme in one line, as it is written on the command line and in a file of candidates."""
    rows = ""
    for row in scheme["index_rows"]:
        same = row["partition_key"] == scheme["partition_key"]
        where = row["row_key"] if same else f"{quoted(row['partition_key'])} | {quoted(row['row_key'])}"
        rows += f" + {where} ({row['copy']})"
    return f"{quoted(scheme['partition_key'])} | {quoted(scheme['row_key'])}{rows}"


def quoted(template: str) -> str:
    """A template, or two quotes for the empty key."""
    return template or "''"

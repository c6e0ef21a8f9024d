"""A drawn world with a million rows: its entities again and again, each with an identity and a time of its own."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

from tests.worlds.model import Kind, World
from tests.worlds.values import GUID, STRING, Row, Value


def enlarged(world: World, rows: int) -> World:
    """The world with so many rows of its only kind; shares of values stay, arrivals go on behind the last."""
    kind = world.kinds[0]
    told = {name: {key: said for key, said in each.items() if key != "distinct"} for name, each in kind.told.items()}
    return replace(world, kinds=(replace(kind, rows=tuple(_rows(kind, rows)), told=told),), extra={})


def _rows(kind: Kind, rows: int) -> list[Row]:
    time = kind.arrival if kind.arrival in kind.types else None
    moments = [v for row in kind.rows if time is not None and isinstance(v := row[time], int)]
    span = max(moments) - min(moments) + 1_000_000 if moments else 0
    out = []
    for number in range(rows):
        cycle, place = divmod(number, len(kind.rows))
        row = {**kind.rows[place], "id": _identity(number, kind.types["id"])}
        if "code" in row:
            row["code"] = f"{row['id']:08}"
        moment = row[time] if time is not None else None
        if time is not None and isinstance(moment, int):
            row[time] = moment + cycle * span
        out.append(row)
    return out


def _identity(number: int, edm: str) -> Value:
    if edm == GUID:
        digits = sha256(str(number).encode()).hexdigest()
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}"
    return f"{'ABC'[number % 3]}{number:06x}" if edm == STRING else number

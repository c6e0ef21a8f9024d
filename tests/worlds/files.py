"""A world as files that ``advisor`` accepts: ``design.yaml``, a file of entities for each kind, ``candidates.yaml``."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.worlds.model import (
    AnyOf,
    Asked,
    Compare,
    Condition,
    Constant,
    Draw,
    Kind,
    Negated,
    Parameter,
    Scheme,
    Transaction,
    World,
)
from tests.worlds.values import (
    BINARY,
    BOOLEAN,
    DATETIME,
    DOUBLE,
    GUID,
    INT64,
    STRING,
    Value,
    canonical,
    constant_text,
    time_text,
)  # fmt: skip

EDM = {
    "string": "Edm.String", "int32": "Edm.Int32", "int64": "Edm.Int64", "double": "Edm.Double",
    "boolean": "Edm.Boolean", "datetime": "Edm.DateTime", "guid": "Edm.Guid", "binary": "Edm.Binary",
}  # fmt: skip
UNITS = (("w", 7 * 86400), ("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
SUFFIX = {"jsonl": "jsonl", "rest": "json", "csv": "csv", "typed-csv": "csv"}


# -- filters ----------------------------------------------------------------------------------------------------------


def offset_text(offset: int, edm: str) -> str:
    """``-30d`` or ``+5``; nothing for no offset."""
    if not offset:
        return ""
    sign, size = ("-" if offset < 0 else "+"), abs(offset)
    if edm != DATETIME:
        return f"{sign}{size}"
    seconds = size // 1_000_000
    unit, scale = next((u, s) for u, s in UNITS if seconds % s == 0)
    return f"{sign}{seconds // scale}{unit}"


def operand_text(operand: Parameter | Constant, edm: str) -> str:
    """A parameter or a constant in a declared filter."""
    if isinstance(operand, Constant):
        text = constant_text(operand.value, edm)
        return text.replace("{", "{{").replace("}", "}}") if edm == STRING else text
    hole = "{" + operand.name + offset_text(operand.offset, edm) + "}"
    forms = {STRING: f"'{hole}'", DATETIME: f"datetime'{hole}'", GUID: f"guid'{hole}'", BINARY: f"X'{hole}'"}
    return forms.get(edm, hole)


def condition_text(condition: Condition, types: Mapping[str, str]) -> str:
    """One conjunct."""
    match condition:
        case Compare(operator="lower"):
            return f"{condition.name} eq '{{lower({condition.operand.name})}}'"  # type: ignore[union-attr]
        case Compare():
            return f"{condition.name} {condition.operator} {operand_text(condition.operand, types[condition.name])}"
        case Negated():
            return f"not ({condition_text(condition.item, types)})"
        case AnyOf():
            return "(" + " or ".join(condition_text(c, types) for c in condition.items) + ")"


def filter_text(asked: Asked, types: Mapping[str, str]) -> str:
    """The declared filter."""
    return " and ".join(condition_text(c, types) for c in asked.conditions())


# -- the design file --------------------------------------------------------------------------------------------------


def _draw(draw: Draw) -> object:
    match draw.by:
        case "distinct":
            return {"by": "distinct", "of": list(draw.of)}
        case "zipf":
            return {"zipf": draw.exponent, "of": list(draw.of)}
        case "weight":
            return {"weight": draw.column}
        case "newest":
            return {"newest": draw.share, "window": f"{draw.window_s}s"}
    return "entities"


def _rate(per_s: float) -> str:
    for unit, seconds in (("s", 1), ("min", 60), ("h", 3600), ("day", 86400)):
        if (per_s * seconds) >= 1 and abs(per_s * seconds - round(per_s * seconds)) < 1e-9:
            return f"{round(per_s * seconds)}/{unit}"
    return f"{per_s:.12f}/s"


def _asked(asked: Asked, world: World) -> dict[str, Any]:
    kind = world.kind(asked.kind)
    out: dict[str, Any] = {"name": asked.name}
    if len(world.kinds) > 1:
        out["kind"] = kind.name
    if asked.operation != "query":
        out["operation"] = asked.operation
    if asked.by_key:
        out["key"] = list(asked.by_key)
    elif asked.where is not None:
        out["filter"] = filter_text(asked, kind.types)
    out["rate"] = _rate(asked.rate)
    if asked.peak is not None:
        out["peak"] = _rate(asked.peak)
    if asked.peak_at is not None:
        out["peak_at"] = f"{asked.peak_at[0]:02}:00-{asked.peak_at[1]:02}:00"
    if asked.p99_ms is not None:
        out["p99"] = f"{asked.p99_ms}ms"
    if asked.draw is not None:
        out["draw"] = _draw(asked.draw)
    if asked.order_by:
        out["order_by"] = [name + (" desc" if falling else "") for name, falling in asked.order_by]
    if asked.top is not None:
        out["top"] = asked.top
    if asked.sets:
        out["sets"] = list(asked.sets)
    if asked.entities_per_request > 1:
        out["entities_per_request"] = asked.entities_per_request
    for name in ("analytic", "read_modify_write"):
        if getattr(asked, name):
            out[name] = True
    return out


def _keys(scheme: Scheme) -> dict[str, Any]:
    out: dict[str, Any] = {"partition_key": scheme.partition, "row_key": scheme.row}
    if scheme.index_rows:
        out["index_rows"] = [
            {**({} if r.partition is None else {"partition_key": r.partition}), "row_key": r.row, "copy": r.copy}
            for r in scheme.index_rows
        ]
    return out


def _kind(kind: Kind, world: World) -> dict[str, Any]:
    """Properties, arrival and keys of a kind."""
    out: dict[str, Any] = {} if kind.current is None else _keys(kind.current)
    if not world.inferred:
        out["properties"] = {n: {"type": edm, **t} if (t := kind.told.get(n)) else edm for n, edm in kind.types.items()}
    if kind.arrival:
        out["arrival"] = "timestamp" if kind.arrival == "Timestamp" else kind.arrival
    if kind.total is not None:
        out["entities_total"] = kind.total
    return out | dict(kind.sampling)


def _transaction(found: Transaction) -> dict[str, Any]:
    out: dict[str, Any] = {"name": found.name, "together": list(found.together), "required": found.required}
    if found.pair is None:
        return out | {"group_by": list(found.group_by)}
    name, first, second = found.pair
    return out | {"pair": {first: name, second: name}}


def design(world: World) -> dict[str, Any]:
    """The design file as values."""
    table: dict[str, Any] = {} if world.current is None else _keys(world.current)
    table |= dict(world.extra)
    if len(world.kinds) == 1:
        table |= _kind(world.kinds[0], world)
    else:
        table["kinds"] = {k.name: _kind(k, world) for k in world.kinds}
    table["queries"] = [_asked(a, world) for a in world.asked if a.operation == "query"]
    table["writes"] = [_asked(a, world) for a in world.asked if a.operation != "query"]
    if world.transactions:
        table["transactions"] = [_transaction(t) for t in world.transactions]
    if world.growth is not None:
        found = world.growth
        months = f"{found.horizon_months} months"
        table["growth"] = {"rate": f"{found.percent} %/{found.per}", "of": found.of, "horizon": months}
    if world.retention_days is not None:
        table["retention"] = f"{world.retention_days} days"
    return {"schema": 1, "tables": {world.table: table}}


# -- data -------------------------------------------------------------------------------------------------------------


def _json_value(value: Value, edm: str) -> object:
    if edm == BINARY:
        assert isinstance(value, bytes)
        return base64.b64encode(value).decode()
    if edm == DATETIME:
        assert isinstance(value, int)
        return time_text(value)
    return str(value) if edm == INT64 else value


def _csv_value(value: Value | None, edm: str) -> str:
    if value is None:
        return ""
    if edm == BINARY:
        assert isinstance(value, bytes)
        return base64.b64encode(value).decode()
    return canonical(value, edm) if edm != BOOLEAN else ("true" if value else "false")


def data_text(kind: Kind, form: str) -> str:
    """The entities of a kind as a file."""
    if form in ("jsonl", "rest"):
        rows = []
        for row in kind.rows:
            out: dict[str, object] = {}
            for name, edm in kind.types.items():
                value = row[name]
                if value is not None:
                    if edm in (BINARY, DATETIME, GUID, INT64, DOUBLE):
                        out[f"{name}@odata.type"] = EDM[edm]
                    out[name] = _json_value(value, edm)
            rows.append(out)
        if form == "rest":
            return json.dumps({"value": rows}, ensure_ascii=False) + "\n"
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    header = list(kind.types)
    if form == "typed-csv":
        header = [cell for name, edm in kind.types.items() for cell in (name, f"{name}@type")]
    writer.writerow(header)
    for row in kind.rows:
        cells = []
        for name, edm in kind.types.items():
            cells.append(_csv_value(row[name], edm))
            if form == "typed-csv":
                cells.append("" if row[name] is None else EDM[edm])
        writer.writerow(cells)
    return stream.getvalue()


def data_name(kind: Kind, form: str) -> str:
    """The name of a kind's file."""
    return f"{kind.name}.{SUFFIX[form]}"


def data_arguments(world: World, folder: Path) -> tuple[str, ...]:
    """What names the data on the command line."""
    named = [(k, str(folder / data_name(k, world.form))) for k in world.kinds]
    return tuple(path if len(world.kinds) == 1 else f"{k.name}={path}" for k, path in named)


def yaml_text(values: object) -> str:
    """Values as JSON, which YAML 1.2 reads."""
    return json.dumps(values, indent=1) + "\n"


def write(world: World, folder: Path) -> None:
    """Write every file of a world; the folder is made."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "design.yaml").write_text(yaml_text(design(world)), encoding="utf-8")
    for kind in world.kinds:
        (folder / data_name(kind, world.form)).write_text(data_text(kind, world.form), encoding="utf-8", newline="")
    schemes = [_keys(s) for k in world.kinds for s in k.schemes]
    if schemes:
        (folder / "candidates.yaml").write_text(yaml_text(schemes), encoding="utf-8")

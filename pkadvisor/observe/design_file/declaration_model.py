"""The shape of a design file as pydantic models: what is checked key by key, and the JSON Schema made from it.

What concerns several values at once (names, kinds, keys that go together) is checked in ``declaration``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import CoreSchema

from pkadvisor.errors import did_you_mean
from pkadvisor.observe.design_file import units
from pkadvisor.table.edm import EdmType


class UnknownKeyError(ValueError):
    """A key that the model does not have."""

    def __init__(self, key: str, known: tuple[str, ...]) -> None:
        super().__init__(f"unknown key '{key}'")
        self.key = key
        self.fix = did_you_mean(key, known) or f"known here: {', '.join(known)}"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, dict):
            known = tuple(field.alias or name for name, field in cls.model_fields.items())
            for key in data:
                if key not in known:
                    raise UnknownKeyError(str(key), known)
        return data


def _unit(parse: Callable[[str], float]) -> BeforeValidator:
    def read(value: object) -> float:
        if value is None:
            raise units.UnitError("no value yet", "fill it in, e.g. 600/s")
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise units.UnitError(f"{value!r:.40} is not a number with a unit", "write e.g. 600/s, 50ms or 24 months")
        return parse(str(value))

    return BeforeValidator(read)


def _hours(value: object) -> tuple[int, int]:
    if not isinstance(value, str):
        raise units.UnitError(f"{value!r:.40} is not a time of day", "write from and until in UTC, e.g. 18:00-20:00")
    return units.parse_hours(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise units.UnitError(f"{value!r:.40} is not a count", "write a whole number, e.g. 2_000_000")
    return units.parse_count(value)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise units.UnitError(f"{value!r:.40} is not a share", "write 0.8 or '80 %'")
    return units.parse_share(value)


def _edm(value: object) -> object:
    word = str(value).lower().removeprefix("edm.")
    for member in EdmType:
        if member.value.lower() == word:
            return member
    names = tuple(member.value.lower() for member in EdmType)
    fix = did_you_mean(word, names) or f"one of {', '.join(names)}"
    raise units.UnitError(f"{value!r:.40} is not a property type", fix)


def _no_bool(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value  # True equals 1


def _sensitive(value: object) -> object:
    if isinstance(value, bool):
        return "personal" if value else None
    if value not in (None, "personal", "secret"):
        raise units.UnitError(f"{value!r:.40} is no kind of sensitive data", "write personal, secret or true")
    return value


def _texts(value: object) -> object:
    return [value] if isinstance(value, str) else value


_NUMBER = "[0-9][0-9_]*([.][0-9_]+)?([eE][+-]?[0-9]+)?"
RateText = Annotated[
    float,
    _unit(units.parse_rate),
    WithJsonSchema({"type": "string", "pattern": f"^ *{_NUMBER} */ *[A-Za-z]+ *$", "examples": ["600/s", "16/min"]}),
]
DurationText = Annotated[
    float,
    _unit(units.parse_duration),
    WithJsonSchema({"type": "string", "pattern": f"^ *{_NUMBER} *[A-Za-z]+ *$", "examples": ["24 months", "1h"]}),
]
LatencyText = Annotated[
    float,
    _unit(units.parse_latency_ms),
    WithJsonSchema({"type": "string", "pattern": f"^ *{_NUMBER} *[A-Za-z]+ *$", "examples": ["50ms"]}),
]
GrowthText = Annotated[
    float,
    _unit(units.parse_growth),
    WithJsonSchema(
        {"type": "string", "pattern": f"^ *[+-]? *{_NUMBER} *% */ *[A-Za-z]+ *$", "examples": ["8 %/month"]}
    ),
]
HoursText = Annotated[
    tuple[int, int],
    BeforeValidator(_hours),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": "^ *[0-9]{1,2}:[0-9]{2} *- *[0-9]{1,2}:[0-9]{2} *$",
            "examples": ["18:00-20:00"],
        }
    ),
]
Count = Annotated[
    int,
    BeforeValidator(_count),
    WithJsonSchema({"type": ["integer", "string"], "minimum": 1, "pattern": "^ *[0-9][0-9_]* *$"}),
]
Share = Annotated[
    float,
    BeforeValidator(_share),
    WithJsonSchema({"type": ["number", "string"], "exclusiveMinimum": 0, "maximum": 1}),
]
Texts = Annotated[
    list[str],
    BeforeValidator(_texts),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]
EdmName = Annotated[
    EdmType,
    BeforeValidator(_edm),
    WithJsonSchema({"type": "string", "examples": [m.value.lower() for m in EdmType]}),
]


Sensitive = Annotated[
    Literal["personal", "secret"] | None,
    BeforeValidator(_sensitive),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["personal", "secret"]}]}),
]


class PropertyModel(_Part):
    """A property: its Edm type, or ``{type: string, size: 700}``."""

    type: EdmName = Field(description="string, int32, int64, double, boolean, datetime, guid or binary.")
    size: int | None = Field(
        default=None, ge=0, le=1 << 20, description="Mean size of a value in bytes (Binary) or characters (String)."
    )
    distinct: int | None = Field(
        default=None, ge=1, le=10**15, description="How many values there can ever be, e.g. 7 tenants."
    )
    sensitive: Sensitive = Field(
        default=None,
        description="personal (or true): is about a person; secret: gives access to something. For the review.",
    )

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return data if isinstance(data, dict) else {"type": data}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _or_text(handler.resolve_ref_schema(handler(core)), [m.value.lower() for m in EdmType], examples=True)


class DrawModel(_Part):
    """How the parameters of a class are drawn: ``entities``, ``distinct``, ``zipf``, ``weight`` or ``newest``."""

    by: Literal["entities", "distinct", "zipf", "weight", "newest"] | None = Field(
        default=None, description="May be left out where zipf, weight or newest says it."
    )
    of: Texts | None = Field(default=None, description="Properties whose distinct tuples are drawn (distinct, zipf).")
    zipf: float | None = Field(
        default=None, gt=0, le=10, description="Exponent: the r-th most frequent tuple has weight r^-zipf."
    )
    weight: str | None = Field(default=None, description="Numeric property: an entity is drawn in proportion to it.")
    newest: Share | None = Field(default=None, description="Share of requests that go to the newest entities.")
    window: DurationText | None = Field(default=None, description="How far back the newest entities reach.")

    @model_validator(mode="before")
    @classmethod
    def _short(cls, data: Any) -> Any:
        return data if isinstance(data, dict) else {"by": data}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return _or_text(handler.resolve_ref_schema(handler(core)), ["entities"])


def _or_text(schema: dict[str, Any], words: list[str], *, examples: bool = False) -> dict[str, Any]:
    text = {"type": "string", "examples" if examples else "enum": words}
    long = {key: value for key, value in schema.items() if key not in ("description", "title")}
    return {"description": schema.get("description", ""), "anyOf": [text, long]}


class _ClassModel(_Part):
    name: str = Field(default="", description="Unique among the queries and writes; made of their shape if left out.")
    kind: str | None = Field(default=None, description="The entity kind; needed where the table declares several.")
    rate: RateText = Field(description="Mean rate: /s, /min, /h, /day, /week or /month.")
    peak: RateText | None = Field(default=None, description="The highest rate to plan for; the rate if left out.")
    peak_at: HoursText | None = Field(
        default=None, description="Hours of the day (UTC) of the peak; at any time if left out."
    )
    p99: LatencyText | None = Field(default=None, description="Latency goal, 99th percentile.")
    draw: DrawModel | None = Field(default=None, description="Whose values fill the parameters; entities if left out.")


class QueryModel(_ClassModel):
    """A class of queries."""

    filter: str = Field(description="$filter over logical properties; '{x}' is the value of x. '' reads every entity.")
    order_by: Texts = Field(default_factory=list, description="Properties, each with an optional ' desc'.")
    top: int | None = Field(default=None, ge=1, description="How many entities the caller wants.")
    analytic: bool = Field(default=False, description="An export or analysis: reported apart, outside the score.")


class WriteModel(_ClassModel):
    """A class of writes."""

    operation: Literal["insert", "update", "upsert", "delete"] = Field(description="What it does.")
    filter: str | None = Field(default=None, description="Which entity an update or delete changes.")
    key: Texts | None = Field(default=None, description="Short for a filter: these properties equal their values.")
    sets: Texts = Field(default_factory=list, description="Properties that an update changes.")
    read_modify_write: bool = Field(default=False, description="Reads, changes and writes under If-Match.")
    entities_per_request: float = Field(default=1.0, ge=1, le=1e6, description="Above 1 for group transactions.")


class TransactionModel(_Part):
    """Writes whose entities change in one entity group transaction."""

    name: str = Field(default="", description="Unique among the transactions; made of the writes if left out.")
    together: Texts = Field(description="Names of the writes.")
    group_by: Texts = Field(
        default_factory=list, description="Entities that agree on these properties belong together."
    )
    pair: dict[str, str] | None = Field(
        default=None,
        description="In place of group_by: two parameters of one property, {from: account, to: account}; the entities "
        "of the two values belong together.",
    )
    required: bool = Field(default=False, description="Whether a design that breaks it is refused.")


class GrowthModel(_Part):
    """Compound growth."""

    rate: GrowthText = Field(description="A percentage per month or year.")
    of: Literal["new_keys", "rate", "rows_per_key"] = Field(default="rate", description="What grows.")
    horizon: DurationText | None = Field(default=None, description="How far to look ahead; 12 months if left out.")


class IndexRowModel(_Part):
    """A further row per entity under other keys."""

    partition_key: str | None = Field(default=None, description="Template; the entity's own PartitionKey if left out.")
    row_key: str = Field(description="Template.")
    copy_: Literal["full", "pointer"] = Field(
        default="full", alias="copy", description="full: all properties; pointer: only the keys of the entity."
    )


class KindModel(_Part):
    """One kind of entity in a table that holds several; without keys of its own it has those of the table."""

    partition_key: str | None = Field(default=None, description="Template of this kind's PartitionKey.")
    row_key: str | None = Field(default=None, description="Template of this kind's RowKey; may be ''.")
    index_rows: list[IndexRowModel] = Field(
        default_factory=list, description="Further rows of this kind; those of the table if it has no keys of its own."
    )
    properties: dict[str, PropertyModel] = Field(
        default_factory=dict, description="Inferred from the data if left out."
    )
    key_parts: dict[str, PropertyModel] = Field(
        default_factory=dict,
        description="Properties that are no column of the data: they are read from partition_key and row_key.",
    )
    entities_total: Count | None = Field(default=None, description="Entities of this kind in the whole table.")
    sampling: Literal["complete", "random-rows", "random-keys", "slice"] | None = Field(
        default=None, description="How the data of this kind was taken; as for the table if left out."
    )
    sampled_by: Texts = Field(default_factory=list, description="As for the table.")
    arrival: str | None = Field(default=None, description="As for the table.")


class TableModel(_Part):
    """One table: its keys, its properties, its workload."""

    partition_key: str | None = Field(default=None, description="Template of the current PartitionKey.")
    row_key: str | None = Field(default=None, description="Template of the current RowKey; may be ''.")
    index_rows: list[IndexRowModel] = Field(default_factory=list, description="Further rows of the current design.")
    properties: dict[str, PropertyModel] = Field(
        default_factory=dict, description="Inferred from the data if left out."
    )
    key_parts: dict[str, PropertyModel] = Field(
        default_factory=dict,
        description="Properties that are no column of the data: they are read from partition_key and row_key.",
    )
    entities_total: Count | None = Field(default=None, description="Entities in the table; the data set is a sample.")
    sampling: Literal["complete", "random-rows", "random-keys", "slice"] | None = Field(
        default=None,
        description="How the data set was taken from the table; deduced where it can be, if left out.",
    )
    sampled_by: Texts = Field(
        default_factory=list, description="With random-keys: the properties whose values were drawn, e.g. [station]."
    )
    arrival: str | None = Field(
        default=None, description="A time column, 'timestamp' (the system property) or 'file_order'."
    )
    kinds: dict[str, KindModel] = Field(default_factory=dict, description="Where the table holds several entity kinds.")
    queries: list[QueryModel] = Field(default_factory=list, description="Classes of queries.")
    writes: list[WriteModel] = Field(default_factory=list, description="Classes of writes.")
    transactions: list[TransactionModel] = Field(default_factory=list, description="Writes that belong together.")
    growth: GrowthModel | None = Field(default=None, description="How the load grows.")
    retention: DurationText | None = Field(default=None, description="How long an entity is kept.")
    isolation: str | None = Field(default=None, description="Property that must lead the PartitionKey, e.g. a tenant.")
    erase_by: str | None = Field(default=None, description="Property by whose value entities must be erasable.")
    retry: Literal["none", "fixed", "exponential"] | None = Field(
        default=None, description="How the clients retry a request that the service refused as busy."
    )
    consistency: str | None = Field(
        default=None,
        description="How rows that no group transaction covers are kept consistent: a queue with idempotent steps …",
    )

    def with_shared_properties(self) -> TableModel:
        """The table where each kind has the properties of the table besides its own."""
        if not self.kinds:
            return self
        every = {name: {**self.properties, **kind.properties} for name, kind in self.kinds.items()}
        kinds = {name: kind.model_copy(update={"properties": every[name]}) for name, kind in self.kinds.items()}
        return self.model_copy(update={"properties": {}, "kinds": kinds})


class DesignModel(_Part):
    """A design file of pkadvisor: the tables, their current keys and their declared workload."""

    schema_: Annotated[Literal[1], BeforeValidator(_no_bool)] = Field(
        alias="schema", description="Version of this format."
    )
    tables: dict[str, TableModel] = Field(min_length=1, description="By table name.")


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a design file; key order is that of the models."""
    schema = DesignModel.model_json_schema(by_alias=True)
    table = {"pattern": "^[A-Za-z][A-Za-z0-9]{2,62}$"}
    schema["properties"]["tables"]["propertyNames"] = table
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "pkadvisor design file"}
    return {**head, **{key: value for key, value in schema.items() if key != "title"}}

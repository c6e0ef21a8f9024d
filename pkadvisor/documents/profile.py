"""The document of ``advisor profile``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, said

ProfileEdm = Literal["String", "Int32", "Int64", "Double", "Boolean", "DateTime", "Guid", "Binary"]


ProfilePacked = Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/]*={0,2}$", extra_json_schema={"contentEncoding": "base64"})]


class ProfileDistinct(Part, frozen=True, kw_only=True):
    k: Annotated[int, Meta(ge=3)]
    hashes: ProfilePacked
    counted: Annotated[
        Count | UnsetType, said("The distinct values, where all were counted and there are more than k of them.")
    ] = UNSET


class ProfileProperty(Part, frozen=True, kw_only=True):
    name: str
    type: ProfileEdm
    present: Annotated[Count, said("Entities that have the property.")]
    missing: Count
    types: Annotated[list[tuple[ProfileEdm, Count]], said("Types of the values with the number of each.")]
    characters: Annotated[Count, said("Characters of all texts together.")]
    characters_max: Annotated[Count, said("Characters of the longest text.")]
    largest: Annotated[
        Count,
        said(
            "Greatest magnitude of a whole number; where values are hidden only its first digit is exact, then nines."
        ),
    ]
    distinct: Annotated[
        ProfileDistinct,
        said("The k smallest 64-bit hashes of the distinct values, ascending; all of them where there are fewer."),
    ]


class ProfileColumn(Part, frozen=True, kw_only=True):
    """Values by their place among the distinct ones."""

    name: str
    dtype: Annotated[
        Literal["string", "int32", "int64", "float64", "boolean", "datetime"],
        said("datetime: microseconds since 1970-01-01T00:00:00Z."),
    ]
    values: Annotated[
        list[bool | Number | str],
        said(
            "Distinct values, ascending; in a hidden column tokens of twelve letters, and the punctuation"
            " that the value holds."
        ),
    ]
    places: Annotated[
        ProfilePacked,
        said(
            "For each row 0 where it has no value, else the place from 1; two bytes each, four from 65,536 values on."
        ),
    ]


class ProfileSample(Part, frozen=True, kw_only=True):
    position: Annotated[ProfilePacked, said("Row numbers from 0, six bytes each.")]
    hash: Annotated[ProfilePacked, said("Hashes of the rows, eight bytes each.")]
    columns: list[ProfileColumn]


class ProfileData(Part, frozen=True, kw_only=True):
    name: str
    format: str
    rows: Annotated[Count, said("Entities read.")]
    threshold: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9]+$")] | None,
        said("The sample is the rows whose 64-bit hash is below this number; null: it is all rows."),
    ]
    sample_rows_max: Count
    hashed: Annotated[
        Annotated[list[str], Meta(extra_json_schema={"uniqueItems": True})], said("Properties whose values are tokens.")
    ]
    notes: list[str]
    properties: list[ProfileProperty]
    sample: Annotated[ProfileSample, said("Whole rows, in file order.")]
    dependencies: Annotated[
        list[Annotated[list[str], Meta(min_length=3, max_length=3)]] | UnsetType,
        said("Target, source and rule of each property that is a function of another."),
    ] = UNSET


class ProfileMinute(Part, frozen=True, kw_only=True):
    of_day: Annotated[
        bool, said("Minutes of the day, each with the count of its busiest day; else minutes since 1970 (UTC).")
    ]
    at: Annotated[
        Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})],
        said("Minutes, ascending, in four bytes each."),
    ]
    requests: Annotated[
        Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})], said("Requests, in four bytes each.")
    ]
    burst_at: Annotated[Count | None, said("The minute with the busiest second.")]


class ProfileBusy(Part, frozen=True, kw_only=True):
    """Requests of a class in minutes in which its table was asked for some value unusually often."""

    totals: Annotated[
        list[tuple[int, Amount]],
        said("Requests in each of the minutes: 64 times its start in seconds since 1970, plus 60; and their number."),
    ]
    rows: Annotated[
        list[ProfileColumn],
        said("Parameters seen, one column each; _span, the minute; and _requests, how many requests each stands for."),
    ]


class ProfileQueryClass(Part, frozen=True, kw_only=True):
    """Requests of one shape as logged; its goals where a design file declares them."""

    name: str
    operation: Literal["query", "insert", "update", "upsert", "delete"]
    filter: str | None
    order_by: list[tuple[str, bool]]
    top: Positive | None
    mean_per_s: Annotated[Amount, said("Requests per second over covered_s.")]
    peak_per_s: Annotated[Amount, said("Requests in the busiest second.")]
    peak_minute_per_s: Annotated[Amount | None, said("Requests per second over the busiest minute.")]
    basis: Literal[
        "counted", "sketched", "declared", "published", "derived", "measured", "estimated", "assumed", "unknown"
    ]
    kind: str | None
    latency_goal_ms_p99: Amount | None
    sets: Annotated[list[str], said("Properties that an update changes.")]
    read_modify_write: bool
    analytic: bool
    entities_per_request: Annotated[Amount, said("Above 1 in group transactions.")]
    instances: Annotated[
        list[ProfileColumn] | None,
        said(
            "Parameters seen, one column each; _weight, which sums to 1; and _came, the second since 1970, where the "
            "log has times. Null where none were."
        ),
    ]
    minutes: Annotated[
        ProfileMinute | UnsetType | None,
        said("Requests in each minute in which one came; null where the log has no times. Absent in older documents."),
    ] = UNSET
    busy: Annotated[ProfileBusy | UnsetType, said("Absent where no minute is unusual, and in older documents.")] = UNSET


class ProfileTransaction(Part, frozen=True, kw_only=True):
    name: str
    together: Annotated[list[str], said("Names of classes.")]
    group_by: Annotated[list[str], said("Properties that the entities of a transaction share.")]
    required: bool
    logged_entities: Annotated[
        Amount | None, said("Mean entities in a logged group transaction; null where none was logged.")
    ]
    pair: Annotated[
        Annotated[list[str], Meta(min_length=3, max_length=3)] | UnsetType,
        said("Of a transaction over pairs of values: the property and the names of the two."),
    ] = UNSET
    lasting_s: Annotated[
        list[tuple[str, Amount]] | UnsetType,
        said(
            "Of times that the keys of logged groups tell: the seconds within which the entities of nearly all groups "
            "lie. Absent in older documents."
        ),
    ] = UNSET


class ProfileWorkload(Part, frozen=True, kw_only=True):
    classes: list[ProfileQueryClass]
    transactions: list[ProfileTransaction]
    bursts_refused: Annotated[
        bool | UnsetType, said("Whether the log shows that requests of its busiest seconds were refused.")
    ] = UNSET


class ProfileTable(Part, frozen=True, kw_only=True):
    """One table, or one entity kind of it."""

    table: str
    kind: str | None
    covered_s: Annotated[Amount, said("Seconds that the logs cover; 0 without any.")]
    data: ProfileData | None
    workload: ProfileWorkload | None


class StoredProfile(Part, frozen=True, kw_only=True):
    """What data and query logs say, as one file that stands in for them and merges with others of the same key.
    Numbers packed as text are unsigned, big-endian, of a fixed width, in base64.
    """

    document: Literal["pkadvisor profile"]
    schema_version: Literal[2]
    tool_version: Annotated[str, said("Version of the program that made the profile.")]
    key_check: Annotated[
        Annotated[str, Meta(pattern=r"^[0-9a-f]{12}$")],
        said("Equal where values are hidden with the same key; only such profiles merge."),
    ]
    tables: list[ProfileTable]

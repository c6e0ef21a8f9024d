"""The document of ``advisor profile``."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from pkadvisor.documents.part import Amount, Count, Number, Part, Positive, said

ProfileEdm = Literal["String", "Int32", "Int64", "Double", "Boolean", "DateTime", "Guid", "Binary"]


ProfilePacked = Annotated[str, Meta(pattern=r"^[A-Za-z0-9+/]*={0,2}$", extra_json_schema={"contentEncoding": "base64"})]


class ProfileDistinct(Part, frozen=True, kw_only=True):
    """``counted``: The distinct values, where all were counted and there are more than k of them."""

    k: Annotated[int, Meta(ge=3)]
    hashes: ProfilePacked
    counted: Count | UnsetType = UNSET


class ProfileProperty(Part, frozen=True, kw_only=True):
    """``present``: Entities that have the property.
    ``types``: Types of the values with the number of each.
    ``characters``: Characters of all texts together.
    ``characters_max``: Characters of the longest text.
    ``largest``: Greatest magnitude of a whole number; where values are hidden only its first digit is exact, then
    nines.
    ``distinct``: The k smallest 64-bit hashes of the distinct values, ascending; all of them where there are fewer.
    """

    name: str
    type: ProfileEdm
    present: Count
    missing: Count
    types: list[tuple[ProfileEdm, Count]]
    characters: Count
    characters_max: Count
    largest: Count
    distinct: ProfileDistinct


class ProfileColumn(Part, frozen=True, kw_only=True):
    """Values by their place among the distinct ones.

    ``dtype``: datetime: microseconds since 1970-01-01T00:00:00Z.
    ``values``: Distinct values, ascending; in a hidden column tokens of twelve letters, and the punctuation that the
    value holds.
    """

    name: str
    dtype: Literal["string", "int32", "int64", "float64", "boolean", "datetime"]
    values: list[bool | Number | str]
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
    """``rows``: Entities read.
    ``threshold``: The sample is the rows whose 64-bit hash is below this number; null: it is all rows.
    ``sample``: Whole rows, in file order.
    ``dependencies``: Target, source and rule of each property that is a function of another.
    """

    name: str
    format: str
    rows: Count
    threshold: Annotated[str, Meta(pattern=r"^[0-9]+$")] | None
    sample_rows_max: Count
    hashed: Annotated[
        Annotated[list[str], Meta(extra_json_schema={"uniqueItems": True})], said("Properties whose values are tokens.")
    ]
    notes: list[str]
    properties: list[ProfileProperty]
    sample: ProfileSample
    dependencies: list[Annotated[list[str], Meta(min_length=3, max_length=3)]] | UnsetType = UNSET


class ProfileMinute(Part, frozen=True, kw_only=True):
    """``of_day``: Minutes of the day, each with the count of its busiest day; else minutes since 1970 (UTC).
    ``burst_at``: The minute with the busiest second.
    """

    of_day: bool
    at: Annotated[
        Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})],
        said("Minutes, ascending, in four bytes each."),
    ]
    requests: Annotated[
        Annotated[str, Meta(extra_json_schema={"contentEncoding": "base64"})], said("Requests, in four bytes each.")
    ]
    burst_at: Count | None


class ProfileBusy(Part, frozen=True, kw_only=True):
    """Requests of a class in minutes in which its table was asked for some value unusually often.

    ``totals``: Requests in each of the minutes: 64 times its start in seconds since 1970, plus 60; and their number.
    ``rows``: Parameters seen, one column each; _span, the minute; and _requests, how many requests each stands for.
    """

    totals: list[tuple[int, Amount]]
    rows: list[ProfileColumn]


class ProfileQueryClass(Part, frozen=True, kw_only=True):
    """Requests of one shape as logged; its goals where a design file declares them.

    ``mean_per_s``: Requests per second over covered_s.
    ``peak_per_s``: Requests in the busiest second.
    ``peak_minute_per_s``: Requests per second over the busiest minute.
    ``sets``: Properties that an update changes.
    ``entities_per_request``: Above 1 in group transactions.
    ``instances``: Parameters seen, one column each; _weight, which sums to 1; and _came, the second since 1970, where
    the log has times. Null where none were.
    ``minutes``: Requests in each minute in which one came; null where the log has no times. Absent in older documents.
    ``busy``: Absent where no minute is unusual, and in older documents.
    """

    name: str
    operation: Literal["query", "insert", "update", "upsert", "delete"]
    filter: str | None
    order_by: list[tuple[str, bool]]
    top: Positive | None
    mean_per_s: Amount
    peak_per_s: Amount
    peak_minute_per_s: Amount | None
    basis: Literal[
        "counted", "sketched", "declared", "published", "derived", "measured", "estimated", "assumed", "unknown"
    ]
    kind: str | None
    latency_goal_ms_p99: Amount | None
    sets: list[str]
    read_modify_write: bool
    analytic: bool
    entities_per_request: Amount
    instances: list[ProfileColumn] | None
    minutes: ProfileMinute | UnsetType | None = UNSET
    busy: ProfileBusy | UnsetType = UNSET


class ProfileTransaction(Part, frozen=True, kw_only=True):
    """``together``: Names of classes.
    ``group_by``: Properties that the entities of a transaction share.
    ``logged_entities``: Mean entities in a logged group transaction; null where none was logged.
    ``pair``: Of a transaction over pairs of values: the property and the names of the two.
    ``lasting_s``: Of times that the keys of logged groups tell: the seconds within which the entities of nearly all
    groups lie. Absent in older documents.
    """

    name: str
    together: list[str]
    group_by: list[str]
    required: bool
    logged_entities: Amount | None
    pair: Annotated[list[str], Meta(min_length=3, max_length=3)] | UnsetType = UNSET
    lasting_s: list[tuple[str, Amount]] | UnsetType = UNSET


class ProfileWorkload(Part, frozen=True, kw_only=True):
    """``bursts_refused``: Whether the log shows that requests of its busiest seconds were refused."""

    classes: list[ProfileQueryClass]
    transactions: list[ProfileTransaction]
    bursts_refused: bool | UnsetType = UNSET


class ProfileTable(Part, frozen=True, kw_only=True):
    """One table, or one entity kind of it.

    ``covered_s``: Seconds that the logs cover; 0 without any.
    """

    table: str
    kind: str | None
    covered_s: Amount
    data: ProfileData | None
    workload: ProfileWorkload | None


class StoredProfile(Part, frozen=True, kw_only=True):
    """What data and query logs say, as one file that stands in for them and merges with others of the same key.
    Numbers packed as text are unsigned, big-endian, of a fixed width, in base64.

    ``tool_version``: Version of the program that made the profile.
    ``key_check``: Equal where values are hidden with the same key; only such profiles merge.
    """

    document: Literal["pkadvisor profile"]
    schema_version: Literal[2]
    tool_version: str
    key_check: Annotated[str, Meta(pattern=r"^[0-9a-f]{12}$")]
    tables: list[ProfileTable]

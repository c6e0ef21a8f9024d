"""Entities of a data set that the Table service would refuse: values, numbers of properties and sizes over its limits.

Source of the limits: Understanding the Table service data model, https://learn.microsoft.com/rest/api/storageservices/
understanding-the-table-service-data-model: 64 KiB a String or Binary, 255 properties with the three of the system,
1 MiB an entity, and a DateTime from 1601 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.profile.data_profile import DataProfile, PropertyProfile
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType
from pkadvisor.values import dataclass

VALUE_BYTES = 65_536
"""Bytes of one String (two for a UTF-16 code unit) or Binary."""
PROPERTIES = 252
"""Properties of an entity beside PartitionKey, RowKey and Timestamp."""
ENTITY_BYTES = 1_048_576
YEAR_FIRST = 1601
"""Year of the first DateTime."""


@dataclass(frozen=True, slots=True)
class OverLimit:
    """What some entities have too much of: ``what`` (a property, or all of them), how many ``entities`` of it, the
    first ``row`` from 1 with its ``amount``, and the ``limit`` in ``unit``."""

    what: str
    entities: int
    row: int
    amount: int
    limit: int
    unit: str

    def sentence(self) -> str:
        """What is told, with what follows."""
        more = f", and {self.entities - 1:,} more" if self.entities > 1 else ""
        remedy = "store several as one text" if self.unit == "properties" else "keep such values in a blob"
        return (
            f"row {self.row:,}{more}: {self.what} has {self.amount:,} {self.unit} and the service takes {self.limit:,}"
            f": it refuses these entities; {remedy}"
        )


def refused(dataset: Dataset, data: DataProfile) -> tuple[str, ...]:
    """A sentence for each reason for which the service refuses some of the entities."""
    return (*(over.sentence() for over in over_limits(dataset, data.properties)), *too_early(data))


def over_limits(dataset: Dataset, properties: Sequence[PropertyProfile]) -> tuple[OverLimit, ...]:
    """Everything over a limit, over all rows; read again only where the largest values allow for it."""
    own = [p for p in properties if p.column.name not in SYSTEM_PROPERTIES]
    longest = {p.column.name: _bytes_most(p) for p in own}
    wide = [name for name, most in longest.items() if most > VALUE_BYTES]
    large = sum(longest.values()) > ENTITY_BYTES
    many = len(own) > PROPERTIES
    if not (wide or large or many):
        return ()
    names = list(longest) if large or many else wide
    seen: dict[tuple[str, str], OverLimit] = {}
    start = 0
    for batch in dataset.batches(names):
        for what, amounts, limit, unit in _amounts(batch, wide, names if large else [], names if many else []):
            over = (amounts > limit).fill_null(value=False)
            count = int(over.sum())
            if count:
                first = int(over.arg_true()[0])
                before = seen.get((what, unit))
                entities = count + (before.entities if before else 0)
                row, amount = (before.row, before.amount) if before else (start + first + 1, int(amounts[first]))
                seen[what, unit] = OverLimit(what, entities, row, amount, limit, unit)
        start += batch.height
    return tuple(seen.values())


def too_early(data: DataProfile) -> tuple[str, ...]:
    """A sentence for each time with values of years that the service does not have, such as the year 1 of a default,
    among the rows at hand."""
    out = []
    for name, dtype in data.sample.schema.items():
        if not isinstance(dtype, pl.Datetime):
            continue
        years = data.sample[name].dt.year()
        early = int((years < YEAR_FIRST).sum())
        if early:
            out.append(
                f"{name} of {early:,} of {data.sample.height:,} rows is before {YEAR_FIRST}, such as the year "
                f"{years.min()!s}: the service refuses such a DateTime; leave the property out there"
            )
    return tuple(out)


def _bytes_most(property_profile: PropertyProfile) -> int:
    """The most bytes of a value of a property: texts may hold two units for a character."""
    if property_profile.column.edm is EdmType.STRING:
        return 4 * property_profile.characters_max
    return property_profile.characters_max if property_profile.column.edm is EdmType.BINARY else 16


def _amounts(
    batch: pl.DataFrame, wide: Sequence[str], sized: Sequence[str], counted: Sequence[str]
) -> Iterator[tuple[str, pl.Series, int, str]]:
    """(what, its amount in each row, the limit, the unit) of what may be too much."""
    for name in wide:
        yield name, batch.select(_bytes(name, batch).alias("n")).to_series(), VALUE_BYTES, "bytes"
    if sized:
        total = pl.sum_horizontal(_bytes(name, batch).fill_null(0) for name in sized)
        yield "the entity", batch.select(total.alias("n")).to_series(), ENTITY_BYTES, "bytes"
    if counted:
        present = pl.sum_horizontal(pl.col(name).is_not_null().cast(pl.Int64) for name in counted)
        yield "the entity", batch.select(present.alias("n")).to_series(), PROPERTIES, "properties"


def _bytes(name: str, batch: pl.DataFrame) -> pl.Expr:
    """The bytes of a value as the service counts them."""
    dtype = batch.schema[name]
    if dtype == pl.String():
        text = pl.col(name)
        return 2 * (text.str.len_chars() + text.str.count_matches(r"[\x{10000}-\x{10FFFF}]")).cast(pl.Int64)
    if dtype == pl.Binary():
        return pl.col(name).bin.size().cast(pl.Int64)
    return pl.when(pl.col(name).is_not_null()).then(pl.lit(8, dtype=pl.Int64))

"""What a profile says of data: distinct values, lengths and magnitudes of each property, and a sample of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pkadvisor.lazy import pl
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.data.dataset import Column, Dataset, type_of_all
from pkadvisor.observe.data.sketches import DistinctSketch
from pkadvisor.table.edm import SYSTEM_PROPERTIES, EdmType
from pkadvisor.values import dataclass

# -- Entities of a data set that the Table service would refuse: values, numbers of properties and sizes over its
# limits.


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


@dataclass(frozen=True, slots=True)
class PropertyProfile:
    """One property over all rows. ``characters`` is the sum over present texts, ``largest`` the greatest magnitude."""

    column: Column
    distinct: DistinctSketch
    characters: int
    characters_max: int
    largest: int

    def merge(self, other: PropertyProfile) -> PropertyProfile:
        """The property over both sets of rows."""
        mine, theirs = self.column, other.column
        counts = Counter(dict(mine.types))
        counts.update(dict(theirs.types))
        edm = type_of_all({c.edm for c in (mine, theirs) if c.present} or {mine.edm})
        types = tuple(sorted(counts.items(), key=lambda t: (-t[1], t[0])))
        column = Column(mine.name, edm, mine.present + theirs.present, mine.missing + theirs.missing, types)
        return PropertyProfile(
            column,
            self.distinct.merge(other.distinct),
            self.characters + other.characters,
            max(self.characters_max, other.characters_max),
            max(self.largest, other.largest),
        )


KEYS_OF_LOG = "log"
"""The format of data that is nothing but the keys that a log names."""


@dataclass(frozen=True, slots=True)
class DataProfile:
    """A data set as knowledge.

    ``sample`` holds the rows whose hash is below ``threshold`` (all rows where that is None), in file order, with their
    ``POSITION`` and ``#hash``. ``hashed`` names the properties whose values in the sample are tokens, made with
    ``token_key`` where that is known.
    """

    name: str
    kind: str | None
    format: str
    rows: int
    properties: tuple[PropertyProfile, ...]
    sample: pl.DataFrame
    threshold: int | None
    sample_rows_max: int
    hashed: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    token_key: bytes | None = None
    wide: pl.DataFrame | None = None
    """More rows, to count partitions in; None where the sample is all that is kept. Profile files do not hold it."""
    dependencies: tuple[tuple[str, str, str], ...] = ()
    """(target, source, rule as a template) of properties that are functions of others, found before their values were
    hidden."""
    table: str = ""
    """The table whose ``kind`` this is, where it is known. Profile files hold it beside the data."""
    refused: tuple[str, ...] = ()
    """Why the service refuses some of the entities. Profile files do not hold it."""

    @property
    def complete(self) -> bool:
        """Whether the sample is every row."""
        return self.threshold is None

    @property
    def keys_of_log(self) -> bool:
        """Whether there is no data, and the rows are the keys that a log names."""
        return self.format == KEYS_OF_LOG

    @property
    def types(self) -> dict[str, EdmType]:
        """Property types."""
        return {p.column.name: p.column.edm for p in self.properties}

    def property(self, name: str) -> PropertyProfile:
        """One property; KeyError if there is none."""
        for property_profile in self.properties:
            if property_profile.column.name == name:
                return property_profile
        raise KeyError(name)

    def check(self) -> None:
        """The sample is within its bounds and in order; every count adds up."""
        assert self.sample.height <= self.rows
        assert self.complete == (self.sample.height == self.rows)
        assert self.sample.height <= self.sample_rows_max or self.complete
        for property_profile in self.properties:
            property_profile.distinct.check()
            assert property_profile.column.present + property_profile.column.missing == self.rows, (
                property_profile.column.name
            )


# -- What data are a sample of, where a design says how many entities there are and not how the data was taken.


ROWS_MIN = 50
"""Rows from which holes tell of the sampling: assumed."""
GROUP_ROWS = 3.0
"""Mean rows of a group from which holes in groups are holes."""
COVERED_LEAST = 0.5
"""The share of its numbers that a group holds, so that it is taken as whole; ``HOLES`` times what rows at random
would leave at the least."""
HOLES = 3.0
VALUES_MOST = 1_000
"""Distinct values of a tail that is no number, so that it is a closed set."""


@dataclass(frozen=True, slots=True)
class KnownSampling:
    """How data was taken: ``word`` and ``by`` as a design says it. ``basis``: declared, deduced, unknown, or whole
    (nobody says that the data is all of its table, and it is taken for that); ``why`` says from what it was deduced."""

    word: str
    by: tuple[str, ...] = ()
    basis: str = "declared"
    why: str = ""

    def sentence(self, rows: int, total: int) -> str:
        """What is told: what is scaled, by how much, and on which ground."""
        times = f"{amount(total / max(1, rows))}"
        head = f"{rows:,} of {total:,} entities were read"
        keys = ", ".join(self.by)
        scaled = {
            "random-rows": f"what agrees on a property counts {times} times (rows at random)",
            "random-keys": f"keys of {keys} count {times} times, and the rows of each once (keys at random)",
            "slice": f"nothing outside of the sampled slice is known; totals count {times} times (a slice)",
        }[self.word]
        ground = {"declared": "as declared", "deduced": f"deduced: {self.why}"}
        unknown = (
            "but nobody says how they were taken, and if they are all rows of some keys, these have no more rows than "
            "here: declare sampling"
        )
        return f"{head}: {scaled}, {ground.get(self.basis, unknown)}"


def deduced(
    frame: pl.DataFrame,
    types: Mapping[str, EdmType],
    total: int,
    named: Iterable[Sequence[str]],
    others: Mapping[str, int],
) -> KnownSampling:
    """How the rows of a frame were taken from ``total``, as far as they tell.

    ``named`` are sets of properties that requests fix, ``others`` the entities of other kinds by the property that is
    their key. Rows at random of unknown basis where nothing tells.
    """
    unknown = KnownSampling("random-rows", (), "unknown")
    share = frame.height / max(1, total)
    if frame.height < ROWS_MIN or share >= 1 / HOLES:
        return unknown
    for name, entities in sorted(others.items()):
        sampling = _by_other_kind(frame, name, entities, share)
        if sampling is not None:
            return sampling
    best: tuple[float, KnownSampling] | None = None
    for names in sorted({tuple(sorted({*each})) for each in named if each}):
        if not set(names) <= set(frame.columns):
            continue
        groups = frame.select(names).n_unique()
        if groups < 2 or frame.height / groups < GROUP_ROWS:
            continue
        for tail, covered in _tails(frame, types, names):
            if covered >= max(COVERED_LEAST, HOLES * share) and (best is None or covered > best[0]):
                why = f"each {', '.join(names)} has {100 * covered:.0f} % of the values of {tail} that it spans, and "
                why += f"{percent(share)} of the rows would leave holes"
                best = (covered, KnownSampling("random-keys", names, "deduced", why))
    return unknown if best is None else best[1]


def _by_other_kind(frame: pl.DataFrame, name: str, entities: int, share: float) -> KnownSampling | None:
    """By a kind whose key a property is: how many of its entities the rows name."""
    if name not in frame.columns:
        return None
    groups = frame.get_column(name).n_unique()
    if not groups or frame.height / groups < GROUP_ROWS:
        return None
    why = f"the rows name {groups:,} of {entities:,} values of {name}"
    if groups <= entities * min(0.5, share * 1.5):
        return KnownSampling("random-keys", (name,), "deduced", why)
    return KnownSampling("random-rows", (), "deduced", why) if groups >= 0.7 * entities else None


def _tails(frame: pl.DataFrame, types: Mapping[str, EdmType], names: Sequence[str]) -> Iterable[tuple[str, float]]:
    """The properties that are unique within the groups, with the share of what they span that the groups hold."""
    for tail in sorted(set(frame.columns) - set(names)):
        edm = types.get(tail)
        if edm is None or edm in (EdmType.DOUBLE, EdmType.BINARY, EdmType.DATETIME):
            continue
        column = frame.get_column(tail)
        if column.null_count() or frame.select(*names, tail).n_unique() < frame.height:
            continue
        if edm.integer:
            of_groups = frame.group_by(names).agg((pl.col(tail).max() - pl.col(tail).min() + 1).alias("span"))
            spanned = int(of_groups.get_column("span").cast(pl.Int64).sum())
        else:
            values = column.n_unique()
            spanned = values * frame.select(names).n_unique() if values <= VALUES_MOST else 0
        if spanned > 0:
            yield tail, frame.height / spanned

"""One pass over a data set: how many entities, what each property looks like, and a uniform sample of whole rows.

The sample is the rows with the smallest hashes. Which rows that is does not depend on their order or on how the data
is cut into parts, so that ``merge(profile(a), profile(b)) == profile(a + b)``, exactly, where the parts agree on the
type of each property. Distinct values per property are estimated from the smallest hashes of values (bottom-k, relative
standard error 1 ÷ √(k - 2)), exact while they fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pkadvisor.observe.dataset import Column
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.observe.dataset import Dataset

SAMPLE_ROWS = 100_000
DISTINCT_K = 512
POSITION = "#position"
"""Column of the sample: the row's place in the data set, from 0."""
_IS, _END = "\x1f", "\x1e"


@dataclass(frozen=True, slots=True)
class DistinctSketch:
    """The smallest hashes of the distinct values of a property, ascending; all of them while fewer than ``k``."""

    hashes: tuple[int, ...]
    k: int = DISTINCT_K

    def estimate(self) -> float:
        """Distinct values: exact below ``k``, else (k - 1) ÷ the k-th smallest hash as a share of the hash space."""
        if len(self.hashes) < self.k:
            return float(len(self.hashes))
        return (self.k - 1) / ((self.hashes[self.k - 1] + 1) / 2**64)

    @property
    def relative_error(self) -> float:
        """Relative standard error; 0 where exact."""
        return 0.0 if len(self.hashes) < self.k else float((self.k - 2) ** -0.5)

    def merge(self, other: DistinctSketch) -> DistinctSketch:
        """The sketch of both sets of values together."""
        if self.k != other.k:
            raise ValueError(f"sketches of {self.k} and {other.k} hashes cannot merge")
        return DistinctSketch(tuple(sorted({*self.hashes, *other.hashes})[: self.k]), self.k)

    def check(self) -> None:
        """Ascending, distinct, at most ``k``."""
        assert list(self.hashes) == sorted(set(self.hashes))
        assert len(self.hashes) <= self.k


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
        counts: dict[EdmType, int] = dict(mine.types)
        for edm, count in theirs.types:
            counts[edm] = counts.get(edm, 0) + count
        edm = mine.edm if mine.present or not theirs.present else theirs.edm
        if mine.present and theirs.present and mine.edm is not theirs.edm:
            numbers = {mine.edm, theirs.edm}
            edm = _wider(numbers) if all(e.numeric for e in numbers) else EdmType.STRING
        types = tuple(sorted(counts.items(), key=lambda t: (-t[1], t[0])))
        column = Column(mine.name, edm, mine.present + theirs.present, mine.missing + theirs.missing, types)
        return PropertyProfile(
            column,
            self.distinct.merge(other.distinct),
            self.characters + other.characters,
            max(self.characters_max, other.characters_max),
            max(self.largest, other.largest),
        )


def _wider(edms: set[EdmType]) -> EdmType:
    return next(e for e in (EdmType.DOUBLE, EdmType.INT64, EdmType.INT32) if e in edms)


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

    @property
    def complete(self) -> bool:
        """Whether the sample is every row."""
        return self.threshold is None

    @property
    def types(self) -> dict[str, EdmType]:
        """Property types."""
        return {p.column.name: p.column.edm for p in self.properties}

    def property(self, name: str) -> PropertyProfile:
        """One property; KeyError if there is none."""
        for found in self.properties:
            if found.column.name == name:
                return found
        raise KeyError(name)

    def check(self) -> None:
        """The sample is within its bounds and in order; every count adds up."""
        assert self.sample.height <= self.rows
        assert self.complete == (self.sample.height == self.rows)
        assert self.sample.height <= self.sample_rows_max or self.complete
        for found in self.properties:
            found.distinct.check()
            assert found.column.present + found.column.missing == self.rows, found.column.name


class ProfileFold:
    """Takes batches, gives a profile. Mutable; one data set, one fold."""

    def __init__(self, columns: Iterable[Column], sample_rows_max: int = SAMPLE_ROWS, seed: int = 0) -> None:
        self.seed = seed
        self.columns = tuple(columns)
        self.sample_rows_max = sample_rows_max
        self.rows = 0
        self._kept: list[pl.DataFrame] = []
        self._kept_rows = 0
        self._threshold: int | None = None
        self._distinct: dict[str, set[int]] = {c.name: set() for c in self.columns}
        self._distinct_top: dict[str, int] = {}
        self._characters = {c.name: 0 for c in self.columns}
        self._longest = {c.name: 0 for c in self.columns}
        self._largest = {c.name: 0 for c in self.columns}

    def add(self, batch: pl.DataFrame) -> None:
        """The next rows, in file order."""
        import polars as pl

        texts = [canonical_column(batch, c.name, c.edm) for c in self.columns]
        for column, text in zip(self.columns, texts, strict=True):
            self._measure(column, batch, text)
        hashes = row_hashes(pl.DataFrame(texts), self.seed)
        batch = batch.with_columns(
            pl.Series("#hash", hashes, dtype=pl.UInt64),
            pl.int_range(self.rows, self.rows + batch.height, dtype=pl.Int64).alias(POSITION),
        )
        self.rows += batch.height
        if self._threshold is not None:
            batch = batch.filter(pl.col("#hash") < self._threshold)
        self._kept.append(batch)
        self._kept_rows += batch.height
        if self._kept_rows > 2 * self.sample_rows_max:
            self._cut()

    def _measure(self, column: Column, batch: pl.DataFrame, text: pl.Series) -> None:
        import polars as pl

        name = column.name
        if column.edm in (EdmType.STRING, EdmType.BINARY):
            lengths = text.str.len_chars().cast(pl.Int64)
            self._characters[name] += int(lengths.sum() or 0)
            longest = lengths.max()
            if isinstance(longest, int):
                self._longest[name] = max(self._longest[name], longest)
        if column.edm.integer:
            numbers = batch.get_column(name)
            low, high = numbers.min(), numbers.max()
            for bound in (low, high):
                if isinstance(bound, int):
                    self._largest[name] = max(self._largest[name], abs(bound))
        import xxhash

        kept, top = self._distinct[name], self._distinct_top.get(name, 2**64)
        digest = xxhash.xxh3_64_intdigest
        for value in text.drop_nulls().unique().to_list():
            number = digest(value.encode("utf-8", "surrogatepass"), self.seed)
            if number < top:
                kept.add(number)
        if len(kept) > 4 * DISTINCT_K:
            smallest = sorted(kept)[:DISTINCT_K]
            self._distinct[name], self._distinct_top[name] = set(smallest), smallest[-1] + 1

    def _cut(self) -> None:
        """Keep the rows with the smallest hashes; rows with equal hashes stay or go together."""
        import polars as pl

        whole = pl.concat(self._kept)
        whole, self._threshold = bounded(whole, self._threshold, self.sample_rows_max)
        self._kept, self._kept_rows = [whole], whole.height

    def result(self, name: str, kind: str | None, format_name: str, notes: tuple[str, ...]) -> DataProfile:
        """The profile of everything added."""
        import polars as pl

        if self._kept_rows > self.sample_rows_max:
            self._cut()
        sample = pl.concat(self._kept) if self._kept else pl.DataFrame()
        found = DataProfile(
            name,
            kind,
            format_name,
            self.rows,
            tuple(self._property(c) for c in self.columns),
            sample,
            self._threshold,
            self.sample_rows_max,
            notes=notes,
        )
        found.check()
        return found

    def _property(self, column: Column) -> PropertyProfile:
        name = column.name
        sketch = DistinctSketch(tuple(sorted(self._distinct[name])[:DISTINCT_K]))
        return PropertyProfile(column, sketch, self._characters[name], self._longest[name], self._largest[name])


def bounded(rows: pl.DataFrame, threshold: int | None, most: int) -> tuple[pl.DataFrame, int | None]:
    """(rows of the smallest hashes, at most ``most``, in order; the threshold): groups of equal rows are never divided.

    The threshold is the smallest hash left out, an order statistic of all rows: cuts of parts and of the whole agree.
    """
    import polars as pl

    if rows.height <= most:
        return rows, threshold
    threshold = int(rows.get_column("#hash").sort()[most])
    return rows.filter(pl.col("#hash") < threshold), threshold


def canonical_column(frame: pl.DataFrame, name: str, edm: EdmType) -> pl.Series:
    """The values of a property as text, null where missing: what is hashed."""
    import polars as pl

    column = frame.get_column(name)
    if edm is EdmType.DATETIME:
        return column.dt.epoch("us").cast(pl.String)
    if edm is EdmType.BINARY:
        return column.bin.encode("hex")
    text = column.cast(pl.String)
    # A number is the same whatever holds it: one part of the data may have found whole numbers only.
    return text.str.strip_suffix(".0") if column.dtype == pl.Float64 else text


def row_hashes(texts: pl.DataFrame, seed: int = 0) -> list[int]:
    """A hash of what each row has, whatever others have: the same on every machine and for every cut of the data."""
    import polars as pl
    import xxhash

    digest = xxhash.xxh3_64_intdigest
    named = [pl.concat_str(pl.lit(name + _IS), pl.col(name)) for name in sorted(texts.columns)]
    joined = texts.select(pl.concat_str(named, separator=_END, ignore_nulls=True).alias("row")).to_series()
    return [digest(row.encode("utf-8", "surrogatepass"), seed) for row in joined.to_list()]


def profile_dataset(
    dataset: Dataset,
    sample_rows_max: int = SAMPLE_ROWS,
    *,
    seed: int = 0,
    advance: Callable[[int], None] = lambda n: None,
) -> DataProfile:
    """The profile of a data set in one streaming pass; ``advance`` hears of the rows read."""
    fold = ProfileFold(dataset.columns, sample_rows_max, seed)
    for batch in dataset.batches():
        fold.add(batch)
        advance(batch.height)
    return fold.result(dataset.name, dataset.kind, dataset.format, dataset.notes)


def merge_data(first: DataProfile, second: DataProfile) -> DataProfile:
    """The profile of both data sets, ``second`` after ``first``; ValueError where they cannot belong together."""
    import polars as pl

    if first.kind != second.kind:
        raise ValueError(f"profiles of the kinds '{first.kind}' and '{second.kind}' cannot merge")
    mine = {p.column.name: p for p in first.properties}
    theirs = {p.column.name: p for p in second.properties}
    unlike = sorted((first.hashed ^ second.hashed) & mine.keys() & theirs.keys())
    if unlike:
        raise ValueError(f"one profile hides the values of '{unlike[0]}' and another one shows them")
    properties = []
    for name in dict.fromkeys([*mine, *theirs]):
        left = mine.get(name) or _absent(theirs[name], first.rows)
        right = theirs.get(name) or _absent(mine[name], second.rows)
        properties.append(left.merge(right))
    most = min(first.sample_rows_max, second.sample_rows_max)
    thresholds = [t for t in (first.threshold, second.threshold) if t is not None]
    threshold = min(thresholds) if thresholds else None
    moved = second.sample.with_columns(pl.col(POSITION) + first.rows)
    rows = pl.concat(_alike(first.sample, moved, mine, theirs), how="diagonal_relaxed")
    if threshold is not None:
        rows = rows.filter(pl.col("#hash") < threshold)
    rows, threshold = bounded(rows, threshold, most)
    return replace(
        first,
        rows=first.rows + second.rows,
        properties=tuple(properties),
        sample=rows,
        threshold=threshold,
        sample_rows_max=most,
        hashed=first.hashed | second.hashed,
        notes=tuple(dict.fromkeys([*first.notes, *second.notes])),
    )


def _alike(
    left: pl.DataFrame,
    right: pl.DataFrame,
    mine: Mapping[str, PropertyProfile],
    theirs: Mapping[str, PropertyProfile],
) -> list[pl.DataFrame]:
    """Both samples, a property as text in both where its types differ; numbers widen by themselves."""
    for name in sorted(mine.keys() & theirs.keys()):
        dtypes = {left.schema[name], right.schema[name]}
        if len(dtypes) > 1 and not all(d.is_numeric() for d in dtypes):
            left = left.with_columns(canonical_column(left, name, mine[name].column.edm))
            right = right.with_columns(canonical_column(right, name, theirs[name].column.edm))
    return [left, right]


def _absent(of: PropertyProfile, rows: int) -> PropertyProfile:
    """A property that a data set lacks."""
    column = Column(of.column.name, of.column.edm, 0, rows, ())
    return PropertyProfile(column, DistinctSketch(()), 0, 0, 0)

"""One pass over a data set: how many entities, what each property looks like, and a uniform sample of whole rows.

The sample is the rows with the smallest hashes. Which rows that is does not depend on their order or on how the data
is cut into parts, so that ``merge(profile(a), profile(b)) == profile(a + b)``, exactly, where the parts agree on the
type of each property. Distinct values per property are estimated from the smallest hashes of values (bottom-k, relative
standard error 1 ÷ √(k - 2)), exact while they fit. Hashes are those of ``sketches``.

A second, wider sample serves counting alone (which partitions a key would make and how large the largest is): as many
rows as fit a budget of rows and of bytes, taken by the same hashes in the same pass. The rows looked at closely are
those of it with the smallest hashes.
"""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.errors import InputError
from pkadvisor.lazy import U64, Ints, np, pl
from pkadvisor.observe.data.dataset import Column, Dataset
from pkadvisor.observe.data.sketches import DistinctSketch, K, combined, distinct, presence, value_hashes
from pkadvisor.observe.profile.data_profile import DataProfile, PropertyProfile
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future

SAMPLE_ROWS = 100_000
"""Rows that every key is judged on, in full."""
WIDE_ROWS = 1_000_000
"""Rows in which partitions are counted: a share p is within 4 √(p (1 - p) ÷ rows), at most 0.2 %, of the truth."""
WIDE_BYTES = 256 << 20
"""Bytes of values that the wide sample may hold."""
POSITION = "#position"
"""Column of the sample: the row's place in the data set, from 0."""
THREADS = 2
"""Batches hashed at a time."""
_SEEN = 16
"""Bits of a hash that find its place in the table of hashes seen lately."""


class _Smallest:
    """The ``k`` smallest distinct hashes of a stream of them, in bounded memory."""

    def __init__(self, k: int) -> None:
        self.k = k
        self._top = np.uint64(2**64 - 1)
        self._kept: list[U64] = [np.empty(0, dtype=np.uint64)]
        self._pending = 0
        self._seen = np.zeros(1 << _SEEN, dtype=np.uint64)

    def new(self, hashes: U64) -> U64:
        """Those that may count: not beyond the largest kept, and not seen lately, so that few values cost little.

        Any thread may ask: what it misses of another's work is only kept twice for a while.
        """
        hashes = hashes[hashes <= self._top]
        new: U64 = hashes[self._seen[hashes >> np.uint64(64 - _SEEN)] != hashes]
        return new

    def add(self, hashes: U64) -> None:
        """More hashes."""
        new = self.new(hashes)
        if not len(new):
            return
        self._seen[new >> np.uint64(64 - _SEEN)] = new
        self._kept.append(new)
        self._pending += len(new)
        if self._pending > 4 * self.k:
            self.result()

    def result(self) -> U64:
        """The hashes, ascending."""
        # The table's empty places hold 0, which would hide a hash of 0: it is one of 2^64.
        smallest = distinct(np.concatenate(self._kept))[: self.k]
        if len(smallest) == self.k:
            self._top = smallest[-1]
        self._kept, self._pending = [smallest], len(smallest)
        return smallest


@dataclass(frozen=True, slots=True)
class _Measured:
    """What a batch tells: its rows that may belong to the sample, and of each property what is new."""

    rows: int
    kept: pl.DataFrame
    columns: tuple[tuple[str, U64, int, int, int], ...]
    """Name, hashes of values, characters in all and at most, the greatest magnitude."""


class ProfileFold:
    """Takes batches, gives a profile. Mutable; one data set, one fold.

    ``wide_rows_max`` and ``wide_bytes_max`` bound the wide sample; none is kept where it would not be wider.
    """

    def __init__(
        self,
        columns: Iterable[Column],
        sample_rows_max: int = SAMPLE_ROWS,
        seed: int = 0,
        *,
        wide_rows_max: int = 0,
        wide_bytes_max: int = WIDE_BYTES,
    ) -> None:
        self.seed = seed
        self.columns = tuple(columns)
        self.sample_rows_max = sample_rows_max
        self.rows_max = max(sample_rows_max, wide_rows_max)
        self.bytes_max = wide_bytes_max
        self.rows = 0
        self._kept: list[pl.DataFrame] = []
        self._kept_rows = 0
        self._threshold: int | None = None
        self._distinct = {c.name: _Smallest(K) for c in self.columns}
        self._characters = {c.name: 0 for c in self.columns}
        self._longest = {c.name: 0 for c in self.columns}
        self._largest = {c.name: 0 for c in self.columns}

    def add(self, batch: pl.DataFrame) -> None:
        """The next rows, in file order."""
        self.fold(self.measure(batch, self.rows))

    def measure(self, batch: pl.DataFrame, start: int) -> _Measured:
        """What a batch whose first row has the number ``start`` tells. Changes nothing: any thread may do it."""
        hashed, columns = {}, []
        for column in self.columns:
            values = batch.get_column(column.name)
            hashes, present = value_hashes(values, self.seed), presence(values)
            hashed[column.name] = (hashes, present)
            new = self._distinct[column.name].new(hashes if present is None else hashes[present])
            columns.append((column.name, new, *_sizes(column, values)))
        frame = batch.with_columns(
            pl.Series("#hash", combined(hashed, batch.height), dtype=pl.UInt64),
            pl.int_range(start, start + batch.height, dtype=pl.Int64).alias(POSITION),
        )
        if self._threshold is not None:  # an earlier one only keeps more
            frame = frame.filter(pl.col("#hash") < self._threshold)
        return _Measured(batch.height, frame, tuple(columns))

    def fold(self, measured: _Measured) -> None:
        """Add what the next batch tells, in file order."""
        for name, hashes, characters, longest, largest in measured.columns:
            self._distinct[name].add(hashes)
            self._characters[name] += characters
            self._longest[name] = max(self._longest[name], longest)
            self._largest[name] = max(self._largest[name], largest)
        self.rows += measured.rows
        frame = measured.kept
        if self._threshold is not None:
            frame = frame.filter(pl.col("#hash") < self._threshold)
        self._kept.append(own_buffers(frame) if frame.height < measured.rows else frame)
        self._kept_rows += frame.height
        if self._kept_rows > self.rows_max + self.rows_max // 4:
            self._cut()

    def _cut(self) -> None:
        """Keep the rows with the smallest hashes; rows with equal hashes stay or go together."""
        whole = pl.concat(self._kept)
        whole, self._threshold = bounded(whole, self._threshold, self._most(whole))
        self._kept, self._kept_rows = [own_buffers(whole)], whole.height

    def _most(self, rows: pl.DataFrame) -> int:
        """How many rows fit: in order of their hashes, as long as the budgets last, but all that are judged on.

        A row that fits among all rows fits among any part of them, so that early cuts change nothing.
        """
        if rows.height <= self.sample_rows_max:
            return self.rows_max
        sizes = row_bytes(rows.select(c.name for c in self.columns))
        if int(sizes.sum()) <= self.bytes_max:
            return self.rows_max
        order = np.argsort(rows.get_column("#hash").to_numpy(), kind="stable")
        fit = int(np.searchsorted(np.cumsum(sizes[order]), self.bytes_max, side="right"))
        return max(self.sample_rows_max, min(self.rows_max, fit))

    def result(self, name: str, kind: str | None, format_name: str, notes: tuple[str, ...]) -> DataProfile:
        """The profile of everything added."""
        if self._kept_rows > self.sample_rows_max:
            self._cut()
        wide = pl.concat(self._kept) if self._kept else pl.DataFrame()
        sample, threshold = bounded(wide, self._threshold, self.sample_rows_max)
        profile = DataProfile(
            name,
            kind,
            format_name,
            self.rows,
            tuple(self._property(c) for c in self.columns),
            sample,
            threshold,
            self.sample_rows_max,
            notes=notes,
            wide=wide if sample.height < wide.height else None,
        )
        profile.check()
        return profile

    def _property(self, column: Column) -> PropertyProfile:
        name = column.name
        sketch = DistinctSketch(tuple(self._distinct[name].result().tolist()))
        return PropertyProfile(column, sketch, self._characters[name], self._longest[name], self._largest[name])


def own_buffers(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows in buffers of their own: polars keeps all texts of a frame for the few rows taken of it."""
    columns = []
    for column in frame.iter_columns():
        if column.dtype in (pl.String, pl.Binary):
            (column,) = pl.DataFrame.deserialize(io.BytesIO(column.to_frame().serialize())).iter_columns()
        columns.append(column)
    return pl.DataFrame(columns)


def _sizes(column: Column, values: pl.Series) -> tuple[int, int, int]:
    """Characters in all and at most, of texts; the greatest magnitude, of whole numbers."""
    if column.edm.integer:
        return 0, 0, max((abs(b) for b in (values.min(), values.max()) if isinstance(b, int)), default=0)
    if column.edm not in (EdmType.STRING, EdmType.BINARY):
        return 0, 0, 0
    lengths = values.bin.size() * 2 if values.dtype == pl.Binary else values.str.len_chars()
    longest = lengths.max()
    return int(lengths.cast(pl.Int64).sum() or 0), longest if isinstance(longest, int) else 0, 0


def row_bytes(rows: pl.DataFrame) -> Ints:
    """Bytes of the values of each row: those of texts and bytes, and sixteen for each value."""
    total = np.full(rows.height, 16 * rows.width, dtype=np.int64)
    for column in rows.iter_columns():
        if column.dtype in (pl.String, pl.Binary):
            sizes = column.str.len_bytes() if column.dtype == pl.String else column.bin.size()
            total += sizes.fill_null(0).to_numpy().astype(np.int64)
    return total


def bounded(rows: pl.DataFrame, threshold: int | None, most: int) -> tuple[pl.DataFrame, int | None]:
    """(rows of the smallest hashes, at most ``most``, in order; the threshold): groups of equal rows are never divided.

    The threshold is the smallest hash left out, an order statistic of all rows: cuts of parts and of the whole agree.
    """
    if rows.height <= most:
        return rows, threshold
    threshold = int(np.partition(rows.get_column("#hash").to_numpy(), most)[most])
    return rows.filter(pl.col("#hash") < threshold), threshold


def canonical_column(frame: pl.DataFrame, name: str, edm: EdmType) -> pl.Series:
    """The values of a property as text, null where missing: what is hashed."""
    column = frame.get_column(name)
    if edm is EdmType.DATETIME:
        return column.dt.epoch("us").cast(pl.String)
    if edm is EdmType.BINARY:
        return column.bin.encode("hex")
    text = column.cast(pl.String)
    # A number is the same whatever holds it: one part of the data may have found whole numbers only.
    return text.str.strip_suffix(".0") if column.dtype == pl.Float64 else text


def profile_dataset(
    dataset: Dataset,
    sample_rows_max: int = SAMPLE_ROWS,
    *,
    seed: int = 0,
    wide_rows_max: int = 0,
    advance: Callable[[int], None] = lambda n: None,
) -> DataProfile:
    """The profile of a data set in one streaming pass; ``advance`` hears of the rows read."""
    from concurrent.futures import ThreadPoolExecutor

    fold = ProfileFold(dataset.columns, sample_rows_max, seed, wide_rows_max=wide_rows_max)
    with ThreadPoolExecutor(THREADS) as threads:
        waiting: deque[Future[_Measured]] = deque()

        def take(most: int) -> None:
            while len(waiting) > most:
                measured = waiting.popleft().result()
                fold.fold(measured)
                advance(measured.rows)

        start = 0
        for batch in dataset.batches():
            waiting.append(threads.submit(fold.measure, batch, start))
            start += batch.height
            take(THREADS)
        take(0)
    if any(column.present + column.missing != start for column in dataset.columns):
        what = f"the file is damaged: its columns are of other lengths than the {start:,} rows that can be read"
        raise InputError(what, where=dataset.name, fix="copy the file again")
    return fold.result(dataset.name, dataset.kind, dataset.format, dataset.notes)


def merge_data(first: DataProfile, second: DataProfile) -> DataProfile:
    """The profile of both data sets, ``second`` after ``first``; ValueError where they cannot belong together."""
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
        dependencies=tuple(d for d in first.dependencies if d in second.dependencies),
        wide=None,
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

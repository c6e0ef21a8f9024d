"""The pieces that ``traffic_fold`` is made of: hashes, a sliding window, a histogram, heavy hitters, samples.

All work on numpy arrays or polars frames, hold bounded memory, and give the same result for the same rows in the same
order. Sums are of integers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pkadvisor.lazy import U64, Bools, Ints, NDArray, np, pl
from pkadvisor.splitmix import mixed_words

_WORDS_BYTES: Final = 40


def text_hashes(texts: pl.Series) -> U64:
    """A 64-bit hash of each text, the same on every machine and in every version; 0 for null.

    Texts of 8 to 40 bytes (request ids are 36) are hashed in bulk, as words of 8 bytes, the last of which may overlap
    the one before; shorter and longer ones by xxh3.
    """
    import xxhash

    size = texts.str.len_bytes()
    hashed = np.zeros(len(texts), dtype=np.uint64)
    lengths = [] if texts.null_count() == len(texts) else size.unique().drop_nulls().sort().to_list()
    for length in lengths:
        if not 8 <= length <= _WORDS_BYTES:
            continue
        everything = len(lengths) == 1 and not texts.null_count()
        mine = None if everything else (size == length).fill_null(False)
        part = texts if mine is None else texts.filter(mine)
        places = [*range(0, length - 7, 8), *([length - 8] if length % 8 else [])]
        table = part.cast(pl.Binary).bin.reinterpret(dtype=pl.Array(pl.UInt8, length), endianness="little").to_numpy()
        table = np.ascontiguousarray(table)
        hashes = np.full(len(part), length, dtype=np.uint64)
        for at in places:
            word = np.ndarray((len(part),), dtype="<u8", buffer=table, offset=at, strides=(length,))
            hashes = mixed_words(hashes ^ word)
        if mine is None:
            return hashes
        hashed[mine.to_numpy()] = hashes
    rest = ((size < 8) | (size > _WORDS_BYTES)).fill_null(False)
    if rest.any():
        hashed[rest.to_numpy()] = [
            xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass")) for text in texts.filter(rest)
        ]
    return hashed


def among(values: U64, few: U64) -> Bools:
    """Which values are one of a few."""
    if not len(few):
        return np.zeros(len(values), dtype=bool)
    member: Bools = pl.Series(values).is_in(pl.Series(few).implode()).to_numpy()
    return member


def counted(keys: Ints, size: int) -> tuple[Ints, Ints]:
    """Distinct keys (all in 0 … size − 1), ascending, and how often each occurs."""
    if 0 < size <= 1 << 21:
        counts = np.bincount(keys, minlength=size)
        present = np.flatnonzero(counts)
        return present, counts[present]
    distinct, often = np.unique(keys, return_counts=True)
    return distinct, often.astype(np.int64)


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with texts of its own: a slice of a column otherwise keeps the texts of its whole log block alive."""
    # Putting a character before a text writes it anew; taking that character away shares the new text.
    return frame.with_columns((pl.lit(".") + pl.col(pl.String)).str.slice(1).name.keep())


def limits_of(limits: Mapping[int, int], size: int) -> U64:
    """For each number below ``size`` its limit, the greatest hash where it has none."""
    out = np.full(size, (1 << 64) - 1, dtype=np.uint64)
    for number, limit in limits.items():
        if number < size:
            out[number] = limit
    return out


FAN_IN: Final = 8


class HeavyHitters:
    """The most frequent texts of each group with an error bound (Misra and Gries 1982, in batches).

    Exact while a group has at most ``keys_max`` distinct texts. Beyond, every kept count is too low by at most the
    group's ``error``, and a text that is missing occurred at most that often.
    """

    def __init__(self, keys_max: int) -> None:
        self._keys_max = keys_max
        self._held = pl.DataFrame(schema={"group": pl.UInt32, "text": pl.String, "n": pl.Int64})
        self._pending: list[pl.DataFrame] = []
        self._pending_rows = 0
        self.error: dict[int, int] = {}
        self.totals: dict[int, int] = {}

    def add(self, counts: pl.DataFrame) -> None:
        """Add counts: group (UInt32), text (String), n (Int64); a text may come again."""
        for group, n in counts.group_by("group").agg(pl.col("n").sum()).iter_rows():
            self.totals[group] = self.totals.get(group, 0) + n
        self._pending.append(compact(counts))
        self._pending_rows += counts.height
        if self._pending_rows > max(self._keys_max, self._held.height):
            self._compact()

    def _compact(self) -> None:
        if not self._pending:
            return
        held = pl.concat([self._held, *self._pending]).group_by("group", "text").agg(pl.col("n").sum())
        self._pending, self._pending_rows = [], 0
        sizes = held.group_by("group").len().filter(pl.col("len") > self._keys_max)["group"].sort()
        for group in sizes:
            counts = held.filter(pl.col("group") == group)["n"].sort(descending=True)
            cut = int(counts[self._keys_max])
            self.error[group] = self.error.get(group, 0) + cut
            mine = pl.col("group") == group
            held = held.with_columns(n=pl.when(mine).then(pl.col("n") - cut).otherwise(pl.col("n")))
            held = held.filter(pl.col("n") > 0)
        self._held = held.rechunk()

    def held(self) -> pl.DataFrame:
        """Group, text, n: by group, the most frequent first, ties in order of the text."""
        self._compact()
        return self._held.sort(["group", "n", "text"], descending=[False, True, False])


class BottomK:
    """A uniform sample of rows in each class: those with the smallest hashes.

    At most ``per_class`` rows of a class, at most ``per_table`` of a table: where that binds, all its classes get the
    same smaller bound. Which rows are kept depends on the rows alone.
    """

    def __init__(self, per_class: int, per_table: int) -> None:
        self._per_class = per_class
        self._per_table = per_table
        self._held: pl.DataFrame | None = None
        self._pending: list[pl.DataFrame] = []
        self._pending_rows = 0
        self._limit: dict[int, int] = {}  # of a class: the largest hash that can still enter

    def wanted(self, classes: NDArray[np.int32], hashes: U64) -> Bools:
        """Which rows can still enter the sample."""
        if not self._limit:
            return np.ones(len(hashes), dtype=bool)
        below: Bools = hashes < limits_of(self._limit, int(classes.max(initial=0)) + 1)[classes]
        return below

    def add(self, rows: pl.DataFrame) -> None:
        """Offer rows: table (UInt32), class (UInt32), hash (UInt64) and whatever a sample should tell."""
        if self._held is None:
            self._pending.append(rows)
            self._pending_rows += rows.height
            self._prune()
            self._held = compact(self._held) if self._held is not None else None
            return
        self._pending.append(compact(rows))
        self._pending_rows += rows.height
        if self._pending_rows > self._per_table:
            self._prune()

    def _prune(self) -> None:
        if not self._pending_rows:
            return
        held = pl.concat(self._pending if self._held is None else [self._held, *self._pending])
        self._pending, self._pending_rows = [], 0
        held = held.sort("class", "hash", "op_number", maintain_order=True).with_columns(
            place=pl.int_range(pl.len()).over("class")
        )
        held = held.filter(pl.col("place") < self._per_class)
        sizes = held.group_by("table", "class").len().sort("table", "class")
        bounds: dict[int, int] = {}
        for (table,), part in sizes.group_by("table", maintain_order=True):
            bounds[int(table)] = even_bound(part["len"].to_list(), self._per_table, self._per_class)
        held = held.filter(pl.col("place") < pl.col("table").replace_strict(bounds, return_dtype=pl.Int64)).drop(
            "place"
        )
        self._limit = {}
        for (code,), part in held.group_by("class", maintain_order=True):
            if part.height >= bounds[int(part["table"][0])]:
                self._limit[int(code)] = int(part["hash"][-1])
        self._held = held.rechunk()

    def rows(self) -> pl.DataFrame | None:
        """The sample, by class and hash."""
        self._prune()
        return self._held


def even_bound(sizes: list[int], total: int, most: int) -> int:
    """The largest bound b ≤ ``most`` with Σ min(b, size) ≤ ``total``, at least 1."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(middle, size) for size in sizes) <= total:
            low = middle
        else:
            high = middle - 1
    return low


def summed(keys: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Sorted distinct keys and the sums of their counts."""
    if not len(keys):
        return keys, counts
    order = np.argsort(keys, kind="stable")
    keys, counts = keys[order], counts[order]
    starts = np.flatnonzero(np.r_[True, keys[1:] != keys[:-1]])
    return keys[starts], np.add.reduceat(counts, starts)


ACCOUNT_LINE: Final = 0
"""The line of ``Seconds`` that counts the attempts of the account."""
_LINES: Final = 3


def table_line(table: Any) -> Any:
    """The line of the requests of a table."""
    return _LINES * table + 1


def class_line(code: Any) -> Any:
    """The line of the requests of a class."""
    return _LINES * code + 2


def refused_line(table: Any) -> Any:
    """The line of the requests of a table whose first attempt was refused."""
    return _LINES * table + 3


_TO_TABLE: Final = 2
"""From the line of the refused requests of a table back to the line of all of them."""


class Seconds:
    """Requests per line and second; a line is the account, a table, a class, or what was refused of a table.

    Beyond ``rows_max`` pairs, the older half of the seconds is folded into minutes; the busiest second of a class stays
    exact as long as no request comes later than half of what is held.
    """

    def __init__(self, rows_max: int) -> None:
        self._rows_max = rows_max
        self._none = np.empty(0, dtype=np.int64)
        self._seconds = (self._none, self._none)
        self._minutes = (self._none, self._none)
        self._pending: list[tuple[Ints, Ints]] = []
        self._pending_rows = 0
        self._peak: dict[int, int] = {}
        self._peak_at: dict[int, int] = {}
        self._beside_refused: dict[int, int] = {}

    def add(self, classes: Ints, seconds: Ints) -> None:
        """Count one request of each class in each second (since 1970, before the year 10 000)."""
        if not len(classes):
            return
        first, last = int(seconds.min()), int(seconds.max())
        span = last - first + 1
        slots, counts = counted(classes * span + (seconds - first), (int(classes.max()) + 1) * span)
        self._pending.append((((slots // span) << 38) | (slots % span + first), counts))
        self._pending_rows += len(slots)
        if self._pending_rows > 200_000 + len(self._seconds[0]) // 2:
            self._merge()

    def _merge(self) -> None:
        if not self._pending:
            return
        parts = [self._seconds, *self._pending]
        self._pending, self._pending_rows = [], 0
        self._seconds = summed(np.concatenate([k for k, _ in parts]), np.concatenate([c for _, c in parts]))
        if len(self._seconds[0]) > self._rows_max:
            seconds = self._seconds[0] & ((1 << 38) - 1)
            border = int(np.partition(seconds, len(seconds) // 2)[len(seconds) // 2]) // 60 * 60 + 60
            self._fold(seconds < border)

    def _fold(self, old: Bools) -> None:
        keys, counts = self._seconds[0][old], self._seconds[1][old]
        self._seconds = (self._seconds[0][~old], self._seconds[1][~old])
        if not len(keys):
            return
        classes = keys >> 38
        starts = np.flatnonzero(np.r_[True, classes[1:] != classes[:-1]])
        highest = np.maximum.reduceat(counts, starts)
        lengths = np.diff(np.r_[starts, len(keys)])
        hits = np.flatnonzero(counts == np.repeat(highest, lengths))
        first = hits[np.searchsorted(hits, starts)]  # each class has a hit between its start and the next one's
        when = (keys[first] & ((1 << 38) - 1)).tolist()
        for code, most, at in zip(classes[starts].tolist(), highest.tolist(), when, strict=True):
            if (most, -at) > (self._peak.get(code, 0), -self._peak_at.get(code, 0)):
                self._peak[code], self._peak_at[code] = most, at
        self._put_beside_refused(keys, counts)
        minutes = (classes << 38) | ((keys & ((1 << 38) - 1)) // 60)
        self._minutes = summed(np.concatenate([self._minutes[0], minutes]), np.concatenate([self._minutes[1], counts]))

    def _put_beside_refused(self, keys: Ints, counts: Ints) -> None:
        """Add the requests in the second of each refused one; ``keys`` ascend."""
        lines = keys >> 38
        refused = np.flatnonzero((lines > 0) & (lines % _LINES == 0))
        of_table = keys[refused] - (_TO_TABLE << 38)
        at = np.minimum(np.searchsorted(keys, of_table), len(keys) - 1)
        beside = np.where(keys[at] == of_table, counts[at], 0) * counts[refused]
        for line in np.unique(lines[refused]).tolist():
            total = int(beside[lines[refused] == line].sum())
            self._beside_refused[line] = self._beside_refused.get(line, 0) + total

    def beside_refused(self, table: int) -> float:
        """Requests of a table in the second of a refused one, the mean over the refused ones; 0 where none is. Known
        after ``result``."""
        line = refused_line(table)
        if line not in self._beside_refused:
            return 0.0
        return self._beside_refused[line] / int(self._minutes[1][self._minutes[0] >> 38 == line].sum())

    def busiest(self) -> dict[int, int]:
        """When the busiest second of each class was (since 1970), the first of several; known after ``result``."""
        return self._peak_at

    def result(self) -> tuple[dict[int, int], dict[int, tuple[Ints, Ints]]]:
        """The busiest second of each class, and its minutes (since 1970, ascending) with their counts."""
        self._merge()
        self._fold(np.ones(len(self._seconds[0]), dtype=bool))
        keys, counts = self._minutes
        classes = keys >> 38
        minutes = {
            code: (keys[classes == code] & ((1 << 38) - 1), counts[classes == code])
            for code in np.unique(classes).tolist()
        }
        return self._peak, minutes

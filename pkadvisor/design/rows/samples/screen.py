"""What a key makes of many rows: how many partitions, and how large the largest, for hundreds of keys at once.

A key groups rows by its atoms (``population``). Here each atom is a column of 64-bit hashes and a key is the sum of its
atoms' columns: equal tuples give equal sums, different ones give different sums but for one pair in 2^64. Nothing
is sorted and no key text is built: sums are counted in 2^18 places found by their first bits, and only the rows of the
fullest places are told apart.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any, Final, Protocol

from pkadvisor.design.keys.transforms import MISSING, Atom, Context
from pkadvisor.design.keys.transforms.canonical import canonical_expression
from pkadvisor.design.keys.transforms.hashes import bucket_numbers
from pkadvisor.design.rows.atoms import atom_properties, function_of
from pkadvisor.design.rows.values import period_index
from pkadvisor.lazy import U64, np, pl
from pkadvisor.observe.data.sketches import mixed, presence, value_hashes
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.splitmix import GAMMA
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Executor

PLACES_BITS = 18
"""Places in which hashes are counted, as a power of two: their counts stay in a core's cache."""
EXACT_ROWS = 1 << 16
"""Rows up to which all groups are told apart one by one."""
TOLD_APART = 1 << 14
"""Rows of the fullest places that are told apart one by one where there are more."""
THREADS = 2
ATOMS_MAX = 32
"""Atoms whose hashes are kept."""


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """What a PartitionKey makes of ``rows`` rows, which are all where ``exact``, else a sample drawn by row hash.

    ``partitions`` are those among the rows looked at: of a sample no number of partitions of the whole follows.
    ``largest`` is the rows in the largest one and ``largest_at_most`` its bound where rows were not all told apart.
    ``surplus`` is the rows whose whole key another row has; None where it was not counted.
    """

    rows: int
    partitions: int
    largest: int
    largest_at_most: int
    exact: bool
    surplus: int | None = None

    @property
    def top_share(self) -> float:
        """Share of the rows in the largest partition."""
        return self.largest / max(1, self.rows)


class Screen:
    """Counts partitions in a frame for sets of atoms, keeping each atom's hashes: eight bytes for each row."""

    def __init__(self, frame: pl.DataFrame, types: dict[str, EdmType], *, exact: bool = False) -> None:
        """``exact`` says that the frame is every row."""
        self.frame, self.types, self.exact = frame, types, exact
        self._columns: dict[Atom, U64] = {}
        self._counters: list[_Counter] = []

    def facts(self, keys: Sequence[Iterable[Atom]]) -> tuple[PartitionFacts, ...]:
        """The facts of each set of atoms, in order."""
        from concurrent.futures import ThreadPoolExecutor

        wanted = [needed(key) for key in keys]
        with ThreadPoolExecutor(THREADS) as threads:
            self._prepare(sorted({atom for key in wanted for atom in key}), threads)

            while len(self._counters) < min(THREADS, len(wanted)):
                self._counters.append(_Counter(self.frame.height))

            def some(counter: _Counter, keys: list[tuple[Atom, ...]]) -> list[PartitionFacts]:
                return [counter.facts([self._columns[a] for a in key], self.exact) for key in keys]

            parts = list(threads.map(some, self._counters, [wanted[i::THREADS] for i in range(THREADS)]))
        return tuple(parts[i % THREADS][i // THREADS] for i in range(len(wanted)))

    def _prepare(self, atoms: Sequence[Atom], threads: Executor) -> None:
        """Hash the atoms that are new; those of earlier keys go where there are too many."""
        new = [a for a in atoms if a not in self._columns]
        if len(self._columns) + len(new) > ATOMS_MAX:
            self._columns.clear()
            new = list(atoms)
        single = [a for a in new if a[0] != "h"]
        hashed = threads.map(lambda a: atom_hashes(self.frame, a, self.types), single)
        self._columns |= zip(single, hashed, strict=True)
        buckets: dict[str, list[Atom]] = {}
        for atom in new:
            if atom[0] == "h":
                buckets.setdefault(atom[1], []).append(atom)
        for columns in threads.map(lambda group: bucket_hashes(self.frame, group, self.types), buckets.values()):
            self._columns |= columns


def summed(columns: Sequence[U64]) -> U64:
    """One hash for each row from those of its atoms."""
    out = columns[0] if len(columns) == 1 else columns[0] + columns[1]
    for column in columns[2:]:
        out += column
    return out


class _Counter:
    """Counts rows by hash, set after set, in the same arrays: fresh ones cost more than the counting."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._sums: U64 = np.empty(rows, dtype=np.uint64)
        self._places: U64 = np.empty(rows, dtype=np.uint64)

    def facts(self, columns: Sequence[U64], exact: bool) -> PartitionFacts:
        """Partitions and the largest of them, for the sum of some atoms' hashes."""
        rows = self.rows
        if not columns or not rows:
            return PartitionFacts(rows, min(1, rows), rows, rows, exact)
        sums = columns[0]
        for column in columns[1:]:
            sums = np.add(sums, column, out=self._sums)
        if rows <= EXACT_ROWS:
            sizes = np.unique(sums, return_counts=True)[1]
            return PartitionFacts(rows, len(sizes), int(sizes.max()), int(sizes.max()), exact)
        places = np.right_shift(sums, np.uint64(64 - PLACES_BITS), out=self._places).view(np.int64)
        held = np.bincount(places, minlength=1 << PLACES_BITS)
        largest = _mode(sums[places == held.argmax()])
        fuller = held > largest
        at_most = int(held.max())
        if int(held.sum(where=fuller)) <= TOLD_APART:
            if fuller.any():
                largest = max(largest, _most(sums[fuller[places]]))
            at_most = largest
        return PartitionFacts(rows, _occupied(int(np.count_nonzero(held)), rows), largest, at_most, exact)


def _mode(sums: U64) -> int:
    """How often the most frequent of these hashes occurs, found by its last bits; at least how often some hash does."""
    last = (sums & np.uint64(1023)).view(np.int64)
    likely = sums[last == np.bincount(last).argmax()]
    return int(np.count_nonzero(likely == likely[0]) if (likely == likely[0]).all() else _most(likely))


def _most(sums: U64) -> int:
    return int(np.unique(sums, return_counts=True)[1].max())


def _occupied(full: int, rows: int) -> int:
    """Values behind so many full places: linear counting (Whang, Vander-Zanden and Taylor 1990), at most ``rows``.

    Within 0.4 % (one standard error) at a million rows.
    """
    places = 1 << PLACES_BITS
    if full >= places:
        return rows
    return min(rows, round(-places * math.log1p(-full / places)))


def atom_hashes(frame: pl.DataFrame, atom: Atom, types: dict[str, EdmType]) -> U64:
    """A hash for each row: equal where the rows agree on an atom, and different between atoms.

    What a row gives depends on the row alone, so that a data set can be taken in any parts; not so a sequence's.
    """
    if atom[0] == "s":
        return salted(np.arange(frame.height, dtype=np.uint64), atom)
    if atom[0] == "h":
        return bucket_hashes(frame, [atom], types)[atom]
    if atom[0] == "f":
        texts = frame.select(function_of(atom).expression(Context(types)).alias("t")).to_series()
        return salted(value_hashes(texts), atom)
    column = frame.get_column(atom[1])
    present = presence(column)
    if atom[0] == "t":
        periods = np.zeros(len(column), dtype=np.int64)
        periods[slice(None) if present is None else present] = period_index(column.drop_nulls(), atom[2])
        hashes = salted(mixed(periods.view(np.uint64)), atom)
    else:
        hashes = salted(value_hashes(column), atom)
    return hashes if present is None else np.where(present, hashes, np.uint64(GAMMA))


def salted(hashes: U64, atom: Atom) -> U64:
    """Hashes of an atom's values made different from another atom's."""
    import xxhash

    return mixed(hashes + np.uint64(xxhash.xxh3_64_intdigest("\x1f".join(atom).encode("utf-8", "surrogatepass"))))


def bucket_hashes(frame: pl.DataFrame, atoms: Sequence[Atom], types: dict[str, EdmType]) -> dict[Atom, U64]:
    """The hashes of several bucket counts over one property: its texts are digested once, each distinct one."""
    (name,) = {atom[1] for atom in atoms}
    texts = frame.select(canonical_expression(name, types.get(name, EdmType.STRING)).fill_null(MISSING)).to_series()
    distinct = texts.alias("t").to_frame().group_by("t").len().get_column("t")
    numbers = pl.Series(bucket_numbers(distinct), dtype=pl.UInt64)
    of_rows = texts.replace_strict(distinct, numbers, return_dtype=pl.UInt64).to_numpy()
    return {atom: salted(mixed(of_rows % np.uint64(int(atom[2]))), atom) for atom in atoms}


def needed(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """The atoms without those that others settle: the bucket or the day of a property whose value is there too."""
    atoms = tuple(sorted(set(atoms)))
    whole = {a[1] for a in atoms if a[0] == "p"}
    return tuple(a for a in atoms if a[0] in ("p", "s", "m") or not set(atom_properties(a)) <= whole)


# -- How many values a property is declared to have at the most, compared with the rows at hand.


_MEMO: Final = "declared values"


class RowsAtHand(Protocol):
    """What is asked here of the rows at hand (see ``Population``)."""

    data: pl.DataFrame
    memo: dict[object, Any]

    def has(self, name: str) -> bool: ...

    def coded(self, name: str) -> Any: ...


def keep_declared(declared: Mapping[str, int], population: RowsAtHand, data: DataProfile) -> list[str]:
    """Keep the declared numbers of values that the data does not contradict; what it does, in words: the data wins.

    Values are counted over every row where there are few enough of them, else over the rows at hand.
    """
    exact = {p.column.name: round(p.distinct.estimate()) for p in data.properties if not p.distinct.relative_error}
    contradicted, most = list[str](), dict[str, int]()
    for name, number in declared.items():
        if not population.has(name):
            continue
        seen = population.data.get_column(name).drop_nulls().n_unique()
        seen = max(seen, exact.get(name, 0))
        if seen > number:
            contradicted.append(
                f"{name} is declared to have {number:,} values at the most (distinct), but the data has {seen:,}: "
                "the data is taken"
            )
        else:
            most[name] = number
    population.memo[_MEMO] = most
    return contradicted


def groups_most(population: RowsAtHand, atoms: Iterable[Atom]) -> float:
    """The groups that there can be of functions of properties whose number of values is declared; else infinite.

    A property that some rows miss has one group more: that of the rows without it.
    """
    most: Mapping[str, int] = population.memo.get(_MEMO, {})
    names = {str(atom[1]) for atom in atoms if atom[0] in ("p", "t", "h")}
    if not most or not names or any(atom[0] not in ("p", "t", "h") for atom in atoms) or not names <= most.keys():
        return inf
    return float(prod(most[name] + population.coded(name).has_missing for name in names))

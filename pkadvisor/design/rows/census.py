"""Exact figures of a few keys over every row of a data set: partitions, the largest of them, keys that are shared.

Rows are read once for each ``BYTES`` of hashes. A set of atoms becomes one 64-bit hash for each row (``screen``);
sorted, equal hashes are runs. Two different keys share a hash once in some hundred million data sets of 20 million
rows each, so what is counted is exact for all that anybody will see.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.design.keys.scheme import Key
from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.atoms import atom_properties, atoms_of
from pkadvisor.design.rows.samples.screen import THREADS, PartitionFacts, atom_hashes, needed, salted, summed
from pkadvisor.lazy import U64, Ints, np, pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.sketches import presence, value_hashes
from pkadvisor.splitmix import GAMMA
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

BYTES = 800_000_000
"""Hashes held at a time: those of five sets of 20 million rows."""
TEXTS_MAX = 2_000_000
"""Distinct values of a property up to which its hash bucket or other text is worked out for each of them."""
RECENT_BITS = 21
"""Places for values met lately, as a power of two: 32 MB."""
BATCH = 1 << 19
"""Rows read at a time."""


def census(dataset: Dataset, keys: Sequence[Key], types: dict[str, EdmType]) -> tuple[PartitionFacts | None, ...]:
    """The facts of each main key over all rows, in order; None where a part of it takes too long to work out.

    ``surplus`` is 0 where the application assigns a number, and None where it was not worked out.
    """
    partitions = [needed(atoms_of(key.partition)) for key in keys]
    wholes = [needed(atoms_of((*key.partition, *key.row))) for key in keys]
    assigned = [("s",) in whole for whole in wholes]
    sets = [s for s in dict.fromkeys([*partitions, *wholes]) if ("s",) not in s]
    sized = frozenset(partitions)
    counts = _counted(dataset, sets, sized, types)
    out: list[PartitionFacts | None] = []
    for partition, whole, numbered in zip(partitions, wholes, assigned, strict=True):
        facts, of_key = counts.get(partition), None if numbered else counts.get(whole)
        if facts is None:
            out.append(None)
        elif numbered:
            out.append(replace(facts, surplus=0))
        else:
            out.append(replace(facts, surplus=None if of_key is None else of_key.rows - of_key.partitions))
    return tuple(out)


def _counted(
    dataset: Dataset, sets: Sequence[tuple[Atom, ...]], sized: frozenset[tuple[Atom, ...]], types: dict[str, EdmType]
) -> dict[tuple[Atom, ...], PartitionFacts]:
    """Facts by set; those outside ``sized`` without the largest group, which takes longer to find."""
    rows = dataset.row_count
    out: dict[tuple[Atom, ...], PartitionFacts] = {}
    waiting = []
    for atoms in sets:
        if atoms and rows:
            waiting.append(atoms)
        else:
            out[atoms] = PartitionFacts(rows, min(1, rows), rows, rows, exact=True)
    at_once = max(1, BYTES // (8 * max(1, rows)))
    for start in range(0, len(waiting), at_once):
        out |= _pass(dataset, waiting[start : start + at_once], sized, types)
    return out


def _pass(
    dataset: Dataset, sets: Sequence[tuple[Atom, ...]], sized: frozenset[tuple[Atom, ...]], types: dict[str, EdmType]
) -> dict[tuple[Atom, ...], PartitionFacts]:
    """Read all rows once and count some sets."""
    from concurrent.futures import ThreadPoolExecutor

    atoms = sorted({atom for s in sets for atom in s})
    names = list(dict.fromkeys(name for atom in atoms for name in atom_properties(atom)))
    texts = {atom: _Texts(atom, types) for atom in atoms if atom[0] in ("h", "f")}
    columns: dict[tuple[Atom, ...], U64] = {s: np.empty(dataset.row_count, dtype=np.uint64) for s in sets}
    at = 0

    def one(frame: pl.DataFrame, atom: Atom) -> U64 | None:
        return texts[atom].hashes(frame) if atom in texts else atom_hashes(frame, atom, types)

    with ThreadPoolExecutor(THREADS) as threads:
        for frame in dataset.batches(names, BATCH):
            got = dict(zip(atoms, threads.map(one, [frame] * len(atoms), atoms), strict=True))
            for s in list(columns):
                parts = [p for p in (got[a] for a in s) if p is not None]
                if len(parts) < len(s):
                    del columns[s]
                else:
                    columns[s][at : at + frame.height] = summed(parts)
            at += frame.height
    out = {}
    for s in list(columns):
        out[s] = _runs(columns.pop(s), largest=s in sized)
    return out


def _runs(hashes: U64, *, largest: bool) -> PartitionFacts:
    """Distinct hashes and the most frequent one's count."""
    rows = len(hashes)
    series = pl.Series(hashes)
    if not largest:
        return PartitionFacts(rows, series.n_unique(), 0, 0, exact=True)
    ordered = series.sort().to_numpy()
    groups, most, last = 1, 0, -1
    for start in range(0, rows - 1, BATCH):
        ends = np.flatnonzero(ordered[start + 1 : start + BATCH + 1] != ordered[start : min(start + BATCH, rows - 1)])
        if len(ends):
            ends += start
            groups += len(ends)
            most = max(most, int(ends[0]) - last, int(np.diff(ends).max(initial=0)))
            last = int(ends[-1])
    most = max(most, rows - 1 - last)
    return PartitionFacts(rows, groups, most, most, exact=True)


@dataclass(slots=True)
class _RecentHashes:
    """Hashes of values, ascending, and what each gives."""

    values: U64
    given: U64


class _Texts:
    """The atom of a function of properties, worked out once for each distinct tuple of their values."""

    def __init__(self, atom: Atom, types: dict[str, EdmType]) -> None:
        self.atom, self.types = atom, types
        empty = np.zeros(0, dtype=np.uint64)
        self._known: _RecentHashes | None = _RecentHashes(empty, empty)
        # What was asked lately, found by the first bits of its hash at once: a search takes ten times as long.
        self._recent = _RecentHashes(
            np.zeros(1 << RECENT_BITS, dtype=np.uint64), np.zeros(1 << RECENT_BITS, dtype=np.uint64)
        )

    def hashes(self, frame: pl.DataFrame) -> U64 | None:
        """A hash for each row; None once there were too many distinct values."""
        if self._known is None:
            return None
        names = atom_properties(self.atom)
        values = summed([salted(_values(frame.get_column(n)), ("p", n)) for n in names])
        places = values >> np.uint64(64 - RECENT_BITS)
        given: U64 = self._recent.given[places]
        rows = np.flatnonzero(self._recent.values[places] != values)
        if len(rows):
            looked_up = self._looked_up(frame.select(names), values, rows)
            if looked_up is None:
                return None
            given[rows] = looked_up
            self._recent.values[places[rows]] = values[rows]
            # Where rows share a place, both assignments leave it to the last of them.
            self._recent.given[places[rows]] = looked_up
        return given

    def _looked_up(self, frame: pl.DataFrame, values: U64, rows: Ints) -> U64 | None:
        """What the values of some rows give, worked out where it is not known yet."""
        assert self._known is not None
        known, asked = self._known, values[rows]
        inside = np.minimum(np.searchsorted(known.values, asked), max(0, len(known.values) - 1))
        new = np.flatnonzero(known.values[inside] != asked) if len(known.values) else np.arange(len(rows))
        if len(new):
            distinct, first = np.unique(asked[new], return_index=True)
            if len(distinct) + len(known.values) > TEXTS_MAX:
                self._known = None
                return None
            given = atom_hashes(frame[rows[new[first]]], self.atom, self.types)
            merged = np.concatenate([known.values, distinct])
            order = np.argsort(merged, kind="stable")
            known = self._known = _RecentHashes(merged[order], np.concatenate([known.given, given])[order])
        looked_up: U64 = known.given[np.searchsorted(known.values, asked)]
        return looked_up


def _values(column: pl.Series) -> U64:
    """Hashes of a property's values; one for all that are missing."""
    present, hashes = presence(column), value_hashes(column)
    return hashes if present is None else np.where(present, hashes, np.uint64(GAMMA))

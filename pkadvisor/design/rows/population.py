"""The sampled rows of a table, so that every candidate key is judged by counting, not by guessing.

A property becomes integer codes in value order; a part of a key (an *atom*) becomes codes through a look-up table over
the property's codes (``coded_rows``); a set of atoms becomes group numbers. All counting questions of planning and
costing reduce to three: how many rows agree on these atoms, how many of them lie in a range, and which partition a row
falls into.

Rows are the data set's (or a uniform sample of it). Parameters seen in a log stand below them as *ghost rows*: they
take part in grouping and are never counted as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from pkadvisor.design.keys.conditions import PropertyRules
from pkadvisor.design.keys.transforms import Atom, ListPart
from pkadvisor.design.rows.atoms import atom_properties
from pkadvisor.design.rows.coded_rows import CodedRows, Sizes
from pkadvisor.design.rows.samples.group_sizes import Law, others_in_table
from pkadvisor.design.rows.samples.screen import PartitionFacts, Screen, groups_most
from pkadvisor.design.rows.samples.unseen_groups import groups_of_table, scaled_across, shares_kept, spans_of
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass


class Population(CodedRows):
    """Rows, ghosts and the groupings computed so far."""

    def __init__(
        self,
        frame: pl.DataFrame,
        types: dict[str, EdmType],
        *,
        total: int | None = None,
        complete: bool = True,
        arrival: str | None = None,
        ghosts: pl.DataFrame | None = None,
        sampling: str = "random-rows",
        sampled_by: tuple[str, ...] = (),
        sizes: Mapping[str, Sizes] | None = None,
        hashed: frozenset[str] = frozenset(),
        drawn_from: int | None = None,
        token: Callable[[str], str] | None = None,
        zoneless: frozenset[str] = frozenset(),
        counted: Mapping[tuple[str, ...], GroupCounts] | None = None,
        wide: pl.DataFrame | None = None,
        sampling_basis: str = "declared",
    ) -> None:
        """``frame`` holds the properties in canonical dtypes, in arrival order where that is known (``arrival`` set).

        ``total``: the number of entities that ``frame`` stands for. ``complete``: ``frame`` is all of it.
        ``sampling``: ``random-rows``, ``random-keys`` (all rows of some values of ``sampled_by``) or ``slice`` (a
        stretch of time, where the arrival is a time). ``sampling_basis``: ``declared``, ``deduced``, ``unknown``, or
        ``whole`` where the rows are taken for the whole table although nobody says so. ``drawn_from``: rows of the
        data set of which ``frame`` is a draw by hash. ``hashed``: properties that hold tokens; ``token`` makes one of
        a canonical text, where their key is known. ``zoneless``: times without a zone in the data. ``counted``: groups
        of some property sets over every row of the data set. ``wide``: a larger sample of the same rows, in which
        partitions are counted.
        """
        super().__init__(frame, ghosts, types, sizes=sizes, hashed=hashed, token=token)
        self.zoneless, self._wide = zoneless, wide
        self.total = self.rows if total is None else max(total, self.rows)
        self.complete = complete and self.total == self.rows
        self.arrival, self.sampling, self.sampling_basis = arrival, sampling, sampling_basis
        self.sampled_by: tuple[Atom, ...] = tuple(("p", name) for name in sampled_by if name in self.data.columns)
        self.drawn_from = max(self.rows, drawn_from or self.rows)
        self._whole_groups = self._whole(sampling, sampled_by, arrival)
        self._exact = dict(counted or {}) if self.total == self.drawn_from else {}
        self._start()

    def _start(self) -> None:
        """Nothing is computed yet, and nothing known from elsewhere."""
        self._groups: dict[tuple[Atom, ...], tuple[Ints, int]] = {}
        self._counts: dict[tuple[Atom, ...], Ints] = {}
        self._ranges: dict[tuple[tuple[Atom, ...], Atom], tuple[Ints, Ints]] = {}
        self._exact_rows: dict[tuple[str, ...], Ints] = {}
        self.not_unique: dict[frozenset[Atom], int] = {}
        """Sets of atoms that all rows of the data have shown not to be unique, with the rows beyond the first of each
        group: what divides less is not unique either."""
        self.unique: frozenset[str] = frozenset()
        """Properties of which no two rows of the whole table share a value, though fewer rows are at hand."""
        self.lists: ListPart | None = None
        """What made a row for each of several values of a property (``list_values``); None where rows are entities."""
        self.digits: dict[str, int] = {}
        """Digits that keys give a number, where several kinds must write it alike."""
        self.widths: dict[str, int] = {}
        """Digits that whole numbers need in keys (``widths.widths_needed``)."""
        self.ordered: frozenset[str] = frozenset()
        """Properties whose values some query wants in a range or in their order."""
        self.rises: dict[str, float] = {}
        """By how much numbers rise a second that count up as entities come (``counters.counter_rises``)."""
        self.rules: PropertyRules | None = None
        """Properties that are functions of others (``dependencies``); None until somebody asks."""
        self.law = Law.LIKELIEST
        """Which of the laws of group sizes that the counts of random rows allow is taken (``group_sizes``)."""
        self.taken_from: tuple[Population, Ints] | None = None
        """The population whose rows these are, and which of them; None where these are not some of another's."""
        self.plans: dict[object, Any] = {}
        """Access plans (``class_cost.plans_of``), which resamples share: no draw of rows changes one."""

    @property
    def looked_at(self) -> str:
        """The rows at hand in words: how many, and of how many in the data where they are not all."""
        of_all = "" if self.drawn_from == self.rows else f" looked at (of {self.drawn_from:,} in the data)"
        return f"{self.rows:,} entities{of_all}"

    @property
    def taken_for_whole(self) -> bool:
        """Whether nobody says that the rows are the whole table, or of how many entities they are a sample."""
        return self.sampling_basis == "whole"

    # -- groups --------------------------------------------------------------------------------------------------

    def groups(self, atoms: Iterable[Atom]) -> tuple[Ints, int]:
        """(group number per row, number of groups) for rows that agree on all atoms; the empty set is one group."""
        if isinstance(atoms, tuple) and atoms in self._groups:
            return self._groups[atoms]
        key = tuple(sorted(set(atoms)))
        if key in self._groups:
            return self._groups[key]
        if not key:
            result = (np.zeros(self.size, dtype=np.int64), 1)
        elif len(key) == 1:
            result = self.atom(key[0])
        else:
            left, left_size = self.groups(key[:-1])
            right, right_size = self.atom(key[-1])
            assert left_size * right_size < 2**62, "group numbers stay inside 64 bits"
            mixed = left * right_size + right
            distinct, dense = np.unique(mixed, return_inverse=True)
            result = (dense.astype(np.int64), len(distinct))
        self._groups[key] = result
        return result

    def counts(self, atoms: Iterable[Atom]) -> Ints:
        """Data rows per group."""
        key = tuple(sorted(set(atoms)))
        if key not in self._counts:
            ids, size = self.groups(key)
            self._counts[key] = np.bincount(ids[: self.rows], minlength=size)
        return self._counts[key]

    def distinct(self, atoms: Iterable[Atom]) -> int:
        """Groups that hold at least one data row."""
        return int(np.count_nonzero(self.counts(atoms)))

    def groups_total(self, atoms: Iterable[Atom]) -> float:
        """Groups in the whole table as far as the sample tells: as many as at hand, more where whole keys were drawn:
        as many as their spans tell, and no more than the declared numbers of values allow."""
        groups = self.distinct(key := tuple(atoms))
        if self._wide is not None and key and all(a[0] in ("p", "t", "h", "f") for a in key):
            groups = max(groups, self.partition_facts(key).partitions)
        if self._whole_groups is not None and key and self.whole(key):
            return max(float(groups), min(groups * (self.total / self.drawn_from), groups_most(self, key)))
        if self.keys_drawn and key:
            return max(float(groups), min(float(self._unseen("groups", groups_of_table, key)), groups_most(self, key)))
        return float(groups)

    def partition_facts(self, atoms: Iterable[Atom]) -> PartitionFacts:
        """Partitions and the largest of them, in the widest sample there is; exact where the rows are all there are."""
        return self._facts(tuple(sorted(set(atoms))))

    @remembered("facts")
    def _facts(self, key: tuple[Atom, ...]) -> PartitionFacts:
        (facts,) = self._screen().facts([key])
        return facts

    @remembered("screen")
    def _screen(self) -> Screen:
        frame = self.frame[: self.rows] if self._wide is None else self._wide
        return Screen(frame, self.types, exact=self.complete)

    def surplus(self, atoms: Iterable[Atom]) -> int:
        """Data rows beyond the first of their group: 0 means that the atoms are unique, as far as is known."""
        wanted = frozenset(atoms)
        return (self.rows - self.distinct(wanted)) or self.surplus_of_all(wanted)

    def surplus_of_all(self, atoms: Iterable[Atom]) -> int:
        """Rows beyond the first of their group where all rows of the data were counted, 0 where they were not."""
        wanted = frozenset(atoms)
        return max((n for known, n in self.not_unique.items() if wanted <= known), default=0)

    def determines(self, left: Iterable[Atom], right: Iterable[Atom]) -> bool:
        """Whether ``left`` fixes ``right`` in the sampled rows (a functional dependency)."""
        left, right = tuple(left), tuple(right)
        if set(right) <= set(left):
            return True
        return self.distinct((*left, *right)) == self.distinct(left)

    def exact(self, names: Iterable[str]) -> GroupCounts | None:
        """The groups of a property set over every row, where they were counted."""
        return self._exact.get(tuple(sorted(set(names))))

    def exact_rows(self, names: Iterable[str]) -> Ints | None:
        """For each row at hand (ghosts too) the rows of its group in the whole table, where they were counted."""
        key = tuple(sorted(set(names)))
        if key in self._exact and key not in self._exact_rows:
            self._exact_rows[key] = self._exact[key].of_rows(self.frame)
        return self._exact_rows.get(key)

    def matching(self, atoms: Iterable[Atom], instances: Ints) -> Floats:
        """For each instance row: data rows that agree with it on the atoms, scaled to the whole population."""
        atoms = tuple(atoms)
        names = {a[1] for a in atoms if a[0] == "p"}
        # A bucket or a period of what is fixed anyway divides nothing.
        more = [a for a in atoms if a[0] != "p" and not (a[0] in "thf" and set(atom_properties(a)) <= names)]
        if names and not more and (rows := self.exact_rows(names)) is not None:
            return rows[instances].astype(np.float64)
        ids, _ = self.groups(atoms)
        counts = self.counts(atoms)
        alone = self.rows < self.total and atoms and self.rows > 1 and int(counts.max(initial=0)) == 1
        if alone and self.law is not Law.LARGE:
            # No two rows at hand agree: the atoms are taken as unique, and what a log asks for as present.
            return np.ones(len(instances))
        hits = counts[ids[instances]]
        if not atoms and self.rows > 1:  # the whole table, whatever law group sizes follow
            return np.full(len(instances), float(self.drawn_from if self.whole(atoms) else self.total))
        if not atoms or not self.across(atoms):
            return self.expected(hits, self.is_data[instances], whole=self.whole(atoms))
        key = (*atoms, *self.sampled_by)
        own = self.counts(key)[self.groups(key)[0][instances]]
        return self._scaled_across(hits, own, instances, atoms)

    def matching_range(self, atoms: Iterable[Atom], over: Atom, low: Ints, high: Ints, instances: Ints) -> Floats:
        """As ``matching``, with the code of ``over`` in [low, high) as well."""
        atoms = tuple(atoms)
        hits = self._between(atoms, over, low, high, instances)
        if not atoms or not self.across(atoms, over):
            codes = self.atom(over)[0][instances]
            itself = self.is_data[instances] & (codes >= low) & (codes < high)
            return self.expected(hits, itself, whole=self.whole(atoms, over), instances=instances)
        own = self._between((*atoms, *self.sampled_by), over, low, high, instances)
        return self._scaled_across(hits, own, instances, atoms)

    def _between(self, atoms: tuple[Atom, ...], over: Atom, low: Ints, high: Ints, instances: Ints) -> Ints:
        """For each instance the data rows at hand that agree with it on the atoms, with the code of ``over`` in
        [low, high)."""
        key = (tuple(sorted(set(atoms))), over)
        codes, size = self.atom(over)
        if key not in self._ranges:
            ids, groups = self.groups(key[0])
            assert groups * (size + 1) < 2**62
            self._ranges[key] = (np.sort(ids[: self.rows] * (size + 1) + codes[: self.rows]), ids)
        ordered, ids = self._ranges[key]
        base = ids[instances] * (size + 1)
        upper = np.searchsorted(ordered, base + np.maximum(high, low), side="left")
        return upper - np.searchsorted(ordered, base + low, side="left")

    def across(self, atoms: Iterable[Atom], over: Atom | None = None) -> bool:
        """Whether the groups of these atoms (and this range) have rows of keys that were not drawn."""
        return self.keys_drawn and not self.whole(atoms, over)

    def _scaled_across(self, hits: Ints, own: Ints, instances: Ints, atoms: tuple[Atom, ...]) -> Floats:
        single = self.rows <= ROWS_OF_A_KEY * self.distinct((*atoms, *self.sampled_by))
        few, sparse = scaled_across(self, hits, own, instances, single=single)
        return np.where(sparse, few, self.scale(hits, instances))

    def _whole(self, sampling: str, sampled_by: tuple[str, ...], arrival: str | None) -> frozenset[str] | None:
        """Properties that, once fixed, name a group of which every row is at hand; None where no group is whole."""
        if sampling == "random-keys" and sampled_by:
            return frozenset(sampled_by)
        if sampling == "slice" and arrival is not None and self.types.get(arrival) is EdmType.DATETIME:
            return frozenset({arrival})
        return None

    def whole(self, atoms: Iterable[Atom], over: Atom | None = None) -> bool:
        """Whether the groups of these atoms (and this range) are at hand with all their rows."""
        if self.rows == self.total:
            return True
        names = {a[1] for a in (*atoms, *([over] if over else [])) if a[0] in ("p", "t")}
        return self._whole_groups is not None and self._whole_groups <= names

    def scale(self, hits: Ints, instances: Ints, whole: bool = False) -> Floats:
        """Counts at hand, an instance's own row among them, → expected counts in the population: each other row stands
        for (total - 1) ÷ (rows - 1)."""
        total = self.drawn_from if whole else self.total
        if self.rows == total or self.rows < 2:
            return hits.astype(np.float64)
        itself = self.is_data[instances] & (hits > 0)
        own = 1 + (hits - 1) * ((total - 1) / (self.rows - 1))
        return np.where(itself, own, hits * (total / self.rows))

    def expected(self, hits: Ints, itself: Bools, *, whole: bool = False, instances: Ints | None = None) -> Floats:
        """Counts at hand → counts in the population, for each instance; ``itself``: its own row is among those counted.

        A whole group counts as it is. An own row is certain, and others come as the law of group sizes tells
        (``group_sizes``) where rows were drawn at random, else each stands for (total - 1) ÷ (rows - 1). Of logged
        parameters each row stands for total ÷ rows.
        """
        total = self.drawn_from if whole else self.total
        if self.rows == total or self.rows < 2:
            return hits.astype(np.float64)
        share = (self.rows - 1) / (total - 1)
        data = itself if instances is None else self.is_data[instances]
        others = hits - itself
        out = others * (total / self.rows) if not data.all() else np.empty(len(hits))
        out[data] = others_in_table(others[data], share, self.law) if self.random_rows else others[data] / share
        return np.asarray(itself + out, dtype=np.float64)

    def share_factor(self, atoms: Iterable[Atom]) -> float:
        """What a group's share of the load at hand is in the population: there are more groups than are at hand.

        Of the group that most of the drawn keys show, where that differs (``share_factors``).
        """
        key = tuple(atoms)
        factors = self.share_factors(key)
        if isinstance(factors, float):
            return factors
        return float(factors[int(spans_of(self, key).argmax())])

    def share_factors(self, atoms: Iterable[Atom]) -> Floats | float:
        """As ``share_factor``, one for all groups or one for each, in their order."""
        key = tuple(atoms)
        if self.rows == self.total or not key:
            return 1.0
        if self.whole(key):
            return self.drawn_from / self.total
        if self.keys_drawn:
            factors: Floats = self._unseen("shares", shares_kept, key)
            return factors
        if self._whole_groups is not None:
            return 1.0
        of_rows: Floats = self._unseen("shares", _shares_of_rows, key)
        return of_rows

    @property
    def random_rows(self) -> bool:
        """Whether the rows at hand are a random sample of all rows."""
        return self.sampling == "random-rows" and self.rows < self.total

    @property
    def keys_drawn(self) -> bool:
        """Whether the rows at hand are those of some keys of more."""
        return self.sampling == "random-keys" and bool(self.sampled_by) and self.rows < self.total

    def _unseen(self, what: str, compute: Callable[[Population, tuple[Atom, ...]], Any], key: tuple[Atom, ...]) -> Any:
        memo = ("unseen", what, tuple(sorted(set(key))))
        if memo not in self.memo:
            self.memo[memo] = compute(self, memo[2])
        return self.memo[memo]

    def without_arrival(self, atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        """The atoms that are no period of the arrival: what a new entity may still choose."""
        return tuple(a for a in atoms if not (a[0] == "t" and a[1] == self.arrival))

    def arrival_order(self) -> Ints | None:
        """Data row numbers from the first inserted to the last; None where nobody knows."""
        if self.arrival is None:
            return None
        if self.arrival == "file_order" or not self.has(self.arrival):
            return np.arange(self.rows, dtype=np.int64)
        codes = self.coded(self.arrival).codes[: self.rows]
        return np.argsort(codes, kind="stable").astype(np.int64)

    def check(self) -> None:
        """Every invariant: codes in range, groups dense, counts add up to the data rows."""
        for name, coded in self._coded.items():
            assert coded.codes.min(initial=0) >= 0, name
            assert coded.codes.max(initial=0) < max(1, coded.size), name
        for key, (ids, size) in self._groups.items():
            assert len(ids) == self.size, key
            assert ids.max(initial=0) < max(1, size), key
        for key, counts in self._counts.items():
            assert counts.sum() == self.rows, key


def _shares_of_rows(population: Population, atoms: tuple[Atom, ...]) -> Floats:
    """What part of its share of random rows each group has in the table: the size that is expected of groups of which
    as many rows are at hand, against the quotient. Luck makes the largest of many small groups; not of those of which
    more than ``SHOWN`` rows are at hand."""
    rows = np.arange(population.rows, dtype=np.int64)
    ids, size = population.groups(atoms)
    counts = population.counts(atoms)
    sums = np.bincount(ids[rows], population.matching(atoms, rows), minlength=size)
    quotient = counts * (population.total / population.rows)
    out: Floats = np.where(counts > 0, sums / np.maximum(counts * quotient, 1e-300), 1.0)
    return np.where(counts > SHOWN, 1.0, np.clip(out, population.rows / population.total, 1.0))


SHOWN = 30
"""Rows of a group at hand beyond which its share of the sample is that of the table."""
ROWS_OF_A_KEY = 1.25
"""Rows of a group that one drawn key has on average, up to which they count as one. Assumed."""


# -- How often combinations of properties occur in all rows, where only a sample of the rows is looked at closely.


EXACT_ROWS_MAX = 25_000_000
"""Entities up to which the finalists are counted over every row: their hashes take 200 MB each."""
SETS_MAX = 8
"""Property sets that are counted; each costs about one grouping of the data."""


@dataclass(frozen=True, slots=True, eq=False)
class GroupCounts:
    """The groups of rows that agree on ``names``, by a 64-bit hash of their values: ``hash`` and ``rows`` (Int64)."""

    names: tuple[str, ...]
    groups: pl.DataFrame

    @property
    def sizes(self) -> Ints:
        """Rows of each group, the largest first."""
        return self.groups.get_column("rows").sort(descending=True).to_numpy()

    def of_rows(self, frame: pl.DataFrame) -> Ints:
        """For each row of a frame the rows of its group in all data; 0 where there is no such group."""
        asked = frame.select(_hash(self.names))
        data_frame = asked.join(self.groups, on="hash", how="left", maintain_order="left")
        return data_frame.get_column("rows").fill_null(0).to_numpy()

    def check(self) -> None:
        """Groups are distinct and none is empty."""
        assert self.groups.get_column("hash").n_unique() == self.groups.height
        assert self.groups.height == 0 or int(self.groups.get_column("rows").min()) > 0  # type: ignore[arg-type]


def count_groups(dataset: Dataset, sets: Iterable[Sequence[str]]) -> dict[tuple[str, ...], GroupCounts]:
    """The groups of each property set over every row, by the sorted names; one pass over the data."""
    wanted = tuple(dict.fromkeys(tuple(sorted(s)) for s in sets))[:SETS_MAX]
    if not wanted:
        return {}
    parts: dict[tuple[str, ...], list[pl.DataFrame]] = {names: [] for names in wanted}
    for batch in dataset.batches(sorted({n for names in wanted for n in names})):
        for names, frames in parts.items():
            frames.append(batch.select(_hash(names)).group_by("hash").agg(pl.len().cast(pl.Int64).alias("rows")))
            if len(frames) > 1 and frames[-1].height * 2 > frames[0].height:
                parts[names] = [_merged(frames)]
    return {names: GroupCounts(names, _merged(data_frames).sort("hash")) for names, data_frames in parts.items()}


def _merged(frames: list[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(frames).group_by("hash").agg(pl.col("rows").sum())


def _hash(names: tuple[str, ...]) -> pl.Expr:
    """Equal for equal values, missing ones included; 64 bits: two of ten million groups meet once in 400,000 times."""
    return pl.struct(pl.col(name) for name in names).hash(0).alias("hash")

"""The rows at hand as arrays of codes, so that every candidate key is judged by counting, not by guessing.

A property becomes dense integer codes in value order; a part of a key (an *atom*) becomes codes through a look-up table
over the property's codes; a set of atoms becomes group numbers. All counting questions of planning and costing reduce
to three: how many rows agree on these atoms, how many of them lie in a range, and which partition a row falls into.

Rows are the data set's (or a uniform sample of it). Parameters seen in a log stand below them as *ghost rows*: they
take part in grouping and are never counted as data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pkadvisor.design.keys.transforms import (
    MISSING,
    Atom,
    Context,
    Part,
    bucket,
    canonical_text,
)
from pkadvisor.design.rows.atoms import atom_properties, function_of
from pkadvisor.design.rows.beginnings import begins, goes_on
from pkadvisor.design.rows.samples.group_sizes import Law, others_in_table
from pkadvisor.design.rows.samples.unseen_groups import groups_of_table, scaled_across, shares_kept, spans_of
from pkadvisor.design.rows.values import numeric, period_index, period_of_moments, python_value
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from pkadvisor.design.keys.transforms import ListPart
    from pkadvisor.design.rows.exact import GroupCounts
    from pkadvisor.design.rows.samples.screen import PartitionFacts

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Coded:
    """A property as codes: ``codes[row]`` indexes ``values``, which rise; code 0 is *missing* where ``has_missing``."""

    codes: Ints
    values: pl.Series
    has_missing: bool

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values) + (1 if self.has_missing else 0)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How large a property's values are: mean and greatest length of texts, greatest magnitude of whole numbers.

    ``present`` is the share of entities that have the property.
    """

    characters_mean: float
    characters_max: int
    largest: int
    present: float


class Population:
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

        ``total`` is the number of entities that ``frame`` stands for; ``complete`` says that ``frame`` is all of it.
        ``sampling`` says how it was taken: ``random-rows``, ``random-keys`` (all rows of some values of
        ``sampled_by``) or
        ``slice`` (a stretch of time, where the arrival is a time). ``drawn_from`` is the rows of the data set that
        ``frame``
        was drawn from by hash, where it is not all of them. ``hashed`` properties hold tokens; ``token`` makes one
        from a
        canonical text, where the key of the tokens is known. ``zoneless`` times have no zone in the data.
        ``counted`` holds the groups of some property sets over every row of the data set.
        ``wide`` is a larger sample of the same rows, in which partitions are counted.
        ``sampling_basis``: whether ``sampling`` is declared, deduced or unknown, or the rows are taken for the whole
        table although nobody says so.
        """
        import numpy as np
        import polars as pl

        self.types = dict(types)
        self.hashed = hashed
        self.zoneless = zoneless
        self._wide = wide
        self._token = token
        self._sizes = dict(sizes or {})
        self.rows = frame.height
        self.total = frame.height if total is None else max(total, frame.height)
        self.complete = complete and self.total == self.rows
        self.arrival = arrival
        self.sampling = sampling
        self.sampling_basis = sampling_basis
        self.sampled_by: tuple[Atom, ...] = tuple(("p", name) for name in sampled_by if name in frame.columns)
        self.drawn_from = max(self.rows, drawn_from or self.rows)
        self._whole_groups = self._whole(sampling, sampled_by, arrival)
        self.data = frame
        """The rows at hand with the types that they were read with: in ``frame`` a property of which a log hides values
        holds texts."""
        if ghosts is not None and ghosts.height:
            frame = pl.concat([frame, ghosts], how="diagonal_relaxed")
        self.frame = frame
        self.size = frame.height
        self.is_data: Bools = np.arange(self.size) < self.rows
        self._coded: dict[str, Coded] = {}
        self._atoms: dict[Atom, tuple[Ints, int]] = {}
        self._groups: dict[tuple[Atom, ...], tuple[Ints, int]] = {}
        self._counts: dict[tuple[Atom, ...], Ints] = {}
        self._ranges: dict[tuple[tuple[Atom, ...], Atom], tuple[Ints, Ints]] = {}
        self._masks: list[Bools] = []
        self._exact = dict(counted or {}) if self.total == self.drawn_from else {}
        self._exact_rows: dict[tuple[str, ...], Ints] = {}
        self._numbers_of: dict[Atom, Ints] = {}
        self.not_unique: dict[frozenset[Atom], int] = {}
        """Sets of atoms that all rows of the data have shown not to be unique, with the rows beyond the first of each
        group: what divides less is not unique either."""
        self.lists: ListPart | None = None
        """What made a row for each of several values of a property (``list_values``); None where rows are entities."""
        self.digits: dict[str, int] = {}
        """Digits that keys give a number, where several kinds must write it alike."""
        self.widths: dict[str, int] = {}
        """Digits that whole numbers need in keys (``widths.widths_needed``)."""
        self.rises: dict[str, float] = {}
        """By how much numbers rise a second that count up as entities come (``counters.counter_rises``)."""
        self.memo: dict[object, Any] = {}
        """Results of pure functions of this population, kept by whoever computed them."""
        self.law = Law.LIKELIEST
        self.taken_from: tuple[Population, Ints] | None = None
        """The population whose rows these are, and which of them; None where these are not some of another's."""
        """Which of the laws of group sizes that the counts of random rows allow is taken (``group_sizes``)."""
        self.plans: dict[object, Any] = {}
        """Access plans (``class_cost.plans_of``), which resamples share: no draw of rows changes one."""

    @property
    def looked_at(self) -> str:
        """The rows at hand in words: how many, and of how many in the data where they are not all."""
        of_all = "" if self.drawn_from == self.rows else f" looked at (of {self.drawn_from:,} in the data)"
        return f"{self.rows:,} entities{of_all}"

    @property
    def known_sizes(self) -> Mapping[str, Sizes]:
        """The sizes of properties that are known so far."""
        return self._sizes

    @property
    def token(self) -> Callable[[str], str] | None:
        """What makes a token of a canonical text; None where nobody knows."""
        return self._token

    # -- codes ---------------------------------------------------------------------------------------------------

    @property
    def taken_for_whole(self) -> bool:
        """Whether nobody says that the rows are the whole table, or of how many entities they are a sample."""
        return self.sampling_basis == "whole"

    def has(self, name: str) -> bool:
        """Whether the property exists."""
        return name in self.frame.columns

    def sizes(self, name: str) -> Sizes:
        """Lengths and magnitude of a property's values: from the profile, else from the rows at hand."""
        import polars as pl

        if name not in self._sizes:
            column = self.frame.get_column(name)[: self.rows].drop_nulls()
            mean, longest, largest = 0.0, 0, 0
            if column.dtype == pl.String and len(column):
                lengths = column.str.len_chars()
                mean, longest = int(lengths.sum()) / len(column), int(lengths.max())  # type: ignore[arg-type]
            elif column.dtype.is_integer() and len(column):
                largest = max(abs(int(column.min())), abs(int(column.max())))  # type: ignore[arg-type]
            self._sizes[name] = Sizes(mean, longest, largest, len(column) / max(1, self.rows))
        return self._sizes[name]

    def shown_type(self, name: str) -> EdmType:
        """The type of the values at hand: a token, where a profile hides them, is a text."""
        return EdmType.STRING if name in self.hashed else self.types.get(name, EdmType.STRING)

    def constant(self, name: str, value: object) -> object:
        """A constant of a filter as the rows at hand hold it: a token where the property's values are hidden.

        None where nobody can tell: the tokens were made with a secret.
        """
        if name not in self.hashed:
            return value
        if self._token is None:
            return None
        if isinstance(value, bool):
            return self._token("true" if value else "false")
        return self._token(str(value).removesuffix(".0") if isinstance(value, float) else str(value))

    def coded(self, name: str) -> Coded:
        """The property as codes."""
        import numpy as np
        import polars as pl

        if name not in self._coded:
            column = self.frame.get_column(name)
            values = column.drop_nulls().unique().sort()
            missing = column.null_count() > 0
            rank = column.rank("dense").cast(pl.Int64)
            codes = (rank.fill_null(0) if missing else rank - 1).to_numpy()
            self._coded[name] = Coded(codes.astype(np.int64, copy=False), values, missing)
        return self._coded[name]

    def atom(self, atom: Atom) -> tuple[Ints, int]:
        """(codes per row, number of codes) of one atom. Codes rise with the value except for hash buckets."""
        import numpy as np

        if atom not in self._atoms:
            if atom[0] == "m":
                self._atoms[atom] = (self._masks[int(atom[1])].astype(np.int64), 2)
            elif atom[0] == "s":
                self._atoms[atom] = (np.arange(self.size, dtype=np.int64), self.size)
            elif atom[0] == "f":
                self._atoms[atom] = self._texts(atom)
            else:
                coded = self.coded(atom[1])
                if atom[0] == "p":
                    self._atoms[atom] = (coded.codes, coded.size)
                else:
                    table = self._table(atom, coded)
                    if coded.has_missing:
                        of_missing = bucket(MISSING, int(atom[2])) if atom[0] == "h" else np.iinfo(np.int64).min
                        table = np.concatenate([[of_missing], table])
                    distinct, dense = np.unique(table, return_inverse=True)
                    self._numbers_of[atom] = distinct
                    self._atoms[atom] = (dense.astype(np.int64)[coded.codes], len(distinct))
        return self._atoms[atom]

    def _texts(self, atom: Atom) -> tuple[Ints, int]:
        """Codes of the key text that a function gives; they rise with the text."""
        codes = self._texts_of(function_of(atom), self.frame)
        return codes, int(codes.max(initial=-1)) + 1

    def _texts_of(self, part: Part, rows: pl.DataFrame) -> Ints:
        """The rank of the text that a part makes of each row."""
        import numpy as np

        from pkadvisor.design.keys.hidden_values import over_tokens, types_shown

        (shown,) = over_tokens((part,), self.hashed)
        texts = rows.select(shown.expression(Context(types_shown(self.types, self.hashed))).alias("t")).to_series()
        return texts.rank("dense").to_numpy().astype(np.int64) - 1

    def _table(self, atom: Atom, coded: Coded) -> Ints:
        """For each distinct value of the property, the number of its period or bucket."""
        import numpy as np

        name = atom[1]
        if atom[0] == "h":
            edm, count = self.shown_type(name), int(atom[2])
            texts = [canonical_text(python_value(v, edm), edm) for v in coded.values.to_list()]
            return np.array([bucket(t, count) for t in texts], dtype=np.int64)
        return period_index(coded.values, atom[2])

    def add_mask(self, mask: Bools) -> Atom:
        """Register a condition without parameters as an atom; its code is 1 where the row satisfies it."""
        self._masks.append(mask)
        return ("m", str(len(self._masks) - 1))

    @property
    def masks(self) -> tuple[Bools, ...]:
        """The conditions registered so far, by the number in their atoms."""
        return tuple(self._masks)

    # -- groups --------------------------------------------------------------------------------------------------

    def groups(self, atoms: Iterable[Atom]) -> tuple[Ints, int]:
        """(group number per row, number of groups) for rows that agree on all atoms; the empty set is one group."""
        import numpy as np

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
        import numpy as np

        key = tuple(sorted(set(atoms)))
        if key not in self._counts:
            ids, size = self.groups(key)
            self._counts[key] = np.bincount(ids[: self.rows], minlength=size)
        return self._counts[key]

    def distinct(self, atoms: Iterable[Atom]) -> int:
        """Groups that hold at least one data row."""
        import numpy as np

        return int(np.count_nonzero(self.counts(atoms)))

    def groups_total(self, atoms: Iterable[Atom]) -> float:
        """Groups in the whole table as far as the sample tells: as many as at hand, more where whole keys were drawn:
        as many as their spans tell, and no more than the declared numbers of values allow."""
        from pkadvisor.design.rows.samples.declared_values import groups_most

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
        from pkadvisor.design.rows.samples.screen import Screen

        key = tuple(sorted(set(atoms)))
        if "screen" not in self.memo:
            frame = self.frame[: self.rows] if self._wide is None else self._wide
            self.memo["screen"] = Screen(frame, self.types, exact=self.complete)
        if ("facts", key) not in self.memo:
            (self.memo["facts", key],) = self.memo["screen"].facts([key])
        return self.memo["facts", key]  # type: ignore[no-any-return]

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
        import numpy as np

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
        import numpy as np

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
        import numpy as np

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
        import numpy as np

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
        import numpy as np

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

    # -- periods -------------------------------------------------------------------------------------------------

    def without_arrival(self, atoms: Iterable[Atom]) -> tuple[Atom, ...]:
        """The atoms that are no period of the arrival: what a new entity may still choose."""
        return tuple(a for a in atoms if not (a[0] == "t" and a[1] == self.arrival))

    # -- order ---------------------------------------------------------------------------------------------------

    def bound_codes(self, atom: Atom, numbers: Floats | Ints) -> Ints:
        """For each number, how many codes of a property's atom lie below it."""
        import numpy as np

        coded = self.coded(atom[1])
        values = self._numeric(atom[1])
        at = np.searchsorted(values, numbers)
        return at.astype(np.int64) + (1 if coded.has_missing else 0)

    def period_codes(self, atom: Atom, moments: Floats, side: str) -> Ints:
        """For each moment (µs), how many periods of an atom lie before its own (``left``) or up to it (``right``)."""
        import numpy as np

        self.atom(atom)
        numbers = self._numbers_of[atom]
        periods = period_of_moments(moments, atom[2])
        codes = np.searchsorted(numbers, periods, side="left" if side == "left" else "right").astype(np.int64)
        first = 1 if self.coded(atom[1]).has_missing else 0
        return np.maximum(codes, first)

    def numbers(self, name: str, instances: Ints) -> Floats | Ints:
        """The numeric value (µs for times) of a property for each instance; missing is the least value."""
        import numpy as np

        coded = self.coded(name)
        values = self._numeric(name)
        if coded.has_missing:
            values = np.concatenate([values[:1] - 1 if len(values) else np.zeros(1, dtype=np.int64), values])
        return values[coded.codes[instances]]

    def _numeric(self, name: str) -> Floats | Ints:
        """The values of a property as numbers, in the order of its codes; resamples share them."""
        memo = ("numeric", name)
        if memo not in self.memo:
            self.memo[memo] = numeric(self.coded(name).values)
        values: Floats | Ints = self.memo[memo]
        return values

    def key_order(self, parts: Sequence[Part]) -> list[Ints]:
        """Arrays that sort rows as their key text would sort, most significant first (ASCII parts)."""
        return [self._part_order(part, part.atom) for part in parts if part.atom is not None]

    def _part_order(self, part: Part, atom: Atom) -> Ints:
        """Numbers that rise with the text of a part: a missing value, ``~-``, sorts behind numbers and times."""
        import numpy as np

        codes, size = self.atom(atom)
        order, lacks = part.order(Context(self.types)), atom[0] in ("p", "t") and self.coded(atom[1]).has_missing
        if order < 0:
            return -codes
        if atom[0] == "p" and (not order or (lacks and self.types.get(atom[1]) is EdmType.STRING)):
            return self._text_order(part, atom[1])  # texts have an order of their own
        return np.where(codes == 0, size, codes) if lacks else codes

    def _text_order(self, part: Part, name: str) -> Ints:
        """Numbers that rise with the text that a part makes of a property; resamples share those of its values."""
        import polars as pl

        coded, memo = self.coded(name), ("text order", name, str(part))
        if memo not in self.memo:
            missing = pl.Series(name, [None] if coded.has_missing else [], dtype=coded.values.dtype)
            self.memo[memo] = self._texts_of(part, pl.DataFrame([missing.append(coded.values)]))
        order: Ints = self.memo[memo]
        return order[coded.codes]

    def keeps_order(self, name: str, following: str) -> bool:
        """Whether texts sort in a key as their values do, for the values at hand.

        Not where a value has characters that are escaped, nor where one value continues another with a character below
        the one that follows it in the key (``ab`` and ``ab!`` before ``_``). Hidden values have no order.
        """
        memo = ("keeps order", name, following)
        if memo not in self.memo:
            self.memo[memo] = name not in self.hashed and self.has(name) and self._texts_keep(name, following)
        return bool(self.memo[memo])

    def fits(self, name: str, width: int, *, below_zero: bool = True) -> bool:
        """Whether every number at hand has at most so many digits, and none is below zero where that is not allowed."""
        if not self.has(name):
            return True
        values = self.coded(name).values
        if not below_zero and values.dtype.is_integer() and len(values) and int(values[0]) < 0:
            return False
        return self.sizes(name).largest < int(10**width)

    def always_there(self, name: str) -> bool:
        """Whether every row at hand has a property."""
        return self.has(name) and not self._lacks(name)

    def may_lack(self, name: str) -> bool:
        """Whether some row at hand misses a property."""
        return self.has(name) and self._lacks(name)

    def _lacks(self, name: str) -> bool:
        """Whether a row of the data misses a property; parameters seen in a log name only what their query asks for."""
        coded = self.coded(name)
        return coded.has_missing and not coded.codes[: self.rows].all()

    def begins(self, parts: tuple[Part, ...], text: str) -> bool:
        """Whether some key of a template begins with a text, as far as the values at hand of its first part tell."""
        memo = ("begins", parts, text)
        if memo not in self.memo:
            self.memo[memo] = begins(self, parts, text)
        return bool(self.memo[memo])

    def goes_on(self, parts: tuple[Part, ...], place: int, label: str) -> bool:
        """Whether some key of a template begins as those of its part at ``place`` do that a label follows, as far as
        the values at hand tell."""
        memo = ("goes on", parts, place, label)
        if memo not in self.memo:
            self.memo[memo] = goes_on(self, parts, place, label)
        return bool(self.memo[memo])

    def _texts_keep(self, name: str, following: str) -> bool:
        import polars as pl

        values = self.coded(name).values
        if values.dtype != pl.String or values.is_empty():
            return False
        escaped = values.str.contains(ESCAPED_PATTERN).any()
        if escaped or (following and values.str.contains(following, literal=True).any()):
            return False
        if not following:
            return True
        # Sorted, everything that continues a value comes right behind it, the lowest continuation first.
        pair = pl.DataFrame({"a": values, "b": values.shift(-1)}).filter(pl.col("b").str.starts_with(pl.col("a")))
        after = pair.select(pl.col("b").str.slice(pl.col("a").str.len_chars(), 1)).to_series()
        return not bool((after < following).any())

    def arrival_order(self) -> Ints | None:
        """Data row numbers from the first inserted to the last; None where nobody knows."""
        import numpy as np

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
    import numpy as np

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
ESCAPED_PATTERN = r"[/\\#?~\x00-\x1f\x7f-\x{9f}\x{ffff}]"
"""Characters that a key escapes: order is lost with them."""

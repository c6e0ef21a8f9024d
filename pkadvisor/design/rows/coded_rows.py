"""Rows as arrays of codes: values of properties, periods, buckets and key texts as integers in value order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pkadvisor.design.keys.key_terms import Known
from pkadvisor.design.keys.template import decoder, languages_of, over_tokens, separators, types_shown
from pkadvisor.design.keys.transforms import MISSING, Atom, Context, Part, bucket, bucket_number, canonical_text
from pkadvisor.design.keys.transforms.languages import ANY, exactly, may_meet
from pkadvisor.design.rows.atoms import function_of
from pkadvisor.design.rows.values import numeric, period_index, period_of_moments, python_value
from pkadvisor.lazy import U64, Bools, Floats, Ints, np, pl
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import SERVER_TIME, EdmType
from pkadvisor.values import dataclass


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


class CodedRows(Known):
    """Rows and the ghosts below them, each property of which becomes codes when it is first asked for."""

    def __init__(
        self,
        frame: pl.DataFrame,
        ghosts: pl.DataFrame | None,
        types: dict[str, EdmType],
        *,
        sizes: Mapping[str, Sizes] | None,
        hashed: frozenset[str],
        token: Callable[[str], str] | None,
    ) -> None:
        self.types, self.hashed = dict(types), hashed
        self._token, self._sizes = token, dict(sizes or {})
        self.rows = frame.height
        self.data = frame
        """The sampled rows with the types that they were read with: in ``frame`` a property of which a log hides values
        holds texts."""
        if ghosts is not None and ghosts.height:
            frame = pl.concat([frame, ghosts], how="diagonal_relaxed")
        self.frame, self.size = frame, frame.height
        self.is_data: Bools = np.arange(self.size) < self.rows
        self.memo: dict[object, Any] = {}
        """Results of pure functions of these rows, kept by whoever computed them."""
        self._coded: dict[str, Coded] = {}
        self._atoms: dict[Atom, tuple[Ints, int]] = {}
        self._masks: list[Bools] = []
        self._numbers_of: dict[Atom, Ints] = {}

    @property
    def known_sizes(self) -> Mapping[str, Sizes]:
        """The sizes of properties that are known so far."""
        return self._sizes

    @property
    def token(self) -> Callable[[str], str] | None:
        """What makes a token of a canonical text; None where nobody knows."""
        return self._token

    def has(self, name: str) -> bool:
        """Whether the property exists."""
        return name in self.frame.columns

    def may_be_key(self, name: str) -> bool:
        """Whether a new key may hold the property: the service sets Timestamp when it writes the entity."""
        return self.has(name) and name != SERVER_TIME

    def sizes(self, name: str) -> Sizes:
        """Lengths and magnitude of a property's values: from the profile, else from the rows at hand."""
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
        (shown,) = over_tokens((part,), self.hashed)
        texts = rows.select(shown.expression(Context(types_shown(self.types, self.hashed))).alias("t")).to_series()
        return texts.rank("dense").to_numpy().astype(np.int64) - 1

    def _table(self, atom: Atom, coded: Coded) -> Ints:
        """For each distinct value of the property, the number of its period or bucket."""
        name = atom[1]
        if atom[0] == "h":
            return (self._bucket_numbers(name) % np.uint64(int(atom[2]))).astype(np.int64)
        return period_index(coded.values, atom[2])

    @remembered("bucket numbers")
    def _bucket_numbers(self, name: str) -> U64:
        """For each distinct value of a property what its bucket is of, whatever the number of buckets."""
        edm = self.shown_type(name)
        texts = (canonical_text(python_value(v, edm), edm) for v in self.coded(name).values.to_list())
        return np.fromiter(map(bucket_number, texts), dtype=np.uint64)

    def add_mask(self, mask: Bools) -> Atom:
        """Register a condition without parameters as an atom; its code is 1 where the row satisfies it."""
        self._masks.append(mask)
        return ("m", str(len(self._masks) - 1))

    @property
    def masks(self) -> tuple[Bools, ...]:
        """The conditions registered so far, by the number in their atoms."""
        return tuple(self._masks)

    def bound_codes(self, atom: Atom, numbers: Floats | Ints) -> Ints:
        """For each number, how many codes of a property's atom lie below it."""
        coded = self.coded(atom[1])
        values = self._numeric(atom[1])
        at = np.searchsorted(values, numbers)
        return at.astype(np.int64) + (1 if coded.has_missing else 0)

    def period_codes(self, atom: Atom, moments: Floats, side: str) -> Ints:
        """For each moment (µs), how many periods of an atom lie before its own (``left``) or up to it (``right``)."""
        self.atom(atom)
        numbers = self._numbers_of[atom]
        periods = period_of_moments(moments, atom[2])
        codes = np.searchsorted(numbers, periods, side="left" if side == "left" else "right").astype(np.int64)
        first = 1 if self.coded(atom[1]).has_missing else 0
        return np.maximum(codes, first)

    def numbers(self, name: str, instances: Ints) -> Floats | Ints:
        """The numeric value (µs for times) of a property for each instance; missing is the least value."""
        coded = self.coded(name)
        values = self._numeric(name)
        if coded.has_missing:
            values = np.concatenate([values[:1] - 1 if len(values) else np.zeros(1, dtype=np.int64), values])
        return values[coded.codes[instances]]

    @remembered("numeric")
    def _numeric(self, name: str) -> Floats | Ints:
        """The values of a property as numbers, in the order of its codes; resamples share them."""
        return numeric(self.coded(name).values)

    def key_order(self, parts: Sequence[Part]) -> list[Ints]:
        """Arrays that sort rows as their key text would sort, most significant first (ASCII parts)."""
        return [self._part_order(part, part.atom) for part in parts if part.atom is not None]

    def _part_order(self, part: Part, atom: Atom) -> Ints:
        """Numbers that rise with the text of a part: a missing value, ``~-``, sorts behind numbers and times."""
        codes, size = self.atom(atom)
        order, lacks = part.order(Context(self.types)), atom[0] in ("p", "t") and self.coded(atom[1]).has_missing
        if order < 0:
            return -codes
        if atom[0] == "p" and (not order or (lacks and self.types.get(atom[1]) is EdmType.STRING)):
            return self._text_order(part, atom[1])  # texts have an order of their own
        return np.where(codes == 0, size, codes) if lacks else codes

    def _text_order(self, part: Part, name: str) -> Ints:
        """Numbers that rise with the text that a part makes of a property; resamples share those of its values."""
        return self._order_of_values(part, name)[self.coded(name).codes]

    @remembered("text order")
    def _order_of_values(self, part: Part, name: str) -> Ints:
        coded = self.coded(name)
        missing = pl.Series(name, [None] if coded.has_missing else [], dtype=coded.values.dtype)
        return self._texts_of(part, pl.DataFrame([missing.append(coded.values)]))

    @remembered("keeps order")
    def keeps_order(self, name: str, following: str) -> bool:
        """Whether texts sort in a key as their values do, for those of the rows at hand: what is only asked for, such
        as the beginning of a text, stands in no key.

        Not where a value has characters that are escaped, nor where one value continues another with a character below
        the one that follows it in the key (``ab`` and ``ab!`` before ``_``). Hidden values have no order.
        """
        return name not in self.hashed and self.has(name) and self._texts_keep(name, following)

    def _texts_keep(self, name: str, following: str) -> bool:
        coded = self.coded(name)
        held = np.unique(coded.codes[: self.rows]) - coded.has_missing
        values = coded.values.gather(held[held >= 0])
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

    @remembered("begins")
    def begins(self, parts: tuple[Part, ...], text: str) -> bool:
        """Whether some key of a template begins with a text, as far as the values at hand of its first part tell."""
        asked = (exactly(text), ANY)
        if not may_meet(languages_of(parts, self.types), asked):
            return False
        if not parts or len(parts[0].properties) != 1:
            return True
        texts = self._texts_at(parts, 0)
        if texts is None:  # that a value begins with a label by chance is unlikely
            return False
        if texts.str.starts_with(text).any():
            return True
        shorter = texts.filter(texts.is_in([text[:n] for n in range(len(text))]))
        rest = languages_of(parts, self.types)[1:]
        return any(may_meet(rest, (exactly(text[len(beginning) :]), ANY)) for beginning in shorter.to_list())

    @remembered("meets")
    def meets(self, parts: tuple[Part, ...], others: tuple[Part, ...]) -> bool:
        """Whether some key of one template is one of another, as far as the values at hand tell: those of a key that is
        one property."""
        texts, theirs = self._texts_of_one(parts), self._texts_of_one(others)
        if texts is None:
            return True
        if theirs is not None:
            return bool(texts.is_in(theirs.implode()).any())
        pattern = decoder(others, Context(self.types))
        return any(pattern.fullmatch(text) for text in texts.drop_nulls().to_list())

    def _texts_of_one(self, parts: tuple[Part, ...]) -> pl.Series | None:
        """The texts at hand of a key that is one property; None of others."""
        return self._texts_at(parts, 0) if len(parts) == 1 and len(parts[0].properties) == 1 else None

    @remembered("goes on")
    def goes_on(self, parts: tuple[Part, ...], place: int, label: str) -> bool:
        """Whether some key of a template begins as those of its part at ``place`` do that a label follows, as far as
        the values at hand tell.

        What stands before the part is the same text in all keys. The label may stand in a value, begin at the end of
        one, or come of what follows a value, of the same one or of one that begins another.
        """
        rest = languages_of(parts, self.types)[place + 1 :]
        if may_meet(rest, (exactly(label), ANY)):
            return True
        texts = self._texts_at(parts, place)
        if texts is None:
            return False
        if texts.str.contains(label, literal=True).any():
            return True
        for cut in range(1, len(label)):
            if may_meet(rest, (exactly(label[cut:]), ANY)) and texts.str.ends_with(label[:cut]).any():
                return True
        # Sorted, everything that continues a text comes right behind it.
        pairs = pl.DataFrame({"one": texts.sort()}).with_columns(pl.col("one").shift(-1).alias("next"))
        longer = pairs.filter(pl.col("next").str.starts_with(pl.col("one")) & (pl.col("one") != ""))
        following = longer.select(pl.col("next").str.slice(pl.col("one").str.len_chars(), 1)).to_series().unique()
        return any(may_meet(rest, (exactly(one), ANY)) for one in following.to_list())

    def _texts_at(self, parts: tuple[Part, ...], place: int) -> pl.Series | None:
        """The texts of a part of one property; None where its values are not at hand."""
        part = parts[place]
        name = part.properties[0]
        if not self.has(name) or name in self.hashed:
            return None
        return self._texts_written(part, name, separators(parts))

    @remembered("texts of")
    def _texts_written(self, part: Part, name: str, beside: str) -> pl.Series:
        sampled = pl.DataFrame({name: self.coded(name).values})
        shown = part.expression(Context(self.types, beside)).unique()
        return sampled.select(shown.alias("text")).get_column("text")


ESCAPED_PATTERN = r"[/\\#?~\x00-\x1f\x7f-\x{9f}\x{ffff}]"
"""Characters that a key escapes: order is lost with them."""

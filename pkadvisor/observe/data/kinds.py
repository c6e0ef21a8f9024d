"""Kinds of entities in one table: how they are told apart, how many there are of each, and one data set per kind.

| rule | rows of one kind share |
| --- | --- |
| column | the value of a column such as ``EntityType`` whose values go with different properties |
| row-key-prefix | the RowKey's text before the first ``:``, ``_`` or ``;`` (``BIB:00012``) |
| properties | a group of properties that never occur together with those of another group |

Data sets by the kinds of entities that a design declares for their tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Final

from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Column, Dataset, KindFilter
from pkadvisor.table.edm import KEYS, SYSTEM_PROPERTIES, EdmType
from pkadvisor.values import dataclass


def by_kind(datasets: Sequence[Dataset], kinds: Mapping[str, Sequence[str]], *, designed: bool) -> tuple[Dataset, ...]:
    """The data sets with the declared kinds told apart, where the file of a table holds several.

    ``kinds`` are those of each table that has any; ``designed``: whether there is a design.
    """
    several = {table.lower(): tuple(names) for table, names in kinds.items() if names}
    out: list[Dataset] = []
    for dataset in datasets:
        if dataset.kind is None and len(datasets) == 1:
            out += _told_apart(dataset, [name for names in several.values() for name in names], designed)
        elif (dataset.kind or "").lower() in several:
            own = replace(dataset, table=dataset.kind or "")
            out += _told_apart(own, several[own.table.lower()], designed)
        else:
            out.append(dataset)
    return tuple(out)


def _told_apart(whole: Dataset, names: Sequence[str], designed: bool) -> tuple[Dataset, ...]:
    """A data set by the kinds of these names.

    Kinds that nobody declared are only noted: rows of an index and entities of another kind look alike from here.
    """
    wanted = {name.lower() for name in names}
    if not wanted and all(c.name != "RowKey" for c in whole.columns):
        return (whole,)
    rules = detect_kinds(whole)
    for rule in rules:
        if wanted and wanted <= {k.name.lower() for k in rule.kinds}:
            return tuple(d for d in split_kinds(whole, rule) if d.kind is not None and d.kind.lower() in wanted)
    if wanted:
        seen = "; ".join(", ".join(k.name for k in rule.kinds) for rule in rules) or "none"
        fix = f"give the data as KIND=PATH for each kind; kinds found in the data: {seen}"
        raise UsageError(f"the kinds {', '.join(sorted(wanted))} cannot be told apart in {whole.name}", fix=fix)
    judged = "judged as one kind" if designed else "those whose keys differ are judged apart"
    notes = tuple(
        f"{rule.sentence()}: {', '.join(f'{k.name} {k.row_count:,}' for k in rule.kinds[:4])}; {judged}"
        for rule in rules[:1]
    )
    return (replace(whole, notes=(*whole.notes, *notes)),)


KIND_COLUMNS: Final = ("entitytype", "entity_type", "kind", "type", "_type", "recordtype", "record_type", "doctype")
MAX_KINDS: Final = 16
KINDS_NOTE: Final = "kinds are told apart by"
"""The beginning of the sentence of a rule."""
MIN_COVERED_SHARE: Final = 0.95
OTHER: Final = "(other)"
"""The name of the rows that no kind claims."""
_PREFIX: Final = r"^([A-Za-z][A-Za-z0-9-]{0,31})[:_;]"
_MAX_SIGNATURES: Final = 4096
_MAX_LABELS: Final = 256


class KindBy(StrEnum):
    """What tells kinds apart."""

    COLUMN = "column"
    ROW_KEY_PREFIX = "row-key-prefix"
    PROPERTIES = "properties"


@dataclass(frozen=True, slots=True)
class EntityKind:
    """One kind: its rows and, per property that it has, in how many of them."""

    name: str
    row_count: int
    present: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class KindRule:
    """A way to tell kinds apart, with the kinds it gives, the most frequent first.

    ``column`` is read by the first two rules; ``groups`` holds (kind, its properties) for the third. Rows that no kind
    claims form a last kind named ``(other)``, so that the row counts add up to the data set's.
    """

    by: KindBy
    column: str
    kinds: tuple[EntityKind, ...]
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns that ``label`` needs."""
        return tuple(name for _, names in self.groups for name in names) if self.groups else (self.column,)

    def label(self) -> pl.Expr:
        """The kind of each row as a text, never null."""
        return _label(self.by, self.column, self.groups).fill_null(pl.lit(OTHER)).alias("_kind")

    def sentence(self) -> str:
        """The rule in words."""
        if self.by is KindBy.COLUMN:
            return f"{KINDS_NOTE} the column {self.column}"
        if self.by is KindBy.ROW_KEY_PREFIX:
            return f"{KINDS_NOTE} the beginning of the RowKey, up to the first ':', '_' or ';'"
        return f"{KINDS_NOTE} the properties that entities have"


def _label(by: KindBy, column: str, groups: Sequence[tuple[str, Sequence[str]]]) -> pl.Expr:
    if by is KindBy.COLUMN:
        return pl.col(column).cast(pl.String)
    if by is KindBy.ROW_KEY_PREFIX:
        return pl.col(column).str.extract(_PREFIX)
    return pl.coalesce(
        pl.when(pl.any_horizontal(pl.col(name).is_not_null() for name in names)).then(pl.lit(kind))
        for kind, names in groups
    )


@dataclass(slots=True)
class _LabelCounts:
    """Counts per label while the rows go by; ``dead`` once there are too many labels."""

    by: KindBy
    column: str
    rows: dict[str, list[int]] = field(default_factory=dict)
    dead: bool = False

    def add(self, frame: pl.DataFrame, names: Sequence[str]) -> None:
        if self.dead:
            return
        label = _label(self.by, self.column, ()).fill_null(pl.lit(OTHER)).alias("_kind")
        counted = frame.lazy().group_by(label).agg(pl.len().alias("_rows"), *(pl.col(n).count() for n in names))
        for kind, *counts in counted.collect().iter_rows():
            known = self.rows.get(kind)
            self.rows[kind] = [a + b for a, b in zip(known, counts, strict=True)] if known else list(counts)
        self.dead = len(self.rows) > _MAX_LABELS

    def kinds(self, names: Sequence[str]) -> tuple[EntityKind, ...]:
        kinds = [
            EntityKind(kind, counts[0], tuple((n, c) for n, c in zip(names, counts[1:], strict=True) if c))
            for kind, counts in self.rows.items()
        ]
        return tuple(sorted(kinds, key=lambda k: (k.name == OTHER, -k.row_count, k.name)))


def detect_kinds(dataset: Dataset) -> tuple[KindRule, ...]:
    """The rules that split the data set into 2 to 16 kinds covering at least 95 % of it, the most telling first.

    Reads the data set once; empty if it looks like a single kind.
    """
    names = [c.name for c in dataset.columns]
    candidates = [
        _LabelCounts(KindBy.COLUMN, c.name)
        for c in dataset.columns
        if c.name.lower() in KIND_COLUMNS and c.edm is EdmType.STRING
    ]
    if "RowKey" in names:
        candidates.append(_LabelCounts(KindBy.ROW_KEY_PREFIX, "RowKey"))
    partial = [c.name for c in dataset.columns if c.missing and c.present and c.name not in SYSTEM_PROPERTIES]
    signatures: dict[str, int] | None = {} if len(partial) >= 4 else None
    if not candidates and signatures is None:
        return ()
    for frame in dataset.batches():
        for candidate in candidates:
            candidate.add(frame, names)
        if signatures is not None:
            _add_signatures(frame, partial, signatures)
            if len(signatures) > _MAX_SIGNATURES:
                signatures = None
        if signatures is None and all(candidate.dead for candidate in candidates):
            return ()
    rules = [
        KindRule(candidate.by, candidate.column, candidate.kinds(names))
        for candidate in candidates
        if not candidate.dead
    ]
    telling = [rule for rule in rules if _tells(rule, dataset.row_count)]
    groups = _groups(signatures, partial) if signatures else ()
    if groups:
        rule = KindRule(KindBy.PROPERTIES, "", (), groups)
        rule = replace(rule, kinds=_count(dataset, rule, names))
        if _tells(rule, dataset.row_count):
            telling.append(rule)
    return tuple(telling)


def _count(dataset: Dataset, rule: KindRule, names: Sequence[str]) -> tuple[EntityKind, ...]:
    candidate = _LabelCounts(KindBy.COLUMN, "_kind")
    for frame in dataset.batches():
        candidate.add(frame.with_columns(rule.label()), names)
    return candidate.kinds(names)


def _tells(rule: KindRule, row_count: int) -> bool:
    kinds = [k for k in rule.kinds if k.name != OTHER]
    covered = sum(k.row_count for k in kinds)
    if not 2 <= len(kinds) <= MAX_KINDS or covered < MIN_COVERED_SHARE * row_count:
        return False
    if rule.by is not KindBy.COLUMN:
        return True
    # A column named "type" is a kind only if some property is common in one kind and unknown in another.
    has = [dict(k.present) for k in kinds]
    common = {name for k, mine in zip(kinds, has, strict=True) for name, n in mine.items() if 2 * n >= k.row_count}
    return any(name not in mine for name in common for mine in has)


def _add_signatures(frame: pl.DataFrame, partial: Sequence[str], signatures: dict[str, int]) -> None:
    """Count which of the partly missing properties occur together, as a text of 0 and 1."""
    bits = pl.concat_str(pl.col(name).is_not_null().cast(pl.Int8).cast(pl.String) for name in partial)
    for text, n in frame.lazy().group_by(bits.alias("bits")).agg(pl.len()).collect().iter_rows():
        signatures[text] = signatures.get(text, 0) + n


def _groups(signatures: dict[str, int], partial: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Properties joined as far as they occur together; empty unless each of several groups has at least two."""
    group = list(range(len(partial)))

    def root(i: int) -> int:
        while group[i] != i:
            i = group[i]
        return i

    for text in signatures:
        together = [i for i, bit in enumerate(text) if bit == "1"]
        for i in together[1:]:
            a, b = root(together[0]), root(i)
            group[max(a, b)] = min(a, b)
    members: dict[int, list[str]] = {}
    for i, name in enumerate(partial):
        members.setdefault(root(i), []).append(name)
    if len(members) < 2 or any(len(names) < 2 for names in members.values()):
        return ()
    return tuple((names[0], tuple(names)) for names in members.values())


def split_kinds(dataset: Dataset, rule: KindRule) -> tuple[Dataset, ...]:
    """One data set per kind of the rule, in its order; together they have every row of the whole.

    Each has the columns that its entities have, with the types found in the whole.
    """
    edm = {c.name: c.edm for c in dataset.columns}
    parts = []
    for kind in rule.kinds:
        present = dict(kind.present)
        columns = tuple(
            _of_kind(c, present.get(c.name, 0), kind.row_count)
            for c in dataset.columns
            if c.name in present or c.name in KEYS
        )
        keep = rule.label() == pl.lit(kind.name)
        reads = {name: edm[name] for name in rule.reads}
        if dataset.part is not None:
            keep = keep & dataset.part.keep
            reads.update(dataset.part.edm)
        parts.append(
            replace(
                dataset,
                name=kind.name,
                kind=kind.name,
                columns=columns,
                row_count=kind.row_count,
                notes=(*dataset.notes, rule.sentence()),
                part=KindFilter(keep, tuple(reads.items())),
            )
        )
    return tuple(parts)


def _of_kind(column: Column, present: int, row_count: int) -> Column:
    types = column.types if column.mixed else ((column.edm, present),)
    return replace(column, present=present, missing=row_count - present, types=types)

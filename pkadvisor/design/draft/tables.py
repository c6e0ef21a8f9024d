"""What data and a log say about tables that no design describes: kinds of rows, their keys, and what the keys hold.

Keys that a log names and an export lacks: made of the columns, as far as these make the very same keys.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice, product
from typing import Final

from pkadvisor.design.draft.index_rows import FoundIndex, with_index_rows
from pkadvisor.design.keys.infer import KeyShape, infer_keys
from pkadvisor.design.keys.infer.columns import SampledColumn, candidate_parts
from pkadvisor.design.keys.infer.proof import Proof
from pkadvisor.design.keys.keyreader import fits, key_pattern, tellers, with_key_parts
from pkadvisor.design.keys.scheme import Key, KeyScheme, fixed_letters, key_expression
from pkadvisor.design.keys.template import separators
from pkadvisor.design.keys.transforms import Context, Field, Literal, Part
from pkadvisor.design.rows.logged.requests import reader_of, requests_of
from pkadvisor.design.rows.logged.shapes import names_keys
from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.traffic import TableTraffic
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.profile.profile import POSITION
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.values import dataclass

PIECES: Final = 0.7
"""Share of the distinct texts at one place of the logged keys that a column makes: some entities are gone or new."""
MADE: Final = 0.5
"""Share of the logged keys that the data must make for the template to be believed."""
COLUMNS_TRIED: Final = 3
"""Columns that make the texts at one place, of which so many are tried."""
KEYS_TRIED: Final = 50
_DISTINCT_MIN: Final = 3


def key_over_columns(data: DataProfile, keys: pl.DataFrame) -> tuple[Key, int] | None:
    """The key that makes most of the logged keys out of columns, and how many; None where none makes half of them."""
    types = data.types
    best: tuple[Key, int] | None = None
    for shape in infer_keys(keys).kinds[:3]:
        halves = _halves(shape, keys, data)
        for partition, row in islice(product(*halves), KEYS_TRIED):
            made = data.sample.select(
                key_expression(partition, types).alias(KEYS[0]), key_expression(row, types).alias(KEYS[1])
            )
            count = keys.join(made.unique(), on=list(KEYS), how="semi").height
            if count >= MADE * keys.height and (best is None or count > best[1]):
                best = Key(partition, row), count
    return best


def _halves(shape: KeyShape, keys: pl.DataFrame, data: DataProfile) -> list[list[tuple[Part, ...]]]:
    """What the PartitionKey and the RowKey may be with a column behind each of their variable parts."""
    halves: list[list[tuple[Part, ...]]] = []
    types = dict(shape.types)
    for name, parts in zip(KEYS, (shape.key.partition, shape.key.row), strict=True):
        groups = keys.get_column(name).str.extract_groups(key_pattern(parts, types))
        variable = [part for part in parts if part.constant is None]
        texts = iter(groups.struct.unnest().get_columns() if variable else ())
        ways: list[tuple[Part, ...]] = [()]
        before = ""
        for part in parts:
            if part.constant is not None:
                before += part.constant
                continue
            group = next(texts)
            behind = [
                ((Literal(before[:cut]),) if cut else (), each)
                for cut in _cuts(before)
                for each in _columns_behind(before[cut:] + group, data, separators(parts))
            ]
            ways = [(*way, *fixed, each) for way in ways for fixed, each in behind][:KEYS_TRIED]
            before = ""
        halves.append([(*way, Literal(before)) if before else way for way in ways])
    return halves


def _cuts(before: str) -> list[int]:
    """Where the value of a column may begin in the fixed text before a part: behind all of it, or at a word or a digit
    that all of its values begin with (``C0031``, ``INV-007``)."""
    digits, word = (len(before.rstrip(characters)) for characters in ("0123456789", _WORD))
    return list(dict.fromkeys((len(before), digits, word, 0)))


_WORD: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _columns_behind(texts: pl.Series, data: DataProfile, between: str) -> list[Part]:
    """The part of each column that makes most of some texts, the best first; of those that make enough of them."""
    distinct = texts.drop_nulls().unique().sort()
    if distinct.len() < _DISTINCT_MIN:
        return []
    shares: list[tuple[float, Part]] = []
    context = Context(data.types, between)
    for property_profile in data.properties:
        column = SampledColumn(property_profile.column.name, property_profile.column.edm, ())
        if not column.usable or column.name in data.hashed or column.name not in data.sample.columns:
            continue
        parts = candidate_parts(distinct.to_list(), None, column)
        made = (data.sample.select(part.expression(context)).to_series().unique() for part in parts)
        of_each = [int(distinct.is_in(texts.implode()).sum()) / distinct.len() for texts in made]
        share, best = max(zip(of_each, parts, strict=True), key=lambda one: one[0], default=(0.0, None))
        if best is not None and share >= PIECES:
            shares.append((share, best))
    return [part for _, part in sorted(shares, key=lambda one: -one[0])[:COLUMNS_TRIED]]


LOOKED_AT: Final = 50_000
"""Rows whose keys are looked at."""
KIND_SHARE: Final = 0.01
"""A kind of rows has at least this share of them or of the logged requests, or ``ROWS_MIN`` rows that a word of their
own begins, such as one ``META`` for each partition; fewer are left unexplained."""
EXPLAINED: Final = 0.5
"""Share of the rows whose keys the templates must write again for them to stand in a design."""
FITS: Final = 0.5
"""Share of the logged keys that the templates must read for a log to be that of a table."""
LOGGED: Final = 200
"""Requests of a class that are looked at for rows which are few and asked for often."""
ROWS_MIN: Final = 20
"""Distinct logged keys below which they show no pattern."""


@dataclass(frozen=True, slots=True)
class DraftKind:
    """A kind of rows: its key, the types of the properties in it, and those of them that stand in no column.

    ``rows`` of those looked at are of the kind, and ``exact`` of them come out character for character.
    """

    name: str | None
    key: Key
    types: dict[str, EdmType]
    parts: tuple[str, ...]
    rows: int
    exact: int
    example: tuple[str, str]
    notes: tuple[str, ...] = ()
    index_rows: tuple[FoundIndex, ...] = ()
    without: frozenset[str] = frozenset()
    """Columns of the data in which no row of the kind has a value."""

    @property
    def scheme(self) -> KeyScheme:
        """The key and its index rows as a scheme."""
        return KeyScheme(self.key, tuple(index.row for index in self.index_rows), "current")

    def without_examples(self) -> DraftKind:
        """The kind with the examples of its keys hidden."""
        rows = tuple(replace(index, example=("…", "…")) for index in self.index_rows)
        return replace(self, example=("…", "…"), index_rows=rows)


@dataclass(frozen=True, slots=True)
class DraftTable:
    """A table: its rows by kinds (none where no template explains its keys), its data and its log.

    ``looked_at`` rows were looked at, of which the templates of ``kinds`` write all but ``unexplained`` again.
    ``from_log``: the rows are the keys that the log names.
    """

    name: str
    kinds: tuple[DraftKind, ...]
    looked_at: int
    unexplained: int
    data: DataProfile | None
    traffic: TableTraffic | None
    from_log: bool = False
    over_columns: bool = False
    """Whether the data has no keys, and its columns make those that the log names."""

    @property
    def unexplained_keys(self) -> bool:
        """Whether the log names keys that neither the data has nor its columns make."""
        if self.kinds or self.traffic is None or (self.data is not None and set(KEYS) <= set(self.data.types)):
            return False
        return names_keys(self.traffic)

    @property
    def index_rows(self) -> int:
        """Rows of those looked at that repeat an entity under another key."""
        return sum(index.rows for kind in self.kinds for index in kind.index_rows)

    def without_examples(self) -> DraftTable:
        """The table with the examples of its keys hidden."""
        return replace(self, kinds=tuple(kind.without_examples() for kind in self.kinds))


def draft_table(
    name: str, data: DataProfile | None, traffic: TableTraffic | None, keys: pl.DataFrame | None
) -> DraftTable:
    """What is known of one table; ``keys`` are those that the log names where there is no data."""
    frame, types = None, dict[str, EdmType]()
    if data is not None and set(KEYS) <= set(data.types) and not data.hashed & set(KEYS):
        frame, types = data.sample.sort(POSITION).drop(POSITION, "#hash"), data.types
        frame = frame.gather_every(-(-frame.height // LOOKED_AT) or 1)
    elif data is None and keys is not None and keys.height >= ROWS_MIN:
        frame = keys
    if frame is None:
        return _over_columns(DraftTable(name, (), 0, 0, data, traffic))
    share = min(1.0, frame.height / data.rows) if data is not None else 0.0
    kinds, unexplained = _kinds(frame, types, share, traffic)
    table = DraftTable(name, kinds, frame.height, unexplained, data, traffic, from_log=data is None)
    wrong, total, _ = strangers(table)
    # Whole keys of a log alone may be named by a few requests, and look otherwise than the rest; a few rows of the data
    # may take most requests, and look otherwise than the other rows.
    if wrong > (1 - FITS) * total and (table.from_log or (traffic is not None and _held(frame, traffic))):
        return replace(table, kinds=(), unexplained=frame.height)
    return table


def _held(frame: pl.DataFrame, traffic: TableTraffic) -> bool:
    """Whether rows have most of the whole keys that a log names."""
    logged = logged_keys(traffic)
    return logged.join(frame, on=list(KEYS), how="semi").height > FITS * logged.height


def _over_columns(table: DraftTable) -> DraftTable:
    """A table whose data has no keys, with the keys that its columns make where the log names just these."""
    data, traffic = table.data, table.traffic
    if data is None or traffic is None or set(KEYS) & set(data.types):
        return table
    keys = logged_keys(traffic)
    joined = key_over_columns(data, keys) if keys.height >= ROWS_MIN else None
    if joined is None:
        return table
    key, made = joined
    types = {name: data.types[name] for name in key.properties}
    example = (str(keys[0, 0]), str(keys[0, 1]))
    kind = DraftKind(None, key, types, (), keys.height, made, example)
    return replace(table, kinds=(kind,), looked_at=keys.height, unexplained=keys.height - made, over_columns=True)


def _kinds(
    frame: pl.DataFrame, types: Mapping[str, EdmType], share: float, traffic: TableTraffic | None
) -> tuple[tuple[DraftKind, ...], int]:
    """The kinds of rows, and how many rows no template writes; no kinds where these are too many.

    Index rows are no kind of their own: they stand with that of their entities, of which ``share`` are at hand.
    """
    inference = infer_keys(frame, types)
    usual = [s for s in inference.kinds if s.explained >= max(2, KIND_SHARE * inference.rows) or _rare(s)]
    few = [s for s in inference.kinds if s not in usual and s.explained > 1]
    shapes = [*usual, *_asked_often(few, usual, traffic)] if few and traffic is not None else usual
    exact = sum(s.explained for s in shapes)
    if exact < EXPLAINED * inference.rows:
        return (), inference.rows
    pairs = list(zip(*(frame.get_column(n).to_list() for n in KEYS), strict=True))
    taken: set[str] = set()
    own = with_index_rows(shapes, frame, types, share) if share else [(s, ()) for s in shapes]
    kinds = [
        replace(_kind(s if rows else _with_plain_periods(s, pairs, frame), frame, taken, len(own) > 1), index_rows=rows)
        for s, rows in own
    ]
    kinds.sort(key=lambda k: -fixed_letters(k.key))
    return tuple(_with_empty_columns(kinds, frame) if len(kinds) > 1 else kinds), inference.rows - exact


def _asked_often(few: Sequence[KeyShape], usual: Sequence[KeyShape], traffic: TableTraffic) -> list[KeyShape]:
    """Those of a few rows each that a share of the requests names, and no more usual one, as large as rows need to be
    a kind."""
    every = [reader_of(KeyScheme(shape.key), dict(shape.types)) for shape in (*usual, *few)]
    asked = [0.0] * len(every)
    for one in traffic.classes:
        samples = list(_with_keys(one.sample.head(LOGGED).iter_rows(named=True))) if one.op != "batch" else []
        for request in requests_of(one, samples):
            first = next((n for n, reader in enumerate(every) if reader.fits(request)), None)
            if first is not None:
                asked[first] += one.requests / len(samples)
    counts = asked[len(usual) :]
    return [shape for shape, requests in zip(few, counts, strict=True) if requests >= KIND_SHARE * sum(asked)]


def _with_empty_columns(kinds: Sequence[DraftKind], frame: pl.DataFrame) -> list[DraftKind]:
    """The kinds with the columns that only rows of other kinds fill; a row is of the first kind whose key it fits."""
    out = []
    for kind in kinds:
        own = fits(kind.key, kind.types)
        rows, frame = frame.filter(own), frame.filter(~own)
        empty = (column.name for column in rows if column.null_count() == rows.height)
        out.append(replace(kind, without=frozenset(empty)))
    return out


def _rare(shape: KeyShape) -> bool:
    """Whether few rows are a kind all the same: a word begins their keys."""
    begins = next(iter(shape.key.row), None)
    word = (begins.constant or "").rstrip("|;:_!$&^=+*-") if begins is not None else ""
    return shape.explained >= ROWS_MIN and len(word) > 1 and word.isalpha()


def _kind(shape: KeyShape, frame: pl.DataFrame, taken: set[str], several: bool) -> DraftKind:
    parts_by_name = tellers(shape.key)
    numbers = [n for n, e in shape.types if e.integer and n not in shape.columns and n in parts_by_name]
    texts = [n for n in numbers if parts_by_name[n][2].plain_property]
    types = {n: EdmType.STRING if n in texts else e for n, e in shape.types}
    lengths = with_key_parts(frame.select(KEYS), shape.key, texts, types).select(texts)
    uneven = [column.name for column in lengths if column.drop_nulls().str.len_chars().n_unique() > 1]
    notes = tuple(f"{n} holds numbers without padding: 10 sorts before 2, so it is taken as text" for n in uneven)
    name = _kind_name(shape.label, taken) if several else None
    return DraftKind(
        name,
        shape.key,
        types,
        tuple(n for n in shape.key.properties if n not in shape.columns and n in parts_by_name),
        shape.rows,
        shape.explained,
        shape.example,
        (*shape.notes, *notes),
    )


def _kind_name(label: str, taken: set[str]) -> str:
    """A name for a kind, after the word that its keys begin with; after all that they begin with where another kind has
    the word."""
    stem = "".join(c if c.isalnum() else "_" for c in label).strip("_")[:40] or "rows"
    word = label.partition(":")[0]
    name, number = word if word.isalnum() and word.lower() not in taken else stem, 2
    while name.lower() in taken:
        name, number = f"{stem}_{number}", number + 1
    taken.add(name.lower())
    return name


def _with_plain_periods(shape: KeyShape, pairs: Sequence[tuple[str, str]], frame: pl.DataFrame) -> KeyShape:
    """A shape with periods as text where nothing tells the time itself: requests then name the period whole."""
    exact = {name for name, (_, _, part) in tellers(shape.key).items() if part.decodes}
    every = (*shape.key.partition, *shape.key.row)
    coarse = (
        {p.period.property for p in every if p.period is not None and not p.period.to_the_second}
        - exact
        - set(shape.columns)
    )
    if not coarse or any(sum(name in p.properties for p in every) > 1 for name in coarse):
        return shape

    def plain(parts: tuple[Part, ...]) -> tuple[Part, ...]:
        return tuple(Field(p.period.property) if p.period and p.period.property in coarse else p for p in parts)

    key = Key(plain(shape.key.partition), plain(shape.key.row))
    types = {n: EdmType.STRING if n in coarse else e for n, e in shape.types}
    columns = {n: frame.get_column(n).to_list() for n in shape.columns}
    explained = sum(Proof(key, types, columns).explained(pairs, range(len(pairs))))
    if explained < shape.explained:
        return shape
    return replace(shape, key=key, types=tuple(types.items()))


def logged_keys(traffic: TableTraffic) -> pl.DataFrame:
    """The distinct keys that a table's log names whole, as a frame of PartitionKey and RowKey in a fixed order."""
    empty = pl.DataFrame(schema=dict.fromkeys(KEYS, pl.String))
    frames = [
        c.sample.select(pl.col("pk").alias(KEYS[0]), pl.col("rk").alias(KEYS[1])).drop_nulls()
        for c in traffic.classes
        if c.address and c.op != "batch" and c.sample.height
    ]
    return pl.concat([empty, *frames]).unique().sort(KEYS)


def strangers(table: DraftTable, *, whole: bool = False) -> tuple[int, int, str]:
    """(logged requests that fit no key of a table, logged requests that name keys, one that fits none); with ``whole``
    of those that name both keys."""
    wrong = total = 0
    example = ""
    readers = [reader_of(kind.scheme, kind.types) for kind in table.kinds]
    for traffic in table.traffic.classes if table.traffic is not None and table.kinds else ():
        samples = list(_with_keys(traffic.sample.iter_rows(named=True))) if traffic.op != "batch" else []
        samples = [s for s in samples if s["pk"] is not None and s["rk"] is not None] if whole else samples
        for sample, request in zip(samples, requests_of(traffic, samples), strict=True):
            total += 1
            if not any(reader.fits(request) for reader in readers):
                wrong += 1
                example = example or f"'{sample['pk']}'" + (f" | '{sample['rk']}'" if sample["rk"] else "")
    return wrong, total, example


def _with_keys(samples: Iterable[dict[str, object]]) -> Iterable[dict[str, object]]:
    return (s for s in samples if s["pk"] is not None or s["rk"] is not None)


def check_log(table: DraftTable, source: str, *, redact: bool = False) -> None:
    """UsageError where the keys of a log are made otherwise than those of the data."""
    wrong, total, example = strangers(table)
    if total and wrong > (1 - FITS) * total:
        own = table.kinds[0].example
        whole = strangers(table, whole=True)
        if whole[0]:  # a PartitionKey alone may be any text
            wrong, total, example = whole
        raise UsageError(
            f"the log is of another table, or of other keys: {wrong:,} of {total:,} logged keys of {table.name} look "
            f"otherwise than those of {source}",
            where="--log",
            excerpt="" if redact else f"  logged: {example[:80]}\n  data:   '{own[0][:40]}' | '{own[1][:40]}'",
            fix=f"which table is {source} of? give its log, or the export of {table.name}",
        )

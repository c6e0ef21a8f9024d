"""Facts of a key over the rows at hand: whether it is unique, how long it is, what it stores, what it looks like."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise

from pkadvisor.design.keys.scheme import Key, KeyScheme, encode, key_expression, variable
from pkadvisor.design.keys.template import over_tokens, separators, types_shown
from pkadvisor.design.keys.transforms import FORBIDDEN, Context, Part, escape_expression
from pkadvisor.design.load.shared_keys import shared_within
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import python_value
from pkadvisor.lazy import np, pl
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import KEYS, TICKS_UNIX_EPOCH, EdmType, TypedValue


def key_surplus(key: Key, population: Population) -> int:
    """Rows at hand whose key another row already has.

    Where parts of varying width touch (``{month}{day}``) the texts are compared, since 1 + 11 and 11 + 1 read the same;
    so they are where digits of texts are padded, since 7 and 07 become one. Rows that the table holds under other keys
    than most of the template, such as one written before it, are none that it gives a key to.
    """
    context = Context(population.types)
    doubtful = any(part.injective and not part.keeps_apart(context) for part in (*key.partition, *key.row))
    doubtful = doubtful or touching(key.partition, population) or touching(key.row, population)
    surplus = 0 if doubtful else population.surplus(atoms_of((*key.partition, *key.row)))
    if doubtful or (surplus and set(KEYS) <= set(population.data.columns)):
        return _text_surplus(key, population)
    return surplus


@remembered("surplus")
def _text_surplus(key: Key, population: Population) -> int:
    texts = key_texts(key.partition, key.row, population=population)
    own = _stored_as(texts, population)
    rows = texts if own is None else own
    return rows.height - rows.n_unique()


def _stored_as(texts: pl.DataFrame, population: Population) -> pl.DataFrame | None:
    """The keys that the table holds as a template writes them; None where these are not most of them."""
    if not all(map(population.has, KEYS)) or population.hashed & set(KEYS):
        return None
    stored = population.data.select(*KEYS)
    own = texts.filter((texts["0"] == stored[KEYS[0]]) & (texts["1"] == stored[KEYS[1]]))
    return own if 2 * own.height > texts.height else None


def rows_overwritten(scheme: KeyScheme, number: int, population: Population) -> int:
    """Rows of which an index row has the key of a row of an earlier kind; looked for where nothing in the templates
    keeps the kinds apart."""
    keys = [key for key, _ in scheme.each_key()]
    if keys[number] in keys[:number]:
        return population.rows
    shared_key = shared_within(scheme, number, population)
    return 0 if shared_key is None else shared_key.counted or 0


def touching(parts: tuple[Part, ...], population: Population) -> bool:
    """Whether a part of varying width is followed by another part with no text between them."""
    return any(
        (
            (part.plain_property and population.types.get(part.plain_property) not in FIXED_LENGTHS)
            or part.changes_text
            or part.several is not None
        )
        and after.constant is None
        for part, after in pairwise(parts)
    )


def encode_row(parts: tuple[Part, ...], population: Population, row: int) -> str:
    """The key text of one row at hand, with tokens where values are hidden."""
    return encode(
        over_tokens(parts, population.hashed),
        row_values(population, row, parts),
        types_shown(population.types, population.hashed),
    )


def row_values(
    population: Population, row: int, parts: tuple[Part, ...]
) -> dict[str, str | int | float | bool | bytes | None]:
    """The values of one row, as Python holds Edm values."""
    values: dict[str, str | int | float | bool | bytes | None] = {}
    for part in parts:
        for name in part.properties:
            value = population.frame.get_column(name)[row]
            values[name] = None if value is None else python_value(value, population.shown_type(name))
    return values


def collision(key: Key, population: Population) -> tuple[str, tuple[str, ...]]:
    """Two entities, one key: (an example in words, the keys in it)."""
    atoms = atoms_of((*key.partition, *key.row))
    ids, _ = population.groups(atoms)
    counts = population.counts(atoms)
    first = np.flatnonzero(counts[ids[: population.rows]] > 1)
    if not len(first):
        return _texts_alike(key, population)
    row = int(first[0])
    count = int(counts[ids[row]])
    same = [int(other) for other in np.flatnonzero(ids[: population.rows] == ids[row])[:2]]
    shown = (encode_row(key.partition, population, row), encode_row(key.row, population, row))
    difference = _told_apart(same, key, population)
    return f", e.g. {count} under '{shown[0]}' | '{shown[1]}'{difference}", tuple(s for s in shown if s)


def _texts_alike(key: Key, population: Population) -> tuple[str, tuple[str, ...]]:
    """``collision`` of entities that differ in what the key is made of and have one text: parts that touch."""
    if population.hashed & {*key.properties}:
        return "", ()
    frame = population.data.with_row_index("#seq")
    texts = frame.select(
        key_expression(key.partition, population.types).alias("pk"),
        key_expression(key.row, population.types).alias("rk"),
    ).with_row_index("row")
    alike = texts.filter(pl.struct("pk", "rk").is_duplicated())
    if alike.is_empty():
        return "", ()
    row, partition, text = alike.row(0)
    same = alike.filter((pl.col("pk") == partition) & (pl.col("rk") == text)).get_column("row").to_list()
    first, second = (frame.row(number, named=True) for number in same[:2])
    name = next((n for n in key.properties if first.get(n) != second.get(n)), None)
    difference = "" if name is None else f": {name} '{str(first[name])[:40]}' and '{str(second[name])[:40]}'"
    shown = f", e.g. {len(same)} under '{partition}' | '{text}' (rows {row + 1} and {same[1] + 1}{difference})"
    return shown, tuple(t for t in (partition, text) if t)


def _told_apart(rows: list[int], key: Key, population: Population) -> str:
    """What tells two entities with one key apart: the first property in which they differ."""
    if len(rows) < 2 or population.hashed:
        return ""
    first, second = (population.frame.row(r, named=True) for r in rows)
    for name in population.types:
        if name not in key.properties and first.get(name) != second.get(name) and population.has(name):
            one, other = (str(v[name])[:40] if v[name] is not None else "none" for v in (first, second))
            return f" (rows {rows[0] + 1} and {rows[1] + 1}: {name} '{one}' and '{other}')"
    return f" (rows {rows[0] + 1} and {rows[1] + 1} are equal in every property)"


@remembered("longest key")
def longest(parts: tuple[Part, ...], population: Population) -> int:
    """An upper bound of the key's length in UTF-16 code units, escapes included."""
    beside, population = separators(parts), under(parts, population)
    return sum(
        max(usual_length(p, population, longest=True), _escaped(p, beside, population)) for p in parts
    ).__ceil__()


def longest_row(parts: tuple[Part, ...], population: Population) -> int | None:
    """The row of the longest key, from 1; None where rows are a sample, or hidden, or hold no such key."""
    names = [name for part in parts for name in part.properties]
    if (
        not names
        or not population.complete
        or population.hashed & {*names}
        or under(parts, population) is not population
    ):
        return None
    context = Context(population.types, separators(parts))
    written = [units(part.expression(context)) for part in parts if part.properties]
    row = population.data.head(population.rows).select(n=sum(written[1:], written[0])).get_column("n").arg_max()
    return None if row is None else row + 1


def units(text: pl.Expr) -> pl.Expr:
    """UTF-16 code units of texts: what the service counts."""
    return text.str.len_chars() + text.str.count_matches(r"[\x{10000}-\x{10FFFF}]")


@remembered("escaped")
def _escaped(part: Part, beside: str, population: Population) -> int:
    """The longest text of a String property, or of a function of text, as the key holds it; 0 for other parts and where
    values are hidden."""
    if part.changes_text and not population.hashed & {*part.properties}:
        text = part.expression(Context(population.types, beside))
        return int(population.data.select(units(text).max()).item() or 0)
    name = part.plain_property
    if not name or population.types.get(name) is not EdmType.STRING:
        return 0
    column = population.frame.get_column(name).drop_nulls()
    if name in population.hashed or column.dtype != pl.String or not len(column):
        return 0
    return int(column.to_frame().select(units(escape_expression(pl.col(name), beside)).max()).item())


def usual_length(part: Part, population: Population, *, longest: bool = False) -> float:
    """Characters that a part adds to a key: the mean, or the most; of plain properties as the profile has them."""
    length = part.usual_length(Context(population.types))
    if length is not None:
        return float(length)
    if not part.plain_property and part.several is None:
        return _measured(part, population)[1 if longest else 0]
    edm, sizes = population.types.get(part.properties[0], EdmType.STRING), population.sizes(part.properties[0])
    if edm.integer:
        return float(len(str(sizes.largest)))
    if edm in FIXED_LENGTHS:
        return FIXED_LENGTHS[edm]
    return float(sizes.characters_max) if longest else sizes.characters_mean


@remembered("length")
def _measured(part: Part, population: Population) -> tuple[float, float]:
    """The mean and the greatest length of what a function of text writes, over the rows at hand."""
    text = part.expression(Context(population.types))
    mean, longest = population.data.select(units(text).mean().alias("mean"), units(text).max().alias("max")).row(0)
    return float(mean or 0), float(longest or 0)


FIXED_LENGTHS = {EdmType.DATETIME: 28.0, EdmType.GUID: 36.0, EdmType.BOOLEAN: 4.5, EdmType.DOUBLE: 12.0}


def typed_values(population: Population, row: int) -> dict[str, TypedValue]:
    """Everything known of one row as typed values: properties, and the bounds of logged ranges; missing ones are
    absent."""
    out = {}
    for name, value in population.frame.row(row, named=True).items():
        if value is not None:
            edm = population.types.get(name.removesuffix(".from").removesuffix(".until"), EdmType.STRING)
            out[name] = TypedValue(edm, python_value(value, edm))
    return out


def forbidden_in(text: str) -> list[str]:
    """The characters of a text that keys may not have, as code points, each once."""
    return [f"U+{ord(c):04X}" for c in sorted(set(text) & FORBIDDEN)]


def key_texts(*keys: tuple[Part, ...], population: Population, rows: pl.DataFrame | None = None) -> pl.DataFrame:
    """The texts of several templates over the rows at hand, or other ``rows`` like them, in columns ``0``, ``1``, ....

    A hidden value is a text whatever its type: its token stands in the key, also where a function of numbers or times
    would read the value. Texts are then equal where the true ones are; their order is that of the tokens.
    """
    types = types_shown(population.types, population.hashed)
    frame = (population.data if rows is None else rows).with_row_index("#seq")
    shown = {str(n): over_tokens(parts, population.hashed) for n, parts in enumerate(keys)}
    texts = [key_expression(parts, types).alias(name) for name, parts in shown.items()]
    return frame.with_columns(texts).select(*shown)  # also of a constant text there is one for each row


# -- What a band of keys has in common, in the words of its key template: ``tenant-07 · 2026-01 … 2026-03``.


BETWEEN = " · "
TO = " … "
ALL = "all"
"""The label of a band under a key without variable parts."""
TICKS_PER_US = 10
APART = timedelta(days=2)
"""Time between two ends of a band from which on their days tell enough."""


def band_label(
    parts: Sequence[Part], population: Population, first_row: int, last_row: int
) -> tuple[tuple[str, str], ...]:
    """(text in the first key, text in the last) for the leading parts of a band: those that all its keys share, and the
    first in which they differ. Ticks are told as dates."""
    out = []
    for part in variable(tuple(parts)):
        values = [row_values(population, row, (part,)) for row in (first_row, last_row)]
        texts = tuple(encode((part,), value, population.types) for value in values)
        ends = [value[part.properties[0]] for value in values] if part.tells_time and part.injective else []
        dated = _dates(ends[0], ends[1]) if len(ends) == 2 else None
        out.append(dated if dated is not None else (texts[0], texts[1]))
        if texts[0] != texts[1]:
            break
    return tuple(out)


def label_text(label: Sequence[tuple[str, str]]) -> str:
    """A label as one line; single keys are told whole."""
    return BETWEEN.join(first if first == last else f"{first}{TO}{last}" for first, last in label) or ALL


def _dates(first: object, last: object) -> tuple[str, str] | None:
    """Two moments (100 ns since year 1) as days, or as minutes where they lie close together; None where one is
    missing."""
    if not (isinstance(first, int) and isinstance(last, int)):
        return None
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    one, other = (epoch + timedelta(microseconds=(t - TICKS_UNIX_EPOCH) // TICKS_PER_US) for t in (first, last))
    if abs(one - other) >= APART:
        return f"{one:%Y-%m-%d}", f"{other:%Y-%m-%d}"
    if one == other:
        text = one.isoformat().replace("+00:00", "Z")
        return text, text
    pattern = "%Y-%m-%d %H:%M" if abs(one - other) >= timedelta(minutes=2) else "%Y-%m-%d %H:%M:%S.%f"
    texts = (one.strftime(pattern).removesuffix(".000000"), other.strftime(pattern).removesuffix(".000000"))
    return texts[0], texts[1][11:] if texts[0][:10] == texts[1][:10] and texts[0] != texts[1] else texts[1]

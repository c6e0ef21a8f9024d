"""What the texts of keys give reason to say: widths, separators, length, time zones, hashes of what changes.

Each remark has an example from the data. Hidden values of a profile give no examples and no remark.
"""

from __future__ import annotations

from collections.abc import Iterator

from pkadvisor.design.cost.shared_key_findings import own_row_remarks, shared_remarks
from pkadvisor.design.keys.merged_entities import merged_by_loss, merged_by_touching
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.template import format_template, separators
from pkadvisor.design.keys.transforms import (
    Context,
    Part,
    escape,
    part_properties,
)
from pkadvisor.design.load.estimates import Bench, Remark
from pkadvisor.design.load.keyfacts import key_surplus, longest, longest_row
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import pl
from pkadvisor.numbers import percent
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType

SHOWN_MAX = 40
"""Characters of a value that a remark quotes."""


def key_remarks(scheme: KeyScheme, bench: Bench) -> list[Remark]:
    """Every remark on the texts of a scheme's keys, each once."""
    population = bench.population
    out = [*_missing_remarks(scheme, population), *_hostile_remarks(scheme, population)]
    for parts in _texts(scheme):
        out += _width_remarks(parts, population)
        out += _separator_remarks(parts, population)
        out += _tilde_remarks(parts)
        out += _touching_remarks(parts, population)
        out += _zone_remarks(parts, population)
    out += _long_remarks(scheme, bench)
    out += _changing_remarks(scheme, bench)
    out += _merging_remarks(scheme, population)
    out += shared_remarks(scheme, bench)
    out += own_row_remarks(scheme, population)
    return list(dict.fromkeys(out))


def _texts(scheme: KeyScheme) -> Iterator[tuple[Part, ...]]:
    for key, _ in scheme.each_key():
        yield key.partition
        yield key.row


def _quoted(text: str) -> str:
    return f"'{text if len(text) <= SHOWN_MAX else text[: SHOWN_MAX - 1] + '…'}'"


def _width_remarks(parts: tuple[Part, ...], population: Population) -> Iterator[Remark]:
    """Numbers of more digits than their padding: unique still, and no longer in order."""
    for part in parts:
        width = part.padded_width
        if not width or not part.keeps_apart(Context(population.types)):
            continue
        name, reverse = part.properties[0], part.order(Context(population.types)) < 0
        if not population.has(name) or name in population.hashed:
            continue
        if population.fits(name, width):
            if reverse and not population.fits(name, width, below_zero=False):
                least = population.coded(name).values[0]
                what = f"{part} cannot order numbers below zero"
                yield Remark("width", f"{what}, such as {name} {least}: use pad", f"{what}: use pad")
            continue
        column = population.frame.get_column(name).head(population.rows).cast(pl.Int128)
        wide = column.filter((column >= 10**width) | (column < -(10**width)))
        if wide.is_empty():
            yield Remark("width", f"{part} is too narrow: {name} reaches {population.sizes(name).largest:,}")
            continue
        example = int(wide.max())  # type: ignore[arg-type]
        needed = len(str(max(abs(example), population.sizes(name).largest)))
        many = f"{part} is too narrow for {len(wide):,} of {population.looked_at}"
        tail = f": it needs {needed} digits; until then the order is wrong and ranges over {name} are not read by key"
        yield Remark("width", f"{many}, such as {name} {example}{tail}", many + tail)


@remembered("separator")
def _with_separator(population: Population, name: str, between: str) -> tuple[int, object]:
    """(rows whose text holds one of the characters between parts, the least such text)."""
    column = population.frame.get_column(name).head(population.rows)
    holds = pl.any_horizontal(pl.col(name).str.contains(c, literal=True) for c in between)
    series = column.to_frame().filter(holds).to_series()
    return len(series), series.min() if len(series) else None


def _separator_remarks(parts: tuple[Part, ...], population: Population) -> Iterator[Remark]:
    """Values that hold the key's separator: escaped, so that the key stays unique, and longer to read and to write."""
    between = separators(parts)
    if not between:
        return
    for part in parts:
        name = part.plain_property
        if not name or population.types.get(name) is not EdmType.STRING:
            continue
        if not population.has(name) or name in population.hashed:
            continue
        count, example = _with_separator(population, name, between)
        if count:
            shown = escape(str(example), between)
            what = f"{name} holds a separator of the key in {count:,} of {population.looked_at}"
            such = f", such as {_quoted(str(example))}: written {_quoted(shown)}"
            yield Remark("separator", what + such, f"{what}: it is escaped there")


def _tilde_remarks(parts: tuple[Part, ...]) -> Iterator[Remark]:
    """A ``~`` between values reads as the beginning of an escape."""
    if "~" in separators(parts):
        message = f"the ~ in {format_template(parts)} also begins escapes: 'x~' + '007E' and 'x' + '007E~' give one key"
        yield Remark("ambiguous", message)


def _touching_remarks(parts: tuple[Part, ...], population: Population) -> Iterator[Remark]:
    """Texts with nothing between them: what belongs to which of them is lost. Numbers are told with their order."""
    touching = merged_by_touching(parts, population.types)
    if touching is None or population.types.get(touching[0].properties[0], EdmType.STRING).numeric:
        return
    left, right, merged = touching
    both = " and ".join(" + ".join(f"'{text}'" for text in texts) for texts in (merged.one, merged.other))
    yield Remark("ambiguous", f"{left} touches {right}: {both} give one key")


def _merging_remarks(scheme: KeyScheme, population: Population) -> Iterator[Remark]:
    """A RowKey that keeps too little of its properties to tell entities apart, where those at hand are told apart."""
    lossy = merged_by_loss(scheme.main, population.types)
    if lossy is not None and not key_surplus(scheme.main, population):
        name, merged = lossy
        text = f"the RowKey {format_template(scheme.main.row)} does not tell all values of {name} apart"
        such = f": '{merged.one[0]}' and '{merged.other[0]}' are both '{merged.text}'"
        yield Remark("may-merge", f"{text}{such}; of {population.looked_at} no two share a key")


def _zone_remarks(parts: tuple[Part, ...], population: Population) -> Iterator[Remark]:
    """Times of the key that the data gives without a zone."""
    for part in parts:
        for name in part.properties:
            if part.hashing is None and name in population.zoneless:
                values = population.coded(name).values
                example = f", such as {values[0]:%Y-%m-%dT%H:%M:%S}" if len(values) else ""
                what = f"{name} has no time zone in the data"
                tail = ": it is taken as UTC; local time would repeat an hour each autumn and move every period"
                yield Remark("time-zone", what + example + tail, what + tail)


def _long_remarks(scheme: KeyScheme, bench: Bench) -> Iterator[Remark]:
    """Keys beyond 1 KiB, the documented limit, up to the length that is certainly refused."""
    limits = bench.limits
    for key, _ in scheme.each_key():
        for name, parts in (("PartitionKey", key.partition), ("RowKey", key.row)):
            reach = longest(parts, bench.population)
            if limits.key_units_warn < reach <= limits.key_units_max:
                row = longest_row(parts, bench.population)
                where = f" in row {row:,}" if row else ""
                message = (
                    f"{name} reaches {2 * reach:,} bytes{where}, over the documented 1 KiB; "
                    f"{format_template(parts)} has {reach:,} UTF-16 units, and the service may refuse more than "
                    f"{limits.key_units_warn}"
                )
                yield Remark("key-long", message)


def _changing_remarks(scheme: KeyScheme, bench: Bench) -> Iterator[Remark]:
    """Hashes of properties that an update changes: the entity moves to another bucket, and nobody notices."""
    population = bench.population
    for parts in _texts(scheme):
        for part in parts:
            if part.hashing is None:
                continue
            for demand in bench.demands:
                for name in (n for n in part.properties if n in demand.query.sets):
                    example = ""
                    if population.has(name) and name not in population.hashed and len(population.coded(name).values):
                        example = f", such as {_quoted(str(population.coded(name).values[0]))}"
                    tail = (
                        f", which '{demand.query.name}' changes: the entity then belongs into another bucket, under "
                        "another key"
                    )
                    yield Remark("mutable-hash", f"{part} hashes {name}{example}{tail}", f"{part} hashes {name}{tail}")


def _missing_remarks(scheme: KeyScheme, population: Population) -> list[Remark]:
    out = []
    partition = set(part_properties(scheme.main.partition))
    for name in scheme.main.properties:
        missing = 1 - population.sizes(name).present
        if missing > 0.001:
            effect = (
                "they all share one PartitionKey" if name in partition else "the RowKey cannot tell them apart by it"
            )
            out.append(Remark("missing-values", f"{name} is missing on {percent(missing)} of the entities: {effect}"))
    return out


@remembered("hostile")
def _with_forbidden(population: Population, name: str) -> int:
    """Rows whose text holds a character that no key may hold."""
    column = population.frame.get_column(name).head(population.rows)
    return int(column.str.contains(FORBIDDEN_PATTERN).sum() or 0)


def _hostile_remarks(scheme: KeyScheme, population: Population) -> list[Remark]:
    """Texts in the key with characters that the service forbids there."""
    out = []
    for part in (*scheme.main.partition, *scheme.main.row):
        name = part.plain_property
        if not name or population.types.get(name) is not EdmType.STRING or name in population.hashed:
            continue
        count = _with_forbidden(population, name)
        if count:
            out.append(
                Remark(
                    "illegal-characters",
                    f"{name} holds characters that keys may not, in {count:,} of {population.looked_at}: they are "
                    "escaped",
                )
            )
    return out


FORBIDDEN_PATTERN = r"[/\\#?\x00-\x1f\x7f-\x{9f}]"

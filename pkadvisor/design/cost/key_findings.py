"""What the texts of keys give reason to say: widths, separators, length, time zones, hashes of what changes.

Each remark has an example from the data. Hidden values of a profile give no examples and no remark.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from pkadvisor.design.cost.shared_key_findings import own_row_remarks, shared_remarks
from pkadvisor.design.keys.key_collisions import merged_by_loss, merged_by_touching
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.template import format_template, separators
from pkadvisor.design.keys.transforms import Atom, Context, Part, escape, part_properties
from pkadvisor.design.load.contention import contention
from pkadvisor.design.load.estimates import Bench, Break, Remark, Violation
from pkadvisor.design.load.keyfacts import key_surplus, longest, longest_row
from pkadvisor.design.load.widths import grows_in_keys, lifetime_s
from pkadvisor.design.rows.arrivals import arrivals, tells_arrival
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.counters import RISES_MIN, inserted_per_s
from pkadvisor.design.rows.list_values import under
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import np, pl
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Operation
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


# -- Numbers of a key that run out: padded ones that outgrow their digits, and those that one counter gives out.


DAY_S = 86_400.0
TOLD_S = 10 * 365.25 * DAY_S
"""Within so long a number must be full to be told: assumed."""
PAIRS = 10.0
"""Pairs of rows at hand, in numbers that fit into a padding, from which none is alike by no chance."""
RESOURCE = "number"
"""The resource of a ``Break`` that a number makes: no growth raises it, time does."""


def full_numbers(scheme: KeyScheme, bench: Bench) -> tuple[Break, ...]:
    """The padded numbers and the numbers given out that are full within ten years at today's rates.

    ``measured`` is what they reach at the horizon, ``limit`` the greatest that keeps its order, ``factor`` how many
    times the horizon goes by until then.
    """
    breaks = dict(_each(scheme, bench))
    return tuple(sorted(breaks.values(), key=lambda each: each.factor))


def full_violations(full: tuple[Break, ...]) -> list[Violation]:
    """The numbers that are full before the horizon."""
    return [
        Violation("number-full", each.cause, each.measured, each.limit, each.unit, min(10.0, 1 / max(0.1, each.factor)))
        for each in full
        if each.factor < 1
    ]


def _each(scheme: KeyScheme, bench: Bench) -> Iterator[tuple[Part, Break]]:
    population = bench.population
    per_entity = inserted_per_s(bench.workload) / max(1, population.rows)
    for key, _ in scheme.each_key():
        every = (*key.partition, *key.row)
        for place, part in enumerate(every):
            if part.padded_width and any(tells_time(atom, population) for atom in atoms_of(every[:place])):
                continue  # it sorts what comes at one moment
            if part.assigned:
                atoms = [a for a in atoms_of(every) if a != ("s",)]
                if any(tells_arrival(atom, population) for atom in atoms) or not population.rows:
                    continue  # a group is over with its time
                rows = under(every, population)
                now = float(rows.counts(atoms).max(initial=1))
                per_s = per_entity * now
                limit = float(10 ** int(part.usual_length(Context(population.types)) or 1) - 1)
            elif part.padded_width and part.properties[0] in population.rises:
                limits = part.limits(Context(population.types))
                if limits is None:
                    continue
                now = float(population.sizes(part.properties[0]).largest)
                per_s, limit = population.rises[part.properties[0]], float(limits[1])
                if population.arrival is None and limit - now >= population.total:
                    continue  # the pace of a log alone does not tell what comes in months
            elif part.padded_width and identifies(part, population):
                limit = float((part.limits(Context(population.types)) or (0, 0))[1])
                now, per_s = float(population.total), keys_per_s(bench, limit)
            else:
                continue
            if per_s > 0 and (limit - now) / per_s <= TOLD_S:
                yield part, _break(part, now, per_s, limit, bench)


def tells_time(atom: Atom, population: Population) -> bool:
    """Whether an atom is a whole time that moves on as entities come, and not a period of it."""
    return atom[0] == "p" and tells_arrival(atom, population)


def identifies(part: Part, population: Population) -> bool:
    """Whether a padded number of fewer digits than it needs is another for each entity, which is no chance at hand: it
    has as many values as the table has entities."""
    (name,) = part.properties
    limits = part.limits(Context(population.types))
    narrow = part.padded_width < population.widths.get(name, 0)
    if limits is None or not narrow or not population.has(name) or population.surplus([("p", name)]):
        return False
    return population.rows**2 >= PAIRS * limits[1] or _one_after_another(name, population)


def _one_after_another(name: str, population: Population) -> bool:
    """Whether the numbers at hand leave out no more numbers than they are."""
    numbers = population.numbers(name, np.arange(population.rows, dtype=np.int64))
    return population.rows > RISES_MIN and float(np.ptp(numbers)) < 2 * population.rows


def keys_per_s(bench: Bench, limit: float) -> float:
    """New keys a second: those that are inserted, or by which the table grows up to the horizon where it is declared.

    0 where entities are deleted as well, so that their numbers may be given out again, unless more than ``limit`` are
    there within the retention.
    """
    workload = bench.workload
    if any(c.operation is Operation.DELETE for c in workload.classes):
        return 0.0
    inserts = [c for c in workload.classes if c.operation is Operation.INSERT]
    per_s = sum(c.rate.mean_per_s * c.entities_per_request for c in inserts)
    if grows_in_keys(workload):
        per_s = max(per_s, (bench.horizon_factor - 1) * bench.population.total / lifetime_s(workload))
    return per_s if workload.retention_s is None or per_s * workload.retention_s > limit else 0.0


def _break(part: Part, now: float, per_s: float, limit: float, bench: Bench) -> Break:
    left_s, horizon_s = max(0.0, limit - now) / per_s, lifetime_s(bench.workload)
    cause = f"{part} is full {_when(left_s, bench.population)}: it holds up to {limit:,.0f}"
    factor = left_s / horizon_s
    return Break(cause, RESOURCE, now + per_s * horizon_s, limit, "numbers", factor, factor, (), now)


def _when(left_s: float, population: Population) -> str:
    """The date, counted from the newest entity at hand; else how long it takes."""
    arrival_times = arrivals(population)
    if arrival_times is not None:
        return f"on {datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=arrival_times.last / 1e6 + left_s):%Y-%m-%d}"
    if left_s < DAY_S:
        return f"in {left_s / 3600:,.0f} hours" if left_s > 3600 else "now"
    return f"in {left_s / DAY_S:,.0f} days"


# -- numbers that one counter gives out ------------------------------------------------------------------------------


def counter_findings(scheme: KeyScheme, bench: Bench) -> tuple[list[Violation], list[Remark]]:
    """What the counter of an assigned number bears: a violation where its inserts outrun it, else a remark.

    Where a whole time stands in the key, a number is needed only for what comes at once: then a client that finds its
    key taken tries the next number, and no counter is kept.
    """
    population, key = bench.population, scheme.main
    assigned = [part for part in (*key.partition, *key.row) if part.assigned]
    atoms = [atom for atom in atoms_of((*key.partition, *key.row)) if atom != ("s",)]
    if not assigned or any(tells_time(atom, population) for atom in atoms):
        return [], []
    share = float(population.counts(atoms).max(initial=1)) / max(1, population.rows)
    per_s = share * sum(
        d.query.rate.sustained_per_s * d.query.entities_per_request
        for d in bench.demands
        if d.query.filter is None and d.query.operation in (Operation.INSERT, Operation.UPSERT)
    )
    contended = contention(per_s * bench.horizon_factor, bench.limits)
    text = (
        f"every insert fetches {assigned[0]} from the counter of its group, a bottleneck: one entity that is read and "
        f"updated under If-Match, at most {amount(contended.commits_per_s_served)} times/s; the busiest takes "
        f"{amount(per_s)} inserts/s at the peak"
    )
    most = contended.commits_per_s_served
    severity = 1 + contended.rate_per_s / most
    if severity >= 2:
        return [Violation("counter", text, per_s * bench.horizon_factor, most, "commits/s", severity)], []
    return [], [Remark("counter", text)]

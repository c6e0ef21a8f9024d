"""What every scheme of a section is measured on: its rows, and its workload with parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from pkadvisor.design.choice.candidates import with_rules_of_table
from pkadvisor.design.choice.sections import Section, declared_keys, declared_values, for_kind, sensitivity_of, types_of
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.load.bursts import keep_bursts
from pkadvisor.design.load.counting import property_bytes
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.widths import widths_needed
from pkadvisor.design.load.windows import by_rate
from pkadvisor.design.rows.arrivals import arrival_notes, differ
from pkadvisor.design.rows.coded_rows import Sizes
from pkadvisor.design.rows.counters import counter_rises, named_together
from pkadvisor.design.rows.demand import Demand, free_atoms
from pkadvisor.design.rows.dependencies import keep_dependencies, sentences
from pkadvisor.design.rows.fronts import keep_logged_inserts
from pkadvisor.design.rows.logged.choices import plain_name
from pkadvisor.design.rows.logged.inserts import logged_rows
from pkadvisor.design.rows.logged.known_entities import inserted_by_log, share_there
from pkadvisor.design.rows.other_kinds import RowsOfKind
from pkadvisor.design.rows.population import EXACT_ROWS_MAX, GroupCounts, Population, count_groups
from pkadvisor.design.rows.samples.screen import keep_declared
from pkadvisor.design.rows.sets.pairs import pairs_of_rows
from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.limits import Limits
from pkadvisor.numbers import percent
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.profile.data_profile import DataProfile, KnownSampling, deduced
from pkadvisor.observe.profile.profile import POSITION
from pkadvisor.observe.profile.table_profiles import hide_values, show_values, token
from pkadvisor.observe.workload import DrawBy, Operation, Transaction, Workload
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import MAX_COMPARISONS, comparison_count, format_filter, mismatches

STRANGERS_TELLING = 0.2
"""Share of logged keys missing from the data above which the answer says so."""
ERRORS_SURE = 4
"""Standard errors by which a number of distinct values may be larger than estimated: once in 30,000 it is more."""


def bench_for(
    section: Section, workload: Workload, limits: Limits, dataset: Dataset | None = None
) -> tuple[Bench, list[str]]:
    """(the bench that every scheme of a section is measured on, notes).

    With ``dataset``, the groups that the workload names are counted over every row where only a sample was kept.
    """
    from pkadvisor.design.rows.demand import demands

    data, notes = section.data, list[str]()
    assert data is not None
    if section.traffic is not None and section.traffic.fraction < 1:
        notes.append(
            f"the log is assumed to hold {percent(section.traffic.fraction)} of the requests: rates are "
            "scaled up, and busiest minutes of a thin log look busier than they are"
        )
    if not data.complete:
        notes.append(
            f"{data.sample.height:,} of {data.rows:,} entities were looked at closely, drawn by a hash of the row"
        )
    workload, hidden = _hidden(workload, data)
    frame = _frame(data)
    workload, of_pairs = _with_pairs(section, workload, frame)
    ghosts, places, busy = logged_rows(workload, frame)
    population, of_rows = _population_of(section, workload, frame, ghosts, dataset)
    notes += [*hidden, *of_pairs, *of_rows]
    declared_sizes = dict(own.sizes) if (own := section.own_declaration) else {}
    asked = by_rate(demands(workload, population, places), workload, population)
    keep_bursts(workload, population, busy, asked)
    keep_logged_inserts(population, asked)
    notes += [*sentences(population), *arrival_notes(population, workload)]
    comparable = data.hashed or not workload.hidden  # a hidden value is never among those shown
    if comparable and population.complete and not data.keys_of_log:
        notes += _strangers(asked, workload, population)
    size = property_bytes(population, declared_sizes)
    bench = Bench(
        population,
        workload,
        asked,
        limits,
        size,
        declared_sizes=declared_sizes,
        other_kinds=rows_of_other_kinds(section),
        refused=data.refused,
        secret=frozenset(name for name, what in sensitivity_of(section).items() if what == "secret"),
    )
    population.rises = counter_rises(population, workload)
    population.ordered = frozenset(
        name for each in asked for name in (*each.conditions.ranges, *(o.property for o in each.query.order_by))
    )
    population.widths = table_widths(section, population, workload, bench.horizon_factor)
    return bench, notes


def _population_of(
    section: Section, workload: Workload, frame: pl.DataFrame, ghosts: pl.DataFrame | None, dataset: Dataset | None
) -> tuple[Population, list[str]]:
    """(the rows of a section, with what is declared of their values, notes); ``ghosts`` are rows that a log names."""
    data, notes = section.data, list[str]()
    assert data is not None
    taken = sampling_of(section, workload, frame)
    if section.entities > data.rows:
        notes.append(taken.sentence(data.rows, section.entities))
    population = Population(
        frame,
        data.types,
        total=section.entities,
        complete=data.complete,
        arrival=_arrival(section),
        ghosts=ghosts,
        sampling=taken.word,
        sampled_by=taken.by,
        sampling_basis=taken.basis,
        sizes=_sizes(data),
        hashed=data.hashed,
        drawn_from=data.rows,
        token=token_maker(data),
        zoneless=frozenset(p.column.name for p in data.properties if p.column.zoneless),
        counted=_counted_groups(workload, data, dataset),
        wide=data.wide,
    )
    notes += keep_declared(declared_values(section), population, data)
    keep_distinct(population, data)
    if data.hashed and data.dependencies:
        keep_dependencies(population, data.dependencies)
    return population, [*notes, *_rules_of_table(section, population)]


def keep_distinct(population: Population, data: DataProfile) -> None:
    """Keep which properties are unique over every row of the data and which are not, where fewer rows are at hand."""
    if data.complete:
        return
    for each in data.properties:
        name, distinct, present = each.column.name, each.distinct, each.column.present
        if distinct.exact == data.rows == population.total:
            population.unique |= {name}
        repeated = present - distinct.estimate() * (1 + ERRORS_SURE * distinct.relative_error)
        if repeated >= 1:
            population.not_unique[frozenset({("p", name)})] = int(repeated)


def _with_pairs(section: Section, workload: Workload, frame: pl.DataFrame) -> tuple[Workload, list[str]]:
    """The workload with the pairs of its transactions that rows of this kind, or of another one, name; notes."""
    out, notes = list[Transaction](), list[str]()
    places = [(section.kind or section.table, frame)]
    places += [(s.kind or s.table, _frame(s.data)) for s in section.siblings if s.data is not None]
    for declared in workload.transactions:
        pair = declared.pair
        if pair is not None and pair.seen is None:
            named = ((place, pairs_of_rows(pair, rows)) for place, rows in places)
            place, seen = next((each for each in named if each[1] is not None), ("", None))
            pair = replace(pair, seen=seen, source=f"rows of {place}")
        if pair is not None and pair.seen is None:
            first, second = pair.parameters
            notes.append(
                f"no rows and no log name pairs ({first}, {second}): '{declared.name}' is taken to join any two values "
                f"of {pair.property}"
            )
        out.append(replace(declared, pair=pair))
    return replace(workload, transactions=tuple(out)), notes


def table_widths(section: Section, population: Population, workload: Workload, horizon_factor: float) -> dict[str, int]:
    """The digits of each whole number in the keys of a table: one width for a property in all of its kinds."""
    out = widths_needed(population, workload, horizon_factor, _keys_in_use(section))
    for other in section.siblings:
        shared = {n for n, edm in types_of(other).items() if edm.integer and n in out}
        if other.data is None or not shared:
            continue
        asked = for_kind(other.declared.workload, other.kind) if other.declared is not None else workload
        theirs = widths_needed(_rows_of(other), asked, horizon_factor, _keys_in_use(other))
        out |= {name: max(out[name], theirs[name]) for name in shared if name in theirs}
    return out


def _rules_of_table(section: Section, population: Population) -> list[str]:
    """What the other kinds of a table add to the rules between its properties, and take from them."""
    if population.hashed:
        return []
    known = [(other, set(other.data.types)) for other in section.siblings if other.data is not None]
    shared = [other for other, names in known if names & set(population.types) and not other.data.hashed]  # type: ignore[union-attr]
    return with_rules_of_table(population, [(other.kind or "", _rows_of(other)) for other in shared]) if shared else []


def sampling_of(section: Section, workload: Workload, frame: pl.DataFrame) -> KnownSampling:
    """How the data of a section was taken: as declared, else as its rows and the other kinds of the table tell."""
    data, table = section.data, section.declared
    assert data is not None
    stated = table is not None and table.sampling_stated and str(table.sampling) != "complete"
    if stated and table is not None:
        return KnownSampling(str(table.sampling), table.sampled_by)
    if section.entities <= data.rows:
        whole = section.declared_total is not None or (table is not None and table.sampling_stated)
        return KnownSampling("random-rows", (), "declared" if whole else "whole")
    if not data.complete or data.hashed:
        return KnownSampling("random-rows", (), "unknown")
    return deduced(frame, data.types, section.entities, named_together(workload), _keys_of_others(section))


def _keys_of_others(section: Section) -> dict[str, int]:
    """The entities of the other kinds of a table, by the property that tells their rows apart."""
    out = {}
    for other in section.siblings:
        data = other.data
        if data is None or not data.complete:
            continue
        for name in data.types:
            if data.sample.get_column(name).n_unique() == data.rows > 1:
                out[name] = other.entities
    return out


def names_of_others(section: Section) -> list[str] | None:
    """The properties of the other kinds of a table; None where those of one are not known."""
    types = [types_of(other) for other in section.siblings]
    return [name for each in types for name in each] if all(types) else None


def rows_of_other_kinds(section: Section, settled: Mapping[str, KeyScheme] | None = None) -> tuple[RowsOfKind, ...]:
    """The rows of the other kinds of a table under each of their keys in use, as far as they can be counted; with
    ``settled`` those of the kinds in it under the keys that are advised for them."""
    out = list[RowsOfKind]()
    for other in section.siblings:
        data, kind = other.data, other.kind or ""
        if data is None or (settled is not None and kind not in settled):
            continue
        hashed = bool(data.hashed or (section.data is not None and section.data.hashed))
        frame, scheme = _frame(data), settled[kind] if settled is not None else None
        if settled is None:
            scheme = declared_keys(other.declared, data.types, other.design_path, kind=other.kind)
        each = other.entities / max(1, frame.height)
        for key, index_row in scheme.each_key() if scheme is not None else [(None, None)]:
            parts = (*key.partition, *key.row) if key is not None else ()
            if not any(part.several for part in parts):
                needed = [name for part in key.partition for name in part.properties] if key and index_row else []
                rows = frame.drop_nulls(needed)
                advised = settled is not None
                out.append(RowsOfKind(kind, key, rows, data.types, each, hashed=hashed, advised=advised))
    return tuple(out)


def _keys_in_use(section: Section) -> list[Key]:
    """The keys of the rows in place, if the design names any."""
    scheme = declared_keys(section.declared, None, section.design_path, kind=section.kind)
    return [key for key, _ in scheme.each_key()] if scheme is not None else []


def _rows_of(section: Section) -> Population:
    """The rows of another kind of a table, as far as the widths of its numbers need them."""
    data = section.data
    assert data is not None
    return Population(
        _frame(data),
        data.types,
        total=section.entities,
        complete=data.complete,
        arrival=_arrival(section),
        sizes=_sizes(data),
        hashed=data.hashed,
        drawn_from=data.rows,
    )


def _frame(data: DataProfile) -> pl.DataFrame:
    """The rows looked at, in their order."""
    return data.sample.sort(POSITION).drop(POSITION, "#hash")


def _sizes(data: DataProfile) -> dict[str, Sizes]:
    """The sizes of the properties over every row."""
    return {
        p.column.name: Sizes(
            p.characters / p.column.present if p.column.present else 0.0,
            p.characters_max,
            p.largest,
            p.column.present / max(1, data.rows),
        )
        for p in data.properties
    }


def _arrival(section: Section) -> str | None:
    """The property that tells the order in which entities come, or ``file_order``; None where nobody says, and where
    most entities have one time of the service: they were restored or copied at once."""
    data, table, kind = section.data, section.declared, section.declared_kind
    arrival = (kind.arrival if kind and kind.arrival else None) or (table.arrival if table else None)
    if arrival == "timestamp" and data is not None:
        name = next((n for n in data.types if n.lower() == "timestamp"), None)
        return name if name is not None and differ(data.sample.get_column(name)) else None
    return arrival


def _counted_groups(
    workload: Workload, data: DataProfile, dataset: Dataset | None
) -> dict[tuple[str, ...], GroupCounts]:
    """Group sizes over every row for what the workload draws, sets apart or asks for by equality."""
    if data.complete or dataset is None or data.rows > EXACT_ROWS_MAX:
        return {}
    wanted: list[tuple[str, ...]] = [t.group_by for t in workload.transactions if t.entities is None]
    wanted += [c.draw.of for c in workload.classes if c.draw.by in (DrawBy.DISTINCT, DrawBy.ZIPF)]
    wanted += [tuple(conditions(c.filter).equal) for c in workload.classes if c.filter is not None]
    known = set(data.types)
    return count_groups(dataset, [names for names in wanted if names and known >= set(names)])


def _hidden(workload: Workload, data: DataProfile) -> tuple[Workload, list[str]]:
    """Logged parameters as the data's values are hidden, or shown; dropped, with a note, where they were hidden with a
    secret."""

    if workload.hidden and not data.hashed:
        shown = {name: show_values(frame, data.sample, data.types) for name, frame in workload.instances.items()}
        known = {name: frame for name, frame in shown.items() if frame.height}
        lost = len(known) < len(shown)
        note = "some logged keys of the profile are not in the data: every entity is assumed equally likely there"
        busy = {
            name: replace(b, rows=show_values(b.rows, data.sample, data.types)) for name, b in workload.busy.items()
        }
        return replace(workload, instances=known, busy=busy, hidden=False), [note] if lost else []
    if not data.hashed or not workload.instances or workload.hidden:
        return workload, []
    if data.token_key is None:
        note = "the profile hides its values, so logged keys are not found: every entity is assumed equally likely"
        return replace(workload, instances={}, busy={}), [note]
    key = data.token_key

    def hide(frame: pl.DataFrame) -> pl.DataFrame:
        hidden = [n for n in frame.columns if n in data.hashed]
        return frame.with_columns(hide_values(frame, n, data.types.get(n, EdmType.STRING), key) for n in hidden)

    frames = {name: hide(frame) for name, frame in workload.instances.items()}
    busy = {name: replace(times, rows=hide(times.rows)) for name, times in workload.busy.items()}
    return replace(workload, instances=frames, busy=busy), []


def _strangers(demands: tuple[Demand, ...], workload: Workload, population: Population) -> list[str]:
    """Logged classes whose keys neither the data, which is said to be complete, nor an insert of the log mostly has.

    A range that holds nothing of what has these keys is no sign of that.
    """
    inserted, out = inserted_by_log(demands, workload, population), []
    for demand in demands:
        fixed = sorted(free_atoms(demand.fixed_atoms(population), demand.constants))
        deletes = demand.query.operation is Operation.DELETE  # an export after the log does not have what is deleted
        if demand.query.draw.by is DrawBy.LOG and fixed and len(demand.returned) and not deletes:
            there = share_there(demand, [fixed], inserted, population)
            missing = 1 - there - workload.absent.get(demand.query.name, 0.0)
            if missing > STRANGERS_TELLING:
                out.append(f"{100 * missing:.0f} % of the keys that '{demand.query.name}' asks for are not in the data")
    return out


def token_maker(data: DataProfile) -> Callable[[str], str] | None:
    """How a profile's tokens are made, where it was made without a salt file."""
    key = data.token_key
    if key is None:
        return None
    return lambda text: token(text, key)


# -- Whether the classes of a workload can be judged on the data at hand.


_HOW = {
    EdmType.STRING: "'text' or '{x}'",
    EdmType.INT32: "5 or {x}",
    EdmType.INT64: "5L or {x}",
    EdmType.DOUBLE: "5.0 or {x}",
    EdmType.BOOLEAN: "true or {x}",
    EdmType.DATETIME: "datetime'2026-01-31T00:00:00Z' or datetime'{x}'",
    EdmType.GUID: "guid'…' or guid'{x}'",
    EdmType.BINARY: "X'…' or X'{x}'",
}
"""How a filter writes a constant of each type."""


def check_classes(workload: Workload, section: Section) -> None:
    """UsageError for declared classes that cannot be judged: filters over keys, of other types or longer than the
    service takes, weights that are no numbers.
    """
    assert section.data is not None
    types = section.data.types
    where = section.design_path
    for query in workload.classes:
        if query.draw.by is DrawBy.LOG:
            continue
        for name in conditions(query.filter).properties:
            if name in KEYS and name not in types:
                what = f"the filter of '{query.name}' is over {name}, which changes with the key"
                raise UsageError(what, where=where, fix="declare it over the properties that the key is made of")
        if query.filter is not None and (count := comparison_count(query.filter)) > MAX_COMPARISONS:
            what = f"the filter of '{query.name}' has {count} comparisons, and the service takes {MAX_COMPARISONS}"
            raise UsageError(what, where=where, fix="split it into several queries")
        for wrong in mismatches(query.filter, types) if query.filter is not None else ():
            edm = types[wrong.property]
            what = (
                f"'{query.name}' compares {wrong.property}, which is {edm}, with {wrong.operand.type}: it never holds"
            )
            raise UsageError(what, where=where, fix=f"write it as {_HOW[edm]}, not as in {format_filter(wrong)}")
        if query.draw.by is DrawBy.WEIGHT and not types.get(query.draw.column, EdmType.STRING).numeric:
            what = f"'{query.name}' is drawn by the weight {query.draw.column}, which is not a number"
            raise UsageError(what, where=where, fix="name a numeric property")


def of_known_properties(workload: Workload, section: Section) -> tuple[Workload, tuple[str, ...]]:
    """Without the classes over properties that no file holds, logged or declared: what these select is not known."""
    if section.data is None:
        return workload, ()
    known = {*section.data.types}
    if section.traffic is not None and not section.data.keys_of_log:
        known |= {*KEYS}
    missing = _declared(section) - {*section.data.types}
    left: dict[str, list[str]] = {}
    for query in workload.classes:
        asked = (
            {plain_name(name) for name in conditions(query.filter).properties} if query.filter is not None else set()
        )
        if query.draw.by is DrawBy.LOG:
            lacking = asked - known
        else:
            asked |= {by.property for by in query.order_by} | {*query.draw.of, query.draw.column}
            lacking = asked & missing
        if lacking:
            left[query.name] = sorted(lacking)
    give = "an export of the table" if section.data.keys_of_log or not missing else "rows that have it"
    notes = tuple(
        f"'{name}' is left out of the cost: nothing is known of {', '.join(names)}; give {give}"
        for name, names in left.items()
    )
    priced = tuple(c for c in workload.classes if c.name not in left)
    return replace(workload, classes=priced, unpriced=tuple(c for c in workload.classes if c.name in left)), notes


def _declared(section: Section) -> set[str]:
    """The properties that the design declares for the entities of a section."""
    table = section.declared
    if table is None:
        return set()
    kinds = [kind.properties for kind in table.kinds if section.kind in (None, kind.name)]
    return {name for declared in (table.properties, *kinds) for name, _ in declared}

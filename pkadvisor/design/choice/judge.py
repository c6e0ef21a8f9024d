"""Judging a section: build the bench, search, and check the winner over every row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.choice.checked_classes import check_classes
from pkadvisor.design.choice.list_classes import weighable, with_values_asked
from pkadvisor.design.choice.sections import (
    Judged,
    Section,
    declared_keys,
    declared_values,
    for_kind,
    inferred,
    observed,
    types_of,
)
from pkadvisor.design.choice.shared import scans_of_other_kinds, with_shared_keys
from pkadvisor.design.choice.verify import EXACT_ROWS_MAX, verified
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.load.estimates import BREAK_ENOUGH
from pkadvisor.errors import UsageError
from pkadvisor.observe.workload import DrawBy, Transaction, Workload
from pkadvisor.table.edm import EdmType

if TYPE_CHECKING:
    import polars as pl

    from pkadvisor.design.choice.search import Advice
    from pkadvisor.design.keys.scheme import Key, KeyScheme
    from pkadvisor.design.load.estimates import Bench, Budget
    from pkadvisor.design.rows.demand import Demand
    from pkadvisor.design.rows.exact import GroupCounts
    from pkadvisor.design.rows.population import Population, Sizes
    from pkadvisor.limits import Limits
    from pkadvisor.observe.data.dataset import Dataset
    from pkadvisor.observe.profile.profile import DataProfile
    from pkadvisor.observe.profile.sampling import Sampling

KEYS_OF_LOG = "log"
"""The format of data that is nothing but the keys that a log names."""
LOOKED_AT = 5_000
"""Keys of unknown making that are looked at for their shape."""
STRANGERS_TELLING = 0.2
"""Share of logged keys missing from the data above which the answer says so."""


def judge(
    section: Section,
    limits: Limits,
    dataset: Dataset | None = None,
    *,
    named: Sequence[KeyScheme] = (),
    budgets: tuple[Budget, ...] = (),
    told: bool = True,
) -> Judged:
    """The answer for one section; ``dataset`` is what its data can be read from again.

    ``named`` schemes take part in the ranking; ``budgets`` are bounds as hard as the store's. Without ``told`` it is
    the ranking alone: nobody reads how sure it is, over how many partitions, or under which reading of the targets.
    """
    workload, scheme, notes = observed(section)
    workload, scheme, left_out = weighable(workload, scheme, values=not section.siblings)
    workload, unknown = _of_known_properties(workload, section)
    notes = (*notes, *left_out, *unknown)
    if section.data is None:
        why = "there is no data: distinct values, selectivities and hot keys under another key cannot be known"
        return Judged(section, workload, None, None, scheme, notes, why, 0, give="a data set of the table")
    if section.declared is not None:
        from pkadvisor.observe.design_file.declaration import check_properties

        check_properties(section.declared, section.data.types, kind=section.kind, others=_names_of_others(section))
    if not workload.classes:
        why = "there is no workload: neither a log nor a declared query or write"
        give = "its queries and writes with their rates, or a log"
        return Judged(section, workload, None, None, scheme, notes, why, 0, give=give)
    if _unexplained_keys(section, scheme):
        why = "the log names keys that the data does not have"
        give = "a design file that declares what the keys are made of (partition_key and row_key)"
        return Judged(section, workload, None, None, scheme, notes, why, 0, give=give)
    check_classes(workload, section)
    from pkadvisor.design.choice.asked_texts import text_notes
    from pkadvisor.design.choice.candidates import Ground, separator_for
    from pkadvisor.design.choice.conflicts import conflicts_among
    from pkadvisor.design.choice.search import advise, best_of

    bench, more = bench_for(section, workload, limits, dataset)
    bench = bench if section.siblings else with_values_asked(bench)
    workload = bench.workload
    bench = replace(bench, budgets=budgets)
    current = scheme if scheme is not None else keys_as_given(section)
    if scheme is None and current is not None:
        more += _looks(section)
    bench = with_shared_keys(bench, section, (scheme, *named))
    advice = advise(bench, current, named)
    checked = verified(advice, section, bench, dataset, lambda: advise(bench, current, named))
    more += _easy(checked.advice)
    more += _at_limit(checked.advice)
    more += scans_of_other_kinds(section, (checked.advice.current, checked.advice.recommended))
    more += text_notes(checked.advice.recommended, Ground(bench, separator_for(bench.population)))
    advice = checked.advice
    if told:
        from pkadvisor.design.choice.confidence import with_confidence
        from pkadvisor.design.choice.finalists import with_partitions

        advice = with_partitions(_with_readings(advice, bench), bench, dataset, dict(checked.counted))
        advice = with_confidence(advice, bench, log_sampled=section.traffic is not None and section.traffic.sampled)
    return Judged(
        section=section,
        workload=workload,
        bench=bench,
        advice=advice,
        scheme=current,
        notes=(*notes, *more, *checked.notes),
        why_not="",
        verified_rows=checked.rows,
        conflicts=conflicts_among(advice.every_priced(), best_of),
        named=tuple(named),
        counted=checked.counted,
    )


def prepared(section: Section, limits: Limits, dataset: Dataset | None = None) -> tuple[Bench, KeyScheme | None]:
    """(the bench, the design in place) of a section with data, for whoever prices given keys without a search.

    UsageError where there is no workload, or where its rates are not known.
    """
    workload, scheme, _ = observed(section)
    workload, scheme, _ = weighable(workload, scheme, values=not section.siblings)
    assert section.data is not None
    if section.declared is not None:
        from pkadvisor.observe.design_file.declaration import check_properties

        check_properties(section.declared, section.data.types, kind=section.kind, others=_names_of_others(section))
    if not any(c.rate.mean_per_s > 0 for c in workload.classes):
        fix = "declare queries and writes with rates in the design, or give a --log"
        raise UsageError(f"{section.table} has no workload to price keys on", where=section.design_path, fix=fix)
    if _unexplained_keys(section, scheme):
        what = "the log names keys that the data does not have"
        raise UsageError(what, where=section.design_path, fix="declare in the design what they are made of")
    check_classes(workload, section)
    bench, _ = bench_for(section, workload, limits, dataset)
    bench = bench if section.siblings else with_values_asked(bench)
    return with_shared_keys(bench, section, (scheme,)), scheme


def _of_known_properties(workload: Workload, section: Section) -> tuple[Workload, tuple[str, ...]]:
    """Without the classes over properties that are unknown where the log's keys are all that is known of a table."""
    from pkadvisor.table.odata import properties

    if section.data is None or section.data.format != KEYS_OF_LOG:
        return workload, ()
    known = set(section.data.types)
    left = {c.name: set(properties(c.filter)) - known for c in workload.classes if c.filter is not None}
    notes = tuple(
        f"'{name}' is left out of the cost: nothing is known of {', '.join(sorted(names))}; give an export of the table"
        for name, names in left.items()
        if names
    )
    return replace(workload, classes=tuple(c for c in workload.classes if not left.get(c.name))), notes


def _unexplained_keys(section: Section, scheme: KeyScheme | None) -> bool:
    """Whether logged requests name keys of which neither a design nor the data says what they are made of."""
    if section.traffic is None or scheme is not None:
        return False
    from pkadvisor.design.rows.logged.requests import KEYS
    from pkadvisor.design.rows.logged.shapes import names_keys

    if section.data is not None and set(KEYS) <= set(section.data.types):
        return False
    return names_keys(section.traffic)


EASY_SHARE = 0.5
"""Share of the schemes looked at that must hold with ten times the head-room before most keys are called fine."""


def _easy(advice: Advice) -> list[str]:
    """What to say where the load is so low that most keys bear it: then the choice is one of cost and convenience."""
    fine = [c for c in advice.ranking if c.feasible and c.latency_excess <= 1 and c.break_factor >= BREAK_ENOUGH]
    if len(advice.ranking) < 4 or len(fine) < EASY_SHARE * len(advice.ranking):
        return []
    return [
        f"at this load the choice matters little: {len(fine)} of the {len(advice.ranking)} schemes hold every "
        f"constraint at {BREAK_ENOUGH:g} times the peak; they differ in cost alone"
    ]


def _at_limit(advice: Advice) -> list[str]:
    """That the search has a bound, where it was hit."""
    from pkadvisor.design.choice.candidates import KEYS_OF_A_PATTERN
    from pkadvisor.design.choice.row_sets import BESIDE_MAX

    of_rows = (
        f"the limit of {BESIDE_MAX} index rows beside a main key was hit: those of the queries that a main key serves "
        "least badly were not looked at"
    )
    return [of_rows] * advice.search.rows_cut + [
        f"the limit of {KEYS_OF_A_PATTERN} main keys of the pattern '{name}' was hit: those of the rarest queries and "
        "writes were not looked at"
        for name in advice.search.at_limit
    ]


def _with_readings(advice: Advice, bench: Bench) -> Advice:
    """The advice with what hangs on a reading of the targets, told for the keys in place and the recommended ones."""
    from pkadvisor.design.choice.readings import with_readings

    estimates = {id(c): with_readings(c, bench) for c in (advice.recommended, advice.current) if c is not None}
    current = advice.current
    return replace(
        advice,
        recommended=estimates[id(advice.recommended)],
        ranking=tuple(estimates.get(id(c), c) for c in advice.ranking),
        current=None if current is None else estimates[id(current)],
    )


def keys_as_given(section: Section) -> KeyScheme | None:
    """The keys that the data carries, where no design says what they are made of."""
    assert section.data is not None
    types = section.data.types
    if "PartitionKey" not in types or "RowKey" not in types:
        return None
    from pkadvisor.design.keys.scheme import Key, KeyScheme
    from pkadvisor.design.keys.transforms import Field

    return KeyScheme(Key((Field("PartitionKey"),), (Field("RowKey"),)), (), "current")


def _looks(section: Section) -> list[str]:
    """What keys of unknown making look like: a design that says so lets their parts be judged."""
    assert section.data is not None
    if {"PartitionKey", "RowKey"} & section.data.hashed:
        return []
    inference = inferred(section, LOOKED_AT)
    return [
        f"keys such as '{kind.example[0]}' | '{kind.example[1]}' look like {kind.key} ({kind.rows:,} of "
        f"{inference.rows:,} looked at): a design file that says so lets their parts be judged"
        for kind in inference.kinds[:3]
        if kind.explained and any(len(parts) > 1 for parts in (kind.key.partition, kind.key.row))
    ]


def bench_for(
    section: Section, workload: Workload, limits: Limits, dataset: Dataset | None = None
) -> tuple[Bench, list[str]]:
    """(the bench that every scheme of a section is measured on, notes).

    With ``dataset``, the groups that the workload names are counted over every row where only a sample was kept.
    """
    import polars as pl

    from pkadvisor.design.load.bursts import keep_bursts
    from pkadvisor.design.load.estimates import Bench
    from pkadvisor.design.load.row_sizes import property_bytes
    from pkadvisor.design.load.windows import by_rate
    from pkadvisor.design.rows.arrivals import arrival_notes
    from pkadvisor.design.rows.counters import counter_rises
    from pkadvisor.design.rows.demand import demands
    from pkadvisor.design.rows.dependencies import keep_dependencies, sentences
    from pkadvisor.design.rows.logged.inserts import logged_rows
    from pkadvisor.design.rows.passing import keep_logged_inserts
    from pkadvisor.design.rows.population import Population
    from pkadvisor.design.rows.samples.declared_values import keep_declared

    data, table, notes = section.data, section.declared, list[str]()
    assert data is not None
    kind = next((k for k in table.kinds if k.name == section.kind), None) if table else None
    if section.traffic is not None and section.traffic.fraction < 1:
        notes.append(
            f"the log is assumed to hold {100 * section.traffic.fraction:.3g} % of the requests: rates are "
            "scaled up, and busiest minutes of a thin log look busier than they are"
        )
    arrival = _arrival(section)
    if not data.complete:
        notes.append(
            f"{data.sample.height:,} of {data.rows:,} entities were looked at closely, drawn by a hash of the row"
        )
    workload, hidden = _hidden(workload, data)
    notes += hidden
    frame = _frame(data)
    workload, met = _with_pairs(section, workload, frame)
    notes += met
    taken = sampling_of(section, workload, frame)
    if section.entities > data.rows:
        notes.append(taken.sentence(data.rows, section.entities))
    ghosts, places, busy = logged_rows(workload, frame)
    population = Population(
        frame,
        data.types,
        total=section.entities,
        complete=data.complete,
        arrival=arrival,
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
    if data.hashed and data.dependencies:
        keep_dependencies(population, data.dependencies)
    notes += _rules_of_table(section, population)
    declared_sizes = dict((kind.sizes if kind else table.sizes) if table else ())
    found = by_rate(demands(workload, population, places), workload, population)
    keep_bursts(workload, population, busy, found)
    keep_logged_inserts(population, found)
    notes += [*sentences(population), *arrival_notes(population, workload)]
    if population.complete and (data.hashed or not workload.hidden):  # a hidden value is never among those shown
        notes += _strangers(found)
    size = property_bytes(population, declared_sizes)
    bench = Bench(population, workload, found, limits, size, declared_sizes=declared_sizes)
    population.rises = counter_rises(population, workload)
    population.widths = table_widths(section, population, workload, bench.horizon_factor)
    del pl
    return bench, notes


def _with_pairs(section: Section, workload: Workload, frame: pl.DataFrame) -> tuple[Workload, list[str]]:
    """The workload with the pairs of its transactions that rows of this kind, or of another one, name; notes."""
    from pkadvisor.design.rows.sets.pairs import pairs_of_rows

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
    from pkadvisor.design.load.widths import widths_needed

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
    from pkadvisor.design.choice.table_rules import with_rules_of_table

    if population.hashed:
        return []
    known = [(other, set(other.data.types)) for other in section.siblings if other.data is not None]
    shared = [other for other, names in known if names & set(population.types) and not other.data.hashed]  # type: ignore[union-attr]
    return with_rules_of_table(population, [(other.kind or "", _rows_of(other)) for other in shared]) if shared else []


def sampling_of(section: Section, workload: Workload, frame: pl.DataFrame) -> Sampling:
    """How the data of a section was taken: as declared, else as its rows and the other kinds of the table tell."""
    from pkadvisor.observe.profile.sampling import Sampling, deduced

    data, table = section.data, section.declared
    assert data is not None
    stated = table is not None and table.sampling_stated and str(table.sampling) != "complete"
    if stated and table is not None:
        return Sampling(str(table.sampling), table.sampled_by)
    if section.entities <= data.rows:
        whole = section.declared_total is not None or (table is not None and table.sampling_stated)
        return Sampling("random-rows", (), "declared" if whole else "whole")
    if not data.complete or data.hashed:
        return Sampling("random-rows", (), "unknown")
    named = [tuple(conditions(c.filter).equal) for c in workload.classes if c.filter is not None]
    named += [t.group_by for t in workload.transactions if t.group_by]
    return deduced(frame, data.types, section.entities, named, _keys_of_others(section))


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


def _names_of_others(section: Section) -> list[str] | None:
    """The properties of the other kinds of a table; None where those of one are not known."""
    types = [types_of(other) for other in section.siblings]
    return [name for each in types for name in each] if all(types) else None


def _keys_in_use(section: Section) -> list[Key]:
    """The keys of the rows in place, if the design names any."""
    scheme = declared_keys(section.declared, None, section.design_path, kind=section.kind)
    return [key for key, _ in scheme.each_key()] if scheme is not None else []


def _rows_of(section: Section) -> Population:
    """The rows of another kind of a table, as far as the widths of its numbers need them."""
    from pkadvisor.design.rows.population import Population

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
    from pkadvisor.observe.profile.profile import POSITION

    return data.sample.sort(POSITION).drop(POSITION, "#hash")


def _sizes(data: DataProfile) -> dict[str, Sizes]:
    """The sizes of the properties over every row."""
    from pkadvisor.design.rows.population import Sizes

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
    """The property that tells the order in which entities come, or ``file_order``; None where nobody says."""
    data, table = section.data, section.declared
    kind = next((k for k in table.kinds if k.name == section.kind), None) if table else None
    found = (kind.arrival if kind and kind.arrival else None) or (table.arrival if table else None)
    if found == "timestamp" and data is not None:
        return next((n for n in data.types if n.lower() == "timestamp"), None)
    return found


def _counted_groups(
    workload: Workload, data: DataProfile, dataset: Dataset | None
) -> dict[tuple[str, ...], GroupCounts]:
    """Group sizes over every row for what the workload draws, sets apart or asks for by equality."""
    if data.complete or dataset is None or data.rows > EXACT_ROWS_MAX:
        return {}
    from pkadvisor.design.rows.exact import count_groups

    wanted: list[tuple[str, ...]] = [t.group_by for t in workload.transactions if t.logged_entities is None]
    wanted += [c.draw.of for c in workload.classes if c.draw.by in (DrawBy.DISTINCT, DrawBy.ZIPF)]
    wanted += [tuple(conditions(c.filter).equal) for c in workload.classes if c.filter is not None]
    known = set(data.types)
    return count_groups(dataset, [names for names in wanted if names and known >= set(names)])


def _hidden(workload: Workload, data: DataProfile) -> tuple[Workload, list[str]]:
    """Logged parameters as the data's values are hidden, or shown; dropped, with a note, where they were hidden with a
    secret."""

    from pkadvisor.observe.profile.profile_file import hide_values, show_values

    if workload.hidden and not data.hashed:
        shown = {name: show_values(frame, data.sample, data.types) for name, frame in workload.instances.items()}
        known = {name: frame for name, frame in shown.items() if frame.height}
        lost = len(known) < len(shown)
        note = "some logged keys of the profile are not in the data: every entity is assumed equally likely there"
        return replace(workload, instances=known, hidden=False), [note] if lost else []
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
    busy = {name: replace(found, rows=hide(found.rows)) for name, found in workload.busy.items()}
    return replace(workload, instances=frames, busy=busy), []


def _strangers(demands: tuple[Demand, ...]) -> list[str]:
    """Logged classes whose keys the data, which is said to be complete, mostly does not have."""
    out = []
    for demand in demands:
        if demand.query.draw.by is DrawBy.LOG and demand.conditions.equal and len(demand.returned):
            missing = demand.mean((demand.returned == 0).astype(float))
            if missing > STRANGERS_TELLING:
                out.append(f"{100 * missing:.0f} % of the keys that '{demand.query.name}' asks for are not in the data")
    return out


def token_maker(data: DataProfile) -> Callable[[str], str] | None:
    """How a profile's tokens are made, where it was made without a salt file."""
    key = data.token_key
    if key is None:
        return None
    from pkadvisor.observe.profile.profile_file import token

    return lambda text: token(text, key)

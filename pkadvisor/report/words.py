"""What a result says in sentences: what a design gives up, and what cannot be known from what was given."""

from __future__ import annotations

import math

from pkadvisor.design.choice.certainty.cost_intervals import SHARE
from pkadvisor.design.choice.goals import loss
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.cost.buckets import writes_row
from pkadvisor.design.cost.class_cost import has_row
from pkadvisor.design.keys.keyreader import tellers
from pkadvisor.design.keys.scheme import IndexRow
from pkadvisor.design.keys.transforms import Context
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, CostEstimate
from pkadvisor.design.load.identifiers import decides
from pkadvisor.design.rows.atoms import atom_properties, atoms_of
from pkadvisor.design.rows.draws import hidden_draw
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.schedule import schedule_of
from pkadvisor.documents.analysis_table import KEYS_ALONE
from pkadvisor.lazy import pl
from pkadvisor.numbers import amount, percent
from pkadvisor.observe.workload import Basis, DrawBy, Operation
from pkadvisor.table.edm import EdmType


def sampling_of(judged: Judged) -> str:
    """How the data was taken from the table: as declared, and at random where only some of its rows are at hand."""
    if judged.bench is not None and judged.bench.population.sampling_basis == "deduced":
        return judged.bench.population.sampling
    declared = str(judged.section.declared.sampling) if judged.section.declared is not None else "complete"
    drawn = judged.section.data is not None and not judged.section.data.complete
    drawn = drawn or (judged.bench is not None and judged.bench.population.rows < judged.bench.population.total)
    return "random-rows" if declared == "complete" and drawn else declared


SCORES_DIFFER = 1.0
"""Points by which a score must be above that of the recommended keys to be worth a sentence."""


def score_against_rank(best: CostEstimate, judged: Judged) -> str:
    """Why keys with a higher score are ranked below the recommended ones; empty where none of the ranking has one."""
    ranked = list(enumerate(judged.ranking(), 1))
    higher = [(c.score, -rank, c) for rank, c in ranked if rank > 1 and c.score > best.score + SCORES_DIFFER]
    if not higher:
        return ""
    score, rank, rival = max(higher, key=lambda entry: entry[:2])
    lost = loss(rival, best)
    return (
        f"rank {-rank} has the higher score ({amount(score)} against {amount(best.score)}): the score counts useful "
        f"reads and room for growth alone, and the ranking puts {lost.goal} first, where it has {amount(lost.mine)} "
        f"against {amount(lost.winner)} ({lost.unit})"
    )


def gives_up(best: CostEstimate, judged: Judged) -> list[str]:
    """What the recommended design costs its owner; first of all why a higher score is ranked below it."""
    out = [sentence] if (sentence := score_against_rank(best, judged)) else []
    out += [_index_row(row, best, judged) for row in best.scheme.index_rows]
    for cost in best.classes:
        if cost.plan is not None and cost.plan.buckets > 1:
            out.append(f"{cost.name} costs {cost.plan.buckets} requests instead of 1, one for each bucket")
        if cost.plan is not None and cost.plan.access in ("table scan", "partition-range scan"):
            reads = f"reads {cost.entities_read:,.0f} entities to return {cost.entities_returned:,.0f}"
            out.append(f"{cost.name} still scans: it {reads}")
        if cost.plan is not None and cost.plan.back:
            out.append(f"{cost.name} reads {amount(cost.fan_out)} periods on average, one request after the other")
        elif cost.plan is not None and cost.plan.periods is not None and cost.fan_out > 1.05:
            out.append(f"{cost.name} reads {amount(cost.fan_out)} periods on average")
    for outcome in best.transactions:
        if outcome.guaranteed is not None and not outcome.kept:
            out.append(f"'{outcome.name}' is not always one group transaction: {outcome.guaranteed.sentence}")
        elif not outcome.kept:
            out.append(f"'{outcome.name}' is not one group transaction")
    if best.retention is not None and not best.retention.cut:
        out.append(f"expired entities are {best.retention.how}")
    if best.erasure is not None and (best.erasure.scans or best.erasure.requests_max > best.erasure.rows_max / 2 > 1):
        erased = best.erasure
        how = "a scan and " if erased.scans else ""
        out.append(
            f"erasing one {erased.property} takes {how}up to {erased.requests_max:,.0f} requests "
            f"for {erased.rows_max:,.0f} rows"
        )
    if best.break_factor < BREAK_ENOUGH and math.isfinite(best.break_factor):
        out.append(f"it breaks at {amount(best.break_factor)} times the declared peak: {best.break_cause}")
    if any(p.assigned for p in (*best.scheme.main.partition, *best.scheme.main.row)):
        out.append("no property identifies an entity: the application must assign the number {seq}")
    return [*out, *_in_keys_alone(best, judged)]


def _index_row(row: IndexRow, best: CostEstimate, judged: Judged) -> str:
    """Which writes write an index row too, and for which entities there is none."""
    where = "in the same group transaction" if best.scheme.same_partition(row) else "later, in another partition"
    how = "a full copy" if row.copy == "full" else "a pointer"
    demands = judged.bench.demands if judged.bench is not None else ()
    writes = [d for d in demands if d.query.operation is not Operation.QUERY]
    writing = [d.query.name for d in writes if writes_row(d, row)]
    who = "every write also writes"
    if len(writing) < len(writes):
        named = ", ".join(f"'{name}'" for name in writing) or "inserts and deletes"
        who = f"{named} also write{'s' if len(writing) == 1 else ''}"
        where += "; other writes do not"
    without = _without(row, judged)
    return f"{who} {how} under {row.key} ({where}{f'; {without}' if without else ''})"


def _without(row: IndexRow, judged: Judged) -> str:
    """The entities for which an index row is not written, since what it is looked up by is missing."""
    if judged.bench is None or not judged.bench.population.rows:
        return ""
    population = judged.bench.population
    share = float((has_row(row.key, row, population)[: population.rows] == 0).mean())
    names = ", ".join(name for name in row.key.properties if population.may_lack(name))
    return f"the {percent(share)} of the entities that lack {names} have none" if share else ""


def _in_keys_alone(best: CostEstimate, judged: Judged) -> list[str]:
    """Values that the current keys alone hold, and that the recommended key of an entity tells less exactly."""
    declared, current = judged.section.declared, judged.advice.current if judged.advice is not None else None
    if declared is None or current is None:
        return []
    before = {name: part for name, (_, _, part) in tellers(current.scheme.main).items()}
    now = {name: part for name, (_, _, part) in tellers(best.scheme.main).items()}
    lost = [
        name
        for name in declared.key_parts
        if name in before and not (name in now and (now[name].decodes or now[name] == before[name]))
    ]
    return [f"{KEYS_ALONE}{', '.join(lost)}: store what they tell in properties"] if lost else []


def unknowns(judged: Judged) -> list[str]:
    """What cannot be known from what was given."""
    out: list[str] = []
    section, bench = judged.section, judged.bench
    if section.data is None:
        out.append("selectivities, distinct values and hot keys under other keys: give a data set")
        return out
    if bench is None:
        return out
    population = bench.population
    if population.arrival is None:
        out.append("the order of inserts, so whether a key is append-only: declare `arrival`")
    elif population.hashed & {population.arrival}:
        out.append("the order of inserts: the profile hides it")
    if section.traffic is None:
        text = "real parameters and bursts are unknown: no log was given, so rates and draws are as declared"
        out.append(text + ("; all peaks are assumed to coincide" if _coincide(bench) else ""))
    drawn = [d for d in bench.demands if d.draw_basis is Basis.ASSUMED and d.query.draw.by is DrawBy.ENTITIES]
    assumed = [d.query.name for d in drawn]
    if assumed:
        names = ", ".join(assumed[:4]) + (" …" if len(assumed) > 4 else "")
        out.append(f"which keys are read most: every entity is assumed equally likely ({names}); declare `draw`")
    for hidden in dict.fromkeys(h for d in bench.demands if (h := hidden_draw(d.query.draw, population))):
        names = ", ".join(d.query.name for d in bench.demands if hidden_draw(d.query.draw, population) == hidden)
        out.append(f"which keys are read most: the profile hides {hidden}; all are assumed equally likely ({names})")
    if sampling_of(judged) == "slice":
        out.append("the error of the numbers: the data is a slice, and the rest of the table may differ")
    elif not population.complete and population.rows < population.total:
        out.append(_sample_error(judged, population))
    if asked := _unique_in_sample(judged, population):
        out[:0] = asked
    else:
        rows = max(judged.verified_rows, population.rows)
        out.append(f"whether keys are unique beyond the {rows:,} entities that were read")
    out += _changed_by_updates(judged)
    out += _repeated_rows(judged, population)
    out += _coarse_times(judged, population)
    if judged.advice is not None:
        out += _head_room(judged.advice.recommended, population)
    if judged.workload.growth is None:
        out.append(f"growth is not declared: {bench.horizon_factor:g} times today's peak is assumed")
    measured = [entry for entry in bench.limits.entries if entry.basis == "measured"]
    if not measured:
        out.append("the capacity of your account: published targets are used, nothing was measured")
    for entry in measured:
        when = f", {entry.date}" if entry.date else ""
        out.append(f"measured, not published: {entry.name} {entry.value:,.6g} {entry.unit} ({entry.source}{when})")
    return out


def _coincide(bench: Bench) -> bool:
    """Whether the times of some class's peak are not known, so that it is added to all others."""
    workload = bench.workload
    if schedule_of(workload, bench.population).basis is not Basis.ASSUMED:
        return False
    peaks = [c for c in workload.classes if c.rate.sustained_per_s > c.rate.mean_per_s]
    return any(c.rate.peak_at is None and c.name not in workload.minutes for c in peaks)


def _sample_error(judged: Judged, population: Population) -> str:
    """How far shares counted on a sample may be off."""
    text = f"exact shares: {population.rows:,} sampled rows stand for {population.total:,}"
    terms = judged.advice.recommended.terms if judged.advice is not None else ()
    hottest = next((t for t in terms if t.name == SHARE), None)
    if hottest is not None and hottest.low is not None:
        reach = "no bound above" if hottest.high is None else percent(hottest.high)
        text += f"; the hottest partition takes {percent(hottest.value)} of the load"
        text += f" (95 % interval: {percent(hottest.low)} to {reach})"
    else:
        text += "; the error is unknown: too few keys were sampled"
    if any(d.query.draw.by in (DrawBy.DISTINCT, DrawBy.ZIPF) for d in judged.bench.demands) if judged.bench else False:
        text += "; frequent values are overrepresented among the sampled parameters"
    return text


def _unique_in_sample(judged: Judged, population: Population) -> list[str]:
    """That the recommended keys are known to be unique only among the rows looked at, with the properties that must
    tell entities apart together; nothing where the design says that they name one entity, or that the rows are the
    whole table."""
    data = judged.section.data
    sampled = data is not None and judged.section.entities > data.rows
    if judged.advice is None or judged.bench is None or not (sampled or population.taken_for_whole):
        return []

    main, current = judged.advice.recommended.scheme.main, judged.advice.current
    parts = (*main.partition, *main.row)
    names = set(main.properties)
    changing = [d.conditions for d in judged.bench.demands if d.query.operation is not Operation.QUERY]
    one_entity = [{*wanted.equal, *wanted.folded} for wanted in changing]
    if current is not None:
        one_entity.append(set(current.scheme.main.properties))
    if any(part.assigned for part in parts) or any(
        names_of_entity and names_of_entity <= names for names_of_entity in one_entity
    ):
        return []
    atoms = list(atoms_of(parts))
    whole = [atom for atom in atoms if atom[0] == "p"]  # of periods and hashes others in the key hold the property
    telling = whole if whole and population.surplus(whole) == 0 else atoms
    named = list(dict.fromkeys(name for atom in telling for name in atom_properties(atom)))
    rows = max(judged.verified_rows, population.rows)
    which = f"{rows:,} sampled rows" if sampled else f"{rows:,} rows of this file"
    asked = f"({', '.join(named)})" if named[1:] else "".join(named)
    return [f"unique in {which}: is {asked} unique in the table?"] if named else []


def _changed_by_updates(judged: Judged) -> list[str]:
    """That updates of which nobody says what they change may change what the recommended keys hold and the current key
    does not: each such change deletes a row and inserts another."""
    if judged.advice is None or judged.bench is None:
        return []
    scheme, current = judged.advice.recommended.scheme, judged.advice.current
    held = {name: None for key, _ in scheme.each_key() for name in key.properties}
    fixed = set(current.scheme.main.properties) if current is not None else set()
    writes = (Operation.UPDATE, Operation.UPSERT)
    silent = [d for d in judged.bench.demands if d.query.operation in writes and not d.query.sets]
    named = {d.query.name: {*d.conditions.equal, *d.conditions.folded} for d in silent}
    moving = {query: [n for n in held if n not in fixed | names] for query, names in named.items()}
    names = dict.fromkeys(name for moved in moving.values() for name in moved)
    by = ", ".join(f"'{name}'" for name, moved in moving.items() if moved)
    said = "which the recommended keys hold: each change moves a row; declare `sets`"
    return [f"whether updates ({by}) change {' or '.join(names)}, {said}"] if names else []


def _repeated_rows(judged: Judged, population: Population) -> list[str]:
    """Rows that repeat another in every property, where the recommended keys number entities for no other reason: all
    other rows are told apart by the rest of the keys, or by one property."""
    if judged.advice is None or judged.section.data is None:
        return []

    main = judged.advice.recommended.scheme.main
    parts = (*main.partition, *main.row)
    named = [part for part in parts if not part.assigned]
    repeated = population.data.height - population.data.n_unique() if len(named) < len(parts) else 0
    if not repeated:
        return []
    able = [n for n, edm in sorted(population.types.items()) if edm is not EdmType.DOUBLE and population.has(n)]
    ways = (atoms_of(named), *([("p", name)] for name in able))
    if all(population.surplus(atoms) != repeated for atoms in ways):
        return []
    return [
        f"whether two entities can be alike in every property: {repeated:,} of the {population.rows:,} rows looked at "
        "repeat another; if those are copies, remove them, and the keys need no {seq}"
    ]


def _coarse_times(judged: Judged, population: Population) -> list[str]:
    """Times of whole seconds that tell entities apart: two in one second would collide."""
    if judged.advice is None:
        return []
    main = judged.advice.recommended.scheme.main
    atoms = atoms_of((*main.partition, *main.row))
    if judged.scheme is not None and decides(atoms, judged.scheme.main):
        return []  # the table refuses a second entity with these keys already
    out = []
    for name in main.properties:
        if not isinstance(population.coded(name).values.dtype, pl.Datetime):
            continue
        whole = (population.coded(name).values.dt.microsecond() == 0).all()
        rest = [a for a in atoms if a[0] == "s" or a[1] != name]
        if whole and population.surplus(rest) and not population.surplus(atoms):
            others = ", ".join(other for other in main.properties if other != name)
            alike = f"with the same {others} " if others else ""
            out.append(f"whether two entities {alike}ever have the same {name}")
    return out


def _head_room(best: CostEstimate, population: Population) -> list[str]:
    """How far the padded numbers of a design reach, and how far the data does."""
    out, context = [], Context(population.types)
    for key, _ in best.scheme.each_key():
        for part in (*key.partition, *key.row):
            limits = part.limits(context)
            if part.padded_width and limits is not None and part.keeps_apart(context):
                reach, largest = limits[1], population.sizes(part.properties[0]).largest
                out.append(f"numbers beyond the padding: {part} holds up to {reach:,}, the data reaches {largest:,}")
    return list(dict.fromkeys(out))

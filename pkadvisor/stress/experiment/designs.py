"""Which designs are run: the keys in use and the recommended ones, or those of a result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pkadvisor.design.choice.asked_texts import without_list_rows, without_values_asked
from pkadvisor.design.choice.prepared import prepared
from pkadvisor.design.choice.sections import Judged, Section
from pkadvisor.design.choice.several_kinds.account import AccountLoad, bench_beside, table_name
from pkadvisor.design.choice.several_kinds.judge_kinds import Judgement, judge_tables
from pkadvisor.design.cost.budgets import parse_budgets
from pkadvisor.design.keys.candidate_file import Candidate, KeyTemplates
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, CostEstimate, Violation
from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.errors import InputError, UsageError
from pkadvisor.inputs import AnalyzeRequest, files_read, named_schemes, read_sections
from pkadvisor.limits import Limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.progress import Progress
from pkadvisor.report.documents.stored import load_stored
from pkadvisor.stress.experiment.request import StressRequest
from pkadvisor.stress.requests.rows import entities_of, layout
from pkadvisor.values import dataclass

# ----------------------------------------------------------------------------------------------------------------------
# The schemes of a result that was written before, for data that must be the same.

CURRENT, RECOMMENDED = "current", "recommended"
"""What keys under test are called, besides the numbers of a ranking."""
AGAIN = "advisor analyze … --out json=result.json with these files writes one"


def schemes_of(
    path: str, number: int | None, reading: AnalyzeRequest, sections: Sequence[Section]
) -> list[list[tuple[str, KeyScheme]]]:
    """For each section its current and its recommended keys, or the scheme of a ``number`` in place of these.

    InputError (3) where the result was made of other files, redacted, or has no such table; UsageError (2) for a number
    that it does not have.
    """
    document = load_stored(path, "--result")
    if not isinstance(document, AnalysisDocument):
        raise InputError("is a score card, not a result", where=f"--result {path}", fix=AGAIN)
    _check_files(document, path, reading)
    return [_of_section(document, path, number, section) for section in sections]


def _check_files(document: AnalysisDocument, path: str, reading: AnalyzeRequest) -> None:
    listed = document.inputs.files
    if not listed:
        what = "does not say which files it was made of"
        raise InputError(what, where=f"--result {path}", fix=f"it is of an older version, or read a pipe: {AGAIN}")
    made_of = {(f.role, f.xxh3): f.name for f in listed}
    given = {(f.role, f.xxh3): f.name for f in files_read(reading)}
    if made_of.keys() == given.keys():
        return
    missing = sorted(made_of[key] for key in made_of.keys() - given.keys())
    other = sorted(given[key] for key in given.keys() - made_of.keys())
    parts = [f"it was made of {', '.join(missing)}"] if missing else []
    parts += [f"{', '.join(other)} {'is' if len(other) == 1 else 'are'} not what it was made of"] if other else []
    raise InputError(f"is of other files: {'; '.join(parts)}", where=f"--result {path}", fix=AGAIN)


def _of_section(
    document: AnalysisDocument, path: str, number: int | None, section: Section
) -> list[tuple[str, KeyScheme]]:
    assert section.data is not None
    table = next(
        (t for t in document.tables if t.table == section.table and t.kind == section.kind),
        None,
    )
    if table is None:
        names = ", ".join(sorted({t.table for t in document.tables}))
        raise InputError(f"has no table {section.table}; it has {names}", where=f"--result {path}", fix=AGAIN)
    out: list[tuple[str, AnalysisScheme]] = []
    if table.current is not None:
        out.append((CURRENT, table.current))
    if number is not None:
        schemes = [s for s in (table.recommended, *table.alternatives) if s is not None]
        chosen = next((s for s in schemes if s.rank == number), None)
        if chosen is None:
            ranks = ", ".join(str(s.rank) for s in schemes if s.rank is not None)
            raise UsageError(f"{path} has no scheme {number}", where="--scheme", fix=f"it has {ranks}")
        out.append((f"scheme {number}", chosen))
    elif table.recommended is not None:
        out.append((RECOMMENDED, table.recommended))
    types = section.data.types
    return distinct([(label, _read(scheme, f"--result {path}").scheme(types)) for label, scheme in out])


def _read(scheme: AnalysisScheme, where: str) -> Candidate:
    """A scheme of a result with its index rows. UsageError, by ``Candidate.scheme``, where its templates are none."""
    rows = [(KeyTemplates(row.partition_key, row.row_key, where), row.copy) for row in scheme.index_rows]
    return Candidate(KeyTemplates(scheme.partition_key, scheme.row_key, where), tuple(rows))


SAME = " = "
"""Between the labels of keys that are more than one design."""


def distinct(schemes: list[tuple[str, KeyScheme]]) -> list[tuple[str, KeyScheme]]:
    """Each scheme once, with all of its labels: keys that are kept are both current and recommended."""
    out: dict[str, tuple[str, KeyScheme]] = {}
    for label, scheme in schemes:
        before = out.get(scheme.text)
        out[scheme.text] = (label, scheme) if before is None else (f"{before[0]}{SAME}{label}", scheme)
    return list(out.values())


@dataclass(frozen=True, slots=True)
class Design:
    """One design of a table. ``estimate``: what the model says of the whole table; ``of_sample``: of the data given."""

    label: str
    scheme: KeyScheme
    estimate: CostEstimate
    of_sample: CostEstimate
    refused: tuple[Violation, ...] = ()
    """Why ``advisor analyze`` refuses it; what it breaks only after growth that nobody declared is none."""


@dataclass(frozen=True, slots=True)
class DesignedTable:
    """One table (or kind of entities) with the designs to run. ``sample`` is the bench of the data as it is."""

    section: Section
    bench: Bench
    sample: Bench
    designs: tuple[Design, ...]
    left_out: tuple[str, ...] = ()
    """What is weighed and does not run."""


def tables_of(request: StressRequest, limits: Limits, progress: Progress) -> list[DesignedTable]:
    """Reads what was given, judges it where no result tells the schemes, and prices what will run.

    UsageError (2) where nothing can be run: no data, no rates, no such scheme. InputError (3) where a result was made
    of other data.
    """
    sections = read_sections(request.reading, progress)
    able = [(section, dataset) for section, dataset in sections if section.data is not None]
    if not able:
        fix = "give data files beside --design, or a --sample: keys and rows are drawn from them"
        raise UsageError("without data nothing can be run", where="DATA", fix=fix)
    budgets = parse_budgets(request.reading.budgets)
    if request.result is not None:
        stored = schemes_of(request.result, request.scheme, request.reading, [section for section, _ in able])
        tables = _of_result(sections, stored, limits)
    else:
        named = named_schemes(request.reading, [section for section, _ in sections])
        answer = judge_tables(sections, named, limits, budgets, progress, detailed=False)
        made = [
            _of_judged(j, source, answer, limits, request)
            for j, (_, source) in zip(answer.judged, sections, strict=True)
        ]
        tables = [table for table in made if table is not None]
    if not tables:
        raise _no_rates([section for section, _ in able])
    return tables


def _of_result(
    sections: Sequence[tuple[Section, Dataset | None]],
    stored: Sequence[list[tuple[str, KeyScheme]]],
    limits: Limits,
) -> list[DesignedTable]:
    """Schemes that a result holds, of which the last of each table is the one that is proposed."""
    from pkadvisor.design.choice.several_kinds.given_keys import GivenKeys, together
    from pkadvisor.design.cost.cost import estimate

    able = [(section, dataset) for section, dataset in sections if section.data is not None]
    given = list[GivenKeys]()
    for (section, dataset), schemes in zip(able, stored, strict=True):
        bench, _ = prepared(section, limits, dataset)
        _check_rates(bench, section)
        priced = tuple(estimate(scheme, bench) for _, scheme in schemes)
        given.append(GivenKeys(section, bench, priced, of_table=len(priced) - 1))
    without_data = [section for section, _ in sections if section.data is None]
    advised, account = together(given, without_data, limits)
    in_use, _ = together([replace(mine, of_table=0) for mine in given], without_data, limits)
    out = []
    for (section, dataset), schemes, mine, after, before in zip(able, stored, given, advised, in_use, strict=True):
        labelled = []
        for n, (label, _) in enumerate(schemes):
            cost, bench = (before if label == CURRENT else after).schemes[n]
            refused = _refused(cost, account) if n == mine.of_table else _refused(cost)
            labelled.append(_PricedScheme(label, cost, bench, refused))
        out.append(_table(section, dataset, limits, labelled, mine.bench))
    return out


@dataclass(frozen=True, slots=True)
class _PricedScheme:
    """One scheme as it is advised: beside the other tables and kinds, with the bench of that."""

    label: str
    estimate: CostEstimate
    bench: Bench
    refused: tuple[Violation, ...]


def _of_judged(
    judged: Judged, dataset: Dataset | None, answer: Judgement, limits: Limits, request: StressRequest
) -> DesignedTable | None:
    section = judged.section
    if section.data is None:
        return None
    if judged.advice is None or judged.bench is None:
        if any(c.rate.mean_per_s > 0 for c in judged.workload.classes):
            raise UsageError(judged.why_not, where=section.table)
        return None
    _check_rates(judged.bench, section)
    advice, schemes = judged.advice, list[tuple[str, "CostEstimate"]]()
    if advice.current is not None:
        schemes.append((CURRENT, advice.current))
    if request.scheme is not None:
        ranking = judged.ranking()
        if not 1 <= request.scheme <= len(ranking):
            fix = f"a number from 1 to {len(ranking)}; advisor analyze --top {len(ranking)} shows them"
            raise UsageError(f"there is no scheme {request.scheme} in the ranking", where="--scheme", fix=fix)
        schemes.append((f"scheme {request.scheme}", ranking[request.scheme - 1]))
    else:
        schemes.append((RECOMMENDED, advice.recommended))
    together = [
        v
        for arranged in answer.arranged
        for kind, v in arranged.chosen.violations
        if arranged.table == section.table and kind in ("", section.kind)
    ]
    costs, priced = {estimate.scheme.text: estimate for _, estimate in schemes}, []
    for label, scheme in distinct([(label, estimate.scheme) for label, estimate in schemes]):
        estimate = costs[scheme.text]
        account = answer.account_in_use if estimate is advice.current else answer.account
        bench = bench_beside(judged.bench, estimate, account, table_name(section))
        advised = scheme.text == advice.recommended.scheme.text
        refused = _refused(estimate, answer.account, together) if advised else _refused(estimate)
        priced.append(_PricedScheme(label, estimate, bench, refused))
    return _table(section, dataset, limits, priced, judged.bench)


def _refused(
    estimate: CostEstimate, account: Sequence[AccountLoad] = (), together: Sequence[Violation] = ()
) -> tuple[Violation, ...]:
    """Every constraint that a scheme breaks by itself, with the other kinds of its table, and on its account."""
    broken = [*estimate.violations, *together, *(v for load in account if (v := load.violation()) is not None)]
    return tuple({v.message: v for v in broken if not v.assumed}.values())


def _table(
    section: Section, dataset: Dataset | None, limits: Limits, schemes: Sequence[_PricedScheme], bench: Bench
) -> DesignedTable:
    from pkadvisor.design.cost.cost import estimate

    sample, _ = prepared(_as_it_is(section), limits, dataset)
    bursts = bench.workload.bursts_refused
    bench, asking = _as_it_runs(bench)
    sample, _ = _as_it_runs(sample)
    left_out = _left_out(asking, [each.estimate.scheme for each in schemes], section)
    left_out += _beside([each.estimate.scheme for each in schemes], bench)
    if bursts:
        what = f"bursts within a second, which the log of {section.table} shows refused,"
        left_out += (f"{what} do not run: 'advisor analyze' weighs them",)
    if left_out and not bench.demands:
        raise UsageError(f"nothing is left to run: {left_out[0]}", where=section.table, fix="declare other requests")
    run = [(each, without_list_rows(each.estimate.scheme, values=False)) for each in schemes]
    of_scheme, designs = {scheme.text: each for each, scheme in run}, []
    for label, scheme in distinct([(each.label, scheme) for each, scheme in run]):
        each = of_scheme[scheme.text]
        current = each.estimate
        if asking or bursts or scheme != current.scheme:  # of what does not run nothing is predicted
            current = estimate(scheme, _as_it_runs(each.bench)[0])
        # The same requests are compared with the data at hand, be others cheaper for so few rows.
        along = {c.name: c.plan.way for c in current.classes if c.plan is not None}
        small = estimate(scheme, replace(sample, along=along))
        broken = next((v for v in current.violations if v.code in ILLEGAL), None)
        if broken is not None and label != CURRENT:
            raise UsageError(f"{scheme.text} cannot be stored: {broken.message}", where=section.table)
        if broken is not None and len(run) > 1 and not _storable(scheme, bench):
            left_out += (f"current, {scheme.text}, does not run, because {ILLEGAL[broken.code]}",)
            continue
        designs.append(Design(label, scheme, current, small, each.refused))
    return DesignedTable(section, bench, sample, tuple(designs), left_out)


def _as_it_runs(bench: Bench) -> tuple[Bench, tuple[str, ...]]:
    """(the bench without queries that ask for one of several values and without bursts, the names of these queries)."""
    bench, names = without_values_asked(bench)
    return replace(bench, workload=replace(bench.workload, bursts_refused=False)), names


def _left_out(asking: Sequence[str], schemes: Sequence[KeyScheme], section: Section) -> tuple[str, ...]:
    """That rows for each value of a list, and queries of one of them, do not run."""
    rows = {str(row.key) for each in schemes for row in each.index_rows} - {
        str(row.key) for each in schemes for row in without_list_rows(each, values=False).index_rows
    }
    what = [*([f"queries of one of several values ({', '.join(asking)})"] if asking else []), *sorted(rows)]
    return (f"{' and '.join(what)} of {section.table} do not run: 'advisor analyze' weighs them",) if what else ()


def _beside(schemes: Sequence[KeyScheme], bench: Bench) -> tuple[str, ...]:
    """That what other kinds bring to the same partitions does not run."""
    templates = {key.partition for scheme in schemes for key, _ in scheme.each_key()}
    shared = {o.kind for o in bench.other_kinds if o.loaded and o.key is not None and o.key.partition in templates}
    kinds = " and ".join(sorted(shared))
    said = f"what {kinds} bring to the same partitions does not run: 'advisor analyze' adds it up"
    return (said,) if shared else ()


ILLEGAL = {
    "not-unique": "entities share a key, and the store would keep one of them",
    "illegal-characters": "some keys hold characters that the store refuses",
    "key-too-long": "some keys are longer than the store takes",
}
"""Violations of keys that no store would take, in words that show no key."""


def _storable(scheme: KeyScheme, bench: Bench) -> bool:
    """Whether a store takes all rows that a scheme makes of the entities at hand."""
    try:
        layout(scheme, entities_of(bench.population), bench.population.types)
    except UsageError:
        return False
    return True


def _check_rates(bench: Bench, section: Section) -> None:
    if not any(c.rate.mean_per_s > 0 and not c.analytic for c in bench.workload.classes):
        raise _no_rates([section])


def _no_rates(sections: Sequence[Section]) -> UsageError:
    names = ", ".join(dict.fromkeys(section.table for section in sections))
    fix = "declare the rates of its queries and writes in a --design file, or give a --log"
    return UsageError(f"no query or write of {names} has a rate", where=sections[0].design_path, fix=fix)


def _as_it_is(section: Section) -> Section:
    """The section as if the table held the entities of the data and no others."""
    assert section.data is not None
    return replace(section, entities_total=section.data.rows)

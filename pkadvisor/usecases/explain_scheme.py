"""``advisor explain scheme:…``: why a scheme is where it is in the ranking.

From a result file alone, or from data, where it is also computed what would turn the ranking and how far the verdict
hangs on what is assumed.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import asdict, replace

from pkadvisor.design.choice.certainty.flips import Sensitivity, turning
from pkadvisor.design.choice.goals import better, loss
from pkadvisor.design.choice.sections import Judged, Section
from pkadvisor.design.choice.several_kinds.kinds import Arranged
from pkadvisor.design.cost.budgets import parse_budgets
from pkadvisor.design.evidence.given import ranking_says
from pkadvisor.design.keys.candidate_file import parse_candidate
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import CostEstimate
from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisFullScheme, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.documents.explanation import (
    ExplanationClass,
    ExplanationClassFigures,
    ExplanationConstraint,
    ExplanationDifference,
    ExplanationGoal,
    ExplanationScheme,
    ExplanationSchemeKeys,
    ExplanationSensitivity,
    ExplanationShift,
    ExplanationTerm,
    ExplanationTogether,
)
from pkadvisor.documents.part import part_of, word
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest, named_schemes, read_sections
from pkadvisor.limits import load_limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.progress import Progress
from pkadvisor.report.documents.scheme_document import full_scheme
from pkadvisor.report.documents.stored import load_stored, scheme_text
from pkadvisor.report.documents.values import Shown, turning_words
from pkadvisor.usecases.explain import CURRENT, DOCUMENT, RECOMMENDED, SCHEMA_VERSION, judged_among
from pkadvisor.values import dataclass

RETRIED = 5
"""Schemes of the ranking that are priced again for each assumed number."""


@dataclass(frozen=True, slots=True)
class SchemeName:
    """A scheme of a ranking: its ``rank``, None for the keys in use; ``kind``: of which kind of rows, where one is
    named."""

    rank: int | None
    kind: str | None = None


def scheme_named(which: str) -> SchemeName:
    """What ``scheme:N`` or ``scheme:KIND:N`` names. UsageError for anything else."""
    kind, _, number = which.rpartition(":")
    if number == CURRENT:
        return SchemeName(None, kind or None)
    if number == RECOMMENDED:
        return SchemeName(1, kind or None)
    if not number.isdecimal() or not 1 <= int(number[:6]) <= 9999:
        fix = "scheme:2, scheme:current, scheme:KIND:2, or --scheme 'PARTITIONKEY | ROWKEY'"
        raise UsageError(f"'{which}' is not a scheme of the ranking", where="scheme", fix=fix)
    return SchemeName(int(number), kind or None)


def _only(named: SchemeName, places: Sequence[tuple[str, str | None]], where: str) -> int:
    """Which of several rankings a scheme is of, each given as (table, kind): UsageError where that is not said."""
    shown = current_or(named.rank)
    kinds = list(dict.fromkeys(kind for _, kind in places if kind is not None))
    fitting = [
        n
        for n, (_, kind) in enumerate(places)
        if named.kind is None or (kind is not None and kind.lower() == named.kind.lower())
    ]
    if not fitting:
        fix = f"there are {', '.join(f'scheme:{kind}:{shown}' for kind in kinds)}" if kinds else f"scheme:{shown}"
        raise UsageError(f"there is no kind of rows '{named.kind}' with a ranking", where=where, fix=fix)
    if len(fitting) == 1:
        return fitting[0]
    tables = list(dict.fromkeys(places[n][0] for n in fitting))
    if len(tables) > 1:
        what = f"{len(tables)} tables have rankings of their own"
        raise UsageError(what, where=where, fix=f"add --table {tables[0]}; there are {', '.join(tables)}")
    words = " or ".join(f"scheme:{kind}:{shown}" for kind in kinds)
    raise UsageError(f"{len(fitting)} kinds of rows have rankings of their own", where=where, fix=words)


def current_or(rank: int | None) -> str:
    """A rank as a target of the command line names it."""
    return CURRENT if rank is None else str(rank)


# -- from a result file ---------------------------------------------------------------------------------------------


def explain_stored(path: str, which: str, tables: Sequence[str]) -> ExplanationScheme:
    """A scheme of a result file. Raises UsageError for a scheme or table that it does not hold."""
    document = load_stored(path, "--result")
    if not isinstance(document, AnalysisDocument):
        raise UsageError("a score card has no ranking", where=f"--result {path}", fix="give the result of an analysis")
    named = scheme_named(which)
    wanted = {name.lower() for name in tables}
    judged = [t for t in document.tables if t.recommended is not None]
    judged = [t for t in judged if not wanted or t.table.lower() in wanted]
    if not judged:
        names = ", ".join(dict.fromkeys(t.table for t in document.tables)) or "none"
        what = "the result ranks no scheme" + (f" of {', '.join(tables)}" if wanted else "")
        raise UsageError(what, where=f"--result {path}", fix=f"tables in it: {names}")
    table = judged[_only(named, [(t.table, t.kind) for t in judged], f"--result {path}")]
    mine = _stored_scheme(table, named.rank, path)
    first = mine is table.recommended or mine.rank == 1
    other = next(iter(table.alternatives), None) if first else table.recommended
    about_this = table.flip is not None and (mine.rank == table.flip.rank or (mine.rank, table.flip.rank) == (1, 2))
    together, says = _together(document, table), table.ranking_says or table.verdict
    explained = _document(table.table, table.kind, says, mine, other, _label(mine), together)
    return replace(explained, flip=table.flip) if about_this else explained


def _together(document: AnalysisDocument, table: AnalysisTable) -> ExplanationTogether | None:
    """The kinds that a table's were chosen with, and what they keep; None where they were judged alone."""
    for each in document.arrangements:
        kinds = [scheme.kind or "" for scheme in each.chosen.schemes]
        if each.table == table.table and table.kind in kinds:
            return ExplanationTogether(kinds=kinds, kept=each.chosen.kept)
    return None


def _stored_scheme(table: AnalysisTable, rank: int | None, path: str) -> AnalysisScheme:
    if rank is None:
        if table.current is None:
            raise UsageError("this result has no current keys", where="scheme", fix="scheme:1 is the recommended one")
        return table.current
    every = [s for s in (table.recommended, *table.alternatives) if s is not None]
    scheme = next((s for s in every if s.rank == rank), None)
    if scheme is None:
        held = ", ".join(str(s.rank) for s in every if s.rank is not None)
        fix = f"it holds {held}; advisor analyze … --top {rank} keeps more"
        raise UsageError(f"the result holds no scheme {rank}", where=f"--result {path}", fix=fix)
    return scheme


def _label(scheme: AnalysisScheme) -> str:
    return "the current keys" if scheme.rank is None else f"scheme {scheme.rank}"


# -- from data --------------------------------------------------------------------------------------------------------


def explain_scheme(
    request: AnalyzeRequest, which: str | None, text: str | None, progress: Progress
) -> ExplanationScheme:
    """A scheme by its number in the ranking (``which``), or as written (``text``), priced now.

    Raises UsageError where there is no workload to price keys with, or no such scheme.
    """
    wanted = scheme_named(which) if which is not None else None
    sections = read_sections(request, progress)
    named = named_schemes(request, [section for section, _ in sections])
    section, more = _pick(sections, named, wanted, text)
    progress.phase("search")
    schemes = (*more, *((_written(section, text),) if text is not None else ()))
    budgets = parse_budgets(request.budgets)
    given = [schemes if each is section else more for (each, _), more in zip(sections, named, strict=True)]
    judged, arranged = judged_among(section, sections, given, load_limits(*request.limits), budgets)
    if judged.advice is None or judged.bench is None:
        raise UsageError(f"there is no workload to price keys with: {judged.why_not}", where="scheme")
    ranking, advice = judged.ranking(), judged.advice
    if text is not None:
        mine = next(c for c in advice.ranking if c.scheme.text == schemes[-1].text)
        label = "as given"
    elif wanted is None or wanted.rank is None:
        if advice.current is None:
            raise UsageError("there are no current keys: the design names none", where="scheme", fix="scheme:1")
        mine, label = advice.current, "the current keys"
    else:
        rank = wanted.rank
        if rank > len(ranking):
            raise UsageError(f"there is no scheme {rank}", where="scheme", fix=f"the ranking has {len(ranking)}")
        mine, label = ranking[rank - 1], f"scheme {rank}"
    progress.phase("vary what is assumed")
    return _priced(judged, arranged, mine, label, redact=request.redact)


def _pick(
    sections: Sequence[tuple[Section, Dataset | None]],
    named: Sequence[tuple[KeyScheme, ...]],
    wanted: SchemeName | None,
    text: str | None,
) -> tuple[Section, tuple[KeyScheme, ...]]:
    """The section that a scheme belongs to: the one that it names or the only one; for a text the first whose
    properties it names."""
    able = [(s, n) for (s, _), n in zip(sections, named, strict=True) if s.data is not None]
    if not able:
        raise UsageError(
            "without data no scheme can be priced", where="scheme", fix="give data files, or --result FILE"
        )
    if text is None:
        assert wanted is not None
        return able[_only(wanted, [(section.table, section.kind) for section, _ in able], "scheme")]
    refused: list[UsageError] = []
    for each in able:
        try:
            _written(each[0], text)
        except UsageError as error:
            refused.append(error)
        else:
            return each
    raise refused[0]


def _written(section: Section, text: str | None) -> KeyScheme:
    assert section.data is not None and text is not None
    return parse_candidate(text).scheme(section.data.types)


def _priced(
    judged: Judged, arranged: Arranged | None, mine: CostEstimate, label: str, *, redact: bool
) -> ExplanationScheme:
    from pkadvisor.design.choice.certainty.flips import sensitivity

    advice, bench = judged.advice, judged.bench
    assert advice is not None and bench is not None
    best, ranking, shown = advice.recommended, judged.ranking(), Shown(redact)
    ranks = {id(c): rank for rank, c in enumerate(ranking, 1)}

    def priced(estimate: CostEstimate) -> AnalysisFullScheme:
        lost = None if estimate is best or better(estimate, best) else loss(estimate, best)
        if estimate is advice.current and advice.keep:
            lost = None
        return full_scheme(estimate, bench.population, shown, lost, rank=ranks.get(id(estimate)))

    first = mine is best
    other = (ranking[1] if len(ranking) > 1 else None) if first else best
    section = judged.section
    together = None
    if arranged is not None:
        chosen = arranged.chosen
        together = ExplanationTogether(kinds=[kind for kind, _ in chosen.schemes], kept=list(chosen.kept))
    verdict, theirs = ranking_says(judged) or "", priced(other) if other else None
    document = _document(section.table, section.kind, verdict, priced(mine), theirs, label, together)
    pool = tuple({c.scheme.text: c for c in (best, *ranking[:RETRIED], mine)}.values())
    varied = sensitivity(pool, bench, tuple({c.scheme.text: c for c in (best, mine)}.values()), advice.in_place)
    flip = None
    if other is not None and (together is None or document.decided_by is not None):
        winner, loser = (mine, other) if first else (best, mine)
        flip = turning_words(turning(winner, loser, bench, kept=advice.in_place), ranks.get(id(loser)), loser.scheme)
    return replace(document, flip=flip, from_="data", sensitivity=_varied(varied, shown_as(judged, mine)))


def shown_as(judged: Judged, mine: CostEstimate) -> dict[str, str]:
    """What to call schemes in sentences, by their texts."""
    labels = {c.scheme.text: f"scheme {rank}" for rank, c in enumerate(judged.ranking(), 1)}
    if judged.advice is not None and judged.advice.current is not None:
        labels.setdefault(judged.advice.current.scheme.text, "the current keys")
    labels.setdefault(mine.scheme.text, "this scheme")
    return labels


def _varied(sensitivity: Sensitivity, names: dict[str, str]) -> ExplanationSensitivity:
    return ExplanationSensitivity(
        schemes_priced=sensitivity.schemes,
        unchanged=sensitivity.unchanged,
        shifts=[
            ExplanationShift(
                name=s.name,
                basis=word(s.basis),
                unit=s.unit,
                value=s.value,
                tried=s.tried,
                winner=None if s.winner is None else names.get(s.winner, s.winner),
                constraints=[
                    ExplanationConstraint(scheme=names.get(text, text), holds=holds) for text, holds in s.constraints
                ],
            )
            for s in sensitivity.shifts
        ],
    )


# -- the document -----------------------------------------------------------------------------------------------------


def _document(
    table: str,
    kind: str | None,
    verdict: str,
    mine: AnalysisScheme,
    other: AnalysisScheme | None,
    label: str,
    together: ExplanationTogether | None,
) -> ExplanationScheme:
    """What is told of a scheme beside another: the winner, or for the winner itself the next best.

    ``together``: the kinds that it was chosen with and the transactions that they keep, where its table has several.
    """
    theirs = None if other is None else other.loses
    first = other is None or mine.rank == 1 or (mine.loses is None and theirs is not None)
    loses = theirs if first else mine.loses
    values = {goal.goal: goal.value for goal in other.goals} if other else {}
    terms = {term.name: term.value for term in other.terms} if other else {}
    return part_of(
        ExplanationScheme,
        mine,
        document=DOCUMENT,
        schema_version=SCHEMA_VERSION,
        table=table,
        kind=kind,
        verdict=verdict,
        label=label,
        scheme=_keys(mine),
        other=None if other is None else _keys(other),
        wins=first,
        together=together,
        decided_by=loses or None,
        goals=[
            ExplanationGoal(goal=goal.goal, unit=goal.unit, value=goal.value, other=values.get(goal.goal))
            for goal in mine.goals
        ],
        classes=_classes(mine, other, loses.goal if loses else ""),
        terms=[ExplanationTerm(**asdict(term), other=terms.get(term.name)) for term in mine.terms],
        flip=None,
        from_="result",
        sensitivity=None,
    )


def _keys(scheme: AnalysisScheme) -> ExplanationSchemeKeys:
    return part_of(ExplanationSchemeKeys, scheme, text=scheme_text(scheme), examples=(scheme.examples or [])[:1])


MEASURES = {
    "constraints": "entities_per_s",
    "break factor": "entities_per_s",
    "entities": "entities_per_s",
    "latency": "latency_ms_p99",
}
"""What the queries are ordered by, for the goal that decides; requests per second otherwise."""


def _classes(mine: AnalysisScheme, other: AnalysisScheme | None, goal: str) -> list[ExplanationClass]:
    """Each class under both schemes, those that differ most in what decides first."""
    theirs = {cost.name: _figures(cost) for cost in other.classes} if other else {}
    out = []
    for cost in mine.classes:
        here, there = _figures(cost), theirs.get(cost.name)
        more = ExplanationDifference(requests_per_s=None, entities_per_s=None)
        if there is not None:
            more = ExplanationDifference(
                requests_per_s=float(f"{here.requests_per_s - there.requests_per_s:.6g}"),
                entities_per_s=float(f"{here.entities_per_s - there.entities_per_s:.6g}"),
            )
        out.append(
            ExplanationClass(
                name=cost.name, operation=cost.operation, rate_per_s=cost.rate_per_s, this=here, other=there, more=more
            )
        )
    measure = MEASURES.get(goal, "requests_per_s")

    def gap(entry: ExplanationClass) -> tuple[float, float, str]:
        if entry.other is None:
            return 0.0, 0.0, entry.name
        here, there = (getattr(figures, measure) or 0.0 for figures in (entry.this, entry.other))
        both = abs(entry.more.requests_per_s or 0) + abs(entry.more.entities_per_s or 0)
        return -abs(here - there), -both, entry.name

    return sorted(out, key=gap)


def _figures(cost: AnalysisClassCost) -> ExplanationClassFigures:
    counted = cost.entities_read + cost.entities_written
    return part_of(
        ExplanationClassFigures,
        cost,
        entities=float(f"{counted:.6g}"),
        returned=cost.entities_returned,
        requests_per_s=float(f"{cost.rate_per_s * cost.requests:.6g}"),
        entities_per_s=float(f"{cost.rate_per_s * counted:.6g}"),
    )

"""``advisor score``: what given keys are worth, without a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pkadvisor import __version__
from pkadvisor.design.choice.judge import keys_as_given
from pkadvisor.design.choice.prepared import prepared, with_shared_keys
from pkadvisor.design.choice.sections import Section, keys_in_use
from pkadvisor.design.choice.several_kinds.given_keys import GivenKeys, Told, price, together
from pkadvisor.design.cost.budgets import parse_budgets
from pkadvisor.design.cost.cost import score_parts
from pkadvisor.design.evidence.grounds import grounds_under
from pkadvisor.design.keys.candidate_file import fitting, load_candidates, parse_candidate
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.load.estimates import Bench, Budget, CostEstimate
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.part import Tool, number
from pkadvisor.documents.score import ScoreClass, ScoreDocument, ScoreParts, ScoreScheme, ScoreTable
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import Limits, load_limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.progress import Progress
from pkadvisor.report.documents.arrangements import account_json
from pkadvisor.report.documents.scheme_document import full_scheme
from pkadvisor.report.documents.values import Shown, grounds_json
from pkadvisor.values import dataclass

SCHEMA_VERSION: Final = "1.0"


def score(request: AnalyzeRequest, schemes: Sequence[str], progress: Progress) -> ScoreDocument:
    """The score card of the keys in a design, or of those given as ``PARTITIONKEY | ROWKEY``.

    Raises UsageError where no keys are named, or where there is no data or workload to price them on. Broken
    constraints are in the document.
    """
    limits, budgets = load_limits(*request.limits), parse_budgets(request.budgets)
    every = read_sections(request, progress)
    able = [(section, dataset) for section, dataset in every if section.data is not None]
    written = [parse_candidate(text) for text in schemes]
    if request.candidates is not None:
        written += load_candidates(request.candidates)
    if not able:
        fitting(written, [{} for _ in every])  # what is wrong with a template is told before data is asked for
        for section, _ in every:
            keys_in_use(section)
        raise UsageError("without data no key can be priced", where="DATA", fix="give data files, or a --profile")
    named = fitting(written, [s.data.types if s.data is not None else None for s, _ in able])
    priced = []
    for (section, dataset), given in zip(able, named, strict=True):
        progress.phase(f"price {section.table}")
        priced.append(_price(section, dataset, given, limits, budgets))
    priced = [each for each in priced if each.labels]
    together_with, account = together([p.given for p in priced], [s for s, _ in every if s.data is None], limits)
    tables = [_card(each, beside_others, request) for each, beside_others in zip(priced, together_with, strict=True)]
    if not tables:
        fix = "name partition_key and row_key in the design, or give --scheme 'PARTITIONKEY | ROWKEY'"
        raise UsageError("the design names no keys to score", where="DESIGN", fix=fix)
    cards = [card for table in tables for card in table.schemes]
    broken = any(not v.assumed_growth for card in cards for v in card.scheme.violations)
    broken = broken or any(load.broken for load in account)
    return ScoreDocument(
        document="pkadvisor score",
        schema_version=SCHEMA_VERSION,
        tool=Tool(name="pkadvisor", version=__version__),
        outcome="constraint-unsatisfied" if broken else "done",
        redacted=request.redact,
        design=Path(request.design).name if request.design else None,
        tables=tables,
        account=account_json(account, Shown(request.redact)),
    )


@dataclass(frozen=True, slots=True)
class _Priced:
    """One table with its keys, each under a label."""

    given: GivenKeys
    labels: tuple[str, ...]


def _price(
    section: Section,
    dataset: Dataset | None,
    given: Sequence[KeyScheme],
    limits: Limits,
    budgets: tuple[Budget, ...],
) -> _Priced:
    """One table: its keys in use where none are given, each priced."""
    bench, current = prepared(section, limits, dataset)
    bench = with_shared_keys(replace(bench, budgets=budgets), section, given)
    current = current if current is not None else keys_as_given(section)
    schemes = [("as given", scheme) for scheme in given]
    if not schemes and current is not None:
        schemes = [("current", current)]
    estimates = price([scheme for _, scheme in schemes], bench, section, dataset)
    return _Priced(GivenKeys(section, bench, estimates), tuple(label for label, _ in schemes))


def _card(priced: _Priced, together_with: Told, request: AnalyzeRequest) -> ScoreTable:
    """One table, each scheme beside the first ones of the other tables."""
    section = priced.given.section
    return ScoreTable(
        table=section.table,
        kind=section.kind,
        grounds=grounds_of_figures(priced.given.schemes[0], together_with.schemes[0][1], section, request),
        schemes=[
            scored(label, estimate, bench, request)
            for label, (estimate, bench) in zip(priced.labels, together_with.schemes, strict=True)
        ],
    )


def grounds_of_figures(
    estimate: CostEstimate, bench: Bench, section: Section, request: AnalyzeRequest
) -> list[AnalysisGround]:
    """What the figures of a scheme rest on."""
    return grounds_json(grounds_under(estimate, bench, section), Shown(request.redact))


def scored(label: str, estimate: CostEstimate, bench: Bench, request: AnalyzeRequest) -> ScoreScheme:
    """The card of one priced scheme: its figures, and what its score is made of."""
    reach = min(1.0, estimate.break_factor / estimate.horizon_factor)
    return ScoreScheme(
        label=label,
        scheme=full_scheme(estimate, bench.population, Shown(request.redact), None),
        score_parts=ScoreParts(
            useful=number(sum(p.weight * p.useful for p in score_parts(estimate.classes))),
            reach=number(reach),
            classes=[
                ScoreClass(name=p.name, weight=number(p.weight), useful=number(p.useful))
                for p in score_parts(estimate.classes)
            ],
        ),
    )

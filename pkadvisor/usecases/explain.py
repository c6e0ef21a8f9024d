"""``advisor explain``: how a query is served, and what else explanations share.

Each returns a document; ``report/text/explanation.py`` writes it as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from msgspec.structs import replace as replace_members

from pkadvisor.design.choice.asked_texts import of_one_value, with_values_asked
from pkadvisor.design.choice.bench_of_section import bench_for
from pkadvisor.design.choice.checked_classes import check_classes
from pkadvisor.design.choice.judge import judge, keys_as_given
from pkadvisor.design.choice.prepared import with_shared_keys
from pkadvisor.design.choice.sections import Judged, Section, declared_types, observed, types_of
from pkadvisor.design.choice.several_kinds.judge_kinds import judge_kinds
from pkadvisor.design.choice.several_kinds.kinds import Arranged, bonds_of
from pkadvisor.design.cost.explain import Explained, explain
from pkadvisor.design.cost.key_findings import key_remarks
from pkadvisor.design.keys.candidate_file import parse_candidate
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.key_terms import KeysThemselves, shown_filter
from pkadvisor.design.keys.scheme import KeyScheme, multi_valued
from pkadvisor.design.load.estimates import Bench, Budget, Remark, Violation
from pkadvisor.documents.explanation import (
    ExplanationAsked,
    ExplanationKeyPart,
    ExplanationOtherRow,
    ExplanationQuery,
    ExplanationUnder,
)
from pkadvisor.documents.part import part_of, word
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import Limits, load_limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.workload import QueryClass, Workload
from pkadvisor.progress import Progress
from pkadvisor.table.edm import KEYS
from pkadvisor.table.odata import format_filter

DOCUMENT: Final = "pkadvisor explanation"
SCHEMA_VERSION: Final = 1
CURRENT, RECOMMENDED = "current", "recommended"


def explain_query(request: AnalyzeRequest, name: str, which: str | None, progress: Progress) -> ExplanationQuery:
    """One query class under one scheme: ``which`` is current, recommended, a rank, or ``PartitionKey | RowKey``.

    Raises UsageError for a name or a scheme that does not exist.
    """
    sections = read_sections(request, progress)
    section, dataset, workload, current, query = _section_of(sections, name)
    if section.data is not None:
        check_classes(workload, section)
    limits = load_limits(*request.limits)
    bench = None
    if section.data is not None:
        several = not section.siblings
        workload = of_one_value(workload, current) if several else workload
        bench, _ = bench_for(section, workload, limits, dataset)
        bench = with_values_asked(bench) if several else bench
    label, scheme = _scheme(section, sections, current, which, request, progress)
    types = dict(bench.population.types) if bench is not None else declared_types(section)
    demand = next((d for d in bench.demands if d.query.name == query.name), None) if bench is not None else None
    wanted = (demand.of_values or demand).conditions if demand is not None else conditions(query.filter)
    multi = {**wanted.multi, **(multi_valued(current) if current is not None else {})}
    wanted = replace(wanted, multi=multi)
    if demand is not None and demand.of_values is None:
        demand = replace(demand, conditions=wanted)
    known = bench.population if bench is not None else KeysThemselves()
    explanation = explain(query, wanted, scheme, types, known, bench, demand)
    if request.redact:
        explanation = replace(explanation, examples=(), examples_total=0)
    basis = None
    if explanation.counts is not None and bench is not None and demand is not None:
        rows, total = bench.population.rows, bench.population.total
        stops = query.top is not None and explanation.chosen is not None and bool(explanation.chosen.unserved)
        word = "estimated" if stops or demand.notes else "counted"
        basis = f"{word} over {rows:,} entities" + ("" if rows == total else f", scaled to {total:,}")
    why_not = "not known: there is no data to count"
    if bench is not None and explanation.counts is None:
        why_not = f"not counted: an entity has several values of {', '.join(multi or multi_valued(scheme))}"
    return replace_members(
        _query_document(explanation, label, section),
        basis=basis,
        why_not_counted=why_not if explanation.counts is None else None,
        notes=list(demand.notes) if demand is not None else [],
        warnings=[] if bench is None else _warnings(section, scheme, bench, redact=request.redact),
    )


def _warnings(section: Section, scheme: KeyScheme, bench: Bench, *, redact: bool) -> list[str]:
    """What is wrong with the keys themselves: rows that share one, lengths, widths, separators."""
    from pkadvisor.design.cost.cost import estimate

    bench = with_shared_keys(bench, section, (scheme,))
    broken = [v for v in estimate(scheme, bench).violations if v.code in ("not-unique", "key-too-long")]
    warnings: list[Violation | Remark] = [*broken, *key_remarks(scheme, bench)]
    return [f.hidden if redact and f.hidden else f.message for f in warnings]


def _section_of(
    sections: Sequence[tuple[Section, Dataset | None]], name: str
) -> tuple[Section, Dataset | None, Workload, KeyScheme | None, QueryClass]:
    """The section whose workload has a class of that name, or the only class that the name begins or is a word of."""
    known: list[tuple[Section, Dataset | None, Workload, KeyScheme | None, QueryClass]] = []
    wanted = name.lower()
    for section, dataset in sections:
        workload, current, _ = observed(section)
        known += [(section, dataset, workload, current, c) for c in workload.classes]
    names = [c.name for *_, c in known]
    exact = [one for one in known if one[-1].name.lower() == wanted]
    words = [(one, one[-1].name.lower()) for one in known]
    meant = [one for one, text in words if text.startswith(wanted) or wanted in re.split(r"[^\w.]+", text)]
    if exact or len(meant) == 1:
        return (exact or meant)[0]
    if meant:
        fix = f"there are {', '.join(repr(one[-1].name) for one in meant[:12])}"
        raise UsageError(f"'{name}' may be one of {len(meant)} queries and writes", where="query", fix=fix)
    fix = f"there are {', '.join(map(repr, names[:12]))}" if names else "declare queries, or give a --log"
    raise UsageError(f"there is no query or write '{name}'", where="query", fix=did_you_mean(name, names) or fix)


def _scheme(
    section: Section,
    sections: Sequence[tuple[Section, Dataset | None]],
    current: KeyScheme | None,
    which: str | None,
    request: AnalyzeRequest,
    progress: Progress,
) -> tuple[str, KeyScheme]:
    """(what to call it, the scheme) that a query is explained under."""
    if which is not None and "|" in which:
        types = types_of(section)
        return "as given", parse_candidate(which).scheme(types)
    if current is None and section.data is not None:
        current = keys_as_given(section)
    if which in (None, CURRENT) and current is not None:
        return "the current keys", current
    if which == CURRENT:
        raise UsageError(
            "there are no current keys: the design names none", where="--scheme", fix="--scheme recommended"
        )
    if section.data is None:
        fix = "name keys in the design, or give --scheme 'PARTITIONKEY | ROWKEY'"
        raise UsageError("without data no scheme can be recommended", where="--scheme", fix=fix)
    rank = 1 if which in (None, RECOMMENDED) else _rank(str(which))
    progress.phase("search")
    limits = load_limits(*request.limits)
    ranking = judged_among(section, sections, [()] * len(sections), limits, detailed=False)[0].ranking()
    if not ranking:
        raise UsageError("there is no workload to price keys with", where="--scheme", fix="declare queries with rates")
    if rank > len(ranking):
        raise UsageError(f"there is no scheme {rank}", where="--scheme", fix=f"the ranking has {len(ranking)}")
    estimate = ranking[rank - 1]
    return ("the recommended keys" if rank == 1 else f"scheme {rank} of the ranking"), estimate.scheme


def judged_among(
    section: Section,
    sections: Sequence[tuple[Section, Dataset | None]],
    named: Sequence[tuple[KeyScheme, ...]],
    limits: Limits,
    budgets: tuple[Budget, ...] = (),
    *,
    detailed: bool = True,
) -> tuple[Judged, Arranged | None]:
    """(a section as an analysis judges it, the arrangement of its table's kinds if there is one).

    The other kinds of its table are judged too where a transaction crosses them: together they may get other keys.
    ``named`` are the schemes given for each of ``sections``; ``detailed`` as ``judge`` has it.
    """
    known = {s.kind: s.data.types for s, _ in sections if s.table == section.table and s.kind and s.data is not None}
    bonds = bonds_of(section.declared.workload, known) if section.declared is not None and section.kind else ()
    joined = any(set(bond.kinds) <= known.keys() for bond in bonds)
    judged = [
        judge(each, limits, dataset, named=schemes, budgets=budgets, detailed=detailed)
        for (each, dataset), schemes in zip(sections, named, strict=True)
        if each is section or (joined and each.table == section.table and each.kind in known)
    ]
    judged, arranged = judge_kinds(judged, limits)
    own = next(j for j in judged if j.section is section)
    return own, next((a for a in arranged if section.kind in dict(a.chosen.schemes)), None)


def _rank(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:6]) <= 9999:
        fix = "current, recommended, a rank such as 2, or '{a} | {pad(b,5)}'"
        raise UsageError(f"'{text}' names no scheme", where="--scheme", fix=fix)
    return int(text)


def _query_document(explanation: Explained, label: str, section: Section) -> ExplanationQuery:
    query, plan, scheme = explanation.query, explanation.chosen, explanation.scheme
    key = list(scheme.each_key())[plan.via][0] if plan is not None else scheme.main
    return ExplanationQuery(
        document=DOCUMENT,
        schema_version=SCHEMA_VERSION,
        table=section.table,
        kind=section.kind,
        query=part_of(
            ExplanationAsked,
            query,
            filter=shown_filter(format_filter(query.filter)) if query.filter is not None else None,
            order_by=[o.property + (" desc" if o.descending else "") for o in query.order_by],
            rate_per_s=query.rate.mean_per_s,
        ),
        scheme=ExplanationUnder(
            which=label,
            main=str(scheme.main),
            index_rows=[f"{row.key} ({row.copy})" for row in scheme.index_rows],
        ),
        access=word(plan.access) if plan is not None else None,
        via=None if plan is None else "the main key" if plan.via == 0 else f"index row {plan.via}",
        via_key=str(key),
        fan_out=None if plan is None else plan.buckets,
        filters=list(plan.filters) if plan is not None else [],
        top=plan.top if plan is not None else None,
        counts=explanation.counts,
        parts=[
            ExplanationKeyPart(key=name, part=s.part, state=s.state, words=s.words)
            for name, stories in zip(KEYS, (explanation.partition, explanation.row), strict=True)
            for s in stories
        ],
        client_work=list(explanation.client),
        why_no_better=list(explanation.why),
        other_rows=[ExplanationOtherRow(row=row, would=what) for row, what in explanation.others],
        examples=list(explanation.examples),
        examples_total=explanation.examples_total,
        basis=None,
        why_not_counted=None,
        notes=[],
        warnings=[],
    )

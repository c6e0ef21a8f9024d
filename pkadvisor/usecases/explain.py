"""``advisor explain``: how a query is served, and what else explanations share.

Each returns a document; ``report/text/explanation.py`` writes it as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from msgspec.structs import asdict
from msgspec.structs import replace as replace_members

from pkadvisor.design.choice.asked_texts import of_one_value, with_values_asked
from pkadvisor.design.choice.bench_of_section import bench_for, check_classes
from pkadvisor.design.choice.judge import judge, keys_as_given
from pkadvisor.design.choice.prepared import with_shared_keys
from pkadvisor.design.choice.sections import Judged, Section, declared_types, inferred, observed, types_of
from pkadvisor.design.choice.several_kinds.judge_kinds import judge_kinds
from pkadvisor.design.choice.several_kinds.kinds import Arranged, bonds_of
from pkadvisor.design.cost.explain import Explained, explain
from pkadvisor.design.cost.key_findings import key_remarks
from pkadvisor.design.keys.candidate_file import parse_candidate
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.infer.cut import key_text
from pkadvisor.design.keys.infer.proof import read_part
from pkadvisor.design.keys.infer.shapes import GUID_TEXT, classify
from pkadvisor.design.keys.key_terms import KeysThemselves, shown_filter
from pkadvisor.design.keys.keyreader import reads
from pkadvisor.design.keys.scheme import KeyScheme, multi_valued
from pkadvisor.design.keys.template import decoder, separators
from pkadvisor.design.keys.transforms import MISSING, Context, Literal, Part
from pkadvisor.design.load.estimates import Bench, Budget, Remark, Violation
from pkadvisor.design.load.keyfacts import forbidden_in
from pkadvisor.documents.explanation import (
    ExplanationAsked,
    ExplanationFit,
    ExplanationKey,
    ExplanationKeyPart,
    ExplanationKeys,
    ExplanationKeysKind,
    ExplanationOtherRow,
    ExplanationPiece,
    ExplanationQuery,
    ExplanationShape,
    ExplanationUnder,
)
from pkadvisor.documents.part import part_of, word
from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import Limits, load_limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.workload import QueryClass, Workload
from pkadvisor.progress import Progress
from pkadvisor.table.edm import KEYS, EdmType, format_ticks, utf16_key
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


# -- ``advisor explain``: what a key is made of, and the templates that the keys of the data look like.


def explain_key(request: AnalyzeRequest, value: str, progress: Progress) -> ExplanationKey:
    """One PartitionKey or RowKey taken apart: through the design's templates, else through its shape."""
    fits: list[ExplanationFit] = []
    tried: list[str] = []
    section: Section | None = None
    for section, types, scheme in _schemes(request, progress):
        for place, parts in _places(scheme):
            if not parts:
                continue
            taken = take_apart(parts, value, types)
            tried.append(f"{place}: {''.join(map(str, parts))}")
            if taken is None:
                continue
            fit = ExplanationFit(table=section.table, kinds=[], place=place, **asdict(taken))
            same = next((other for other in fits if replace_members(other, kinds=[]) == fit), None)  # of another kind
            if same is None:
                fits.append(same := fit)
            if section.kind is not None:
                same.kinds.append(section.kind)
    fits = [fit for fit in fits if fit.exact] or fits
    shape = None if fits or tried else _shape(value)
    return ExplanationKey(
        document=DOCUMENT,
        schema_version=SCHEMA_VERSION,
        table=section.table if section and fits else None,
        kind=section.kind if section and fits else None,
        value=value,
        utf16_units=len(utf16_key(value)) // 2,
        forbidden=forbidden_in(value),
        fits=fits,
        tried=list(dict.fromkeys(tried)),
        shape=shape,
    )


def _schemes(request: AnalyzeRequest, progress: Progress) -> list[tuple[Section, Mapping[str, EdmType], KeyScheme]]:
    """The schemes of a design, or those that the keys in the data look like."""
    if not (request.design or request.data or request.profiles or request.logs):
        return []
    out: list[tuple[Section, Mapping[str, EdmType], KeyScheme]] = []
    for section, _ in read_sections(request, progress, draft=False):
        _, current, _ = observed(section)
        types = types_of(section)
        if current is not None:
            out.append((section, types, current))
        elif section.data is not None and set(KEYS) <= set(section.data.types):
            out += [(section, dict(k.types), KeyScheme(k.key)) for k in inferred(section).kinds if k.explained]
    return out


def _places(scheme: KeyScheme) -> list[tuple[str, tuple[Part, ...]]]:
    out = []
    for number, (key, _) in enumerate(scheme.each_key()):
        row = "" if number == 0 else f" of index row {number}"
        out += [(f"PartitionKey{row}", key.partition), (f"RowKey{row}", key.row)]
    return list(dict.fromkeys(out))


def take_apart(parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]) -> ExplanationShape | None:
    """The pieces of a key and what they mean; None where the text does not fit the template.

    ``exact`` says whether the template writes this very text for these values.
    """
    known = {**_needed(parts), **types}
    context = Context(known, separators(parts))
    match = decoder(parts, context).fullmatch(text) if reads(parts, text) else None
    if match is None:
        return None
    pieces: list[ExplanationPiece] = []
    exact, index = True, 0
    for part in parts:
        if part.constant is not None:
            pieces.append(ExplanationPiece(part=str(part), text=part.constant, value=None, words="fixed text"))
            continue
        piece = match.group(f"g{index}")
        index += 1
        value, words, same = _meaning(part, piece, context)
        exact = exact and same
        pieces.append(ExplanationPiece(part=str(part), text=piece, value=value, words=words))
    return ExplanationShape(template="".join(map(str, parts)), pieces=pieces, exact=exact)


def _needed(parts: tuple[Part, ...]) -> dict[str, EdmType]:
    """The type that a part needs of a property of which nothing is known."""
    return {part.properties[0]: part.usual_type for part in parts if part.usual_type is not None}


def _meaning(part: Part, piece: str, context: Any) -> tuple[str | None, str, bool]:
    """(the value behind a piece, in words, whether the template would write the piece so)."""
    names = ", ".join(part.properties)
    hashing = part.hashing
    if hashing is not None:
        known = hashing.buckets_total > 10_000 or piece in hashing.buckets()
        return None, f"one of {hashing.buckets_total:,} buckets of {names}; a hash cannot be undone", known
    if piece == MISSING:
        return None, f"{names} is missing", True
    try:
        value = read_part(part, piece, context.types)
    except (ValueError, OverflowError) as error:
        return None, str(error) or "cannot be read", not part.decodes and part.period is None
    timed = part.tells_time or context.edm(part.properties[0]) is EdmType.DATETIME
    shown = format_ticks(value, trim=True) if timed and isinstance(value, int) else str(value)
    again = part.encode({part.properties[0]: value}, context)
    words = f"the period of {names} that begins then" if part.period is not None else names
    return shown, words, again == piece


def _shape(value: str) -> ExplanationShape | None:
    """What a lone key looks like: its pieces between separators, each by its own shape. A guess, and called one."""
    whole = classify([value]).certain or re.fullmatch(GUID_TEXT, value)
    pieces, between = ((value,), ()) if whole else key_text(value).masked
    parts: list[Part] = []
    types: dict[str, EdmType] = {}
    for number, piece in enumerate(pieces):
        if number:
            parts.append(Literal(between[number - 1]))
        if piece:
            shape = classify([piece])
            name = f"p{len(types) + 1}"
            types[name] = shape.edm
            parts.append(shape.part(name))
    return take_apart(tuple(parts), value, types)


def _template(parts: tuple[Part, ...], *, redact: bool) -> str:
    """A template; its letters and digits outside braces are values of the data where these are to be hidden."""
    hidden = [redact and p.constant is not None and any(c.isalnum() for c in p.constant) for p in parts]
    return "".join("[text]" if hide else str(p) for p, hide in zip(parts, hidden, strict=True))


def explain_keys(request: AnalyzeRequest, progress: Progress) -> ExplanationKeys:
    """The templates that the keys in the data look like, with the share of rows that each explains."""
    for section, _ in read_sections(request, progress, draft=False):
        if section.data is None or not set(KEYS) <= set(section.data.types):
            continue
        inference = inferred(section)
        return ExplanationKeys(
            document=DOCUMENT,
            schema_version=SCHEMA_VERSION,
            table=section.table,
            kind=section.kind,
            rows=inference.rows,
            explained=inference.explained,
            complete=section.data.complete,
            kinds=[
                ExplanationKeysKind(
                    label=f"kind {number}" if request.redact else kind.label,
                    partition_key=_template(kind.key.partition, redact=request.redact),
                    row_key=_template(kind.key.row, redact=request.redact),
                    types={n: str(t) for n, t in dict(kind.types).items()},
                    rows=kind.rows,
                    explained=kind.explained,
                    example=None if request.redact else list(kind.example),
                    notes=[] if request.redact else list(kind.notes),
                )
                for number, kind in enumerate(inference.kinds, 1)
            ],
        )
    raise InputError("the data has no PartitionKey and RowKey", fix="give data that was exported from a table")

"""``advisor analyze``: data, logs and a design file become the canonical result."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath

from pkadvisor.design.choice.certainty.flips import nearest_turning
from pkadvisor.design.choice.sections import Judged, Section, sections_of
from pkadvisor.design.choice.several_kinds.judge_kinds import Judgement, judge_tables
from pkadvisor.design.cost.budgets import parse_budgets
from pkadvisor.design.evidence.grounds import with_guesses
from pkadvisor.documents.analysis import AnalysisDocument, AnalysisSetting
from pkadvisor.errors import InputError, UsageError
from pkadvisor.inputs import (
    AnalyzeRequest,
    GivenInputs,
    evidence_of,
    files_read,
    merged_documents,
    named_schemes,
    with_total,
)
from pkadvisor.limits import Limits, load_limits
from pkadvisor.observe.design_file.declaration import skeleton
from pkadvisor.observe.workload import Basis
from pkadvisor.progress import Progress
from pkadvisor.report.documents.result import build_result
from pkadvisor.toml_file import TomlFile
from pkadvisor.values import dataclass

_NO_WORKLOAD = "there is no workload: without queries and rates no key can be preferred"


@dataclass(frozen=True, slots=True)
class Analysis:
    """What was read, and the answer for all of its tables. It hides nothing; a document made of it may."""

    read: GivenInputs
    limits: Limits
    answer: Judgement


def analyze(request: AnalyzeRequest, progress: Progress) -> AnalysisDocument:
    """The canonical result. Raises UsageError (2) and InputError (3); an unsatisfiable constraint is in the result."""
    return result_of(judged(request, progress), request)


def judged(request: AnalyzeRequest, progress: Progress) -> Analysis:
    """The answer for all tables of the data, logs and design files of a request; errors as ``analyze`` has them."""
    limits = load_limits(*request.limits)
    if not (request.data or request.logs or request.design or request.profiles):
        raise UsageError("nothing to analyse", fix="give data files, --log FILE, --design FILE or --sample NAME")
    read = evidence_of(request, progress)
    profiles = [profile for profile, _ in read.data]
    merged = [("", merged_documents(read.documents))] if read.documents else []
    sections = with_total(sections_of(request.tables, read.declaration, profiles, read.traffic, merged), request)
    answer = judge_tables(
        [(s, next((source for profile, source in read.data if profile is s.data), None)) for s in sections],
        named_schemes(request, sections),
        limits,
        parse_budgets(request.budgets),
        progress,
        finished=lambda advice: with_turning(with_guesses(advice)),
        checked=lambda judged: _check_rates(judged, sections, read.draft),
    )
    return Analysis(read, limits, answer)


def result_of(analysis: Analysis, request: AnalyzeRequest) -> AnalysisDocument:
    """The document of an analysis, as ``redact`` and ``top`` of the request shape it."""
    return build_result(
        analysis.answer.judged,
        arranged=analysis.answer.arranged,
        account=analysis.answer.account,
        limits=analysis.limits,
        traffic=analysis.read.traffic,
        documents=analysis.read.documents,
        design=Path(request.design).name if request.design else None,
        redact=request.redact,
        top=request.top,
        files=files_read(request),
        settings=_settings(request),
    )


def _settings(request: AnalyzeRequest) -> AnalysisSetting:
    """What was asked for, as far as it differs from what is asked for anyway."""
    usual = AnalyzeRequest()
    limits = [str(limits) for limits in request.limits if not isinstance(limits, TomlFile)]
    named = () if request.sample else request.data
    words = ["advisor", "analyze", *sorted(_bare(text) for text in named)]
    for option, values in (
        ("--sample", [request.sample] if request.sample else []),
        ("--log", sorted(_bare(log) for log in request.logs) if not request.sample else []),
        ("--design", [_bare(request.design)] if request.design and not _of_sample(request) else []),
        ("--profile", sorted(_bare(profile) for profile in request.profiles)),
        ("--limits", [_bare(path) for path in limits]),
        ("--candidates", [_bare(request.candidates)] if request.candidates else []),
        ("--table", sorted(request.tables)),
        ("--budget", sorted(request.budgets)),
        ("--redact", ["keys"] if request.redact else []),
    ):
        for value in values:
            words += [option, value]
    for name in (
        "account",
        "since",
        "until",
        "sample_rows",
        "entities_total",
        "input_format",
        "log_fraction",
        "max_bad_lines",
        "top",
    ):
        given = getattr(request, name)
        if given not in (None, getattr(usual, name)):
            words += [f"--{name.replace('_', '-')}", f"{given:g}" if isinstance(given, float) else str(given)]
    words += ["--seed", str(request.seed)]
    return AnalysisSetting(command=shlex.join(words), seed=request.seed)


def with_turning(judged: Judged) -> Judged:
    """With what would put another scheme before the recommended one."""
    if judged.advice is None or judged.bench is None:
        return judged
    return replace(judged, turning=nearest_turning(judged.ranking(), judged.bench, kept=judged.advice.in_place))


def _check_rates(judged: Sequence[Judged], sections: Sequence[Section], draft: str) -> None:
    """Without any rate nothing can be weighed: exit 2 with a draft, or a skeleton, of what to declare."""
    classes = [c for j in judged for c in (*j.workload.classes, *j.workload.unpriced)]
    if any(c.rate.mean_per_s > 0 for c in classes):
        return
    section = next((s for s in sections if s.data is not None), None)
    if classes and all(c.rate.basis is Basis.UNKNOWN for c in classes):
        fix = "declare the rates of its queries in a design file (--design)"
        raise UsageError("the log has no times, so no rates are known", fix=fix)
    if section is None or section.data is None:
        raise InputError("there is nothing to analyse: no data, no log and no declared workload")
    if section.declared is not None and not draft:
        fix = "declare queries and writes with their rates in it (advisor manual workload), or give a --log"
        raise UsageError(_NO_WORKLOAD, where=section.design_path, fix=fix)
    columns = [(p.column.name, p.column.edm) for p in section.data.properties]
    raise UsageError(
        _NO_WORKLOAD,
        fix="fill in the skeleton below as design.yaml and give it with --design (or give a --log)",
        skeleton=draft or skeleton(columns, section.table),
    )


def _of_sample(request: AnalyzeRequest) -> bool:
    """Whether the design is that of the bundled sample."""
    folders = {Path(text.rpartition("=")[2]).parent for text in request.data}
    return request.sample is not None and Path(str(request.design)).parent in folders


def _bare(text: str) -> str:
    """A file as named on the command line (``kind=path``), without its folders."""
    kind, equals, path = text.rpartition("=")
    if "/" in kind or "\\" in kind:
        kind, equals, path = "", "", text
    return f"{kind}{equals}{PurePath(path.replace(chr(92), '/')).name or path}"

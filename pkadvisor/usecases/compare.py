"""``advisor compare``: two designs, or two documents, side by side, and what became worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec import UNSET

from pkadvisor import __version__
from pkadvisor.design.choice.asked_texts import without_list_rows
from pkadvisor.design.choice.prepared import prepared, with_shared_keys
from pkadvisor.design.choice.sections import Section, declared_keys
from pkadvisor.design.choice.several_kinds.given_keys import GivenKeys, price, together
from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.analysis_scheme import AnalysisClassCost, AnalysisFullScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.documents.comparison import (
    ComparisonBreakCause,
    ComparisonClass,
    ComparisonClassFigures,
    ComparisonDifference,
    ComparisonDocument,
    ComparisonFile,
    ComparisonGround,
    ComparisonMeasure,
    ComparisonTable,
    ComparisonViolation,
    ComparisonWorkload,
)
from pkadvisor.documents.part import Tool, number, part_of, word
from pkadvisor.documents.score import ScoreDocument
from pkadvisor.errors import InputError, UsageError, did_you_mean
from pkadvisor.files import ordinary
from pkadvisor.inputs import AnalyzeRequest, files_read, read_sections
from pkadvisor.limits import load_limits
from pkadvisor.numbers import percent
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.digests import FileDigest, digest_of
from pkadvisor.observe.design_file.declaration import Declaration
from pkadvisor.observe.design_file.read_declaration import load_declaration
from pkadvisor.progress import Progress
from pkadvisor.report.documents.scheme_document import full_scheme
from pkadvisor.report.documents.stored import load_stored, scheme_text
from pkadvisor.report.documents.values import Shown
from pkadvisor.report.summary.figures import first_break
from pkadvisor.usecases.score import grounds_of_figures
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared: a scheme of each table and kind, and what its figures rest on, as members of a
    result."""

    name: str
    schemes: dict[Any, AnalysisFullScheme]
    grounds: dict[Any, list[AnalysisGround]]


def is_stored(path: str) -> bool:
    """Whether a file is JSON rather than a design file: by its name, or its first character that is not blank."""
    if path.endswith((".yaml", ".yml")):
        return False  # a design may be written as JSON, which is YAML too
    try:
        with ordinary(path).open("rb") as stream:
            return stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    except OSError:
        return False


def compare_stored(old: str, new: str) -> ComparisonDocument:
    """Two results or score cards side by side: of a result what it recommends."""
    before, after = (_stored_side(load_stored(path, ""), path) for path in (old, new))
    return _comparison(before, after, files=_digests([("old", old), ("new", new)]))


def compare_designs(request: AnalyzeRequest, old: str, new: str, progress: Progress) -> ComparisonDocument:
    """The keys of two designs under the same data and the same workload: that of the log, else of the new design, else
    of the old one. Key parts are read off stored keys, which the old design writes: with them it comes first."""
    declared = {path: load_declaration(path) for path in (old, new)}
    stored = any(part for t in declared[old].tables for part in (t.key_parts, *(k.key_parts for k in t.kinds)))
    order = (old, new) if stored else (new, old)
    works = next((p for p in order if any(t.workload.classes for t in declared[p].tables)), order[0])
    sections = read_sections(replace(request, design=works), progress)
    logged = any(s.traffic is not None or s.workload is not None for s, _ in sections)
    before, after = (_priced_side(request, sections, declared[path], path) for path in (old, new))
    workload = ComparisonWorkload(
        of="log" if logged else "new" if works == new else "old", differs=_other_rates(declared[old], declared[new])
    )
    files = [*_digests([("old", old), ("new", new)]), *map(_digest, files_read(request))]
    return _comparison(before, after, workload, files=files)


def _digests(files: Sequence[tuple[str, str]]) -> list[ComparisonFile]:
    """What was compared, by its content."""
    return [_digest(digest_of(role, path)) for role, path in files]


def _digest(file: FileDigest) -> ComparisonFile:
    return ComparisonFile(role=word(file.role), name=file.name, bytes=file.bytes, xxh3=file.xxh3)


def _other_rates(old: Declaration, new: Declaration) -> list[ComparisonDifference]:
    """The queries and writes that two designs declare otherwise; nothing where one of them declares none."""
    sides = [{(t.name.lower(), c.name): c for t in d.tables for c in t.workload.classes} for d in (old, new)]
    before, after = sides
    if not before or not after:
        return []
    rates = [{key: c.rate.mean_per_s for key, c in side.items()} for side in sides]
    return [
        ComparisonDifference(name=key[1], old_per_s=rates[0].get(key), new_per_s=rates[1].get(key))
        for key in dict.fromkeys([*after, *before])
        if before.get(key) != after.get(key)
    ]


def _priced_side(
    request: AnalyzeRequest, sections: Sequence[tuple[Section, Dataset | None]], declaration: Declaration, path: str
) -> Side:
    """The priced keys of one design, by table and kind, on the data and workload of the sections."""
    limits = load_limits(*request.limits)
    side = Side(Path(path).name, {}, {})
    without, given = list[str](), list[GivenKeys]()
    tables = {t.name.lower(): t for t in declaration.tables}
    for section, dataset in sections:
        table = tables.get(section.table.lower()) or (declaration.tables[0] if len(tables) == 1 else None)
        if table is None or section.data is None:
            continue
        scheme = declared_keys(table.of_kind(section.kind), section.data.types, path, kind=section.kind)
        if scheme is None:
            without.append(section.table if section.kind is None else f"kind {section.kind} of {section.table}")
            continue
        scheme = without_list_rows(scheme, values=not section.siblings)
        kinds = tuple(replace(s, declared=table.of_kind(s.kind), design_path=path) for s in section.siblings)
        bench, _ = prepared(replace(section, siblings=kinds), limits, dataset)
        bench = with_shared_keys(replace(bench, shared=()), replace(section, siblings=kinds), (scheme,))
        given.append(GivenKeys(section, bench, price([scheme], bench, section, dataset)))
    together_with, _ = together(given, [s for s, _ in sections if s.data is None], limits)
    for each, beside_others in zip(given, together_with, strict=True):
        place, ((estimate, bench),) = (each.section.table, each.section.kind), beside_others.schemes
        side.schemes[place] = full_scheme(estimate, bench.population, Shown(request.redact), None)
        side.grounds[place] = grounds_of_figures(estimate, bench, each.section, request)
    if without and (not side.schemes or any(s.kind is None for s, _ in sections)):
        what = f"names no keys to compare for {without[0]}"
        raise UsageError(what, where=path, fix="add partition_key and row_key")
    if not side.schemes:
        raise UsageError("nothing of the data belongs to a table of this design", where=path, fix="give its data files")
    return side


def _stored_side(document: AnalysisDocument | ScoreDocument, path: str) -> Side:
    side = Side(Path(path).name, {}, {})
    for table in document.tables:
        first = table.recommended if isinstance(table, AnalysisTable) else next((c.scheme for c in table.schemes), None)
        if first is not None:
            side.schemes[table.table, table.kind] = first
            side.grounds[table.table, table.kind] = table.grounds
    if not side.schemes:
        raise InputError("holds no scheme to compare", where=path, fix="analyse with data and a workload")
    return side


def _comparison(
    old: Side,
    new: Side,
    workload: ComparisonWorkload | None = None,
    *,
    files: list[ComparisonFile],
) -> ComparisonDocument:
    tables = []
    for key in dict.fromkeys([*old.schemes, *new.schemes]):
        mine, theirs = old.schemes.get(key), new.schemes.get(key)
        tables.append(
            ComparisonTable(
                table=key[0],
                kind=key[1],
                old=None if mine is None else scheme_text(mine),
                new=None if theirs is None else scheme_text(theirs),
                grounds=ComparisonGround(old=old.grounds.get(key, []), new=new.grounds.get(key, [])),
                measures=_measures(mine, theirs),
                first_break_cause=ComparisonBreakCause(old=_cause(mine), new=_cause(theirs)),
                classes=_class_changes(mine, theirs),
                violations=ComparisonViolation(gone=_only(mine, theirs), added=_only(theirs, mine)),
            )
        )
    same = all(
        t.old == t.new
        and not (t.classes or t.violations.gone or t.violations.added)
        and all(m.old == m.new for m in t.measures)
        for t in tables
    )
    return ComparisonDocument(
        document="pkadvisor comparison",
        schema_version="1.0",
        tool=Tool(name="pkadvisor", version=__version__),
        old=old.name,
        new=new.name,
        files=files,
        workload=workload,
        same=same,
        tables=tables,
    )


def _cause(scheme: AnalysisFullScheme | None) -> str | None:
    """The limit that keys reach first, whatever grows."""
    first = None if scheme is None else first_break(scheme)
    return None if first is None else first.cause


def _only(mine: AnalysisFullScheme | None, theirs: AnalysisFullScheme | None) -> list[str]:
    """What one side breaks and the other does not."""
    there, here = ([entry.message for entry in side.violations] if side else [] for side in (theirs, mine))
    return [message for message in here if message not in there]


MORE_IS_BETTER = (
    "score",
    "break factor",
    "smallest break factor",
    "partitions",
    "horizon",
    "rate that the skew allows",
)
"""Measures that are worse when they fall, or that are no cost: all others are worse when they rise."""


NO_COST = ("horizon", "partitions")


def _measures(mine: AnalysisFullScheme | None, theirs: AnalysisFullScheme | None) -> list[ComparisonMeasure]:
    """The score and every term of either side, in the order of the new one."""
    sides = []
    for scheme in (mine, theirs):
        values: dict[str, tuple[Any, str, list[Any] | None]] = {}
        if scheme is not None:
            values["score"] = (scheme.score, "of 100", None)
        for term in scheme.terms if scheme else ():
            exact = term.low is UNSET or term.high is UNSET
            values[term.name] = (term.value, term.unit, None if exact else [term.low, term.high])
        sides.append(values)
    old, new = sides
    out = []
    for name in dict.fromkeys([*new, *old]):
        unit = (new.get(name) or old[name])[1]
        before, after = (side[name][0] if name in side else None for side in (old, new))
        intervals = [side[name][2] if name in side else None for side in (old, new)]
        held = name in old and name in new
        out.append(
            ComparisonMeasure(
                name=name,
                unit=unit,
                old=before,
                new=after,
                old_interval=intervals[0],
                new_interval=intervals[1],
                change=number((after - before) / abs(before)) if before and after is not None else None,
                worse=held and _worse(name, before, after),
            )
        )
    return out


def _worse(name: str, before: float | None, after: float | None) -> bool:
    """Whether a measure got worse at all; no limit (None) is the best break factor there is."""
    if name in NO_COST or before == after:
        return False
    if name in MORE_IS_BETTER:
        return after is not None and (before is None or after < before)
    return after is None or (before is not None and after > before)


def _class_changes(mine: AnalysisFullScheme | None, theirs: AnalysisFullScheme | None) -> list[ComparisonClass]:
    """Queries and writes that are served otherwise, or are on one side only; those that got worse first."""
    old = {c.name: _served(c) for c in mine.classes} if mine else {}
    new = {c.name: _served(c) for c in theirs.classes} if theirs else {}
    out = []
    for name in dict.fromkeys([*new, *old]):
        before, after = old.get(name), new.get(name)
        if before == after:
            continue
        worse = (
            before is not None
            and after is not None
            and (after.requests > before.requests or after.entities > before.entities)
        )
        out.append(ComparisonClass(name=name, old=before, new=after, worse=worse))
    return sorted(out, key=lambda entry: (not entry.worse, entry.name))


def _served(cost: AnalysisClassCost) -> ComparisonClassFigures:
    return part_of(
        ComparisonClassFigures,
        cost,
        entities=float(f"{cost.entities_read + cost.entities_written:.6g}"),
        returned=cost.entities_returned,
    )


ALIASES = {
    "requests_per_s": "requests",
    "requests_per_s_peak": "requests at peak",
    "entities_per_s": "entities counted",
    "peak_partition_load": "hottest partition at peak",
    "bytes_per_entity": "stored",
}
"""Names that budgets have for measures."""


def worsened(comparison: ComparisonDocument, bounds: Sequence[tuple[str, float]]) -> list[str]:
    """Sentences about measures that got worse by more than their share: what goes with exit code 1.

    UsageError for a measure that no table has.
    """
    known = dict.fromkeys(m.name.replace(" ", "_") for t in comparison.tables for m in t.measures)
    for key, _ in bounds:
        if ALIASES.get(key, key).replace(" ", "_") not in known:
            names = (*known, *ALIASES)
            fix = did_you_mean(key, names) or f"there are {', '.join(names)}"
            raise UsageError(f"there is no measure '{key}'", where="--fail-if-worse", fix=fix)
    out = []
    for table in comparison.tables:
        by_name = {measure.name: measure for measure in table.measures}
        for key, share in bounds:
            name = ALIASES.get(key, key)
            measure = by_name.get(name) or by_name.get(name.replace("_", " "))
            if measure is None or not measure.worse:
                continue
            before, after = measure.old, measure.new
            change = float("inf") if not before or after is None else abs(after - before) / abs(before)
            if before is None or change > share:
                values = f"{_shown(before)} to {_shown(after)}"
                out.append(f"{table.table}: {key} from {values}, worse by more than {percent(share)}")
    return out


def _shown(value: float | None) -> str:
    return "no limit" if value is None else f"{value:,.6g}"

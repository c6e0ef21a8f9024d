"""Results of ``advisor stress``, read for a review."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pkadvisor.documents.schema_errors import check
from pkadvisor.documents.stress import StressDocument
from pkadvisor.documents.stress_run import StressSetting
from pkadvisor.errors import InputError
from pkadvisor.report.documents.stored import STRESS, load_document
from pkadvisor.review.views.stressed import Keys, Stressed, keys_of, keys_stored
from pkadvisor.review.views.views import DesignView

if TYPE_CHECKING:
    from pkadvisor.usecases.review.request import ReviewRequest

COLD = "cold start"


def stressed_of(paths: tuple[str, ...]) -> tuple[Stressed, ...]:
    """Every design of the results, those of later files first.

    UsageError (2) where there is no file; InputError (3) for what is no stress result, of another version or not whole.
    """
    out: list[Stressed] = []
    for path in paths:
        out = [*_designs(_document(path)), *out]
    return tuple(out)


def _document(path: str) -> StressDocument:
    where = f"--stress {path}"
    stored = load_document(path, "--stress", kinds=(STRESS,))
    if stored.get("complete") is not True:
        raise InputError("was interrupted: its figures are of a part", where=where, fix="run advisor stress again")
    document: StressDocument = check(stored, where)
    if "inputs" not in stored:  # figures of other data would be taken for those of this
        raise InputError("is not whole: inputs is missing", where=where, fix="made by another version? run it again")
    return document


def _load(settings: StressSetting) -> str:
    """What was run, in words: figures of a stress test are of its load and its faults."""
    text = settings.load_words
    if settings.growth_months:
        text += f" after {settings.growth_months:g} months of growth"
    if settings.faults:
        text += f" with {' and '.join(settings.faults)}"
    return text


def _designs(document: StressDocument) -> Iterator[Stressed]:
    load = _load(document.settings)
    for table in document.tables:
        for design, verdict in zip(table.designs, table.verdict.designs, strict=True):
            warm = design.runs[0]
            cold = next((run for run in design.runs if run.state == COLD), None)
            proofs = [proof.holds for proof in design.prediction.breaks if proof.holds is not None]
            yield Stressed(
                table=table.table,
                kind=table.kind,
                keys=keys_stored(design.scheme),
                throttled_share=float(warm.throttled_share),
                cold_throttled_share=None if cold is None else float(cold.throttled_share),
                lost_share=float(warm.lost_share),
                latency_ms_p99=None if warm.latency_ms_p99 is None else float(warm.latency_ms_p99),
                hottest_times_target=None if warm.hottest is None else float(warm.hottest.times_target),
                break_proved=all(proofs) if proofs else None,
                level=verdict.level,
                new_table_level=verdict.new_table_level,
                load=load,
            )


def check_same(request: ReviewRequest, views: Sequence[DesignView]) -> None:
    """InputError (3), with both digests, for a result of other data than the review is given, or of other keys than a
    table under review has. A result that has none of the tables says nothing of them."""
    from pkadvisor.inputs import AnalyzeRequest, files_read

    given = files_read(AnalyzeRequest(data=request.data, profiles=request.profiles)) if request.stress else ()
    for path in request.stress:
        document = _document(path)
        for role in ("data", "profile"):
            theirs = {f.xxh3: f.name for f in document.inputs.files if f.role == role}
            mine = {f.xxh3: f.name for f in given if f.role == role}
            if theirs and mine and theirs.keys() != mine.keys():
                _refuse(path, "data", _named(theirs), _named(mine))
        held = list(_designs(document))
        for table in (t for view in views for t in view.tables):
            if table.scheme is None:
                continue
            place = (table.section.table.lower(), table.section.kind)
            theirs_of = [s.keys for s in held if (s.table.lower(), s.kind) == place]
            own = keys_of(table.scheme)
            if theirs_of and own not in theirs_of:
                name = table.section.table + (f" · {table.section.kind}" if table.section.kind else "")
                _refuse(path, f"keys of {name}", ", ".join(map(_digest, theirs_of)), _digest(own))


def _refuse(path: str, what: str, theirs: str, mine: str) -> None:
    what_differs = f"is of other {what}: it was run on {theirs}, and the review is of {mine}"
    raise InputError(what_differs, where=f"--stress {path}", fix="run advisor stress again on this design and data")


def _named(files: dict[str, str]) -> str:
    return ", ".join(f"{name} (xxh3 {digest})" for digest, name in sorted(files.items(), key=lambda f: (f[1], f[0])))


def _digest(keys: Keys) -> str:
    """The digest of the templates of a design's keys."""
    import xxhash

    return f"xxh3 {xxhash.xxh3_64_hexdigest(chr(10).join(keys).encode())}"

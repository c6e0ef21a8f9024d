"""``advisor review``: from design files to one result.

Each design is read, its tables are put together with the profile, and every rule is asked. A design that cannot be read
is told in the result; the others are reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from pkadvisor.design.load.estimates import Budget
from pkadvisor.errors import InputError, UsageError
from pkadvisor.files import ordinary
from pkadvisor.limits import Limits, load_limits
from pkadvisor.observe.design_file.declaration_yaml import decoded
from pkadvisor.progress import Progress
from pkadvisor.review.gate import suppressions
from pkadvisor.review.gate.baseline import FILE as BASELINE_FILE
from pkadvisor.review.gate.baseline import FILE_BYTES_MAX as BASELINE_BYTES_MAX
from pkadvisor.review.gate.baseline import Baseline, applied, dump_baseline, pruned, read_baseline, written
from pkadvisor.review.gate.changes import DesignReview, compared, with_statuses
from pkadvisor.review.gate.fixes import annotated
from pkadvisor.review.gate.gate import Gate
from pkadvisor.review.rules.builtin import (
    MISMATCH,
    NEVER_SUPPRESSED,
    evaluate_builtin,
    evaluate_constraints,
    keys_by_table,
    unmatched_tables,
)
from pkadvisor.review.rules.evaluate import Evaluation, chosen, evaluate, regraded
from pkadvisor.review.rules.rule import Rule, load_rules
from pkadvisor.review.views.findings import Finding, Status
from pkadvisor.review.views.stressed import Stressed
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review.earlier import (
    Earlier,
    earlier_of,
    keys_in_use,
    moved_here,
    old_design,
    removed_designs,
    without_moved,
)
from pkadvisor.usecases.review.opening import budgets_of, open_design, profile_of, tables_elsewhere
from pkadvisor.usecases.review.request import ReviewRequest
from pkadvisor.usecases.review.stress_file import check_same, stressed_of
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.documents.review import ReviewDocument
    from pkadvisor.observe.profile.profile_file import ProfileDocument
    from pkadvisor.review.gate.fixes import Fixed, Wanted


STDIN = "-"
STDIN_NAME = "standard-input.yaml"
"""How a design of standard input is called where nobody names it."""


@dataclass(frozen=True, slots=True)
class Conducted:
    """A review: its canonical result, and the content of the baseline file where one is to be written."""

    document: ReviewDocument
    baseline: str | None = None


def review(request: ReviewRequest, progress: Progress) -> ReviewDocument:
    """The canonical result of a review; see ``conduct``."""
    return conduct(request, progress).document


def conduct(request: ReviewRequest, progress: Progress) -> Conducted:
    """A review, and the baseline that it makes.

    Raises UsageError for what concerns the whole run: no design, an unknown rule, a rule file that is wrong, a ref that
    git does not know; InputError for a baseline that cannot be used. What is wrong with one design is in the result,
    with the exit code it earns.
    """
    from pkadvisor.report.documents.review_result import build_review

    known = regraded(load_rules(request.rules, cases=False), request.severity)
    limits = load_limits(*request.limits)
    _check(request, known)
    rules = chosen(known, request.select, request.ignore)
    budgets = budgets_of(request)
    baseline = _baseline(request)
    stressed = stressed_of(request.stress)
    profile = profile_of(request)
    earlier = earlier_of(request, profile)
    elsewhere = tables_elsewhere(request, profile)
    reviews = []
    declared: dict[str, tuple[str, str]] = {}
    for path in request.designs:
        progress.phase(f"review {path}")
        made = _reviewed(path, request, rules, known, limits, budgets, profile, earlier, elsewhere, stressed, declared)
        reviews.append(made)
        if made.view is not None:
            declared = {**keys_by_table(made.view), **declared}
    check_same(request, [r.view for r in reviews if r.view is not None])
    reviews = without_moved(reviews)
    removed = removed_designs(reviews, earlier.beside) if earlier is not None and earlier.beside is not None else ()
    reviews = _with_unmatched(reviews, profile, rules, elsewhere)
    reviews = _with_configured(reviews, request, rules, known)
    content = None
    if baseline is not None:
        if request.prune_baseline:
            baseline = pruned(baseline, reviews)
        if request.write_baseline:
            baseline = written(baseline, reviews)
        content = dump_baseline(baseline) if request.prune_baseline or request.write_baseline else None
        reviews = list(applied(reviews, baseline, rules))
    gate = Gate(request.fail_on, request.new_only)
    gone = tuple((r.path, r.tables) for r in removed)
    document = build_review(reviews, rules=rules, gate=gate, redact=request.redact, removed=gone)
    return Conducted(document, content)


def _check(request: ReviewRequest, known: Sequence[Rule]) -> None:
    """UsageError for what was asked for and does not go together."""
    if not request.designs:
        fix = "for example: advisor review schema/orders.yaml; or set designs in pkadvisor.toml"
        raise UsageError("there is nothing to review: name a design file", where="DESIGN", fix=fix)
    if request.against and request.against_ref:
        raise UsageError("there are two designs to compare with", where="--against", fix="give one of the options")
    if request.against and len(request.designs) != 1:
        fix = "name one design, or compare all of them with --against-ref"
        raise UsageError(f"one file cannot be compared with {len(request.designs)} designs", where="--against", fix=fix)
    if request.new_only and not (request.against or request.against_ref or request.baseline):
        fix = "give --against-ref REF, --against FILE or --baseline FILE"
        raise UsageError("there is nothing to compare findings with", where="--new-only", fix=fix)
    if request.today and not suppressions.is_day(request.today):
        raise UsageError(f"'{request.today[:40]}' is not a date", where="--today", fix="write YYYY-MM-DD")
    if (request.write_baseline or request.prune_baseline) and not request.baseline:
        option = "--write-baseline" if request.write_baseline else "--prune-baseline"
        raise UsageError("no baseline is named", where=option, fix=f"add --baseline {BASELINE_FILE}")
    suppressions.check_configured(request.suppress, known)


def _reviewed(
    path: str,
    request: ReviewRequest,
    rules: Sequence[Rule],
    known: Sequence[Rule],
    limits: Limits,
    budgets: tuple[Budget, ...],
    profile: ProfileDocument | None,
    earlier: Earlier | None,
    elsewhere: frozenset[str],
    stressed: tuple[Stressed, ...] = (),
    declared: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> DesignReview:
    name, text = Path(path).as_posix(), None
    alone = len(request.designs) == 1
    try:
        if path == STDIN:
            path = name = Path(request.stdin_name or STDIN_NAME).as_posix()
            text = decoded(request.stdin, path)
        view = open_design(
            path,
            text,
            limits,
            profile=profile,
            data=request.data,
            logs=request.logs,
            alone=alone,
            budgets=budgets,
            elsewhere=elsewhere,
        )
        view.stressed, view.declared_elsewhere = stressed, None if alone else declared
        if earlier is None:
            return DesignReview(name, view, _examined(view, rules, known, request, compared=False))
        old, notes = old_design(earlier, path, request, limits, budgets, alone=alone, elsewhere=elsewhere)
        if old is not None:
            old.declared_elsewhere = view.declared_elsewhere
            view.compare_with(old)
        moved: tuple[tuple[DesignView, frozenset[str]], ...] = ()
        if earlier.beside is not None:
            moved, notes_of_moves = moved_here(
                view, earlier.beside, path, request.designs, limits, budgets, earlier.profile, request.data
            )
            notes = (*notes, *notes_of_moves)
        evaluations = _examined(view, rules, known, request, compared=True)
        before = None if old is None else _examined(old, rules, known, request, compared=False, proposing=False)
        for other, tables in moved:
            again = _examined(other, rules, known, request, compared=False, proposing=False)
            before = (*(before or ()), *(_only(e, tables) for e in again))
        evaluations, fixed = with_statuses(evaluations, before)
        comparison = compared(view, old, earlier.label, profile_changed=earlier.profile_changed, notes=notes)
        return DesignReview(name, view, evaluations, comparison=replace(comparison, fixed=fixed))
    except (UsageError, InputError) as error:
        if earlier is not None and earlier.stops(error):
            raise
        return DesignReview(name, None, (), error)


def _only(evaluation: Evaluation, tables: frozenset[str]) -> Evaluation:
    """What a rule found in some tables."""
    return replace(evaluation, findings=tuple(f for f in evaluation.findings if f.table.lower() in tables))


def _examined(
    view: DesignView,
    rules: Sequence[Rule],
    known: Sequence[Rule],
    request: ReviewRequest,
    *,
    compared: bool,
    proposing: bool = True,
) -> tuple[Evaluation, ...]:
    """All rules over a design, those of the gate too, and what is suppressed."""
    searching = proposing and request.proposing
    evaluations = (*evaluate(rules, view, compared=compared, proposing=searching), *evaluate_builtin(rules, view))
    evaluations = (*evaluations, *evaluate_constraints(rules, view, evaluations))
    return suppressions.suppressed(
        view, evaluations, known=known, chosen=rules, configured=request.suppress, today=request.today
    )


def _with_unmatched(
    reviews: list[DesignReview], profile: ProfileDocument | None, rules: Sequence[Rule], elsewhere: frozenset[str]
) -> list[DesignReview]:
    """The reviews with what the profile holds and none of several designs names; for one, its view knows."""
    rule = next((r for r in rules if r.id == MISMATCH), None)
    views = [r.view for r in reviews if r.view is not None]
    if profile is None or rule is None or len(reviews) < 2 or len(views) != len(reviews):
        return reviews
    named = tuple(dict.fromkeys(t.table for t in profile.tables if t.table))
    made = unmatched_tables(rule, views, named, elsewhere)
    return [replace(r, evaluations=_joined(r, [f for f in made if f.design == r.name], Status.NEW)) for r in reviews]


def _with_configured(
    reviews: list[DesignReview], request: ReviewRequest, rules: Sequence[Rule], known: Sequence[Rule]
) -> list[DesignReview]:
    """The reviews with what is wrong with suppressions of the configuration, each at the first design it is about."""
    readable = {r.name: r.view for r in reviews if r.view is not None}
    findings = [f for r in reviews for e in r.evaluations for f in e.findings]
    for entry in request.suppress:
        about = [r for r in reviews if r.name in readable and suppressions.matches_design(entry, r.name)]
        if reviews[0].view is not None and not _there(entry, request):
            made = suppressions.configured_nowhere(reviews[0].view, entry, rules, known)
            reviews[0] = replace(reviews[0], evaluations=_joined(reviews[0], made, Status.UNCHANGED))
        if not about or len(readable) != len(reviews):
            continue
        judged = frozenset.intersection(*(suppressions.decided(r.evaluations, readable[r.name]) for r in about))
        made = suppressions.configured_findings(
            readable[about[0].name], entry, findings, chosen=rules, known=known, judged=judged, today=request.today
        )
        at = next(i for i, r in enumerate(reviews) if r.name == about[0].name)
        reviews[at] = replace(reviews[at], evaluations=_joined(reviews[at], made, Status.UNCHANGED))
    return reviews


def _there(entry: suppressions.ConfiguredSuppression, request: ReviewRequest) -> bool:
    """Whether a suppression of the configuration is for any file: one of the run, of the project, or of the disk."""
    import glob

    designs = (Path(path).as_posix() for path in (*request.designs, *request.siblings))
    named = not entry.path or any(suppressions.matches_design(entry, name) for name in designs)
    return named or bool(glob.glob(entry.path, recursive=True))  # noqa: PTH207


def _joined(review: DesignReview, made: Sequence[Finding], status_compared: Status) -> tuple[Evaluation, ...]:
    """Evaluations with further findings of their rules, with that status where designs are compared."""
    status = None if review.comparison is None else status_compared
    return tuple(
        replace(e, findings=(*e.findings, *(replace(f, status=status) for f in made if f.rule == e.rule.id)))
        for e in review.evaluations
    )


def _baseline(request: ReviewRequest) -> Baseline | None:
    if not request.baseline:
        return None
    path = Path(request.baseline)
    try:
        with ordinary(path).open("rb") as stream:
            return read_baseline(stream.read(BASELINE_BYTES_MAX + 1), path.as_posix())
    except FileNotFoundError:
        if request.write_baseline or request.baseline_may_lack:
            return Baseline()
        fix = "add --write-baseline to begin one"
        raise UsageError("there is no such baseline", where=f"--baseline {request.baseline}", fix=fix) from None
    except OSError as error:
        what = f"the baseline cannot be read: {error.strerror or error}"
        raise UsageError(what, where=f"--baseline {request.baseline}") from None


# -- suppressions to write ---------------------------------------------------------------------------------------------


def ignores(document: ReviewDocument, reason: str) -> list[tuple[str, bytes, int]]:
    """(path, new content, suppressions added) of each design file, so that no finding of a result stops any more."""
    out = []
    for design in document.designs:
        wanted: dict[int, list[str]] = {}
        for finding in design.findings:
            if finding.gating and finding.rule not in NEVER_SUPPRESSED:
                wanted.setdefault(finding.place.line, []).append(finding.rule)
        if wanted:
            path = design.design
            text = Path(path).read_bytes().decode()
            out.append((path, annotated(path, text, wanted, reason).encode(), sum(map(len, map(set, wanted.values())))))
    return out


def fix_text(
    path: str,
    text: str,
    findings: Sequence[Wanted],
    words: Mapping[str, Sequence[str]],
    request: ReviewRequest,
) -> Fixed:
    """The text of a reviewed design with its safe edits made. Nothing is written.

    Keys are edited only where no row is stored under them yet, so data or a profile that tells of rows forbids it, and
    so does an older design that has the table: the one that the review is compared with, or that of the last commit.
    """
    from pkadvisor.review.gate.fixes import fixed

    limits, profile = load_limits(*request.limits), profile_of(request)
    alone = len(request.designs) == 1
    view = open_design(path, text, limits, profile=profile, data=request.data, alone=alone)
    return fixed(view, text, findings, words, in_use=keys_in_use(view, path, request, limits))

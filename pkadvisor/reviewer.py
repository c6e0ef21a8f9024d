"""The use case behind ``advisor review``: from design files to one result. Nothing here prints.

Each design is read, its tables are put together with the profile, and every rule is asked. A design that cannot be read
is told in the result; the others are reviewed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import Limits, load_limits
from pkadvisor.observe.declaration_yaml import decoded
from pkadvisor.progress import Progress
from pkadvisor.review.evaluate import DesignReview, evaluate
from pkadvisor.review.findings import Severity
from pkadvisor.review.gate import Gate
from pkadvisor.review.rule import Rule, load_rules
from pkadvisor.review.subjects import DesignView

if TYPE_CHECKING:
    from pkadvisor.observe.dataset import Dataset
    from pkadvisor.observe.profile_file import ProfileDocument
    from pkadvisor.review.fixes import Fixed, Wanted


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What the command line and the configuration ask for; all paths as typed."""

    designs: tuple[str, ...]
    profiles: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """Folders of a team's own rules."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    fail_on: Severity | None = Severity.ERROR
    new_only: bool = False
    redact: bool = False
    stdin: bytes = b""
    """What the design ``-`` holds."""
    stdin_name: str = ""


STDIN = "-"
STDIN_NAME = "standard-input.yaml"
"""How a design of standard input is called where nobody names it."""


def review(request: ReviewRequest, progress: Progress) -> dict[str, Any]:
    """The canonical result of a review.

    Raises UsageError for what concerns the whole run: no design, an unknown rule, a rule file that is wrong. What is
    wrong with one design is in the result, with the exit code it earns.
    """
    from pkadvisor.report.review_result import build_review

    if not request.designs:
        fix = "for example: advisor review schema/orders.yaml; or set designs in pkadvisor.toml"
        raise UsageError("there is nothing to review: name a design file", where="DESIGN", fix=fix)
    limits = load_limits(*request.limits)
    rules = chosen(load_rules(request.rules), request.select, request.ignore)
    profile = _profile(request)
    reviews = []
    for path in request.designs:
        progress.phase(f"review {path}")
        reviews.append(_reviewed(path, request, rules, limits, profile, progress))
    return build_review(reviews, rules=rules, gate=Gate(request.fail_on, request.new_only), redact=request.redact)


def _reviewed(
    path: str,
    request: ReviewRequest,
    rules: Sequence[Rule],
    limits: Limits,
    profile: ProfileDocument | None,
    progress: Progress,
) -> DesignReview:
    name, text = Path(path).as_posix(), None
    try:
        if path == STDIN:
            path = name = Path(request.stdin_name or STDIN_NAME).as_posix()
            text = decoded(request.stdin, path)
        view = open_design(path, text, limits, profile=profile, data=request.data, alone=len(request.designs) == 1)
        return DesignReview(name, view, evaluate(rules, view))
    except (UsageError, InputError) as error:
        return DesignReview(name, None, (), error)


def review_text(
    text: str, rules: Sequence[Rule], limits: Limits, *, name: str, data: Sequence[str] = (), before: str = ""
) -> DesignReview:
    """One design given as text under the name of a file, against ``before`` where that is given."""
    view = open_design(name, text, limits, data=data)
    if before:
        view.compare_with(open_design(name, before, limits, data=data))
    return DesignReview(name, view, evaluate(rules, view, compared=bool(before)))


def fix_text(
    path: str,
    text: str,
    findings: Sequence[Wanted],
    words: Mapping[str, Sequence[str]],
    request: ReviewRequest,
    *,
    compared: bool,
) -> Fixed:
    """The text of a reviewed design with its safe edits made. Nothing is written.

    Keys are edited only where no row is stored under them yet, so data or a profile that tells of rows forbids it.
    """
    from pkadvisor.review.fixes import fixed

    limits, profile = load_limits(*request.limits), _profile(request)
    alone = len(request.designs) == 1
    view = open_design(path, text, limits, profile=profile, data=request.data, alone=alone)
    return fixed(view, text, findings, words, compared=compared)


def chosen(rules: Sequence[Rule], select: Sequence[str], ignore: Sequence[str]) -> tuple[Rule, ...]:
    """The rules that a selection keeps: ids, names or beginnings of ids. UsageError for one that no rule has."""
    from pkadvisor.errors import did_you_mean

    for option, words in (("--select", select), ("--ignore", ignore)):
        for word in words:
            if not any(_named(rule, word) for rule in rules):
                known = [w for rule in rules for w in (rule.id, rule.name)]
                fix = did_you_mean(word, known) or "'advisor rules list' names them"
                raise UsageError(f"there is no rule '{word}'", where=option, fix=fix)
    kept = [rule for rule in rules if not select or any(_named(rule, word) for word in select)]
    return tuple(rule for rule in kept if not any(_named(rule, word) for word in ignore))


def _named(rule: Rule, word: str) -> bool:
    return word in (rule.name, *rule.aliases) or rule.id.startswith(word.upper())


def open_design(
    path: str,
    text: str | None,
    limits: Limits,
    *,
    profile: ProfileDocument | None = None,
    data: Sequence[str] = (),
    alone: bool = True,
    name: str = "",
) -> DesignView:
    """A design with its data; ``text`` takes the place of the file's content. ``alone``: no other design is reviewed,
    so that a profile that names no table can only mean this one."""
    from pkadvisor.design.sections import sections_of
    from pkadvisor.observe.declaration import read_declaration

    declaration, document = read_declaration(path, text)
    given, unmatched = _documents_for(declaration, profile, alone)
    profiled = _data(data, declaration)
    sections = sections_of((), declaration, [p for p, _ in profiled], None, given)
    held = [(s, next((source for p, source in profiled if p is s.data), None)) for s in sections]
    shown = name or Path(path).as_posix()
    return DesignView(shown, declaration, document, held, limits, has_profile=bool(given), unmatched=unmatched)


def _documents_for(
    declaration: Any, profile: ProfileDocument | None, alone: bool
) -> tuple[list[tuple[str, ProfileDocument]], tuple[str, ...]]:
    """(the part of the profile that belongs to this design, names of its tables that do not)."""
    if profile is None:
        return [], ()
    from dataclasses import replace

    names = {t.name.lower() for t in declaration.tables}
    single = alone and len(names) == 1 and len({t.table for t in profile.tables}) == 1
    mine = tuple(t for t in profile.tables if t.table.lower() in names or (single and t.table == ""))
    other = tuple(t.table for t in profile.tables if t not in mine)
    return ([("", replace(profile, tables=mine))] if mine else []), (other if alone else ())


def _profile(request: ReviewRequest) -> ProfileDocument | None:
    if not request.profiles:
        return None
    from pkadvisor.advisor import merged_profiles

    return merged_profiles(request.profiles)


def _data(specs: Sequence[str], declaration: Any) -> list[tuple[Any, Dataset]]:
    if not specs:
        return []
    from pkadvisor.advisor import profiled_data

    return profiled_data(specs, declaration)

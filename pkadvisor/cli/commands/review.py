"""``advisor review``: the gate before a deployment."""

from __future__ import annotations

import difflib
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from pkadvisor.cli.commands.analyze import listen
from pkadvisor.cli.commands.review_options import FailOn, GateOptions, Reporting, ReviewEvidence
from pkadvisor.cli.commands.review_output import deliver, settle_outputs
from pkadvisor.cli.configuration import settings_for
from pkadvisor.cli.console import escape_page, say, say_error, write_text
from pkadvisor.cli.inputs import STDIN, check_files, check_folders, design_files, load_sample, nearby, path_text
from pkadvisor.cli.output import size_text, write_whole
from pkadvisor.cli.paging import Paging
from pkadvisor.cli.settings import Settings
from pkadvisor.cli.shared import Redact, ReviewFormat, ReviewShared, argument, unfold
from pkadvisor.errors import AdvisorError, UsageError
from pkadvisor.files import exists
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.documents.review import ReviewDocument, ReviewFinding
    from pkadvisor.review.gate.fixes import Fixed
    from pkadvisor.usecases.review import Conducted
    from pkadvisor.usecases.review.request import ReviewRequest


@unfold
def review(
    designs: list[str] | None = argument("Design files, globs or '-'.", "DESIGN...", None),
    *,
    evidence: ReviewEvidence,
    gate: GateOptions,
    reporting: Reporting,
    paging: Paging,
    shared: ReviewShared,
) -> None:
    """Review the keys of designs before they are deployed; exit code 1: the gate failed.

    Examples:
        advisor samples write footrace race
        advisor review race/design.yaml --fail-on never
        advisor review race/design.yaml --fail-on never --format concise --out sarif=race/review.sarif --out md=race.md
    """
    from pkadvisor.review.views.findings import Severity

    if gate.add_ignore is not None and not gate.add_ignore.strip():
        why = 'say why the findings may pass: --add-ignore "3 inserts/s, see ADR-14"'
        raise UsageError("a reason is needed", where="--add-ignore", fix=why)
    designs, evidence, logs = of_sample(designs, evidence)
    check_named(evidence, gate)
    settings = settings_for(shared, designs[0] if designs else None)
    check_settings(settings, evidence)
    known = gate.baseline or settings.baseline or ""
    threshold = gate.fail_on or FailOn(settings.fail_on or FailOn.error)
    named = design_files(designs) if designs else settings.design_files()
    profiles = tuple(evidence.profile or (() if evidence.data else settings.profile))
    if profiles == settings.profile:
        settings.check_profiles()
    read = [*named, *profiles, *(evidence.data or ()), *(evidence.stress or ()), *(evidence.limits or ())]
    read += [path for path in (gate.against, known) if path]
    outputs = settle_outputs(reporting, shared, inputs=read, options=paging.options())
    siblings = settings.design_files(missing=False) if (profiles or settings.suppress) and designs else ()
    request = replace(
        request_of(evidence, gate, reporting, settings),
        designs=named,
        siblings=siblings,
        profiles=profiles,
        logs=logs,
        baseline=known,
        fail_on=None if threshold is FailOn.never else Severity(threshold),
        stdin=read_stdin() if STDIN in named else b"",
        proposing=outputs.proposing,
    )
    writes_baseline = gate.write_baseline or gate.prune_baseline
    if known and not gate.baseline and not (writes_baseline or shared.quiet or exists(Path(known))):
        say(f"no baseline yet at {known}: --write-baseline begins one", color=shared.color)
    check_fix(request, fix=reporting.fix, diff=reporting.diff, machine=shared.format is not ReviewFormat.text)
    document, new_baseline = conducted(request, gate, reporting, shared)
    if new_baseline is not None:
        write_file(Path(known), new_baseline.encode(), shared)
    tell_errors(document, color=str(shared.color))
    if reporting.diff:
        show_diff(document, request, color=str(shared.color), quiet=shared.quiet)
    else:
        deliver(document, outputs)
    if document.exit_code:
        raise typer.Exit(document.exit_code)


def check_settings(settings: Settings, evidence: ReviewEvidence) -> None:
    """UsageError for a rule that the settings name and that is none."""
    if settings.select or settings.ignore or settings.severity or settings.suppress:
        from pkadvisor.review.rules.rule import load_rules

        settings.check_rules(load_rules(tuple(evidence.rules or settings.rules), cases=False))


def request_of(evidence: ReviewEvidence, gate: GateOptions, reporting: Reporting, settings: Settings) -> ReviewRequest:
    """The command line over the settings, in the terms of the use case; ``review`` adds which designs."""
    from pkadvisor.review.rules.evaluate import words_of
    from pkadvisor.review.views.findings import Severity
    from pkadvisor.usecases.review.request import ReviewRequest

    return ReviewRequest(
        designs=(),
        data=tuple(evidence.data or ()),
        stress=tuple(evidence.stress or ()),
        limits=(*settings.limits, *(evidence.limits or ())),
        rules=tuple(evidence.rules or settings.rules),
        budgets=settings.budgets_with(evidence.budget),
        select=words_of(gate.select or settings.select),
        ignore=words_of(gate.ignore or settings.ignore),
        severity=tuple((rule, Severity(wanted)) for rule, wanted in settings.severity),
        new_only=gate.new_only,
        redact=reporting.redact is Redact.keys,
        against=gate.against,
        against_ref=gate.against_ref,
        today=reporting.today or clock_day(),
        suppress=settings.suppress,
        baseline_may_lack=not gate.baseline and not gate.prune_baseline,
        write_baseline=gate.write_baseline,
        prune_baseline=gate.prune_baseline,
        stdin_name=reporting.stdin_name or "",
    )


def conducted(
    request: ReviewRequest, gate: GateOptions, reporting: Reporting, shared: ReviewShared
) -> tuple[ReviewDocument, str | None]:
    """The document of the review after the edits that are asked for, and the text of a new baseline."""
    from pkadvisor.usecases.review import conduct

    color, quiet = str(shared.color), shared.quiet
    with listen(shared) as progress:
        done = conduct(request, progress)
        if gate.add_ignore:
            done = suppress_all(done, gate.add_ignore, lambda: conduct(request, progress), color=color, quiet=quiet)
        document = done.document
        if reporting.fix and not reporting.diff:
            plain = replace(request, write_baseline=False, prune_baseline=False)
            document = fix_files(document, request, lambda: conduct(plain, progress).document, color=color, quiet=quiet)
    return document, done.baseline


def of_sample(
    designs: list[str] | None, evidence: ReviewEvidence
) -> tuple[list[str] | None, ReviewEvidence, tuple[str, ...]]:
    """The design of a bundled sample, or the given ones, with its data and its logs; what was given without one."""
    name = evidence.sample
    if name is None:
        return designs, evidence, ()
    if evidence.profile or evidence.data:
        fix = "leave out either --sample or --data and --profile"
        raise UsageError("a bundled sample brings its own data", where="--sample", fix=fix)
    bundled = load_sample(name)
    if not designs and bundled.design is None:
        fix = f"advisor init mine --from FILE writes one; advisor analyze --sample {name} needs none"
        raise UsageError(f"the sample '{name}' has no design", where="--sample", fix=fix)
    return designs or [str(bundled.design)], replace(evidence, data=list(bundled.data)), tuple(bundled.logs)


def check_named(evidence: ReviewEvidence, gate: GateOptions) -> None:
    """UsageError for the first file or folder of the command line that is not there."""
    files = [(path, "--profile") for path in evidence.profile or ()]
    files += [(path, "--limits") for path in evidence.limits or ()]
    files += [(path_text(text), "--data") for text in evidence.data or () if path_text(text) != STDIN]
    files += [(gate.against, "--against")] if gate.against else []
    check_files(*files)
    check_folders(*((path, "--rules") for path in evidence.rules or ()))
    baseline = Path(gate.baseline)
    if gate.baseline and not gate.write_baseline and not exists(baseline):
        fix = "add --write-baseline to begin one"
        raise UsageError(f"there is no such baseline{nearby(baseline)}", where=f"--baseline {gate.baseline}", fix=fix)


def read_stdin() -> bytes:
    """Standard input as far as a design can be long, and one byte more."""
    from pkadvisor.observe.design_file.declaration_yaml import FILE_BYTES_MAX

    return b"" if sys.stdin is None else sys.stdin.buffer.read(FILE_BYTES_MAX + 1)


def tell_errors(document: ReviewDocument, *, color: str) -> None:
    """On standard error, whatever the format: which designs could not be read, and why."""
    for design in document.designs:
        if (error := design.error) is not None:
            unread = AdvisorError(
                error.what, where=error.where, fix=error.fix, excerpt=error.excerpt, others=error.others
            )
            say_error(unread, color=color)


def clock_day() -> str:
    """The one place where a review looks at the clock."""
    return date.today().isoformat()


def write_file(path: Path, content: bytes, shared: ReviewShared) -> None:
    """Write a file and say so; one that says the same already is left alone."""
    if path.is_file() and path.read_bytes() == content:
        return
    write_whole(path, content)
    if not shared.quiet:
        say(f"wrote {path} ({size_text(len(content))})", color=shared.color)


# -- Edits of the design files: ``--fix``, ``--diff``, which only shows them, and ``--add-ignore``.


_BOM = b"\xef\xbb\xbf"
_NOTHING = "nothing to fix"
_ROUNDS = 3
"""An edit may bring up the next finding, as a padding brings up a separator; more than that is no progress."""
_SUPPRESSING_ROUNDS = 5
"""A suppressed finding may uncover others of the same query; so many in turn are more than any query has."""


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    content: bytes
    before: str
    result: Fixed


def check_fix(request: ReviewRequest, *, fix: bool, diff: bool, machine: bool) -> None:
    """UsageError for a command line on which nothing could be edited."""
    option = "--fix" if fix else "--diff"
    if (fix or diff) and STDIN in request.designs:
        raise UsageError("standard input cannot be edited", where=option, fix="name the design file")
    if diff and machine:
        raise UsageError("a diff is text", where="--diff", fix="leave out --format")


def fix_files(
    document: ReviewDocument, request: ReviewRequest, run: Callable[[], ReviewDocument], *, color: str, quiet: bool
) -> ReviewDocument:
    """The designs with their edits written, and the review of what they are then."""
    done, refused = 0, dict[tuple[str, int, str, str], None]()
    for _ in range(_ROUNDS):
        files = _edited(document, request)
        refused = {(f.path, r.line, r.rule, r.why): None for f in files for r in f.result.refused}
        changed = [f for f in files if f.result.edits]
        if not changed:
            break
        for file in changed:
            bom = _BOM if file.content.startswith(_BOM) else b""
            write_whole(Path(file.path), bom + file.result.text.encode())
            done += len(file.result.edits)
            for edit in file.result.edits if not quiet else ():
                say(f"fixed {Path(file.path).as_posix()}:{edit.line}: {edit.rule}: {edit.what}", color=color)
        document = run()
    if not quiet:
        _tell_refused(tuple(refused), color)
        say(f"{done} {'edit' if done == 1 else 'edits'} made" if done else _NOTHING, color=color)
    return document


def _tell_refused(refused: Sequence[tuple[str, int, str, str]], color: str) -> None:
    for path, line, rule, why in refused:
        say(f"not fixed {Path(path).as_posix()}:{line}: {rule}: {why}", color=color)


def show_diff(document: ReviewDocument, request: ReviewRequest, *, color: str, quiet: bool) -> None:
    """What ``--fix`` would write first, as a unified diff on standard output; nothing is written."""
    pages = []
    files = _edited(document, request)
    if not quiet:
        _tell_refused(tuple({(f.path, r.line, r.rule, r.why): None for f in files for r in f.result.refused}), color)
        if not any(f.result.edits for f in files):
            say(_NOTHING, color=color)
    for file in files:
        name = Path(file.path).as_posix()
        old, new = file.before.splitlines(keepends=True), file.result.text.splitlines(keepends=True)
        for line in difflib.unified_diff(old, new, f"a/{name}", f"b/{name}"):
            pages.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    if pages:
        write_text(escape_page("".join(pages).replace("\r\n", "\n"), color=False))


def _edited(document: ReviewDocument, request: ReviewRequest) -> list[_File]:
    from pkadvisor.review.gate.fixes import FIXABLE
    from pkadvisor.usecases.review import fix_text

    words = {rule.id: (rule.name, *rule.aliases) for rule in document.rules}
    out = []
    for path, design in zip(request.designs, document.designs, strict=True):
        findings = [f for f in design.findings if f.rule in FIXABLE and f.suppressed is None]
        if design.error is None and findings:
            content = Path(path).read_bytes()
            text = content.decode("utf-8-sig")
            result = fix_text(path, text, _wanted(findings), words, request)
            out.append(_File(path, content, text, result))
    return out


def _wanted(findings: Sequence[ReviewFinding]) -> list[Any]:
    from pkadvisor.review.gate.fixes import Wanted

    return [
        Wanted(
            f.rule,
            f.subject.path,
            f.subject.name,
            f.place.line,
            f.place.column,
            f.place.end_column,
        )
        for f in findings
    ]


def suppress_all(done: Conducted, reason: str, again: Callable[[], Conducted], *, color: str, quiet: bool) -> Conducted:
    """Write suppressions for all that stops until nothing does, and return the last review.

    One finding of a query stands for others of it, which stop as soon as it is suppressed.
    """
    from pkadvisor.usecases.review import ignores

    added = Counter[str]()
    for _ in range(_SUPPRESSING_ROUNDS):
        changed_files = ignores(done.document, reason)
        if not changed_files:
            break
        for path, content, count in changed_files:
            write_whole(Path(path), content)
            added[path] += count
        done = again()
    for path, count in added.items() if not quiet else ():
        say(f"{path}: {count} suppression{'' if count == 1 else 's'} added", color=color)
    return done

"""Edits of the design files: ``--fix``, ``--diff``, which only shows them, and ``--add-ignore``."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.cli.console import escape_page, say, write_text
from pkadvisor.cli.inputs import STDIN
from pkadvisor.cli.output import write_whole
from pkadvisor.errors import UsageError
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.documents.review import ReviewDocument, ReviewFinding
    from pkadvisor.review.gate.fixes import Fixed
    from pkadvisor.usecases.review import Conducted
    from pkadvisor.usecases.review.request import ReviewRequest

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

"""Suppressions written into the text of a design; everything else keeps its bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration_comments import lines_without_comment
from pkadvisor.observe.design_file.declaration_yaml import Document

_BREAKS = re.compile("(\r\n|[\n\r\x85\u2028\u2029])")


def annotated(path: str, text: str, wanted: Mapping[int, Iterable[str]], reason: str) -> str:
    """The text with a comment for the rules of each line (from 1), at its end; above it where a value goes on below.

    A comment at the end of the line that gives the same reason names the rules too.

    UsageError for JSON, which has no comments, and for a reason that cannot stand in one line.
    """
    reason = " ".join(reason.split())
    if not reason or not reason.isprintable():
        raise UsageError(
            "a suppression needs a reason", where="--add-ignore", fix='--add-ignore "3 inserts/s, see ADR 14"'
        )
    if path.lower().endswith(".json"):
        fix = "write it into pkadvisor.toml: [[review.suppress]] with rule, path, target and reason"
        raise UsageError("JSON has no comments, so nothing can be suppressed in it", where=path, fix=fix)
    document = Document(path, text.removeprefix("\ufeff"))
    going_on = lines_without_comment(document)
    pieces = _BREAKS.split(text)  # text, break, text, break, …
    quoted = reason.replace("\\", "\\\\").replace('"', '\\"')
    for line in sorted(wanted, reverse=True):
        at = 2 * (line - 1)
        ending = f'] reason="{quoted}"'
        same_reason = re.search(rf"(# pkadvisor: ignore\[)([^\]]*){re.escape(ending)}$", pieces[at])
        if same_reason is not None:
            rules = {*wanted[line], *(word.strip() for word in same_reason[2].split(","))}
            pieces[at] = f"{pieces[at][: same_reason.end(1)]}{', '.join(sorted(rules))}{ending}"
            continue
        comment = f"# pkadvisor: ignore[{', '.join(sorted(set(wanted[line])))}{ending}"
        if line not in going_on:
            blanks = "" if pieces[at][-2:].isspace() else "  "
            pieces[at] += blanks + comment
        else:
            indent = pieces[at][: len(pieces[at]) - len(pieces[at].lstrip(" "))]
            end = pieces[at + 1] if at + 1 < len(pieces) else "\n"
            pieces[at] = f"{indent}{comment}{end}{pieces[at]}"
    made = "".join(pieces)
    if Document(path, made.removeprefix("\ufeff")).content != document.content:
        what = "a comment cannot be added without changing what the design says"
        raise UsageError(what, where=path, fix="write the suppressions by hand, on lines of their own")
    return made

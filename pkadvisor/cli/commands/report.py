"""``advisor report``: the HTML page of a document that was written before; nothing is computed again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pkadvisor.cli.console import is_terminal, say, write_bytes
from pkadvisor.cli.inputs import check_files
from pkadvisor.cli.output import on_stdout, parse_targets, size_text
from pkadvisor.cli.paging import Paging, page_of, write_page
from pkadvisor.cli.shared import PageFormat, PageShared, examples, option, unfold
from pkadvisor.errors import InputError, UsageError

EPILOG = examples(
    "advisor analyze --sample footrace --out json=result.json -q",
    "advisor report result.json --out html=report.html",
    "advisor report result.json --out html-dir=report --theme dark --sections verdict,scheme",
)


@unfold
def report(
    document: Annotated[
        str, typer.Argument(metavar="RESULT", help="A document of analyze, stress, review, … as JSON.")
    ],
    *,
    out: Annotated[
        list[str] | None,
        option("--out", metavar="FMT=PATH", help=f"Where to write ({', '.join(PageFormat)}). Repeatable."),
    ] = None,
    paging: Paging,
    shared: PageShared,
) -> None:
    """Draw a result, a stress test, a review, a comparison or a score card as one HTML page.

    Everything on it is in the document: nothing is read or computed again. Without --out it goes to standard output.
    """
    check_files((document, "RESULT"))
    targets = parse_targets(out or (), inputs=(Path(document),), formats=PageFormat)
    on_stdout(targets, shared.format, PageFormat.html)
    options = paging.options()
    piped = not targets or any(target.path is None for target in targets)
    if piped and is_terminal(sys.stdout):
        raise UsageError("a page is not for a terminal", where="--out", fix="for example: --out html=report.html")
    from pkadvisor.report.documents.stored import load_document
    from pkadvisor.report.html.sections import DOCUMENTS

    found = load_document(document, "", kinds=DOCUMENTS)
    try:
        for target in targets:
            if target.path is not None:
                size = write_page(target.path, found, options, folder=target.format is PageFormat.html_dir)
                if not shared.quiet:
                    say(f"wrote {target.path} ({size_text(size)})", color=shared.color)
        if piped:
            write_bytes(page_of(found, options))
    except (InputError, *SLIPS) as error:
        meant = _of_document(error, found, document)
        if meant is error:
            raise
        raise meant from error


SLIPS = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What drawing ends with where a document has not the shape that it should have, or where the drawing is wrong."""


def _of_document(error: Exception, found: dict[str, Any], name: str) -> Exception:
    """The mistake of the document that is behind an error, with its file; the error itself where it is a bug of ours:
    a document that keeps to its schema can be drawn."""
    slip = error.__cause__ if isinstance(error, InputError) else error
    if not isinstance(slip, SLIPS):  # the drawing itself found what is missing
        assert isinstance(error, InputError)
        return InputError(error.what, where=name, fix=error.fix)
    from pkadvisor.report.documents.departure import departure

    wrong, fix = departure(found), "made by another version? run it again"
    return InputError(f"is not whole: {wrong}", where=name, fix=fix) if wrong else slip

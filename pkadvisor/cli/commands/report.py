"""``advisor report``: the HTML page of a document that was written before; nothing is computed again."""

from __future__ import annotations

import sys
from pathlib import Path

from pkadvisor.cli.console import is_terminal, say, write_bytes
from pkadvisor.cli.inputs import check_files
from pkadvisor.cli.output import on_stdout, parse_targets, size_text
from pkadvisor.cli.paging import Paging, page_of, write_page
from pkadvisor.cli.shared import PageFormat, PageShared, argument, option, say_next, unfold
from pkadvisor.errors import InputError, UsageError

PAGE_FILES = option(f"Where to write ({', '.join(PageFormat)}). Repeatable.", metavar="FMT=PATH")


@unfold
def report(
    document: str = argument("A JSON result of analyze, stress, review, …", "RESULT"),
    *,
    out: list[str] | None = PAGE_FILES,
    paging: Paging,
    shared: PageShared,
) -> None:
    """Draw a result, a stress test, a review, a comparison or a score card as one HTML page.

    Everything on it is in the document: nothing is read or computed again. Without --out it goes to standard output.

    Examples:
        advisor analyze --sample footrace --out json=result.json -q
        advisor report result.json --out html=report.html
        advisor report result.json --out html-dir=report --theme dark --sections verdict,scheme
    """
    check_files((document, "RESULT"))
    targets = parse_targets(out or (), inputs=(Path(document),), formats=PageFormat)
    on_stdout(targets, shared.format, PageFormat.html)
    options = paging.options()
    piped = not targets or any(target.path is None for target in targets)
    if piped and is_terminal(sys.stdout):
        raise UsageError("a page is not for a terminal", where="--out", fix="for example: --out html=report.html")
    from pkadvisor.usecases.report import document_of

    stored = document_of(document)
    try:
        for target in targets:
            if target.path is not None:
                size = write_page(target.path, stored, options, folder=target.format is PageFormat.html_dir)
                say(f"wrote {target.path} ({size_text(size)})", color=shared.color)
        written = [target.path for target in targets if target.path is not None]
        if written:
            say_next(f"open {written[0]} in a browser; it needs no server", shared, written=True)
        if piped:
            write_bytes(page_of(stored, options))
    except InputError as error:  # of what is looked up by its name, something is not there
        raise InputError(error.what, where=document, fix=error.fix) from None

"""The result of an analysis as text for a terminal: the verdict first, the details where they are asked for.

Keys are never cut. Where a line is too narrow it folds; below 60 columns everything is one record per block.
"""

from __future__ import annotations

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.report.summary.summary import summarize
from pkadvisor.report.text.details import write_details
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.verdict_page import write_summary


def render_text(
    document: AnalysisDocument,
    *,
    width: int,
    color: bool,
    ascii_only: bool,
    verbose: bool = False,
    details: bool = False,
    inputs: str = "",
) -> str:
    """The page. A pure function of its arguments; it holds no control characters but line ends and, with ``color``,
    colour codes of its own; ``ascii_only`` writes everything else as escapes.

    ``details``: all that the verdicts rest on, below them; ``verbose``: with every term and its source. ``inputs``: the
    files and options of the command, for the commands that the page proposes.
    """
    page = Page(max(24, width), color, ascii_only)
    write_summary(page, summarize(document, inputs))
    if details or verbose:
        page.line()
        write_details(page, document, verbose)
    return "\n".join(page.lines).rstrip("\n") + "\n"

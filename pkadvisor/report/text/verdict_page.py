"""The first page of an analysis: the verdict on each table in at most 16 lines of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.numbers import percent, plural
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.escapes import fold
from pkadvisor.report.summary.figures import BREAKS, READ, ROWS, FigureRow, Figures
from pkadvisor.report.summary.summary import Keys, ShownIndexRow, Summary, TableSummary, summarize
from pkadvisor.report.text.details import write_details
from pkadvisor.report.text.page import Page

LINES_MAX = 16
"""Lines of a table, on a page that is as wide as ``WIDE``; on a narrower one nothing is left out."""
WIDE = 80
WIDER = 100
"""From this width on there is a line more: for the current keys."""
LABEL, CELL = 28, 12
PROSE_LEAST = 4
"""Sentences below the figures that no key crowds out."""
COMMAND_LENGTH = 400
PROVES = "advisor stress"


def write_summary(page: Page, summary: Summary) -> None:
    """Each table that is shown in full, a line for each of the others, and what all of them break together."""
    for number, table in enumerate(summary.shown):
        if number:
            page.line()
        page.lines += table_lines(page, table)
    if summary.others:
        page.line()
    for table in summary.others:
        page.lines.append(_one_line(page, table))
    if summary.together:
        page.line()
    for sentence in summary.together:
        page.wrapped(sentence, "", "  ", "bad")


def table_lines(page: Page, table: TableSummary) -> list[str]:
    """The lines of one table: verdict, keys, figures before and after, reason, confidence, caveat, what comes next."""
    head = page.style(_headline(page, table), table.style)
    cells = figure_lines(page, table.designs)
    after = sentence_lines(page, "next:", table.give) if table.give else next_lines(page, table.next_command)
    prose = [sentence_lines(page, f"{label}:", text) for label, text in table.prose]
    short = [sentence_lines(page, f"{label}:", text) for label, text in table.prose_in_short]
    keys = [] if table.keys is None else key_lines(page, table.keys)
    names = [_one(page, page.exact(f"  {table.key_names}"))] if table.key_names else []
    now = [_current_line(page, table.keys_now)] if table.keys_now else []
    keys += [_hot_key(page, key.of, key.share, key.partition_key) for key in table.hot_keys]
    if page.width >= WIDE:
        room = LINES_MAX - 1 - len(cells) - len(names) + (page.width >= WIDER)
        after = shortened(page, after, 3)
        keys = _as_fit(keys, room - len(after) - min(len(prose), PROSE_LEAST))
        prose, now = _beside(page, now, prose, short, room - len(after) - sum(map(len, keys)))
    return [
        head,
        *(line for block in keys for line in block),
        *now,
        *names,
        *cells,
        *(line for block in prose for line in block),
        *after,
    ]


def _beside(
    page: Page, now: list[str], prose: list[list[str]], short: list[list[str]], left: int
) -> tuple[list[list[str]], list[str]]:
    """The sentences in ``left`` lines, and the line of the current keys where no sentence has to give way to it."""

    def shared(lines: int) -> list[list[str]]:
        return _share_out(page, (prose if sum(map(len, prose)) <= lines else short)[:lines], lines)

    fewer = shared(left - len(now))
    whole = left > len(now) and len(fewer) >= len(short) and not any(block[-1].endswith(" ...") for block in fewer)
    return (fewer, now) if whole else (shared(left), [])


def _headline(page: Page, table: TableSummary) -> str:
    text = page.words(f"{table.headline}   {table.title}")
    if table.read is not None:
        read, total = table.read
        more = f"   (sample: {read:,} of {total:,} entities)"
        text += more if len(text) + len(more) <= page.width else ""
    return text if len(text) <= page.width else f"{text[: page.width - 3]}..."


def _one_line(page: Page, table: TableSummary) -> str:
    """A table without figures; its keys where they fit into the line."""
    text = page.words(f"{table.headline}   {table.title}")
    keys = table.keys
    if keys is not None:
        rows = f" + {plural(len(keys.index_rows), 'index row')}" if keys.index_rows else ""
        more = page.exact(f"   {quoted(keys.partition_key)} | {quoted(keys.row_key)}{rows}")
        text += more if len(text) + len(more) <= page.width else "   (--table shows it)"
    return page.style(text if len(text) <= page.width else f"{text[: page.width - 3]}...", table.style)


# -- keys -------------------------------------------------------------------------------------------------------------


def key_lines(page: Page, keys: Keys) -> list[list[str]]:
    """The main key, then each index row, as blocks of lines; nothing of a key is cut."""
    main = [*_record(page, "PartitionKey", quoted(keys.partition_key)), *_record(page, "RowKey", quoted(keys.row_key))]
    return [main, *(_index_row(page, row) for row in keys.index_rows)]


def _current_line(page: Page, keys: Keys) -> str:
    """The keys that others are advised for, on one line: nobody copies them."""
    rows = f" + {plural(len(keys.index_rows), 'index row')}" if keys.index_rows else ""
    text = page.exact(f"  {'current':<14} {quoted(keys.partition_key)} | {quoted(keys.row_key)}{rows}")
    return _one(page, text)


def _one(page: Page, text: str) -> str:
    """A text on one line, cut where it is too long, that nobody copies."""
    return page.style(text if len(text) <= page.width else f"{text[: page.width - 3]}...", "dim")


def _index_row(page: Page, row: ShownIndexRow) -> list[str]:
    about = ["index row", "full copy" if row.copy == "full" else "pointer"]
    if row.atomic:
        return _record(page, "+ RowKey", quoted(row.row_key), [*about, "same partition"])
    first = _record(page, "+ PartitionKey", quoted(row.partition_key), about)
    return [*first, *_record(page, "  RowKey", quoted(row.row_key))]


def _record(page: Page, label: str, key: str, about: Sequence[str] = ()) -> list[str]:
    """A key behind its label; what is said about it stands behind it as far as the line holds it."""
    head = f"  {label:<14} "
    room = max(12, page.width - len(head))
    pieces = fold(page.exact(key), room, conditions=False) or [""]
    for said in (about, [*about[:1], *about[2:]], about[:1]):
        more = f"   ({', '.join(said)})"
        if said and len(pieces[-1]) + len(more) <= room:
            pieces[-1] += page.style(more, "dim")
            break
    return [head + pieces[0], *(" " * len(head) + piece for piece in pieces[1:])]


def _hot_key(page: Page, of: str, share: float, key: str) -> list[str]:
    return _record(page, f"{percent(share)} of {of}", quoted(key))


def _as_fit(blocks: list[list[str]], room: int) -> list[list[str]]:
    """As many blocks as there is room for; a line says how many are left out."""
    if sum(map(len, blocks)) <= room:
        return blocks
    out: list[list[str]] = []
    for block in blocks:
        if sum(map(len, out)) + len(block) > room - 1:
            break
        out.append(block)
    left = len(blocks) - len(out)
    what = f"and {plural(left, 'more index row')}" if out else "The keys are too long for this page"
    return [*out, [f"  {what}: --details shows {'them' if not out or left > 1 else 'it'}."]]


# -- before and after -------------------------------------------------------------------------------------------------


_SHORTENED: tuple[tuple[FigureRow, ...], ...] = ((), (BREAKS,), (BREAKS, READ), ROWS)
"""Rows that lose what stands in brackets, fewest first, until the columns are narrow enough."""


def figure_lines(page: Page, designs: Sequence[tuple[str, Figures]]) -> list[str]:
    """A column for each design, under its name, with the cause of each first limit; without what stands in brackets,
    then without the causes of the designs that stand first, where that makes the columns fit."""
    if not designs:
        return []
    for left_out in range(len(designs) + 1):
        for shortened_rows in _SHORTENED:
            columns = [_cells(design, shortened_rows, number >= left_out) for number, design in enumerate(designs)]
            widths = [max(CELL, *map(len, column)) for column in columns]
            if LABEL + sum(width + 2 for width in widths) <= page.width:
                return _columns(page, columns, widths)
    return _narrow_figures(page, designs)


def _cells(design: tuple[str, Figures], shortened_rows: Sequence[FigureRow], with_cause: bool) -> list[str]:
    """The cells of a design, its name first."""
    name, figures = design
    cells = [row.show(figures).partition(" (")[0] if row in shortened_rows else row.show(figures) for row in ROWS]
    return [name, *cells[:-1], cells[-1] + (_cause(figures) if with_cause else "")]


def _columns(page: Page, columns: list[list[str]], widths: list[int]) -> list[str]:
    """The columns side by side, behind their labels."""
    lines = []
    for label, *cells in zip(["", *(row.label for row in ROWS)], *columns, strict=True):
        row = "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append(page.style(page.words(f"  {label:<{LABEL}}{row}".rstrip()), "" if label else "head"))
    return lines


def _cause(figures: Figures) -> str:
    return "" if figures.first_break is None else f": {figures.first_break.cause_short}"


def _narrow_figures(page: Page, designs: Sequence[tuple[str, Figures]]) -> list[str]:
    """Each figure with a line for each design."""
    lines = []
    for row in ROWS:
        lines.append(page.words(f"  {row.label}"))
        for name, figures in designs:
            head = f"    {name:<12}"
            more = _cause(figures) if row is BREAKS else ""
            pieces = fold(page.words(row.show(figures) + more), max(12, page.width - len(head)))
            lines += [head + pieces[0], *(" " * len(head) + piece for piece in pieces[1:])]
    return lines


# -- sentences --------------------------------------------------------------------------------------------------------


def sentence_lines(page: Page, label: str, text: str) -> list[str]:
    """A sentence behind its label, folded below itself."""
    head = f"  {label} "
    return textwrap.wrap(
        page.words(text),
        max(20, page.width),
        initial_indent=head,
        subsequent_indent="    ",
        break_long_words=True,
        break_on_hyphens=False,
    ) or [head.rstrip()]


def next_lines(page: Page, command: str) -> list[str]:
    """The next command on one line, however long its file names are: a command in two lines cannot be pasted, and a
    page hangs on no path. Beyond ``COMMAND_LENGTH`` characters only which command it is."""
    text = page.exact(command)
    if len(text) > COMMAND_LENGTH:
        text = f"{' '.join(command.split(' ')[:2])}, with the files and options of this command"
    if command.startswith(PROVES):
        more = "   # simulates the load on these keys"
        text += more if len(text) + len(more) + 8 <= page.width else ""
    return [f"  next: {text}"]


def _share_out(page: Page, blocks: list[list[str]], room: int) -> list[list[str]]:
    """Each block with its first line, then as many more as there is room for: those of questions first, which nobody
    can answer from their beginning, then in their order."""
    more = room - len(blocks)
    lines = [1] * len(blocks)
    for number in sorted(range(len(blocks)), key=lambda n: not blocks[n][-1].endswith("?")):
        lines[number] = min(len(blocks[number]), 1 + max(0, more))
        more -= lines[number] - 1
    return [shortened(page, block, count) for block, count in zip(blocks, lines, strict=True)]


def shortened(page: Page, block: list[str], lines: int) -> list[str]:
    """The first lines of a block, up to the last sentence or clause that they hold whole; dots where they hold none."""
    if len(block) <= lines:
        return block
    for number in range(lines - 1, (lines - 1) // 2 - 1, -1):
        line = f"{block[number]} "
        end = max(line.rfind(mark) for mark in (". ", "; ", "? "))
        if end > (page.width // 3 if number == 0 else 4):
            head = "".join(block[:number]) + line[:end]
            bracket = ")" if head.count("(") > head.count(")") else ""
            return [*block[:number], line[:end] + bracket + ("?" if line[end] == "?" else ".")]
    last = block[lines - 1]
    cut = last if len(last) <= page.width - 4 else last[: page.width - 4].rpartition(" ")[0]
    return [*block[: lines - 1], f"{cut.rstrip(' .,;:')} ..."]


# -- The result of an analysis as text for a terminal: the verdict first, the details where they are asked for.


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

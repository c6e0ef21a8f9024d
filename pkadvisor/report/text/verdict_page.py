"""The first page of an analysis: the verdict on each table in at most 16 lines of 80 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.numbers import percent, plural
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.escapes import fold
from pkadvisor.report.summary.figures import BREAKS, READ, ROWS, FigureRow, Figures
from pkadvisor.report.summary.summary import (
    NOBODY_THROTTLED,
    SECOND_CAUTION,
    UNIQUE,
    Keys,
    ShownIndexRow,
    Summary,
    TableSummary,
    summarize,
)
from pkadvisor.report.text.details import write_details
from pkadvisor.report.text.page import Page
from pkadvisor.values import dataclass

LINES_MAX = 16
"""Lines of a table, on a page that is as wide as ``WIDE``; on a narrower one nothing is left out."""
WIDE = 80
WIDER = 100
"""From this width on there is a line more: for the current keys."""
LABEL, CELL = 28, 12
COMMAND_LENGTH = 400
HEAD_MOST = 2
"""Lines of a headline: a name that takes more is cut."""
GIVE_MOST = 6
"""Lines that say what to give next, from which on the details have it."""
PROVES = "advisor stress"
REMARK = "   # "
KEY_NAMES, CURRENT = "names in keys", "current keys"
IMPORTANCE = (
    *(UNIQUE, "Why", KEY_NAMES, "Caveat", "Throttled", "Confidence", "Check", "Changes if", SECOND_CAUTION),
    *(CURRENT, NOBODY_THROTTLED),
)
"""What stands beside the verdict, the keys, the figures and the next command, the most important first. Where the lines
do not suffice, index rows take one line each; then the least important of these is left out as a whole, and the last
line says so; at last the figures. What is there has its longest form that fits: no sentence is ever cut."""
BELOW = "    "
_PIECES = re.compile(r"(\{[^{}]*\})")
NAMED_MOST = 5
"""Parts that are left out and named."""
_PAIR = re.compile(r"\S+ \| \S+")
_NO_BREAK = "\xa0"
"""No text of a page holds one: it would be an escape."""
SILENT = (CURRENT, NOBODY_THROTTLED)
"""What no line tells to be missing: the figures have it, or a line of its own would not cost more."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that stand together or not at all, in each of their ``forms``, the fullest first."""

    name: str
    forms: tuple[tuple[str, ...], ...]
    label: str

    @property
    def least(self) -> tuple[str, ...]:
        """The form of fewest lines, the fullest of these."""
        return min(self.forms, key=len)


def write_summary(page: Page, summary: Summary, *, whole: bool = False) -> None:
    """Each table that is shown in full, a line for each of the others, and what all of them break together; ``whole``:
    in as many lines as it takes."""
    for number, table in enumerate(summary.shown):
        if number:
            page.line()
        page.lines += table_lines(page, table, whole=whole)
    if summary.others:
        page.line()
    for table in summary.others:
        page.lines.append(_one_line(page, table))
    if summary.together:
        page.line()
    for sentence in summary.together:
        page.wrapped(sentence, "", "  ", "bad")


def table_lines(page: Page, table: TableSummary, *, whole: bool = False) -> list[str]:
    """The lines of one table: verdict, keys, figures before and after, reason, confidence, caveat, what comes next."""
    head, cells, after = _headline(page, table), figure_lines(page, table.designs), _after(page, table)
    keys = Block("keys", _key_forms(page, table), "keys")
    blocks = {block.name: block for block in _blocks(page, table)}
    if whole or page.width < WIDE:
        shown = {name: block.forms[0] for name, block in blocks.items()}
        return _joined(head, keys.forms[0], cells, shown, after)
    room = LINES_MAX - len(head) - len(after) + (page.width >= WIDER)
    if len(keys.least) > room - 2:
        keys = Block("keys", (_as_fit(keys.least, room - 2),), "keys")
    left_out = ["figures"] if len(keys.least) + len(cells) > room - 1 - bool(blocks) else []
    cells = [] if left_out else cells
    for form in keys.forms:
        shown = _shown(blocks, room - len(cells) - len(form))
        missing = [*left_out, *_missing(blocks, shown)]
        if not missing:
            return _joined(head, form, cells, shown, after)
    told = _told(page, after, missing)
    if len(told) > len(after):
        shown = _shown(blocks, room - len(cells) - len(form) - 1)
        told = _told(page, after, [*left_out, *_missing(blocks, shown)])
    return _joined(head, form, cells, shown, told)


def _missing(blocks: Mapping[str, Block], shown: Mapping[str, object]) -> list[str]:
    """The labels of what is left out and must be told to be."""
    return [blocks[name].label for name in IMPORTANCE if name in blocks.keys() - shown.keys() - {*SILENT}]


def _told(page: Page, after: list[str], missing: Sequence[str]) -> list[str]:
    """The last lines with what the details add: behind the command, or on a line of its own where that is too long."""
    what = ", ".join(missing) if len(missing) <= NAMED_MOST else f"{missing[0]} and {len(missing) - 1} more parts"
    command = after[-1].partition(REMARK)[0]
    line = f"{command}{REMARK}--details adds: {what}"
    if command.startswith("  next: advisor") and len(line) <= page.width:
        return [*after[:-1], line]
    return [*after, f"  --details adds: {what}."]


def _joined(
    head: Sequence[str],
    keys: Sequence[str],
    cells: Sequence[str],
    shown: Mapping[str, Sequence[str]],
    after: Sequence[str],
) -> list[str]:
    """The lines in the order in which they are read."""
    lines = [*head, *keys, *shown.get(CURRENT, ()), *shown.get(KEY_NAMES, ()), *cells]
    lines += [line for name, block in shown.items() if name not in (CURRENT, KEY_NAMES) for line in block]
    return [*lines, *after]


def _shown(blocks: Mapping[str, Block], room: int) -> dict[str, tuple[str, ...]]:
    """The blocks that fit into so many lines, in the order in which they are read: the most important ones in their
    shortest forms, then longer ones as long as there are lines, then what nobody would miss."""
    chosen: dict[str, tuple[str, ...]] = {}
    told = [name for name in IMPORTANCE if name in blocks and name not in SILENT]
    for name in (*told, *told, *(name for name in SILENT if name in blocks)):
        had = len(chosen[name]) if name in chosen else 0
        forms = blocks[name].forms if had else (blocks[name].least,)
        best = next((form for form in forms if len(form) - had <= room), None)
        if best is not None:
            room -= len(best) - had
            chosen[name] = best
    return {name: chosen[name] for name in blocks if name in chosen}


def _blocks(page: Page, table: TableSummary) -> list[Block]:
    """What IMPORTANCE names, as far as there is something to say, in the order in which it is read."""
    out = []
    if table.keys_now:
        out.append(Block(CURRENT, (tuple(_current_lines(page, table.keys_now)),), CURRENT))
    if table.key_names:
        out.append(Block(KEY_NAMES, tuple(tuple(_dim_lines(page, text)) for text in table.key_names), KEY_NAMES))
    for sentence in table.prose:
        forms = tuple(tuple(sentence_lines(page, f"{sentence.label}:", text)) for text in sentence.forms)
        out.append(Block(sentence.name, forms, sentence.label))
    return out


def _after(page: Page, table: TableSummary) -> list[str]:
    """What comes next: what to give, or a command."""
    give = sentence_lines(page, "next:", table.give) if table.give else []
    fits = len(give) <= GIVE_MOST or page.width < WIDE
    return give if give and fits else next_lines(page, table.next_command)


def _headline(page: Page, table: TableSummary) -> list[str]:
    """The verdict and the table's name, folded where the name is long."""
    text = page.words(f"{table.headline}   {table.title}")
    if table.read is not None:
        read, total = table.read
        more = f"   (sample: {read:,} of {total:,} entities)"
        text += more if len(text) + len(more) <= page.width else ""
    lines = [text] if len(text) <= page.width else textwrap.wrap(text, page.width, subsequent_indent="  ")
    if len(lines) > HEAD_MOST and page.width >= WIDE:
        lines = [*lines[: HEAD_MOST - 1], f"{lines[HEAD_MOST - 1][: page.width - 1]}{page.words('…')[:1]}"]
    return [page.style(line, table.style) for line in lines]


def _one_line(page: Page, table: TableSummary) -> str:
    """A table without figures; its keys where they fit into the line."""
    text = page.words(f"{table.headline}   {table.title}")
    keys = table.keys
    if keys is not None:
        rows = f" + {plural(len(keys.index_rows), 'index row')}" if keys.index_rows else ""
        more = page.exact(f"   {quoted(keys.partition_key)} | {quoted(keys.row_key)}{rows}")
        text += more if len(text) + len(more) <= page.width else "   (--table shows it)"
    return page.style(
        text if len(text) <= page.width else f"{text[: page.width - 1]}{page.words('…')[:1]}", table.style
    )


# -- keys -------------------------------------------------------------------------------------------------------------


def key_lines(page: Page, keys: Keys) -> list[list[str]]:
    """The main key, then each index row, as blocks of lines; nothing of a key is cut."""
    main = [*_record(page, "PartitionKey", quoted(keys.partition_key)), *_record(page, "RowKey", quoted(keys.row_key))]
    return [main, *(_index_row(page, row) for row in keys.index_rows)]


def _key_forms(page: Page, table: TableSummary) -> tuple[tuple[str, ...], ...]:
    """The keys to copy, or the hot ones of a log, in full and with index rows in one line each where that is less."""
    hot = [
        line
        for key in table.hot_keys
        for line in _record(page, f"{percent(key.share)} of {key.of} go to", quoted(key.partition_key))
    ]
    if table.keys is None:
        return (tuple(hot),)
    main, *rows = key_lines(page, table.keys)
    full = (*main, *(line for row in rows for line in row), *hot)
    one_each = [_index_row_in_one(page, row) for row in table.keys.index_rows]
    close = (*main, *(line for pair in zip(rows, one_each, strict=True) for line in min(pair, key=len)), *hot)
    return (full, close) if len(close) < len(full) else (full,)


def _current_lines(page: Page, keys: Keys) -> list[str]:
    """The keys that others are advised for: nobody copies them."""
    rows = f" + {plural(len(keys.index_rows), 'index row')}" if keys.index_rows else ""
    record = _record(page, "current", f"{quoted(keys.partition_key)} | {quoted(keys.row_key)}{rows}")
    return [page.style(line, "dim") for line in record]


def _dim_lines(page: Page, text: str) -> list[str]:
    """A text that nobody copies, folded."""
    wrapped = textwrap.wrap(
        page.exact(text), page.width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
    return [page.style(line, "dim") for line in wrapped]


def _index_row(page: Page, row: ShownIndexRow) -> list[str]:
    about = ["index row", _copied(row)]
    if row.atomic:
        return _record(page, "+ RowKey", quoted(row.row_key), [*about, "same partition"])
    first = _record(page, "+ PartitionKey", quoted(row.partition_key), about)
    return [*first, *_record(page, "  RowKey", quoted(row.row_key))]


def _index_row_in_one(page: Page, row: ShownIndexRow) -> list[str]:
    """An index row on one line, where the line holds it."""
    keys = f"{quoted(row.partition_key)} | {quoted(row.row_key)}"
    folded = _record(page, "+ index row", keys, [_copied(row)])
    labels = ("+ index row", "+ row") if row.copy == "full" else ("+ pointer row", "+ pointer")
    tight = [f"  {label} {page.exact(keys)}" for label in labels]
    return folded if len(folded) == 1 else next(([line] for line in tight if len(line) <= page.width), folded)


def _copied(row: ShownIndexRow) -> str:
    return "full copy" if row.copy == "full" else "pointer"


def _record(page: Page, label: str, key: str, about: Sequence[str] = ()) -> list[str]:
    """A key behind its label, or below it where one line holds it there and not here; what is said about it stands
    behind it as far as the line holds it."""
    head = f"  {label:<14} "
    text = page.exact(key)
    room = max(12, page.width - len(head))
    if room < len(text) <= page.width - len(BELOW):
        return [head.rstrip(), BELOW + text]
    pieces = _folded_key(text, room)
    for said in (about, [*about[:1], *about[2:]], about[:1]):
        more = f"   ({', '.join(said)})"
        if said and len(pieces[-1]) + len(more) <= room:
            pieces[-1] += page.style(more, "dim")
            break
    return [head + pieces[0], *(" " * len(head) + piece for piece in pieces[1:])]


def _folded_key(text: str, room: int) -> list[str]:
    """Lines of at most ``room`` characters; a piece in braces is broken only where no line holds it."""
    lines = [""]
    for piece in _PIECES.split(text):
        first, *rest = fold(piece, room, conditions=False) or [""]
        if len(lines[-1]) + len(first) <= room:
            lines[-1] += first
        else:
            lines.append(first)
        lines += rest
    return [line.rstrip() for line in lines if line.strip()] or [""]


def _as_fit(lines: tuple[str, ...], room: int) -> tuple[str, ...]:
    """As many lines as there is room for, and one that says that keys are left out."""
    return (
        lines
        if len(lines) <= room
        else (*lines[: room - 1], "  The keys are too long for this page: --details shows them.")
    )


# -- before and after -------------------------------------------------------------------------------------------------


_SHORTENED: tuple[tuple[FigureRow, ...], ...] = ((), (BREAKS,), (BREAKS, READ), ROWS)
"""Rows that lose what stands in brackets, fewest first, until the columns are narrow enough."""


def figure_lines(page: Page, designs: Sequence[tuple[str, Figures]]) -> list[str]:
    """A column for each design, under its name, with the cause of each first limit; without what stands in brackets,
    then without the causes of the designs that bear most, where that makes the columns fit."""
    if not designs:
        return []
    by_room = sorted(designs, key=lambda design: -(design[1].first_break.factor if design[1].first_break else 0.0))
    for left_out in range(len(designs) + 1):
        for shortened_rows in _SHORTENED:
            columns = [_cells(design, shortened_rows, design not in by_room[:left_out]) for design in designs]
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
    """A sentence behind its label, folded below itself; a pair of keys stays on one line where one holds it."""
    head, hanging = f"  {label} ", "    "
    bound = _PAIR.sub(
        lambda pair: pair[0].replace(" ", _NO_BREAK) if len(pair[0]) <= page.width - len(hanging) else pair[0],
        page.words(text),
    )
    lines = textwrap.wrap(
        bound,
        max(20, page.width),
        initial_indent=head,
        subsequent_indent=hanging,
        break_long_words=True,
        break_on_hyphens=False,
    )
    return [line.replace(_NO_BREAK, " ") for line in lines] or [head.rstrip()]


def next_lines(page: Page, command: str) -> list[str]:
    """The next command on one line, however long its file names are: a command in two lines cannot be pasted, and a
    page hangs on no path. Beyond ``COMMAND_LENGTH`` characters only which command it is."""
    text = page.exact(command)
    if len(text) > COMMAND_LENGTH:
        text = f"{' '.join(command.split(' ')[:2])}, with the files and options of this command"
    if command.startswith(PROVES):
        more = f"{REMARK}simulates the load on these keys"
        text += more if len(text) + len(more) + 8 <= page.width else ""
    return [f"  next: {text}"]


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
    write_summary(page, summarize(document, inputs), whole=details or verbose)
    if details or verbose:
        page.line()
        write_details(page, document, verbose)
    return "\n".join(page.lines).rstrip("\n") + "\n"

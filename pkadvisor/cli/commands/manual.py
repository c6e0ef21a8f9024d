"""``advisor manual``: the pages of the manual, as they are shipped in ``pkadvisor/manual``."""

from __future__ import annotations

import io
import json
import re
import sys
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pkadvisor.cli.console import escape_page, is_terminal, make_console, wants_color, write_bytes, write_text
from pkadvisor.cli.shared import Format, Shared, argument, option, page_words, unfold
from pkadvisor.errors import UsageError
from pkadvisor.manual import PAGES, near_pages, page_text, title_and_summary

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.markdown import Markdown

STYLES: Final = {"markdown.code": "bold", "markdown.table.border": "none", "markdown.table.header": "bold"}
_LINK = re.compile(r"\[([^]]+)\]\(([a-z-]+)\.md(?:#[\w-]*)?\)")


@unfold
def manual(
    page: str | None = argument("The name of a page.", "PAGE", None, autocompletion=page_words),
    *,
    raw: bool = option("Print Markdown on a terminal too.", False),
    shared: Shared,
) -> None:
    """List the pages of the manual, or print one of them.

    A terminal shows a page as plain text. A pipe or a file gets its Markdown.

    Examples:
        advisor manual
        advisor manual quick-start
        advisor manual key-templates --format json
    """
    if page is None:
        _list(shared)
        return
    if page not in PAGES:
        near = near_pages(page)
        hint = (
            f"did you mean {' or '.join(repr(name) for name in near)}?" if near else "'advisor manual' lists the pages"
        )
        raise UsageError(f"there is no page '{page}'; {hint}", where="PAGE")
    text = page_text(page)
    if shared.format is Format.json:
        title, summary = title_and_summary(page)
        _write_json({"page": page, "title": title, "summary": summary, "markdown": text})
    elif raw or not is_terminal(sys.stdout):
        write_bytes(text.encode("utf-8"))
    else:
        color = wants_color(shared.color, terminal=True)
        write_text(escape_page(plain_text(text, color=color, encoding=sys.stdout.encoding), color=color))


def plain_text(markdown: str, *, color: bool, encoding: str = "utf-8") -> str:
    """A page as it reads on a terminal of this width, in the characters of ``encoding``; no cell of a table is cut."""
    from rich.theme import Theme

    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", newline="\n")
    console = make_console(stream, color=color)
    with console.use_theme(Theme(STYLES)):
        console.print(_page(_LINK.sub(r"\1 (`advisor manual \2`)", markdown)), soft_wrap=False)
    stream.seek(0)
    return "\n".join(line.rstrip() for line in stream.read().splitlines()) + "\n"


def _page(markdown: str) -> Markdown:
    """The page as the library draws it, but for its headings and tables."""
    from rich.markdown import Heading, Markdown, TableElement
    from rich.table import Table
    from rich.text import Text

    class LeftHeading(Heading):
        """A heading at the left edge; the library's own stands in the middle."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            yield Text(str(self.text), style="bold")

    class WholeTable(TableElement):
        """A table that goes on in the next line where the library's own cuts a long word."""

        def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
            for table in super().__rich_console__(console, options):
                if isinstance(table, Table):
                    for column in table.columns:
                        column.overflow = "fold"
                yield table

    class ManualPage(Markdown):
        elements: ClassVar = {**Markdown.elements, "heading_open": LeftHeading, "table_open": WholeTable}

    return ManualPage(markdown, hyperlinks=False, code_theme="ansi_dark")


def _list(shared: Shared) -> None:
    pages = [(page, *title_and_summary(page)) for page in PAGES]
    if shared.format is Format.json:
        _write_json({"pages": [{"page": page, "title": title, "summary": about} for page, title, about in pages]})
        return
    width = max(len(page) for page in PAGES)
    write_text("\n".join(f"{page:<{width}}  {about}" for page, _, about in pages))


def _write_json(document: dict[str, Any]) -> None:
    write_bytes(json.dumps({"schema_version": 1, **document}, indent=2, ensure_ascii=False).encode())

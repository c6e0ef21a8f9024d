"""The HTML page of a document, from the options of a command line to files."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from pkadvisor.cli import console
from pkadvisor.cli.output import OutputTarget, size_text, write_whole
from pkadvisor.cli.shared import ResultFormat, Shared, option
from pkadvisor.errors import UsageError
from pkadvisor.report.html.options import MIN_BYTES, HtmlOptions
from pkadvisor.values import dataclass

Renderer = Callable[[Any, Shared, bool], bytes]
"""Makes a document into the bytes of a file, or of standard output if its last argument is true."""
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(B|kB|MB)?", re.IGNORECASE)
_UNITS = {"": 1, "b": 1, "kb": 1000, "mb": 1_000_000}
PAGES = ("html", "html-dir")
"""Formats that are drawn here, for every command alike."""


class Theme(StrEnum):
    auto = "auto"
    light = "light"
    dark = "dark"


@dataclass(frozen=True, slots=True)
class Paging:
    """How an HTML page is drawn: the commands that can write one."""

    title: str | None = option("HTML: the title of the page.", metavar="TEXT")
    theme: Theme = option("HTML: colours; auto is the reader's own choice.", Theme.auto)
    sections: str | None = option("HTML: only these, e.g. verdict,candidates.", metavar="NAMES")
    max_size: str = option("HTML: a larger page is reduced, and says so.", "1500kB", metavar="SIZE")

    def options(self) -> HtmlOptions:
        """Checked, but for the names of sections: those depend on what is drawn."""
        if self.sections is not None and not self.sections.replace(",", "").strip():
            fix = "name some, e.g. verdict,candidates, or leave it out for all"
            raise UsageError("no section is named", where="--sections", fix=fix)
        return HtmlOptions(
            title=self.title or None,
            theme=str(self.theme),
            max_bytes=parse_size(self.max_size),
            sections=tuple(name.strip() for name in (self.sections or "").split(",") if name.strip()),
        )


def parse_size(text: str) -> int:
    """``1500kB`` or ``1.5 MB`` as bytes; UsageError for anything else or for less than a page needs."""
    match = _SIZE.fullmatch(text.strip())
    size = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else 0
    if not MIN_BYTES <= size <= 1e9:
        what = f"'{text}' is not a size" if match is None else f"a page cannot be held in {text}"
        raise UsageError(what, where="--max-size", fix=f"for example: 1500kB; at least {size_text(MIN_BYTES)}")
    return int(size)


def deliver(
    document: Any,
    targets: Sequence[OutputTarget[ResultFormat]],
    page: ResultFormat,
    renderers: Mapping[ResultFormat, Renderer],
    options: HtmlOptions,
    shared: Shared,
) -> None:
    """Write every file and folder, and say so; then standard output in the format ``page``.

    The text that standard output has by itself is left out where files are written and ``--quiet`` is given.
    """
    for target in targets:
        if target.path is not None:
            if target.format in PAGES:
                size = write_page(target.path, document, options, folder=target.format is ResultFormat.html_dir)
            else:
                content = renderers[target.format](document, shared, False)
                write_whole(target.path, content)
                size = len(content)
            console.say(f"wrote {target.path} ({size_text(size)})", color=shared.color)
    if shared.quiet and targets and page is ResultFormat.text and all(target.path is not None for target in targets):
        return
    if page in PAGES:
        console.write_bytes(page_of(document, options))
    elif page is ResultFormat.text:
        console.write_text(renderers[page](document, shared, True).decode())
    else:
        console.write_bytes(renderers[page](document, shared, True))


def text_page(draw: Callable[..., str], document: Any, shared: Shared, on_terminal: bool, **choices: Any) -> bytes:
    """A document as text: for standard output as wide and coloured as that is, for a file neither."""
    stream = sys.stdout if on_terminal else None
    color = on_terminal and console.wants_color(shared.color, terminal=console.is_terminal(stream))
    page = draw(
        document,
        width=console.width_of(stream) if on_terminal else console.PIPE_WIDTH,
        color=color,
        ascii_only=on_terminal and not console.speaks_unicode(stream),
        **choices,
    )
    text = console.escape_page(console.redact_result(page), color=color)
    return (text if text.endswith("\n") else f"{text}\n").encode("utf-8", "backslashreplace")


def write_page(path: Path, document: Any, options: HtmlOptions, *, folder: bool) -> int:
    """Write a page, or a page and its files into a folder; returns the bytes."""
    if not folder:
        content = page_of(document, options)
        write_whole(path, content)
        return len(content)
    from msgspec import to_builtins

    from pkadvisor.report.html.page import render_folder

    files = render_folder(console.without_secrets(to_builtins(document)), options)
    for name, content in files.items():
        write_whole(path / name, content)
    return sum(map(len, files.values()))


def page_of(document: Any, options: HtmlOptions) -> bytes:
    """The page of a document, without credentials."""
    from msgspec import to_builtins

    from pkadvisor.report.html.page import render_html

    return render_html(console.without_secrets(to_builtins(document)), options)

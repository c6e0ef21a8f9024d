"""Where a review goes: every format from the one document, several at once, files before the exit code is decided."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.cli.commands.analyze import parse_share
from pkadvisor.cli.commands.review_options import Reporting
from pkadvisor.cli.console import say, without_secrets, write_bytes, write_text
from pkadvisor.cli.output import OutputTarget, on_stdout, parse_targets, size_text, write_whole
from pkadvisor.cli.paging import PAGES, page_of, text_page, write_page
from pkadvisor.cli.shared import ReviewFormat, ReviewShared
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.documents.review import ReviewDocument


@dataclass(frozen=True, slots=True)
class Outputs:
    """What the command line asks for: files, the format of standard output, and how they are told."""

    targets: tuple[OutputTarget[ReviewFormat], ...]
    page: ReviewFormat
    shared: ReviewShared
    reporting: Reporting
    if_changed: float | None
    options: HtmlOptions

    @property
    def proposing(self) -> bool:
        """Whether any output names the keys to take instead, which are searched for: most of a review's time."""
        brief = {ReviewFormat.concise, *([] if self.reporting.details or self.shared.verbose else [ReviewFormat.text])}
        return self.reporting.annotate or not {self.page, *(target.format for target in self.targets)} <= brief


Renderer = Callable[["ReviewDocument", Mapping[str, str], Outputs, bool], bytes]
"""Makes a document into the bytes of a file, or of standard output if its last argument is true."""


def settle_outputs(
    reporting: Reporting, shared: ReviewShared, *, inputs: Sequence[str], options: HtmlOptions
) -> Outputs:
    """The options of the command line, checked before the work; ``inputs`` are files that no output may replace."""
    targets = parse_targets(reporting.out or (), inputs=[Path(path) for path in inputs], formats=ReviewFormat)
    page = on_stdout(targets, shared.format, ReviewFormat.text)
    share = None
    if reporting.if_changed is not None:
        share = parse_share(reporting.if_changed, where="--if-changed", example="2% or 0.02")
    return Outputs(targets, page, shared, reporting, share, options)


def deliver(document: ReviewDocument, outputs: Outputs) -> None:
    """Write every file, then standard output, then what goes beside it on standard error."""
    document = without_secrets(document)
    paths = {design.design: in_repository(design.design) for design in document.designs}
    shared, written = outputs.shared, list[Path]()
    for target in outputs.targets:
        if target.path is not None:
            if target.format in PAGES:
                folder = target.format is ReviewFormat.html_dir
                size = write_page(target.path, document, outputs.options, folder=folder)
            else:
                content = RENDERERS[target.format](document, paths, outputs, False)
                write_whole(target.path, content)
                size = len(content)
            written += [target.path] if target.format is ReviewFormat.markdown else []
            say(f"wrote {target.path} ({size_text(size)})", color=shared.color)
    silent = shared.quiet and outputs.targets and outputs.page is ReviewFormat.text
    if silent and all(target.path is not None for target in outputs.targets):
        return
    if outputs.page in PAGES:
        content = page_of(document, outputs.options)
    else:
        content = RENDERERS[outputs.page](document, paths, outputs, True)
    if outputs.page is ReviewFormat.azure:
        from pkadvisor.report.formats.annotations import azure_summary

        content += "".join(azure_summary(str(path.resolve())) for path in written).encode("utf-8", "backslashreplace")
    if outputs.page in (ReviewFormat.text, ReviewFormat.concise):
        if content:
            write_text(content.decode())
    elif content:
        write_bytes(content)
    _beside(document, paths, outputs)


def _beside(document: ReviewDocument, paths: Mapping[str, str], outputs: Outputs) -> None:
    """On standard error: annotations where asked for, and the verdict where standard output has none."""
    if outputs.reporting.annotate and outputs.page is not ReviewFormat.github and sys.stderr is not None:
        from pkadvisor.report.formats.annotations import render_github

        sys.stderr.write(render_github(document, paths))
        sys.stderr.flush()
    if outputs.page in (ReviewFormat.text, ReviewFormat.azure) or outputs.shared.quiet:
        return
    from pkadvisor.report.review_words import verdict

    say(verdict(document), color=outputs.shared.color)


def in_repository(design: str) -> str:
    """A design's path as its repository has it: relative to the folder with ``.git``, links resolved.

    Outside of a repository relative to the working folder; outside of that the bare name of the file.
    """
    try:
        path = Path(os.path.realpath(design))
        roots = [folder for folder in path.parents if (folder / ".git").exists()]
        root = roots[0] if roots else Path.cwd().resolve()
        return path.relative_to(root).as_posix()
    except (OSError, ValueError):  # elsewhere, or no path at all
        return os.path.basename(design) or design  # noqa: PTH119


def _text(document: ReviewDocument, paths: Mapping[str, str], outputs: Outputs, on_terminal: bool) -> bytes:
    from pkadvisor.report.text.review_page import render_review

    return text_page(
        render_review,
        document,
        outputs.shared,
        on_terminal,
        verbose=outputs.shared.verbose,
        show_suppressed=outputs.reporting.show_suppressed,
        errors_shown=on_terminal,
        details=outputs.reporting.details,
    )


def _made_by(module: str, name: str, *, with_paths: bool = True) -> Renderer:
    """A function below ``pkadvisor.report`` that makes a document, ``with_paths`` of its designs, into a format; its
    module is imported once the format is wanted."""

    def render(document: ReviewDocument, paths: Mapping[str, str], outputs: Outputs, on_terminal: bool) -> bytes:
        made = getattr(import_module(f"pkadvisor.report.{module}"), name)
        content = made(document, paths) if with_paths else made(document)
        return content.encode() if isinstance(content, str) else bytes(content)

    return render


def _markdown(document: ReviewDocument, paths: Mapping[str, str], outputs: Outputs, on_terminal: bool) -> bytes:
    from pkadvisor.report.formats.review_markdown import render_markdown

    return render_markdown(document, paths, if_changed=outputs.if_changed).encode()


RENDERERS: dict[ReviewFormat, Renderer] = {
    ReviewFormat.text: _text,
    ReviewFormat.concise: _made_by("text.review_page", "render_concise", with_paths=False),
    ReviewFormat.json: _made_by("documents.review_result", "dump", with_paths=False),
    ReviewFormat.sarif: _made_by("formats.sarif", "render_sarif"),
    ReviewFormat.junit: _made_by("formats.junit", "render_junit"),
    ReviewFormat.github: _made_by("formats.annotations", "render_github"),
    ReviewFormat.azure: _made_by("formats.annotations", "render_azure"),
    ReviewFormat.gitlab: _made_by("formats.annotations", "render_gitlab"),
    ReviewFormat.markdown: _markdown,
}

"""``advisor samples``: the bundled data sets that every example runs on."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from pkadvisor.cli.console import escape, say, write_text
from pkadvisor.cli.inputs import BundledSample, load_sample, sample_names
from pkadvisor.cli.output import write_whole
from pkadvisor.cli.shared import Format, Shared, argument, option, sample_words, say_next, unfold
from pkadvisor.errors import UsageError


@unfold
def list_samples(*, shared: Shared) -> None:
    """Name the bundled samples.

    Examples:
        advisor samples list
        advisor samples list --format json
    """
    samples = [load_sample(name) for name in sample_names()]
    if shared.format is Format.json:
        rows = [
            {"name": s.name, "title": s.title, "description": s.description, "rows": s.rows, "licence": s.licence}
            for s in samples
        ]
        write_text(json.dumps({"schema_version": 1, "samples": rows}, indent=2))
        return
    width = max((len(s.name) for s in samples), default=0)
    for sample in samples:
        rows_text = f"{sample.rows:,} rows" if sample.rows is not None else "log only"
        write_text(escape(f"{sample.name:<{width}}  {rows_text:>12}  {sample.title}"))
        if shared.verbose:
            write_text(escape(f"{'':<{width}}  {'':>12}  {sample.description} {sample.licence}"))
    say_next("advisor analyze --sample footrace, or advisor samples write NAME DIR to have the files", shared)


@unfold
def write_sample(
    name: str = argument("A name from 'advisor samples list'.", "NAME", autocompletion=sample_words),
    folder: str = argument("Where to put the files; created if missing.", "DIR"),
    *,
    force: bool = option("Overwrite files of the same names.", False),
    shared: Shared,
) -> None:
    """Copy a bundled sample into a folder, to look at and to change.

    Examples:
        advisor samples write footrace race
        advisor samples write footrace race --force
    """
    sample = load_sample(name)
    goal = Path(folder)
    if goal.exists() and not goal.is_dir():
        raise UsageError(f"{goal} is a file", where="DIR", fix="name a folder")
    files = [path for path in sorted(sample.folder.rglob("*")) if path.is_file()]
    taken = [path for path in files if (goal / path.relative_to(sample.folder)).exists()]
    if taken and not force:
        raise UsageError(
            f"{goal / taken[0].relative_to(sample.folder)} exists already", where="DIR", fix="--force overwrites it"
        )
    for path in files:
        write_whole(goal / path.relative_to(sample.folder), path.read_bytes())
    written = [str(goal / path.relative_to(sample.folder)) for path in files]
    if shared.format is Format.json:
        write_text(json.dumps({"schema_version": 1, "wrote": written}, indent=2))
    if not shared.quiet:
        say(f"wrote {len(written)} files to {goal}", color=shared.color)
    say_next(f"advisor analyze {_files(sample, goal)}", shared, written=True)


def _files(sample: BundledSample, goal: Path) -> str:
    """The copied files as a command line names them."""
    from pkadvisor.observe.data.dataset import split_kind

    def copied(text: str) -> str:
        kind, path = split_kind(text)
        moved = str(goal / Path(path).relative_to(sample.folder))
        return moved if kind is None else f"{kind}={moved}"

    words = [copied(text) for text in sample.data]
    words += [word for log in sample.logs for word in ("--log", copied(log))]
    words += ["--design", copied(sample.design)] if sample.design is not None else []
    return shlex.join(words)

"""Where results go: ``FMT=PATH`` or ``FILE.FMT`` targets, checked before the work and written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.values import dataclass

STDOUT = "-"
FOLDER = "html-dir"
"""The one format that is a folder of files."""
ENDINGS = {"txt": "text", "xml": "junit"}
"""Endings of files that are not the name of their format."""
F = TypeVar("F", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class OutputTarget(Generic[F]):
    """One ``--out``; ``path`` is None for standard output."""

    format: F
    path: Path | None


def parse_targets(texts: Iterable[str], *, inputs: Iterable[Path], formats: type[F]) -> tuple[OutputTarget[F], ...]:
    """``--out`` options as targets in the formats of a command; the ending of a file names its format where ``FMT=`` is
    left out. UsageError for an unknown format, a double or a dangerous path."""
    sources = tuple(inputs)
    targets: list[OutputTarget[F]] = []
    for text in texts:
        known = {**formats.__members__, **{str(member): member for member in formats}}
        name, equals, path = text.partition("=")
        if not equals:
            ending = Path(text).suffix.removeprefix(".")
            name, path = ENDINGS.get(ending, ending), text
            if name not in known:
                fix = f"name one of {', '.join(formats)}, for example: --out json=result.json"
                raise UsageError(f"the ending of '{text}' names no format", where="--out", fix=fix)
        if not path:
            raise UsageError(f"'{text}' names no file", where="--out", fix=f"for example: --out {name}=FILE")
        if name not in known:
            hint = did_you_mean(name, tuple(formats))
            raise UsageError(
                f"there is no format '{name}'" + (f"; {hint}" if hint else ""),
                where="--out",
                fix=f"formats: {', '.join(formats)}",
            )
        if name == FOLDER and (path == STDOUT or Path(path).is_file()):
            what = "standard output cannot carry a folder" if path == STDOUT else f"{path} is a file"
            raise UsageError(what, where="--out", fix="for example: --out html-dir=report")
        place = None if path == STDOUT else check_path(path, inputs=sources, folder=name == FOLDER)
        target = OutputTarget(known[name], place)
        if any(target.path == other.path for other in targets):
            raise UsageError(f"{path} is named twice", where="--out", fix="give every output a place of its own")
        targets.append(target)
    return tuple(targets)


def on_stdout(targets: Iterable[OutputTarget[F]], given: F, usual: F) -> F:
    """The format of standard output: ``--out FMT=-`` decides, else ``given``; UsageError where both are asked for."""
    if given == FOLDER:
        raise UsageError("standard output cannot carry a folder", where="--format", fix="--out html-dir=FOLDER")
    named = next((target.format for target in targets if target.path is None), None)
    if named is not None and given not in (usual, named):
        raise UsageError(f"standard output cannot carry {given} and {named}", where="--out", fix="leave out --format")
    return named or given


def check_path(text: str, *, inputs: Iterable[Path], folder: bool = False) -> Path:
    """A path that may be written: neither a directory (unless a ``folder`` is wanted) nor one of the inputs, under
    whatever name."""
    path = Path(text)
    if path.is_dir() and not folder:
        raise UsageError(f"{path} is a directory", where="--out", fix="name a file in it")
    for source in inputs:
        if os.path.realpath(source) == os.path.realpath(path) or (
            path.exists() and source.exists() and path.samefile(source)
        ):
            raise UsageError(f"{path} is an input and is not overwritten", where="--out", fix="choose another name")
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the target, then replace it, so that no reader ever sees half a file.

    Parent folders are created; a link is followed; a device or named pipe is written directly.
    """
    temporary: Path | None = None
    try:
        target = Path(os.path.realpath(path))  # a loop of links is told when it is opened
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not target.is_file():
            target.write_bytes(content)
            return
        temporary = target.with_name(f".{target.name[:200]}.{os.getpid()}.tmp")
        with temporary.open("xb") as file:
            file.write(content)
        if target.exists():
            shutil.copymode(target, temporary)
        temporary.replace(target)
        temporary = None
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", where="--out") from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def size_text(count: int) -> str:
    """Bytes for people: ``812 B``, ``12 kB``, ``3.4 MB``."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 1_000_000 else f"{count / 1e6:.1f} MB"

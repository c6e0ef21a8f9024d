"""Which files a command line names: bundled samples, ``kind=PATH``, globs, and paths that cannot be."""

from __future__ import annotations

import errno
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from pkadvisor.cli.console import is_terminal
from pkadvisor.cli.shared import InputOptions
from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.resources import resource
from pkadvisor.values import dataclass

STDIN = "-"
# Options without a value.
FLAGS = (
    *("-q", "--quiet", "-v", "--verbose", "--no-progress", "--debug", "--isolated", "-h", "--help"),
    *("--find-limit", "--exit-zero", "--dry-run", "--details", "--engine"),
)


@dataclass(frozen=True, slots=True)
class BundledSample:
    """A bundled data set with its design; ``data`` and ``logs`` are absolute, ``kind=PATH`` where a kind is named."""

    name: str
    title: str
    description: str
    licence: str
    rows: int | None
    folder: Path
    data: tuple[str, ...]
    logs: tuple[str, ...]
    design: str | None


@dataclass(frozen=True, slots=True)
class Inputs:
    """The texts that a use case receives, checked so far as names can be."""

    data: tuple[str, ...]
    logs: tuple[str, ...]
    design: str | None
    profiles: tuple[str, ...]
    limits: tuple[str, ...]
    candidates: str | None = None

    def files(self) -> tuple[Path, ...]:
        """Every file named, globs resolved; standard input is not a file."""
        paths = (path for text in self.named() if text != STDIN for path in _expand(text))
        return tuple(path for path in paths if not path.is_dir())

    def named(self) -> list[str]:
        """The texts that name inputs, without the kind of a data file; ``-`` is standard input."""
        single = [text for text in (self.design, self.candidates) if text is not None]
        return [path_text(text) for text in self.data] + [*self.logs, *self.profiles, *self.limits, *single]


def sample_names() -> tuple[str, ...]:
    return tuple(sorted(path.parent.name for path in resource("samples").glob("*/sample.toml")))


def load_sample(name: str) -> BundledSample:
    """A bundled sample by name; UsageError with the nearest name if there is none."""
    names = sample_names()
    if name not in names:
        hint = did_you_mean(name, names)
        raise UsageError(
            f"there is no bundled sample '{name}'" + (f"; {hint}" if hint else ""),
            where="--sample",
            fix="advisor samples list names them all",
        )
    folder = resource("samples", name)
    about = tomllib.loads((folder / "sample.toml").read_text(encoding="utf-8"))
    return BundledSample(
        name=name,
        title=about["title"],
        description=about.get("description", ""),
        licence=about.get("licence", ""),
        rows=about.get("rows"),
        folder=folder,
        data=tuple(_within(folder, entry) for entry in about.get("data", ())),
        logs=tuple(_within(folder, entry) for entry in about.get("logs", ())),
        design=str(folder / about["design"]) if "design" in about else None,
    )


def _within(folder: Path, entry: str) -> str:
    kind, equals, file = entry.rpartition("=")
    return f"{kind}{equals}{folder / file}"


def settle(
    data: list[str] | None, reading: InputOptions, *, command: str, example: str = "", candidates: str | None = None
) -> Inputs:
    """The inputs of a command; UsageError when nothing is named or a name cannot be read."""
    given = Inputs(
        data=tuple(data or ()),
        logs=tuple(reading.log or ()),
        design=reading.design,
        profiles=tuple(reading.profile or ()),
        limits=tuple(str(path) for path in reading.limits or ()),
        candidates=candidates,
    )
    if reading.sample is not None:
        if given.data or given.logs or given.profiles:
            raise UsageError(
                "a bundled sample brings its own data and logs",
                where="--sample",
                fix="leave out either --sample or the files; --design may be combined with it",
            )
        sample = load_sample(reading.sample)
        given = Inputs(sample.data, sample.logs, given.design or sample.design, (), given.limits, candidates)
    if not (given.data or given.logs or given.profiles or given.design):
        raise UsageError(
            f"there is nothing to {command}: name data files, --log files or a --profile",
            fix=f"to see it work: advisor {example or command} --sample footrace",
        )
    _check_stdin(given, command)
    for text in given.data:
        _check(path_text(text), "DATA")
    for texts, where in ((given.logs, "--log"), (given.profiles, "--profile"), (given.limits, "--limits")):
        for text in texts:
            _check(text, where)
    for single, where in ((given.design, "--design"), (given.candidates, "--candidates")):
        if single is not None:
            _check(single, where)
    if given.candidates == STDIN:
        raise UsageError("standard input holds no candidates", where="--candidates", fix="name a file")
    return given


def design_files(texts: Sequence[str]) -> tuple[str, ...]:
    """The design files that paths and globs name, each once, in the order given; ``-`` is standard input.

    UsageError for an empty name, a glob that matches nothing, and a terminal as standard input. A path stays as it was
    typed, also where no file is: the review tells that about this one design.
    """
    _refuse_terminal(texts, "review", "design.yaml")
    out: dict[str, None] = {}
    for text in texts:
        if not text:
            raise UsageError("an empty file name", where="DESIGN", fix="a variable in your script may be unset")
        paths = [text] if text == STDIN else [str(path) for path in _expand(text)]
        if not paths:
            raise UsageError("no file matches", where=text, fix="'**' looks into folders, too")
        out |= dict.fromkeys(paths)
    return tuple(out)


def check_files(*named: tuple[str, str]) -> None:
    """UsageError for the first (name, what it is) that is no file to be read."""
    for text, where in named:
        if text == STDIN:
            raise UsageError("standard input cannot be read here", where=where, fix="name a file")
        _check(text, where)


def check_inputs(*named: tuple[str, str]) -> None:
    """UsageError for the first (file, folder of logs or glob, its option) that names nothing."""
    for text, where in named:
        _check(text, where)


def check_folders(*named: tuple[str, str]) -> None:
    """UsageError for the first (name, what it is) that is no folder."""
    for text, where in named:
        path = Path(text)
        try:
            there, folder = path.exists(), path.is_dir()
        except (OSError, ValueError):
            there = folder = False
        if not text or not folder:
            what = "this is not a folder" if there and text else f"there is no such folder{nearby(path)}"
            raise UsageError(what, where=f"{where} {text}".rstrip(), fix="name a folder")


def spread_logs(arguments: list[str]) -> list[str]:
    """``--log a.log b.log`` as ``--log a.log --log b.log``: what a shell makes of ``--log logs/*.log``.

    A file after ``--log LOG`` is a further log if the data is named elsewhere or if it ends like LOG;
    otherwise it is DATA, as in ``--log requests.log orders.csv``. ``kind=PATH`` is always DATA.
    """
    if arguments[:1] == ["init"]:
        return _spread_init(arguments)
    if not arguments or arguments[0] not in ("analyze", "compare", "explain", "profile", "score", "stress"):
        return arguments
    pieces: list[tuple[str, str]] = []  # each word with the log that it follows, if any
    log, takes_value, data_elsewhere, literal = "", "", False, False
    for word in arguments[1:]:
        if takes_value:
            log = word if takes_value == "--log" else ""
            takes_value = ""
            pieces.append((word, ""))
        elif not literal and word.startswith("-") and word != STDIN:
            literal = word == "--"
            log = ""
            takes_value = "" if word in (*FLAGS, "--") or "=" in word else word
            data_elsewhere = data_elsewhere or word.partition("=")[0] in ("--sample", "--profile")
            pieces.append((word, ""))
        else:
            data_elsewhere = data_elsewhere or not log
            pieces.append((word, log))
    spread = [arguments[0]]
    for word, before in pieces:
        further = before and path_text(word) == word and (data_elsewhere or _ending(word) == _ending(before))
        spread += ["--log", word] if further else [word]
    return spread


def _spread_init(arguments: list[str]) -> list[str]:
    """``--from a.csv b.csv`` and ``--log a.log b.log`` of 'advisor init': files that follow are further ones."""
    spread: list[str] = []
    option = ""
    for place, word in enumerate(arguments):
        follows = place > 1 and option and arguments[place - 1] not in ("--from", "--log")
        if word.startswith("-"):
            option = word if word in ("--from", "--log") else ""
        elif follows and (Path(path_text(word)).is_file() or (option == "--log" and Path(word).is_dir())):
            spread.append(option)
        spread.append(word)
    return spread


def _ending(name: str) -> str:
    """The suffix that tells what is in a file, without that of its compression."""
    path = Path(name)
    return Path(path.stem).suffix if path.suffix in (".gz", ".zst", ".bz2", ".xz") else path.suffix


def path_text(text: str) -> str:
    """The path in ``kind=PATH``; a file whose own name holds ``=`` is taken as it stands."""
    kind, equals, path = text.partition("=")
    return path if equals and kind.isidentifier() and not Path(text).exists() else text


def _check_stdin(given: Inputs, command: str) -> None:
    named = given.named()
    if named.count(STDIN) > 1:
        raise UsageError("standard input can be read once, and '-' was given several times", where=STDIN)
    _refuse_terminal(named, command, "data.csv")


def _refuse_terminal(named: Sequence[str], command: str, file: str) -> None:
    if STDIN in named and is_terminal(sys.stdin):
        raise UsageError(
            "'-' reads standard input, and that is this terminal",
            where=STDIN,
            fix=f"pipe a file in, for example: advisor {command} - < {file}",
        )


def _check(text: str, where: str) -> None:
    if text == STDIN:
        return
    if not text:
        raise UsageError("an empty file name", where=where, fix="a variable in your script may be unset")
    paths = _expand(text)
    if not paths:
        raise UsageError("no file matches", where=_place(where, text))
    for path in paths:
        try:
            if _links_in_a_circle(path):
                what = "this is a symbolic link to itself, or through others"
                raise UsageError(what, where=_place(where, path), fix="name the file")
            if not path.exists():
                raise UsageError(f"there is no such file{nearby(path)}", where=_place(where, path))
            if path.is_dir() and where == "--log":
                from pkadvisor.observe.data.streams import files_below

                if not files_below(path):
                    raise UsageError("there is no file in this folder", where=_place(where, path))
            elif path.is_dir():
                raise UsageError(
                    "this is a directory",
                    where=_place(where, path),
                    fix="name its files; a quoted glob such as 'DIR/*.csv' will do",
                )
        except (OSError, ValueError) as error:  # a name too long, a null character, a folder that may not be entered
            raise UsageError(f"this cannot be looked up: {error}", where=_place(where, path)) from error


def _links_in_a_circle(path: Path) -> bool:
    try:
        path.stat()
    except OSError as error:
        return error.errno == errno.ELOOP
    return False


def _place(option: str, path: Path | str) -> str:
    return str(path) if option == "DATA" else f"{option} {path}"


def _expand(text: str) -> list[Path]:
    import glob

    try:
        literal = Path(text).exists()
    except (OSError, ValueError):
        literal = True
    if literal or not glob.has_magic(text):
        return [Path(text)]
    return [Path(path) for path in sorted(glob.glob(text, recursive=True)) if not Path(path).is_dir()]  # noqa: PTH207


def nearby(path: Path) -> str:
    """``; did you mean …`` from the names beside a missing file."""
    try:
        beside = [entry.name for entry in path.parent.iterdir() if entry.name != path.name][:1000]
    except OSError:
        return ""
    hint = did_you_mean(path.name, sorted(beside))
    return f"; {hint}" if hint else ""

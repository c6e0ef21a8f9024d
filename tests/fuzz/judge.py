"""One input, run and judged: an error says in four lines what is wrong, in bounded time and memory; nothing dies."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
import tempfile
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pkadvisor.cli.console import say_error
from pkadvisor.cli.main import _translate, main

READ_LIMIT_S = 10.0
COMMAND_LIMIT_S = 60.0
MEMORY_LIMIT_BYTES = 700 << 20
LINES_MOST = 4
LINE_MOST = 400
_ALLOWED_CODES = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class Failure:
    """What went wrong: a word for the kind of failure, the place in the code where one is known, and what was seen."""

    what: str
    place: str
    seen: str
    command: tuple[str, ...] = ()

    @property
    def signature(self) -> tuple[str, str, str]:
        """Failures of one cause have one signature."""
        return self.what, self.place, self.command[0] if self.command else ""


class TooLongError(BaseException):
    """The time of an input is over; no handler of exceptions holds it up."""


def judge_read(read: Callable[[Path], object], path: Path) -> Failure | None:
    """The reader alone."""
    errors = io.StringIO()
    try:
        with bounded(READ_LIMIT_S), contextlib.redirect_stderr(errors), _descriptor() as raw:
            try:
                read(path)
            except Exception as error:
                known = _translate(error)
                if known is None:
                    return _of_exception("traceback", error)
                say_error(known, color="never")
                if not 1 <= known.exit_code <= 3:
                    return _of_exception("exit code", error)
        return _of_text(errors.getvalue(), raw(), ())
    except TooLongError as error:
        return _of_exception("hang", error)
    except BaseException as error:  # a panic of a native library is no Exception
        return _of_exception("death", error)


def judge_command(words: Sequence[str]) -> Failure | None:
    """A whole command line in this process."""
    out, errors, command = io.StringIO(), io.StringIO(), tuple(words)
    try:
        redirected = contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors)
        with bounded(COMMAND_LIMIT_S), redirected[0], redirected[1], _descriptor() as raw:
            code = main(list(words))
    except TooLongError as error:
        return _with(_of_exception("hang", error), command)
    except BaseException as error:
        return _with(_of_exception("death", error), command)
    if code not in _ALLOWED_CODES:
        return _of_bug(errors.getvalue(), code, command)
    if code in (2, 3) and not errors.getvalue().strip() and not out.getvalue().strip():
        return Failure("silence", "", f"exit code {code} and not a word", command)
    page = out.getvalue()
    if strange := _controls(page.replace("\t", "")):
        return Failure("control character", "standard output", ascii(strange), command)
    return _of_text(errors.getvalue(), raw(), command)


_HARMLESS = "\n\u200c\u200d\u00ad"
"""A line end, and what some scripts and emoji need: it moves nothing."""
_MOVING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def _controls(text: str) -> str:
    """The first characters of a text that a terminal may obey."""
    if text.isascii() and text.replace("\n", "").isprintable():
        return ""
    return "".join(ch for ch in text if unicodedata.category(ch) in _MOVING and ch not in _HARMLESS)[:5]


def _of_text(errors: str, raw: str, command: tuple[str, ...]) -> Failure | None:
    if raw.strip():
        return Failure("raw message", "", raw[:2000], command)
    if strange := _controls(errors):
        return Failure("control character", "standard error", ascii(strange), command)
    lines = errors.splitlines()
    if any(count > LINES_MOST for count in _error_lines(lines)):
        return Failure("more than four lines", "", errors[:2000], command)
    long = next((line for line in lines if len(line) > LINE_MOST), None)
    if long is not None:
        return Failure("echo", re.sub(r"\W+.*", "", long[7:30]), f"{len(long):,} characters: {long[:200]}", command)
    return None


def _error_lines(lines: Sequence[str]) -> list[int]:
    """The lines of each error: several files may be wrong at once."""
    counts: list[int] = []
    for line in lines:
        if line.startswith("error: "):
            counts.append(1)
        elif counts and not line.startswith(("note: ", "wrote ")):
            counts[-1] += 1
    return counts


def _of_bug(errors: str, code: int, command: tuple[str, ...]) -> Failure:
    """A bug that the command confesses: its place stands in the traceback that it wrote down."""
    found = re.search(r"traceback, to be sent with a report: (\S+)", errors)
    text = Path(found[1]).read_text(encoding="utf-8", errors="replace") if found else ""
    if found:
        Path(found[1]).unlink()
    places = re.findall(r'File ".*?pkadvisor/([^"]+)", line (\d+)', text)
    place = ":".join(places[-1]) if places else ""
    return Failure("exit code", place, f"{code}\n{errors[:400]}\n{text[-3000:]}", command)


def _of_exception(what: str, error: BaseException) -> Failure:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/pkadvisor/" in f.filename]
    place = f"{frames[-1].filename.rpartition('/pkadvisor/')[2]}:{frames[-1].lineno}" if frames else ""
    if what == "hang":  # where it was when its time was over says little
        place = frames[min(2, len(frames) - 1)].name if frames else ""
    return Failure(what, place, "".join(traceback.format_exception(error))[-3000:])


def _with(failure: Failure, command: tuple[str, ...]) -> Failure:
    return Failure(failure.what, failure.place, failure.seen, command)


@contextlib.contextmanager
def bounded(seconds: float) -> Iterator[None]:
    """TooLongError in the main thread when so much CPU time is spent, or ten times as much has gone by; MemoryError
    afterwards where too much was held."""

    def over(number: int, frame: object) -> None:
        raise TooLongError(f"more than {seconds:g} s")

    timers = ((signal.ITIMER_PROF, signal.SIGPROF, seconds), (signal.ITIMER_REAL, signal.SIGALRM, 10 * seconds))
    before = [(number, signal.signal(number, over)) for _, number, _ in timers]
    held = _reset_peak()
    for timer, _, after in timers:
        signal.setitimer(timer, after)
    try:
        yield
    finally:
        for timer, _, _ in timers:
            signal.setitimer(timer, 0)
        for number, handler in before:
            signal.signal(number, handler)
    if held and (more := _memory("VmHWM") - held) > MEMORY_LIMIT_BYTES:
        raise MemoryError(f"{more >> 20:,} MiB were held")


def _reset_peak() -> int:
    """Bytes held now; the peak begins anew. 0 where the system does not tell."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _memory("VmRSS")
    except OSError:
        return 0


def _memory(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name):
            return int(line.split()[1]) << 10
    return 0


@contextlib.contextmanager
def _descriptor() -> Iterator[Callable[[], str]]:
    """What is written to descriptor 2 past ``sys.stderr``, as a native library does."""
    said: list[str] = []
    before = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            yield lambda: "".join(said)
        finally:
            os.dup2(before, 2)
            os.close(before)
            file.seek(0)
            said.append(file.read().decode("utf-8", "replace"))
            if sys.stderr is not None:
                sys.stderr.flush()

"""Progress is seen on a terminal by those who wait, and by nobody else."""

from __future__ import annotations

import io
import threading

import pytest

from pkadvisor.cli.console import make_console
from pkadvisor.progress import BarProgress, NoteProgress, Progress, SilentProgress


class Terminal(io.StringIO):
    """Remembers what was written and tells when something was."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if text:
            self.written.set()
        return super().write(text)


def bar_on(stream: Terminal, delay_s: float) -> BarProgress:
    console = make_console(stream, color=False, terminal=True)
    return BarProgress(console, lambda text: None, delay_s=delay_s)


def test_short_work_shows_no_bar() -> None:
    stream = Terminal()
    with bar_on(stream, 60) as progress:
        progress.phase("reading", 100)
        progress.advance(100)
    assert stream.getvalue() == ""


def test_long_work_shows_its_phase_and_takes_it_away() -> None:
    stream = Terminal()
    with bar_on(stream, 0) as progress:
        progress.phase("reading [red]x[/red]", 4000)
        progress.advance(1000)
        assert stream.written.wait(20)
        progress.phase("scoring")
        progress.advance(5)
    assert "reading [red]x[/red]" in stream.getvalue() or "scoring" in stream.getvalue()
    assert stream.getvalue().endswith("\x1b[2K"), "the line of the bar is erased at the end"


def test_the_bar_goes_away_after_an_error_too_and_its_timer_never_starts_it_again() -> None:
    stream = Terminal()
    progress = bar_on(stream, 60)
    with pytest.raises(ZeroDivisionError), progress:
        progress.phase("reading")
        raise ZeroDivisionError
    progress._appear()
    assert stream.getvalue() == ""


@pytest.mark.parametrize("kind", ["silent", "notes", "bar"])
def test_every_listener_takes_every_call(kind: str) -> None:
    said: list[str] = []
    listeners: dict[str, Progress] = {
        "silent": SilentProgress(),
        "notes": NoteProgress(said.append),
        "bar": BarProgress(make_console(Terminal(), color=False), said.append, delay_s=60),
    }
    listener = listeners[kind]
    listener.phase("reading", None)
    listener.advance(3)
    listener.note("12 lines skipped")
    assert said == ([] if kind == "silent" else ["12 lines skipped"])

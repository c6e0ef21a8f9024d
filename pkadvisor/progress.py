"""How a long computation tells that it is alive, without knowing who listens.

Progress            what a use case calls
├── SilentProgress  nobody listens (``--quiet``, tests, other programs)
├── NoteProgress    notes alone, one line each (stderr is a file or a pipe)
└── BarProgress     notes and a bar that appears once the work has lasted a while (stderr is a terminal)
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import rich.console
    import rich.progress


class Progress:
    """Calls may come from any thread; none of them changes a result. Here they do nothing."""

    def phase(self, name: str, total_bytes: int | None = None) -> None:
        """A new stage of the work begins; ``total_bytes`` is None when its size is unknown."""

    def advance(self, n: int) -> None:
        """``n`` further bytes of the current phase are done."""

    def note(self, text: str) -> None:
        """Something that the user should know although the work goes on; may carry text from user data."""


class SilentProgress(Progress):
    """Says nothing."""


class NoteProgress(Progress):
    """Hands notes to ``say`` (which escapes them) and ignores the rest."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say

    def note(self, text: str) -> None:
        self._say(text)


class BarProgress(Progress):
    """A transient bar on a terminal; work shorter than ``delay_s`` never shows it.

    A context manager: leaving it removes the bar, also after an error.
    """

    def __init__(self, console: rich.console.Console, say: Callable[[str], None], *, delay_s: float = 0.5) -> None:
        self._console = console
        self._say = say
        self._lock = threading.Lock()
        self._bar: rich.progress.Progress | None = None
        self._task: rich.progress.TaskID | None = None
        self._phase: tuple[str, int | None, int] = ("", None, 0)
        self._closed = False
        # A timer, because a phase may be one long call into a library that never reports back.
        self._timer = threading.Timer(delay_s, self._appear)
        self._timer.daemon = True

    def __enter__(self) -> BarProgress:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._closed = True
            bar, self._bar = self._bar, None
        if bar is not None:
            bar.stop()

    def phase(self, name: str, total_bytes: int | None = None) -> None:
        with self._lock:
            self._phase = (name, total_bytes, 0)
            self._show_phase()

    def advance(self, n: int) -> None:
        with self._lock:
            name, total_bytes, done = self._phase
            self._phase = (name, total_bytes, done + n)
            if self._bar is not None and self._task is not None:
                self._bar.update(self._task, completed=done + n)

    def note(self, text: str) -> None:
        self._say(text)

    def _appear(self) -> None:
        from rich import progress
        from rich.progress import BarColumn, DownloadColumn, Task, TextColumn, TimeRemainingColumn
        from rich.text import Text

        class _Done(DownloadColumn):
            """Bytes, of work that has some."""

            def render(self, task: Task) -> Text:
                return Text("") if task.total is None else super().render(task)

        with self._lock:
            if self._closed:
                return
            self._bar = progress.Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=24),
                _Done(),
                TimeRemainingColumn(compact=True),
                console=self._console,
                transient=True,
                redirect_stdout=False,  # standard output is the result's: nothing may pass through here
                redirect_stderr=False,
            )
            self._show_phase()
            self._bar.start()

    def _show_phase(self) -> None:
        name, total_bytes, done = self._phase
        if self._bar is None or not name:
            return
        if self._task is not None:
            self._bar.remove_task(self._task)
        self._task = self._bar.add_task(name, total=total_bytes, completed=done)

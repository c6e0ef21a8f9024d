"""Logs read into traffic: formats told apart, parts folded, and what is wrong with a log said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from pkadvisor.errors import InputError
from pkadvisor.observe.data.streams import EmptyFileError
from pkadvisor.observe.logs.frame import ReadOptions
from pkadvisor.observe.logs.traffic import MAX_BAD_LINES, Traffic, Window

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pkadvisor.observe.logs import Log
    from pkadvisor.observe.logs.frame import Skips


def read_traffic(
    paths: Sequence[str | Path],
    window: Window | None = None,
    *,
    max_bad_lines: float = MAX_BAD_LINES,
    options: ReadOptions | None = None,
) -> Traffic:
    """Read query logs of any of the known formats, together; the order of ``paths`` does not matter.

    Raises InputError (3) where a file is in no known format, where more than the share ``max_bad_lines`` of all lines
    cannot be read, or where no line is a request of a table; and what opening a file raises.
    """
    from pkadvisor.observe.logs import in_time_order, no_requests, too_many_bad
    from pkadvisor.observe.logs.frame import Routes, Skips
    from pkadvisor.observe.logs.traffic_fold import TrafficFold

    broken = _Broken(len(paths), max_bad_lines)
    opened = (broken.opened(path) for path in paths)
    logs = in_time_order([log for log in opened if log is not None])
    routes, skips = Routes(), Skips()
    fold = TrafficFold(routes, window)
    rows = 0
    for log in logs:
        try:
            for frame in log.frames(routes, skips, options or ReadOptions()):
                rows += frame.height
                fold.add(frame)
        except InputError as error:
            broken.take(error, log.name)
    broken.tell(skips)
    if skips.lines and skips.bad / skips.lines > max_bad_lines:
        raise too_many_bad(skips, max_bad_lines)
    if not rows:
        raise no_requests(logs, skips)
    return fold.result(skips, tuple((log.name, log.format_name) for log in logs))


@dataclass(slots=True)
class _Broken:
    """Files of a folder that cannot be read, wholly or from some place on: few of many are left out and told."""

    files: int
    share_max: float
    errors: list[tuple[str, InputError]] = field(default_factory=list)

    def opened(self, path: str | Path) -> Log | None:
        """The log in a file; None where it is broken and may be left out."""
        from pkadvisor.observe.logs import open_log

        try:
            return open_log(path)
        except InputError as error:
            self.take(error, str(path))
            return None

    def take(self, error: InputError, name: str) -> None:
        """Note a broken file. Raises InputError where it is the only one, or where too many are."""
        self.errors.append((name, error))
        damaged = [found for _, found in self.errors if not isinstance(found, EmptyFileError)]
        if len(self.errors) == self.files:
            raise error
        if len(damaged) > self.share_max * self.files:
            first = damaged[0]
            if self.files < FEW_FILES:
                raise first
            raise InputError(
                f"more than {self.share_max:.1%} of {self.files:,} log files cannot be read; the first: {first.what}",
                where=first.where,
                fix="repair these files, leave them out, or raise --max-bad-lines",
            )

    def tell(self, skips: Skips) -> None:
        """Count the broken files among what was skipped, each kind of trouble with its first file."""
        for name, error in self.errors:
            skips.add(f"a file that cannot be read ({error.what[:80]})", 1, name, "the rest of the file")


FEW_FILES: Final = 20
"""Files up to which each was named on purpose: a broken one is told as it is."""

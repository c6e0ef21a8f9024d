"""Logs read into traffic: formats told apart, parts folded, and what is wrong with a log said."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.observe.logs.frame import ReadOptions
from pkadvisor.observe.logs.traffic import MAX_BAD_LINES, Traffic, Window

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


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
    from pkadvisor.observe.logs import in_time_order, no_requests, open_log, too_many_bad
    from pkadvisor.observe.logs.frame import Routes, Skips
    from pkadvisor.observe.logs.traffic_fold import TrafficFold

    logs = in_time_order([open_log(path) for path in paths])
    routes, skips = Routes(), Skips()
    fold = TrafficFold(routes, window)
    rows = 0
    for log in logs:
        for frame in log.frames(routes, skips, options or ReadOptions()):
            rows += frame.height
            fold.add(frame)
    if skips.lines and skips.bad / skips.lines > max_bad_lines:
        raise too_many_bad(skips, max_bad_lines)
    if not rows:
        raise no_requests(logs, skips)
    return fold.result(skips, tuple((log.name, log.format_name) for log in logs))

"""Faults that a run is to meet, as the command line words them."""

from __future__ import annotations

import re

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.units import UnitError, parse_duration
from pkadvisor.values import dataclass

SECOND_NS = 1_000_000_000
_SHAPE = re.compile(r"([a-z-]+)(?::([^@:]+))?@([^+]+)(?:\+(.+))?")
_FIX = "write server-down@4m, server-down@4m+2m (back after two minutes) or server-down:server-1@90s"


@dataclass(frozen=True, slots=True)
class ServerDown:
    """A server stops at a moment, and comes back later or never. ``server`` empty: the one with the most load then."""

    at_ns: int
    back_ns: int | None = None
    server: str = ""

    def __post_init__(self) -> None:
        assert self.at_ns >= 0 and (self.back_ns is None or self.back_ns > self.at_ns), "down, then back"

    def __str__(self) -> str:
        name = f":{self.server}" if self.server else ""
        back = "" if self.back_ns is None else f"+{(self.back_ns - self.at_ns) / SECOND_NS:g}s"
        return f"server-down{name}@{self.at_ns / SECOND_NS:g}s{back}"


def parse_fault(text: str) -> ServerDown:
    """A fault as ``--fault`` names it: ``server-down[:SERVER]@TIME[+TIME]``. UsageError."""
    match = _SHAPE.fullmatch(text.strip())
    where = f"--fault {text!r}"
    kind, server, at, away = ("", "", "", "") if match is None else match.groups()
    if kind != "server-down":
        what = f"no fault is called {kind!r}" if kind else "a fault is what happens, @, and when"
        raise UsageError(what, where=where, fix=_FIX)
    at_ns = _duration_ns(at, where, zero=True)
    back_ns = None if away is None else at_ns + _duration_ns(away, where)
    return ServerDown(at_ns, back_ns, server or "")


def _duration_ns(text: str, where: str, *, zero: bool = False) -> int:
    if zero and text.strip() in ("0", "0s"):
        return 0
    try:
        duration_ns = round(parse_duration(text) * SECOND_NS)
    except UnitError as error:
        raise UsageError(str(error), where=where, fix=_FIX) from error
    if duration_ns >= 1 << 53:
        raise UsageError(f"{text} is longer than any run", where=where, fix=_FIX)
    return max(1, duration_ns)

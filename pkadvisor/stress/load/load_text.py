"""What ``--load`` says, as a value: how much, which traffic, how irregular, and what happens on top of it.

``x2,flash:5x@10m`` is parts with commas between, in any order: at most one traffic and one kind of arrivals.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.design_file.units import UnitError, parse_duration
from pkadvisor.stress.load.arrivals import POISSON, SECOND_NS, Constant, Hyper, OnOff, Poisson, Process, Steps
from pkadvisor.stress.load.cluster_stats import cluster_named
from pkadvisor.values import dataclass

BASES: Final = {
    "peak": "the worst minute: each class at its rate in it",
    "together": "each class at the rate of its busiest minute, all at once",
    "mean": "each class at its mean rate",
    "spikes": "as together, with the busiest second of each class once a minute",
    "diurnal": "the minutes of the day, or of the log, one after the other",
    "trace": "the requests of the log at their own times",
}
_WORDS: Final = {
    "peak": "the load of the worst minute",
    "together": "the busiest minutes of all classes at once",
    "mean": "the mean load",
    "spikes": "the busiest minutes of all classes at once, with their busiest seconds",
    "diurnal": "the load of the day, minute by minute",
    "trace": "the requests of the log",
}
FACTOR_MAX = 1e6
_FORMS: Final = (
    "x2",
    *BASES,
    "cluster12",
    "poisson",
    "constant",
    "bursts:ca2=4",
    "bursts:2s/10s",
    "flash:5x@10m",
    "flash:5x@10m+2m",
    "ramp:0.5x-2x/4",
)
_FACTOR = re.compile(r"x?([0-9][0-9_]*(?:\.[0-9]+)?)x?")
_FLASH = re.compile(r"([^@]+)@([^+]+)(?:\+(.+))?")
_RAMP = re.compile(r"([^/-]+)-([^/-]+)(?:/([0-9]{1,4}))?")


@dataclass(frozen=True, slots=True)
class Flash:
    """A crowd: ``factor`` times the traffic from ``at_ns`` on, for ``length_ns`` or until the end (None)."""

    factor: float
    at_ns: int
    length_ns: int | None = None

    def shape(self) -> Steps:
        """As a factor over time."""
        edges = [(0, 1.0)] if self.at_ns else []
        edges.append((self.at_ns, self.factor))
        if self.length_ns is not None:
            edges.append((self.at_ns + self.length_ns, 1.0))
        return Steps(*zip(*edges, strict=True))


@dataclass(frozen=True, slots=True)
class Ramp:
    """From one factor to another in equal steps of equal length over the whole run."""

    low: float
    high: float
    steps: int = 10

    def shape(self, duration_ns: int) -> Steps:
        """As a factor over time."""
        last = max(1, self.steps - 1)
        factors = [self.low + (self.high - self.low) * i / last for i in range(self.steps)]
        return Steps(tuple(duration_ns * i // self.steps for i in range(self.steps)), tuple(factors))


@dataclass(frozen=True, slots=True)
class LoadSpec:
    """A load as ``--load`` describes it; ``base`` is one of ``BASES``, ``cluster`` the name of one or empty."""

    text: str = "peak"
    base: str = "peak"
    factor: float = 1.0
    cluster: str = ""
    process: Process = POISSON
    flashes: tuple[Flash, ...] = ()
    ramp: Ramp | None = None

    def shape(self, duration_ns: int) -> Steps:
        """Flash crowds and ramp as a factor over time."""
        steps = Steps.flat(1.0) if self.ramp is None else self.ramp.shape(duration_ns)
        for flash in self.flashes:
            steps = steps.times(flash.shape())
        return steps

    @property
    def words(self) -> str:
        """The load as a page tells it."""
        text = f"the measured traffic of {self.cluster}" if self.cluster else _WORDS[self.base]
        if self.factor != 1:
            text += f" times {self.factor:g}"
        if isinstance(self.process, Constant):
            text += ", evenly spaced"
        elif self.process != POISSON:
            text += ", in bursts"
        if self.ramp is not None:
            text += f", from {self.ramp.low:g}x up to {self.ramp.high:g}x in {self.ramp.steps} steps"
        for flash in self.flashes:
            text += f", {flash.factor:g}x from {flash.at_ns / SECOND_NS:g} s on"
            text += "" if flash.length_ns is None else f" for {flash.length_ns / SECOND_NS:g} s"
        return text


def parse_load(text: str) -> LoadSpec:
    """A load such as ``x2``, ``diurnal``, ``cluster12,x0.1`` or ``x2,flash:5x@10m``.

    Raises UsageError, which says what is allowed.
    """
    spec = LoadSpec(text=text)
    said: set[str] = set()
    for part in text.split(","):
        what, change = _part(part.strip(), text)
        if what in said:
            raise _wrong(f"'{text}' says {what} twice", text)
        if what != "a flash crowd":
            said.add(what)
        spec = change(spec)
    return spec


def _part(part: str, text: str) -> tuple[str, Callable[[LoadSpec], LoadSpec]]:
    """(what a part says, how it changes the load)."""
    word, colon, rest = part.partition(":")
    word = word.strip().lower()
    if not part:
        raise _wrong(f"'{text}' has an empty part", text)
    if not colon and _FACTOR.fullmatch(word):
        factor = _factor(word, text)
        return "how much", lambda spec: replace(spec, factor=factor)
    if word in BASES and not colon:
        return "which traffic", lambda spec: replace(spec, base=word)
    if re.fullmatch(r"cluster\d*", word) and not colon:
        name = cluster_named(word).name
        return "which traffic", lambda spec: replace(spec, cluster=name)
    if word in ("poisson", "constant") and not colon:
        process: Process = Poisson() if word == "poisson" else Constant()
        return "how arrivals scatter", lambda spec: replace(spec, process=process)
    if word == "bursts" and rest:
        bursts = _bursts(rest.strip(), text)
        return "how arrivals scatter", lambda spec: replace(spec, process=bursts)
    if word == "flash" and (match := _FLASH.fullmatch(rest.strip())):
        higher, at, length = match.groups()
        length_ns = None if length is None else _duration_ns(length, text)
        flash = Flash(_factor(higher.strip(), text), _moment_ns(at, text), length_ns)
        return "a flash crowd", lambda spec: replace(spec, flashes=(*spec.flashes, flash))
    if word == "ramp" and (match := _RAMP.fullmatch(rest.strip())):
        low, high, steps = match.groups(default="10")
        if int(steps) < 2:
            raise _wrong(f"'{part}' has less than two steps", text)
        ramp = Ramp(_factor(low.strip(), text), _factor(high.strip(), text), int(steps))
        return "a ramp", lambda spec: replace(spec, ramp=ramp)
    for form in _FORMS:
        if ":" in form and form.startswith(word + ":"):
            raise _wrong(f"'{part}' is no {word} load; write it as {form}", text)
    hint = did_you_mean(word, [f.partition(":")[0] for f in _FORMS])
    raise _wrong(f"'{part}' is no load" + (f"; {hint}" if hint else ""), text)


def _bursts(rest: str, text: str) -> Process:
    if match := re.fullmatch(r"ca2\s*=\s*([0-9]+(?:\.[0-9]+)?)", rest):
        ca2 = float(match[1])
        if ca2 > 1:
            return Hyper(ca2)
        raise _wrong(f"'bursts:{rest}': bursts have a ca2 above 1 (1 is poisson, 0 is constant)", text)
    if match := re.fullmatch(r"([^/]+)/([^/]+)", rest):
        on_ns, cycle_ns = _duration_ns(match[1], text), _duration_ns(match[2], text)
        if 0 < on_ns < cycle_ns:
            return OnOff(on_ns, cycle_ns)
        raise _wrong(f"'bursts:{rest}': a burst is shorter than the time from one to the next", text)
    raise _wrong(f"'bursts:{rest}' is not a bursts load; write it as bursts:ca2=4 or bursts:2s/10s", text)


def _factor(written: str, text: str) -> float:
    match = _FACTOR.fullmatch(written.lower())
    factor = float(match[1].replace("_", "")) if match else math.nan
    if not 0 < factor <= FACTOR_MAX:
        raise _wrong(f"'{written}' is not a factor above 0 and at most {FACTOR_MAX:,.0f}, such as x2 or 0.5", text)
    return factor


def _duration_ns(written: str, text: str) -> int:
    try:
        return max(1, round(parse_duration(written) * SECOND_NS))
    except UnitError as error:
        raise UsageError(f"{error.what} in '{text}'", where="--load", fix=error.fix) from None


def _moment_ns(written: str, text: str) -> int:
    return 0 if re.fullmatch(r"\s*0+\s*[A-Za-z]*\s*", written) else _duration_ns(written, text)


def _wrong(what: str, text: str) -> UsageError:
    del text
    return UsageError(what, where="--load", fix=f"parts with commas between: {', '.join(_FORMS)}")

"""What clients do with a refusal: which answers they send again, how often, and after how long.

| ``--retry``     | tries again | delay before retry x (1, 2, 3)                        | source |
| --------------- | ----------- | ----------------------------------------------------- | ------ |
| ``none``        | 0           |                                                       | |
| ``fixed``       | 3           | 1 s, 1 s, 1 s; ``fixed:500ms`` or ``fixed:500msx5``    | assumed |
| ``exponential`` | 3           | Rand(0.8z, 1.2z)(2^x − 1), z 30 s, within 3 … 90 s    | *Designing a Scalable Partitioning Strategy*: 27 … 39, 75 … 90 and 90 s |
| ``current``     | 3           | 0.8 s, 1.6 s, 3.2 s, each ± 20 %, at most 60 s        | Azure.Core for .NET, ``RetryOptions`` and ``DelayStrategy`` |
| ``sdk``         | 3           | 0 s, 1.6 s, 3.2 s, no chance, at most 120 s           | azure-core for Python, ``RetryPolicy`` (retry_status 3, retry_backoff_factor 0.8) |

The first retry of ``sdk`` goes out at once, as its policy has it: nothing separates it from the refusal but the
refusal's own latency. ``delay_ns_min`` is 0 then, and a run without an engine must look at the refusals of every such
short while; that costs time, and a delay that the client does not make would hide what its first retry does to a
partition that is full.

Sent again are answers of 500 and above but 501 and 505 ("not implemented", "version not supported" stay so), never one
of 400 to 499; ``sdk`` adds 408 and 429, which its list has and the store never gives.

Chance is :func:`splitmix.mixed` of (seed, request, step, try), so it does not depend on the order of attempts, and
the arithmetic is that of 64-bit integers, so an array of delays equals the delays one by one.
"""  # noqa: E501

from __future__ import annotations

import re
from typing import Final, Protocol

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.lazy import Ints, np
from pkadvisor.observe.design_file.units import UnitError, parse_duration
from pkadvisor.splitmix import mixed, mixed_each
from pkadvisor.values import dataclass

POLICIES: Final = ("none", "fixed", "exponential", "current", "sdk")
UPDATES_MAX = 16
"""Reads of a read-modify-write, each followed by a write that is answered 412, after which it is given up: assumed."""


class GivenUp(Exception):  # noqa: N818 - the end of a request, no error
    """A client gives a request up that no answer refused for good."""


TRIES_MAX: Final = 20
NEVER: Final = -1
"""In arrays of delays: given up."""
_MS = 1_000_000
_SECOND = 1_000 * _MS
_CHANCE_BITS = 20
"""A random factor has 2^20 values, so that it times the longest delay (2^42 ns, 73 minutes), twice, is below 2^63."""
_DELAY_MAX = 1 << 42
RETRIES = 3
"""Retries of a request by every policy that clients have by default."""


class RetryPolicy(Protocol):
    """When to send again. Delays are whole ns and a function of (request, step, try) alone, never of the order."""

    @property
    def name(self) -> str:
        """As ``--retry`` names it."""

    @property
    def delay_ns_min(self) -> int | None:
        """No delay is ever shorter; None: nothing is ever sent again."""

    def delay_ns(self, tried: int, request: int, step: int, status: int) -> int | None:
        """Time from the answer to attempt ``tried`` (from 1), which failed, to the next; None: it is given up.

        ``step`` counts the steps of the request from 0, through all its stages.
        """

    def delays_ns(self, tried: Ints, requests: Ints, steps: Ints, statuses: Ints) -> Ints:
        """The same for arrays of one length; ``NEVER`` where it is given up."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Retries after ``delay = min(least_ns + base_ns[x] · Rand(1 − spread, 1 + spread), most_ns)``.

    ``bases_ns`` holds base_ns[x] for retry x from 1, so its length is the number of retries. ``spread_percent`` is a
    whole number below 100. ``also`` are statuses below 500 that are sent again as well.
    """

    name: str
    bases_ns: tuple[int, ...]
    least_ns: int = 0
    most_ns: int = _DELAY_MAX
    spread_percent: int = 0
    seed: int = 0
    also: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not all(0 <= base <= _DELAY_MAX for base in (*self.bases_ns, self.least_ns, self.most_ns)):
            raise ValueError(f"a delay is 0 to {_DELAY_MAX} ns")
        if not 0 <= self.spread_percent < 100:
            raise ValueError(f"a spread of {self.spread_percent} %")

    @property
    def delay_ns_min(self) -> int | None:
        """No delay is ever shorter."""
        return min((self._delay(base, 0) for base in self.bases_ns), default=None)

    def retried(self, status: int) -> bool:
        """Whether an answer is one that is sent again."""
        return (status >= 500 and status not in (501, 505)) or status in self.also

    def delay_ns(self, tried: int, request: int, step: int, status: int) -> int | None:
        """Time from the answer to attempt ``tried`` (from 1), which failed, to the next; None: it is given up."""
        if tried > len(self.bases_ns) or not self.retried(status):
            return None
        chance = 0
        if self.spread_percent:
            chance = mixed(mixed(mixed(mixed(self.seed, 0), request), step), tried) >> (64 - _CHANCE_BITS)
        return self._delay(self.bases_ns[tried - 1], chance)

    def delays_ns(self, tried: Ints, requests: Ints, steps: Ints, statuses: Ints) -> Ints:
        """The same for arrays of one length; ``NEVER`` where it is given up."""
        if not self.bases_ns:
            return np.full(len(tried), NEVER, dtype=np.int64)
        again = (statuses >= 500) & (statuses != 501) & (statuses != 505)
        for status in self.also:
            again |= statuses == status
        again &= tried <= len(self.bases_ns)
        base = np.array(self.bases_ns, dtype=np.int64)[np.minimum(tried, len(self.bases_ns)) - 1]
        if self.spread_percent:
            seeds = np.full(len(tried), mixed(self.seed, 0), dtype=np.uint64)
            for numbers in (requests, steps, tried):
                seeds = mixed_each(seeds, numbers)
            chance = (seeds >> np.uint64(64 - _CHANCE_BITS)).astype(np.int64)
            width = base // 100 * (2 * self.spread_percent)
            base = base - width // 2 + ((width * chance) >> _CHANCE_BITS)
        return np.where(again, np.minimum(self.least_ns + base, self.most_ns), NEVER)

    def _delay(self, base: int, chance: int) -> int:
        """``chance`` of 2^20 between the lowest and the highest delay, rounded down; none without a spread."""
        width = base // 100 * (2 * self.spread_percent)
        return min(self.least_ns + base - width // 2 + ((width * chance) >> _CHANCE_BITS), self.most_ns)


def no_retry() -> Backoff:
    """What is turned away is lost."""
    return Backoff("none", ())


def fixed(delay_ns: int = _SECOND, tries: int = 3) -> Backoff:
    """Always after the same time: clients that were turned away together come back together."""
    return Backoff("fixed", (delay_ns,) * tries)


def exponential(seed: int = 0) -> Backoff:
    """``y = Rand(0.8z, 1.2z)(2^x − 1); y = min(zmin + y, zmax)`` for the retries x = 1, 2, 3; z is 30 s, zmin 3 s.

    The figures are those of the first storage client library (*Designing a Scalable Partitioning Strategy for Azure
    Table Storage*, "Retry strategies").
    """
    bases = tuple(30 * _SECOND * (2**x - 1) for x in range(1, RETRIES + 1))
    return Backoff("exponential", bases, 3 * _SECOND, 90 * _SECOND, 20, seed)


def current(seed: int = 0) -> Backoff:
    """0.8 s, doubled for each retry, ± 20 %, at most one minute, three times: the storage client of .NET."""
    return Backoff("current", tuple(800 * _MS << x for x in range(RETRIES)), 0, 60 * _SECOND, 20, seed)


def sdk() -> Backoff:
    """azure-core for Python as ``azure-data-tables`` uses it: at once, then 1.6 s and 3.2 s, then never.

    ``retry_total`` is 10, but ``retry_status`` is 3; the n-th delay is 0.8 s · 2^(n − 1), 0 before the first retry
    (``RetryPolicyBase.get_backoff_time``). All requests that the store sends are retried: POST and PATCH on 500, 503
    and 504 alone, which is all that it answers.
    """
    return Backoff("sdk", (0, 1600 * _MS, 3200 * _MS), 0, 120 * _SECOND, also=(408, 429))


_TIMES = re.compile(r"(.+?)(?:\s*x\s*([0-9]{1,3}))?")


def policy_of(text: str, seed: int = 0) -> Backoff:
    """The policy that ``--retry`` names; ``seed`` is that of the chance in its delays. Raises UsageError."""
    name, colon, rest = text.strip().partition(":")
    name = name.strip().lower()
    if name == "fixed" and colon:
        match = _TIMES.fullmatch(rest.strip())
        delay, tries = match.groups(default="3") if match else ("", "0")
        if not 1 <= int(tries) <= TRIES_MAX:
            raise UsageError(
                f"'{text}' is not a retry policy", where="--retry", fix="write fixed:500ms or fixed:500msx5"
            )
        try:
            delay_ns = round(parse_duration(delay) * _SECOND)
        except UnitError as error:
            raise UsageError(f"{error.what} in '{text}'", where="--retry", fix=error.fix) from None
        if delay_ns > _DELAY_MAX:
            raise UsageError(f"'{text}' waits longer than 73 minutes", where="--retry", fix="write fixed:1s")
        return fixed(delay_ns, int(tries))
    if not colon:
        if name == "none":
            return no_retry()
        if name == "fixed":
            return fixed()
        if name == "exponential":
            return exponential(seed=seed)
        if name == "current":
            return current(seed)
        if name == "sdk":
            return sdk()
    hint = did_you_mean(name, POLICIES)
    what = f"'{text}' is not a retry policy" + (f"; {hint}" if hint else "")
    raise UsageError(what, where="--retry", fix=f"one of {', '.join(POLICIES)}, or fixed:500ms, fixed:500msx5")

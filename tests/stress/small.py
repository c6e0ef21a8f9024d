"""Small loads, scripts and clients that a test writes down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.options import EngineOptions
from pkadvisor.limits import Limits, default_limits
from pkadvisor.stress.load.load import Batch
from pkadvisor.stress.placement.stamp_map import FixedMap, MapRange
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts, Step

SECOND = 1_000_000_000
MS = 1_000_000


@dataclass(frozen=True)
class Listed:
    """A load that is a list of (moment, class, parameters)."""

    requests: Sequence[tuple[int, int, int]]
    duration_ns: int
    classes: tuple[str, ...] = ("c",)
    batch: int = 7

    @property
    def instances(self) -> tuple[int, ...]:
        return tuple(
            1 + max((i for _, c, i in self.requests if c == number), default=-1) for number in range(len(self.classes))
        )

    def batches(self) -> Iterator[Batch]:
        for first in range(0, len(self.requests), self.batch):
            part = np.array(self.requests[first : first + self.batch], dtype=np.int64)
            yield Batch(first, part[:, 0], part[:, 1], part[:, 2])


@dataclass(frozen=True)
class Waits:
    """Retries after listed delays; each request's is later by its number, so that orders show."""

    delays_ns_listed: tuple[int, ...] = ()
    name: str = "waits"

    @property
    def delay_ns_min(self) -> int | None:
        return min(self.delays_ns_listed, default=None)

    def delay_ns(self, tried: int, request: int, step: int, status: int) -> int | None:
        assert status in (500, 503)
        if tried > len(self.delays_ns_listed):
            return None
        return self.delays_ns_listed[tried - 1] + 1000 * request + step

    def delays_ns(self, tried: np.ndarray, requests: np.ndarray, steps: np.ndarray, statuses: np.ndarray) -> np.ndarray:
        rows = zip(tried.tolist(), requests.tolist(), steps.tolist(), statuses.tolist(), strict=True)
        found = [self.delay_ns(*row) for row in rows]
        return np.array([-1 if each is None else each for each in found], dtype=np.int64)


NEVER_AGAIN = Waits()


def limits(**values: float) -> Limits:
    """The default limits with some numbers changed; twice, since some must not pass others that are changed as well."""
    found = default_limits()
    for name, value in (*values.items(), *values.items()):
        found = found.with_value(name, value)
    for name, value in values.items():
        assert getattr(found, name) == value, f"{name} stops at {getattr(found, name)}"
    return found


def options(**values: int | float) -> EngineOptions:
    return replace(EngineOptions(), **values)


def space(size: int, rows: int = 1) -> KeySpace:
    return KeySpace("t", tuple(f"{i:06d}" for i in range(size)), np.full(size, rows, dtype=np.int64))


def one_class(keys: KeySpace, scripts: Sequence[Script], classes: tuple[str, ...] = ("c",)) -> Scripts:
    return Scripts(keys, classes, (tuple(tuple(scripts) for _ in classes),))


def read(rank: int) -> Step:
    return Step(Kind.READ, rank, rank, rank + 1, examined=1)


def write(rank: int, entities: int = 1) -> Step:
    return Step(Kind.WRITE, rank, rank, rank + 1, entities)


def page(low: int, high: int, examined: int, continued: bool = False) -> Step:
    return Step(Kind.PAGE, SEVERAL, low, high, examined=examined, continued=continued)


def script(*stages: Sequence[Step]) -> Script:
    return Script(tuple(tuple(stage) for stage in stages))


def fixed(*edges: int, servers: int = 1) -> FixedMap:
    """Ranges between edges, e.g. 0, 5, 10, on servers in turn."""
    ranges = [MapRange(i + 1, *pair, f"server-{i % servers}") for i, pair in enumerate(pairwise(edges))]
    return FixedMap(ranges)

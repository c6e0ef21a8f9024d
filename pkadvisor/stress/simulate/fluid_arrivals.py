"""The requests of a load, cut at moments that are found out on the way."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pkadvisor.stress.load.load import Batch

    Ints = NDArray[np.int64]
    Requests = tuple[Ints, Ints, Ints, Ints]
    """Their numbers, moments, classes and instances."""


class Arrivals:
    """Requests in their order; what was taken too early can be given back."""

    def __init__(self, batches: Iterator[Batch]) -> None:
        self._batches = batches
        self._parts: list[Requests] = []
        self._read()

    def next_ns(self) -> int | None:
        """When the next request arrives."""
        return int(self._parts[0][1][0]) if self._parts else None

    def until(self, end_ns: int) -> Requests:
        """Takes the requests before a moment."""
        out: list[Requests] = []
        while self._parts:
            part = self._parts.pop(0)
            stop = int(np.searchsorted(part[1], end_ns))
            if stop < len(part[1]):
                self._parts.insert(0, _cut(part, slice(stop, None)))
                part = _cut(part, slice(stop))
            elif not self._parts:
                self._read()
            if not stop:
                break
            out.append(part)
        if len(out) == 1:
            return out[0]
        if not out:
            empty = np.empty(0, np.int64)
            return empty, empty, empty, empty
        numbers, moments, classes, instances = (np.concatenate(parts) for parts in zip(*out, strict=True))
        return numbers, moments, classes, instances

    def give_back(self, requests: Requests) -> None:
        """Puts the requests that were taken last before all others."""
        if len(requests[0]):
            self._parts.insert(0, requests)

    def _read(self) -> None:
        batch = next(self._batches, None)
        if batch is not None:
            numbers = np.arange(batch.first, batch.first + len(batch), dtype=np.int64)
            self._parts.append((numbers, batch.at_ns, batch.classes, batch.instances))


def _cut(requests: Requests, part: slice) -> Requests:
    numbers, moments, classes, instances = requests
    return numbers[part], moments[part], classes[part], instances[part]

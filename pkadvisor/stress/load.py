"""When requests arrive, of which class, and with whose parameters: a stream of batches, the same for a seed.

A load knows no scheme. The parameters of a request are a number into the instances of its class.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Requests that arrive one after the other, numbered from ``first``; moments in ns since the run began, ascending.

    ``classes`` and ``instances`` are numbers: of the class in ``Load.classes``, of the parameters in that class.
    """

    first: int
    at_ns: Ints
    classes: Ints
    instances: Ints

    def __len__(self) -> int:
        return len(self.at_ns)


class Load(Protocol):
    """Open-loop traffic: it comes whatever the store answers."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""

    @property
    def instances(self) -> tuple[int, ...]:
        """How many different parameters each class has."""

    @property
    def duration_ns(self) -> int:
        """No request arrives at or after it."""

    def batches(self) -> Iterator[Batch]:
        """All requests, each time the same; a batch spans at most a second or so, and none is ever empty."""

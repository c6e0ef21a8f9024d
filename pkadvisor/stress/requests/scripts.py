"""What one request sends, as numbers: steps in stages, over a key space whose PartitionKeys are ranks.

Nothing here knows rows or texts of keys but :class:`KeySpace`, which says which rank a PartitionKey has.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.tables.row_keys import encode_part
from pkadvisor.lazy import Ints
from pkadvisor.table.edm import utf16_key
from pkadvisor.values import dataclass

SEVERAL = -1
"""The partition of a page over several PartitionKeys, and of a write whose PartitionKey nobody else ever uses."""


@dataclass(frozen=True, slots=True)
class KeySpace:
    """The PartitionKeys of a table in the order of the store, and the rows of each; rank i stands for ``keys[i]``.

    It holds every PartitionKey that the load can touch, those of rows that do not exist yet included (0 rows).
    """

    table: str
    keys: tuple[str, ...]
    rows: Ints = field(compare=False)
    _beginnings: list[bytes] = field(default_factory=list, init=False, compare=False, repr=False)

    @property
    def beginnings(self) -> list[bytes]:
        """What the rows of each PartitionKey begin with, behind what the rows of the table begin with."""
        if not self._beginnings:
            self._beginnings.extend(encode_part(key) + b"\0" for key in self.keys)
        return self._beginnings

    def rank(self, partition_key: str) -> int:
        """The rank of a PartitionKey, or where it would stand."""
        return bisect_left(self.keys, utf16_key(partition_key), key=utf16_key)

    def check(self) -> None:
        """The order is that of the store, without repetitions."""
        sorted_keys = [utf16_key(key) for key in self.keys]
        assert all(a < b for a, b in pairwise(sorted_keys)), "keys out of order"
        assert len(self.rows) == len(self.keys) and (self.rows >= 0).all(), "rows of each key"


class Step(NamedTuple):
    """One HTTP request to the store, as ``Capacity`` weighs it.

    ``partition`` is a rank or ``SEVERAL``; ``low`` is the rank that routes it, ``high`` (exclusive) where a page over
    several partitions would end if no range ended before. ``entities`` are written, ``examined`` read by a page
    (and 1 by the read of one entity, whether it is there or not), ``bytes_moved`` as ``Capacity.finish`` is told.
    ``continued``: it goes on where an earlier page ended.
    """

    kind: Kind
    partition: int
    low: int
    high: int
    entities: int = 1
    examined: int = 0
    bytes_moved: int = 0
    continued: bool = False


Stage = tuple[Step, ...]


class Script(NamedTuple):
    """All that one request sends when nothing is turned away."""

    stages: tuple[Stage, ...]

    @property
    def steps(self) -> int:
        """Requests to the store."""
        return sum(len(stage) for stage in self.stages)


@dataclass(frozen=True, slots=True)
class Scripts:
    """The scripts of every (class, parameters) of a load under one scheme.

    ``of[c][i]`` is the script of class ``c`` with parameters ``i``, whose keys hold for one *epoch* of the run: keys
    with a period in them change at ``ends_ns[e]``, from which on ``epochs[e + 1]`` holds. One epoch, no end, where no
    key changes.
    """

    space: KeySpace
    classes: tuple[str, ...]
    epochs: tuple[tuple[tuple[Script, ...], ...], ...]
    ends_ns: tuple[int, ...] = ()
    kept: dict[str, object] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was worked out of them before (``flat_scripts.py``)."""

    def at(self, at_ns: int) -> tuple[tuple[Script, ...], ...]:
        """The scripts, by class and parameters, of a request that arrives at a moment."""
        epoch = 0
        while epoch < len(self.ends_ns) and at_ns >= self.ends_ns[epoch]:
            epoch += 1
        return self.epochs[epoch]

    def check(self) -> None:
        """Every step lies in the key space."""
        self.space.check()
        assert len(self.epochs) == len(self.ends_ns) + 1, "one set of scripts more than ends"
        size = len(self.space.keys)
        for epoch in self.epochs:
            assert len(epoch) == len(self.classes)
            for script in (s for of_class in epoch for s in of_class):
                for step in (step for stage in script.stages for step in stage):
                    assert 0 <= step.low < step.high <= size and step.partition < step.high
                    assert step.partition == SEVERAL or step.low <= step.partition

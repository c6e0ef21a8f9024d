"""The rows that the embedded engine takes: all of a table, or whole PartitionKeys of a larger one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Bools, Ints, np
from pkadvisor.stress.load.arrivals import stream
from pkadvisor.stress.load.load import Batch, Load
from pkadvisor.stress.requests.scripts import SEVERAL, Script, Scripts
from pkadvisor.table.store import Entity
from pkadvisor.values import dataclass

ROWS_MAX = 20_000
"""Rows that are loaded, at most."""


@dataclass(frozen=True, slots=True)
class EngineRows:
    """The rows that are loaded. ``sent``, by class and parameters: whether a request goes to them alone; None where all
    rows of the table are loaded. ``load_share``: the part of the load's requests that do. ``table_rows`` of the table.
    """

    rows: tuple[Entity, ...]
    table_rows: int
    sent: tuple[Bools, ...] | None = None
    load_share: float = 1.0


@dataclass(frozen=True, slots=True)
class FirstRequests:
    """The first ``most`` requests of a load, of those that are ``sent`` (by class and parameters; None: all)."""

    load: Load
    most: int
    sent: tuple[Bools, ...] | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """As of the load."""
        return self.load.classes

    @property
    def instances(self) -> tuple[int, ...]:
        """As of the load."""
        return self.load.instances

    @property
    def duration_ns(self) -> int:
        """As of the load."""
        return self.load.duration_ns

    def batches(self) -> Iterator[Batch]:
        """The batches up to the last request that is wanted; requests are numbered anew."""
        first = 0
        for batch in self.load.batches():
            there = np.arange(len(batch))
            if self.sent is not None:
                wanted = np.zeros(len(batch), dtype=np.bool_)
                for number, of_class in enumerate(self.sent):
                    mine = batch.classes == number
                    wanted[mine] = of_class[batch.instances[mine]]
                there = np.flatnonzero(wanted)
            there = there[: self.most - first]
            if len(there):
                yield Batch(first, batch.at_ns[there], batch.classes[there], batch.instances[there])
            first += len(there)
            if first >= self.most:
                return


def engine_rows(
    rows: tuple[Entity, ...],
    scripts: Scripts,
    mix: Sequence[Mapping[int, float]],
    rates_per_s: Sequence[float],
    partition_loads: Sequence[float],
    seed: int,
    rows_max: int | None = None,
    keys_max: int | None = None,
) -> EngineRows:
    """All rows of a table of at most ``ROWS_MAX``; of a larger one those of whole PartitionKeys: of the hottest one,
    then of others by chance, as long as they fit.

    ``mix`` are the weights of the parameters of a load by class, ``rates_per_s`` the rates of the classes,
    ``partition_loads`` the load by rank of the PartitionKey. ``rows_max``: in
    place of ``ROWS_MAX``; ``keys_max``: PartitionKeys, at the most.
    """
    space, rows_max = scripts.space, ROWS_MAX if rows_max is None else rows_max
    if len(rows) <= rows_max and (keys_max is None or np.count_nonzero(space.rows) <= keys_max):
        return EngineRows(rows, len(rows))
    chosen = _chosen(space.rows, int(np.argmax(partition_loads)), seed, rows_max, keys_max or len(rows))
    sent = tuple(
        np.array([all(_inside(script, chosen) for script in of_all) for of_all in zip(*of_class, strict=True)])
        for of_class in zip(*scripts.epochs, strict=True)
    )
    share = 0.0
    for of_class, rate, there in zip(mix, rates_per_s, sent, strict=True):
        whole = sum(of_class.values())
        if whole:
            share += rate * sum(weight for instance, weight in of_class.items() if there[instance]) / whole
    keys = {space.keys[rank] for rank in np.flatnonzero(chosen).tolist()}
    some = tuple(row for row in rows if row.key.partition_key in keys)
    return EngineRows(some, len(rows), sent, share / (sum(rates_per_s) or 1.0))


def _chosen(counts: Ints, hottest: int, seed: int, rows_max: int, keys_max: int) -> Bools:
    """By rank, whether the rows of a PartitionKey are loaded; ``counts`` of its rows."""
    chosen: Bools = np.equal(counts, 0)
    room, keys = rows_max, keys_max
    for rank in [hottest, *stream(seed, "rows", "engine").permutation(len(counts)).tolist()]:
        if keys and not chosen[rank] and counts[rank] <= room:
            chosen[rank] = True
            keys -= 1
            room -= int(counts[rank])
    return chosen


def _inside(script: Script, chosen: Bools) -> bool:
    """Whether a request touches chosen PartitionKeys only; a write under a key of its own touches no other."""
    for step in (step for stage in script.stages for step in stage):
        if step.partition != SEVERAL:
            there = bool(chosen[step.partition])
        else:
            there = step.kind == Kind.WRITE or bool(chosen[step.low : step.high].all())
        if not there:
            return False
    return True

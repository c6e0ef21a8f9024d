"""All scripts of a load as columns: scripts, stages and steps that many of them share are taken apart once.

    (epoch, class, parameters) ──number──► script ──which──► stages ──► steps, a row of ``raw`` each

A scan of 421 pages is one list of stages for every request that makes it, so what is worked out of a load is worked
out of some thousands of stages and not of a million.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from pkadvisor.engine.capacity.buckets import MILLI, milli
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Ints, np
from pkadvisor.limits import Limits
from pkadvisor.stress.requests.scripts import Script, Scripts, Stage
from pkadvisor.values import dataclass

KIND, OF_PARTITION, LOW, HIGH, ENTITIES, EXAMINED, BYTES, CONTINUED = range(8)
"""Columns of ``raw``: the fields of a step."""


@dataclass(frozen=True, slots=True, eq=False)
class FlatScripts:
    """See the top of this file. ``numbers[e][c][i]`` is the script of class ``c`` with parameters ``i`` in epoch ``e``.

    Script ``s`` has the ``lengths[s]`` stages ``which[begins[s]:]``, stage ``t`` the ``sizes[t]`` rows ``first[t]`` and
    following of ``raw``.
    """

    numbers: tuple[tuple[Ints, ...], ...]
    begins: Ints
    lengths: Ints
    which: Ints
    stages: tuple[Stage, ...]
    first: Ints
    sizes: Ints
    raw: Ints

    @staticmethod
    def of(scripts: Scripts) -> FlatScripts:
        """Of all epochs. Those of one :class:`Scripts` are kept with it."""
        flat = scripts.kept.get("flat")
        if flat is None:
            flat = scripts.kept["flat"] = flattened(scripts.epochs)
        assert isinstance(flat, FlatScripts), "nothing else has this name"
        return flat

    def stages_of(self, scripts: Ints) -> Ints:
        """The stages of some scripts, one script after the other."""
        return self.which[runs(self.begins[scripts], self.lengths[scripts])]

    def rows_of(self, stages: Ints) -> Ints:
        """The rows of the steps of some stages, one stage after the other."""
        return runs(self.first[stages], self.sizes[stages])


def flattened(epochs: Sequence[Sequence[Sequence[Script]]]) -> FlatScripts:
    """The scripts of some epochs, by class and parameters; scripts and stages that are one object come once."""
    known: dict[int, Script] = {}
    ids: dict[int, list[int]] = {}
    for of_class in chain.from_iterable(epochs):
        if id(of_class) not in ids:
            ids[id(of_class)] = list(map(id, of_class))
            known.update(zip(ids[id(of_class)], of_class, strict=True))
    distinct = list(known.values())
    place = dict(zip(known, range(len(known)), strict=True))
    done = {
        name: np.fromiter(map(place.__getitem__, of_class), np.int64, len(of_class)) for name, of_class in ids.items()
    }
    numbers = tuple(tuple(done[id(of_class)] for of_class in epoch) for epoch in epochs)
    stages, which, lengths = shared_stages(distinct)
    sizes = np.fromiter(map(len, stages), np.int64, len(stages))
    return FlatScripts(
        numbers,
        lengths.cumsum() - lengths,
        lengths,
        which,
        stages,
        sizes.cumsum() - sizes,
        sizes,
        raw_of(stages),
    )


def raw_of(stages: Sequence[Stage]) -> Ints:
    """The steps of stages, one row of fields each."""
    steps = list(chain.from_iterable(stages))
    return np.fromiter(chain.from_iterable(steps), np.int64, 8 * len(steps)).reshape(-1, 8)


def runs(begins: Ints, lengths: Ints) -> Ints:
    """begins[0], begins[0] + 1, …, begins[1], …: so many from each on."""
    ends = lengths.cumsum()
    positions: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)
    return positions


def in_order(numbers: Ints, count: int) -> tuple[Ints, Ints]:
    """(the different numbers below ``count`` in the order in which they come first, the place of each in it)."""
    when = np.full(count, -1, np.int64)
    when[numbers[::-1]] = np.arange(len(numbers) - 1, -1, -1)  # the first one is written last
    there = np.flatnonzero(when >= 0)
    distinct = there[np.argsort(when[there])]
    place = np.empty(count, np.int64)
    place[distinct] = np.arange(len(distinct))
    return distinct, place


def offered(raw: Ints, limits: Limits) -> Ints:
    """``measures.offered_milli`` of the steps of some rows."""
    page = np.maximum(MILLI, milli(limits.scan_weight) * raw[:, EXAMINED])
    one = np.where(raw[:, KIND] == Kind.PAGE, page, MILLI)
    milli_entities: Ints = np.where(raw[:, KIND] == Kind.WRITE, MILLI * raw[:, ENTITIES], one)
    return milli_entities


class SharedStages(NamedTuple):
    """``distinct`` stages in the order in which they come first; ``which`` of them each stage of each script is, script
    after script; ``lengths``: how many stages each script has."""

    distinct: tuple[Stage, ...]
    which: Ints
    lengths: Ints


def shared_stages(scripts: Sequence[Script]) -> SharedStages:
    """Stages that are one object come once; equal ones need not be one."""
    of_scripts = list(map(itemgetter(0), scripts))
    lengths = np.fromiter(map(len, of_scripts), np.int64, len(scripts))
    every = list(chain.from_iterable(of_scripts))
    ids = list(map(id, every))
    distinct = dict(zip(ids, every, strict=True))
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    which = np.fromiter(map(place.__getitem__, ids), np.int64, len(ids))
    return SharedStages(tuple(distinct.values()), which, lengths)

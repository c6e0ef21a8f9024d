"""When requests arrive, of which class, and with whose parameters: a stream of batches, the same for a seed.

A load knows no scheme. The parameters of a request are a number into the instances of its class.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.demand import Demand
from pkadvisor.errors import UsageError
from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.stress.load.arrivals import POISSON, SECOND_NS, Picker, Process, Steps, moments, stream
from pkadvisor.stress.load.load_text import LoadSpec, parse_load
from pkadvisor.stress.load.shapes import Grown, grown_by, rates
from pkadvisor.values import dataclass

Arrivals = Iterator[tuple[Ints, Ints]]

_SURE = 4
"""A class with so many requests for each of its parameters is taken to use them all."""


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


def arrivals_of(load: Load) -> Iterator[tuple[int, int, int, int]]:
    """Number, moment, class and parameters of each request of a load."""
    for batch in load.batches():
        columns = (batch.at_ns.tolist(), batch.classes.tolist(), batch.instances.tolist())
        for place, (at_ns, class_number, instance) in enumerate(zip(*columns, strict=True)):
            yield batch.first + place, at_ns, class_number, instance


@dataclass(frozen=True, slots=True, eq=False)
class ClassLoad:
    """One class: its rate over time, how irregular it is, and the weights of its parameters (none below 0)."""

    name: str
    rate: Steps
    weights: Floats
    process: Process = POISSON


@dataclass(frozen=True, slots=True, eq=False)
class WorkloadLoad:
    """Classes with a rate over time, whose parameters are drawn by weight; independent of each other.

    ``notes`` say what of the workload the load leaves out or takes for granted. ``window_ns`` is how long a batch is;
    the requests do not depend on it. Requests of one ns come by class number, then in the order of their draw.
    """

    parts: tuple[ClassLoad, ...]
    duration_ns: int
    seed: int = 0
    notes: tuple[str, ...] = ()
    window_ns: int = SECOND_NS

    @staticmethod
    def from_workload(
        bench: Bench,
        classes: Sequence[str] | None = None,
        *,
        duration_ns: int,
        seed: int = 0,
        factor: float = 1.0,
        shape: str | LoadSpec = "peak",
        months: float | None = None,
        weigh: Mapping[str, float] | None = None,
    ) -> WorkloadLoad:
        """The traffic of a workload: ``shape`` as ``--load`` writes it, ``factor`` on top of it.

        ``classes`` None: all but the analytic ones. ``months``: the rates after so many months of declared growth, if
        rates grow.
        ``weigh``: what a class loads, at its peak, of the resource whose worst minute is wanted (entities/s); None:
        the minute with the most entities in all. Raises UsageError where no class has a rate.
        """
        spec = parse_load(shape) if isinstance(shape, str) else shape
        if spec.cluster or spec.base == "trace":
            raise UsageError(f"'{spec.text}' is not the traffic of the declared classes", where="--load")
        wanted = _demands(bench, classes)
        grown = Grown() if months is None else grown_by(bench.workload, months)
        notes = [f"{d.query.name}: no sampled entity has parameters for it, so it is never sent" for d in wanted
                  if not len(d.instances)]  # fmt: skip
        usable = [d for d in wanted if len(d.instances)]
        steps, more = rates(bench, [d.query for d in usable], spec, duration_ns, weigh)
        scale = Steps.flat(spec.factor * factor * grown.rates)
        parts = tuple(
            ClassLoad(d.query.name, steps[d.query.name].times(scale), d.weights, spec.process) for d in usable
        )
        if not any(p.rate.expected(duration_ns) > 0 for p in parts):
            raise no_rates(bench.workload.table)
        return WorkloadLoad(parts, duration_ns, seed, (*notes, *more))

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(p.name for p in self.parts)

    @property
    def instances(self) -> tuple[int, ...]:
        """How many different parameters each class has."""
        return tuple(len(p.weights) for p in self.parts)

    def expected(self) -> float:
        """Mean number of requests over seeds."""
        return math.fsum(p.rate.expected(self.duration_ns) for p in self.parts)

    def batches(self) -> Iterator[Batch]:
        """All requests, each time the same."""
        return merged([self._arrivals(part) for part in self.parts], self.window_ns)

    def used(self) -> tuple[Ints, ...]:
        """Of each class the parameters that come, ascending; all that can, where each comes some times on average."""
        out = []
        for part in self.parts:
            rows = np.flatnonzero(part.weights > 0).astype(np.int64)
            expected = part.rate.expected(self.duration_ns)
            if expected < _SURE * len(rows):
                seen = np.zeros(len(part.weights), dtype=bool)
                for _, instances in self._arrivals(part):
                    seen[instances] = True
                rows = np.flatnonzero(seen).astype(np.int64)
            out.append(rows)
        return tuple(out)

    def _arrivals(self, part: ClassLoad) -> Arrivals:
        if part.rate.expected(self.duration_ns) <= 0:
            return
        picker, random = Picker(part.weights), stream(self.seed, "parameters", part.name)
        for at in moments(part.rate, part.process, self.seed, part.name, self.duration_ns):
            yield at, picker.pick(random, len(at))


def no_rates(table: str) -> UsageError:
    """Nothing would ever arrive."""
    return UsageError(
        f"no class of {table or 'the table'} has a rate: there is nothing to send",
        where="--load",
        fix="give the classes a 'rate:' in the design file, or pass a log with times by --log",
    )


def used_instances(load: Load) -> tuple[Ints, ...]:
    """Of each class of a load the parameters that its requests have, ascending; some more, where that saves a pass."""
    if isinstance(load, WorkloadLoad):
        return load.used()
    seen = [np.zeros(count, dtype=bool) for count in load.instances]
    for batch in load.batches():
        for number, of_class in enumerate(seen):
            of_class[batch.instances[batch.classes == number]] = True
    return tuple(np.flatnonzero(of_class).astype(np.int64) for of_class in seen)


def merged(streams: Iterable[Arrivals], window_ns: int) -> Iterator[Batch]:
    """The arrivals of all classes as batches of one window each; ties by class number, then as they came.

    Each stream gives (moments, instances), ascending and never empty.
    """
    heads: dict[int, tuple[Arrivals, Ints, Ints]] = {}
    for number, arrivals in enumerate(streams):
        if (piece := next(arrivals, None)) is not None:
            heads[number] = (arrivals, *piece)
    first = 0
    while heads:
        end = (min(int(at[0]) for _, at, _ in heads.values()) // window_ns + 1) * window_ns
        parts: list[tuple[int, Ints, Ints]] = []
        for number in sorted(heads):
            arrivals, at, instances = heads[number]
            while int(at[0]) < end:
                cut = int(at.searchsorted(end))
                parts.append((number, at[:cut], instances[:cut]))
                if cut < len(at):
                    at, instances = at[cut:], instances[cut:]
                elif (piece := next(arrivals, None)) is not None:
                    at, instances = piece
                else:
                    del heads[number]
                    break
            else:
                heads[number] = (arrivals, at, instances)
        at = np.concatenate([p[1] for p in parts])
        classes = np.repeat(np.array([p[0] for p in parts], dtype=np.int64), [len(p[1]) for p in parts])
        instances = np.concatenate([p[2] for p in parts])
        if parts[0][0] != parts[-1][0]:
            order = at.argsort(kind="stable")
            at, classes, instances = at[order], classes[order], instances[order]
        yield Batch(first, at, classes, instances)
        first += len(at)


def _demands(bench: Bench, classes: Sequence[str] | None) -> list[Demand]:
    by_name = {d.query.name: d for d in bench.demands}
    if classes is None:
        return [d for d in bench.demands if not d.query.analytic]
    return [by_name[name] for name in classes]

"""The bench again on half of what was drawn, over and over: how far every cost moves with the luck of the draw.

A replicate keeps half of the sampled units (rows, or whole keys) and half of the logged parameters where those are a
sample, without replacement. Nothing comes twice, so that what is unique stays unique and every count scales as it does
for the sample itself (Shao and Wu 1989; the spread over half-samples is that of the sample around the truth).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.rows.coded_rows import Coded
from pkadvisor.design.rows.demand import demands
from pkadvisor.design.rows.population import GroupCounts, Population
from pkadvisor.design.rows.samples.group_sizes import Law
from pkadvisor.design.rows.samples.intervals import FEW_UNITS, NO_INTERVAL, Units, units_of
from pkadvisor.lazy import Ints, np, pl
from pkadvisor.observe.workload import DrawBy
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from numpy.random import Generator

ROWS_MAX = 10_000
"""Rows of a replicate at most: of more the spread is scaled, by √(kept ÷ left out)."""
REPLICATES = 40
REPLICATES_MIN = 25
ROWS_COSTED = 3_000_000
"""Rows over all replicates, where none may be left out because it is the log that is the sample."""
LOGGED_MAX = 5_000
"""Requests of a class that are kept of a log (``observe/logs/traffic.py``): as many or more are a sample."""
UNITS_MIN = 30
"""Keys of equal size that tell as much as those drawn, below which costs have no interval. Assumed."""
OTHER_LAWS = (Law.SMALL, Law.LARGE, Law.EVEN)
"""Laws of group sizes that the counts allow beside the likeliest."""
FRONT_ROWS_MIN = 400
"""Rows of a replicate below which write fronts are not counted again."""


_CHECKED = ("keeps order", "begins", "separator", "hostile", "surplus", "overwritten", "escaped", "length", "numeric")
"""Facts about keys, texts and values that are checked on all sampled rows and not resampled."""


class Subset(Population):
    """Some rows and ghosts of a population; codes and groups are taken from it, so that nothing is sorted again."""

    def __init__(self, parent: Population, rows: Ints, ghosts: Ints, law: Law = Law.LIKELIEST) -> None:
        share = len(rows) / max(1, parent.rows)
        keys = parent.sampling == "random-keys"
        taken = np.concatenate([rows, ghosts])
        frame = parent.frame[taken]
        super().__init__(
            parent.data[rows],
            parent.types,
            total=parent.total,
            complete=False,
            arrival=parent.arrival,
            sampling=parent.sampling,
            sampled_by=tuple(a[1] for a in parent.sampled_by),
            sizes=parent.known_sizes,
            hashed=parent.hashed,
            drawn_from=round(parent.drawn_from * share) if keys else parent.drawn_from,
            token=parent.token,
            zoneless=parent.zoneless,
        )
        self._parent = parent
        self.taken_from = (parent, rows)
        self._taken = taken
        self.frame = frame
        self.size = len(self._taken)
        self.is_data = np.arange(self.size) < self.rows
        kept = _CHECKED if self.rows >= FRONT_ROWS_MIN else (*_CHECKED, "fronts")
        self.law = law
        self.plans = parent.plans
        self.rules = parent.rules
        self.memo = {name: value for name, value in parent.memo.items() if isinstance(name, tuple) and name[0] in kept}

    def coded(self, name: str) -> Coded:
        """The property as the parent's codes; some may have no row here."""
        if name not in self._coded:
            whole = self._parent.coded(name)
            self._coded[name] = Coded(whole.codes[self._taken], whole.values, whole.has_missing)
        return self._coded[name]

    def atom(self, atom: Atom) -> tuple[Ints, int]:
        """The parent's codes; conditions are this population's own."""
        if atom[0] == "m":
            return super().atom(atom)
        if atom not in self._atoms:
            codes, size = self._parent.atom(atom)
            self._atoms[atom] = (codes[self._taken], size)
            if atom in self._parent._numbers_of:
                self._numbers_of[atom] = self._parent._numbers_of[atom]
        return self._atoms[atom]

    def exact(self, names: Iterable[str]) -> GroupCounts | None:
        """What was counted over every row is not left to chance."""
        return self._parent.exact(names)

    def exact_rows(self, names: Iterable[str]) -> Ints | None:
        """The parent's counts of the rows that are here."""
        rows = self._parent.exact_rows(names)
        return None if rows is None else rows[self._taken]

    def groups(self, atoms: Iterable[Atom]) -> tuple[Ints, int]:
        """The parent's groups; some may have no row here."""
        key = tuple(sorted(set(atoms)))
        if not key or any(a[0] == "m" for a in key):
            return super().groups(key)
        if key not in self._groups:
            ids, size = self._parent.groups(key)
            self._groups[key] = (ids[self._taken], size)
        return self._groups[key]


@dataclass(frozen=True, slots=True)
class BenchDraw:
    """What is left to chance in a bench: the units of its rows, and the classes whose logged parameters are a sample.

    ``kept`` is the share of units in a replicate; ``why_not`` says why nothing can be stated, ``""`` where it can.
    """

    units: Units | None
    rows_sampled: bool
    logged: tuple[str, ...]
    kept: float
    why_not: str = ""

    @property
    def counted(self) -> bool:
        """Whether nothing was left to chance."""
        return not self.why_not and not self.rows_sampled and not self.logged

    @property
    def fraction(self) -> float:
        """Share of the table that was drawn; 0 where the log is the sample, of which nobody knows the whole."""
        return self.units.fraction if self.units is not None and not self.logged else 0.0

    @property
    def freedom(self) -> float:
        """Degrees of freedom of a spread."""
        return self.units.freedom if self.units is not None and self.rows_sampled else float(LOGGED_MAX)


def draw_of(bench: Bench, *, log_sampled: bool = False) -> BenchDraw:
    """What of a bench is a sample: rows where not all were read, parameters where the log holds more than are kept.

    ``log_sampled``: the log itself is one, or the parameters of some class were too many to keep.
    """
    units = units_of(bench.population)
    logged = tuple(
        d.query.name
        for d in bench.demands
        if d.query.draw.by is DrawBy.LOG
        and d.query.name in bench.workload.instances
        and (log_sampled or bench.workload.instances[d.query.name].height >= LOGGED_MAX)
    )
    if units is None:
        return BenchDraw(None, True, logged, 0.5, NO_INTERVAL)
    sampled = units.fraction < 1
    if sampled and (units.effective < UNITS_MIN or units.count < 4):
        return BenchDraw(units, True, logged, 0.5, FEW_UNITS)
    if sampled:
        some = min(units.count // 2, max(2, round(ROWS_MAX * units.count / max(1, units.rows))))
        return BenchDraw(units, True, logged, some / units.count)
    return BenchDraw(units, False, logged, 0.5)


def affordable(bench: Bench, draw: BenchDraw) -> int:
    """How many replicates are made: fewer where each is costed on many rows."""
    rows = max(1.0, bench.population.rows * (draw.kept if draw.rows_sampled else 1.0))
    return max(REPLICATES_MIN, min(REPLICATES, int(ROWS_COSTED / rows)))


def replicates_of(bench: Bench, draw: BenchDraw, *, replicates: int = REPLICATES, seed: int = 0) -> Iterator[Bench]:
    """The bench on ``replicates`` samples of its own sample, seeded."""
    population = bench.population
    assert draw.units is not None
    rng = np.random.default_rng([seed, population.rows, replicates])
    every = np.arange(population.rows, dtype=np.int64)
    some = round(draw.kept * draw.units.count)
    for _ in range(replicates):
        rows = every
        if draw.rows_sampled:
            chosen = np.zeros(draw.units.count, dtype=bool)
            chosen[rng.permutation(draw.units.count)[:some]] = True
            rows = every[chosen[draw.units.ids]]
        yield _bench_of(bench, draw, rows, rng)


def under_laws(bench: Bench, draw: BenchDraw) -> Iterator[Bench]:
    """The bench on all of its rows under each other law of group sizes that the counts of random rows allow."""
    if draw.rows_sampled and bench.population.sampling != "slice":
        every = np.arange(bench.population.rows, dtype=np.int64)
        for law in OTHER_LAWS:
            yield _bench_of(bench, replace(draw, logged=()), every, np.random.default_rng(0), law)


def _bench_of(bench: Bench, draw: BenchDraw, rows: Ints, rng: Generator, law: Law = Law.LIKELIEST) -> Bench:
    """A bench on some of its rows, and on some of the parameters of logs of which there are more."""
    population = bench.population
    places, ghosts, frames = {}, [np.empty(0, dtype=np.int64)], dict(bench.workload.instances)
    came = dict(bench.workload.came)
    start = len(rows)
    for demand in bench.demands:
        name, asked = demand.query.name, demand.instances
        if not len(asked) or asked[0] < population.rows or name not in frames:
            continue
        if name in draw.logged and len(asked) > 1:
            part = np.sort(rng.permutation(len(asked))[: max(1, round(draw.kept * len(asked)))])
            asked, frames[name] = asked[part], _weights(frames[name], part)
            if name in came:
                came[name] = [came[name][place] for place in part.tolist()]
        places[name] = (start, start + len(asked))
        ghosts.append(asked)
        start += len(asked)
    found = Subset(population, rows, np.concatenate(ghosts), law)
    workload = replace(bench.workload, instances=frames, came=came)
    return replace(bench, population=found, workload=workload, demands=demands(workload, found, places))


def _weights(frame: pl.DataFrame, part: Ints) -> pl.DataFrame:
    """The weights of some instances, which sum to 1 again; their values are read from the population's ghosts."""
    weights = frame.get_column("_weight").to_numpy()[part]
    return pl.DataFrame({"_weight": weights / weights.sum()})

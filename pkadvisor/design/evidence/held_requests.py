"""Which share of a log's requests name values that the data has, and which share it should have.

A complete table has what is asked for. Of a random sample the share of the requests is that of the table: chance draws
rows or keys whatever is asked of them, so that both shares differ by chance alone, the more the more requests go to
few keys (a mean over a sample of unequal weights, Horvitz and Thompson 1952).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.demand import Demand, free_atoms
from pkadvisor.design.rows.logged.known_entities import inserted_by_log, share_there
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Bools, Ints, np
from pkadvisor.numbers import percent
from pkadvisor.observe.workload import DrawBy, Operation, Workload
from pkadvisor.values import dataclass

FOUND = 0.5
"""Share of the values asked for that must be in the data: up to half may ask for deleted, expired and new entities."""
STATES_MOST = 20
"""Distinct values up to which a property is taken for a state, of which some may have no entity just now: assumed."""
STATE_ROWS = 0.8
"""Share of the rows that are in the most frequent state, such as ``done``, at the least: assumed."""
CHANCE = 1e-4
"""How likely chance may leave so few requests in a random sample as are there, so that it is not chance. Assumed."""


@dataclass(frozen=True, slots=True)
class Held:
    """The share of a class's requests whose values the data has, and the one that is due; None where nobody can say.

    ``error`` is the standard error of ``share`` by chance, ``due_to`` says from what the share that is due follows.
    """

    share: float
    due: float | None
    error: float = 0.0
    due_to: str = ""

    @property
    def contradicts(self) -> bool:
        """Whether the share is far below what is due, and not by chance."""
        return self.due is not None and self.share < FOUND * self.due and self.chance < CHANCE

    @property
    def chance(self) -> float:
        """How likely a random sample has no more of the requests: Chernoff's bound for so many requests of keys of
        their own as have the same standard error."""
        if not self.due or not self.error or not self.share < self.due < 1:
            return float(not self.due or self.share >= self.due)
        share, due = self.share, self.due
        apart = share * math.log(share / due) if share > 0 else 0.0
        apart += (1 - share) * math.log((1 - share) / (1 - due))
        return math.exp(-apart * due * (1 - due) / self.error**2)


def held_requests(demand: Demand, demands: Sequence[Demand], workload: Workload, population: Population) -> Held:
    """What the data holds of a class's requests.

    Of a complete table each value alone counts: that no entity has all of them together is no contradiction, as such a
    request finds nothing. What the log inserts or deletes itself need not be in the data, nor what is answered by 404.
    """
    fixed = free_atoms(demand.fixed_atoms(population), demand.constants)
    absent = workload.absent.get(demand.query.name, 0.0)
    if population.complete:
        inserted = inserted_by_log(demands, workload, population)
        each: dict[Atom, float] = {one: share_there(demand, [[one]], inserted, population) for one in fixed}
        share = share_there(demand, [[one] for one in _telling(each, population)], inserted, population)
        return Held(min(1.0, share + absent), 1.0)
    ids = population.groups(fixed)[0]
    asked, exact = ids[demand.instances], _exact_rows(fixed, population)
    there = (population.counts(fixed)[asked] if exact is None else exact[demand.instances]) > 0
    gone = ~there & np.isin(asked, ids[_deleted(demands)])
    inserted = inserted_by_log(demands, workload, population)
    newer = demand.mean((~there & ~gone & np.isin(asked, ids[inserted.rows])).astype(float)) / inserted.share
    share, old = demand.mean(there.astype(float)), 1 - newer - demand.mean(gone.astype(float)) - absent
    share = min(1.0, share / old) if old > 0 else 1.0
    if exact is not None:
        return Held(share, 1.0)
    if old < FOUND:
        return Held(share, None)
    keys = population.sampled_by
    if population.sampling == "random-rows":
        return _of_sample(share, _due_of_rows(fixed, population), "rows", demand, ~gone, fixed, population)
    if population.keys_drawn and {*keys} <= {*fixed}:
        return _of_sample(share, population.rows / population.total, "keys", demand, ~gone, keys, population)
    return Held(share, None)


def _exact_rows(fixed: Sequence[Atom], population: Population) -> Ints | None:
    """The rows of the whole table that agree with each row at hand, where they were counted: by whole values alone."""
    names = [atom[1] for atom in fixed if atom[0] == "p"]
    return population.exact_rows(names) if len(names) == len(fixed) else None


def _telling(shares: Mapping[Atom, float], population: Population) -> list[Atom]:
    """The atoms whose values must be there, by the shares of the requests that find theirs: not that of a state that
    no entity has now, such as ``new`` in a queue that was drained, where the other values of the query are there."""
    if all(share < FOUND for share in shares.values()):
        return list(shares)
    rows_least = STATE_ROWS * population.rows
    return [
        one
        for one, share in shares.items()
        if share >= FOUND
        or population.distinct((one,)) > STATES_MOST
        or population.counts((one,)).max(initial=0) < rows_least
    ]


def _deleted(demands: Iterable[Demand]) -> Ints:
    """The rows below the data that hold what the log deletes."""
    deletes = [d for d in demands if d.query.operation is Operation.DELETE and d.query.draw.by is DrawBy.LOG]
    return np.concatenate([np.empty(0, dtype=np.int64), *(d.instances for d in deletes)])


def _due_of_rows(fixed: Iterable[Atom], population: Population) -> float:
    """The share of the groups of some values of which random rows surely show one or more: the first-order jackknife as
    in ``single_block``, with more groups of one row and fewer of two, each by two standard errors."""
    counts = population.counts(fixed)
    groups, single, double = (int(np.count_nonzero(seen)) for seen in (counts, counts == 1, counts == 2))
    most, least = single + 2 * math.sqrt(single + 1), max(0.0, double - 2 * math.sqrt(double + 1))
    shown = 1 - (1 - population.rows / population.total) * most / (most + 2 * least)
    return groups / (groups + (most + least) * (1 / shown - 1))


def _of_sample(
    share: float, due: float, of: str, demand: Demand, counted: Bools, unit: Sequence[Atom], population: Population
) -> Held:
    """What is due of a sample: by its size, or by the share of what the log names that it has, where that contradicts.

    ``unit`` are the atoms that chance drew, ``counted`` the instances that count. Keys differ in size: what share of
    them a sample has, its rows tell the worse the fewer keys have most of them.
    """
    atoms = tuple(unit)
    ids, which = np.unique(population.groups(atoms)[0][demand.instances[counted]], return_inverse=True)
    weights = np.bincount(which, demand.weights[counted])
    squares = float((weights**2).sum() / max(weights.sum() ** 2, 1e-300))
    sizes = population.counts(atoms).astype(np.float64)
    uneven = float((sizes**2).sum() / max(1.0, sizes.sum()) ** 2) if of == "keys" else 0.0
    error = math.sqrt(due * (1 - due) * squares + due**2 * uneven)
    size = percent(population.rows / population.total)
    by_size = Held(share, due, error, f"a random sample of {of} with {size} of the table has about {percent(due)}")
    if by_size.contradicts or not len(ids) or (of == "rows" and population.surplus(atoms)):
        return by_size
    known = float(np.count_nonzero(population.counts(atoms)[ids])) / len(ids)
    error = math.sqrt(known * (1 - known) * max(0.0, squares - 1 / len(ids)))
    names = f"a random sample with {percent(known)} of the different {of} that they name has as much of them"
    by_names = Held(share, known, error, names)
    return by_names if by_names.contradicts else by_size

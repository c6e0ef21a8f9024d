"""Parts of a key that requests leave behind: values that come one after another in a log.

A minute in a PartitionKey, or the number of a batch, is that of the moment: whatever is inserted or asked for then has
it. Counted over a whole log, each of its values seems to take a small part of the requests at all times. So they are
put where those of the last moment fall, as inserts are with a known time of arrival.
"""

from __future__ import annotations

from typing import Final

from pkadvisor.design.keys.transforms import Atom, Part
from pkadvisor.design.rows.atoms import atoms_of
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.list_values import list_part
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Ints, np
from pkadvisor.observe.workload import Operation
from pkadvisor.remembered import remembered

CHANGES_LEAST: Final = 30.0
"""Changes of a value that chance would make from one request to the next, from which their lack says something."""
CHANGES_SHARE: Final = 0.1
"""A value passes where it changes at most so often as it would by chance …"""
LASTS_LEAST_S: Final = 30.0
"""… and lasts so long on average: what a target is compared with lasts a minute."""
RISING: Final = 0.95
"""Correlation of the place in the key order with the time from which the inserts move on through the keys."""
US: Final = 1_000_000
"""Microseconds in a second."""
_MEMO: Final = "logged inserts"


def keep_logged_inserts(population: Population, demands: tuple[Demand, ...]) -> None:
    """Keep with a population the class of a log that inserts most, for those who ask no class."""
    adds = (Operation.INSERT, Operation.UPSERT)
    timed = [d for d in demands if d.came is not None and d.query.operation in adds]
    if timed:
        population.memo[_MEMO] = max(timed, key=lambda d: d.query.rate.sustained_per_s)


def logged_inserts(population: Population) -> Demand | None:
    """The class of a log that inserts most, with its times; None where none was kept."""
    demand: Demand | None = population.memo.get(_MEMO)
    return demand


@remembered("moved on", of=lambda parts, demand, _: (demand.asked, parts))
def moved_on(parts: tuple[Part, ...], demand: Demand, population: Population) -> Ints | None:
    """For each row the row whose partition takes now what is asked or inserted like it; None where each takes its own.

    That is the last request of the class in the log that agrees with it on all that does not pass.
    """
    if demand.came is None or list_part(parts) is not None:
        return None
    atoms = atoms_of(parts)
    rest = tuple(atom for atom in atoms if not _passes(atom, demand, population))
    if rest == atoms:
        return None
    in_order = demand.instances[np.argsort(demand.came, kind="stable")]
    ids, size = population.groups(rest)
    last = np.zeros(size, dtype=np.int64)
    last[ids[in_order]] = in_order
    moved = np.arange(population.size, dtype=np.int64)
    moved[demand.instances] = last[ids[demand.instances]]
    return moved


def one_front(leading: Part, population: Population) -> bool:
    """Whether a log shows that inserts move on through the keys of a part, so that one range takes all of a moment."""
    demand = logged_inserts(population)
    if demand is None or demand.came is None or leading.atom is None or list_part((leading,)) is not None:
        return False
    if not _passes(leading.atom, demand, population):
        return False
    places = population.key_order((leading,))[0][demand.instances].astype(np.float64)
    return bool(abs(np.corrcoef(places, demand.came.astype(np.float64))[0, 1]) >= RISING)


@remembered("passes", of=lambda atom, demand, _: (demand.asked, atom))
def _passes(atom: Atom, demand: Demand, population: Population) -> bool:
    """Whether the values of an atom come one after another in the requests of a class, and each lasts."""
    assert demand.came is not None
    order = np.argsort(demand.came, kind="stable")
    ids, size = population.groups((atom,))
    values = ids[demand.instances[order]]
    shares = np.bincount(values, minlength=size) / max(1, len(values))
    by_chance = len(values) * (1.0 - float((shares * shares).sum()))
    changes = int(np.count_nonzero(values[1:] != values[:-1]))
    span_s = float(np.ptp(demand.came)) / US if len(values) else 0.0
    few = by_chance >= CHANGES_LEAST and changes <= CHANGES_SHARE * by_chance
    return few and span_s >= LASTS_LEAST_S * (changes + 1)

"""Whose values fill the parameters of a class: a weight for each row at hand, by the draw that is declared.

Sources: Zipf's law by rank; Horvitz and Thompson 1952 for groups that a sample may miss.
"""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.transforms import Atom
from pkadvisor.design.rows.arrivals import arrivals
from pkadvisor.design.rows.population import GroupCounts, Population
from pkadvisor.design.rows.samples.group_sizes import Law
from pkadvisor.design.rows.samples.unseen_groups import spans_of
from pkadvisor.lazy import Bools, Floats, Ints, np
from pkadvisor.observe.workload import Draw, DrawBy
from pkadvisor.table.edm import EdmType


def hidden_draw(draw: Draw, population: Population) -> str:
    """What a draw needs to know and a profile hides; empty where nothing is hidden. Tokens have no size and no time."""
    if draw.by is DrawBy.WEIGHT and draw.column in population.hashed:
        return f"the weights {draw.column}"
    if draw.by is DrawBy.NEWEST and population.arrival in population.hashed:
        return f"the times {population.arrival}"
    return ""


def draw_weights(draw: Draw, population: Population) -> tuple[Ints, Floats]:
    """(rows, weights that sum to 1) of a parameter distribution over the data rows; alike where it is hidden."""
    rows = population.rows
    instances = np.arange(rows, dtype=np.int64)
    if hidden_draw(draw, population):
        weights = np.ones(rows)
    elif draw.by in (DrawBy.DISTINCT, DrawBy.ZIPF):
        atoms: tuple[Atom, ...] = tuple(("p", p) for p in draw.of if population.has(p))
        ids, size = population.groups(atoms)
        counts = population.counts(atoms)
        exact = population.exact(p for _, p in atoms) if atoms else None
        if exact is not None:
            return instances, _drawn_by_groups(draw, population, exact)
        if atoms and (population.random_rows or population.across(atoms)):
            return instances, _drawn_by_sizes(draw, population, atoms)
        mass = seen_weights(counts, population, atoms)
        if draw.by is DrawBy.ZIPF:
            order = np.argsort(-counts, kind="stable")
            single = single_block(population, atoms)
            if single > 1:
                mass[order] = _masses_of_rows(counts[order], single, draw.exponent)
            else:
                mass[order] *= _rank_masses(size, round(zipf_block(draw, population)), draw.exponent)
        weights = (mass / np.maximum(counts, 1))[ids[:rows]]
    elif draw.by is DrawBy.WEIGHT and population.has(draw.column):
        weights = np.maximum(population.frame.get_column(draw.column)[:rows].fill_null(0).to_numpy().astype(float), 0)
    elif draw.by is DrawBy.NEWEST:
        weights = np.full(rows, (1 - draw.share) / max(1, rows))
        recent = _recent(population, draw.window_s)
        weights[recent] += draw.share / max(1, int(np.count_nonzero(recent)))
    else:
        weights = np.ones(rows)
    total = float(weights.sum())
    if total <= 0:
        weights, total = np.ones(rows), float(rows)
    return instances, weights / max(total, 1e-300)


def zipf_block(draw: Draw, population: Population) -> float:
    """How many keys of the whole table the most popular key at hand stands for; 1 where it is that of the table."""
    atoms = [("p", p) for p in draw.of if population.has(p)]
    exact = population.exact(n for _, n in atoms)
    if exact is not None:
        rows = population.exact_rows(exact.names)
        assert rows is not None
        largest = rows[: population.rows].max(initial=1)
        ids, _ = population.groups(atoms)
        here = len(np.unique(ids[: population.rows][rows[: population.rows] == largest]))
        return max(1.0, int((exact.sizes == largest).sum()) / max(1, here))
    if int(population.counts(atoms).max(initial=1)) == 1 and (single := single_block(population, atoms)) > 1:
        return single
    return float(max(1, round(population.groups_total(atoms) / max(1, population.distinct(atoms)))))


def single_block(population: Population, atoms: Iterable[Atom]) -> float:
    """How many groups of the whole table one stands for of which random rows show a single row; 1 where unknown.

    After the first-order jackknife, over the groups of which at most two rows are at hand, since many rows of a few
    large groups say nothing of the small ones: a share q of the rows that shows d groups, f of them with a single row
    among n, is of d / (1 - (1 - q) f / n) groups (Haas, Naughton, Seshadri and Stokes 1995; rare groups apart after
    Chao and Lee 1992). Where all are single, each row of the table is a group.
    """
    rows, total = population.rows, population.total
    counts = population.counts(atoms)
    single, double = (int(np.count_nonzero(counts == n)) for n in (1, 2))
    # Of whole keys ``groups_total`` tells; of a slice nothing is known, but that unique values stay so.
    if rows >= total or not single or not (population.sampling == "random-rows" or single == rows):
        return 1.0
    if population.sampling == "random-keys":
        return 1.0
    groups = single + double
    return 1 + groups * (1 / (1 - (1 - rows / total) * single / (single + 2 * double)) - 1) / single


def _masses_of_rows(counts: Ints, single: float, exponent: float) -> Floats:
    """rank^-exponent of groups that fall in size, those with a single row summed over the ranks that they stand for."""
    several = int(np.count_nonzero(counts > 1))
    alone = int(np.count_nonzero(counts == 1))
    masses = np.zeros(len(counts))
    masses[:several] = np.arange(1, several + 1, dtype=np.float64) ** -exponent
    edges = several + np.arange(alone + 1, dtype=np.float64) * single
    masses[several : several + alone] = np.diff(_mass_up_to(edges, exponent))
    return masses


def _mass_up_to(ranks: Floats, exponent: float) -> Floats:
    """The sum of rank^-exponent over so many ranks: of the first thousand as it is, from there on as an integral."""
    most = 1_000
    sums = np.concatenate([[0.0], np.cumsum(np.arange(1, most + 1, dtype=np.float64) ** -exponent)])

    def integral(upper: Floats) -> Floats:
        return np.asarray(np.log(upper) if exponent == 1 else upper ** (1 - exponent) / (1 - exponent))

    beyond = integral(np.maximum(ranks, most) + 0.5) - integral(np.array([most + 0.5]))
    return np.asarray(np.interp(ranks, np.arange(most + 1), sums) + beyond)


def _rank_masses(size: int, block: int, exponent: float) -> Floats:
    """rank^-exponent, summed over the ``block`` ranks of the whole table that each key at hand stands for."""
    if block == 1:
        return np.asarray(np.arange(1, size + 1, dtype=np.float64) ** -exponent)
    return np.diff(_mass_up_to(np.arange(size + 1, dtype=np.float64) * block, exponent))


def _drawn_by_groups(draw: Draw, population: Population, exact: GroupCounts) -> Floats:
    """Weights of the rows at hand where the size of every group is known, which sum to 1.

    Groups of which the sample shows some rows weigh as the inverse of the chance of that (Horvitz and Thompson 1952):
    means over groups have no bias toward those that a sample shows.
    """
    rows = population.exact_rows(exact.names)
    assert rows is not None
    own = np.maximum(rows[: population.rows], 1).astype(np.float64)
    ids, size = population.groups([("p", name) for name in exact.names])
    ids = ids[: population.rows]
    mass = np.ones(population.rows)
    if draw.by is DrawBy.ZIPF:
        rising = exact.sizes[::-1]
        larger = len(rising) - np.searchsorted(rising, own, side="right")
        alike = len(rising) - np.searchsorted(rising, own, side="left") - larger
        # Groups of one size divide the ranks that they take, in the order of their values as everywhere: which of them
        # is asked for more, nobody knows, but that one of them is.
        ranks = np.cumsum(np.concatenate([[0.0], np.arange(1, len(rising) + 1, dtype=np.float64) ** -draw.exponent]))
        place, here_alike = _places_among_alike(ids, size, own)
        block = alike / here_alike
        low, high = larger + place * block, larger + (place + 1) * block
        every = np.arange(len(ranks), dtype=np.float64)
        mass = (np.interp(high, every, ranks) - np.interp(low, every, ranks)) / block
    # A group's mass falls on its rows at hand; a group of which none is at hand is made up for by others like it.
    here = np.bincount(ids, minlength=size)[ids]
    seen = 1 - (1 - population.rows / population.drawn_from) ** own if population.rows < population.drawn_from else 1.0
    weights = mass / (here * seen)
    return np.asarray(weights / max(float(weights.sum()), 1e-300))


def _drawn_by_sizes(draw: Draw, population: Population, atoms: tuple[Atom, ...]) -> Floats:
    """Weights of random rows where the sizes of groups are told by their law (``group_sizes``), which sum to 1.

    A row of a group of g rows, c of them at hand, stands for 1 in c (1 - (1 - share)^g) groups of the table (Horvitz
    and Thompson 1952), which take so many ranks where the most frequent come first. Where whole keys were drawn, a
    group is seen by each key that has rows of it.
    """
    rows, share = population.rows, population.drawn_from / population.total
    ids, _ = population.groups(atoms)
    sizes = population.matching(atoms, np.arange(rows, dtype=np.int64))
    here = population.counts(atoms)[ids[:rows]]
    chances = np.maximum(sizes, 1.0)
    if population.keys_drawn:
        chances = np.maximum(1.0, chances * spans_of(population, atoms)[ids[:rows]] / here)
    else:
        share = rows / population.total
    stands_for = 1 / (here * (1 - (1 - share) ** chances))
    if population.random_rows and population.law is Law.LIKELIEST:
        stands_for = _with_unseen_most(stands_for, here, share)
    weights = stands_for
    if draw.by is DrawBy.ZIPF:
        mean = np.bincount(ids[:rows], sizes)[ids[:rows]] / here
        order = np.lexsort((ids[:rows], -mean))
        ranks = np.concatenate([[0.0], np.cumsum(stands_for[order])])
        weights = np.empty(rows)
        weights[order] = np.diff(_mass_up_to(ranks, draw.exponent))
    return np.asarray(weights / weights.sum())


def _with_unseen_most(stands_for: Floats, here: Ints, share: float) -> Floats:
    """What rows stand for, with no more groups of which no row is at hand than single and double groups tell of.

    A few rows of tiny groups that a law allows would stand for more groups than all others: the groups not at hand are
    at most (1 - share) f1² / (2 f2), of f1 groups with one row at hand and f2 with two (Chao 1984). That
    tells nothing where no group has two. ``here``: for each row, the rows of its group at hand.
    """
    single, double = int(np.count_nonzero(here == 1)), int(np.count_nonzero(here == 2)) // 2
    if not double:
        return stands_for
    most = (1 - share) * single**2 / (2 * double)
    unseen = stands_for - 1 / here
    return 1 / here + unseen * min(1.0, most / max(float(unseen.sum()), 1e-300))


def _places_among_alike(ids: Ints, size: int, own: Floats) -> tuple[Floats, Floats]:
    """For each row at hand (the place of its group among those of its size at hand, how many of that size are)."""
    sizes = np.zeros(size)
    sizes[ids] = own
    order = np.argsort(sizes, kind="stable")
    ordered = sizes[order]
    first = np.searchsorted(ordered, ordered, side="left")
    place, alike = np.zeros(size), np.ones(size)
    place[order] = np.arange(size) - first
    alike[order] = np.searchsorted(ordered, ordered, side="right") - first
    return place[ids], alike[ids]


def seen_weights(counts: Ints, population: Population, atoms: tuple[Atom, ...]) -> Floats:
    """For each group at hand, how many groups of its size it stands for: rare groups are seen less
    often than they exist.

    A group of c rows out of N is in a sample of n with probability 1 - (1 - n/N)^c (Horvitz-Thompson); c is estimated
    by scaling what was seen. All ones where every row, or every row of each group, is at hand.
    """
    present = (counts > 0).astype(np.float64)
    total = population.drawn_from if population.whole(atoms) else population.total
    if population.rows >= total:
        return present
    share = population.rows / total
    return present / (1 - (1 - share) ** np.maximum(counts / share, 1))


def _recent(population: Population, window_s: float) -> Bools:
    """Data rows inserted within the newest ``window_s`` seconds; the newest row alone where no time column says
    more."""
    recent = np.zeros(population.rows, dtype=bool)
    order = population.arrival_order()
    if order is None or not len(order):
        return recent
    name = population.arrival
    if name and population.has(name) and population.types.get(name) is EdmType.DATETIME:
        moment = population.numbers(name, np.arange(population.rows, dtype=np.int64))
        arrival_times = arrivals(population)
        newest = moment.max() if arrival_times is None else arrival_times.last
        return np.asarray((moment > newest - window_s * 1e6) & (moment <= newest))
    recent[order[-1]] = True
    return recent

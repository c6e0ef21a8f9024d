"""Pairs of values whose entities change together: which share of them a key guarantees to lie in one partition.

A pair lies together by rule where all entities of both values have one text of what the PartitionKey reads: a constant,
or what both have in common. A hash counts as what it is made of: values that share a bucket meet by chance.
"""

from __future__ import annotations

from collections.abc import Sequence

from pkadvisor.design.keys.transforms import Atom, Part
from pkadvisor.design.rows.population import Population
from pkadvisor.lazy import Floats, Ints, np, pl
from pkadvisor.numbers import percent
from pkadvisor.observe.workload import Basis, Pair
from pkadvisor.remembered import remembered
from pkadvisor.values import dataclass

WHOLE = 1 - 1e-9
"""Share from which every pair counts as guaranteed: weights are sums of floats."""
COMMON_SHARE = 0.5
"""Share of the pairs that have a property alike from which it is tried as PartitionKey: assumed."""
COMMON_MOST = 3
"""Properties that are tried, at most."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """Share of the pairs that lie in one partition by rule; ``basis`` is counted over ``pairs`` (sketched
    where the rows are a sample), or assumed where any two values are taken to meet."""

    share: float
    basis: Basis
    pairs: int

    @property
    def whole(self) -> bool:
        """Whether every pair lies in one partition."""
        return self.share >= WHOLE

    @property
    def sentence(self) -> str:
        """How many pairs the PartitionKey keeps together."""
        of = f"{self.pairs:,} pairs" if self.pairs else "the pairs, if any two values can form a pair"
        return f"the PartitionKey guarantees one partition for {percent(self.share)} of {of}"


@dataclass(frozen=True, slots=True)
class _Met:
    """Pairs as codes of the property's values; None where any two values of rows may meet."""

    first: Ints
    second: Ints
    weights: Floats


def guarantee(pair: Pair, parts: Sequence[Part], population: Population) -> Guarantee:
    """The share of the pairs that a PartitionKey keeps in one partition by rule."""
    met = _met(pair, population)
    counted = Basis.COUNTED if population.complete else Basis.SKETCHED
    basis, count = (Basis.ASSUMED, 0) if met is None else (counted, len(met.first))
    if any(part.assigned for part in parts):
        return Guarantee(0.0, basis, count)
    atoms = _read(parts)
    if not atoms:
        return Guarantee(1.0, basis, count)
    return Guarantee(_share(pair, atoms, population), basis, count)


def in_common(pair: Pair, population: Population) -> tuple[str, ...]:
    """Properties that most pairs have alike, the largest share first, of equal ones that of most values."""
    met = _met(pair, population)
    names = [n for n in population.frame.columns if n != pair.property and n not in pair.parameters]
    out = []
    for name in names if met is not None else ():
        values = population.distinct((("p", name),))
        share = _share(pair, (("p", name),), population) if values > 1 else 0.0
        if share >= COMMON_SHARE:
            out.append((-share, -values, name))
    return tuple(name for _, _, name in sorted(out)[:COMMON_MOST])


def _read(parts: Sequence[Part]) -> tuple[Atom, ...]:
    """What a key reads of an entity, a hash as the properties that it is made of."""
    read: list[Atom] = []
    for part in parts:
        if part.constant is not None:
            continue
        if part.hashing is not None:
            read += [("p", name) for name in part.properties]
        elif part.atom is not None:
            read.append(part.atom)
    return tuple(sorted(set(read)))


@remembered("met", of=lambda pair, _: (pair, id(pair.seen)))
def _met(pair: Pair, population: Population) -> _Met | None:
    """The pairs whose values both have rows at hand; None where there are none."""
    met = _met_of(pair, population) if pair.seen is not None and population.has(pair.property) else None
    return met if met is not None and len(met.first) else None


def _met_of(pair: Pair, population: Population) -> _Met:
    assert pair.seen is not None
    coded = population.coded(pair.property)
    shift = 1 if coded.has_missing else 0
    places = pl.DataFrame({"value": coded.values, "code": np.arange(len(coded.values), dtype=np.int64) + shift})
    frame = pair.seen.with_columns(pl.col("first", "second").cast(coded.values.dtype, strict=False))
    for side in ("first", "second"):
        frame = frame.join(
            places.rename({"value": side, "code": f"#{side}"}), on=side, how="left", maintain_order="left"
        )
    sampled = np.bincount(coded.codes[: population.rows], minlength=coded.size) > 0
    frame = frame.drop_nulls(["#first", "#second"])
    first, second = (frame.get_column(f"#{side}").to_numpy() for side in ("first", "second"))
    there = sampled[first] & sampled[second]
    return _Met(first[there], second[there], frame.get_column("_weight").to_numpy()[there])


def _places(pair: Pair, atoms: tuple[Atom, ...], population: Population) -> Ints:
    """For each value of the property the one group that all of its rows lie in, -1 where they lie in several."""
    coded, rows = population.coded(pair.property), population.rows
    ids, size = population.groups(atoms)
    codes, groups = coded.codes[:rows], ids[:rows]
    least, most = np.full(coded.size, size), np.full(coded.size, -1)
    np.minimum.at(least, codes, groups)
    np.maximum.at(most, codes, groups)
    return np.where(least == most, most, -1)


@remembered("pairs", of=lambda pair, atoms, _: (pair, id(pair.seen), atoms))
def _share(pair: Pair, atoms: tuple[Atom, ...], population: Population) -> float:
    met = _met(pair, population)
    if met is None:
        return _share_of_any(pair, atoms, population)
    place = _places(pair, atoms, population)
    together = (place[met.first] == place[met.second]) & (place[met.first] >= 0)
    whole = float(met.weights.sum())
    return float(met.weights[together].sum()) / whole if whole > 0 else 0.0


def _share_of_any(pair: Pair, atoms: tuple[Atom, ...], population: Population) -> float:
    """Where any two entities of different values are equally likely to meet."""
    if not population.has(pair.property) or not population.rows:
        return 0.0
    coded, place = population.coded(pair.property), _places(pair, atoms, population)
    rows = np.bincount(coded.codes[: population.rows], minlength=coded.size).astype(float)
    if coded.has_missing:
        rows[0] = 0.0
    present = place >= 0
    of_group = np.bincount(place[present], weights=rows[present])
    all_pairs = float(rows.sum()) ** 2 - float((rows**2).sum())
    together = float((of_group**2).sum()) - float((rows[present] ** 2).sum())
    return together / all_pairs if all_pairs > 0 else float(bool(present[rows > 0].all()))


def pairs_of_rows(pair: Pair, frame: pl.DataFrame) -> pl.DataFrame | None:
    """The pairs that rows name where they have both parameters as properties; None where they have not."""
    first, second = pair.parameters
    if first not in frame.columns or second not in frame.columns:
        return None
    data_frame = frame.select(pl.col(first).alias("first"), pl.col(second).alias("second")).drop_nulls()
    if not data_frame.height:
        return None
    counted = data_frame.group_by("first", "second", maintain_order=True).len("_weight")
    return counted.with_columns(pl.col("_weight").cast(pl.Float64) / data_frame.height)

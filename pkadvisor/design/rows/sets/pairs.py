"""Pairs of values whose entities change together: which share of them a key guarantees to lie in one partition.

A pair lies together by rule where all entities of both values have one text of what the PartitionKey reads: a constant,
or what both have in common. A hash counts as what it is made of: values that share a bucket meet by chance.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pkadvisor.design.keys.keyreader import decode_key
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import Atom, Part, PeriodPart, part_properties
from pkadvisor.design.keys.transforms.periods import PERIOD_S
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.values import polars_type
from pkadvisor.lazy import Bools, Floats, Ints, np, pl
from pkadvisor.numbers import percent
from pkadvisor.observe.logs.traffic import Groups
from pkadvisor.observe.workload import Basis, Pair, Transaction
from pkadvisor.remembered import remembered
from pkadvisor.table.edm import EdmType
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


# -- The sets of entities that a declared transaction changes together, and the requests that they take.


def set_counts(transaction: Transaction, population: Population) -> Ints:
    """Entities of each set: over every row where they were counted, else over those at hand; two of each pair."""
    if transaction.pair is not None:
        seen = transaction.pair.seen
        return np.full(1 if seen is None else max(1, seen.height), 2, dtype=np.int64)
    names = [p for p in transaction.group_by if population.has(p)]
    exact = population.exact(names)
    counts: Ints = population.counts([("p", p) for p in names]) if exact is None else exact.sizes
    return counts[counts > 0]


def group_sizes(transaction: Transaction, population: Population, most: int) -> tuple[float, int, int]:
    """(mean entities, groups of more than ``most``, groups) of the sets that a transaction changes together."""
    counts = set_counts(transaction, population)
    if not len(counts):
        return 1.0, 0, 0
    return float(counts.mean()), int(np.count_nonzero(counts > most)), len(counts)


def requests_each(transaction: Transaction, population: Population, most: int) -> float:
    """Group transactions for each entity of its set, where one takes ``most`` entities: a larger set takes several.

    Logs and declared requests tell the mean size of a set alone; all are taken to have it.
    """
    if (mean := transaction.entities) is not None:
        return math.ceil(mean / most) / mean if mean > 1 else 1.0
    counts = set_counts(transaction, population)
    return float(np.ceil(counts / most).sum() / counts.sum()) if len(counts) else 1.0


def requests_each_row(transaction: Transaction, population: Population, there: Bools | None, most: int) -> float:
    """Group transactions for each entity of its set that write an index row which some entities do not have.

    ``there``: which rows have it, None where all have; a set without one takes no request.
    """
    if there is None or transaction.entities is not None:
        share = 1.0 if there is None else float(there[: population.rows].mean())
        return share * requests_each(transaction, population, most)
    if transaction.pair is not None:  # which entities have the row is independent of which of them meet: assumed
        share = float(there[: population.rows].mean())
        return share * (1 - share / 2) if most > 1 else share
    ids, size = population.groups(("p", p) for p in transaction.group_by if population.has(p))
    counts = np.bincount(ids[: population.rows], weights=there[: population.rows], minlength=size)
    return float(np.ceil(counts / most).sum() / max(1, population.rows))


# -- What the entities of a log's groups have in common, and the pairs of values where they have nothing.


PARAMETERS = ("first", "second")
ALIKE = 0.95
"""Share of the sampled groups that must agree on a property to have it in common: keys may be written wrongly."""
Values = Mapping[str, object]


def logged_transactions(
    groups: Groups,
    names: Sequence[str],
    scheme: KeyScheme | None,
    types: Mapping[str, EdmType],
    declared: Sequence[Transaction],
) -> tuple[Transaction, ...]:
    """The declared transactions with the pairs that a log shows, and that of the log's groups (``names``: their
    writes)."""
    parts = [_parts(n, groups, scheme, types) for n in range(len(groups.sample))]
    read = [each for each in parts if each]
    out = [_with_pairs(t, read, types) for t in declared]
    if not names or any(t.pair is not None and set(t.together) & set(names) for t in out):
        return tuple(out)
    in_key = _in_key(scheme, read)
    if not in_key:
        return tuple(out)
    apart = [name for name in in_key if _alike(name, read) < ALIKE]
    mean = groups.entities / max(1, groups.transactions)
    lasting_s = tuple((n, seconds) for n in types if (seconds := _lasting_s(n, read, scheme)) is not None)
    if not apart:
        return (*out, Transaction("logged group", tuple(names), in_key, False, mean, lasting_s=lasting_s))
    common = tuple(name for name in in_key if name not in apart)
    if len(apart) == 1 and all(len(each) == 2 for each in read):
        transaction = Transaction("logged pairs", tuple(names), (), False, mean, Pair(apart[0], PARAMETERS))
        return (*out, _with_pairs(transaction, read, types))
    if not common:
        return tuple(out)
    return (*out, Transaction("logged group", tuple(names), common, False, mean, lasting_s=lasting_s))


def _in_key(scheme: KeyScheme | None, groups: Sequence[Sequence[Values]]) -> tuple[str, ...]:
    """The properties by which the log's writes came together: those of the current PartitionKey, and those that all
    parts of a group name, and name alike.

    A PartitionKey of a period or a hash tells no value of its property that the parts share: it counts where nothing
    else does.
    """
    several = [each for each in groups if len(each) > 1]
    shared = [name for name in (several[0][0] if several else {}) if all(name in p for each in several for p in each)]
    alike = [name for name in shared if _alike(name, several) >= ALIKE]
    if scheme is not None:
        in_partition = part_properties(scheme.main.partition)
        cut = {name for part in scheme.main.partition if part.period is not None for name in part.properties}
        named = [name for name in in_partition if name not in cut or name in alike]
        told = [name for name in named if any(name in part for each in several for part in each)]
        in_row = [name for name in part_properties(scheme.main.row) if name in alike]
        return tuple(dict.fromkeys([*told, *in_row])) or in_partition
    return ("PartitionKey",) if not several or "PartitionKey" in shared else tuple(alike)


def _parts(number: int, groups: Groups, scheme: KeyScheme | None, types: Mapping[str, EdmType]) -> list[Values]:
    """What each part of a sampled group says of properties; empty where one says nothing."""
    out: list[Values] = []
    keys = [] if scheme is None else [key for key, _ in scheme.each_key()]
    for (_, pk, rk), text in zip(groups.sample[number], groups.params[number], strict=True):
        values = dict[str, object]() if text is None else dict(json.loads(text))
        if pk is not None and scheme is None:
            values |= {"PartitionKey": pk}
        for key in keys if pk is not None else ():
            partition_values = decode_key(key.partition, pk, types) if pk is not None else None
            rest = decode_key(key.row, rk, types) if rk is not None else {}
            if partition_values is not None and rest is not None:
                values = {**partition_values, **rest, **values}
                break
        if not values:
            return []
        out.append(values)
    return out


def _alike(name: str, groups: Sequence[Sequence[Values]]) -> float:
    """Share of the groups of several parts whose parts name one value of a property; 1 where none tells."""
    several = [{str(part[name]) for part in each} for each in groups if len(each) > 1 and all(name in p for p in each)]
    return sum(len(each) == 1 for each in several) / len(several) if several else 1.0


def _lasting_s(name: str, groups: Sequence[Sequence[Values]], scheme: KeyScheme | None) -> float | None:
    """Seconds within which the times of the parts lie, of ``ALIKE`` of the groups; None where no group tells them.

    No more than leaves them in one period of the PartitionKey, which the parts of a group share.
    """
    from datetime import datetime

    times = [[v for part in each if isinstance(v := part.get(name), datetime)] for each in groups]
    lengths = [(max(each) - min(each)).total_seconds() for each in times if len(each) > 1]
    if not lengths:
        return None
    shared = [p.period for p in (scheme.main.partition if scheme is not None else ()) if p.properties == (name,)]
    longest = [within_s(period) for period in shared if period is not None]
    return min([float(np.quantile(lengths, ALIKE, method="inverted_cdf")), *longest])


def within_s(period: PeriodPart) -> float:
    """Seconds within which the entities of a group lie that are taken to be of one period: its end is seldom among
    them."""
    return (1 - ALIKE) * PERIOD_S[period.unit]


def _with_pairs(declared: Transaction, groups: Sequence[Sequence[Values]], types: Mapping[str, EdmType]) -> Transaction:
    """A transaction over pairs with those that groups of two parts name."""
    pair = declared.pair
    if pair is None:
        return declared
    name = pair.property
    pairs = [(each[0][name], each[1][name]) for each in groups if len(each) == 2 and all(name in p for p in each)]
    if not pairs:
        return declared
    return replace(declared, pair=replace(pair, seen=_frame(pairs, types.get(name, EdmType.STRING)), source="the log"))


def _frame(pairs: Sequence[tuple[object, object]], edm: EdmType) -> pl.DataFrame:
    counts = Counter(pairs)
    columns = [
        pl.Series(side, [pair[n] for pair in counts], dtype=polars_type(edm), strict=False)
        for n, side in enumerate(PARAMETERS)
    ]
    weights = pl.Series("_weight", [count / len(pairs) for count in counts.values()], dtype=pl.Float64)
    return pl.DataFrame([*columns, weights]).drop_nulls()

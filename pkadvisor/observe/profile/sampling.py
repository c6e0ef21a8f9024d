"""What data are a sample of, where a design says how many entities there are and not how the data was taken.

Rows of a table taken at random leave holes in what belongs together; keys taken at random bring all of their rows.
Which of both it was shows in groups that something bounds: another kind whose key they name, or a tail that counts on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pkadvisor.lazy import pl
from pkadvisor.numbers import amount, percent
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

ROWS_MIN = 50
"""Rows from which holes tell of the sampling: assumed."""
GROUP_ROWS = 3.0
"""Mean rows of a group from which holes in groups are holes."""
COVERED_LEAST = 0.5
"""The share of its numbers that a group holds, so that it is taken as whole; ``HOLES`` times what rows at random
would leave at the least."""
HOLES = 3.0
VALUES_MOST = 1_000
"""Distinct values of a tail that is no number, so that it is a closed set."""


@dataclass(frozen=True, slots=True)
class KnownSampling:
    """How data was taken: ``word`` and ``by`` as a design says it. ``basis``: declared, deduced, unknown, or whole
    (nobody says that the data is all of its table, and it is taken for that); ``why`` says from what it was deduced."""

    word: str
    by: tuple[str, ...] = ()
    basis: str = "declared"
    why: str = ""

    def sentence(self, rows: int, total: int) -> str:
        """What is told: what is scaled, by how much, and on which ground."""
        times = f"{amount(total / max(1, rows))}"
        head = f"{rows:,} of {total:,} entities were read"
        keys = ", ".join(self.by)
        scaled = {
            "random-rows": f"what agrees on a property counts {times} times (rows at random)",
            "random-keys": f"keys of {keys} count {times} times, and the rows of each once (keys at random)",
            "slice": f"nothing outside of the sampled slice is known; totals count {times} times (a slice)",
        }[self.word]
        ground = {"declared": "as declared", "deduced": f"deduced: {self.why}"}
        unknown = (
            "but nobody says how they were taken, and if they are all rows of some keys, these have no more rows than "
            "here: declare sampling"
        )
        return f"{head}: {scaled}, {ground.get(self.basis, unknown)}"


def deduced(
    frame: pl.DataFrame,
    types: Mapping[str, EdmType],
    total: int,
    named: Iterable[Sequence[str]],
    others: Mapping[str, int],
) -> KnownSampling:
    """How the rows of a frame were taken from ``total``, as far as they tell.

    ``named`` are sets of properties that requests fix, ``others`` the entities of other kinds by the property that is
    their key. Rows at random of unknown basis where nothing tells.
    """
    unknown = KnownSampling("random-rows", (), "unknown")
    share = frame.height / max(1, total)
    if frame.height < ROWS_MIN or share >= 1 / HOLES:
        return unknown
    for name, entities in sorted(others.items()):
        sampling = _by_other_kind(frame, name, entities, share)
        if sampling is not None:
            return sampling
    best: tuple[float, KnownSampling] | None = None
    for names in sorted({tuple(sorted({*each})) for each in named if each}):
        if not set(names) <= set(frame.columns):
            continue
        groups = frame.select(names).n_unique()
        if groups < 2 or frame.height / groups < GROUP_ROWS:
            continue
        for tail, covered in _tails(frame, types, names):
            if covered >= max(COVERED_LEAST, HOLES * share) and (best is None or covered > best[0]):
                why = f"each {', '.join(names)} has {100 * covered:.0f} % of the values of {tail} that it spans, and "
                why += f"{percent(share)} of the rows would leave holes"
                best = (covered, KnownSampling("random-keys", names, "deduced", why))
    return unknown if best is None else best[1]


def _by_other_kind(frame: pl.DataFrame, name: str, entities: int, share: float) -> KnownSampling | None:
    """By a kind whose key a property is: how many of its entities the rows name."""
    if name not in frame.columns:
        return None
    groups = frame.get_column(name).n_unique()
    if not groups or frame.height / groups < GROUP_ROWS:
        return None
    why = f"the rows name {groups:,} of {entities:,} values of {name}"
    if groups <= entities * min(0.5, share * 1.5):
        return KnownSampling("random-keys", (name,), "deduced", why)
    return KnownSampling("random-rows", (), "deduced", why) if groups >= 0.7 * entities else None


def _tails(frame: pl.DataFrame, types: Mapping[str, EdmType], names: Sequence[str]) -> Iterable[tuple[str, float]]:
    """The properties that are unique within the groups, with the share of what they span that the groups hold."""
    for tail in sorted(set(frame.columns) - set(names)):
        edm = types.get(tail)
        if edm is None or edm in (EdmType.DOUBLE, EdmType.BINARY, EdmType.DATETIME):
            continue
        column = frame.get_column(tail)
        if column.null_count() or frame.select(*names, tail).n_unique() < frame.height:
            continue
        if edm.integer:
            of_groups = frame.group_by(names).agg((pl.col(tail).max() - pl.col(tail).min() + 1).alias("span"))
            spanned = int(of_groups.get_column("span").cast(pl.Int64).sum())
        else:
            values = column.n_unique()
            spanned = values * frame.select(names).n_unique() if values <= VALUES_MOST else 0
        if spanned > 0:
            yield tail, frame.height / spanned

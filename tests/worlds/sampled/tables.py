"""Tables whose groups have known sizes, and random samples of them: rows, and all rows of some keys.

Every table has the same properties: ``owner`` (the key that is drawn whole), ``thing`` (the group that is asked for),
``kind`` (few values), ``n`` (a number of its own for each row, in order of arrival). The tables differ in how large the
groups are and in how groups lie among owners.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import EdmType
from tests.design.support import frame_of

Ints = NDArray[np.int64]
TYPES = {"owner": EdmType.INT32, "thing": EdmType.INT32, "kind": EdmType.STRING, "n": EdmType.INT32}
ROWS = 12_000
ROWS_WAY, KEYS_WAY = "random rows", "whole keys"


@dataclass(frozen=True)
class Table:
    """A table of which samples are drawn in one way."""

    name: str
    way: str
    frame: pl.DataFrame

    def whole(self) -> Population:
        """All rows."""
        return Population(self.frame, TYPES, arrival="file_order")

    def sample(self, share: float, seed: int) -> Population | None:
        """A random sample of this share of the rows, or of the keys; None where it has too few rows to say anything."""
        random = np.random.default_rng([seed, round(share * 1000)])
        if self.way == ROWS_WAY:
            drawn = random.permutation(self.frame.height)[: round(share * self.frame.height)]
            options = {"sampling": "random-rows"}
        else:
            owners = self.frame.get_column("owner").unique().sort().to_numpy()
            chosen = random.permutation(owners)[: max(2, round(share * len(owners)))]
            drawn = np.flatnonzero(np.isin(self.frame.get_column("owner").to_numpy(), chosen))
            options = {"sampling": "random-keys", "sampled_by": ("owner",)}
        if len(drawn) < 20:
            return None
        part = self.frame[np.sort(drawn)]
        return Population(part, TYPES, total=self.frame.height, complete=False, arrival="file_order", **options)  # type: ignore[arg-type]


def sizes_of(random: np.random.Generator, name: str, rows: int) -> Ints:
    """The group of each row, where groups are sized by a law."""
    if name == "pairs":
        return np.arange(rows) // 2
    if name == "of 20":
        return np.arange(rows) // 20
    if name == "of 5":
        return np.arange(rows) // 5
    if name == "of 300":
        return np.arange(rows) // 300
    if name == "1 or 100":
        few = np.arange(rows // 2)
        return np.concatenate([few, len(few) + np.arange(rows - len(few)) // 100])
    if name == "Zipf":
        weights = np.arange(1, 601) ** -1.0
        return random.choice(600, rows, p=weights / weights.sum())
    if name == "steep Zipf":
        weights = np.arange(1, 3001) ** -1.5
        return random.choice(3000, rows, p=weights / weights.sum())
    if name == "one large":
        return np.where(random.random(rows) < 0.3, 0, 1 + random.integers(0, 800, rows))
    raise ValueError(name)


LAWS = ("pairs", "of 5", "of 20", "of 300", "1 or 100", "Zipf", "steep Zipf", "one large")


def made(name: str, way: str, things: Ints, owners: Ints, random: np.random.Generator) -> Table:
    """A table in random order of arrival."""
    order = random.permutation(len(things))
    kinds = np.array(["a", "b", "c", "d"])[random.choice(4, len(things), p=[0.02, 0.18, 0.3, 0.5])]
    columns = {"owner": owners[order], "thing": things[order], "kind": kinds, "n": np.arange(len(things))}
    return Table(name, way, frame_of({k: v.tolist() for k, v in columns.items()}, TYPES))


def tables(seed: int, rows: int = ROWS) -> list[Table]:
    """Tables of every law, to be drawn by rows; and by owners, to whom things belong in several ways."""
    random = np.random.default_rng(seed)
    out = []
    for law in LAWS:
        things = sizes_of(random, law, rows)
        out.append(made(law, ROWS_WAY, things, things // 7, random))
    for law in LAWS:
        owners = sizes_of(random, law, rows)
        within: dict[str, Callable[[], Ints]] = {
            "its own": lambda: owners,  # noqa: B023
            "within": lambda: owners * 8 + random.integers(0, 8, rows),  # noqa: B023
            "above": lambda: (owners * 7919) % 40,  # noqa: B023
            "across": lambda: random.integers(0, 600, rows),
            "skewed across": lambda: np.minimum(random.zipf(1.6, rows), 600),
        }
        for how, of in within.items():
            if law in ("of 5", "Zipf", "one large", "1 or 100") or how == "its own":
                out.append(made(f"owners {law}, things {how}", KEYS_WAY, of().astype(np.int64), owners, random))
    return out

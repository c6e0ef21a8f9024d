"""Rows of the other kinds of a table: a request that no key bounds to one kind reads them, and their load adds up.

Rows are counted under the keys in use. Loads are those under the keys in use, or those advised for kinds that were
judged before.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy

from pkadvisor.design.keys.scheme import Key, key_expression
from pkadvisor.design.keys.transforms import Part
from pkadvisor.lazy import Floats, np, pl
from pkadvisor.table.edm import EdmType


class RowsOfKind:
    """The rows of another kind that lie under one key in use, main or index row.

    ``frame`` holds the entities at hand that have such a row, each of which stands for ``entities_each``. ``key`` is
    None where no keys are in use: the rows then lie somewhere in the table. ``hashed``: some values are tokens.
    ``advised``: the key is advised for them; only its loads count, the rows are those under the keys in use.
    """

    def __init__(
        self,
        kind: str,
        key: Key | None,
        frame: pl.DataFrame,
        types: Mapping[str, EdmType],
        entities_each: float,
        *,
        hashed: bool = False,
        advised: bool = False,
    ) -> None:
        self.kind, self.key, self.hashed, self.advised = kind, key, hashed, advised
        self._frame, self._types, self._entities_each = frame, dict(types), entities_each
        self._counts: dict[tuple[Part, ...], pl.DataFrame] = {}
        self._loads: Mapping[str, float] = {}

    def with_loads(self, loads: Mapping[tuple[object, ...], Mapping[str, float]]) -> RowsOfKind:
        """The same rows with the load of their kind, in entities a second at the peak, by template and PartitionKey."""
        loaded = copy(self)
        loaded._loads = loads.get(self.key.partition, {}) if self.key is not None else {}
        return loaded

    @property
    def loaded(self) -> bool:
        """Whether requests for these rows load partitions."""
        return bool(self._loads)

    def load_at(self, partitions: pl.Series) -> Floats:
        """Entities a second at the peak that requests for this kind read and write in some partitions."""
        return np.array([self._loads.get(text, 0.0) for text in partitions.to_list()])

    @property
    def total(self) -> float:
        """Rows in the table."""
        return self._frame.height * self._entities_each

    def between(self, low: str, high: str) -> float:
        """The rows with a PartitionKey from ``low`` to below ``high`` (empty: no end). Those that lie somewhere are all
        there but where both are given: these name the label of another kind."""
        if self.key is None or self.hashed:  # of tokens the text of a key does not tell where it lies
            return 0.0 if low and high else self.total
        text = pl.col("text")
        there = (text >= low) & (text < high) if high else text >= low
        return float(self._counted(self.key.partition).filter(there).get_column("rows").sum())

    def in_partitions(self, parts: tuple[Part, ...], asked: pl.Series) -> Floats:
        """The rows where some parts of the PartitionKey have each of the texts ``asked`` for."""
        rows = asked.to_frame("text").join(self._counted(parts), on="text", how="left", maintain_order="left")
        return rows.get_column("rows").fill_null(0.0).to_numpy()

    def _counted(self, parts: tuple[Part, ...]) -> pl.DataFrame:
        """How many rows have each text of some parts."""
        if parts not in self._counts:
            texts = self._frame.with_columns(key_expression(parts, self._types).alias("text"))
            self._counts[parts] = texts.group_by("text").agg((pl.len() * self._entities_each).alias("rows"))
        return self._counts[parts]

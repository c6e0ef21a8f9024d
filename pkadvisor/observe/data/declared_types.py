"""Columns of text in the types that a design declares: the declaration wins over what the text looks like.

A text that has leading zeros is a number where a number is declared, and text where nothing is. What does not fit the
declared type counts as missing, and the first such row is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.data.edm_text import MISSING_MARKERS, fits_expr
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

FITS_LEAST = 0.5
"""The share of the values that must fit a declared type, so that the column has it: else the declaration is of
something else, and only told."""


@dataclass(frozen=True, slots=True)
class Misfits:
    """The values of a column that do not fit its declared type: how many of how many, and the first row, from 1."""

    name: str
    edm: EdmType
    values: int
    present: int
    first_row: int

    @property
    def taken(self) -> bool:
        """Whether the column has the declared type nevertheless."""
        return self.present - self.values >= FITS_LEAST * self.present

    def sentence(self, edm: EdmType) -> str:
        """What is told of them; ``edm`` is the type that the text looks like."""
        what = (
            f"{self.name} is declared as {self.edm}: {self.values:,} of {self.present:,} values do not fit, the first "
            f"in row {self.first_row:,}"
        )
        return f"{what}; they are taken as missing" if self.taken else f"{what}; it is read as {edm}"


def in_declared_types(dataset: Dataset, declared: Mapping[str, EdmType]) -> Dataset:
    """The data set with columns of the declared types: of texts, also where the file states that they are texts, the
    declared one holds, and what does not fit it is noted."""
    dataset = dataset.holding(declared)
    wanted = {
        column.name: declared[column.name]
        for column in dataset.columns
        if (column.from_text or column.edm is EdmType.STRING)
        and column.present
        and declared.get(column.name, column.edm) is not column.edm
    }
    if not wanted:
        return dataset
    misfits = _misfits(dataset, wanted)
    columns, notes = [], list(dataset.notes)
    for column in dataset.columns:
        misfit = misfits.get(column.name)
        if misfit is not None and misfit.values:
            notes.append(misfit.sentence(column.edm))
        if misfit is None or not misfit.taken:
            columns.append(column)
            continue
        present = misfit.present - misfit.values
        missing = dataset.row_count - present
        columns.append(
            replace(column, edm=misfit.edm, present=present, missing=missing, types=((misfit.edm, present),))
        )
    strict = frozenset(name for name, misfits in misfits.items() if misfits.taken)
    return replace(dataset, columns=tuple(columns), notes=tuple(notes), strict=dataset.strict | strict)


def _misfits(dataset: Dataset, wanted: Mapping[str, EdmType]) -> dict[str, Misfits]:
    """The values of each column that do not fit its declared type, over all rows."""
    columns = tuple(
        replace(column, edm=EdmType.STRING) if column.name in wanted else column for column in dataset.columns
    )
    texts = replace(dataset, columns=columns)
    counts = {name: [0, 0, 0] for name in wanted}
    start = 0
    for batch in texts.batches(list(wanted)):
        for name, edm in wanted.items():
            value = pl.col(name)
            there = value.is_not_null() & ~value.is_in(MISSING_MARKERS)
            looked = batch.select(there.alias("there"), (there & ~fits_expr(value, edm)).alias("wrong"))
            marks, count = looked["wrong"], counts[name]
            count[0] += int(marks.sum() or 0)
            count[1] += int(looked["there"].sum() or 0)
            if count[0] and not count[2]:
                count[2] = start + int(marks.arg_true()[0]) + 1
        start += batch.height
    return {name: Misfits(name, wanted[name], *tally) for name, tally in counts.items()}

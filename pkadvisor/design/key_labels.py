"""What a band of keys has in common, in the words of its key template: ``tenant-07 · 2026-01 … 2026-03``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pkadvisor.design.scheme import encode, variable
from pkadvisor.design.transforms import Part

if TYPE_CHECKING:
    from pkadvisor.design.population import Population

BETWEEN = " · "
TO = " … "
ALL = "all"
"""The label of a band under a key without variable parts."""


def band_label(
    parts: Sequence[Part], population: Population, first_row: int, last_row: int
) -> tuple[tuple[str, str, str], ...]:
    """(part as the template writes it, its text in the first key, its text in the last) for the leading parts of a
    band: those that all its keys share, and the first in which they differ."""
    from pkadvisor.design.keyfacts import row_values

    out = []
    for part in variable(tuple(parts)):
        texts = [
            encode((part,), row_values(population, row, (part,)), population.types) for row in (first_row, last_row)
        ]
        out.append((str(part), texts[0], texts[1]))
        if texts[0] != texts[1]:
            break
    return tuple(out)


def label_text(label: Sequence[tuple[str, str, str]]) -> str:
    """A label as one line; single keys are told whole."""
    return BETWEEN.join(first if first == last else f"{first}{TO}{last}" for _, first, last in label) or ALL

"""What a band of keys has in common, in the words of its key template: ``tenant-07 · 2026-01 … 2026-03``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from pkadvisor.design.keys.scheme import encode, variable
from pkadvisor.design.keys.transforms import Part
from pkadvisor.design.load.keyfacts import row_values
from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import TICKS_UNIX_EPOCH

BETWEEN = " · "
TO = " … "
ALL = "all"
"""The label of a band under a key without variable parts."""
TICKS_PER_US = 10
APART = timedelta(days=2)
"""Time between two ends of a band from which on their days tell enough."""


def band_label(
    parts: Sequence[Part], population: Population, first_row: int, last_row: int
) -> tuple[tuple[str, str], ...]:
    """(text in the first key, text in the last) for the leading parts of a band: those that all its keys share, and the
    first in which they differ. Ticks are told as dates."""
    out = []
    for part in variable(tuple(parts)):
        values = [row_values(population, row, (part,)) for row in (first_row, last_row)]
        texts = tuple(encode((part,), value, population.types) for value in values)
        ends = [value[part.properties[0]] for value in values] if part.tells_time and part.injective else []
        dated = _dates(ends[0], ends[1]) if len(ends) == 2 else None
        out.append(dated if dated is not None else (texts[0], texts[1]))
        if texts[0] != texts[1]:
            break
    return tuple(out)


def label_text(label: Sequence[tuple[str, str]]) -> str:
    """A label as one line; single keys are told whole."""
    return BETWEEN.join(first if first == last else f"{first}{TO}{last}" for first, last in label) or ALL


def _dates(first: object, last: object) -> tuple[str, str] | None:
    """Two moments (100 ns since year 1) as days, or as minutes where they lie close together; None where one is
    missing."""
    if not (isinstance(first, int) and isinstance(last, int)):
        return None
    epoch = datetime(1970, 1, 1, tzinfo=UTC)
    one, other = (epoch + timedelta(microseconds=(t - TICKS_UNIX_EPOCH) // TICKS_PER_US) for t in (first, last))
    if abs(one - other) >= APART:
        return f"{one:%Y-%m-%d}", f"{other:%Y-%m-%d}"
    if one == other:
        text = one.isoformat().replace("+00:00", "Z")
        return text, text
    pattern = "%Y-%m-%d %H:%M" if abs(one - other) >= timedelta(minutes=2) else "%Y-%m-%d %H:%M:%S.%f"
    texts = (one.strftime(pattern).removesuffix(".000000"), other.strftime(pattern).removesuffix(".000000"))
    return texts[0], texts[1][11:] if texts[0][:10] == texts[1][:10] and texts[0] != texts[1] else texts[1]

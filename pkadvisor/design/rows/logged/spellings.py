"""Texts of which logged keys tell the lower case alone, in the spelling of the data."""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.keys.transforms import Lower
from pkadvisor.design.rows.key_ranges import FOLDED
from pkadvisor.lazy import pl
from pkadvisor.observe.profile.data_profile import DataProfile


def spelled(instances: pl.DataFrame, names: Iterable[str], data: DataProfile | None) -> pl.DataFrame:
    """Logged instances with those of ``names`` that are folded as some entity of the data spells them: any spelling
    asks for the same, and hidden values are found by theirs."""
    folded = [name.removesuffix(FOLDED) for name in names if name.endswith(FOLDED)]
    columns = []
    for name in folded if data is not None else ():
        if data is None or name in data.hashed or data.sample.schema.get(name) != pl.String:
            continue
        own = data.sample.select(name).drop_nulls().unique(maintain_order=True)
        lower = own.select(Lower(name).changed_expression(pl.col(name))).to_series()
        first = lower.is_first_distinct()
        known = pl.col(name).replace(lower.filter(first), own.get_column(name).filter(first))
        columns.append(known)
    return instances.with_columns(columns)

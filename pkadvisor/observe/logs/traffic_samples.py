"""What a class of requests shows of itself: its filter parsed, and some of its requests with their literals."""

from __future__ import annotations

from typing import Any

from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.observe.logs.frame import OTHER_SHAPES, Routes
from pkadvisor.observe.logs.urls import decoded_query
from pkadvisor.table.filters import Filter
from pkadvisor.table.odata import normalise, parse_filter


def parsed_shape(shape: str) -> Filter | None:
    """The filter of a shape; None where there is none, it is wrong, or too many differ to be kept apart."""
    if not shape or shape == OTHER_SHAPES:
        return None
    try:
        return parse_filter(shape, parameters=True)
    except (UsageError, ValueError):
        return None


def sample_frame(rows: pl.DataFrame | None, routes: Routes) -> pl.DataFrame:
    """Sampled requests as shown: filters decoded, their literals as written in the filter."""
    schema: dict[str, Any] = {
        "at_us": pl.Int64,
        "op_number": pl.Int32,
        "pk": pl.String,
        "rk": pl.String,
        "filter": pl.String,
        "literals": pl.List(pl.String),
        "params": pl.String,
        "status": pl.Int16,
    }
    if rows is None:
        return pl.DataFrame(schema=schema)
    filters = [
        None if text is None else decoded_query(text) if routes.all[route].encoded else text
        for text, route in zip(rows["filter"], rows["route"], strict=True)
    ]
    literals = [None if text is None else list(normalise(text)[1]) for text in filters]
    return rows.select(
        "at_us",
        "op_number",
        "pk",
        "rk",
        pl.Series("filter", filters, dtype=pl.String),
        pl.Series("literals", literals, dtype=pl.List(pl.String)),
        "params",
        "status",
    )

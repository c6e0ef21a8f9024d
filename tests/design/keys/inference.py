"""Keys inferred of pairs of texts, which a table of keys alone holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from pkadvisor.design.keys import infer
from pkadvisor.design.keys.infer import Inference
from pkadvisor.table.edm import KEYS, EdmType


def infer_keys(keys: Sequence[tuple[str, str]] | pl.DataFrame, types: Mapping[str, EdmType] | None = None) -> Inference:
    if not isinstance(keys, pl.DataFrame):
        keys = pl.DataFrame(keys, schema=dict.fromkeys(KEYS, pl.String), orient="row")
    return infer.infer_keys(keys, types)

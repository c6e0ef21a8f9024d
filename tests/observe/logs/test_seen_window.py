"""Hashes of requests: which a window of hours holds, and that a text has the same one everywhere."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.observe.logs import traffic_parts, traffic_retries
from pkadvisor.splitmix import mixed_words


@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.integers(0, 400), max_size=30)), min_size=1, max_size=40))
def test_a_window_holds_exactly_the_hashes_of_this_hour_and_the_one_before(
    parts: list[tuple[int, list[int]]],
) -> None:
    window, model, hour = traffic_retries.SeenWindow(1 << 12), [], 0
    for step, values in parts:
        hour += step
        hashes = np.unique(np.array(values, dtype=np.uint64))
        # Raw small numbers share one byte of the table, mixed ones do not: both have to be right.
        hashes = np.sort(hashes if len(values) % 2 else mixed_words(hashes))
        window.add(hashes, hour)
        model = [(at, held) for at, held in [*model, (hour, set(hashes.tolist()))] if at >= hour - 1]
        asked = np.arange(0, 401, dtype=np.uint64)
        asked = np.concatenate([asked, mixed_words(asked)])[::-1]
        known = set().union(*(held for _, held in model))
        assert window.contains(asked).tolist() == [value in known for value in asked.tolist()]
    assert not window.shortened


def test_text_hashes_do_not_depend_on_what_stands_beside_a_text() -> None:
    texts = ["a" * n for n in range(45)] + ["request-é-0001", "0507407128-085082747370732"]
    alone = [int(traffic_parts.text_hashes(pl.Series([text]))[0]) for text in texts]
    together = traffic_parts.text_hashes(pl.Series([*texts, None]))
    assert together.tolist() == [*alone, 0]
    assert len(set(alone)) == len(alone)
    # Samples must stay the same from version to version.
    assert alone[-1] == 0x3008F4DC6A24975B

"""The document in a page is whole: unpacked, it is the same, number by number."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from pkadvisor.report.html.page import packed
from tests.report.pages import unpacked
from tests.report.support import result

numbers = st.one_of(st.integers(-3, 3), st.integers(), st.floats(allow_nan=False, allow_infinity=False))
plain = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=12), st.sampled_from(["a text that comes twice"]))
documents = st.recursive(
    plain,
    lambda inner: st.one_of(
        st.lists(inner, max_size=6),
        st.lists(st.integers(0, 1), max_size=12),
        st.dictionaries(st.sampled_from(["", "a", "b", "list", "runs", "__proto__"]), inner, max_size=4),
    ),
    max_leaves=30,
)


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: 1, 1.0 and true are not."""
    return json.dumps(one) == json.dumps(other)


@given(documents)
@example([[0.0], [-0.0], [0], [False], [1.0], [1], [True], [None], [""]])
def test_a_packed_document_is_whole(document: Any) -> None:
    assert same(unpacked(json.loads(json.dumps(packed(document)))), document)


def test_what_is_repeated_is_written_once() -> None:
    row = {"name": "requests at peak", "cells": [0] * 40 + [7, 7]}
    found = packed([row, row, {**row, "name": "other text"}])
    assert found["keys"] == [["name", "cells"]]
    text = json.dumps(found)
    assert text.count("0*40 7*2") == 1 and text.count("requests at peak") == 1
    assert same(unpacked(found), [row, row, {**row, "name": "other text"}])


def test_the_document_of_a_sample_takes_less_than_half() -> None:
    document = result("footrace")
    assert len(json.dumps(packed(document))) < 0.45 * len(json.dumps(document))

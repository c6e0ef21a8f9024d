"""Documents of which one list is shorter, longer or empty: they are shown, or refused in words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz.corpus import corpus
from tests.fuzz.judge import judge_read
from tests.fuzz.kinds import read_document
from tests.tiers import sizes

Place = tuple[str | int, ...]
Change = Callable[[list[Any]], object]


def _twice_the_last(items: list[Any]) -> None:
    items.append(items[-1])


DOCUMENTS = sizes(["stress.json"], ["stress.json", "result.json", "review.json", "comparison.json", "score.json"])
CHANGES: list[Change] = sizes([list.clear], [list.clear, list.pop, _twice_the_last])


def _lists(value: object, place: Place = ()) -> Iterator[Place]:
    """The places of all lists in a document that hold something."""
    if isinstance(value, list) and value:
        yield place
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _lists(item, (*place, step))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_with_another_length_of_a_list_is_shown_or_refused(name: str, tmp_path: Path) -> None:
    text, path = corpus()[name], tmp_path / "d.json"
    one_of_each = {tuple("*" if isinstance(s, int) else s for s in place): place for place in _lists(json.loads(text))}
    for place in one_of_each.values():
        for change in CHANGES:
            damaged = part = json.loads(text)
            for step in place:
                part = part[step]
            change(part)
            path.write_text(json.dumps(damaged))
            failure = judge_read(read_document, path)
            assert failure is None, (place, failure)
    assert len(one_of_each) > 5

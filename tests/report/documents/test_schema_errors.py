"""Where a document leaves its schema: the same verdict as that of a validator, with one place in words."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from pkadvisor.documents.schema import document_type
from pkadvisor.documents.schema_errors import departure
from tests.report.documents.test_schemas import complaints
from tests.report.support import result
from tests.review.documents import document as review
from tests.stress.stressed import document as stressed
from tests.tiers import sizes

TRIED = sizes([6], [40], "proofs")[0]


def shortened(value: Any) -> Any:
    """A document whose lists hold two entries at most: all of its members, and validated in a tenth of the time."""
    if isinstance(value, dict):
        return {name: shortened(item) for name, item in value.items()}
    return [shortened(item) for item in value[:2]] if isinstance(value, list) else value


DOCUMENTS = {
    "result": lambda: shortened(result("bank")),
    "stress": lambda: shortened(stressed()),
    "review": lambda: shortened(review()),
}


def members(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (holder, name or number) in a document, the deepest last."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in inside:
        yield value, name
        yield from members(item)


def readable(document: dict[str, Any], name: str) -> bool:
    """Whether the typed value of a document can be made of it."""
    try:
        msgspec.convert(document, document_type(name))
    except msgspec.ValidationError:
        return False
    return True


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_spoiled_document_leaves_its_schema_where_a_validator_says_so(name: str) -> None:
    text = json.dumps(DOCUMENTS[name]())
    assert departure(json.loads(text)) == ""
    drawn = random.Random(name)
    count = sum(1 for _ in members(json.loads(text)))
    agreed = 0
    for _ in range(TRIED):
        spoiled = json.loads(text)
        holder, member = list(members(spoiled))[drawn.randrange(count)]
        if member == "document" and holder is spoiled:
            continue
        if isinstance(holder, dict) and drawn.random() < 0.5:
            del holder[member]
        else:
            holder[member] = drawn.choice([None, 7, "x", [], {}, True])
        assert bool(departure(spoiled)) == bool(complaints(spoiled, name)), member
        assert departure(spoiled) or readable(spoiled, name), member
        agreed += bool(departure(spoiled))
    assert agreed > TRIED // 4

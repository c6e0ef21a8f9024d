"""Facts of key strings and of their parts."""

from __future__ import annotations

from pkadvisor.design.transforms import FORBIDDEN
from pkadvisor.review.expressions import FactType
from pkadvisor.review.facts.base import Fact
from pkadvisor.review.subjects import KeyPart, KeyText, Subject, texts_outside


def is_partition(subject: Subject) -> bool:
    key: KeyText = subject.item
    return key.is_partition


def forbidden_characters(subject: Subject) -> tuple[str, ...]:
    """Characters of the literal text that keys may not have, as code points."""
    key: KeyText = subject.item
    return tuple(f"U+{ord(c):04X}" for c in sorted(set(texts_outside(key.text)) & FORBIDDEN))


def function(subject: Subject) -> str:
    place: KeyPart = subject.item
    return place.part.function or "property"


FACTS: tuple[Fact, ...] = (
    Fact(
        "key.is_partition",
        FactType.BOOL,
        "",
        "Whether it is a PartitionKey, not a RowKey.",
        is_partition,
        may_be_unknown=False,
    ),
    Fact(
        "key.forbidden_characters",
        FactType.TEXTS,
        "",
        "Characters in the text of the template that the service refuses in keys.",
        forbidden_characters,
        may_be_unknown=False,
    ),
    Fact(
        "part.function",
        FactType.TEXT,
        "",
        "The function of the part (pad, time, hash, …), or property.",
        function,
        may_be_unknown=False,
    ),
)

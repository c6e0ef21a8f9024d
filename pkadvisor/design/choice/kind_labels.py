"""Labels: the fixed texts that keys begin with, which tell the rows of several kinds apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Final

from pkadvisor.design.keys.scheme import leading_text
from pkadvisor.design.keys.transforms import Literal, Part

LABEL_MOST: Final = 24
"""Characters of a label; longer names are cut."""


def label_word(name: str) -> str:
    """The letters and digits of a name in capitals, for a label."""
    return "".join(ch for ch in name.upper() if ch.isalnum())[:LABEL_MOST]


def kind_labels(kinds: Sequence[str]) -> dict[str, str]:
    """A label for each kind of a table, of which none begins another: its name, with a number where two are alike."""
    out = dict[str, str]()
    for kind in kinds:
        word = label_word(kind) or "KIND"
        texts = (f"{word}{'' if n == 1 else n}:" for n in count(1))
        out[kind] = next(text for text in texts if text not in out.values())
    return out


def with_label(parts: tuple[Part, ...], label: str) -> tuple[Part, ...]:
    """A template with a label before all that it begins with, once."""
    first = leading_text(parts)
    if first.startswith(label):
        return parts
    return (Literal(label + first), *(parts[1:] if first else parts))


def begin_apart(one: tuple[Part, ...], other: tuple[Part, ...]) -> bool:
    """Whether both begin with texts of which neither begins the other: a range over the one leaves out the other."""
    texts = (leading_text(one), leading_text(other))
    return all(texts) and not texts[0].startswith(texts[1]) and not texts[1].startswith(texts[0])

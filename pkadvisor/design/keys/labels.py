"""Labels: the fixed texts that keys begin with, which tell rows of several kinds apart."""

from __future__ import annotations

from pkadvisor.design.keys.transforms import Literal, Part


def label_of(parts: tuple[Part, ...]) -> str:
    """The fixed text that every key of a template begins with; empty where there is none."""
    return parts[0].text if parts and isinstance(parts[0], Literal) else ""


def with_label(parts: tuple[Part, ...], label: str) -> tuple[Part, ...]:
    """A template with a label before all that it begins with."""
    first = label_of(parts)
    return (Literal(label + first), *(parts[1:] if first else parts))


def begin_apart(one: tuple[Part, ...], other: tuple[Part, ...]) -> bool:
    """Whether both begin with texts of which neither begins the other: a range over the one leaves out the other."""
    texts = (label_of(one), label_of(other))
    return all(texts) and not texts[0].startswith(texts[1]) and not texts[1].startswith(texts[0])

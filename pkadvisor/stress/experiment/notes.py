"""What there is to say of the runs of a table, each thing once, however many designs it is said of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class OwnNote(NamedTuple):
    """A note whose ``text`` is that of one design; ``head`` says of what, alike for every design."""

    head: str
    text: str


Note = str | OwnNote


def notes_of(designs: Mapping[str, Sequence[Note]]) -> list[str]:
    """The notes of a table, from those of its designs by label: in their order, each once.

    What differs between designs is one note with their labels.
    """
    out: dict[str, dict[str, str]] = {}
    for label, notes in designs.items():
        for note in notes:
            head, text = (note, "") if isinstance(note, str) else note
            out.setdefault(head, {})[label] = text
    return [f"{head}: {_together(of, len(designs))}" if any(of.values()) else head for head, of in out.items()]


def _together(texts: Mapping[str, str], designs: int) -> str:
    """One text where all designs have the same; else each with its label."""
    if len(texts) == designs and len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return "; ".join(f"{label} {text}" for label, text in texts.items())

"""What a verdict or a set of figures rests on, as members of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkadvisor.documents.part import number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pkadvisor.design.evidence.given import Ground
    from pkadvisor.report.documents.values import Shown


def grounds_json(grounds: Iterable[Ground], shown: Shown) -> list[dict[str, Any]]:
    """Each thing that a verdict, or the figures of a scheme, rest on."""
    return [_ground_json(ground, shown) for ground in grounds]


def _ground_json(ground: Ground, shown: Shown) -> dict[str, Any]:
    """One thing that the verdict rests on."""
    return {
        "name": ground.name,
        "title": ground.title,
        "sentence": shown.message(ground.sentence),
        "carries": ground.carries,
        "next": ground.next or None,
        "load_share": number(ground.rests),
        "measured": None if ground.measured is None else number(ground.measured),
        "expected": None if ground.expected is None else number(ground.expected),
        "unit": ground.unit or None,
    }

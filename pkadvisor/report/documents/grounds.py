"""What a verdict or a set of figures rests on, as members of a document."""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.design.evidence.given import Ground
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.part import number, part_of
from pkadvisor.report.documents.values import Shown


def grounds_json(grounds: Iterable[Ground], shown: Shown) -> list[AnalysisGround]:
    """Each thing that a verdict, or the figures of a scheme, rest on."""
    return [_ground_json(ground, shown) for ground in grounds]


def _ground_json(ground: Ground, shown: Shown) -> AnalysisGround:
    """One thing that the verdict rests on."""
    return part_of(
        AnalysisGround,
        ground,
        sentence=shown.message(ground.sentence),
        next=ground.next or None,
        load_share=number(ground.rests),
        measured=number(ground.measured),
        expected=number(ground.expected),
        unit=ground.unit or None,
    )

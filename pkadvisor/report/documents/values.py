"""Numbers, times and keys as documents hold them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from msgspec import convert

from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.evidence.given import Ground
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.estimates import Remark, Violation
from pkadvisor.documents.analysis_inputs import AnalysisGround
from pkadvisor.documents.analysis_scheme import AnalysisKeyIndexRow, AnalysisKeys, AnalysisViolation
from pkadvisor.documents.analysis_table import AnalysisFlip
from pkadvisor.documents.part import number, part_of, word
from pkadvisor.limits import Limit
from pkadvisor.table.edm import TICKS_UNIX_EPOCH, format_ticks

if TYPE_CHECKING:
    from pkadvisor.design.choice.certainty.flips import Turning

Figure = TypeVar("Figure")


class Shown:
    """Key values as shown: as they are, or as tokens where the result is redacted."""

    def __init__(self, redact: bool) -> None:
        self.redact = redact

    def key(self, text: str) -> str:
        """A key value, or a token that is equal for equal values."""
        if not self.redact or not text:
            return text
        return "[key " + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8] + "]"

    def told(self, remark: Violation | Remark) -> str:
        """What is wrong or noteworthy, without values of the data where the result is redacted."""
        if self.redact and remark.hidden:
            return remark.hidden
        return self.message(remark.message, remark.keys if isinstance(remark, Violation) else ())

    def message(self, text: str, keys: Sequence[str] = ()) -> str:
        """A sentence; where the result is redacted, the key values in it and whatever else it quotes are hidden.

        Templates stand in braces and stay.
        """
        if not self.redact:
            return text
        for key in sorted(keys, key=len, reverse=True):
            text = text.replace(key, self.key(key))
        return re.sub(r"'(?!\[key )[^'{}]*'", "'[key]'", text)


def figures(limits: Iterable[Limit], kind: type[Figure]) -> list[Figure]:
    """Limits, speeds or prices as a document holds them, each with its source; whole numbers have all digits."""

    def shown(value: float) -> float:
        return int(value) if float(value).is_integer() else number(value)

    return [convert(replace(limit, value=shown(limit.value)), kind, from_attributes=True) for limit in limits]


def violation_json(violation: Violation, shown: Shown) -> AnalysisViolation:
    """A hard constraint that is broken."""
    return part_of(
        AnalysisViolation,
        violation,
        message=shown.told(violation),
        measured=number(violation.measured),
        limit=number(violation.limit),
        assumed_growth=violation.assumed,
    )


def time_text(us: int | None) -> str | None:
    """A moment (µs since 1970) in UTC, ISO 8601; None stays None."""
    if us is None:
        return None
    return format_ticks(us * 10 + TICKS_UNIX_EPOCH, trim=True)


def keys_document(scheme: KeyScheme) -> AnalysisKeys:
    """The templates of the main key and of each index row."""
    return AnalysisKeys(
        partition_key=format_template(scheme.main.partition),
        row_key=format_template(scheme.main.row),
        index_rows=[
            AnalysisKeyIndexRow(
                partition_key=format_template(row.key.partition),
                row_key=format_template(row.key.row),
                copy=word(row.copy),
            )
            for row in scheme.index_rows
        ],
    )


def turning_of(judged: Judged) -> AnalysisFlip | None:
    """What would put another scheme first, as the result holds it."""
    turning = judged.turning
    return None if turning is None else turning_words(turning, turning.rank, judged.ranking()[turning.rank - 1].scheme)


def turning_words(turning: Turning, rank: int | None, scheme: KeyScheme) -> AnalysisFlip:
    """An answer about the order of two schemes; ``rank`` is the number of the one that would be first, ``scheme``."""
    flip = turning.flip
    return AnalysisFlip(
        turn=word(turning.turn),
        rank=rank,
        keys=keys_document(scheme),
        query=flip.query if flip else None,
        factor=flip.factor if flip else None,
        rate_per_s=float(f"{flip.rate_per_s:.6g}") if flip else None,
        goal=flip.goal if flip else None,
        proof=list(turning.proof),
        rates_tried=turning.tried,
    )


# -- What a verdict or a set of figures rests on, as members of a document.


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

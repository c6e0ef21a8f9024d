"""Numbers, times and keys as documents hold them."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from pkadvisor.design.load.estimates import Remark, Violation
from pkadvisor.documents.analysis_scheme import AnalysisViolation
from pkadvisor.documents.part import number

if TYPE_CHECKING:
    from collections.abc import Sequence


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


def violation_json(violation: Violation, shown: Shown) -> AnalysisViolation:
    """A hard constraint that is broken."""
    return AnalysisViolation(
        code=violation.code,
        message=shown.told(violation),
        measured=number(violation.measured),
        limit=number(violation.limit),
        unit=violation.unit,
        assumed_growth=violation.assumed,
    )


def time_text(us: int | None) -> str | None:
    """A moment (µs since 1970) in UTC, ISO 8601; None stays None."""
    if us is None:
        return None
    from pkadvisor.table.edm import TICKS_UNIX_EPOCH, format_ticks

    return format_ticks(us * 10 + TICKS_UNIX_EPOCH, trim=True)

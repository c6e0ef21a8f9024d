"""What a result shows beside its verdict: where the load falls, when it grows too large, what that rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkadvisor.design.cost import put_down
from pkadvisor.report.heat import heat_json

if TYPE_CHECKING:
    from pkadvisor.design.estimates import CostEstimate
    from pkadvisor.design.sections import Judged
    from pkadvisor.report.result import Shown

CURRENT, RECOMMENDED = "current", "recommended"
NO_RATE = "no rate of any class is known"


def evidence_of(judged: Judged, shown: Shown) -> dict[str, Any]:
    """The members of a table's result that are drawn; null where keys cannot be judged, with the reason."""
    if judged.advice is None or judged.bench is None:
        return {"heat": None, "why_no_heat": judged.why_not}
    bench = judged.bench
    loaded = [(name, found, put_down(found.scheme, bench)[0]) for name, found in designs_of(judged)]
    heat = heat_json(loaded, bench, shown)
    return {"heat": heat, "why_no_heat": None if heat is not None else NO_RATE}


def designs_of(judged: Judged) -> list[tuple[str, CostEstimate]]:
    """The keys in place and the recommended ones, by name; where they are the same, only as recommended."""
    advice = judged.advice
    assert advice is not None
    best, current = advice.recommended, advice.current
    same = current is None or current.scheme.text == best.scheme.text
    return [*([] if same or current is None else [(CURRENT, current)]), (RECOMMENDED, best)]

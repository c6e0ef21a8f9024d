"""What a day brings: declared rates, and logged ones where the log is long enough to tell."""

from __future__ import annotations

from collections.abc import Iterable

from pkadvisor.observe.minutes import DAY
from pkadvisor.observe.workload import QueryClass
from pkadvisor.review.views.views import TableView

DAY_S = 86_400.0


def entities_per_s(view: TableView, classes: Iterable[QueryClass]) -> float | None:
    """Mean entities a second of some classes of writes; None where there are none, and where a log of less than a day
    is all that tells of one: its minutes may be the busiest or the quietest."""
    total = 0.0
    series = view.workload.minutes
    at = [minute for each in series.values() for minute in each.at]
    short = not any(each.of_day for each in series.values()) and bool(at) and max(at) - min(at) + 1 < DAY
    for query in classes:
        if short and query.name in series and query.rate.mean_per_s > 0:
            return None
        total += query.rate.mean_per_s * query.entities_per_request
    return total or None

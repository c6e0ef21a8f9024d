"""What a stress test measured of the keys of a table, as rules may ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.design.keys.template import format_template
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.keys.scheme import KeyScheme
    from pkadvisor.documents.analysis_scheme import AnalysisFullScheme

Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stressed:
    """One design of a stress result, warmed up. Shares are of attempts (throttled) and requests (lost).

    ``hottest_times_target``: what was demand on the hottest partition ÷ its target, retries among it; None where nobody
    asked. ``break_proved``: whether the printed break factor held in the run; None where no run can tell.
    ``level``: what the test says of the keys, ``bears``, ``bursts``, ``untested`` (no verdict) or ``fails``;
    ``new_table_level``: the same from a cold start. ``load``: what was run, with its faults, in words.
    """

    table: str
    kind: str | None
    keys: Keys
    throttled_share: float
    cold_throttled_share: float | None
    lost_share: float
    latency_ms_p99: float | None
    hottest_times_target: float | None
    break_proved: bool | None
    level: str = "bears"
    new_table_level: str = "bears"
    load: str = ""


def keys_of(scheme: KeyScheme) -> Keys:
    """The templates of a scheme, by which a design is known again."""
    rows = sorted(f"{format_template(r.key.partition)} | {format_template(r.key.row)}" for r in scheme.index_rows)
    return (format_template(scheme.main.partition), format_template(scheme.main.row), *rows)


def keys_stored(scheme: AnalysisFullScheme) -> Keys:
    """The same of a scheme in a result."""
    rows = sorted(f"{row.partition_key} | {row.row_key}" for row in scheme.index_rows)
    return (scheme.partition_key, scheme.row_key, *rows)

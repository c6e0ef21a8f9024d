"""When a run of a stress test passes: when a design bears a load, when only with bursts retried, when not.

- ``LOST_SHARE``: a request that its client gives up is an error that a user sees. One in a thousand is what promises of
  three nines leave (the service's own agreement for reads of a single region is 99.9 %).
- ``QUERY_LOST_SHARE``: a query that comes rarely must not be lost in the mean of all: who sends it sees nothing else.
- ``QUIET_SHARE``: some Poisson second is always the busiest. Up to here the mean of a run cannot tell it from that.
- ``BURST_SHARE``: above it 503 is not an event of some seconds but a part of each minute, and more load makes it lost
  requests soon. Below it, and with every goal for latencies met, retries have hidden it from users.
"""

from __future__ import annotations

from enum import StrEnum

from pkadvisor.documents.stress_run import StressClass, StressRun

LOST_SHARE = 0.001
QUERY_LOST_SHARE = 0.01
QUIET_SHARE = 0.001
BURST_SHARE = 0.01


class Level(StrEnum):
    """What a run says of a design, the best first. ``UNTESTED``: it sustains what it was sent, which leaves out what
    decides."""

    BEARS = "bears"
    BURSTS = "bursts"
    UNTESTED = "untested"
    FAILS = "fails"


def level_of(run: StressRun, latencies_met: bool = True) -> Level:
    """The level of a run; ``latencies_met``: whether the goals for latencies are, where there are some."""
    if run.timed_out or run.lost_share > LOST_SHARE or lost_most(run) or run.throttled_share > BURST_SHARE:
        return Level.FAILS
    if run.throttled_share <= QUIET_SHARE:
        return Level.BEARS
    return Level.BURSTS if latencies_met else Level.FAILS


def bears_load(run: StressRun) -> bool:
    """Whether a run, taken by itself, bears its load, be it with bursts that are retried."""
    return level_of(run) is not Level.FAILS


def lost_most(run: StressRun) -> StressClass | None:
    """The query or write of which most is lost, where that is more than ``QUERY_LOST_SHARE``."""
    lost = [entry for entry in run.classes if entry.lost_share > QUERY_LOST_SHARE]
    return max(lost, key=lambda entry: (entry.lost_share, entry.lost), default=None)

"""What a range partition answers when it cannot.

RangeError
├── RangeMissing     no range of that number: never made, or split or merged into others
├── RangeStopped     this instance serves no more (fenced, offloaded, split, merged): ask for the owner anew
├── RangeReadOnly    the log takes no more records until the range is loaded again; nothing of this write was logged
├── WriteUncertain   the record was under way when the log failed: it may be there after the next load, or not
└── KeyOutside       the key lies outside of the range: the map of whoever asked is stale
"""

from __future__ import annotations

from pkadvisor.engine.world import EngineError


class RangeError(EngineError):
    """The range partition cannot do it."""


class RangeMissing(RangeError):  # noqa: N818
    """No range of that number."""


class RangeStopped(RangeError):  # noqa: N818
    """This instance serves no more."""


class RangeReadOnly(RangeError):  # noqa: N818
    """The log takes no more records until the range is loaded again; nothing of this write was logged."""


class WriteUncertain(RangeError):  # noqa: N818
    """The record was under way when the log failed: it may be there after the next load, or not."""


class KeyOutside(RangeError):  # noqa: N818
    """The key lies outside of the range."""

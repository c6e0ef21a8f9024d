"""Figures that are known to be wrong and not yet mended: by the number of the finding, how a failure is recognised.

A finding that is mended is removed here; the worlds that broke by it are then held again. An entry says no more than it
must: what is read wrongly of one shape of plan stays judged for all others.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.worlds.truth import Broken

KNOWN: dict[int, Callable[[Broken], bool]] = {}


def known(found: Broken) -> int | None:
    """The number of the finding that a failure belongs to; None for a new one."""
    return next((number for number, like in KNOWN.items() if like(found)), None)

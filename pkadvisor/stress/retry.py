"""What clients do with a refusal: which answers they send again, how often, and after how long."""

from __future__ import annotations

from typing import Protocol


class RetryPolicy(Protocol):
    """When to send again. Delays are whole ns and a function of (request, step, try) alone, never of the order."""

    @property
    def name(self) -> str:
        """As ``--retry`` names it."""

    @property
    def delay_ns_min(self) -> int | None:
        """No delay is ever shorter; None: nothing is ever sent again."""

    def delay_ns(self, tried: int, request: int, step: int, status: int) -> int | None:
        """Time from the answer to attempt ``tried`` (from 1), which failed, to the next; None: it is given up.

        ``step`` counts the steps of the request from 0, through all its stages.
        """

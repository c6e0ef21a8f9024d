"""The words of a stress test that every output shares: what is counted, and in which states a table is run."""

from __future__ import annotations

REQUESTS = (
    "request: a query or write of the application; operation: what it sends to the store, one or more for each request "
    "(pages, look-ups, index rows; 'advisor analyze' counts these as requests); attempt: an operation, counted each "
    "time it is tried, and what is throttled is a share of attempts"
)
"""What is counted; said once, where the reader of a page first meets it."""
STATES = (
    "warmed up: the ranges that the service splits the table into under this load; cold start: a new table, one range"
)
_COUNTED = {"requests": "operations", "hottest partition": "asked of the hottest partition"}


def counted(name: str) -> str:
    """What a page calls a measure of a prediction. Documents say requests for what one request sends to the store, and
    call what all requests would ask of the hottest partition, were nothing turned away, by its name alone."""
    return _COUNTED.get(name, name)


__all__ = ["REQUESTS", "STATES", "counted"]

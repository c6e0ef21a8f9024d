"""What every log format gives: frames of requests, kinds of requests by number, and what was left out.

A frame has the columns of ``columns()``. What a request *is* (table, operation, shape of its filter …) takes few
distinct values in a log of millions of lines, so it is told once as a ``Route`` and a frame holds only its number.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Final

from pkadvisor.lazy import pl
from pkadvisor.values import dataclass

BLOCK_BYTES: Final = 8 << 20
EXAMPLE_CHARACTERS: Final = 160
ROUTES_MAX: Final = 20_000


class Op(StrEnum):
    """What one request asks for; ``batch`` is an entity group transaction as a whole."""

    QUERY = "query"
    INSERT = "insert"
    UPDATE = "update"
    MERGE = "merge"
    UPSERT = "upsert"
    DELETE = "delete"
    BATCH = "batch"

    @property
    def writes(self) -> bool:
        """Whether it changes entities."""
        return self is not Op.QUERY


@dataclass(frozen=True, slots=True)
class Route:
    """One kind of request.

    ``address``: the entity is named as ``Table(PartitionKey='..',RowKey='..')``. ``grouped``: a part of a group
    transaction. ``shape``: the ``$filter`` as ``odata.normalise`` gives it; empty without a filter. ``pk_equal``: the
    filter pins the PartitionKey. ``continued``: a further page of a query. ``encoded``: filters of this route are
    percent-encoded in the frame. ``account``: the storage account of the URL, in lower case; empty where none is named.
    ``skip``: why such requests are left out; empty for requests that count.
    """

    table: str
    op: Op
    address: bool = False
    grouped: bool = False
    shape: str = ""
    pk_equal: bool = False
    select: str = ""
    top: int | None = None
    order_by: tuple[str, ...] = ()
    continued: bool = False
    encoded: bool = False
    kind: str = ""
    account: str = ""
    skip: str = ""


class Routes:
    """Numbers for routes, in order of first appearance.

    Beyond ``ROUTES_MAX`` routes, new filter shapes of a table share one route of shape ``OTHER_SHAPES``.
    """

    def __init__(self) -> None:
        self.all: list[Route] = []
        self._number: dict[Route, int] = {}

    def number(self, route: Route) -> int:
        """The number of a route."""
        known = self._number.get(route)
        if known is not None:
            return known
        if len(self.all) >= ROUTES_MAX and (route.shape not in ("", OTHER_SHAPES) or route.select or route.order_by):
            return self.number(
                Route(
                    route.table,
                    route.op,
                    route.address,
                    route.grouped,
                    shape=OTHER_SHAPES,
                    encoded=route.encoded,
                    account=route.account,
                )
            )
        self._number[route] = len(self.all)
        self.all.append(route)
        return len(self.all) - 1


OTHER_SHAPES: Final = "(other shapes)"


@dataclass(slots=True)
class Skips:
    """Lines that are no request of a table, by reason, each with its first example; and lines read in all."""

    lines: int = 0
    bad: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    examples: dict[str, str] = field(default_factory=dict)

    def add(self, reason: str, count: int, where: str, text: str, *, bad: bool = False) -> None:
        """Count ``count`` lines; ``where`` and ``text`` are those of the first."""
        if count <= 0:
            return
        self.counts[reason] = self.counts.get(reason, 0) + count
        self.bad += count if bad else 0
        if reason not in self.examples:
            cut = text if len(text) <= EXAMPLE_CHARACTERS else text[: EXAMPLE_CHARACTERS - 1] + "…"
            self.examples[reason] = f"{where}: {cut}"


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read: bytes per block, threads that parse blocks ahead."""

    block_bytes: int = BLOCK_BYTES
    threads: int = 3


NOT_PARSEABLE: Final = "not parseable"
TOO_LONG: Final = "line too long"
ANOTHER_SERVICE: Final = "another service"
TABLE_OPERATION: Final = "table definition, access policy or service settings"
UNKNOWN_OPERATION: Final = "unknown operation"
UNREADABLE: Final = frozenset({NOT_PARSEABLE, UNKNOWN_OPERATION})
"""Why a line is left out that should have been read: too many of these, and the log is refused."""
OF_A_FILE: Final = "a file"
"""With which a reason begins for which whole files are left out, or their rest."""
UNLISTED: Final = "group transactions whose parts the log does not list"


def columns() -> dict[str, pl.DataType]:
    """Names and types of a frame's columns.

    ``at_us``: µs since 1970-01-01 UTC, null without a time. ``status``: HTTP status, 0 unknown. ``filter``: text
    of ``$filter`` as logged (see ``Route.encoded``). ``pk``, ``rk``: decoded keys as far as the request names them.
    ``params``: logical properties as JSON (own traces only).
    """
    return {
        "route": pl.UInt32(),
        "at_us": pl.Int64(),
        "op_number": pl.Int32(),
        "request_id": pl.String(),
        "client_request_id": pl.String(),
        "status": pl.Int16(),
        "throttled": pl.Boolean(),
        "pk": pl.String(),
        "rk": pl.String(),
        "filter": pl.String(),
        "params": pl.String(),
    }


def conform(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with exactly the columns of ``columns()``; missing ones are null."""
    return frame.select(
        pl.col(name).cast(kind) if name in frame.columns else pl.lit(None, kind).alias(name)
        for name, kind in columns().items()
    )

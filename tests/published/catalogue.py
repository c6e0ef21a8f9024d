"""All published workloads."""

from __future__ import annotations

from tests.published import (
    audit_log,
    leaderboard,
    linkbench,
    message_store,
    order_book,
    sessions,
    smallbank,
    snb,
    telemetry,
    tpcc,
    tpce,
    tsbs,
    ycsb,
)
from tests.published.workload import Table, Workload

WORKLOADS: tuple[Workload, ...] = (
    tpcc.WORKLOAD,
    tpcc.LARGE,
    tpce.WORKLOAD,
    ycsb.WORKLOAD,
    linkbench.WORKLOAD,
    tsbs.WORKLOAD,
    smallbank.WORKLOAD,
    snb.WORKLOAD,
    message_store.WORKLOAD,
    order_book.WORKLOAD,
    audit_log.WORKLOAD,
    telemetry.WORKLOAD,
    sessions.WORKLOAD,
    leaderboard.WORKLOAD,
)


def table_of(workload: Workload, name: str) -> Table:
    """The table of that name."""
    return next(table for table in workload.tables if table.name == name)

"""Some of the load on the embedded engine, with real rows: every operation carried out, every answer audited."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pkadvisor.engine.options import SECOND
from pkadvisor.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pkadvisor.stress.experiment.prepared_design import Stand
    from pkadvisor.stress.experiment.request import StressRequest

ROWS_MAX = 20_000
"""Rows that are loaded, at most; a larger table is proved on its first entities alone."""
READ_MAX = 40_000
"""Entities that are read, from which on no more requests are sent: scans of whole tables are proved by a few."""
GROUP = 100


def audit_of(stand: Stand, request: StressRequest) -> dict[str, Any] | None:
    """Loads the rows, sends the first requests of the load, and holds every answer against a plain table.

    Nothing is throttled here: what is proved is that plans, keys and operations do what the scripts say. None where the
    table is too large for it.
    """
    from pkadvisor.engine.open_store import open_virtual
    from pkadvisor.stress.requests.plain_table import page_limits
    from pkadvisor.stress.requests.retry import policy_of
    from pkadvisor.stress.store.auditor import Auditor
    from pkadvisor.stress.store.driver import run_store
    from pkadvisor.table.store import CreateTable

    rows = stand.programs.stored
    if len(rows) > ROWS_MAX or not request.audited_requests:
        return None
    auditor, table = Auditor(), stand.table.section.table
    with open_virtual(request.seed, table_limits=page_limits(stand.limits)) as store:
        store.execute(CreateTable(table))
        _loaded(store, table, rows)
        auditor.stored(table, rows)
        result, operations = run_store(
            stand.load,
            stand.programs,
            store,
            stand.unscaled.space,
            stand.limits,
            policy_of("none"),
            begin_ns=round(store.now_ms() * 1e6) + SECOND,
            auditor=auditor,
            requests_max=request.audited_requests,
            read_max=READ_MAX,
        )
        store.check()
    counts = result.classes.values()
    return {
        "rows": len(rows),
        "requests": sum(c.requests for c in counts),
        "operations": operations,
        "entities_read": sum(c.entities_read for c in counts),
        "entities_written": sum(c.entities_written for c in counts),
        "violations": auditor.violations_total,
        "examples": [] if request.reading.redact else list(auditor.violations),
    }


def _loaded(store: Any, table: str, rows: Sequence[Any]) -> None:
    """Puts rows in, those of a partition in groups."""
    from collections import defaultdict

    from pkadvisor.table.store import Group, InsertOrReplace

    partitions: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        partitions[row.key.partition_key].append(InsertOrReplace(table, row))
    for writes in partitions.values():
        for begin in range(0, len(writes), GROUP):
            some = tuple(writes[begin : begin + GROUP])
            outcome = store.execute(Group(some) if len(some) > 1 else some[0])
            if not outcome.ok:
                what = f"an entity of the data cannot be stored: {outcome.code}"
                raise InputError(what, where=table, fix="take out what is over a limit of the service, as noted above")

"""Options of ``advisor stress`` that name a real endpoint, and what it costs to ask it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pkadvisor.cli.shared import option
from pkadvisor.errors import AdvisorError, ConstraintError, InputError, UsageError

if TYPE_CHECKING:
    from pkadvisor.stress.experiment.request import RealTarget

TRANSACTIONS_MAX = 100_000
CONCURRENCY_MAX = 1024


@dataclass(frozen=True, slots=True)
class Targeting:
    """A real endpoint, and how it is asked. Without a target nobody is dialled."""

    target: Annotated[
        str | None,
        option("--target", metavar="URL", help="Run the load on this endpoint too, in a table of its own."),
    ] = None
    connection_string_file: Annotated[
        str | None,
        option("--connection-string-file", metavar="FILE", help="The same, with a connection string from a file."),
    ] = None
    sas_file: Annotated[
        str | None,
        option("--sas-file", metavar="FILE", help="A shared access signature for --target."),
    ] = None
    concurrency: Annotated[
        int,
        option(
            "--concurrency",
            metavar="N",
            min=1,
            max=CONCURRENCY_MAX,
            help="Concurrent operations on the endpoint.",
            show_default=True,
        ),
    ] = 64
    max_transactions: Annotated[
        int,
        option(
            "--max-transactions",
            metavar="N",
            min=1,
            help="Stop after this many transactions.",
            show_default=True,
        ),
    ] = TRANSACTIONS_MAX
    dry_run: Annotated[
        bool, option("--dry-run", help="Show what would be sent to the endpoint and its cost; send nothing.")
    ] = False
    calibrate: Annotated[
        str | None,
        option("--calibrate", metavar="FILE", help="Write the measured limits to a file for --limits."),
    ] = None


def real_target(targeting: Targeting) -> RealTarget | None:
    """The endpoint that the options name, or None; UsageError (2) and InputError (3) as of ``target_of``."""
    if targeting.target is None and targeting.connection_string_file is None:
        for given, name in (
            (targeting.sas_file is not None, "--sas-file"),
            (targeting.dry_run, "--dry-run"),
            (targeting.calibrate is not None, "--calibrate"),
        ):
            if given:
                fix = "add --target URL or --connection-string-file FILE"
                raise UsageError("there is no endpoint to run on", where=name, fix=fix)
        return None
    from pkadvisor.rest.endpoint import require_client
    from pkadvisor.rest.target import target_of
    from pkadvisor.stress.experiment.request import RealTarget

    if targeting.calibrate is not None and not Path(targeting.calibrate).absolute().parent.is_dir():
        raise UsageError("there is no such folder", where=f"--calibrate {targeting.calibrate}")
    target = target_of(targeting.target, targeting.connection_string_file, targeting.sas_file, os.environ)
    require_client()
    return RealTarget(
        target,
        start=datetime.now(UTC).isoformat(),
        concurrency=targeting.concurrency,
        transactions_max=targeting.max_transactions,
    )


def ended_early(document: dict[str, Any]) -> AdvisorError | None:
    """What goes with a run on an endpoint that was stopped, other than by Ctrl-C; None where none was."""
    from pkadvisor.stress.store.own_table import left_behind

    for table in document["tables"]:
        for design in table["designs"]:
            measured = design.get("measured")
            if not measured:
                continue
            where = f"{measured['host']}, {design['label']}"
            if not measured["removed"]:
                return left_behind(measured["table"], where)
            match measured["stopped"]:
                case "max-transactions":
                    what = f"stopped at {measured['transactions']:,} transactions: the run is not complete"
                    return ConstraintError(what, where="--max-transactions", fix="raise it, or shorten --duration")
                case "no-answer":
                    return InputError("the endpoint stopped answering", where=where)
                case "refused":
                    return InputError(f"the endpoint refuses the credentials ({measured['why']})", where=where)
    return None

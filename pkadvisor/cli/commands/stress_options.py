"""Options of ``advisor stress``: the experiment, and the real endpoint that it may ask too."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.cli.shared import option
from pkadvisor.errors import AdvisorError, ConstraintError, InputError, UsageError
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.documents.stress import StressDocument
    from pkadvisor.stress.experiment.request import RealTarget

TRANSACTIONS_MAX = 100_000
CONCURRENCY_MAX = 1024


@dataclass(frozen=True, slots=True)
class Experiment:
    """Which keys are run, under which load, and what they must hold."""

    result: str | None = option("Take the schemes of this result; it must be of the same files.", metavar="RESULT")
    scheme: int | None = option("Run scheme N of the ranking, not the recommended one.", metavar="N", min=1)
    load: str = option(
        "x2, mean, together, spikes, diurnal, trace, cluster12, bursts:ca2=4, flash:5x@10m, ramp:1x-2x/4; commas join.",
        "x1",
        metavar="LOAD",
    )
    growth: str | None = option("Grow the load as declared over these months, e.g. 12m.", metavar="MONTHS")
    duration: str | None = option("Simulated length of a run; by default as long as needed.", metavar="TIME")
    retry: str = option("none, fixed, exponential, current or sdk.", "current", metavar="POLICY")
    enforce: str = option("strict: targets are hard limits; elastic: only on busy servers.", "strict", metavar="HOW")
    servers: int = option("Partition servers that share the table.", 8, metavar="N", min=1)
    fault: list[str] | None = option(
        "Simulate a fault, e.g. server-down@4m or server-down@4m+2m. Repeatable.", metavar="FAULT"
    )
    slo: list[str] | None = option("A goal: p50, p99, p99.9, throttled, lost. Commas join. Repeatable.", metavar="K=V")
    clients: int | None = option("Also run N clients that wait for each answer (a closed loop).", metavar="N", min=1)
    think: str = option("How long a client waits after an answer, e.g. 100ms.", "0", metavar="TIME")
    vms: int | None = option("Virtual machines that the clients share, 15 requests at once each.", metavar="N", min=1)
    find_limit: bool = option("Look for the highest load that still meets the goals.", False)
    partition: str | None = option("Also test this PartitionKey, or 'hottest', alone.", metavar="KEY")
    engine: bool = option("Run all of the warmed-up load on the embedded engine, with rows.", False)
    sample_keys: int | None = option(
        "The embedded engine takes N PartitionKeys and their requests.", metavar="N", min=1
    )
    exit_zero: bool = option("Exit with 0 even if a goal is missed.", False)


@dataclass(frozen=True, slots=True)
class Targeting:
    """A real endpoint, and how it is asked. Without a target nobody is dialled."""

    target: str | None = option("Run the load on this endpoint too, in a table of its own.", metavar="URL")
    connection_string_file: str | None = option("The same, with a connection string from a file.", metavar="FILE")
    sas_file: str | None = option("A shared access signature for --target.", metavar="FILE")
    concurrency: int = option("Concurrent operations on the endpoint.", 64, metavar="N", min=1, max=CONCURRENCY_MAX)
    max_transactions: int = option("Stop after this many transactions.", TRANSACTIONS_MAX, metavar="N", min=1)
    dry_run: bool = option("Show what would be sent to the endpoint and its cost; send nothing.", False)
    calibrate: str | None = option("Write the measured limits to a file for --limits.", metavar="FILE")


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


def ended_early(document: StressDocument) -> AdvisorError | None:
    """What goes with a run on an endpoint that was stopped, other than by Ctrl-C; None where none was."""
    from pkadvisor.stress.store.own_table import left_behind

    for table in document.tables:
        for design in table.designs:
            measured = design.measured
            if not measured:
                continue
            where = f"{measured.host}, {design.label}"
            if not measured.removed:
                return left_behind(measured.table, where)
            match measured.stopped:
                case "max-transactions":
                    what = f"stopped at {measured.transactions:,} transactions: the run is not complete"
                    return ConstraintError(what, where="--max-transactions", fix="raise it, or shorten --duration")
                case "no-answer":
                    return InputError("the endpoint stopped answering", where=where)
                case "refused":
                    return InputError(f"the endpoint refuses the credentials ({measured.why})", where=where)
    return None

"""Options of ``advisor stress``: the experiment, and the real endpoint that it may ask too."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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

    result: Annotated[
        str | None,
        option("--result", metavar="RESULT", help="Take the schemes of this result; it must be of the same files."),
    ] = None
    scheme: Annotated[
        int | None,
        option("--scheme", metavar="N", min=1, help="Run scheme N of the ranking, not the recommended one."),
    ] = None
    load: Annotated[
        str,
        option(
            "--load",
            metavar="LOAD",
            help="x2, mean, together, spikes, diurnal, trace, cluster12, bursts:ca2=4, flash:5x@10m, ramp:1x-2x/4; "
            "commas join.",
        ),
    ] = "x1"
    growth: Annotated[
        str | None,
        option("--growth", metavar="MONTHS", help="Grow the load as declared over these months, e.g. 12m."),
    ] = None
    duration: Annotated[
        str | None,
        option("--duration", metavar="TIME", help="Simulated length of a run; by default as long as needed."),
    ] = None
    retry: Annotated[
        str, option("--retry", metavar="POLICY", help="none, fixed, exponential, current or sdk.", show_default=True)
    ] = "current"
    enforce: Annotated[
        str,
        option("--enforce", metavar="HOW", help="strict: targets are hard limits; elastic: only on busy servers."),
    ] = "strict"
    servers: Annotated[
        int, option("--servers", metavar="N", min=1, help="Partition servers that share the table.", show_default=True)
    ] = 8
    fault: Annotated[
        list[str] | None,
        option(
            "--fault", metavar="FAULT", help="Simulate a fault, e.g. server-down@4m or server-down@4m+2m. Repeatable."
        ),
    ] = None
    slo: Annotated[
        list[str] | None,
        option("--slo", metavar="K=V", help="A goal: p50, p99, p99.9, throttled, lost. Commas join. Repeatable."),
    ] = None
    clients: Annotated[
        int | None,
        option("--clients", metavar="N", min=1, help="Also run N clients that wait for each answer (a closed loop)."),
    ] = None
    think: Annotated[
        str, option("--think", metavar="TIME", help="How long a client waits after an answer, e.g. 100ms.")
    ] = "0"
    vms: Annotated[
        int | None,
        option("--vms", metavar="N", min=1, help="Virtual machines that the clients share, 15 requests at once each."),
    ] = None
    find_limit: Annotated[
        bool, option("--find-limit", help="Look for the highest load that still meets the goals.")
    ] = False
    partition: Annotated[
        str | None,
        option("--partition", metavar="KEY", help="Also test this PartitionKey, or 'hottest', alone."),
    ] = None
    engine: Annotated[
        bool, option("--engine", help="Run all of the warmed-up load on the embedded engine, with rows.")
    ] = False
    sample_keys: Annotated[
        int | None,
        option(
            "--sample-keys", metavar="N", min=1, help="The embedded engine takes N PartitionKeys and their requests."
        ),
    ] = None
    exit_zero: Annotated[bool, option("--exit-zero", help="Exit with 0 even if a goal is missed.")] = False


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

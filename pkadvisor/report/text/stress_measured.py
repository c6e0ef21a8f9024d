"""What a run on a real endpoint measured, as text and as a file of limits; and what one would send."""

from __future__ import annotations

from pkadvisor.documents.stress import StressDocument, StressKnee, StressMeasured, StressPlan
from pkadvisor.numbers import amount, percent, plural
from pkadvisor.report.text.page import Page

FAMILIES = (
    ("read_latency_ms_p50", "read_latency_ms_p99"),
    ("write_latency_ms_p50", "write_latency_ms_p99"),
    ("page_latency_ms", "scan_ms_per_entity"),
    ("partition_entities_per_s", "burst_s"),
)
"""Numbers that belong together: a median of one run and a percentile of another need not agree."""
STOPPED = {
    "max-transactions": "stopped at --max-transactions",
    "no-answer": "stopped: the endpoint stopped answering",
    "refused": "stopped: the endpoint refused the credentials",
    "interrupted": "interrupted",
}
NAMES = {
    "attempts": "attempts",
    "pages": "pages",
    "entities_written": "entities written",
    "throttled_share": "throttled",
    "latency_ms_p50": "p50",
    "latency_ms_p99": "p99",
}


def write_measured(page: Page, label: str, measured: StressMeasured) -> None:
    """The part of the page on one design."""
    run = measured.run
    page.line(f"{label}, on {measured.host}", "head")
    page.wrapped(
        f"{plural(measured.rows, 'row')}, {plural(run.requests, 'request')}, "
        f"{plural(measured.transactions, 'transaction')}; {percent(run.throttled_share)} throttled, "
        f"p50 {_value('ms', run.latency_ms_p50)}, p99 {_value('ms', run.latency_ms_p99)}"
    )
    if measured.stopped:
        page.wrapped(STOPPED[measured.stopped], "  ", "    ", "warn")
    if not measured.kept_up:
        page.wrapped(
            f"the client could not keep up: {percent(measured.late_share)} of the operations went out more than "
            f"50 ms late, one of them {amount(measured.late_ms_max)} ms; the latencies are the client's own",
            "  ", "    ", "warn",
        )  # fmt: skip
    if measured.unanswered:
        page.wrapped(f"{plural(measured.unanswered, 'operation')} got no answer", "  ", "    ", "warn")
    audit = measured.audit
    if audit.violations:
        page.wrapped(f"{plural(audit.violations, 'answer')} of {audit.operations:,} WRONG", "  ", "    ", "bad")
        for example in audit.examples:
            page.wrapped(example, "    - ", "      ", "bad")
    else:
        page.wrapped(f"{plural(audit.operations, 'answer')} audited: none was wrong")
    if not measured.removed:
        page.wrapped(f"the table {measured.table} could not be removed: remove it", "  ", "    ", "bad")
    if measured.residuals:
        page.line("  predicted, measured on this endpoint", "dim")
        for entry in measured.residuals:
            both = f"{_value(entry.unit, entry.predicted)} → {_value(entry.unit, entry.measured)}"
            page.record(f"{entry.class_} {NAMES[entry.name]}", both, 34, "    ")
    calibration = measured.calibration
    if calibration.found:
        page.line("  numbers of the model, measured here", "dim")
        for one in calibration.found:
            text = (
                f"{amount(one.predicted)} ({one.basis}) → {amount(one.measured)} {one.unit}, "
                f"{amount(one.low)} to {amount(one.high)} of {one.count:,} {one.of}"
            )
            page.record(one.name, text, 26, "    ")
    page.line()


def _value(unit: str, value: float | None) -> str:
    if value is None:
        return "none"
    return percent(value) if unit == "share" else f"{amount(value)} {unit}".rstrip()


def render_plan(document: StressPlan, *, width: int, ascii_only: bool) -> str:
    """The page of a dry run."""
    page = Page(max(24, width), color=False, ascii_only=ascii_only)
    page.line(f"DRY RUN   {document.host}: nothing was sent")
    for entry in document.designs:
        page.line(f"{entry.of}, {entry.label}")
        page.record("table", entry.table, 14)
        page.record("rows", f"{entry.rows:,} ({amount(entry.rows_bytes)} bytes)", 14)
        page.record("requests", f"{entry.requests:,}", 14)
        text = f"{entry.transactions:,}: {entry.load_transactions:,} to load, {entry.run_transactions:,} to run"
        page.record("transactions", text, 14)
        page.record("bytes read", amount(entry.run_bytes), 14)
    page.line()
    total = f"{document.transactions:,} transactions, {_money(document.cost_usd)} at the price of the limits"
    page.wrapped(f"in all {total}; retries come on top, as far as --max-transactions lets them", "", "  ")
    if document.transactions > document.transactions_max:
        page.wrapped(f"--max-transactions {document.transactions_max:,} stops it before its end", "", "  ")
    return "\n".join(page.lines).rstrip("\n") + "\n"


def _money(usd: float) -> str:
    return f"{usd:.2f} USD" if usd >= 0.01 else "less than 0.01 USD"


def calibration_file(document: StressDocument) -> str | None:
    """The numbers that were measured as a file for ``--limits``, each family from the run with most behind it.

    None where no design was run on an endpoint.
    """
    runs = [d.measured for table in document.tables for d in table.designs if d.measured]
    if not runs:
        return None
    host, date = runs[0].host, runs[0].date
    lines = [
        f"# Measured by advisor stress on {host}, {date}.",
        "# Every command that takes --limits reads it: advisor analyze DATA --limits FILE",
        "schema = 1",
    ]
    missing: list[str] = []
    for family in FAMILIES:
        runs_of_family = [[one for one in run.calibration.found if one.name in family] for run in runs]
        best = max(runs_of_family, key=lambda some: (len(some), min((one.count for one in some), default=0)))
        for one in best:
            lines += _section(one, host, date)
        why = {e.name: e.why for run in runs for e in run.calibration.left_out}
        names = {one.name for one in best}
        missing += [f"#   {name}: {why.get(name, 'no run measured it')}" for name in family if name not in names]
    if missing:
        lines += ["", "# Not measured:", *missing]
    return "\n".join(lines) + "\n"


def _section(one: StressKnee, host: str, date: str) -> list[str]:
    return [
        "",
        f"# {one.low:g} to {one.high:g}, of {one.count:,} {one.of}",
        f"[{one.name}]",
        f"value = {one.measured!r}",
        f'unit = "{one.unit}"',
        f'source = "measured: advisor stress on {host}"',
        f'date = "{date}"',
        'basis = "measured"',
    ]

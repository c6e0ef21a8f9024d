"""What the verdicts of an analysis rest on, as text, in the order in which a reader asks: what the keys are and why,
what each query costs, when it breaks, what else was looked at, how far it can be trusted, and what was read."""

from __future__ import annotations

from msgspec import UNSET

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import (
    AnalysisBreak,
    AnalysisClassCost,
    AnalysisFullScheme,
    AnalysisScheme,
    AnalysisTransaction,
)
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.numbers import MONTH_S, amount, breaks, milliseconds, percent, plural, rate
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.summary.figures import by_load, left_out, lost, term
from pkadvisor.report.summary.scans import reads_only_what_it_returns
from pkadvisor.report.summary.verdicts import doubt, give, provisional, sureness, table_title, without_tried
from pkadvisor.report.text.arrangement import account_text, arranged_text, conflicts_text
from pkadvisor.report.text.page import Page, write_heat
from pkadvisor.report.text.scheme_page import flip_sentence, write_broken, write_grounds, write_ranking


def write_details(page: Page, result: AnalysisDocument, verbose: bool) -> None:
    """Each table, then kinds and tables together, then what was read; ``verbose``: with terms, points, properties."""
    for table in result.tables:
        _table(page, table, verbose)
    for arranged in result.arrangements:
        arranged_text(page, arranged)
    account_text(page, result.account or None)
    _account(page, result)
    _inputs(page, result, verbose)


def _inputs(page: Page, result: AnalysisDocument, verbose: bool) -> None:
    if result.log is not None or any(table.data is not None for table in result.tables):
        page.line("What was read", "head")
    for table in result.tables:
        data = table.data
        if data is None:
            continue
        total = f" of {data.entities_total:,}" if data.entities_total > data.entities_read else ""
        mixed = [p.name for p in data.properties if p.types]
        noun = "property" if len(data.properties) == 1 else "properties"
        entities = "entity" if data.entities_read == 1 and not total else "entities"
        read = f"{data.entities_read:,}{total} {entities}, {len(data.properties)} {noun}"
        page.record("data", f"{data.name}: {read}", 7)
        if mixed:
            page.record("", f"values of more than one type in {', '.join(mixed)}", 7)
        for note in data.notes[: None if verbose else 3]:
            page.record("", note, 7)
    log = result.log
    if log is not None:
        counts = (
            (len(result.inputs.logs), "file"),
            (log.lines, "line"),
            (log.requests_attempted, "request"),
        )
        page.record("log", ", ".join(plural(n, noun) for n, noun in counts), 7)
        if log.first:
            page.record("", f"{log.first} to {log.last}", 7)
        facts = [
            f"{number:,} {label}"
            + (f" ({percent(number / log.requests_attempted)} of the attempts)" if name == "throttled" else "")
            for name, label in (
                ("duplicates", "written twice"),
                ("throttled", "throttled"),
                ("retries", "retried"),
                ("pages", "further pages"),
            )
            if (number := getattr(log, name))
        ]
        if facts:
            page.record("", ", ".join(facts), 7)
        for skipped in log.skipped:
            page.record("", f"skipped {skipped.lines:,}: {skipped.reason}", 7)
    page.line()


def _table(page: Page, table: AnalysisTable, verbose: bool) -> None:
    best = table.recommended
    page.line(f"Details of {table_title(table)}", "head")
    for warning in table.warnings or ():
        page.wrapped(warning, "  ! ", "    ", "bad")
    if table.why_not:
        page.wrapped(table.why_not, "  ", "  ")
        page.wrapped(give(table), "  next: ", "        ")
    if best is None:
        page.line()
        _heat(page, table)
        _queries_without_plan(page, table)
        _unknown(page, table)
        page.line()
        return
    for sentence in (provisional(table), doubt(table) and f"confidence {doubt(table)}"):
        if sentence:
            page.wrapped(sentence, "  ", "    ", "warn")
    _keys(page, best)
    page.line()
    _why(page, table, best)
    write_broken(page, without_tried(table) or best)
    conflicts_text(page, table.conflicts)
    page.line("Queries and writes", "head")
    declared = {query.name for query in table.workload if query.latency_goal_ms_p99 is not None}
    for entry in by_load(best):
        _class(page, entry, entry.name in declared)
    for group in best.transactions:
        _transaction(page, group)
    page.line()
    _money(page, table, best)
    _when(page, best)
    write_heat(page, table.heat, kept=table.ranking_says == "keep")
    _heat(page, table)
    write_ranking(page, table, best)
    page.listed("What it gives up", table.gives_up)
    page.listed("What to try next", table.try_next or ())
    write_grounds(page, table.grounds, "What the verdict rests on", verbose=verbose)
    _unknown(page, table)
    if verbose:
        _verbose(page, table, best)
    page.line()


def _best_is(table: AnalysisTable) -> str:
    """What the best keys are called: those in use where they are kept."""
    return "current" if table.ranking_says == "keep" else "recommended"


def _money(page: Page, table: AnalysisTable, best: AnalysisFullScheme) -> None:
    """What a month costs, with requests and storage apart; what a month of inserts adds where it is more than there
    is."""
    unit = next((t.unit for t in best.terms if t.name == "price"), None)
    if unit is None:
        return
    unit = unit.removesuffix("/month")
    page.line("What a month costs", "head")
    both = (("current", table.current), ("recommended", best))
    for label, scheme in both if table.ranking_says == "change" else ((_best_is(table), best),):
        if scheme is not None:
            requests, storage = (amount(term(scheme, f"price of {what}")) for what in ("requests", "storage"))
            page.record(label, f"{amount(term(scheme, 'price'))} {unit}: requests {requests}, storage {storage}", 11)
    inserted_per_s = sum(c.rate_per_s * c.entities_written for c in best.classes if c.operation == "insert")
    added_gb = inserted_per_s / (1 + len(best.index_rows)) * (term(best, "stored") or 0.0) * MONTH_S / 1e9
    if added_gb > (term(best, "storage") or 0.0):
        page.wrapped(f"Storage is that of the entities read; the inserts of a month add {amount(added_gb)} GB.")
    page.wrapped("Prices are examples: set yours with --limits.")
    page.line()


def _latency(entry: AnalysisClassCost, declared: bool) -> str:
    """The p99, against its goal where one is declared, or where even the goal that is assumed is missed."""
    if not entry.latency_ms_p99:
        return ""
    goal = entry.latency_goal_ms_p99
    shown = goal and (declared or entry.latency_ms_p99 > goal)
    return f"; p99 {milliseconds(entry.latency_ms_p99)}" + (f" (goal {amount(goal)})" if shown else "")


_GROWTHS = {"rate": "load", "new_keys": "keys", "rows_per_key": "rows per key"}
BREAKS_SHOWN = 3


def _when(page: Page, best: AnalysisFullScheme) -> None:
    """What passes its limit first, by how much growth and when."""
    shown: list[AnalysisBreak] = []
    for point in best.breaks:
        # An entity that fills its partition breaks with it, and says nothing more.
        same = [s for s in shown if s.cause == point.cause or s.measured == point.measured]
        if not same and (len(shown) < BREAKS_SHOWN or not point.growth_of):
            shown.append(point)
    if not shown:
        return
    page.line("When it breaks", "head")
    for point in shown:
        if not point.growth_of:  # time fills it, whatever grows
            page.wrapped(point.cause, "  - ", "    ")
            continue
        of = " or ".join(_GROWTHS.get(kind, kind) for kind in point.growth_of)
        text = f"at {breaks(point.factor)} today's {of} (80 % of it at {breaks(point.factor_headroom)})"
        if point.months is not None:
            text += f"; in {amount(point.months)} months" if point.months else "; now"
        page.wrapped(f"{point.cause}: {text}", "  - ", "    ")
    page.line()


def _keys(page: Page, scheme: AnalysisFullScheme) -> None:
    page.record("PartitionKey", quoted(scheme.partition_key))
    page.record("RowKey", quoted(scheme.row_key))
    for example in scheme.examples[:1]:
        page.record("example", f"{quoted(example.partition_key)}  /  {quoted(example.row_key)}")
    for row, examples in zip(scheme.index_rows, scheme.index_examples, strict=False):
        kind = "full copy" if row.copy == "full" else "pointer"
        atomic = row.consistency == "atomic"
        where = "same partition, same group transaction" if atomic else "another partition, written after"
        page.line(f"  + index row ({kind}; {where})")
        page.record("PartitionKey", quoted(row.partition_key))
        page.record("RowKey", quoted(row.row_key))
        for shown in examples[:1]:
            page.record("example", f"{quoted(shown.partition_key)}  /  {quoted(shown.row_key)}")


def _class(page: Page, entry: AnalysisClassCost, declared_goal: bool) -> None:
    access: str = entry.access or "one entity by its key"
    if entry.fan_out and entry.fan_out > 1.05:
        access += f" x {amount(entry.fan_out)}"
    if entry.via != "main":
        access += f" via {entry.via}"
    if entry.operation == "query":
        counts = f"reads {amount(entry.entities_read)}, returns {amount(entry.entities_returned)}"
    elif entry.entities_read:
        counts = f"reads {amount(entry.entities_read)}, writes {amount(entry.entities_written)}"
    else:
        counts = f"writes {amount(entry.entities_written)}"
    many = f", in {amount(entry.requests)} requests" if abs(entry.requests - 1) > 0.005 else ""
    apart = "analytic  " if entry.analytic else ""
    text = f"{entry.name}  {rate(entry.rate_per_s)}  {apart}{access}: {counts}{many}{_latency(entry, declared_goal)}"
    page.wrapped(text, "  ", "    ")
    for text in entry.filters:
        if text:
            page.record("", text, 1, "   ")
        else:
            page.record("", "(no $filter: every entity)", 1, "   ")
    if entry.top:
        page.record("", f"$top={entry.top}", 1, "   ")
    for work in entry.client_work:
        page.wrapped(f"then {work}", "     ")
    for note in entry.notes:
        page.wrapped(note, "     ")


def _transaction(page: Page, group: AnalysisTransaction) -> None:
    """Whether entities that change together still can."""
    size = f"{amount(group.mean_entities)} entities on average"
    pairs = group.pairs
    if pairs and not group.kept:
        of = f"{pairs.counted:,} pairs" if pairs.counted else "pairs, if any two values can form a pair"
        text = f"guaranteed to be one group transaction for {percent(pairs.guaranteed)} of {of}"
    elif not group.kept:
        text = f"not one group transaction ({size})"
    elif group.sets_over_limit:
        too_large = f"{group.sets_over_limit:,} of {group.sets:,} sets"
        text = f"one group transaction ({size}); {too_large} are too large for one"
    else:
        text = f"one group transaction ({size})"
    page.wrapped(f"{group.name}  {text}", "  ", "    ")
    if repair := group.repair:
        page.wrapped(f"the others take {amount(repair.requests)} requests each, so that none stays half done:", "     ")
        for number, step in enumerate(repair.steps, 1):
            page.wrapped(step, f"     {number} ", "       ")
        page.wrapped(repair.find, "     repair ", "       ")


def _straight(best: AnalysisFullScheme) -> str:
    """The queries that read nothing they do not return."""
    read = [c for c in best.classes if c.operation == "query"]
    straight = [c.name for c in read if reads_only_what_it_returns(c)]
    if not straight:
        return ""
    every = len(straight) == len(read) > 1
    which = "every query" if every else "; ".join(straight)
    return f"{which} read{'s' if every or len(straight) == 1 else ''} only what is returned"


def _remarks(scheme: AnalysisScheme) -> list[str]:
    """The remarks but for the steps that stand below the transaction."""
    return [remark.message for remark in scheme.remarks if remark.code != "half-done-pair"]


def _why(page: Page, table: AnalysisTable, best: AnalysisFullScheme) -> None:
    rivals = table.alternatives[:1]
    current = table.current
    lines = []
    if table.ranking_says == "change" and current is not None and current.loses:
        reasons = [v.message for v in current.violations] + _remarks(current)
        lines += [("current", reason) for reason in reasons[:4] or [lost(current.loses)]]
    if table.ranking_says in ("change", "choose") and _straight(best):
        lines.append(("recommended", _straight(best)))
    if table.ranking_says == "change" and (gone := left_out(current, best)):
        lines.append(("note", gone[0].lower() + gone[1:].rstrip(".")))
    if table.ranking_says == "keep":
        lines.append(("current", "they break no constraint and cost no more requests than the best scheme"))
        lines.append(("", "a new key means that every entity must be rewritten"))
    for rival in rivals:
        name = f"{quoted(rival.partition_key)} | {quoted(rival.row_key)}" + (
            f" with {plural(len(rival.index_rows), 'index row')}" if rival.index_rows else ""
        )
        if rival.loses:
            lines.append(("next best", f"{name} is worse in {lost(rival.loses)}"))
        elif table.ranking_says == "keep":
            lines.append(("next best", f"{name} is not enough better to rewrite every entity"))
        if table.flip is not None and (rival.loses or table.ranking_says == "keep"):
            other = "" if table.flip.rank in (None, 2) else f"scheme:{table.flip.rank} "
            lines.append(("", f"{other}{flip_sentence(table.flip)}"))
    if table.confidence is not None and not doubt(table) and not table.why_not:
        lines.append(("confidence", sureness(table.confidence)))
    lines += [("note", message) for message in _remarks(best)[:4]]
    if lines:
        page.line("Why", "head")
        for label, text in lines:
            page.record(label, text, 11)
        page.line()


def _heat(page: Page, table: AnalysisTable) -> None:
    heat = table.heat_in_log
    if heat is None:
        return
    shown = [(name, group) for name, group in (("reads", heat.reads), ("writes", heat.writes)) if group.top]
    if not shown:
        return
    page.line("Hot keys in the log", "head")
    for name, group in shown:
        for entry in group.top[:3]:
            often = f", {rate(entry.requests_per_s)}" if entry.requests_per_s else ""
            page.record(f"{percent(entry.share)} of {name}{often}", quoted(entry.partition_key), 28)
    page.line()


def _queries_without_plan(page: Page, table: AnalysisTable) -> None:
    if not table.workload:
        return
    page.line("Queries and writes", "head")
    for query in table.workload:
        access = f"  {query.access_now}" if query.access_now else ""
        rates = f"{rate(query.rate_per_s)}, peak {rate(query.peak_per_s)}"
        page.wrapped(f"{query.name}  {rates}{access}", "  ", "    ")
        if query.filter:
            page.record("", query.filter, 1, "   ")
    page.line()


def _unknown(page: Page, table: AnalysisTable) -> None:
    sentences = [*table.notes, *table.cannot_be_known]
    if sentences:
        page.line("What is assumed or cannot be known", "head")
        for sentence in sentences:
            page.wrapped(sentence, "  - ", "    ")


def _verbose(page: Page, table: AnalysisTable, best: AnalysisFullScheme) -> None:
    page.head("Terms")
    for each in best.terms:
        span = "" if each.low is UNSET or each.high is UNSET else f", {amount(each.low)} to {amount(each.high)}"
        text = f"{amount(each.value)} {each.unit} ({each.basis}{span})"
        page.record(each.name, text + (f"; {each.source}" if each.source else ""), 28)
    page.head("Score")
    for entry in best.classes:
        points = entry.score_points
        share = f"{percent(entry.useful_share)} of what it counts is asked for"
        worth = "apart: analytic" if points is None else f"{amount(points)} points: {rate(entry.rate_per_s)}, {share}"
        page.record(entry.name, worth, 28)
    if table.data:
        page.head("Properties")
        for prop in table.data.properties:
            about = f"±{100 * prop.distinct_relative_error:.1f} %" if prop.distinct_relative_error else "counted"
            missing = f", {prop.missing:,} missing" if prop.missing else ""
            page.record(prop.name, f"{prop.type}, {prop.distinct:,} distinct ({about}){missing}", 20)
    fronts = best.write_fronts
    if fronts.lasting is not None:
        page.head("Write fronts")
        text = f"{amount(fronts.lasting)} lasting"
        if fronts.least != fronts.lasting:
            text += f", {amount(fronts.least)} at the least"
            text += f" for {percent(fronts.least_share)} of the time" if fronts.least_share is not None else ""
        text += f" ({fronts.basis})"
        page.wrapped(text + (f"; {fronts.note}" if fronts.note else ""))
    looked = table.search
    if looked is not None:
        page.head("Search")
        text = f"{plural(table.examined, 'scheme')} priced, from {looked.structures:,} keys and index rows"
        text += f" with {plural(looked.nodes, 'node')} of branch and bound" if looked.nodes else ""
        page.wrapped(f"{text}; {_gap(looked.gap)}")


def _gap(gap: float | None) -> str:
    """How far the search for index rows is from a proof."""
    if gap is None:
        return "how far the best sets of index rows are is not known: a limit of the search was hit"
    if gap == 0:
        return "no better set of index rows by the sums of their parts"
    return f"the sets of index rows are within {percent(gap)} of the best: a limit of the search was hit"


def _account(page: Page, result: AnalysisDocument) -> None:
    log = result.log
    if log is None:
        return
    account = log.account
    several = len(log.tables) > 1
    if not several and not account.peak_per_s:
        return
    page.line("Account", "head")
    if account.peak_per_s:
        share = percent(account.peak_share or 0)
        page.record("peak", f"{amount(account.peak_per_s)} of {amount(account.limit_per_s)} requests/s ({share})", 7)
    for table in log.tables if several else ():
        what = "" if table.designed else "  (no design)"
        page.record(percent(table.share), f"{table.table}{what}", 7)
    page.line()

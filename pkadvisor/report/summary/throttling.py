"""Who is throttled under the current keys and under the recommended ones, in one sentence."""

from __future__ import annotations

from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.documents.part import REFUSED_BURST
from pkadvisor.numbers import percent, ratio
from pkadvisor.report.summary.figures import CAUSES, brief, queries_of, term
from pkadvisor.report.summary.scans import SCANS
from pkadvisor.report.summary.sentences import head_of
from pkadvisor.report.summary.verdicts import ranking_of

REFUSED = 0.001
"""From this share of the attempts of a log on its 503 answers are worth a sentence."""
MUCH_REFUSED = 0.1
"""From this share on what the log counts is told in place of what the model says of the peak; a smaller one may be that
of a few minutes of many."""
NOBODY = "nothing at the peak"
NO_503 = "the log has no 503"
WHOM = {"account": "the whole account", "range": "one server"}
"""What a load on several partitions is too much for, by the resource of a limit."""
OF_SCANS = ("range scans", "multi-partition scans")


def throttled(table: AnalysisTable, refused_in_log: float | None = None, *, in_short: bool = False) -> str:
    """Which partitions are throttled at the peak, how many attempts on the hottest, or what else passes its target, and
    whether the recommended keys end that; empty where no keys are advised.

    ``refused_in_log``: the share of the attempts of the log that got 503, None without a log; if it is large, it is
    told of the current keys in place of that of the model, else beside it. ``in_short``: on one line.
    """
    best, current = table.recommended, table.current
    if best is None or ranking_of(table) is None:
        return ""
    logged = refused_in_log if current is not None else None
    now = _throttled(table, current or best, "current" if current else "recommended", logged, in_short)
    if current is None or table.ranking_says == "keep":
        return f"{now}." if now else _refused(refused_in_log) or f"{NOBODY}."
    after = _throttled(table, best, "recommended", in_short=in_short)
    keys = "under the best keys found" if table.ranking_says == "unsatisfied" else "under the recommended keys"
    if now and after:
        return f"{now}; {keys} {after}."
    if now:
        return f"{now}; after: none."
    if after:
        return f"{keys} {after}; today none."
    return _refused(refused_in_log) or f"{NOBODY}, under either key."


def _refused(share: float | None) -> str:
    """That a log holds 503 where no partition explains them; empty where it holds next to none."""
    if share is None or share < REFUSED:
        return ""
    return f"{percent(share)} of all logged attempts; no partition is over its target."


def _throttled(
    table: AnalysisTable, scheme: AnalysisScheme, design: str, logged: float | None = None, in_short: bool = False
) -> str:
    """The hottest partition of a scheme with the share of the attempts on it that is refused, and how many more are
    over their target; of bursts the share of all attempts that the log shows."""
    hot, share = scheme.hot_partition, term(scheme, "throttled at peak")
    if hot is not None and any(r.code == REFUSED_BURST for r in scheme.remarks):
        bursts = f"bursts on '{brief(hot.partition_key)}'"
        return f"{percent(logged)} of the attempts in the log, in {bursts}" if logged else bursts
    if hot is None or not share:
        return _over_together(scheme, in_short) or _throttled_burst(scheme)
    target = next((v.limit for v in scheme.violations if v.code == "hot-partition"), None)
    skew = next((d for d in (table.skew.designs if table.skew else ()) if d.design == design), None)
    over = [p for p in skew.top if p.entities_per_s_peak > target] if skew and target else []
    and_more = "+" if skew and len(over) == len(skew.top) < skew.partitions else ""
    more = f"{' and' if not in_short else ','} {len(over) - 1}{and_more} more" if over[1:] else ""
    return f"'{brief(hot.partition_key)}' ({_refused_share(share, logged, in_short)}){more}"


def _refused_share(share: float, logged: float | None, in_short: bool) -> str:
    """The share of attempts that is refused, with what it is a share of: that of the model is one of the peak and of
    one partition, that of a log one of all its minutes and partitions."""
    if logged == 0:
        return (
            f"{percent(share)}, model; log: none" if in_short else f"{percent(share)} of its attempts, model; {NO_503}"
        )
    if logged is None:
        return f"{percent(share)}, model" if in_short else f"{percent(share)} of its attempts, model"
    if logged >= MUCH_REFUSED:
        return f"{percent(logged)}, log" if in_short else f"{percent(logged)} of all attempts in the log"
    if logged >= REFUSED:
        if in_short:
            return f"peak, model: {percent(share)}; whole log: {percent(logged)}"
        return f"{percent(share)} of its attempts at the peak, model; {percent(logged)} of all attempts in the log"
    few = f"{percent(logged)} of all attempts in the log"
    in_words = f"{percent(share)} of its attempts, model; {few}"
    return f"model: {percent(share)}; log: {percent(logged)}" if in_short else in_words


def _over_together(scheme: AnalysisScheme, in_short: bool) -> str:
    """What passes a target today though no partition does: what a server or the account takes of several of them."""
    over = [b for b in scheme.breaks if b.cause in CAUSES and b.measured > b.limit]
    worst = max(over, key=lambda b: float(b.measured / b.limit), default=None)
    if worst is None:
        return ""
    what, times = CAUSES[worst.cause], ratio(worst.measured / worst.limit)
    whom = WHOM.get(worst.resource, f"the {worst.resource}")
    scans = [c for c in queries_of(scheme) if c.access in SCANS] if what in OF_SCANS else []
    reader = max(scans, key=lambda c: c.rate_per_s * c.entities_read, default=None)
    if in_short:
        return f"{whom}: {what} at {times} its target"
    by = f" ('{brief(reader.name)}')" if reader is not None else ""
    return f"no partition, but {whom}: {what}{by} take {times} its target"


def _throttled_burst(scheme: AnalysisScheme) -> str:
    """The partition that takes more in one second than its target and what it may have saved up."""
    return next((head_of(r.message) for r in scheme.remarks if r.code == "throttled-burst"), "")

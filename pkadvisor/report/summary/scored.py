"""What is said first of keys that were scored: pure functions of a card of the document."""

from __future__ import annotations

from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.documents.score import ScoreScheme, ScoreTable
from pkadvisor.numbers import amount, percent, plural
from pkadvisor.report.summary.figures import brief, queries_of, term, worst_query
from pkadvisor.report.summary.scans import query_reads
from pkadvisor.report.summary.sentences import refused_entities, sentence_of, worst_violation


def score_verdict(scheme: AnalysisScheme) -> tuple[str, str]:
    """The headline of keys that were scored, and how it is to be taken: good or bad."""
    broken = sum(not violation.assumed_growth for violation in scheme.violations)
    if not broken:
        return "THESE KEYS HOLD EVERY CONSTRAINT", "good"
    return f"THESE KEYS BREAK {plural(broken, 'constraint').upper()}", "bad"


def score_sentences(table: ScoreTable, card: ScoreScheme) -> list[tuple[str, str]]:
    """What is said of scored keys below their figures, each sentence with its label."""
    scheme, parts = card.scheme, card.score_parts
    out = []
    worst = worst_violation(scheme)
    if worst is not None:
        out.append(("Broken", sentence_of(worst.message)))
    heaviest = worst_query(scheme)
    if heaviest is not None:
        entry, share = heaviest
        reads = f" {query_reads(entry)}" if entry in queries_of(scheme) else ""
        out.append(("Most load", f"'{brief(entry.name)}'{reads}: {percent(share)} of the load."))
    hot, throttled = scheme.hot_partition, term(scheme, "throttled at peak")
    if hot is not None and throttled:
        out.append(("Throttled", f"'{brief(hot.partition_key)}', {percent(throttled)} of attempts at the peak."))
    weak = next((ground for ground in table.grounds if not ground.carries), None)
    caveat = sentence_of(weak.sentence) if weak is not None else refused_entities(scheme)
    if caveat:
        out.append(("Caveat", caveat))
    grown = "all" if parts.reach >= 1 else percent(parts.reach)
    useful = f"{percent(parts.useful)} of the reads are useful"
    out.append(
        ("Score", f"{amount(scheme.score)} of 100: {useful}, and the keys serve {grown} of the growth asked for.")
    )
    return out


def partition_target(scheme: AnalysisScheme) -> float | None:
    """The target of one partition in entities a second, as the break factors of a scheme have it."""
    return next((float(b.limit) for b in scheme.breaks if b.cause == "the hottest partition" and b.limit > 0), None)

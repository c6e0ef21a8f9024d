"""The first screen of an analysis: the verdict, how sure it is and why, the keys, and what changes with them."""

from __future__ import annotations

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.numbers import percent, plural
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.html.advice import grounds_of, keys_of
from pkadvisor.report.html.place import Context, Places
from pkadvisor.report.summary.figures import BREAKS, ROWS
from pkadvisor.report.summary.sentences import SHARED, SHARED_KEYS, UNIQUE_IN_SAMPLE
from pkadvisor.report.summary.summary import summarize, summarize_table
from pkadvisor.report.summary.verdicts import table_title

SURENESS = {"high": "good", "low": "warn", "unknown": "warn"}
"""How sure a verdict is, and how that is to be taken."""
KEYS_ARE = {"keep": "Current keys", "unsatisfied": "Best keys found"}
"""What the keys of a verdict are called where they are not recommended."""


def verdict(document: AnalysisDocument, table: AnalysisTable, places: Places) -> Context:
    """The verdict on a table as the terminal has it, with the grounds that it rests on."""
    summary = summarize_table(document, table)
    best, current = table.recommended, table.current
    unknown = table.cannot_be_known
    # Two entities under one key would be lost writes: that question belongs beside the keys, not at the end.
    sampled = [text for text in unknown if text.startswith(UNIQUE_IN_SAMPLE)]
    first = sampled or [text for text in unknown if text.startswith(SHARED_KEYS)]
    cautions = [pair for pair in summary.cautions if not (first and pair[1].startswith(SHARED))]
    return {
        "word": summary.headline,
        "mood": summary.style,
        "why": summary.why[:1].upper() + summary.why[1:],
        "throttled": summary.throttled,
        "changes_if": summary.changes_if,
        "confidence": _confidence(summary.confidence),
        "grounds": grounds_of(table.grounds),
        "keys": keys_of(best) if best and summary.keys is not None else None,
        "keys_are": KEYS_ARE.get(summary.verdict, "Recommended keys"),
        "was": keys_of(current) if current and summary.keys is not None and summary.verdict != "keep" else None,
        "key_names": summary.key_names,
        "hot_keys": [(percent(key.share), key.of, quoted(key.partition_key)) for key in summary.hot_keys],
        "designs": summary.designs,
        "rows": ROWS,
        "breaks": BREAKS,
        "caveats": [*cautions, *(("Caveat", w) for w in (table.warnings or [])[1:])],
        "ask_first": first if best else [],
        "unknown": plural(len(unknown), "thing") if unknown else "",
        "give": summary.give[:1].upper() + summary.give[1:],
        "next_command": "" if summary.give else summary.next_command,
    }


def _confidence(text: str) -> tuple[str, str, str]:
    """The word for how sure it is, its mood, and the rest of the sentence."""
    word, _, rest = text.partition(" ")
    return word, SURENESS.get(word.strip(".,"), ""), rest


def overview(document: AnalysisDocument, places: Places) -> Context | None:
    """The verdict on each of several tables, the most urgent first, and what they break together."""
    if len(document.tables) < 2:
        return None
    summary = summarize(document)
    numbers = {table_title(t): n for n, t in enumerate(document.tables, 1)}
    return {
        "tables": [(t.headline, t.style, t.title, f"table-{numbers[t.title]}") for t in summary.tables],
        "together": summary.together,
    }

"""The verdict on each table of a result with its keys, figures and sentences: a pure function of the document."""

from __future__ import annotations

import re
import shlex

from pkadvisor.documents.analysis import AnalysisArranged, AnalysisDocument
from pkadvisor.documents.analysis_inputs import AnalysisLog
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisTable
from pkadvisor.documents.score import ScoreScheme, ScoreTable
from pkadvisor.errors import InputError
from pkadvisor.numbers import amount, percent, plural
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.summary import sentences
from pkadvisor.report.summary.changes import changes_if, heads
from pkadvisor.report.summary.figures import Figures, FirstBreak, brief, figures_of, queries_of, term, worst_query
from pkadvisor.report.summary.scans import query_reads
from pkadvisor.report.summary.sentences import refused_entities, sentence_of, worst_violation
from pkadvisor.report.summary.throttling import NOBODY, throttled
from pkadvisor.report.summary.verdicts import (
    ADD_INDEX_ROW,
    CHANGE_QUERY,
    HEADLINES,
    give,
    query_to_change,
    table_title,
    verdict_of,
)
from pkadvisor.values import dataclass

# -- What names in templates mean that nobody gave: those of pieces of exported keys.


_FIELD = re.compile(r"\{[^{}]+\}")
_PIECES = re.compile(r"(\{[^{}]+\})")
_INVENTED = re.compile(r"(?<![\w'])[pr][0-9]+(?![\w'])")
"""A name as ``init`` and the inference of keys invent it: p1 of a PartitionKey, r1 of a RowKey."""


def key_names(current: AnalysisFullScheme | None, most: int | None = None) -> str:
    """By an example, what the invented names in the current keys stand for; empty where there are none. ``most``:
    characters of what one of them stands for."""
    if current is None or not current.examples:
        return ""
    fields = "".join(_FIELD.findall(current.partition_key) + _FIELD.findall(current.row_key))
    names = list(dict.fromkeys(_INVENTED.findall(fields)))
    if not names:
        return ""
    example = current.examples[0]
    keys = " | ".join(
        _marked(template, key, most)
        for template, key in ((current.partition_key, example.partition_key), (current.row_key, example.row_key))
    )
    are = "in" if most else "are parts of" if names[1:] else "is a part of"
    return f"{', '.join(names)} {are} today's keys: {keys}"


def _marked(template: str, key: str, most: int | None) -> str:
    """A key with each piece that an invented name stands for in brackets: ``t[p1=05]`` of ``t{pad(p1,2)}``; as it is
    where the template does not tell its pieces apart."""
    pieces = [piece for piece in _PIECES.split(template) if piece]
    names = [_INVENTED.findall(piece) if _FIELD.fullmatch(piece) else [] for piece in pieces]
    fewest, longest = (
        re.fullmatch("".join(f"({re.escape(p)})" if p[0] != "{" else f"({each})" for p in pieces), key, re.DOTALL)
        for each in (".*?", ".*")
    )
    if fewest is None or longest is None or fewest.groups() != longest.groups():
        return quoted(brief(key, 2 * most) if most else key)
    texts = (
        f"[{name[0]}={quoted(text)}]" if name else quoted(text)
        for name, text in zip(names, (brief(t, most) if most else t for t in fewest.groups()), strict=True)
    )
    return "".join(texts)


TABLES_SHOWN = 3
"""Tables that are shown with keys and figures; the others take one line each."""
URGENCY = ("unsatisfied", "change", "add_index_row", CHANGE_QUERY, "not_enough", "choose", "keep", "heat_only")
"""Verdicts, what must be done first."""
HOT_KEYS = 3
VALUES_SHOWN = (40, 12, 6)
"""Characters of a piece of a key in the shorter forms of what names in keys mean."""
TARGET = "partition_entities_per_s"


@dataclass(frozen=True, slots=True)
class ShownIndexRow:
    """A secondary index entity; ``atomic``: in the partition of its entity, written in the same group transaction."""

    partition_key: str
    row_key: str
    copy: str
    atomic: bool


@dataclass(frozen=True, slots=True)
class Keys:
    """The templates of a design, to be copied."""

    partition_key: str
    row_key: str
    index_rows: tuple[ShownIndexRow, ...]


@dataclass(frozen=True, slots=True)
class HotKey:
    """A partition that a log asks for: its share of the ``reads`` or ``writes``."""

    of: str
    share: float
    partition_key: str


UNIQUE, NOBODY_THROTTLED = "unique", "nobody throttled"
SECOND_CAUTION = "second caution"
"""Names of sentences that are not their labels: what to ask before anything is changed, that nobody is throttled, and
the lighter one of what weakens the advice."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """What is said below the figures: its ``name`` among others, its label, and its whole text followed by shorter
    ones, each of which is a sentence."""

    name: str
    label: str
    forms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableSummary:
    """What is said first of one table.

    ``verdict`` as ``verdicts`` names it. ``read``: entities read and entities of the table, where the data is a sample.
    ``keys``, ``current`` and ``recommended`` are None where there are none, and where the inputs do not carry advice;
    of a key that is kept only ``current`` is given. ``keys_now``: the current ones where others are advised, not
    only more index rows. ``key_names``: what names in them mean that nobody gave. Sentences are empty where there is
    nothing to say. ``ask_first``: what to find out before keys are used that only the rows looked at show to be unique.
    ``cautions``: a caveat, a question to check or both, each with its label. ``give``:
    what to give next where there is no advice; ``next_command``: else what to run next.
    """

    table: str
    title: str
    verdict: str
    read: tuple[int, int] | None
    keys: Keys | None
    keys_now: Keys | None
    key_names: tuple[str, ...]
    current: Figures | None
    recommended: Figures | None
    hot_keys: tuple[HotKey, ...]
    why: str
    ask_first: str
    throttled: str
    confidence: str
    changes_if: str
    cautions: tuple[tuple[str, str], ...]
    shorter: dict[str, tuple[str, ...]]
    give: str
    next_command: str

    @property
    def headline(self) -> str:
        return HEADLINES[self.verdict][0]

    @property
    def style(self) -> str:
        """Good, bad or warn."""
        return HEADLINES[self.verdict][1]

    @property
    def prose(self) -> tuple[Sentence, ...]:
        """What is said below the figures, in the order in which it is read."""
        kept = [(label, text) for label, text in self.cautions if label != "Check" or not self.ask_first]
        first = 0 if self.ask_first else 1
        cautions = [(SECOND_CAUTION if n >= first else label, label, text) for n, (label, text) in enumerate(kept)]
        nobody = self.throttled.startswith(NOBODY)
        every = (
            ("Why", "Why", self.why),
            (UNIQUE, "Check", self.ask_first),
            (NOBODY_THROTTLED if nobody else "Throttled", "Throttled", self.throttled),
            ("Confidence", "Confidence", self.confidence),
            *cautions[:first],
            ("Changes if", "Changes if", self.changes_if),
            *cautions[first:],
        )
        return tuple(
            Sentence(name, label, tuple(dict.fromkeys((text, *self.shorter.get(label, heads(text))))))
            for name, label, text in every
            if text
        )

    @property
    def designs(self) -> tuple[tuple[str, Figures], ...]:
        """The designs that have figures, each with its name: the current one first."""
        second = "best found" if self.verdict == "unsatisfied" else "recommended"
        both = (("current", self.current), (second, self.recommended))
        return tuple((name, figures) for name, figures in both if figures is not None)


@dataclass(frozen=True, slots=True)
class Summary:
    """The tables, the most urgent first; ``together``: sentences on what all tables or kinds break together."""

    tables: tuple[TableSummary, ...]
    together: tuple[str, ...]

    @property
    def shown(self) -> tuple[TableSummary, ...]:
        """The tables that are shown in full."""
        return self.tables[:TABLES_SHOWN]

    @property
    def others(self) -> tuple[TableSummary, ...]:
        """The tables that take one line each."""
        return self.tables[TABLES_SHOWN:]


def summarize(result: AnalysisDocument, inputs: str = "") -> Summary:
    """The summary of a result. ``inputs``: its files and options as one would type them again; empty: as the document
    names them, without folders."""
    tables = [summarize_table(result, table, inputs) for table in result.tables]
    return Summary(tuple(sorted(tables, key=lambda t: URGENCY.index(t.verdict))), _together(result))


def summarize_table(result: AnalysisDocument, table: AnalysisTable, inputs: str = "") -> TableSummary:
    """The summary of one table of a result; ``inputs`` as for ``summarize``.

    InputError where the result lacks the target of a partition.
    """
    limits = {limit.name: limit.value for limit in result.limits.values}
    if TARGET not in limits:
        raise InputError(
            f"is not whole: {TARGET} is missing in limits.values", fix="made by another version? run it again"
        )
    several = len({table.table for table in result.tables}) > 1
    return _table(result, table, float(limits[TARGET]), inputs or _inputs_of(result), several)


def _inputs_of(result: AnalysisDocument) -> str:
    command: str = result.settings.command if result.settings else ""
    return command.removeprefix("advisor analyze").removesuffix("--seed 0").strip()


def _table(result: AnalysisDocument, table: AnalysisTable, target: float, inputs: str, several: bool) -> TableSummary:
    best, current, data = table.recommended, table.current, table.data
    logged, verdict = result.log is not None, verdict_of(table)
    advised = None if verdict == "not_enough" else best  # keys of a guess are not there to be copied
    stays = table.verdict == "keep"
    before, after = (advised, None) if stays else (current, advised)
    refused = _refused_in_log(result.log)
    only = f" --table {shlex.quote(table.table)}" if several and "--table" not in inputs else ""
    changes = changes_if(table, inputs + only)
    return TableSummary(
        table=table.table,
        title=table_title(table),
        verdict=verdict,
        read=(data.entities_read, data.entities_total) if data and data.entities_read < data.entities_total else None,
        keys=keys_of(advised) if advised else None,
        keys_now=keys_of(current) if advised and current and not stays and verdict != ADD_INDEX_ROW else None,
        key_names=_key_names(current or best) if advised else (),
        current=figures_of(before, target) if advised and before else None,
        recommended=figures_of(after, target) if after else None,
        hot_keys=_hot_keys(table) if advised is None else (),
        why=sentences.why(table),
        throttled=throttled(table, refused) if advised else _refusals(result.log),
        confidence=sentences.confidence(table, result.log),
        changes_if=next(iter(changes), ""),
        ask_first=sentences.unique_in_sample(table),
        cautions=tuple(sentences.cautions(table, logged=logged)),
        shorter={
            "Changes if": changes[1:],
            "Throttled": (throttled(table, refused, in_short=True),) if advised else (),
        },
        give=give(table),
        next_command=_next_command(table, verdict, inputs + only),
    )


def _key_names(current: AnalysisFullScheme | None) -> tuple[str, ...]:
    """What the names in the keys mean, in full and with long values cut."""
    return tuple(dict.fromkeys(text for most in (None, *VALUES_SHOWN) if (text := key_names(current, most))))


def _refused_in_log(log: AnalysisLog | None) -> float | None:
    """The share of the attempts of a log, of all its tables, that got 503; None without attempts."""
    return log.throttled / log.requests_attempted if log is not None and log.requests_attempted else None


def _refusals(log: AnalysisLog | None) -> str:
    """How many attempts of a log got 503; empty where none did."""
    if log is None or not log.throttled:
        return ""
    share = percent(log.throttled / log.requests_attempted)
    return f"{log.throttled:,} of {log.requests_attempted:,} attempts in the log got 503 ({share})."


def _next_command(table: AnalysisTable, verdict: str, inputs: str) -> str:
    """What to run next: the proof of a design under load, or the details of why there is none."""
    if verdict == CHANGE_QUERY:
        return f"advisor explain {shlex.quote(f'query:{query_to_change(table)}')} {inputs}".replace("  ", " ").rstrip()
    proves = verdict in ("change", "add_index_row", "choose", "keep") and table.data is not None
    command = "stress" if proves and "--profile" not in inputs else "analyze"
    return f"advisor {command} {inputs}{'' if command == 'stress' else ' --details'}".replace("  ", " ")


def keys_of(scheme: AnalysisScheme) -> Keys:
    """The templates of a scheme of a document."""
    rows = (
        ShownIndexRow(row.partition_key, row.row_key, row.copy, row.consistency == "atomic")
        for row in scheme.index_rows
    )
    return Keys(scheme.partition_key, scheme.row_key, tuple(rows))


def _hot_keys(table: AnalysisTable) -> tuple[HotKey, ...]:
    heat = table.heat_in_log
    if heat is None:
        return ()
    hot = [
        HotKey(of, e.share, e.partition_key)
        for of, keys in (("reads", heat.reads), ("writes", heat.writes))
        for e in keys.top
    ]
    return tuple(sorted(hot, key=lambda key: -key.share)[:HOT_KEYS])


def _in_one_partition(arranged: AnalysisArranged) -> str:
    """What the kinds that share partitions ask of the hottest one together: each alone is told above."""
    kinds = next((" and ".join(group.kinds) for group in arranged.chosen.shared), "")
    per_s = arranged.chosen.hottest_partition_per_s
    return f"; {kinds} share partitions, the hottest takes {amount(per_s)} entities/s" if kinds else ""


def _together(result: AnalysisDocument) -> tuple[str, ...]:
    """What tables or kinds break together, though each of them may hold alone."""
    out = []
    account = result.account
    if account and account.violations:
        first = FirstBreak(account.break_factor or 0, account.break_cause, ("rate",))
        out.append(f"All tables together break {first.when} ({first.cause}).")
    for arranged in result.arrangements:
        apart = [b.name for b in arranged.transactions if not b.kept]
        if apart:
            names = ", ".join(f"'{name}'" for name in apart)
            verb = "is" if len(apart) == 1 else "are"
            out.append(f"Kinds of {arranged.table}: {names} {verb} not one group transaction.")
        if arranged.conflicts:
            excluding = [c.sentence for c in arranged.conflicts[0].constraints]
            which = f"both: {' and '.join(excluding)}" if len(excluding) == 2 else "every constraint"
            out.append(f"Kinds of {arranged.table}: no scheme holds {which}{_in_one_partition(arranged)}.")
    return tuple(out)


# -- What is said first of keys that were scored: pure functions of a card of the document.


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

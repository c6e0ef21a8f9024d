"""The canonical result: one versioned JSON document that every output is rendered from.

Numbers carry their unit in the name and their basis beside them. Floats are rounded to six significant digits, so that
the bytes do not depend on the last bit of a sum. No clock, no path, no order of a hash table finds its way in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Final

from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from pkadvisor import __version__
from pkadvisor.design.choice.certainty.confidence import SURE
from pkadvisor.design.choice.goals import better, loss
from pkadvisor.design.choice.search import Advice
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.choice.several_kinds.account import AccountLoad
from pkadvisor.design.choice.several_kinds.kinds import Arranged
from pkadvisor.design.choice.try_next import try_next
from pkadvisor.design.evidence.given import NOT_ENOUGH, ranking_says, verdict_of, weakest
from pkadvisor.design.evidence.grounds import grounds_of
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.key_terms import NOTHING_KNOWN, KeysThemselves
from pkadvisor.design.keys.scheme import Key, KeyScheme
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import Field
from pkadvisor.design.load.estimates import LOAD_DECIDES, Bench, Confidence
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.rows.demand import Demand
from pkadvisor.design.rows.strange_values import strange_requests
from pkadvisor.documents import analysis_inputs
from pkadvisor.documents.analysis import AnalysisDocument, AnalysisLimit, AnalysisSetting, AnalysisValue, Outcome
from pkadvisor.documents.analysis_table import AnalysisConfidence, AnalysisSearch, AnalysisTable
from pkadvisor.documents.part import Tool, number, part_of, word
from pkadvisor.limits import Limits
from pkadvisor.observe.data.digests import FileDigest
from pkadvisor.observe.logs.traffic import TableTraffic, Traffic
from pkadvisor.observe.profile.profile_file import ProfileDocument
from pkadvisor.observe.workload import Basis, Operation, QueryClass
from pkadvisor.report.documents.arrangements import account_json, arranged_json, conflict_json
from pkadvisor.report.documents.evidence import with_evidence
from pkadvisor.report.documents.scheme_document import full_scheme, scheme_document
from pkadvisor.report.documents.values import Shown, figures, grounds_json, time_text, turning_of
from pkadvisor.report.words import gives_up, sampling_of, unknowns
from pkadvisor.table.odata import format_filter

SCHEMA_VERSION: Final = "1.0"
HOT_KEYS = 10


def dump_json(result: AnalysisDocument) -> bytes:
    """Canonical bytes: UTF-8, keys in the order of construction, two spaces, a final newline; a long series of numbers
    is one line."""
    text = json.dumps(to_builtins(result), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return _SERIES.sub(_one_line, text).encode("utf-8", "surrogatepass")


_SERIES = re.compile(r"\[\n\s+(?:-?[0-9.eE+-]+,\n\s+){7,}-?[0-9.eE+-]+\n\s*\]")
"""Eight numbers and more of one list; strings have no line breaks of their own in JSON."""


def _one_line(match: re.Match[str]) -> str:
    return re.sub(r"\n\s+", " ", match[0]).replace("[ ", "[").replace(" ]", "]")


def build_result(
    judged: Sequence[Judged],
    *,
    arranged: Sequence[Arranged],
    account: Sequence[AccountLoad],
    limits: Limits,
    traffic: Traffic | None,
    documents: Sequence[tuple[str, ProfileDocument]],
    design: str | None,
    redact: bool,
    top: int,
    files: Sequence[FileDigest] = (),
    settings: AnalysisSetting | None = None,
) -> AnalysisDocument:
    """The result of an analysis; a pure function of its arguments."""
    shown = Shown(redact)
    # Of a sampled log, a key's requests per second are scaled up by the share that it holds.
    covered_s = traffic.clock.covered_s * traffic.fraction if traffic is not None else 0.0
    tables = [_table(j, shown, top, covered_s, limits) for j in judged]
    # What turns the order of a kind's own schemes says nothing of the kinds together.
    shared = {(of.table, kind) for of in arranged for _, kinds in of.chosen.shared for kind in kinds}
    tables = [replace(table, flip=None) if (table.table, table.kind) in shared else table for table in tables]
    return AnalysisDocument(
        document="pkadvisor result",
        schema_version=SCHEMA_VERSION,
        tool=Tool(name="pkadvisor", version=__version__),
        outcome=_outcome(tables, arranged, account),
        redacted=redact,
        inputs=analysis_inputs.AnalysisInput(
            design=design,
            profiles=[name for name, _ in documents],
            logs=[]
            if traffic is None
            else [analysis_inputs.AnalysisInputLog(name=PurePath(n).name, format=f) for n, f in traffic.files],
            files=[part_of(analysis_inputs.AnalysisFile, file) for file in files],
        ),
        settings=settings,
        log=None if traffic is None else _log(traffic, judged, limits),
        tables=tables,
        arrangements=[arranged_json(a, limits, shown) for a in arranged],
        account=account_json(account, shown),
        limits=AnalysisLimit(store=limits.store, values=figures(limits.entries, AnalysisValue)),
    )


def _outcome(tables: Sequence[AnalysisTable], arranged: Sequence[Arranged], account: Sequence[AccountLoad]) -> Outcome:
    """What the exit code follows: the worst of the tables' verdicts, and what they break together."""
    verdicts = {table.verdict for table in tables}
    broken = any(a.chosen.broken() for a in arranged) or any(load.broken for load in account)
    if "unsatisfied" in verdicts or broken:
        return "constraint-unsatisfied"
    return "not-enough" if NOT_ENOUGH in verdicts else "done"


# -- the log -----------------------------------------------------------------------------------------------------------


def _log(traffic: Traffic, judged: Sequence[Judged], limits: Limits) -> analysis_inputs.AnalysisLog:
    clock = traffic.clock
    with_design = {j.section.table.lower() for j in judged if j.section.declared is not None}
    return part_of(
        analysis_inputs.AnalysisLog,
        traffic,
        requests_attempted=traffic.attempts,
        first=time_text(clock.first_us),
        last=time_text(clock.last_us),
        covered_s=number(clock.covered_s),
        clock_resolution_us=clock.resolution_us,
        missing_hours=clock.missing_hours,
        empty_minutes=clock.empty_minutes,
        skipped=[analysis_inputs.AnalysisSkipped(reason=r, lines=n) for r, n, _ in traffic.skipped],
        account=analysis_inputs.AnalysisLogAccount(
            mean_per_s=number(traffic.mean_per_s),
            peak_per_s=traffic.peak_per_s,
            peak_minute_per_s=number(traffic.peak_per_minute / 60),
            limit_per_s=number(limits.account_requests_per_s),
            peak_share=number(traffic.peak_per_s / limits.account_requests_per_s),
        ),
        tables=[
            analysis_inputs.AnalysisLogTable(
                table=t.name, share=number(t.share), designed=t.name.lower() in with_design
            )
            for t in traffic.tables
        ],
    )


def _heat_now(table: TableTraffic, covered_s: float, shown: Shown) -> analysis_inputs.AnalysisHeatInLog:
    """What the log itself says about the keys in place: who is asked for most."""

    def heavy(hitters: Any) -> analysis_inputs.AnalysisHeat:
        return analysis_inputs.AnalysisHeat(
            requests=hitters.requests,
            basis=word(hitters.basis),
            error_requests=hitters.error,
            top=[
                analysis_inputs.AnalysisTop(
                    partition_key=shown.key(k),
                    requests=n,
                    share=number(n / max(1, hitters.requests)),
                    requests_per_s=number(n / covered_s) if covered_s else None,
                )
                for k, n in hitters.keys[:HOT_KEYS]
            ],
        )

    return analysis_inputs.AnalysisHeatInLog(reads=heavy(table.reads), writes=heavy(table.writes))


# -- one table ---------------------------------------------------------------------------------------------------------


def _table(judged: Judged, shown: Shown, top: int, covered_s: float, limits: Limits) -> AnalysisTable:
    section = judged.section
    decoded = section.traffic is not None and judged.scheme is not None
    strange = strange_requests(judged.workload, section.data, section.entities) if decoded else ()
    warnings = (*strange, *judged.warnings)
    grounds = grounds_of(judged)
    weak = weakest(grounds)
    table = AnalysisTable(
        table=section.table,
        kind=section.kind,
        verdict=word(verdict_of(judged, grounds)),
        ranking_says=word(ranking_says(judged)),
        why_not=judged.why_not or (shown.message(weak.sentence) if weak else None),
        next=judged.give or (weak.next if weak else None),
        grounds=grounds_json(grounds, shown),
        data=_data(judged, shown),
        workload=_workload(judged),
        heat_in_log=None if section.traffic is None else _heat_now(section.traffic, covered_s, shown),
        recommended=None,
        current=None,
        alternatives=[],
        confidence=None,
        flip=None,
        examined=0,
        search=None,
        gives_up=[],
        conflicts=[conflict_json(c, limits, shown) for c in judged.conflicts],
        cannot_be_known=unknowns(judged),
        warnings=[shown.message(warning) for warning in warnings],
        notes=[shown.message(note) for note in judged.notes if note not in warnings],
        heat=None,
        why_no_heat=judged.why_not,
        skew=None,
        forecast=None,
        cost=None,
        sensitivity=None,
    )
    if judged.advice is None or judged.bench is None:
        return table
    table = with_evidence(table, judged, judged.bench, shown, covered_s)
    return _advised(table, judged, judged.advice, judged.bench, shown, top)


def _advised(
    table: AnalysisTable, judged: Judged, advice: Advice, bench: Bench, shown: Shown, top: int
) -> AnalysisTable:
    """The result of a table with its schemes, and how sure their order is."""
    population, best, looked = bench.population, advice.recommended, advice.search
    growth = judged.workload.growth
    named = {scheme.text for scheme in judged.named}
    current = None
    if advice.current is not None:
        mine = None if advice.keep else loss(advice.current, best)
        current = full_scheme(advice.current, population, shown, mine, growth=growth)
    return replace(
        table,
        recommended=full_scheme(best, population, shown, None, rank=1, growth=growth),
        current=current,
        alternatives=[
            scheme_document(c, shown, None if better(c, best) else loss(c, best), rank=rank, growth=growth)
            for rank, c in enumerate(judged.ranking(), 1)
            if rank > 1 and (rank <= top or c.scheme.text in named)
        ],
        confidence=_confidence(
            advice.confidence,
            carries=all(ground.carries for ground in table.grounds),
            whole=not population.taken_for_whole,
        ),
        flip=turning_of(judged),
        examined=advice.examined,
        search=part_of(AnalysisSearch, looked),
        gives_up=gives_up(best, judged),
        try_next=list(try_next(best, bench, shown.key)) or UNSET,
    )


def _confidence(confidence: Confidence | None, *, carries: bool, whole: bool) -> AnalysisConfidence | None:
    """In what share of resamples the recommended scheme is ahead of the next best. ``whole``: the design says that the
    rows are the whole table, or of how many entities they are a sample."""
    if confidence is None:
        return None
    return part_of(
        AnalysisConfidence,
        confidence,
        sure=confidence.share is not None
        and confidence.share >= SURE
        and confidence.assumed < LOAD_DECIDES
        and not confidence.doubted
        and carries
        and whole,
        assumed_share=number(confidence.assumed),
    )


def _data(judged: Judged, shown: Shown) -> analysis_inputs.AnalysisData | None:
    data = judged.section.data
    if data is None:
        return None
    population = judged.bench.population if judged.bench else None
    return analysis_inputs.AnalysisData(
        name=data.name,
        format=data.format,
        entities_read=data.rows,
        entities_total=population.total if population else data.rows,
        sampling=word(sampling_of(judged)),
        rows_at_hand=data.sample.height,
        unique_key_checked_over=judged.verified_rows,
        counted_over_all=_counted(judged) if judged.counted else UNSET,
        arrival=population.arrival if population else None,
        mean_property_bytes=number(judged.bench.property_bytes) if judged.bench else None,
        notes=[shown.message(n) for n in data.notes],
        properties=[
            part_of(
                analysis_inputs.AnalysisProperty,
                p.column,
                type=word(p.column.edm),
                types=[analysis_inputs.AnalysisType(type=word(e), values=n) for e, n in p.column.types]
                if p.column.mixed
                else [],
                distinct=number(min(round(p.distinct.estimate()), p.column.present)),
                distinct_basis=word(Basis.SKETCHED if p.distinct.relative_error else Basis.COUNTED),
                distinct_relative_error=number(p.distinct.relative_error),
            )
            for p in data.properties
        ],
    )


def _counted(judged: Judged) -> list[analysis_inputs.AnalysisFullCount]:
    """What the best keys make of every row, where schemes were tried on a sample."""
    return [
        part_of(
            analysis_inputs.AnalysisFullCount,
            facts,
            partition_key=format_template(key.partition),
            row_key=format_template(key.row),
            largest_partition=facts.largest,
            shared_keys=facts.surplus,
            basis=word(Basis.COUNTED),
        )
        for key, facts in judged.counted
    ]


def _window_by_rate(demand: Demand | None) -> analysis_inputs.AnalysisWindowByRate | None:
    """What a window of time holds by the declared inserts; None where it was counted as they say."""
    held = None if demand is None else demand.by_rate
    if held is None:
        return None
    return analysis_inputs.AnalysisWindowByRate(entities_returned=number(held.returned))


def _workload(judged: Judged) -> list[analysis_inputs.AnalysisQueryClass]:
    by_name = {d.query.name: d for d in judged.bench.demands} if judged.bench else {}
    return [
        part_of(
            analysis_inputs.AnalysisQueryClass,
            query,
            filter=None if query.filter is None else format_filter(query.filter, parameters=True),
            order_by=[f"{o.property} desc" if o.descending else o.property for o in query.order_by],
            rate_per_s=number(query.rate.mean_per_s),
            peak_per_s=number(query.rate.peak_per_s),
            rate_basis=word(query.rate.basis),
            parameters=word(query.draw.by),
            parameters_basis=word(by_name[query.name].draw_basis) if query.name in by_name else word(Basis.UNKNOWN),
            window_by_rate=_window_by_rate(by_name.get(query.name)),
            access_now=word(_access_now(query, judged)),
        )
        for query in judged.workload.classes
    ]


def _access_now(query: QueryClass, judged: Judged) -> str | None:
    """The access kind under the design in place, or under the keys as the log names them; no data is needed for it."""
    if query.operation in (Operation.INSERT, Operation.UPSERT) and query.filter is None:
        return None
    scheme = judged.scheme
    if scheme is None and judged.section.traffic is not None:
        scheme = KeyScheme(Key((Field("PartitionKey"),), (Field("RowKey"),)))
    if scheme is None:
        return None
    # The keys themselves sort as they stand.
    known = KeysThemselves() if judged.scheme is None else NOTHING_KNOWN
    plans = plan(query, conditions(query.filter), scheme, {}, known)
    if judged.bench is not None:
        population = judged.bench.population
        plans = plan(query, conditions(query.filter), scheme, population.types, population)
    return str(min((p.access for p in plans), key=lambda a: a.rank))

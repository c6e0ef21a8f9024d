"""Parts of the document of ``advisor analyze``: what is said of one table."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, UnsetType

from pkadvisor.documents.analysis_inputs import (
    AnalysisAmountOrNone,
    AnalysisBasis,
    AnalysisData,
    AnalysisGround,
    AnalysisHeatInLog,
    AnalysisQueryClass,
    AnalysisSentences,
    AnalysisShare,
    AnalysisTime,
)
from pkadvisor.documents.analysis_scheme import (
    AnalysisConstraint,
    AnalysisFullScheme,
    AnalysisKeys,
    AnalysisScheme,
    AnalysisTemplate,
    AnalysisViolation,
)
from pkadvisor.documents.part import Amount, Count, Part, Positive, Share, Words, said

KEYS_ALONE = "only the current keys hold "
"""How a sentence begins about values that would be lost with the current keys."""


class AnalysisConfidence(Part, frozen=True, kw_only=True):
    """``share``: Of resamples in which it stays ahead; 1 where everything was counted, null where nothing can be said.
    ``rows_needed``: Further rows that would tell; null where it is sure or rows do not help.
    ``assumed_share``: Of the load, what is asked for by entities that nobody named: a guess, with which nothing is
    sure.
    """

    share: Share | None
    basis: AnalysisBasis
    rival: str
    deciding_goal: str
    sure: bool
    rows_needed: Count | None
    rows_of: Literal["data", "log"]
    note: str
    assumed_share: AnalysisShare


class AnalysisFlip(Part, frozen=True, kw_only=True):
    """The smallest change of one rate that turns the order of two schemes, or that none does.

    ``turn``: flips: query at factor times its rate turns the order; dominated: no rates can, proof says why; none: no
    change of one rate by up to 1,000 times does; ahead: compared alone the lower one is the better already.
    ``rank``: The scheme that then is better than the first; a search at that rate may find a better one still.
    ``keys``: Its keys.
    ``factor``: Times today's rate, mean and peak together.
    ``rate_per_s``: The mean rate that turns it.
    ``goal``: The goal that then decides.
    """

    turn: Literal["flips", "dominated", "none", "ahead"]
    rank: Positive | None
    keys: AnalysisKeys | None = None
    query: str | None
    factor: AnalysisAmountOrNone
    rate_per_s: AnalysisAmountOrNone
    goal: str | None
    proof: AnalysisSentences
    rates_tried: Count


class AnalysisSearch(Part, frozen=True, kw_only=True):
    """``structures``: Main keys and index rows that were weighed.
    ``nodes``: Nodes of branch and bound; 0 where every set was looked at.
    ``gap``: How far the best set may lie below the one found, as a share of it; 0: proved, null: not known.
    """

    structures: Count
    nodes: Count
    gap: AnalysisAmountOrNone


class AnalysisRelaxed(Part, frozen=True, kw_only=True):
    """``missed_by``: What this scheme reaches at the peak of today, as times the limit that was dropped; null where
    that is no limit of a rate.
    """

    dropped: AnalysisConstraint
    missed_by: AnalysisAmountOrNone
    scheme: AnalysisKeys
    requests_per_s: Amount
    entities_per_s: Amount
    violations: list[AnalysisViolation]


class AnalysisConflict(Part, frozen=True, kw_only=True):
    constraints: Annotated[list[AnalysisConstraint], Meta(min_length=1)]
    relaxed: list[AnalysisRelaxed]


AnalysisDesignName = Annotated[
    Literal["current", "recommended"],
    said("The current keys, or the recommended ones; where they are the same there is only recommended."),
]


class AnalysisRow(Part, frozen=True, kw_only=True):
    """``from_key``: The first PartitionKey of the band in the sampled data.
    ``to_key``: The last one, included.
    ``partitions``: Of the band, in the sampled data.
    ``label``: What its keys have in common, and the first part in which they differ.
    ``template``: Of the PartitionKeys of the band.
    """

    from_key: str
    to_key: str
    partitions: Positive
    label: Words
    template: AnalysisTemplate


class AnalysisHottest(Part, frozen=True, kw_only=True):
    """``share``: Of all load of that minute."""

    key: str
    share: AnalysisShare
    per_mille: Count


class AnalysisPattern(Part, frozen=True, kw_only=True):
    """What a heat map shows: idle, even, skewed, hot-key (flat lines), burst (over all keys), append (one
    diagonal), fronts (several), moving (a hot spot that jumps).

    ``share``: Of the load, in the pattern.
    ``count``: Of fronts, hot keys or bursts; 0 where it has none.
    """

    name: Literal["idle", "even", "skewed", "hot-key", "burst", "append", "fronts", "moving"]
    sentence: Words
    share: AnalysisShare
    count: Count


class AnalysisDesign(Part, frozen=True, kw_only=True):
    """``rows``: Bands of neighbouring keys in their order, each PartitionKey template for itself; hot keys have a row
    of their own.
    ``per_mille``: For each row a number for each column: the load of the busiest partition at its worst moment, in
    thousandths of a partition's target.
    ``row_per_s``: Entities/s of each row, all its partitions, mean over the map.
    ``column_per_s``: Entities/s of the whole table in each column, mean.
    ``hottest``: The partition that takes most in its worst minute; null where none is loaded.
    ``inserts_pattern``: Of the inserts alone; null where there are none.
    """

    design: AnalysisDesignName
    rows: Annotated[list[AnalysisRow], Meta(max_length=96)]
    per_mille: list[list[Count]]
    row_per_s: list[Amount]
    column_per_s: list[Amount]
    hottest: AnalysisHottest | None
    pattern: AnalysisPattern
    inserts_pattern: AnalysisPattern | None


class AnalysisHeatMap(Part, frozen=True, kw_only=True):
    """``basis``: Of the rates over time.
    ``note``: What is counted and what is assumed.
    ``target_per_s``: A partition's target, which cells are thousandths of.
    ``step_s``: Seconds of a column; 0 where columns follow an order without a clock.
    ``start``: When the first column begins; null where the map shows a day or an order.
    """

    basis: AnalysisBasis
    note: Words
    unit: Literal["entities/s"]
    target_per_s: Amount
    step_s: Amount
    start: AnalysisTime
    columns: Annotated[int, Meta(ge=1, le=192)]
    designs: Annotated[list[AnalysisDesign], Meta(min_length=1, max_length=2)]


class AnalysisSkewDesignTop(Part, frozen=True, kw_only=True):
    """``share``: Of the load with every class at its peak.
    ``entities_per_s_peak``: In its worst minute.
    ``grows_with_rows_per_s``: The part of it that grows with the rows of the key: what scans read.
    ``rows``: Of the partition in the whole table.
    """

    key: str
    share: AnalysisShare
    entities_per_s_peak: Amount
    grows_with_rows_per_s: Amount
    rows: Amount


class AnalysisRowsPerPartition(Part, frozen=True, kw_only=True):
    p50: Amount
    p99: Amount
    largest: Amount
    basis: AnalysisBasis


class AnalysisSkewDesign(Part, frozen=True, kw_only=True):
    """``lorenz``: Share of the partitions, the least loaded first, and the share of the load on them, with every class
    at its peak.
    ``gini``: 0: even, 1: all on one partition.
    ``partitions``: Of the main key in the whole table.
    ``partitions_at_hand``: That were compared, those of index rows included.
    ``rows_per_partition``: Of the main key.
    """

    design: AnalysisDesignName
    lorenz: Annotated[list[Annotated[list[AnalysisShare], Meta(min_length=2, max_length=2)]], Meta(max_length=64)]
    gini: AnalysisShare
    partitions: Count
    partitions_at_hand: Count
    top: Annotated[list[AnalysisSkewDesignTop], Meta(max_length=20)]
    rows_per_partition: AnalysisRowsPerPartition


class AnalysisSkew(Part, frozen=True, kw_only=True):
    designs: list[AnalysisSkewDesign]


class AnalysisPoint(Part, frozen=True, kw_only=True):
    """``partition``: The hottest partition, in times of its target.
    ``low``: Lower end of its interval, where it was estimated from a sample.
    ``worst``: Whatever is nearest its limit, or farthest above, in times of it.
    ``cause``: What that is.
    ``entities``: Of the table; null where growth is only assumed.
    ``bytes``: Stored, index rows included.
    """

    at: Amount
    partition: Amount
    low: AnalysisAmountOrNone
    high: AnalysisAmountOrNone
    worst: Amount
    cause: str | None
    entities: AnalysisAmountOrNone
    bytes: AnalysisAmountOrNone


class AnalysisForecastDesign(Part, frozen=True, kw_only=True):
    """``crosses_at``: When the first limit is passed, in the unit of at; null where it is not passed after the growth
    asked for.
    ``break_factor``: Growth at which it is; null where none ever is.
    """

    design: AnalysisDesignName
    points: list[AnalysisPoint]
    crosses_at: AnalysisAmountOrNone
    break_factor: AnalysisAmountOrNone
    cause: str


class AnalysisForecast(Part, frozen=True, kw_only=True):
    """``unit``: Of at: months from now, or times today's.
    ``basis``: Of the growth.
    ``horizon_factor``: Growth that a design must survive.
    ``headroom_share``: The share of a limit above which there is no room for growth.
    """

    unit: Literal["months", "factor"]
    basis: AnalysisBasis
    growth_of: Literal["new_keys", "rate", "rows_per_key"]
    factor_per_month: AnalysisAmountOrNone
    horizon_months: AnalysisAmountOrNone
    horizon_factor: Amount
    headroom_share: AnalysisShare
    note: Words
    designs: list[AnalysisForecastDesign]


class AnalysisPrice(Part, frozen=True, kw_only=True):
    name: str
    value: Amount
    unit: str
    basis: AnalysisBasis
    date: str
    source: str


class AnalysisClass(Part, frozen=True, kw_only=True):
    name: str
    kind: Literal["writes", "reads", "scans"]
    requests_per_s: Amount
    price: Amount


class AnalysisCostDesign(Part, frozen=True, kw_only=True):
    """``writes``: With what they must find first.
    ``reads``: By key or by a range of one partition.
    ``scans``: Of whole partitions, of several, or of the table.
    ``expiry``: Finding and deleting what is too old.
    """

    design: AnalysisDesignName
    storage: Amount
    writes: Amount
    reads: Amount
    scans: Amount
    expiry: Amount
    total: Amount
    classes: list[AnalysisClass]


class AnalysisCost(Part, frozen=True, kw_only=True):
    currency: str
    per: Literal["month"]
    prices: list[AnalysisPrice]
    designs: list[AnalysisCostDesign]


class AnalysisGrid(Part, frozen=True, kw_only=True):
    """``times_limit``: The worst load, in times of its limit."""

    word: Literal["keeps", "over head-room", "over target"]
    times_limit: Amount
    cause: str | None


class AnalysisBar(Part, frozen=True, kw_only=True):
    name: str
    unit: str
    basis: AnalysisBasis
    value: Amount
    half: AnalysisAmountOrNone
    twice: AnalysisAmountOrNone


class AnalysisBreakEven(Part, frozen=True, kw_only=True):
    of: Literal["new_keys", "rate", "rows_per_key"]
    factor: AnalysisAmountOrNone


class AnalysisSensitivityDesign(Part, frozen=True, kw_only=True):
    """``bars``: The break factor with one number half and twice as large, the widest first; null where nothing binds
    then.
    ``unmoved``: Numbers that do not move the break factor.
    ``break_even``: Each kind of growth that ever passes a limit, with the factor at which it does.
    """

    design: AnalysisDesignName
    grid: list[list[AnalysisGrid]]
    break_factor: AnalysisAmountOrNone
    bars: list[AnalysisBar]
    unmoved: list[str]
    break_even: list[AnalysisBreakEven]


class AnalysisSensitivity(Part, frozen=True, kw_only=True):
    """``loads``: Rows of the grid: today's rates, times.
    ``growths``: Columns of the grid: growth as a factor; 1 is today.
    """

    growth_of: Literal["new_keys", "rate", "rows_per_key"]
    loads: list[Amount]
    growths: list[Amount]
    designs: list[AnalysisSensitivityDesign]


class AnalysisTable(Part, frozen=True, kw_only=True):
    """``kind``: The entity kind, where a table holds several.
    ``verdict``: keep or change the current keys; choose: there are no current keys; unsatisfied: no scheme holds every
    constraint, the nearest one is shown; not_enough: what was given does not carry advice, why_not says why and next
    what to give (recommended is what would be first if the inputs were right, null where keys cannot be judged);
    heat_only: a log without data shows who is asked for.
    ``ranking_says``: The verdict if all that was given is right: that of the ranking alone; null where keys cannot be
    judged.
    ``next``: Where there is no advice: the one thing to give next.
    ``grounds``: What the verdict rests on; empty where keys cannot be judged.
    ``current``: The current keys, judged like the others.
    ``alternatives``: The next best schemes, best first.
    ``confidence``: How sure it is that the recommended scheme is ahead of the next best; null where there is no other.
    ``flip``: What would put the next best scheme before the recommended one; null where there is none.
    ``examined``: Schemes that were priced.
    ``search``: How far the search for index rows went; null where no key was searched for.
    ``conflicts``: Where no scheme holds every constraint: the fewest that none of them holds together, and the best
    scheme without each.
    ``warnings``: What puts the whole answer in doubt, such as keys of a log that were read as values that the data does
    not have.
    ``heat``: Load over keys and time, of the current keys and of the recommended ones; null where it cannot be known,
    why_no_heat says why.
    ``skew``: How unevenly the load lies on the partitions; null where no load is known.
    ``cost``: What a month costs, by what it is paid for.
    ``sensitivity``: What more load, other growth and other assumptions do to a design.
    ``try_next``: Where one value is too much for a server under the recommended keys: what to try, with figures of
    priced schemes.
    """

    table: str
    kind: str | None
    verdict: Literal["keep", "change", "choose", "unsatisfied", "not_enough", "heat_only"]
    ranking_says: Literal["keep", "change", "choose", "unsatisfied", None]
    why_not: str | None
    next: str | None
    grounds: list[AnalysisGround]
    data: AnalysisData | None
    workload: list[AnalysisQueryClass]
    heat_in_log: AnalysisHeatInLog | None
    recommended: AnalysisFullScheme | None
    current: AnalysisFullScheme | None
    alternatives: list[AnalysisScheme]
    confidence: AnalysisConfidence | None
    flip: AnalysisFlip | None
    examined: Count
    search: AnalysisSearch | None
    gives_up: AnalysisSentences
    conflicts: list[AnalysisConflict]
    cannot_be_known: AnalysisSentences
    warnings: AnalysisSentences | UnsetType = UNSET
    notes: AnalysisSentences
    heat: AnalysisHeatMap | None
    why_no_heat: str | None
    skew: AnalysisSkew | None
    forecast: AnalysisForecast | None
    cost: AnalysisCost | None
    sensitivity: AnalysisSensitivity | None
    try_next: AnalysisSentences | UnsetType = UNSET


RULES: Final[tuple[tuple[str, tuple[str, ...], dict[str, str], dict[str, str]], ...]] = (
    (
        *("verdict", ("not_enough", "heat_only"), {"why_not": "string", "next": "string"}),
        {"why_not": "null", "next": "null", "recommended": "object"},
    ),
    ("verdict", ("heat_only",), {"recommended": "null"}, {}),
    ("ranking_says", ("keep", "change"), {"current": "object"}, {}),
)
"""A member, some of its values, the JSON types of other members where it has one of them, and where it has none."""


def _properties(types: dict[str, str]) -> dict[str, Any]:
    return {"properties": {name: {"type": type_} for name, type_ in types.items()}}


CONDITIONS: dict[str, Any] = {
    "allOf": [
        {"if": {"properties": {member: {"enum": [*values]} if values[1:] else {"const": values[0]}}}}
        | {"then": _properties(then)}
        | ({"else": _properties(otherwise)} if otherwise else {})
        for member, values, then, otherwise in RULES
    ]
}
"""The same in JSON Schema."""

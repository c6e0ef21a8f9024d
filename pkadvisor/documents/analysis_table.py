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
from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisScheme, AnalysisTemplate, AnalysisViolation
from pkadvisor.documents.part import Amount, Count, Part, Positive, Share, Words, said

KEYS_ALONE = "only the current keys hold "
"""How a sentence begins about values that would be lost with the current keys."""


class AnalysisConfidence(Part, frozen=True, kw_only=True):
    share: Annotated[
        Share | None,
        said("Of resamples in which it stays ahead; 1 where everything was counted, null where nothing can be said."),
    ]
    basis: AnalysisBasis
    rival: str
    deciding_goal: str
    sure: bool
    rows_needed: Annotated[
        Count | None, said("Further rows that would tell; null where it is sure or rows do not help.")
    ]
    rows_of: Literal["data", "log"]
    note: str
    assumed_share: Annotated[
        AnalysisShare,
        said("Of the load, what is asked for by entities that nobody named: a guess, with which nothing is sure."),
    ]


class AnalysisFlip(Part, frozen=True, kw_only=True):
    """The smallest change of one rate that turns the order of two schemes, or that none does."""

    turn: Annotated[
        Literal["flips", "dominated", "none", "ahead"],
        said(
            "flips: query at factor times its rate turns the order; dominated: no rates can, proof says "
            "why; none: no change of one rate by up to 1,000 times does; ahead: compared alone the lower "
            "one is the better already."
        ),
    ]
    rank: Annotated[
        Positive | None,
        said("The scheme that then is better than the first; a search at that rate may find a better one still."),
    ]
    keys: Annotated[AnalysisKeys | None, said("Its keys.")] = None
    query: str | None
    factor: Annotated[AnalysisAmountOrNone, said("Times today's rate, mean and peak together.")]
    rate_per_s: Annotated[AnalysisAmountOrNone, said("The mean rate that turns it.")]
    goal: Annotated[str | None, said("The goal that then decides.")]
    proof: AnalysisSentences
    rates_tried: Count


class AnalysisSearch(Part, frozen=True, kw_only=True):
    structures: Annotated[Count, said("Main keys and index rows that were weighed.")]
    nodes: Annotated[Count, said("Nodes of branch and bound; 0 where every set was looked at.")]
    gap: Annotated[
        AnalysisAmountOrNone,
        said("How far the best set may lie below the one found, as a share of it; 0: proved, null: not known."),
    ]


class AnalysisConstraint(Part, frozen=True, kw_only=True):
    code: Annotated[str, Meta(pattern=r"^[a-z][a-z-]*$")]
    subject: Annotated[str | None, said("Which of several: the name of a transaction or a budget.")]
    sentence: Words


class AnalysisKeyIndexRow(Part, frozen=True, kw_only=True):
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    copy: Literal["full", "pointer"]


class AnalysisKeys(Part, frozen=True, kw_only=True):
    kind: str | UnsetType = UNSET
    partition_key: AnalysisTemplate
    row_key: AnalysisTemplate
    index_rows: list[AnalysisKeyIndexRow]


class AnalysisRelaxed(Part, frozen=True, kw_only=True):
    dropped: AnalysisConstraint
    missed_by: Annotated[
        AnalysisAmountOrNone,
        said(
            "What this scheme reaches at the peak of today, as times the limit that was dropped; null "
            "where that is no limit of a rate."
        ),
    ]
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
    from_key: Annotated[str, said("The first PartitionKey of the band in the sampled data.")]
    to_key: Annotated[str, said("The last one, included.")]
    partitions: Annotated[Positive, said("Of the band, in the sampled data.")]
    label: Annotated[Words, said("What its keys have in common, and the first part in which they differ.")]
    template: Annotated[AnalysisTemplate, said("Of the PartitionKeys of the band.")]


class AnalysisHottest(Part, frozen=True, kw_only=True):
    key: str
    share: Annotated[AnalysisShare, said("Of all load of that minute.")]
    per_mille: Count


class AnalysisPattern(Part, frozen=True, kw_only=True):
    """What a heat map shows: idle, even, skewed, hot-key (flat lines), burst (over all keys), append (one
    diagonal), fronts (several), moving (a hot spot that jumps).
    """

    name: Literal["idle", "even", "skewed", "hot-key", "burst", "append", "fronts", "moving"]
    sentence: Words
    share: Annotated[AnalysisShare, said("Of the load, in the pattern.")]
    count: Annotated[Count, said("Of fronts, hot keys or bursts; 0 where it has none.")]


class AnalysisDesign(Part, frozen=True, kw_only=True):
    design: AnalysisDesignName
    rows: Annotated[
        Annotated[list[AnalysisRow], Meta(max_length=96)],
        said(
            "Bands of neighbouring keys in their order, each PartitionKey template for itself; hot keys "
            "have a row of their own."
        ),
    ]
    per_mille: Annotated[
        list[list[Count]],
        said(
            "For each row a number for each column: the load of the busiest partition at its worst "
            "moment, in thousandths of a partition's target."
        ),
    ]
    row_per_s: Annotated[list[Amount], said("Entities/s of each row, all its partitions, mean over the map.")]
    column_per_s: Annotated[list[Amount], said("Entities/s of the whole table in each column, mean.")]
    hottest: Annotated[
        AnalysisHottest | None, said("The partition that takes most in its worst minute; null where none is loaded.")
    ]
    pattern: AnalysisPattern
    inserts_pattern: Annotated[AnalysisPattern | None, said("Of the inserts alone; null where there are none.")]


class AnalysisHeatMap(Part, frozen=True, kw_only=True):
    basis: Annotated[AnalysisBasis, said("Of the rates over time.")]
    note: Annotated[Words, said("What is counted and what is assumed.")]
    unit: Literal["entities/s"]
    target_per_s: Annotated[Amount, said("A partition's target, which cells are thousandths of.")]
    step_s: Annotated[Amount, said("Seconds of a column; 0 where columns follow an order without a clock.")]
    start: Annotated[AnalysisTime, said("When the first column begins; null where the map shows a day or an order.")]
    columns: Annotated[int, Meta(ge=1, le=192)]
    designs: Annotated[list[AnalysisDesign], Meta(min_length=1, max_length=2)]


class AnalysisSkewDesignTop(Part, frozen=True, kw_only=True):
    key: str
    share: Annotated[AnalysisShare, said("Of the load with every class at its peak.")]
    entities_per_s_peak: Annotated[Amount, said("In its worst minute.")]
    grows_with_rows_per_s: Annotated[
        Amount, said("The part of it that grows with the rows of the key: what scans read.")
    ]
    rows: Annotated[Amount, said("Of the partition in the whole table.")]


class AnalysisRowsPerPartition(Part, frozen=True, kw_only=True):
    p50: Amount
    p99: Amount
    largest: Amount
    basis: AnalysisBasis


class AnalysisSkewDesign(Part, frozen=True, kw_only=True):
    design: AnalysisDesignName
    lorenz: Annotated[
        Annotated[list[Annotated[list[AnalysisShare], Meta(min_length=2, max_length=2)]], Meta(max_length=64)],
        said(
            "Share of the partitions, the least loaded first, and the share of the load on them, with "
            "every class at its peak."
        ),
    ]
    gini: Annotated[AnalysisShare, said("0: even, 1: all on one partition.")]
    partitions: Annotated[Count, said("Of the main key in the whole table.")]
    partitions_at_hand: Annotated[Count, said("That were compared, those of index rows included.")]
    top: Annotated[list[AnalysisSkewDesignTop], Meta(max_length=20)]
    rows_per_partition: Annotated[AnalysisRowsPerPartition, said("Of the main key.")]


class AnalysisSkew(Part, frozen=True, kw_only=True):
    designs: list[AnalysisSkewDesign]


class AnalysisPoint(Part, frozen=True, kw_only=True):
    at: Amount
    partition: Annotated[Amount, said("The hottest partition, in times of its target.")]
    low: Annotated[AnalysisAmountOrNone, said("Lower end of its interval, where it was estimated from a sample.")]
    high: AnalysisAmountOrNone
    worst: Annotated[Amount, said("Whatever is nearest its limit, or farthest above, in times of it.")]
    cause: Annotated[str | None, said("What that is.")]
    entities: Annotated[AnalysisAmountOrNone, said("Of the table; null where growth is only assumed.")]
    bytes: Annotated[AnalysisAmountOrNone, said("Stored, index rows included.")]


class AnalysisForecastDesign(Part, frozen=True, kw_only=True):
    design: AnalysisDesignName
    points: list[AnalysisPoint]
    crosses_at: Annotated[
        AnalysisAmountOrNone,
        said(
            "When the first limit is passed, in the unit of at; null where it is not passed after the growth asked for."
        ),
    ]
    break_factor: Annotated[AnalysisAmountOrNone, said("Growth at which it is; null where none ever is.")]
    cause: str


class AnalysisForecast(Part, frozen=True, kw_only=True):
    unit: Annotated[Literal["months", "factor"], said("Of at: months from now, or times today's.")]
    basis: Annotated[AnalysisBasis, said("Of the growth.")]
    growth_of: Literal["new_keys", "rate", "rows_per_key"]
    factor_per_month: AnalysisAmountOrNone
    horizon_months: AnalysisAmountOrNone
    horizon_factor: Annotated[Amount, said("Growth that a design must survive.")]
    headroom_share: Annotated[AnalysisShare, said("The share of a limit above which there is no room for growth.")]
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
    design: AnalysisDesignName
    storage: Amount
    writes: Annotated[Amount, said("With what they must find first.")]
    reads: Annotated[Amount, said("By key or by a range of one partition.")]
    scans: Annotated[Amount, said("Of whole partitions, of several, or of the table.")]
    expiry: Annotated[Amount, said("Finding and deleting what is too old.")]
    total: Amount
    classes: list[AnalysisClass]


class AnalysisCost(Part, frozen=True, kw_only=True):
    currency: str
    per: Literal["month"]
    prices: list[AnalysisPrice]
    designs: list[AnalysisCostDesign]


class AnalysisGrid(Part, frozen=True, kw_only=True):
    word: Literal["keeps", "over head-room", "over target"]
    times_limit: Annotated[Amount, said("The worst load, in times of its limit.")]
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
    design: AnalysisDesignName
    grid: list[list[AnalysisGrid]]
    break_factor: AnalysisAmountOrNone
    bars: Annotated[
        list[AnalysisBar],
        said(
            "The break factor with one number half and twice as large, the widest first; null where nothing binds then."
        ),
    ]
    unmoved: Annotated[list[str], said("Numbers that do not move the break factor.")]
    break_even: Annotated[
        list[AnalysisBreakEven], said("Each kind of growth that ever passes a limit, with the factor at which it does.")
    ]


class AnalysisSensitivity(Part, frozen=True, kw_only=True):
    growth_of: Literal["new_keys", "rate", "rows_per_key"]
    loads: Annotated[list[Amount], said("Rows of the grid: today's rates, times.")]
    growths: Annotated[list[Amount], said("Columns of the grid: growth as a factor; 1 is today.")]
    designs: list[AnalysisSensitivityDesign]


class AnalysisTable(Part, frozen=True, kw_only=True):
    table: str
    kind: Annotated[str | None, said("The entity kind, where a table holds several.")]
    verdict: Annotated[
        Literal["keep", "change", "choose", "unsatisfied", "not_enough", "heat_only"],
        said(
            "keep or change the current keys; choose: there are no current keys; unsatisfied: no scheme "
            "holds every constraint, the nearest one is shown; not_enough: what was given does not carry "
            "advice, why_not says why and next what to give (recommended is what would be first if the "
            "inputs were right, null where keys cannot be judged); heat_only: a log without data shows "
            "who is asked for."
        ),
    ]
    ranking_says: Annotated[
        Literal["keep", "change", "choose", "unsatisfied", None],
        said(
            "The verdict if all that was given is right: that of the ranking alone; null where keys cannot be judged."
        ),
    ]
    why_not: str | None
    next: Annotated[str | None, said("Where there is no advice: the one thing to give next.")]
    grounds: Annotated[list[AnalysisGround], said("What the verdict rests on; empty where keys cannot be judged.")]
    data: AnalysisData | None
    workload: list[AnalysisQueryClass]
    heat_in_log: AnalysisHeatInLog | None
    recommended: AnalysisFullScheme | None
    current: Annotated[AnalysisFullScheme | None, said("The current keys, judged like the others.")]
    alternatives: Annotated[list[AnalysisScheme], said("The next best schemes, best first.")]
    confidence: Annotated[
        AnalysisConfidence | None,
        said("How sure it is that the recommended scheme is ahead of the next best; null where there is no other."),
    ]
    flip: Annotated[
        AnalysisFlip | None,
        said("What would put the next best scheme before the recommended one; null where there is none."),
    ]
    examined: Annotated[Count, said("Schemes that were priced.")]
    search: Annotated[
        AnalysisSearch | None, said("How far the search for index rows went; null where no key was searched for.")
    ]
    gives_up: AnalysisSentences
    conflicts: Annotated[
        list[AnalysisConflict],
        said(
            "Where no scheme holds every constraint: the fewest that none of them holds together, and the"
            " best scheme without each."
        ),
    ]
    cannot_be_known: AnalysisSentences
    warnings: Annotated[
        AnalysisSentences | UnsetType,
        said(
            "What puts the whole answer in doubt, such as keys of a log that were read as values that the"
            " data does not have."
        ),
    ] = UNSET
    notes: AnalysisSentences
    heat: Annotated[
        AnalysisHeatMap | None,
        said(
            "Load over keys and time, of the current keys and of the recommended ones; null where it "
            "cannot be known, why_no_heat says why."
        ),
    ]
    why_no_heat: str | None
    skew: Annotated[
        AnalysisSkew | None, said("How unevenly the load lies on the partitions; null where no load is known.")
    ]
    forecast: AnalysisForecast | None
    cost: Annotated[AnalysisCost | None, said("What a month costs, by what it is paid for.")]
    sensitivity: Annotated[
        AnalysisSensitivity | None, said("What more load, other growth and other assumptions do to a design.")
    ]
    try_next: Annotated[
        AnalysisSentences | UnsetType,
        said(
            "Where one value is too much for a server under the recommended keys: what to try, with "
            "figures of priced schemes."
        ),
    ] = UNSET


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

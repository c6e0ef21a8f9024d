"""Sets of index rows: their summed costs are those of whole estimates, and the answers beat one row at a time."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import pytest

from pkadvisor.cli.inputs import load_sample, sample_names
from pkadvisor.design.choice.bench_of_section import bench_for
from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.choice import enumerated
from pkadvisor.design.choice.finer_keys import VALUES_PER_BUCKET, poorly_served, refine
from pkadvisor.design.choice.goals import best_of, better
from pkadvisor.design.choice.index_candidates import index_rows, refine_rows, with_index_rows
from pkadvisor.design.choice.key_building import KeyGround, separator_for
from pkadvisor.design.choice.row_sets import propose, row_instance, rows_beside
from pkadvisor.design.choice.search import advise, worth_extending
from pkadvisor.design.choice.sections import observed
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.design.keys.transforms import Hash
from pkadvisor.design.load.estimates import BREAK_ENOUGH, Bench, CostEstimate
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.rows.population import Population
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Operation
from pkadvisor.progress import SilentProgress
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query
from tests.tiers import sizes

TYPES = {"shop": EdmType.STRING, "no": EdmType.INT32, "customer": EdmType.INT32, "state": EdmType.STRING}


def orders(rows: int = 600) -> Population:
    return population_of(
        {
            "shop": [f"s{n % 5}" for n in range(rows)],
            "no": list(range(rows)),
            "customer": [n * 7 % 97 for n in range(rows)],
            "state": [("open", "paid", "sent")[n % 3] for n in range(rows)],
        },
        TYPES,
        arrival="file_order",
    )


def bench() -> Bench:
    return bench_of(
        orders(),
        query("by-no", "shop eq {shop} and no eq {no}", rate=50),
        query("by-customer", "customer eq {customer}", rate=30),
        query("in-state", "shop eq {shop} and state eq {state}", rate=5, order=["no"], top=20),
        query("put", None, rate=20, operation=Operation.INSERT),
        query("pay", "shop eq {shop} and no eq {no}", rate=10, operation=Operation.UPDATE, sets=["state"]),
    )


def test_the_cost_of_a_set_is_the_sum_of_its_parts() -> None:
    """Requests and entities of every set of up to two rows, against an estimate of the whole."""
    ground = KeyGround(bench())
    found = estimate(KeyScheme(parse_key("{shop}", "NO:{pad(no,4)}")), ground.bench)
    rows = rows_beside(found, ground)
    instance, names = row_instance(found, rows, ground.bench)
    assert len(names) >= 4
    by_name = {name: row for row, name in names.items()}
    compared = 0
    for worth, chosen in enumerated(instance):
        beside = tuple(by_name[n] for n in chosen.structures if n in by_name)
        if len({row.key for row in beside}) < len(beside) or len(beside) > 2:
            continue  # a full copy and a pointer under one key overwrite each other
        whole = estimate(with_index_rows(found.scheme, beside), ground.bench)
        if beside and any(c.plan.access is Access.TABLE_SCAN for c in whole.classes if c.plan):
            continue  # a scan of the table reads every index row beside the entities
        assert worth.requests_per_s == pytest.approx(whole.requests_per_s, rel=0.02), whole.scheme.text
        assert worth.entities_per_s == pytest.approx(whole.entities_per_s, rel=0.02), whole.scheme.text
        assert worth.storage_bytes == pytest.approx(whole.bytes_per_entity, rel=0.1), whole.scheme.text
        assert worth.eventual == sum(not found.scheme.same_partition(row) for row in beside)
        compared += 1
    assert compared >= 6


def test_the_rows_for_two_classes_are_proposed_together() -> None:
    ground = KeyGround(bench())
    found = estimate(KeyScheme(parse_key("{shop}", "{pad(no,4)}")), ground.bench)
    proposed = propose(found, ground)
    served = {
        name
        for rows in proposed.sets
        for c in estimate(with_index_rows(found.scheme, rows), ground.bench).classes
        for name in [c.name]
        if c.plan is not None and c.plan.via and len(rows) == 2
    }
    assert served >= {"by-customer", "in-state"}
    assert proposed.gap == 0
    assert all(0 < len(rows) <= 3 for rows in proposed.sets)


def one_at_a_time(found: CostEstimate, ground: KeyGround) -> list[CostEstimate]:
    """Rows added one by one, each the best step: what a search over sets must not fall behind."""
    demands = {d.query.name: d for d in ground.bench.demands}
    rows: tuple[IndexRow, ...] = ()
    best, seen = found, []
    for _ in range(3):
        options = [
            estimate(with_index_rows(found.scheme, (*rows, row)), ground.bench)
            for name in poorly_served(best, ground)[:3]
            for row in index_rows(found.scheme.main, demands[name], ground)
            if row not in rows and row.key != found.scheme.main
        ]
        seen += options
        if not options:
            break
        step = best_of(options)
        if poorly_served(step, ground) == poorly_served(best, ground) and step.entities_per_s >= best.entities_per_s:
            break
        best, rows = step, step.scheme.index_rows
    return seen


def without_idle_rows(pool: list[CostEstimate]) -> list[CostEstimate]:
    return [c for c in pool if {p.plan.via for p in c.classes if p.plan} >= set(range(1, len(c.scheme.index_rows) + 1))]


MORE = (("footrace", "design-bib-only.yaml"), ("sensors", "design-12000.yaml"))
CASES = tuple((name, None) for name in sample_names())
SHORT = (("documents", None),)


@pytest.mark.parametrize(("name", "design"), sizes(SHORT, (*CASES, *MORE), "proofs"))
def test_no_sample_gets_a_worse_design_than_one_row_at_a_time_would_give(name: str, design: str | None) -> None:
    sample = load_sample(name)
    path = sample.design
    if design is not None:
        assert path is not None
        path = path.replace("design.yaml", design)
    for section, _ in read_sections(AnalyzeRequest(data=sample.data, logs=sample.logs, design=path), SilentProgress()):
        workload, current, _ = observed(section)
        on, _ = bench_for(section, workload, default_limits())
        ground = KeyGround(on, separator_for(on))
        mains = [estimate(s, on) for s in main_keys(ground)]
        mains += [estimate(s, on) for found in list(mains) for s in refine(found, ground)]
        extended = [c for found in worth_extending(mains, ground) for c in one_at_a_time(found, ground)]
        greedy = best_of(without_idle_rows([*mains, *extended]))
        advice = advise(on, current)
        best = next(c for c in advice.ranking if c is not advice.current or not advice.keep)
        assert best.scheme.text == greedy.scheme.text or better(best, greedy), greedy.scheme.text


@pytest.mark.long("proofs")
def test_as_many_rows_as_the_classes_need() -> None:
    """Eight pairs of properties, each asked for at a rate that a scan of the table does not survive."""
    count, rows = 8, 1_500
    columns = {f"p{i}": [(n * (2 * i + 7) + i) % (11 + 5 * i) for n in range(rows)] for i in range(count)}
    columns["id"] = list(range(rows))
    pairs = [(f"p{i}", f"p{(i + 1) % count}") for i in range(count)]
    asked = [query(f"{a}-{b}", f"{a} eq {{{a}}} and {b} eq {{{b}}}", rate=30) for a, b in pairs]
    population = population_of(columns, dict.fromkeys(columns, EdmType.INT32))
    advice = advise(bench_of(population, *asked, query("put", None, rate=1, operation=Operation.INSERT)), None)
    best = advice.recommended
    assert best.feasible
    assert 3 < len(best.scheme.index_rows) <= count
    assert all(c.entities_read <= 2 * max(1.0, c.entities_returned) for c in best.classes if c.plan)
    assert advice.search.gap <= 0.02


RUNNERS = 1_000


def runners() -> Population:
    """Seven of ten runners come from one country."""
    return population_of(
        {
            "bib": list(range(RUNNERS)),
            "country": ["USA" if n % 10 < 7 else f"C{n % 97}" for n in range(RUNNERS)],
            "club": [f"k{n % 30}" for n in range(RUNNERS)],
        },
        {"bib": EdmType.INT32, "country": EdmType.STRING, "club": EdmType.STRING},
    )


LISTS_PER_S = 10


def lists_of_countries() -> Bench:
    return bench_of(
        runners(),
        query("runner", "bib eq {bib}", rate=900),
        query("list", "country eq {country}", rate=LISTS_PER_S),
    )


def test_a_hot_index_row_gets_buckets() -> None:
    """By hand: 0.7 × 10 lists/s of 700 rows each are 4,900 entities/s on one partition, of 2,000."""
    on = lists_of_countries()
    ground, target = KeyGround(on), on.limits.partition_entities_per_s
    plain = KeyScheme(parse_key("{pad(bib,3)}", ""), (IndexRow(parse_key("COUNTRY:{country}", "{club}_{pad(bib,3)}")),))
    hot = estimate(plain, on)
    assert hot.hot is not None
    assert hot.hot.entities_per_s == pytest.approx(0.7 * LISTS_PER_S * 0.7 * RUNNERS)
    assert {v.code for v in hot.violations} == {"hot-partition"}
    finer = list(refine_rows(hot, ground))
    count = math.ceil(hot.hot.entities_per_s * on.horizon_factor / (target * on.limits.headroom_warn_share))
    # 30 clubs are too few for so many buckets of them.
    assert 30 < 4 * count < RUNNERS
    ample, planned = (
        math.ceil(hot.hot.entities_per_s * factor / (target * on.limits.headroom_warn_share))
        for factor in (BREAK_ENOUGH, on.room_factor)
    )
    assert [str(s.index_rows[0].key) for s in finer] == [
        f"COUNTRY:{{country}}_{{hash(bib,{buckets})}} | {{club}}_{{pad(bib,3)}}"
        for buckets in (count, ample, planned + 1)  # the fullest of few buckets has more than its share
    ]
    assert finer[0].main == plain.main
    spread = estimate(finer[0], on)
    assert spread.feasible
    assert spread.hot is not None
    assert spread.hot.entities_per_s * on.horizon_factor <= target
    assert list(refine_rows(spread, ground)) == []


def test_an_index_row_in_buckets_competes() -> None:
    advice = advise(lists_of_countries(), None)
    assert advice.recommended.feasible
    beside = [
        part
        for found in advice.ranking
        for row in found.scheme.index_rows
        for part in row.key.partition
        if found.feasible and isinstance(part, Hash)
    ]
    assert beside


@pytest.mark.parametrize("row", [("BIB:{pad(bib,3)}", ""), ("{country}", "CLUB:{club}_{pad(bib,3)}")])
def test_a_hot_main_key_is_left_to_its_own_buckets(row: tuple[str, str]) -> None:
    on = lists_of_countries()
    scheme = KeyScheme(parse_key("{country}", "BIB:{pad(bib,3)}"), (IndexRow(parse_key(*row)),))
    found = estimate(scheme, on)
    assert max(found.violations, key=lambda v: v.severity).code == "hot-partition"
    assert list(refine_rows(found, KeyGround(on))) == []


def test_an_index_row_that_appends_leads_with_buckets() -> None:
    """3,000 inserts/s in the order of their times: one range of the row's partitions takes them all."""
    rows = 2_000
    population = population_of(
        {
            "at": [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=n) for n in range(rows)],
            "id": [n * 7919 % rows for n in range(rows)],
        },
        {"at": EdmType.DATETIME, "id": EdmType.INT32},
        arrival="at",
    )
    on = bench_of(
        population,
        query("put", None, rate=3_000, operation=Operation.INSERT),
        query("get", "id eq {id}", rate=10),
        query("then", "at eq {at}", rate=10),
    )
    scheme = KeyScheme(parse_key("{pad(id,4)}", ""), (IndexRow(parse_key("AT:{ticks(at)}", "{pad(id,4)}")),))
    found = estimate(scheme, on)
    assert {v.code for v in found.violations} == {"append-only"}
    finer = [estimate(s, on) for s in refine_rows(found, KeyGround(on))]
    assert finer
    assert str(finer[0].scheme.index_rows[0].key).startswith("{hash(id,")
    assert all(c.feasible for c in finer)


@pytest.mark.parametrize(("teams", "bucketed_by"), [(31, "bib"), (RUNNERS, "team")])
def test_a_bucket_holds_several_values(teams: int, bucketed_by: str) -> None:
    """A property of few values gives way: a hash of 31 days is the day, whatever the count."""
    population = population_of(
        {
            "event": ["race"] * RUNNERS,
            "team": [n % teams for n in range(RUNNERS)],
            "bib": list(range(RUNNERS)),
        },
        {"event": EdmType.STRING, "team": EdmType.INT32, "bib": EdmType.INT32},
    )
    on = bench_of(
        population,
        query("all", "event eq {event}", rate=20),
        query("team", "event eq {event} and team eq {team}", rate=0.01),
    )
    found = estimate(KeyScheme(parse_key("{event}", "{pad(team,4)}_{pad(bib,4)}")), on)
    hashed = [p for s in refine(found, KeyGround(on)) for p in s.main.partition if isinstance(p, Hash)]
    assert hashed
    assert hashed[0].source == bucketed_by
    assert all(VALUES_PER_BUCKET * p.count <= population.distinct([("p", str(p.source))]) for p in hashed)


@pytest.mark.parametrize("place", ["{account}", "ACCOUNT:{account}"])
def test_two_rows_for_the_same_property_are_told_apart_by_their_labels(place: str) -> None:
    """Rows that a request cannot tell apart are all read, and a design with both would lose to one with either."""
    main = KeyScheme(parse_key("{account}" if place == "{account}" else "{pad(n,3)}", "{pad(n,3)}"))
    ends = ("AT:{ticks(at)}", "AT:{amount}") if place == "{account}" else ("{ticks(at)}", "{pad(amount,4)}")
    rows = tuple(IndexRow(parse_key(place, end), "full") for end in (*ends, ends[0]))
    made = with_index_rows(main, rows).index_rows
    labels = [str((row.key.row if place == "{account}" else row.key.partition)[0]) for row in made]
    assert labels == (["AT:", "AT2:", "AT3:"] if place == "{account}" else ["ACCOUNT:", "ACCOUNT2:", "ACCOUNT3:"])

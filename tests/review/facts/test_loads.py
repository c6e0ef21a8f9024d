"""Loads and growth: what is known of a design without data, and that a higher rate is never judged more mildly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.limits import default_limits
from pkadvisor.observe.design_file.read_declaration import load_declaration
from pkadvisor.observe.workload import Rate
from pkadvisor.progress import SilentProgress
from pkadvisor.review.facts import FactBook
from pkadvisor.review.rules.evaluate import number_text
from pkadvisor.review.rules.rule import load_rules
from pkadvisor.review.views.findings import Finding, Severity
from pkadvisor.review.views.key_loads import together
from pkadvisor.review.views.subjects import Scope, subjects_of_design
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review import review
from pkadvisor.usecases.review.opening import open_design
from pkadvisor.usecases.review.request import ReviewRequest
from tests.review.support import findings
from tests.tiers import sizes

NOWHERE = Path()
RULES = {rule.id: rule for rule in load_rules()}
LIMITS = default_limits()


def opened(text: str) -> DesignView:
    return open_design("schema/design.yaml", text, LIMITS)


def fact(text: str, name: str, subject: str = "") -> object:
    """A fact of the first subject of its scope, or of the one of that name; None where it is not known."""
    view = opened(text)
    scope = Scope(name.split(".")[0])
    found = next(s for s in subjects_of_design(view) if s.scope is scope and (not subject or s.name == subject))
    known = FactBook(LIMITS).known(name, found)
    return None if known is None else known.value


def of_rule(rule: str, text: str, folder: Path = NOWHERE, *, data: str = "") -> list[Finding]:
    return findings(text, folder, data=data, rules=(RULES[rule],))


def table(partition_key: str, *lines: str, row_key: str = "{id}") -> str:
    body = "\n".join(f"    {line}" for line in lines)
    return f'schema: 1\ntables:\n  Things:\n    partition_key: "{partition_key}"\n    row_key: "{row_key}"\n{body}\n'


def inserting(partition_key: str, per_s: float, *lines: str) -> str:
    return table(partition_key, *lines, "writes:", f"  - {{name: put, operation: insert, rate: {per_s:.6f}/s}}")


# -- keys that follow the clock ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "fronts"),
    [
        ("{time(at,'yyyyMMddHH')}", 1.0),
        ("x_{reverse_ticks(at)}", 1.0),
        ("{prefix(ticks(at),8)}", 1.0),
        ("{at}", 1.0),
        ("{seq(5)}", 1.0),
        ("{hash(id,16)}_{time(at,'yyyyMMddHH')}", 16.0),
        ("{flag}_{hash(id,4)}_{ticks(at)}", 8.0),
        ("{hash_prefix(id,1)}{ticks(at)}", 16.0),
        ("{time(at,'yyyyMMddHHmm')}_{hash(id,16)}", 1.0),
        ("{time(at,'yyyyMM')}_{ticks(at)}_{hash(id,16)}", 1.0),  # what stands behind the ticks divides nothing
        ("{time(at,'yyyyMM')}_{hash(id,16)}", None),  # split apart within the month
        ("{time(at,'yyyyMM')}_{time(at,'yyyyMMddHH')}_{tenant}", None),
        ("{tenant}_{time(at,'yyyyMMdd')}", None),  # as many as there are tenants at work: unknown
        ("{time(at,'ssmmHHddMMyyyy')}", None),  # comes round every minute
        ("{time(birthDate,'yyyyMM')}", None),
        ("{hash(at,16)}", None),
        ("{number}", None),
        ("{tenant}", None),
        ("constant", None),
    ],
)
def test_write_fronts_without_data(key: str, fronts: float | None) -> None:
    text = table(key, "properties: {at: datetime, birthDate: datetime, flag: boolean, number: int64, tenant: string}")
    assert fact(text, "key.write_fronts") == fronts


def test_the_declared_arrival_tells_which_time_or_number_rises() -> None:
    types = "properties: {at: datetime, changed: datetime, number: int64}"
    assert fact(table("{time(changed,'yyyyMMdd')}", types), "key.append_only") is True
    assert fact(table("{time(changed,'yyyyMMdd')}", types, "arrival: at"), "key.append_only") is False
    assert fact(table("{pad(number,9)}", types, "arrival: number"), "key.append_only") is True
    assert fact(table("{pad(number,9)}", types, "arrival: at"), "key.append_only") is False


def test_data_shows_that_numbers_count_up(tmp_path: Path) -> None:
    text = inserting("{code}", 3000, "properties: {at: datetime, code: string, id: string}", "arrival: at")
    at = [f"2026-01-01T{i // 60:02d}:{i % 60:02d}:00Z" for i in range(400)]
    counted = "at,code,id\n" + "\n".join(f"{at[i]},n{i:05d},{i}" for i in range(400))
    spread = "at,code,id\n" + "\n".join(f"{at[i]},n{i * 177 % 401:05d},{i}" for i in range(400))
    (found,) = of_rule("PK101", text, tmp_path, data=counted)
    assert (found.severity, found.measured) == (Severity.ERROR, 3000.0)
    assert not of_rule("PK101", text, tmp_path, data=spread)


def test_rows_of_one_partition_template_are_added_up() -> None:
    text = inserting("{time(at,'yyyyMMddHH')}", 900, "index_rows:", '  - {row_key: "by-name_{name}_{id}"}')
    (found,) = of_rule("PK101", text)
    assert (found.measured, found.severity) == (1800.0, Severity.WARNING)
    assert "partition_key" in found.path


def test_an_index_row_with_the_same_partition_key_written_out_is_told_once() -> None:
    rows = ("index_rows:", "  - {partition_key: \"{time(at,'yyyyMMddHH')}\", row_key: '{name}_{id}'}")
    assert len(of_rule("PK101", inserting("{time(at,'yyyyMMddHH')}", 900, *rows))) == 1


MOVES = (
    "properties: {group: {type: string, distinct: 1}, state: string, id: guid}",
    "entities_total: 100",
    "index_rows: [{partition_key: '{state}', row_key: '{id}'}]",
    "writes:",
    "  - {name: move, operation: update, key: [group, state, id], sets: [%s], rate: 10/s,",
    "     draw: {by: distinct, of: [group]}}",
)


@pytest.mark.parametrize(
    ("row_key", "sets", "rows", "drawn", "requests"),
    [
        ("{state}_{id}", "state", 40.0, 20.0, 30.0),  # deleted and inserted, in one partition; the index row in two
        ("{id}", "state", 30.0, 10.0, 30.0),  # only the index row moves
        ("{id}", "note", 20.0, 10.0, 20.0),
        ("{id}", "group", 30.0, 10.0, 30.0),  # half of it in another partition
    ],
)
def test_a_row_that_an_update_moves_is_deleted_and_inserted(
    row_key: str, sets: str, rows: float, drawn: float, requests: float
) -> None:
    text = table("{group}", *MOVES, row_key=row_key) % sets
    assert fact(text, "table.least_load_entities_per_s") == rows
    assert fact(text, "table.drawn_partition_share") == pytest.approx(drawn / LIMITS.partition_entities_per_s)
    assert fact(text, "design.requests_per_s") == requests


@pytest.mark.parametrize(
    ("declared", "requests"), [("", 256), ("entities_total: 4_500", 5), ("entities_total: 900_000", 4)]
)
def test_a_query_of_all_buckets_sends_no_more_requests_than_values_fill_or_a_scan_takes(
    declared: str, requests: int
) -> None:
    distinct = ", distinct: 4" if "900" in declared else ""
    own = f"properties: {{id: {{type: string{distinct}}}, state: string}}"
    query = "queries: [{name: all, filter: \"state eq 'open'\", rate: 1/s}]"
    text = table("{hash(id,256)}", own, *filter(None, [declared]), query, row_key="{state}_{id}")
    assert fact(text, "design.requests_per_s") == requests


def test_kinds_share_a_constant_partition() -> None:
    text = table(
        "all",
        "kinds: {One: {properties: {id: string}}, Two: {properties: {id: string}}}",
        "writes:",
        "  - {name: one, kind: One, operation: insert, rate: 900/s}",
        "  - {name: two, kind: Two, operation: insert, rate: 900/s}",
    )
    (found,) = of_rule("PK102", text)
    assert (found.measured, found.severity) == (1800.0, Severity.WARNING)


def test_kinds_that_append_share_the_end_of_the_keys() -> None:
    kinds = "kinds: {One: {properties: {at: datetime}}, Two: {properties: {at: datetime}}}"
    writes = [f"  - {{name: {k}, kind: {k}, operation: insert, rate: 1/s, peak: 900/s}}" for k in ("One", "Two")]
    (found,) = of_rule("PK101", table("{ticks(at)}", kinds, "writes:", *writes))
    assert (found.measured, found.severity) == (1800.0, Severity.WARNING)
    hours = [w[:-1] + f", peak_at: '{i}0:00-{i}1:00'}}" for i, w in enumerate(writes)]
    (apart,) = of_rule("PK101", table("{ticks(at)}", kinds, "writes:", *hours))
    assert (apart.measured, apart.severity) == (901.0, Severity.INFO)


# -- loads ------------------------------------------------------------------------------------------------------------

HOURS = st.tuples(st.integers(0, 1439), st.integers(0, 1439)).filter(lambda w: w[0] != w[1])


@given(st.lists(st.tuples(st.floats(0.01, 10), st.floats(1, 9), st.one_of(st.none(), HOURS)), min_size=1, max_size=6))
def test_the_peak_of_a_day_is_that_of_its_worst_minute(
    drawn: list[tuple[float, float, tuple[int, int] | None]],
) -> None:
    items = [(Rate(mean, mean * factor, peak_at=window), mean * factor) for mean, factor, window in drawn]

    def at(minute: int) -> float:
        total = 0.0
        for rate, value in items:
            start, stop = rate.peak_at or (0, 0)
            inside = start <= minute < stop if start < stop else minute >= start or minute < stop
            total += value if rate.peak_at is None or inside else rate.mean_per_s
        return total

    assert together(items) == pytest.approx(max(at(m) for m in range(1440)))


def _rank(rule: str, text: str, folder: Path = NOWHERE, data: str = "") -> int:
    """3 for an error, 2 for a warning, 1 for an info, 0 for silence; the worst of them."""
    return max((3 - f.severity.rank for f in of_rule(rule, text, folder, data=data)), default=0)


KEYS = st.sampled_from(
    ["{time(at,'yyyyMMddHH')}", "{hash(id,3)}_{ticks(at)}", "orders", "{hash(id,4)}", "{flag}", "{tenant}", "{seq(9)}"]
)


@pytest.mark.parametrize("rule", ["PK101", "PK102", "PK105", "PK107", "PK110"])
@given(key=KEYS, rate=st.floats(0.01, 40_000), factor=st.floats(1, 50))
def test_a_higher_rate_is_never_judged_more_mildly(rule: str, key: str, rate: float, factor: float) -> None:
    types = "properties: {at: datetime, flag: boolean}"
    low, high = (_rank(rule, inserting(key, r, types)) for r in (rate, rate * factor))
    assert low <= high


DATA = "tenant,id\n" + "\n".join(f"{'a' if i % 3 else 'b'},{i}" for i in range(30))


@pytest.mark.parametrize("factor", sizes([1.5], [1.2, 1.5, 4.0], "proofs"))
@pytest.mark.parametrize("rate", [100.0, 1900.0, 2350.0, 2900.0, 5000.0])
def test_a_higher_measured_load_is_never_judged_more_mildly(rate: float, factor: float, tmp_path: Path) -> None:
    def worst(per_s: float) -> int:
        query = f"  - {{name: one, filter: \"tenant eq '{{tenant}}' and id eq {{id}}\", rate: {per_s}/s}}"
        text = table("{tenant}", "queries:", query)
        return max(_rank(rule, text, tmp_path, DATA) for rule in ("PK103", "PK104"))

    assert worst(rate) <= worst(rate * factor)


def test_a_profile_or_data_set_with_twice_the_top_share_fails_where_the_old_one_passed(tmp_path: Path) -> None:
    query = "  - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 4000/s}"
    text = table("{tenant}", "queries:", query)
    even = "tenant,id\n" + "\n".join(f"t{i % 4},{i}" for i in range(40))
    skewed = "tenant,id\n" + "\n".join(f"t{0 if i < 24 else i % 4},{i}" for i in range(40))
    assert not of_rule("PK103", text, tmp_path, data=even)
    (found,) = of_rule("PK103", text, tmp_path, data=skewed)
    assert found.severity is Severity.ERROR
    assert found.measured is not None and found.measured > 2000
    assert [s.name for s in found.facts if s.from_data] == ["table.hottest_partition_key"]


def test_a_key_that_a_profile_hides_is_not_quoted(tmp_path: Path) -> None:
    query = "  - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 9000/s}"
    design, data, profile = tmp_path / "design.yaml", tmp_path / "things.csv", tmp_path / "profile.json"
    design.write_text(table("{tenant}", "queries:", query), encoding="utf-8")
    data.write_text(DATA, encoding="utf-8")
    told = [sys.executable, "-m", "pkadvisor", "profile", str(data), "--design", str(design), "--out", str(profile)]
    subprocess.run(told, check=True, capture_output=True)
    request = ReviewRequest((str(design),), profiles=(str(profile),), select=("PK103",))
    (found,) = review(request, SilentProgress()).designs[0].findings
    assert "the hottest partition takes 6,000 entities/s" in found.message


def test_only_one_rule_tells_of_a_hot_partition_that_one_entity_makes_hot(tmp_path: Path) -> None:
    text = table("{page}", "queries:", "  - {name: one, filter: \"page eq '{page}'\", rate: 9000/s}", row_key="")
    data = "page\nhome\nnews"
    assert len(of_rule("PK109", text, tmp_path, data=data)) == 1
    assert not of_rule("PK103", text, tmp_path, data=data)


_READ = "filter: \"shop eq '{shop}' and id eq '{id}'\""
_DRAWN = "draw: {zipf: 1.2, of: [shop]}"


@pytest.mark.parametrize("name", sorted(
    {"key.load_entities_per_s", "table.least_load_entities_per_s", "table.drawn_partition_share",
     "table.named_partition_share", "design.requests_per_s", "table.hottest_entity_share"}
))  # fmt: skip
@pytest.mark.parametrize("partition_key", ["shop", "{shop}"])
@pytest.mark.parametrize("constants", [False, True])
def test_a_read_modify_write_loads_as_much_as_a_read_and_a_write(
    name: str, partition_key: str, constants: bool
) -> None:
    write = f"name: change, operation: update, {_READ}, sets: [stock], {_DRAWN}, rate: 1500/s"
    more = ("properties: {shop: string, id: string, stock: int32}", "entities_total: 400")
    apart = ("queries:", f"  - {{name: one, {_READ}, {_DRAWN}, rate: 1500/s}}", "writes:", f"  - {{{write}}}")
    one = ("writes:", f"  - {{{write}, read_modify_write: true}}")
    texts = [table(partition_key, *more, *classes) for classes in (apart, one)]
    if constants:
        texts = [t.replace("eq '{shop}'", "eq 'a'").replace("eq '{id}'", "eq 'b'") for t in texts]
    assert fact(texts[0], name) == fact(texts[1], name)


# -- growth -----------------------------------------------------------------------------------------------------------


@given(rate=st.floats(1, 1900), percent=st.integers(1, 40), months=st.integers(1, 36))
def test_months_until_the_target_follow_from_the_declared_growth(rate: float, percent: int, months: int) -> None:
    growth = f"growth: {{rate: {percent} %/month, horizon: {months} months}}"
    text = inserting("{ticks(at)}", rate, growth)
    found = fact(text, "table.months_to_break")
    after = rate * (1 + percent / 100) ** months
    if found is None:
        assert after <= 2000 * 1.0001
    else:
        assert isinstance(found, float)
        assert rate * (1 + percent / 100) ** found == pytest.approx(2000)
        assert found <= months


def test_nothing_outgrows_anything_without_a_declared_growth(tmp_path: Path) -> None:
    assert not of_rule("PK501", inserting("{ticks(at)}", 1990))
    query = "  - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 2900/s}"
    assert not of_rule("PK501", table("{tenant}", "queries:", query), tmp_path, data=DATA)


@pytest.mark.parametrize(
    ("key", "row", "more", "how"),
    [
        ("{tenant}_{time(at,'yyyyMM')}", "{id}", (), "tables"),
        ("{tenant}", "{ticks(at)}", (), "ranges"),
        ("{tenant}", "{id}", (), "scan"),
        ("{tenant}", "{id}", ("queries:", "  - {name: one, filter: \"at gt datetime'{at}'\", rate: 1/s}"), "tables"),
        ("{tenant}", "{id}", ("queries:", "  - {name: one, filter: \"id eq '{id}'\", rate: 1/s}"), "scan"),
    ],
)
def test_how_expired_rows_can_go(key: str, row: str, more: tuple[str, ...], how: str) -> None:
    lines = ("properties: {at: datetime, id: string}", "retention: 90 days", *(more or ("queries:", ANY)))
    assert fact(table(key, *lines, row_key=row), "table.expiry") == how


ANY = "  - {name: one, filter: \"tenant eq '{tenant}'\", rate: 1/s}"


# -- what is declared, and what is not imported ---------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["none", "fixed", "exponential"])
def test_a_retry_policy_is_declared(policy: str) -> None:
    declaration = load_declaration("design.yaml", table("{id}", f"retry: {policy}"))
    assert declaration.tables[0].retry == policy
    assert fact(table("{id}", f"retry: {policy}"), "table.retry") == policy
    assert fact(table("{id}"), "table.retry") is None


def test_facts_of_loads_need_no_data_frames_without_data() -> None:
    code = (
        "import sys; from pkadvisor.limits import default_limits; from pkadvisor.review.rules.rule import load_rules;"
        "from pkadvisor.review.rules.evaluate import evaluate;"
        "from pkadvisor.usecases.review.opening import open_design;"
        "view = open_design('d.yaml', sys.stdin.read(), default_limits());"
        "print([f.rule for e in evaluate(load_rules(), view) for f in e.findings],"
        " [m for m in ('polars', 'numpy', 'scipy') if m in sys.modules])"
    )
    text = inserting("{ticks(at)}", 1990, "retention: 90 days", "growth: {rate: 5 %/month}")
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert "PK101" in done.stdout
    assert done.stdout.rstrip().endswith("[]")


@pytest.mark.parametrize("per_s", [3000.0, 3300.0, 3900.0, 4100.0, 4400.0])
def test_a_partition_near_its_hottest_entity_is_not_lost_between_two_rules(per_s: float, tmp_path: Path) -> None:
    share = 0.46  # of the entity; its partition takes half of the load
    rest = f"  - {{name: part, filter: \"page eq '{{page}}' and id eq {{id}}\", rate: {per_s}/s, draw: {{weight: w}}}}"
    data = "page,id,w\nhome,1,46\nhome,2,4\nnews,3,46\nnews,4,4"
    text = table("{page}", "queries:", rest)
    partition, entity = per_s / 2 / 2000, per_s * share / 2000
    worst = max(_rank(rule, text, tmp_path, data) for rule in ("PK103", "PK104", "PK109"))
    highest = max(partition, entity)
    assert worst == (3 if highest > 1 else 2 if highest > 0.8 else 0)


def test_shares_of_thousands_are_written_out() -> None:
    assert [number_text(n, "share") for n in (0.801, 9.994, 17.2, 1234.5)] == [
        "80.1 %",
        "999 %",
        "1,720 %",
        "123,450 %",
    ]

"""What a comparison says of numbers and of queries: which side is better, and when nobody can tell."""

from __future__ import annotations

from typing import Any

import pytest

from pkadvisor.design.plan.access_plan import Access
from pkadvisor.documents.review import ReviewDiff, ReviewMetric
from pkadvisor.report import review_words as words
from pkadvisor.review.gate.changes import Metric
from pkadvisor.review.views.reads import QueryRead, direction
from tests.review.documents import metric, typed
from tests.review.gate_support import DESIGN, TEXT, Folder
from tests.review.test_against import HALF, OLD, diff, numbers, statuses

SERIES = """\
schema: 1
tables:
  Readings:
    partition_key: "{dev}"
    row_key: "{reverse_ticks(ts)}"
    properties: {dev: string, ts: datetime, v: double}
    queries:
      - {name: latest, filter: "dev eq '{dev}'", order_by: [ts desc], top: 50, rate: 120/s}
      - {name: month, filter: "dev eq '{dev}' and ts ge datetime'{ts-30d}' and ts le datetime'{ts}'", rate: 10/s}
      - {name: all, filter: "dev eq '{dev}'", rate: 10/s}
"""
BY_HOUR = SERIES.replace('"{dev}"\n', "\"{time(ts,'yyyyMMddHH')}\"\n").replace('"{reverse', '"{dev}_{reverse')
UNBOUND = QueryRead(Access.ROW_RANGE, None, periods=True, back=True)
SCAN = QueryRead(Access.TABLE_SCAN, None)
FIRST = QueryRead(Access.PARTITION_SCAN, 1.0, in_order=True)


def measured(before: float, after: float, **more: Any) -> dict[str, Any]:
    """A metric in milliseconds as the document has it."""
    made = Metric("Orders", None, "worst p99", "ms", before, after, more.pop("limit", None))
    return metric("worst p99", before, after, unit="ms", limit=made.limit) | {
        "change": made.change,
        "direction": made.direction,
    }


# -- numbers -----------------------------------------------------------------------------------------------------------


def test_a_hotter_partition_is_worse_and_a_cooler_one_better(folder: Folder) -> None:
    folder.write("orders.csv", "tenant,id\n" + "".join(f"{'a' if i < 50 else f't{i}'},{i}\n" for i in range(100)))
    loaded = HALF + "      - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 300/s}\n"
    folder.write(OLD, loaded.replace("'{tenant}'\n", "'{tenant}_{hash(id,16)}'\n"))
    folder.write(DESIGN, loaded)
    asked: dict[str, Any] = {"data": ("orders.csv",), "select": ("PK8",)}
    for designs, told, sign in (((DESIGN, OLD), "worse", "+"), ((OLD, DESIGN), "better", "-")):
        found = diff(folder.review(designs[0], against=designs[1], **asked))
        for name in ("peak partition load", "hottest partition"):
            assert numbers(found["metrics"])[name][2] == told, (name, designs)
        (share,) = [m for m in found["metrics"] if m["name"] == "hottest partition"]
        assert words.metric_change(typed(share, ReviewMetric)) == f"{sign}{100 * abs(share['change']):.3g} points"


def told(number: dict[str, Any]) -> tuple[str, str]:
    value = typed(number, ReviewMetric)
    return words.metric_change(value), words.metric_verdict(value)


def test_above_a_minute_no_change_is_told() -> None:
    both = measured(70_000.0, 900_000.0, limit=500.0)
    assert (both["change"], both["direction"]) == (None, "unknown")
    assert told(both) == (
        "",
        "above a minute as before",
    )
    better = measured(70_000.0, 948.0, limit=100_000.0)
    assert told(better) == (
        "",
        "better",
    )
    worse = measured(948.0, 70_000.0, limit=65_000.0)
    assert told(worse) == (
        "",
        "worse",
    )
    slower = measured(100.0, 948.0, limit=500.0)
    assert told(slower) == (
        "+848 ms",
        "worse, over 500 ms",
    )


# -- queries -----------------------------------------------------------------------------------------------------------


def test_the_first_rows_of_a_partition_lose_against_none_over_periods(folder: Folder) -> None:
    folder.write(OLD, SERIES)
    folder.write(DESIGN, BY_HOUR)
    document = folder.review(against=OLD)
    found = {q["name"]: q for q in diff(document)["queries"]}
    latest, month, everything = (found[name] for name in ("latest", "month", "all"))
    assert (latest["requests_before"], latest["requests_after"], latest["direction"]) == (1.0, None, "worse")
    assert latest["read_before"] == "one partition in order, 1 request"
    assert latest["read_after"] == "table scan", "hour after hour back, for what may be silent for long, has no end"
    assert (month["requests_before"], month["requests_after"], month["direction"]) == (1.0, 721.0, "worse")
    assert month["access_before"] == month["access_after"], "the access alone does not tell"
    assert everything["direction"] == "worse"
    assert [q.name for q in words.moved_queries(typed(diff(document), ReviewDiff))] == ["latest", "month", "all"]
    told = numbers(diff(document)["metrics"])
    assert told["largest fan-out"] == (1.0, 721.0, "worse")
    assert told["partition and table scans"] == (1.0, 2.0, "worse"), "one became a table scan, and one is new"
    back = diff(folder.review(OLD, against=DESIGN))
    assert {q["direction"] for q in back["queries"]} == {"better"}
    folder.write(DESIGN, BY_HOUR.replace("yyyyMMddHH", "yyyyMM"))
    by_month = diff(folder.review(against=OLD))
    (latest,) = (q for q in by_month["queries"] if q["name"] == "latest")
    assert latest["read_after"] == "row range in each period, from the newest back"
    assert (latest["requests_after"], latest["direction"]) == (None, "worse")
    assert numbers(by_month["metrics"])["walks without bound"] == (0.0, 1.0, "worse")


def test_a_range_of_constants_counts_its_periods(folder: Folder) -> None:
    days = SERIES.replace("'{ts-30d}'", "'2026-01-01T00:00:00Z'").replace(
        "datetime'{ts}'", "datetime'2026-01-03T00:00:00Z'"
    )
    folder.write(OLD, days)
    folder.write(DESIGN, days.replace('"{dev}"\n', "\"{dev}_{time(ts,'yyyyMMddHH')}\"\n"))
    found = {q["name"]: q for q in diff(folder.review(against=OLD))["queries"]}
    assert found["month"]["requests_after"] == 48.0


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (FIRST, UNBOUND, "worse"),
        (FIRST, QueryRead(Access.PARTITION_SCAN, 1.0), "worse"),
        (FIRST, QueryRead(Access.ROW_RANGE, 1.0), "same"),
        (QueryRead(Access.PARTITION_SCAN, 1.0), UNBOUND, "unknown"),
        (QueryRead(Access.PARTITION_SCAN, 1.0), QueryRead(Access.ROW_RANGE, 1.0), "better"),
        (QueryRead(Access.PARTITION_SCAN, 1.0), QueryRead(Access.ROW_RANGE, 16.0), "unknown"),
        (QueryRead(Access.ROW_RANGE, 16.0), QueryRead(Access.ROW_RANGE, 1.0), "better"),
        (QueryRead(Access.ROW_RANGE, 16.0), QueryRead(Access.PARTITION_SCAN, 16.0), "worse"),
        (SCAN, UNBOUND, "better"),
        (SCAN, QueryRead(Access.ROW_RANGE, 721.0), "better"),
        (SCAN, SCAN, "same"),
        (None, SCAN, "unknown"),
    ],
)
def test_which_way_is_better(before: QueryRead | None, after: QueryRead | None, told: str) -> None:
    assert direction(before, after) == told
    turned = {"worse": "better", "better": "worse"}.get(told, told)
    assert direction(after, before) == turned


def test_no_rule_speaks_where_nobody_can_tell(folder: Folder) -> None:
    """From 16 buckets to one whole partition: fewer requests, and more rows for each."""
    text = TEXT.replace("'{status}'\"", "'{status}' and tenantId eq '{tenantId}'\"")
    folder.write(
        OLD,
        text.replace('"{tenantId}"\n', '"{tenantId}_{hash(orderId,16)}"\n').replace(
            '"{orderId}"', '"{status}_{orderId}"'
        ),
    )
    folder.write(DESIGN, text)
    document = folder.review(against=OLD)
    (query,) = [q for q in diff(document)["queries"] if q["name"] == "by-status"]
    assert (query["read_before"], query["direction"]) == ("row range, 16 requests", "unknown")
    assert "PK803 by-status" not in statuses(document)


# -- findings ----------------------------------------------------------------------------------------------------------

KEYED = TEXT.replace("status eq '{status}'", "tenantId eq '{tenantId}' and status eq '{status}'")
"""by-status reads a whole partition: PK202."""
ACCESS = ("PK2", "PK8")


def test_a_query_that_reads_too_much_in_another_way_is_not_fixed(folder: Folder) -> None:
    folder.write(OLD, KEYED)
    folder.write(DESIGN, KEYED.replace('"{tenantId}"\n', '"{region}"\n'))
    document = folder.review(against=OLD, select=ACCESS)
    assert statuses(document)["PK201 by-status"] == "new"
    assert diff(document)["fixed"] == []
    back = folder.review(OLD, against=DESIGN, select=ACCESS)
    assert "PK201 by-status" in [f"{f['rule']} {f['subject']['name']}" for f in diff(back)["fixed"]]


def test_one_query_that_got_worse_is_one_finding(folder: Folder) -> None:
    folder.write(OLD, KEYED)
    folder.write(DESIGN, KEYED.replace('"{tenantId}"\n', '"{region}"\n'))
    found = [f for d in folder.review(against=OLD, select=ACCESS)["designs"] for f in d["findings"]]
    told = [(f["rule"], f["subject"]["name"]) for f in found if f["subject"]["scope"] == "query"]
    assert sorted(told) == [("PK201", "by-status"), ("PK802", "one")]
    alone = [f for d in folder.review(against=OLD, select=("PK8",))["designs"] for f in d["findings"]]
    assert ("PK803", "by-status") in [(f["rule"], f["subject"]["name"]) for f in alone], "nobody else tells it"


def test_findings_about_a_filter_stand_at_the_filter(folder: Folder) -> None:
    text = TEXT[: TEXT.index("      - {name: by")] + (
        '      - name: by-status  # pkadvisor: ignore[PK803] reason="weekly"\n'
        "        filter: \"status eq '{status}'\"\n        rate: 1/m\n"
    )
    folder.write(OLD, text.replace("status eq '{status}'", "tenantId eq '{tenantId}'"))
    folder.write(DESIGN, text)
    found = {f["rule"]: f for d in folder.review(against=OLD, select=ACCESS)["designs"] for f in d["findings"]}
    assert {found[r]["place"]["line"] for r in ("PK201", "PK803")} == {
        text[: text.index('filter: "status')].count("\n") + 1
    }
    assert found["PK803"]["suppressed"] is not None, "a comment on the line of the query is about its filter too"
    assert "once a minute" in found["PK803"]["message"]


def test_what_is_not_told_is_not_counted(folder: Folder) -> None:
    folder.write(OLD, KEYED)
    folder.write(DESIGN, TEXT.rstrip("\n") + '  # pkadvisor: ignore[ACME002, PK803] reason="weekly"\n')
    document = folder.review(against=OLD)
    assert set(statuses(document).values()) == {"new"}, "all of them are suppressed"
    assert (document["summary"]["new"], document["summary"]["suppressed"]) == (0, 2)
    assert diff(document)["counts"]["new"] == 0
    assert words.compared(typed(document)) == "0 new, 0 worse, 0 unchanged, 0 fixed"

"""Findings about queries: the cause is told, once, and filters that name the keys are judged as they are sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.limits import default_limits
from pkadvisor.review.rules.rule import load_rules
from pkadvisor.review.views.findings import Finding
from pkadvisor.usecases.review.opening import open_design
from tests.review.support import findings

RULES = tuple(rule for rule in load_rules() if rule.id.startswith("PK2"))
SCAN_FAMILY = {"PK201", "PK202", "PK204", "PK208", "PK209", "PK211", "PK214", "PK215", "PK216"}


def design(filter_text: str, *, more: str = "", keys: tuple[str, str] = ("{app}", "{id}"), table: str = "") -> str:
    return f"""
schema: 1
tables:
  Logs:
    partition_key: "{keys[0]}"
    row_key: "{keys[1]}"
{table}
    queries:
      - {{name: q, filter: "{filter_text}", rate: 1/s{more}}}
"""


def found(text: str, folder: Path, data: str = "") -> list[Finding]:
    return findings(text, folder, data=data, rules=RULES)


def ids(text: str, folder: Path, data: str = "") -> set[str]:
    return {f.rule for f in found(text, folder, data)} & SCAN_FAMILY


BY_CAUSE = [
    ("PartitionKey eq 'A' or PartitionKey eq 'T'", "PK204"),
    ("PartitionKey eq 'A' and RowKey eq '1' or PartitionKey eq 'T' and RowKey eq '2'", "PK204"),
    ("(PartitionKey ge 'A' and PartitionKey lt 'B') or (PartitionKey ge 'K' and PartitionKey lt 'L')", "PK204"),
    ("app eq 'A' and id eq '1' or app eq 'B' and id eq '2'", "PK204"),
    ("PartitionKey eq 'A' and (RowKey eq '121' or RowKey eq '322')", "PK209"),
    ("PartitionKey eq 'A' and (RowKey eq '1' or (RowKey ge '5' and RowKey lt '6'))", "PK209"),
    ("PartitionKey ne 'A'", "PK215"),
    ("not (PartitionKey eq 'A') and level eq 3", "PK215"),
    ("PartitionKey eq 'A' and Timestamp ge datetime'2026-01-01T00:00:00Z'", "PK211"),
    ("RowKey eq '1' and Timestamp ge datetime'2026-01-01T00:00:00Z'", "PK211"),
    ("PartitionKey ge '20260101' and PartitionKey lt '20260401'", "PK216"),
    ("PartitionKey ge '2026-01' and PartitionKey lt '2029-01'", "PK216"),
    ("RowKey eq '121'", "PK201"),
    ("PartitionKey eq 'A' or level eq 3", "PK201"),  # one part scans in any case
    ("PartitionKey eq 'A' and level eq 3", "PK202"),
    ("PartitionKey eq 5", "PK208"),
    ("partitionkey eq 'A'", "PK208"),
]


@pytest.mark.parametrize(("text", "rule"), BY_CAUSE)
def test_a_query_gets_the_finding_of_its_cause_and_no_other(text: str, rule: str, tmp_path: Path) -> None:
    assert ids(design(text), tmp_path) == {rule}


SERVED = [
    "PartitionKey eq 'A' and RowKey eq '1'",
    "PartitionKey eq '{app}' and RowKey ge '1' and RowKey lt '2'",
    "PartitionKey eq 'A' and RowKey eq '1' and Timestamp ge datetime'2026-01-01T00:00:00Z'",
    "PartitionKey eq 'A' and RowKey eq '1' and (level eq 3 or level eq 4)",
    "PartitionKey eq 'A' and RowKey ge '1' and RowKey lt '2' and owner ne 'me'",
    "PartitionKey ge '20260101' and PartitionKey lt '20260105'",
    "PartitionKey ge 'fa' and PartitionKey lt 'fb'",
    "PartitionKey ge '20260101'",
    "PartitionKey ge '20269901' and PartitionKey lt '20269999'",
    "app eq 'A' and id ge '1' and id lt '2'",
    "app eq 'A' and (id eq '1' or id eq '2')",
]


@pytest.mark.parametrize("text", SERVED)
def test_what_the_keys_serve_is_not_found_fault_with(text: str, tmp_path: Path) -> None:
    assert ids(design(text), tmp_path) == set()


DATA = "app,id\n" + "\n".join(f"a{i % 4},r{i}" for i in range(40))


def test_a_filter_over_keys_keeps_its_finding_with_data_and_the_rest_is_priced(tmp_path: Path) -> None:
    text = (
        design("PartitionKey eq 'A' or PartitionKey eq 'T'")
        + """
      - {name: priced, filter: "app eq '{app}' and id eq '{id}'", rate: 10/s}
      - {name: strange, filter: "app eq '{app}' and ID eq 'x'", rate: 10/s}
      - {name: typed, filter: "app eq '{app}' and id eq X'00'", rate: 10/s}
      - {name: bounds, filter: "app eq '{app}' and id ge '{from}' and id lt '{to}'", rate: 10/s}
"""
    ).replace("\n\n", "\n")
    assert "PK204" in {f.rule for f in found(text, tmp_path, DATA) if f.subject == "q"}
    view = open_design("d.yaml", text, default_limits(), data=[str(tmp_path / "data.csv")]).tables[0]
    assert view.unpriced == {"q", "strange", "typed", "bounds"}
    assert view.estimate is not None
    assert [c.name for c in view.estimate.classes] == ["priced"]
    bounds = next(c for c in view.workload.classes if c.name == "bounds")
    plan = view.plan_of(bounds)
    assert plan is not None and plan.access == "row range"


def test_the_order_of_a_filter_over_keys_is_that_of_what_the_keys_are_made_of(tmp_path: Path) -> None:
    keys = ("{app}", "{reverse_ticks(at)}_{id}")
    newest = design("PartitionKey eq 'A'", more=", order_by: [at desc], top: 5", keys=keys)
    oldest = design("PartitionKey eq 'A'", more=", order_by: [at], top: 5", keys=keys)
    part_of_it = design("PartitionKey eq 'A' and RowKey ge '2'", more=", order_by: [at], top: 5", keys=keys)
    by_key = design("PartitionKey eq 'A'", more=", order_by: [RowKey], top: 5", keys=keys)
    assert not found(newest, tmp_path)
    assert [f.rule for f in found(oldest, tmp_path)] == ["PK206"]
    assert "{ticks(at)}" in found(oldest, tmp_path)[0].fix
    assert not found(part_of_it, tmp_path)
    assert not found(by_key, tmp_path)


def test_an_order_that_turning_one_part_does_not_give_is_sorted_by_the_client(tmp_path: Path) -> None:
    text = design("app eq 'A'", more=", order_by: [at desc], top: 5", keys=("{app}", "{id}_{ticks(at)}"))
    assert [f.rule for f in found(text, tmp_path)] == ["PK205"]


def test_long_filters_are_read_and_judged(tmp_path: Path) -> None:
    rows = " or ".join(f"RowKey eq '{i}'" for i in range(15))
    both = found(design(f"PartitionKey eq 'A' and ({rows})"), tmp_path)
    assert {f.rule: f.measured for f in both} == {"PK209": 15.0, "PK210": 16.0}
    fewer = rows.rpartition(" or ")[0]
    assert {f.rule for f in found(design(f"PartitionKey eq 'A' and ({fewer})"), tmp_path)} == {"PK209"}


def test_a_search_for_keys_still_refuses_a_filter_that_the_service_refuses(tmp_path: Path) -> None:
    from pkadvisor.design.choice.prepared import prepared

    many = " or ".join(f"level eq {i}" for i in range(16))
    path = tmp_path / "data.csv"
    path.write_text("app,id,level\na,1,2\nb,2,3\n", encoding="utf-8")
    view = open_design("d.yaml", design(many), default_limits(), data=[str(path)]).tables[0]
    with pytest.raises(UsageError, match="16 comparisons"):
        prepared(view.section, view.limits)


def test_a_part_that_tells_rows_apart_or_spreads_them_is_left_alone(tmp_path: Path) -> None:
    def parts(partition: str, row: str) -> set[str]:
        made = found(design("app eq 'A' and id eq '1'", keys=(partition, row)), tmp_path)
        return {f.subject for f in made if f.rule == "PK207"}

    assert parts("{app}_{region}", "{id}") == {"{region}"}
    assert parts("{app}", "{region}_{id}") == {"{region}"}
    assert parts("{app}", "{id}_{region}") == set()
    assert parts("{app}_{hash(region,8)}", "{id}") == set()
    assert parts("{app}_{time(at,'yyyyMM')}", "{id}") == set()
    assert parts("{region}", "{app}_{id}") == set()


def test_a_small_table_may_be_scanned_until_the_scans_are_a_load(tmp_path: Path) -> None:
    small = "    entities_total: 500"
    calm, busy = design("level eq 3", table=small), design("level eq 3", table=small).replace("1/s", "10/s")
    assert [str(f.severity) for f in found(calm, tmp_path) if f.rule == "PK201"] == ["info"]
    assert [str(f.severity) for f in found(busy, tmp_path) if f.rule == "PK201"] == ["error"]


def test_a_scan_of_a_table_reads_every_kind(tmp_path: Path) -> None:
    text = """
schema: 1
tables:
  Shop:
    partition_key: "{customer}"
    row_key: "{rk}"
    kinds:
      Customer: {properties: {customer: string, rk: string, name: string}, entities_total: 600}
      Order: {properties: {customer: string, rk: string, total: double}, entities_total: 900_000}
    queries:
      - {name: named, kind: Customer, filter: "name eq '{name}'", rate: 1/s}
"""
    (told,) = [f for f in found(text, tmp_path) if f.rule == "PK201"]
    assert told.message.startswith("'named' reads the whole table: 900,600 entities each time")


CHAT = """
schema: 1
tables:
  Chat:
    partition_key: "{room}"
    row_key: "{ticks(at)}"
    properties: {room: string, at: datetime, text: string}
    queries:
      - {name: newest, filter: "room eq '{room}'", order_by: [at desc], top: 20, rate: 20/s}
      - {name: all, filter: "room eq '{room}'", rate: 1/s}
"""
OLDEST = """      - {name: oldest, filter: "room eq '{room}'", order_by: [at], top: 5, rate: 1/s}
"""


@pytest.mark.parametrize(
    ("others", "where"), [("", "of this row or of an index row"), (OLDEST, "of an index row, and")]
)
def test_a_row_whose_order_others_need_is_not_turned(others: str, where: str, tmp_path: Path) -> None:
    (found,) = [f for f in findings(CHAT + others, tmp_path) if f.rule == "PK206"]
    assert found.subject == "newest"
    assert f"the RowKey {where}" in found.fix
    assert ("oldest" in found.fix) == bool(others)

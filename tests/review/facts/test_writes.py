"""Rules about writes, index rows and cost, beyond the cases in their files: laws, kinds, budgets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.cost.budgets import BOUNDS
from pkadvisor.errors import UsageError
from pkadvisor.progress import SilentProgress
from pkadvisor.review.facts import FACTS
from pkadvisor.review.rules.rule import Rule, load_rules
from pkadvisor.review.views.findings import Finding
from pkadvisor.usecases.review import review
from pkadvisor.usecases.review.request import ReviewRequest
from tests.review.support import as_dict, findings
from tests.tiers import examples

MINE = tuple(r for r in load_rules() if r.id in ("PK401", "PK402") or r.id[:4] == "PK60" or "PK404" <= r.id <= "PK408")
NOWHERE = Path("/nonexistent")  # designs without data touch no folder


def rule(rule_id: str) -> tuple[Rule, ...]:
    return tuple(r for r in MINE if r.id == rule_id)


def told(text: str, rule_id: str, *budgets: str) -> list[Finding]:
    return findings(text, NOWHERE, rules=rule(rule_id), budgets=budgets)


def rank(found: list[Finding]) -> int:
    """Larger is milder; silence is mildest."""
    return min((f.severity.rank for f in found), default=9)


# --- laws -------------------------------------------------------------------------------------------------------------


def batches(entities: int, size: int, rows: int = 0, copy: str = "full") -> str:
    index = "".join(f"      - {{row_key: 'i{n}_{{step}}', copy: {copy}}}\n" for n in range(rows))
    return f"""
schema: 1
tables:
  History:
    partition_key: "{{run}}"
    row_key: "{{step}}"
{"    index_rows:" if rows else ""}
{index}
    properties: {{run: string, step: string, payload: {{type: string, size: {size}}}}}
    writes:
      - {{name: add, operation: insert, rate: 5/s, entities_per_request: {entities}}}
"""


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(2, 400), st.integers(0, 400), st.integers(0, 100_000), st.integers(0, 100_000), st.integers(0, 3))
def test_a_larger_batch_is_never_judged_milder(n: int, more: int, size: int, wider: int, rows: int) -> None:
    before = rank(told(batches(n, size, rows), "PK402"))
    assert rank(told(batches(n + more, size, rows), "PK402")) <= before
    assert rank(told(batches(n, size + wider, rows), "PK402")) <= before
    assert rank(told(batches(n, size, rows + 1), "PK402")) <= before


@pytest.mark.parametrize(("entities", "severity"), [(100, None), (101, "error")])
def test_a_batch_may_have_a_hundred_entities(entities: int, severity: str | None) -> None:
    found = told(batches(entities, 10), "PK402")
    assert [f.severity for f in found] == ([severity] if severity else [])


def test_a_pair_is_no_set_of_all_entities(tmp_path: Path) -> None:
    design = """
schema: 1
tables:
  Accounts:
    partition_key: all
    row_key: "{id}"
    properties: {id: string, other: string}
    writes: [{name: book, operation: upsert, rate: 1/s}]
    transactions: [{name: transfer, together: [book], pair: {id: id, other: id}, required: true}]
"""
    data = "\n".join(["id,other", *(f"{n},{n + 1}" for n in range(0, 204, 2))])
    assert "PK402" not in {f.rule for f in findings(design, tmp_path, data=data)}


def test_pointer_rows_add_to_the_count_of_a_batch_and_not_to_its_bytes() -> None:
    wide = 60_000
    assert told(batches(49, wide, 1, "pointer"), "PK402") == []
    assert rank(told(batches(49, wide, 1, "full"), "PK402")) == 0
    (found,) = told(batches(51, 10, 1, "pointer"), "PK402")
    assert (found.severity, found.measured, found.limit, found.unit) == ("warning", 102, 100, "rows")


@settings(max_examples=examples(30), deadline=None)
@given(st.floats(0.1, 500), st.floats(1, 10))
def test_a_higher_rate_on_one_entity_is_never_judged_milder(rate: float, times: float) -> None:
    text = """
schema: 1
tables:
  Counters:
    partition_key: visits
    row_key: ""
    properties: {{counter: string}}
    writes:
      - {{name: count, operation: update, key: [counter], read_modify_write: true, rate: {}/s}}
"""
    before = told(text.format(f"{rate:.6f}"), "PK407")
    after = told(text.format(f"{rate * times:.6f}"), "PK407")
    assert rank(after) <= rank(before)
    assert rank(told(text.format(5000), "PK407")) == 0


def sized(size: int) -> str:
    return f"""
schema: 1
tables:
  Reports:
    partition_key: "{{tenant}}"
    row_key: "{{report}}"
    properties: {{tenant: string, report: string, body: {{type: binary, size: {size}}}}}
    queries:
      - {{name: all, filter: "tenant eq '{{tenant}}'", rate: 5/s}}
"""


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 1 << 20), st.integers(0, 1 << 20))
def test_a_larger_property_is_never_judged_milder(one: int, other: int) -> None:
    small, large = sorted((one, other))
    for rule_id in ("PK603", "PK605"):
        assert rank(told(sized(large), rule_id)) <= rank(told(sized(small), rule_id))
    assert rank(told(sized(1 << 20), "PK603")) == 0


# --- index rows -------------------------------------------------------------------------------------------------------


def indexed(row_key: str, index: str, partition: str = "{tenant}", index_partition: str = "") -> str:
    own = f'partition_key: "{index_partition}", ' if index_partition else ""
    return f"""
schema: 1
tables:
  Orders:
    partition_key: "{partition}"
    row_key: "{row_key}"
    index_rows:
      - {{{own}row_key: "{index}"}}
"""


@pytest.mark.parametrize(
    ("row_key", "index", "lacks"),
    [
        ("{order}", "c_{customer}_{order}", None),
        ("{pad(order,9)}", "c_{customer}_{reverse_pad(order,9)}", None),
        ("{order}", "c_{customer}", "order"),
        ("{order}", "c_{customer}_{hash(order,64)}", "order"),
        ("{order}_{line}", "c_{customer}_{order}", "line"),
        ("{ticks(placed)}", "c_{customer}_{time(placed,'yyyyMMdd')}", "placed"),
        ("{time(placed,'yyyyMMddHHmmss')}", "c_{customer}_{time(placed,'yyyyMMddHHmmss')}", None),
        ("{order}", "e_{lower(email)}_{lower(order)}", None),
        ("", "c_{customer}", "tenant"),
    ],
)
def test_an_index_row_must_tell_what_makes_the_row_key_unique(row_key: str, index: str, lacks: str | None) -> None:
    apart = "{customer}" if row_key == "" else ""
    found = told(indexed(row_key, index, index_partition=apart), "PK405")
    assert [f"lacks {lacks}:" in f.message for f in found] == ([True] if lacks else [])
    assert all(lacks in f.fix for f in found if lacks)


def test_index_rows_of_a_table_of_kinds_are_told_once() -> None:
    text = """
schema: 1
tables:
  Shop:
    partition_key: "{tenant}"
    row_key: "{id}"
    index_rows:
      - {partition_key: "{name}", row_key: "{id}"}
    kinds: {Item: {}, Visit: {}}
    queries:
      - {name: one, kind: Visit, filter: "tenant eq '{tenant}' and id eq '{id}'", rate: 5/s}
"""
    assert len(told(text, "PK404")) == 1
    assert len(told(text, "PK408")) == 1


def test_an_index_row_that_any_kind_needs_is_not_unused() -> None:
    text = """
schema: 1
tables:
  Shop:
    partition_key: "{tenant}"
    row_key: "{id}"
    index_rows:
      - {partition_key: "{name}", row_key: "{id}"}
    kinds: {Item: {}, Visit: {}}
    queries:
      - {name: named, kind: Visit, filter: "name eq '{name}'", rate: 5/s}
"""
    assert told(text, "PK408") == []


@pytest.mark.long("proofs")
@pytest.mark.heavy("it analyses a bundled sample and reviews what is proposed")
def test_keys_that_the_adviser_proposes_get_no_complaint_about_their_index_rows(tmp_path: Path) -> None:
    from pkadvisor.design.keys.template import format_template
    from pkadvisor.limits import default_limits
    from pkadvisor.resources import resource
    from pkadvisor.usecases.review.opening import open_design
    from tests.review.support import review_text

    design, data = resource("samples", "orders", "design.yaml"), str(resource("samples", "orders", "orders.csv"))
    judged = open_design(str(design), None, default_limits(), data=[data]).tables[0].judged
    assert judged is not None and judged.advice is not None
    scheme = judged.advice.recommended.scheme
    assert scheme.index_rows
    keys = {"partition_key": scheme.main.partition, "row_key": scheme.main.row}
    lines = [f"    {name}: {json.dumps(format_template(parts))}" for name, parts in keys.items()]
    lines.append("    index_rows:")
    for row in scheme.index_rows:
        texts = [json.dumps(format_template(parts)) for parts in (row.key.partition, row.key.row)]
        lines.append(f"      - {{partition_key: {texts[0]}, row_key: {texts[1]}, copy: {row.copy}}}")
    kept = [s for s in design.read_text(encoding="utf-8").splitlines() if not s.startswith(("    part", "    row_k"))]
    at = kept.index("  Orders:") + 1
    text = "\n".join([*kept[:at], *lines, *kept[at:]])
    for given_data in ([], [data]):
        made = review_text(text, MINE, default_limits(), name="orders.yaml", data=given_data)
        assert {f.rule for e in made.evaluations for f in e.findings} <= {"PK404"}


NAMED_BY_A_CHANGE = """
schema: 1
tables:
  Orders:
    partition_key: "{tenant}"
    row_key: "{customer}_{order}"
    index_rows:
      - {row_key: "o:{order}"}
    properties: {tenant: string, customer: string, order: string, state: string}
    writes:
      - {name: go, operation: update, filter: "tenant eq '{tenant}' and order eq '{order}'", sets: [SETS], rate: 1/s}
"""


@pytest.mark.parametrize(
    ("sets", "data", "count"),
    [
        ("state", "", 0),
        ("order", "", 1),  # what changes names nothing for good
        ("state", "tenant,customer,order,state\na,x,1,s\na,y,2,s\n", 0),
        ("state", "tenant,customer,order,state\na,x,1,s\na,y,1,s\n", 1),  # the data refute it
    ],
)
def test_what_a_change_names_one_entity_by_tells_index_rows_apart(
    sets: str, data: str, count: int, tmp_path: Path
) -> None:
    found = findings(NAMED_BY_A_CHANGE.replace("SETS", sets), tmp_path, data=data)
    assert len([f for f in found if f.rule == "PK405"]) == count


# --- a plan for consistency ---------------------------------------------------------------------------------------


def test_a_stated_plan_leaves_only_the_batch_that_must_be_one() -> None:
    text = """
schema: 1
tables:
  Cash:
    partition_key: "{account}"
    row_key: "{transfer}"
    index_rows:
      - {partition_key: "{transfer}", row_key: "{account}"}
    PLAN
    writes:
      - {name: book, operation: insert, rate: 80/s}
    transactions:
      - {name: both, together: [book], group_by: [transfer], required: REQUIRED}
"""

    def ids(plan: str, required: str) -> list[str]:
        made = text.replace("PLAN", plan).replace("REQUIRED", required)
        chosen = tuple(r for r in MINE if r.id in ("PK401", "PK404", "PK406"))
        return sorted(f.rule for f in findings(made, NOWHERE, rules=chosen))

    plan = "consistency: a queue whose steps can be repeated"
    assert ids("", "false") == ["PK404", "PK406"]
    assert ids("", "true") == ["PK401", "PK404"]
    assert ids(plan, "false") == []
    assert ids(plan, "true") == ["PK401"]


# --- budgets ------------------------------------------------------------------------------------------------------


TWO = """
schema: 1
tables:
  Orders:
    partition_key: "{tenant}"
    row_key: "{order}"
    index_rows:
      - {row_key: "c_{customer}_{order}"}
    queries:
      - {name: by-order, filter: "order eq '{order}'", rate: 2/day}
  Lines:
    partition_key: "{order}"
    row_key: "{line}"
"""


def reviewed(folder: Path, *budgets: str) -> list[dict[str, object]]:
    path = folder / "two.yaml"
    path.write_text(TWO, encoding="utf-8")
    document = as_dict(review(ReviewRequest((str(path),), budgets=budgets, select=("PK601",)), SilentProgress()))
    found: list[dict[str, object]] = document["designs"][0]["findings"]
    return found


def test_each_budget_is_held_against_each_table(tmp_path: Path) -> None:
    found = reviewed(tmp_path, "index_rows=0", "full_scans_per_day=1")
    assert [(f["severity"], f["table"], f["measured"], f["limit"], f["unit"]) for f in found[:2]] == [
        ("error", "Orders", 2.0, 1.0, "scans over partitions a day"),
        ("error", "Orders", 1.0, 0.0, "index rows"),
    ]
    # Without a workload nobody knows how often Lines is scanned.
    assert [(f["severity"], f["table"], f["measured"]) for f in found[2:]] == [("warning", "Lines", None)]
    assert len({f["fingerprint"] for f in found}) == 3


@pytest.mark.parametrize("key", [k for k in BOUNDS if k not in ("index_rows", "full_scans_per_day")])
def test_a_budget_that_takes_data_does_not_pass_in_silence(key: str, tmp_path: Path) -> None:
    found = reviewed(tmp_path, f"{key}=1")
    assert [f["severity"] for f in found] == ["warning", "warning"]
    assert all(
        f"not checked: the budget {key} of 1 (" in str(f["message"]) and "--profile" in str(f["message"]) for f in found
    )


def test_budgets_that_nobody_could_check_are_one_finding_for_each_table(tmp_path: Path) -> None:
    found = reviewed(tmp_path, "cost_month=500", "index_rows=5", "p99_ms=80")
    assert [(f["severity"], f["table"]) for f in found] == [("warning", "Orders"), ("warning", "Lines")]
    told = str(found[0]["message"])
    assert "cost_month of 500" in told and "p99_ms of 80" in told and "index_rows" not in told


def test_a_budget_that_there_is_not_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cost_moth"):
        reviewed(tmp_path, "cost_moth=5")


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 5), st.integers(0, 5))
def test_a_tighter_budget_is_never_judged_milder(one: int, other: int) -> None:
    tight, wide = sorted((one, other))
    assert rank(told(TWO, "PK601", f"index_rows={tight}")) <= rank(told(TWO, "PK601", f"index_rows={wide}"))


# --- what is loaded ---------------------------------------------------------------------------------------------------


def test_without_data_these_rules_load_no_numeric_library(tmp_path: Path) -> None:
    path = tmp_path / "design.yaml"
    update = "{name: up, operation: update, key: [order], read_modify_write: true, rate: 5/s, entities_per_request: 2}"
    path.write_text(TWO + f"    writes: [{update}]\n", encoding="utf-8")
    code = f"""
import sys
from pkadvisor.progress import SilentProgress
from pkadvisor.usecases.review import ReviewRequest, review
found = review(ReviewRequest(({str(path)!r},), budgets=("index_rows=0", "cost_month=5")), SilentProgress())
print(found.summary.error, sorted(m for m in sys.modules if m in ("polars", "numpy", "scipy")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    count, modules = done.stdout.split(" ", 1)
    assert int(count) >= 1
    assert modules.strip() == "[]"


def test_no_two_facts_share_a_name() -> None:
    names = [fact.name for fact in FACTS]
    assert sorted(set(names)) == sorted(names)


# --- what is known on one side only -----------------------------------------------------------------------------------


def queued(queries: str, key: str = "{queue}", more: str = "") -> str:
    return f"""
schema: 1
tables:
  Jobs:
    partition_key: "{key}"
    row_key: "{{id}}"
    properties: {{queue: string, id: string, at: datetime}}
{queries}
    writes:
      - {{name: add, operation: insert, entities_per_request: 50, rate: 450/s}}
{more}
"""


JOBS = "queue,id,at\na,x1,2026-01-01T00:00:00Z\na,x2,2026-01-02T00:00:00Z\nb,x3,2026-01-03T00:00:00Z"


def test_a_budget_of_requests_is_not_exceeded_by_batches_that_nobody_took_apart(tmp_path: Path) -> None:
    def of(text: str, budget: str) -> list[Finding]:
        return findings(text, tmp_path, data=JOBS, rules=rule("PK601"), budgets=(budget,))

    (found,) = of(queued(""), "requests_per_s=1000")
    assert str(found.severity) == "warning"
    assert "no transaction says whether the entities of a batch of 'add' share a partition" in found.message
    assert of(queued(""), "requests_per_s=30000") == []
    together = "    transactions:\n      - {name: t, together: [add], group_by: [queue]}"
    assert of(queued("", more=together), "requests_per_s=1000") == []
    assert [str(f.severity) for f in of(queued("", more=together), "requests_per_s=400")] == ["error"]


def test_a_budget_counts_a_query_that_asks_period_by_period(tmp_path: Path) -> None:
    window = "queue eq '{queue}' and at ge datetime'{at-1d}' and at lt datetime'{at}'"
    text = queued(f'    queries:\n      - {{name: w, filter: "{window}", rate: 5/s}}', "{time(at,'yyyyMMdd')}_{queue}")
    assert not findings(text, tmp_path, data=JOBS, rules=rule("PK601"), budgets=("entities_per_s=30000",))
    (found,) = findings(text, tmp_path, data=JOBS, rules=rule("PK601"), budgets=("entities_per_s=30",))
    assert str(found.severity) == "error"

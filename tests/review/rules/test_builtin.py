"""What the gate itself says of a design and its profile."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.review.rules.builtin import near_name
from pkadvisor.review.rules.rule import load_rules
from tests.plain import profile
from tests.review.gate_support import DESIGN, Folder, finding, told

PROFILE = "orders.profile.json"
TEXT = """\
schema: 1
tables:
  Orders:
    partition_key: "{tenant}"
    row_key: "{id}"
    properties: {tenant: string, id: int64, day: datetime}
    queries:
      - {name: one, filter: "tenant eq '{tenant}' and id eq {id}", rate: 3/s}
"""


@pytest.fixture
def profiled(folder: Folder) -> Folder:
    """A folder with the profile of a table that has tenant, id and day."""
    rows = "".join(f"t{i % 7},{i},2026-01-{i % 28 + 1:02}T00:00:00Z\n" for i in range(100))
    folder.write("orders.csv", "tenant,id,day\n" + rows)
    folder.write(DESIGN, TEXT)
    made = profile(AnalyzeRequest(data=("orders.csv",), design=DESIGN), SilentProgress(), salt=b"")
    folder.write(PROFILE, json.dumps(made))
    return folder


def mismatch(folder: Folder, text: str) -> list[tuple[str, str, str]]:
    """Severity, subject and place of PK905 for a design text."""
    folder.write(DESIGN, text)
    (design,) = folder.review(profiles=(PROFILE,), select=("PK905",))["designs"]
    return [
        (f["severity"], f["subject"]["name"], f"{f['place']['line']}:{f['place']['column']}")
        for f in design["findings"]
    ]


def test_a_profile_of_this_design_is_silent(profiled: Folder) -> None:
    assert mismatch(profiled, TEXT) == []
    assert mismatch(profiled, TEXT.replace("id: int64", "id: string")) == [], "digits may be texts"
    assert mismatch(profiled, TEXT.replace("id: int64", "id: int32")) == []
    assert mismatch(profiled, TEXT.replace(", day: datetime", "")) == [], "a design need not name everything"


def test_keys_and_properties_that_the_profile_lacks(profiled: Folder) -> None:
    renamed = TEXT.replace("tenant:", "tenantId:").replace('"{tenant}"', '"{tenantId}"')
    assert mismatch(profiled, renamed) == [("error", "tenantId", "4:20")], "told once, at the key"
    near = TEXT.replace("day: datetime", "dey: datetime")
    assert mismatch(profiled, near) == [("error", "dey", "6:50")]
    assert "did you mean 'day'?" in finding(profiled.review(profiles=(PROFILE,)), "PK905")["fix"]
    far = TEXT.replace("day: datetime", "comment: string")
    assert mismatch(profiled, far) == [("warning", "comment", "6:54")], "it may be one that is seldom set"


def test_types_that_differ(profiled: Folder) -> None:
    assert mismatch(profiled, TEXT.replace("tenant: string", "tenant: guid")) == [("warning", "tenant", "6:26")]


def test_tables_of_the_profile_that_the_design_does_not_name(profiled: Folder) -> None:
    document = json.loads((profiled.path / PROFILE).read_text())
    (table,) = document["tables"]
    document["tables"] = [table | {"table": "Orders"}, table | {"table": "Invoices"}]
    profiled.write(PROFILE, json.dumps(document))
    assert mismatch(profiled, TEXT) == [("info", "Invoices", "2:1")], "a profile may hold more than one design"
    document["tables"] = [table | {"table": "Order"}, table | {"table": "Invoices"}]
    profiled.write(PROFILE, json.dumps(document))
    assert mismatch(profiled, TEXT) == [("error", "Order", "2:1"), ("info", "Invoices", "2:1")]


def test_a_table_of_another_design_of_the_project_is_not_the_business_of_this_one(profiled: Folder) -> None:
    devices = TEXT.replace("Orders", "Devices")
    profiled.write("schema/devices.yaml", devices)
    asked: dict[str, Any] = {"profiles": (PROFILE,), "select": ("PK905",)}
    profiled.write(PROFILE, (profiled.path / PROFILE).read_text().replace('"table": ""', '"table": "Orders"'))
    alone = finding(profiled.review("schema/devices.yaml", siblings=(DESIGN, "schema/devices.yaml"), **asked), "PK905")
    assert alone["severity"] == "info", "the table is declared by a design that is not reviewed"
    assert alone["message"] == "the profile does not cover Devices: it is of Orders"
    assert finding(profiled.review("schema/devices.yaml", **asked), "PK905")["severity"] == "error", "one and one"
    profiled.write("schema/parts.yaml", TEXT.replace("Orders", "Parts"))
    both = finding(profiled.review("schema/devices.yaml", "schema/parts.yaml", siblings=(DESIGN,), **asked), "PK905")
    assert (both["severity"], both["table"]) == ("info", "Devices"), "said once"
    assert "does not cover Devices, Parts" in both["message"]
    told_once = finding(profiled.review("schema/devices.yaml", "schema/parts.yaml", **asked), "PK905")
    assert told_once["severity"] == "warning", "nobody declares what the profile is of"


def test_names_that_are_merely_alike_are_not_taken_for_each_other() -> None:
    assert near_name("order_lines", ("Orders", "OrderLines")) == "OrderLines"
    assert near_name("Orders", ("Order",)) == "Order"
    assert near_name("Invoices", ("Devices",)) == ""
    assert near_name("Orders", ("OrderLines",)) == ""


def test_a_table_of_one_of_several_designs_that_the_profile_spells_otherwise(profiled: Folder) -> None:
    document = json.loads((profiled.path / PROFILE).read_text())
    (table,) = document["tables"]
    document["tables"] = [table | {"table": "Orders"}, table | {"table": "Invoices"}, table | {"table": "Elsewhere"}]
    profiled.write(PROFILE, json.dumps(document))
    profiled.write("schema/invoices.yaml", TEXT.replace("Orders", "Invoice"))
    both = profiled.review(DESIGN, "schema/invoices.yaml", profiles=(PROFILE,), select=("PK905",))
    found = finding(both, "PK905")
    assert (found["severity"], found["table"], found["place"]["line"]) == ("error", "Invoice", 3)
    assert "'Invoices'" in found["message"]


def test_without_a_profile_nothing_can_differ(folder: Folder) -> None:
    document = folder.review(select=("PK905",))
    (evaluated,) = document["designs"][0]["evaluated"]
    assert (evaluated["findings"], evaluated["skipped"]) == (0, "needs a profile (--profile) or data (--data)")


def test_a_table_without_keys_is_said_not_to_be_reviewed(folder: Folder) -> None:
    keyless = "  Audit:\n    properties: {a: string}\n"
    folder.write(DESIGN, TEXT + keyless)
    document = folder.review(select=("PK906",))
    found = finding(document, "PK906")
    assert (found["severity"], found["table"], found["place"]["line"]) == ("info", "Audit", 9)
    folder.write(DESIGN, TEXT + keyless.replace("\n", '  # pkadvisor: ignore[nothing-to-review] reason="later"\n', 1))
    assert told(folder.review(select=("PK906", "PK9"))) == []


def test_one_table_in_two_designs_is_named_at_the_second(folder: Folder) -> None:
    folder.write(DESIGN, TEXT)
    folder.write("schema/billing.yaml", TEXT.replace("Orders", "ORDERS").replace('"{id}"', '"{day}_{id}"'))
    folder.write("schema/copy.yaml", TEXT)
    folder.write("schema/other.yaml", TEXT.replace("Orders", "Others"))
    every = (DESIGN, "schema/billing.yaml", "schema/copy.yaml", "schema/other.yaml")
    document = folder.review(*every, select=("PK907",))
    found = [(f["severity"], d["design"], f["message"]) for d in document["designs"] for f in d["findings"]]
    other = "with the keys {tenant} / {id} instead of {tenant} / {day}_{id}"
    assert found == [
        ("warning", "schema/billing.yaml", f"{DESIGN} declares the table ORDERS as well, {other}"),
        ("warning", "schema/copy.yaml", f"{DESIGN} declares the table Orders as well, with the same keys"),
    ]
    comment = '  # pkadvisor: ignore[PK907] reason="moved next week"'
    folder.write("schema/copy.yaml", TEXT.replace("  Orders:", f"  Orders:{comment}"))
    assert told(folder.review(DESIGN, "schema/copy.yaml", select=("PK907", "PK9"))) == []


def test_every_rule_of_the_gate_has_a_page() -> None:
    pages = {rule.id: rule for rule in load_rules() if rule.builtin}
    assert set(pages) == {"PK901", "PK902", "PK903", "PK904", "PK905", "PK906", "PK907", "PK111"}
    for rule in pages.values():
        assert rule.why
        assert rule.bad
        assert rule.good
        assert rule.fix

"""Mistakes that are planted into good designs: each is found where it stands, and was not there before."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pkadvisor.limits import default_limits
from pkadvisor.review.rules.rule import load_rules
from pkadvisor.review.views.findings import Finding, Severity
from tests.review.support import review_text

DESIGNS = sorted((Path(__file__).parent / "systems").glob("*.yaml"))
RULES = load_rules()
EACH = 3
"""Good designs that each mistake is planted in."""
Table = dict[str, Any]


def findings(text: str) -> list[Finding]:
    made = review_text(text, RULES, default_limits(), name="design.yaml")
    return [f for e in made.evaluations for f in e.findings if f.severity is not Severity.INFO]


def key_properties(template: str) -> list[str]:
    return [name for hole in re.findall(r"\{([^{}]*)\}", template) for name in re.findall(r"[A-Za-z_]\w*", hole)]


def plain(table: Table, template: str) -> str | None:
    """The property that a template begins with as it is."""
    first = re.match(r"\{([A-Za-z]\w*)\}", template)
    return first[1] if first and first[1] in table.get("properties", {}) else None


def case_slip(table: Table) -> bool:
    """A filter writes a property in another case."""
    for query in table.get("queries", ()):
        name = (re.findall(r"\b([a-z]+[A-Z]\w*) eq", query["filter"]) or [None])[0]
        if name in table.get("properties", {}):
            query["filter"] = query["filter"].replace(f"{name} eq", f"{name.lower()} eq", 1)
            return True
    return False


def moving_update(table: Table) -> bool:
    """An update sets what the PartitionKey is made of."""
    lead = plain(table, table["partition_key"])
    row = plain(table, table["row_key"])
    if lead is None or row is None:
        return False
    table["writes"] = [
        *table.get("writes", ()),
        {"name": "planted", "operation": "update", "key": [lead, row], "sets": [lead], "rate": "5/s"},
    ]
    return True


def kinds_apart(table: Table) -> bool:
    """A transaction must write two kinds of which one has a partition of its own."""
    own = table.get("properties")
    if plain(table, table["partition_key"]) is None or not own:
        return False
    queries, writes = table.pop("queries", []), table.pop("writes", [])
    for part in (*queries, *writes):
        part["kind"] = "Own"
    table.pop("properties")
    table.pop("transactions", None)
    table["kinds"] = {
        "Own": {"properties": own},
        "Other": {"partition_key": "OTHER", "row_key": "OTHER:{planted}", "properties": {"planted": "guid"}},
    }
    table["queries"] = queries
    table["writes"] = [
        *writes,
        {"name": "one", "kind": "Own", "operation": "insert", "rate": "1/min"},
        {"name": "other", "kind": "Other", "operation": "insert", "rate": "1/min"},
    ]
    table["transactions"] = [
        {"name": "both", "together": ["one", "other"], "group_by": [plain({"properties": own}, table["partition_key"])],
         "required": True}
    ]  # fmt: skip
    return True


def hot_kind(table: Table) -> bool:
    """A kind lies in one partition that takes 2,100 inserts a second."""
    if not kinds_apart(table):
        return False
    table.pop("transactions")
    table["writes"][-1]["rate"] = "2100/s"
    return True


def narrow_number(table: Table) -> bool:
    """A number of 200,000 values is padded to 5 digits."""
    if "properties" not in table or not table["row_key"]:
        return False
    table["properties"]["planted"] = {"type": "int32", "distinct": 200_000}
    table["row_key"] = "{pad(planted,5)}_" + table["row_key"]
    return True


def few_values(table: Table) -> bool:
    """An index row lies in one of two partitions, which take 5,000 inserts a second."""
    if "properties" not in table:
        return False
    table["properties"]["planted"] = {"type": "string", "distinct": 2}
    own = key_properties(table["partition_key"] + table["row_key"])
    row = "_".join(f"{{{name}}}" for name in own if name in table["properties"]) or "x"
    table["index_rows"] = [*table.get("index_rows", ()), {"partition_key": "TWO_{planted}", "row_key": row}]
    table["writes"] = [*table.get("writes", ()), {"name": "planted", "operation": "insert", "rate": "5000/s"}]
    return True


PLANTED: dict[Callable[[Table], bool], frozenset[str]] = {
    case_slip: frozenset({"PK208"}),
    moving_update: frozenset({"PK403"}),
    kinds_apart: frozenset({"PK401"}),
    hot_kind: frozenset({"PK102"}),
    narrow_number: frozenset({"PK303"}),
    few_values: frozenset({"PK105"}),
}


def planted(mistake: Callable[[Table], bool]) -> Iterator[tuple[str, str]]:
    """(a good design, the same with the mistake in its first table)."""
    for path in DESIGNS:
        text = path.read_text(encoding="utf-8")
        design = YAML(typ="safe", pure=True).load(text)
        changed = deepcopy(design)
        table = next(iter(changed["tables"].values()))
        if "# expert: good\n" in text and "kinds" not in table and "partition_key" in table and mistake(table):
            yield json.dumps(design, indent=1), json.dumps(changed, indent=1)


@pytest.mark.parametrize("mistake", PLANTED, ids=lambda f: f.__name__)
def test_a_planted_mistake_is_found(mistake: Callable[[Table], bool]) -> None:
    rules, tried = PLANTED[mistake], 0
    for before, after in planted(mistake):
        assert not rules & {f.rule for f in findings(before)}
        assert rules & {f.rule for f in findings(after)}, after
        tried += 1
        if tried == EACH:
            break
    assert tried == EACH

"""A declared query asks for a declared property that the sample does not hold: a question, and no mistake of usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import Ask

DESIGN = """schema: 1
tables:
  Orders:
    partition_key: "{customer}"
    row_key: "{pad(order_id,9)}"
    properties: {order_id: int32, customer: string, status: {type: string, distinct: 5}}
    queries:
      - {name: of-customer, filter: "customer eq '{customer}'", rate: 5/s}
      - {name: open, filter: "FILTER", rate: RATE}
    writes: [{name: add, operation: insert, rate: 1/s}]
"""
STATUS = "status eq '{status}'"


def files(folder: Path, rate: str, filter_: str = STATUS, design: str = DESIGN) -> list[str]:
    rows = "".join(f"{n},c{n % 40}\n" for n in range(500))
    (folder / "orders.csv").write_text(f"order_id,customer\n{rows}")
    (folder / "design.yaml").write_text(design.replace("FILTER", filter_).replace("RATE", rate))
    return [str(folder / "orders.csv"), "--design", str(folder / "design.yaml")]


def test_much_that_is_asked_of_a_property_that_the_sample_lacks_asks_for_it(tmp_path: Path, ask: Ask) -> None:
    status, page, problem = ask("analyze", *files(tmp_path, "2/s"))
    assert status == 1
    assert page.startswith("NOT ENOUGH TO ADVISE")
    assert "next: give rows with status: how many entities has each value?" in page
    assert "25 % of the requests are like that" in " ".join(problem.split())


def test_little_of_it_is_left_out_of_the_cost_and_said(tmp_path: Path, ask: Ask) -> None:
    status, out, _ = ask("analyze", *files(tmp_path, "1/h"), "--format", "json")
    (table,) = json.loads(out)["tables"]
    assert (status, table["verdict"]) == (0, "keep")
    assert "'open' is left out of the cost: nothing is known of status; give rows that have it" in table["notes"]
    assert {cost["name"] for cost in table["recommended"]["classes"]} == {"of-customer", "add"}


def test_nothing_but_such_queries_is_not_enough(tmp_path: Path, ask: Ask) -> None:
    alone = "\n".join(line for line in DESIGN.splitlines() if "of-customer" not in line and "writes" not in line)
    status, page, _ = ask("analyze", *files(tmp_path, "2/s", design=alone))
    assert (status, page.startswith("NOT ENOUGH TO ADVISE")) == (1, True)


@pytest.mark.parametrize("command", ["analyze", "stress", "score"])
def test_a_property_that_nobody_declares_is_a_mistake(command: str, tmp_path: Path, ask: Ask) -> None:
    data, *design = files(tmp_path, "2/s", "statuz eq '{statuz}'")
    words = [design[1], data] if command == "score" else [data, *design]
    status, _, problem = ask(command, *words)
    assert status == 2
    assert "names the property 'statuz', which the data does not have" in problem


def test_given_keys_are_not_priced_without_such_a_query(tmp_path: Path, ask: Ask) -> None:
    data, _, design = files(tmp_path, "1/h")
    status, _, problem = ask("score", design, data)
    assert (status, "'status', which the data does not have" in problem) == (2, True)

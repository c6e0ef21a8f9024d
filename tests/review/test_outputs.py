"""Every format of a review, read back by somebody else's reader: nothing is lost, nothing is promised and not kept."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from jsonschema import Draft4Validator
from junitparser import Failure, JUnitXml, Skipped

from pkadvisor.report.formats.junit import render_junit
from pkadvisor.report.formats.sarif import SENTENCE_MAX, render_sarif
from tests.review import support
from tests.review.documents import (
    NAME,
    Document,
    complaints,
    copy,
    design,
    document,
    everything,
    finding,
    page_of_rule,
    rendered,
    typed,
)

HERE = Path(__file__).parent
SMALL = """
schema: 1
tables:
  Orders:
    partition_key: "{tenantId}/{year}"
    row_key: "{orderId}"
    queries:
      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}
"""


@cache
def standard() -> Draft4Validator:
    """The schema of OASIS; ``standard/README.md`` says where it is from."""
    return Draft4Validator(json.loads((HERE / "standard" / "sarif-schema-2.1.0.json").read_bytes()))


def sarif(found: Document, paths: dict[str, str] | None = None) -> dict[str, Any]:
    """The run of a valid log."""
    log = json.loads(render_sarif(typed(found), paths or {}))
    assert [f"{e.json_path}: {e.message[:200]}" for e in standard().iter_errors(log)] == []
    run: dict[str, Any] = log["runs"][0]
    return run


# --- the document


def test_documents_keep_to_the_schema(tmp_path: Path) -> None:
    made = support.document(SMALL, tmp_path)
    assert made["designs"][0]["findings"]
    assert complaints(made) == []
    assert complaints(everything()) == []


def test_a_damaged_document_breaks_the_schema() -> None:
    found = copy(everything())
    found["designs"][0]["findings"][0]["surprise"] = 1
    found["designs"][0]["findings"][0]["place"]["line"] = 0
    found["designs"][0]["diff"]["metrics"][0]["direction"] = "up"
    del found["summary"]
    assert len(complaints(found)) == 4


# --- SARIF


def test_sarif_is_valid_and_holds_what_consumers_need() -> None:
    run = sarif(everything())
    first = run["results"][0]
    assert first["ruleId"] == run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": NAME, "uriBaseId": "%SRCROOT%"}
    region = first["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 4, "startColumn": 9, "endLine": 4, "endColumn": 27}
    assert first["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "tables.Orders.queries.{day}"
    assert first["partialFingerprints"].keys() == {"primaryLocationLineHash", "pkadvisorFinding/v1"}
    assert first["properties"]["measured"] == 3400.0
    assert first["properties"]["limit"] == 2000.0
    assert first["properties"]["unit"] == "entities/s"
    assert [r.get("baselineState") for r in run["results"]] == ["new", "updated", "unchanged", "unchanged"]
    assert [s["justification"] for r in run["results"] for s in r.get("suppressions", ())] == [
        "a nightly export (until 2027-03-31)"
    ]
    assert run["automationDetails"]["id"].endswith("/")


def test_a_design_that_cannot_be_read_is_a_notification_and_no_success() -> None:
    (invocation,) = sarif(everything())["invocations"]
    assert not invocation["executionSuccessful"]
    assert invocation["exitCode"] == 2
    (told,) = invocation["toolConfigurationNotifications"]
    assert told["locations"][0]["physicalLocation"]["region"] == {"startLine": 3, "startColumn": 5}
    assert "partitionkey" in told["message"]["text"]


def test_a_review_without_findings_says_in_sarif_that_it_ran() -> None:
    run = sarif(document(design()))
    assert run["results"] == []
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"]
    assert invocation["exitCode"] == 0
    assert "GATE PASSED" in invocation["toolExecutionNotifications"][0]["message"]["text"]


def test_rules_in_sarif_stay_within_the_bounds_of_github() -> None:
    long = page_of_rule(why="because " * 900, title="t" * 3000, tags=[f"t{i}" for i in range(40)])
    (rule,) = sarif(document(design(finding()), rules=[long]))["tool"]["driver"]["rules"]
    assert len(rule["shortDescription"]["text"]) <= 1024
    assert len(rule["fullDescription"]["text"]) <= 1024
    assert len(rule["properties"]["tags"]) <= 20
    assert "security-severity" not in rule["properties"]
    assert rule["properties"]["problem.severity"] == "error"
    assert rule["properties"]["precision"] == "high"
    assert rule["defaultConfiguration"] == {"level": "error"}
    assert rule["helpUri"].startswith("https://")
    assert "because because" in rule["help"]["text"]
    assert "```yaml" in rule["help"]["markdown"]


@pytest.mark.parametrize("length", [10, 118, 119, 120, 121, 500])
def test_the_first_sentence_of_a_result_is_short_and_the_message_whole(length: int) -> None:
    said = "x" * length
    message = sarif(document(design(finding(message=said))))["results"][0]["message"]["text"]
    assert len(re.split(r"(?<=\.)\s", message)[0]) <= SENTENCE_MAX
    assert said in message
    assert "name the PartitionKey in the filter" in message


@pytest.mark.parametrize("path", ["./schema/a b.yaml", "schema/ü#?%.yaml", "a:b.yaml", "./././x.yaml"])
def test_paths_in_sarif_are_relative_references(path: str) -> None:
    run = sarif(document(design(finding(), name="typed.yaml")), {"typed.yaml": path})
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert not uri.startswith((".", "/"))
    assert re.fullmatch(r"[A-Za-z0-9/._~%-]+", uri)
    assert unquote(uri) == re.sub(r"^(\./)+", "", path)


def test_fingerprints_survive_ten_lines_above_and_tell_findings_apart(tmp_path: Path) -> None:
    def prints(source: str) -> list[dict[str, str]]:
        run = sarif(support.document(source, tmp_path))
        return [result["partialFingerprints"] for result in run["results"]]

    before, after = prints(SMALL), prints("# a line\n" * 10 + SMALL)
    assert before == after
    assert len({p["primaryLocationLineHash"] for p in before}) == len(before) >= 2
    twice = sarif(document(design(finding(), finding())))["results"]
    assert twice[0]["partialFingerprints"] != twice[1]["partialFingerprints"]


# --- JUnit


def test_junit_shows_passes_failures_skips_and_errors() -> None:
    found = JUnitXml.fromstring(rendered(everything())["junit"].encode())
    suites = list(found)
    assert [suite.name for suite in suites] == [NAME, "schema/bad.yaml"]
    results = {case.name.split()[0]: [type(r).__name__ for r in case.result] for case in suites[0]}
    assert results == {
        "PK301": [],
        "PK304": [],
        "PK104": ["Skipped"],
        "PK103": ["Failure"],
        "PK201": ["Failure"],
        "PK203": [],
        "PK202": ["Skipped"],
    }
    skipped = {case.name.split()[0]: r.message for case in suites[0] for r in case.result if isinstance(r, Skipped)}
    assert skipped["PK202"] == "a nightly export (until 2027-03-31)"
    assert "profile" in skipped["PK104"]
    failures = [r for case in suites[0] for r in case.result if isinstance(r, Failure)]
    assert f"{NAME}:4:9: error" in failures[0].text
    assert (found.tests, found.failures, found.errors, found.skipped) == (8, 2, 1, 2)


def test_junit_fails_only_what_fails_the_gate() -> None:
    mild = finding("PK202", "warning", gating=False)
    found = JUnitXml.fromstring(render_junit(typed(document(design(mild))), {}))
    (case,) = [case for case in next(iter(found)) if case.name.startswith("PK202")]
    assert case.result == []
    assert "reads the whole table" in case.system_out
    assert found.failures == 0


def test_junit_names_a_rule_that_the_gate_itself_decides() -> None:
    made = design(finding("PK902", "warning", name="suppression-unused"))
    made["evaluated"] = [e for e in made["evaluated"] if e["rule"] != "PK902"]
    names = [case.name for case in next(iter(JUnitXml.fromstring(render_junit(typed(document(made)), {}))))]
    assert "PK902 suppression-unused" in names

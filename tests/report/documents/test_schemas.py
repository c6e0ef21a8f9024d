"""The published schemas: valid, kept to by every document, promising nothing that no document has."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from jsonschema import Draft202012Validator

from pkadvisor.cli.main import main
from pkadvisor.design.cost.key_findings import RESOURCE
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_inputs import (
    AnalysisAccess,
    AnalysisBasis,
    AnalysisData,
    AnalysisEdm,
    AnalysisOperation,
    AnalysisQueryClass,
)
from pkadvisor.documents.analysis_scheme import AnalysisBreak
from pkadvisor.documents.profile import ProfileEdm, ProfileQueryClass
from pkadvisor.documents.review import ReviewFact, ReviewFinding, ReviewRule, ReviewSeverity, ReviewSubject
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.observe.design_file.declaration import Sampling
from pkadvisor.observe.profile.profile_file import SCHEMA_VERSION as PROFILE_VERSION
from pkadvisor.observe.workload import Basis, DrawBy, Operation
from pkadvisor.progress import SilentProgress
from pkadvisor.report.documents.result import SCHEMA_VERSION
from pkadvisor.review.rules.rule import PRECISIONS
from pkadvisor.review.views.findings import Severity, Status
from pkadvisor.review.views.subjects import Scope
from pkadvisor.table.edm import EdmType
from tests import kinds_cases
from tests.plain import analyze, profile
from tests.report.support import SAMPLES, profile_text, request, result, schema


def complaints(document: Any, name: str) -> list[str]:
    """Where a document breaks its schema."""
    found = Draft202012Validator(schema(name)).iter_errors(document)
    return [f"{error.json_path}: {error.message[:200]}" for error in found]


@pytest.mark.parametrize(
    "name", ["result", "profile", "design", "score", "comparison", "explanation", "review", "stress"]
)
def test_the_command_prints_each_schema_and_it_is_one(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "schema", "--of", name]) == 0
    printed = json.loads(capsys.readouterr().out)
    Draft202012Validator.check_schema(printed)
    assert printed == schema(name)


@pytest.mark.parametrize("name", SAMPLES)
def test_results_of_samples_keep_to_the_schema(name: str) -> None:
    found = result(name)
    assert complaints(found, "result") == []
    assert written_by_its_type(found)


def written_by_its_type(document: dict[str, Any]) -> bool:
    """Whether the value of a result's type has its members in the order in which they were written."""
    value = msgspec.convert(document, AnalysisDocument)
    return json.dumps(msgspec.to_builtins(value)) == json.dumps(document)


@pytest.mark.parametrize("name", SAMPLES)
def test_redacted_results_keep_to_the_schema(name: str) -> None:
    assert complaints(result(name, redact=True), "result") == []


def log_only() -> dict[str, Any]:
    """A log without data: its rows are the keys that it names."""
    return analyze(request("microblog", data=(), design=None), SilentProgress())


def test_a_result_of_a_log_alone_keeps_to_the_schema() -> None:
    found = log_only()
    assert complaints(found, "result") == []
    (table,) = found["tables"]
    assert table["verdict"] in ("keep", "change")
    assert table["recommended"] and table["why_not"] is None
    assert table["heat_in_log"]["reads"]["top"]


def test_a_result_of_heat_alone_keeps_to_the_schema_and_says_what_is_missing(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"table": "T", "op": "query", "at": {n}, "pk": "d{n % 8}"}}\n' for n in range(90)))
    found = analyze(AnalyzeRequest(logs=(str(log),)), SilentProgress())
    assert complaints(found, "result") == []
    (table,) = found["tables"]
    assert table["verdict"] == "heat_only"
    assert "no data" in table["why_not"]
    assert table["heat_in_log"]["reads"]["top"]
    assert table["workload"]


def unsatisfied(folder: Path) -> dict[str, Any]:
    """Isolation by one property, a required transaction across its values."""
    (folder / "data.csv").write_text("tenant,pair,n\n" + "".join(f"t{i % 7},p{i // 2},{i}\n" for i in range(400)))
    (folder / "design.yaml").write_text(
        "schema: 1\ntables:\n  Pairs:\n    isolation: tenant\n"
        "    queries:\n      - {name: one, filter: \"tenant eq '{tenant}' and n eq {n}\", rate: 10/s}\n"
        "    writes:\n      - {name: book, operation: insert, rate: 5/s}\n"
        "    transactions:\n      - {name: both, together: [book], group_by: [pair], required: true}\n"
    )
    asked = AnalyzeRequest(data=(str(folder / "data.csv"),), design=str(folder / "design.yaml"))
    return analyze(asked, SilentProgress())


def test_a_result_of_several_kinds_keeps_to_the_schema(tmp_path: Path) -> None:
    for case in (kinds_cases.shop, kinds_cases.bank):
        found = case(tmp_path)
        assert complaints(found, "result") == []
        assert written_by_its_type(found)


def test_a_result_without_a_design_that_holds_keeps_to_the_schema(tmp_path: Path) -> None:
    found = unsatisfied(tmp_path)
    assert complaints(found, "result") == []
    assert found["outcome"] == "constraint-unsatisfied"
    (table,) = found["tables"]
    assert table["verdict"] == "unsatisfied"
    assert table["recommended"]["violations"]


@pytest.mark.parametrize("name", SAMPLES)
def test_profiles_of_samples_keep_to_the_schema(name: str) -> None:
    assert complaints(json.loads(profile_text(name)), "profile") == []
    assert complaints(json.loads(profile_text(name, b"0123456789abcdef")), "profile") == []


def test_a_profile_of_a_log_alone_keeps_to_the_schema() -> None:
    found = profile(request("microblog", data=()), SilentProgress(), salt=b"")
    assert complaints(found, "profile") == []
    assert found["tables"][0]["data"] is None


def test_a_damaged_document_breaks_the_schema() -> None:
    broken = result("footrace")
    broken["tables"][0]["recommended"]["surprise"] = 1
    broken["tables"][0]["recommended"]["terms"][0]["basis"] = "guessed"
    broken["tables"][0]["data"]["entities_read"] = -1
    del broken["log"]
    assert len(complaints(broken, "result")) >= 3
    document = json.loads(profile_text("footrace"))
    document["tables"][0]["data"]["properties"][0]["surprise"] = 1
    document["key_check"] = "x"
    assert len(complaints(document, "profile")) >= 2


def test_versions_and_words_of_the_schemas_are_those_of_the_code() -> None:
    found, stored = schema("result"), schema("profile")
    assert found["properties"]["schema_version"]["const"] == SCHEMA_VERSION
    assert stored["properties"]["schema_version"]["const"] == PROFILE_VERSION
    assert found["$id"].endswith(f":{SCHEMA_VERSION}")
    assert stored["$id"].endswith(f":{PROFILE_VERSION}")
    for words, known in (
        (AnalysisBasis, Basis),
        (AnalysisOperation, Operation),
        (AnalysisAccess, (*Access, None)),
        (AnalysisEdm, EdmType),
        (ProfileEdm, EdmType),
        (get_type_hints(AnalysisQueryClass)["parameters"], DrawBy),
        (get_type_hints(AnalysisData)["sampling"], Sampling),
        (get_type_hints(ProfileQueryClass)["basis"], Basis),
        (ReviewSeverity, Severity),
        (get_type_hints(ReviewSubject)["scope"], Scope),
        (get_type_hints(ReviewFinding)["status"], (*Status, None)),
        (get_type_hints(ReviewFact)["basis"], Basis),
        (get_type_hints(ReviewRule)["precision"], PRECISIONS),
    ):
        assert set(msgspec.json.schema(words)["enum"]) == {word and str(word) for word in known}
    assert RESOURCE in get_args(get_type_hints(AnalysisBreak)["resource"])


def members(node: Any, path: str = "") -> Iterator[str]:
    """Every member name with the names above it, list places left out."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield f"{path}/{name}"
            yield from members(value, f"{path}/{name}")
    elif isinstance(node, list):
        for value in node:
            yield from members(value, path)


def promised(found: dict[str, Any], node: Any, path: str = "") -> Iterator[str]:
    """Every member name that a schema describes, with the names above it."""
    if not isinstance(node, dict):
        return
    if "$ref" in node:
        yield from promised(found, found["$defs"][node["$ref"].removeprefix("#/$defs/")], path)
    for name, value in node.get("properties", {}).items():
        yield f"{path}/{name}"
        yield from promised(found, value, f"{path}/{name}")
    for branch in node.get("oneOf", ()):
        yield from promised(found, branch, path)
    yield from promised(found, node.get("items"), path)


@pytest.mark.long("proofs")
def test_every_member_that_the_result_schema_describes_occurs(tmp_path: Path) -> None:
    occurring = {name for s in SAMPLES for name in members(result(s))}
    occurring |= {*members(log_only()), *members(unsatisfied(tmp_path)), *members(kinds_cases.bank(tmp_path))}
    transfers = kinds_cases.transfers(tmp_path)
    assert complaints(transfers, "result") == []
    occurring |= set(members(transfers))
    occurring |= set(members(result("footrace", sample_rows=1500)))
    found = schema("result")
    rare = {
        "/log/skipped/reason",
        "/log/skipped/lines",
        # No bundled sample has index rows in place, or keys in place that break a transaction over a limit.
        "/tables/current/index_rows",
        "/tables/current/index_examples",
        "/tables/recommended/loses",  # the winner loses by nothing
        *(f"/{scheme}/violations/kind" for scheme in ("account", "tables/conflicts/relaxed")),
        *(f"/tables/{scheme}/violations/kind" for scheme in ("recommended", "current", "alternatives")),
        "/tables/conflicts/relaxed/scheme/kind",
        "/tables/flip/keys/kind",
        "/tables/try_next",  # where one value is too much for a server: tests/usecases/test_pairs.py
        "/tables/conflicts/relaxed/scheme/index_rows",
        "/arrangements/rivals/shared",
        *(f"/arrangements/{a}/schemes/index_rows" for a in ("chosen", "rivals", "conflicts/relaxed/arrangement")),
        # Ranked schemes are told in short.
        *(f"/tables/alternatives/{name}" for name in ("examples", "index_examples", "transactions")),
    }
    absent = set(promised(found, found)) - occurring
    missing = {name for name in absent if not any(name == r or name.startswith(f"{r}/") for r in rare)}
    assert sorted(missing) == []


def profile_over_pairs(folder: Path) -> dict[str, Any]:
    """Of a log with an unusual minute and a refused burst, and of a design with a transaction over pairs."""
    log = folder / "log.jsonl"
    steady, minute = ((n, n % 8) for n in range(1_000)), ((600 + n / 10, 3) for n in range(300))
    requests = sorted([*((t, n, 200) for t, n in (*steady, *minute)), *((700, n, 503) for n in range(40))])
    asked = ({"at": t, "pk": f"a{n}", "status": status} for t, n, status in requests)
    log.write_text("".join(json.dumps({"table": "Accounts", "op": "query", **each}) + "\n" for each in asked))
    (folder / "design.yaml").write_text(
        'schema: 1\ntables:\n  Accounts:\n    partition_key: "{account}"\n    row_key: ""\n'
        "    properties: {account: string}\n"
        "    writes:\n      - {name: book, operation: update, key: [account], rate: 5/s}\n"
        "    transactions:\n      - {name: both, together: [book], pair: {from: account, to: account}}\n"
    )
    request = AnalyzeRequest(logs=(str(log),), design=str(folder / "design.yaml"))
    return profile(request, SilentProgress(), salt=b"")


def test_every_member_that_the_profile_schema_describes_occurs(tmp_path: Path) -> None:
    of_pairs = profile_over_pairs(tmp_path)
    assert complaints(of_pairs, "profile") == []
    occurring = {name for s in SAMPLES for name in members(json.loads(profile_text(s)))} | {*members(of_pairs)}
    found = schema("profile")
    assert sorted(set(promised(found, found)) - occurring) == []

"""The use cases from file names to a result: which table gets which data, what the options change, what is redacted."""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.cli.inputs import load_sample
from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.profile.profile import canonical_column
from pkadvisor.progress import SilentProgress
from pkadvisor.table.edm import EdmType
from pkadvisor.usecases import analyze as use_case
from tests.plain import analyze
from tests.report.support import SAMPLES, request, result


def keys(scheme: dict[str, Any]) -> list[tuple[str, str]]:
    rows = [(r["partition_key"], r["row_key"]) for r in scheme["index_rows"]]
    return [(scheme["partition_key"], scheme["row_key"]), *rows]


def test_both_race_queries_get_a_row_each_in_one_partition() -> None:
    best = result("footrace")["tables"][0]["recommended"]
    assert keys(best) == [
        ("{event}_{distance}", "BIB:{pad(bib,6)}"),
        ("{event}_{distance}", "AGE:{pad(age,3)}_{pad(bib,6)}"),
    ]
    assert [row["consistency"] for row in best["index_rows"]] == ["atomic"]
    assert {c["name"]: c["access"] for c in best["classes"]}["by-age"] == "row range"


def test_the_second_row_goes_when_its_query_goes() -> None:
    design = str(load_sample("footrace").folder / "design-bib-only.yaml")
    best = result("footrace", design=design)["tables"][0]["recommended"]
    assert best["index_rows"] == []
    assert "{pad(bib,6)}" in best["partition_key"] + best["row_key"]


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_recommended_is_no_worse_than_what_is_in_place(name: str) -> None:
    (table,) = result(name)["tables"]
    assert table["verdict"] in ("keep", "change")
    assert table["recommended"]["feasible"]
    assert table["recommended"]["score"] >= table["current"]["score"]
    assert (table["current"]["loses"] is None) == (table["verdict"] == "keep")
    assert (
        len({json.dumps([keys(s), s["index_rows"]]) for s in [table["recommended"], *table["alternatives"]]})
        == len(table["alternatives"]) + 1
    )


def strings_in(document: object) -> list[str]:
    """Every text of a result, names of members too."""
    if isinstance(document, dict):
        return [*map(str, document), *(text for value in document.values() for text in strings_in(value))]
    if isinstance(document, list):
        return [text for value in document for text in strings_in(value)]
    return [document] if isinstance(document, str) else []


@pytest.mark.parametrize("name", SAMPLES)
def test_a_redacted_result_says_the_same_without_a_key_value(name: str) -> None:
    found, plain = result(name, redact=True), result(name)
    text = " ".join(strings_in(found))  # figures may equal a value by chance
    assert keys(found["tables"][0]["recommended"]) == keys(plain["tables"][0]["recommended"])
    words = set(re.findall(r"[\w.-]+", text))
    for dataset in open_datasets(list(load_sample(name).data)):
        for batch in dataset.batches():
            for column in dataset.columns:
                values = canonical_column(batch, column.name, column.edm).drop_nulls().unique().to_list()
                telling = [v for v in values if len(v) >= 6 and column.edm is not EdmType.DOUBLE]
                assert [v for v in telling if v in words or (" " in v and v in text)] == [], column.name
    hot = [t["hot_partition"]["partition_key"] for t in (found["tables"][0]["recommended"],) if t["hot_partition"]]
    assert all(re.fullmatch(r"\[key [0-9a-f]{8}\]|", key) for key in hot)


def test_equal_keys_have_equal_tokens_throughout_a_redacted_result() -> None:
    (table,) = result("microblog", redact=True)["tables"]
    (shown,) = result("microblog")["tables"]
    for kind in ("reads", "writes"):
        tokens = {k["partition_key"] for k in table["heat_in_log"][kind]["top"]}
        assert len(tokens) == len(shown["heat_in_log"][kind]["top"])
    assert (
        table["heat_in_log"]["reads"]["top"][0]["partition_key"]
        == table["heat_in_log"]["writes"]["top"][0]["partition_key"]
    )


def test_top_limits_the_schemes_shown_and_changes_nothing_else() -> None:
    few = result("footrace", top=2)
    many = result("footrace")
    assert len(few["tables"][0]["alternatives"]) == 1
    assert len(many["tables"][0]["alternatives"]) == 4
    assert few["settings"]["command"] == many["settings"]["command"].replace("--seed", "--top 2 --seed")
    few["tables"][0]["alternatives"], few["settings"] = many["tables"][0]["alternatives"], many["settings"]
    assert few == many


@pytest.mark.long("proofs")
def test_a_window_leaves_the_requests_outside_out() -> None:
    log = result("microblog")["log"]
    middle = "2009-10-29T12:05:00Z"
    log_alone: dict[str, Any] = {"data": (), "design": None}
    before = analyze(request("microblog", until=middle, **log_alone), SilentProgress())["log"]
    after = analyze(request("microblog", since=middle, **log_alone), SilentProgress())["log"]
    assert before["requests_attempted"] + after["requests_attempted"] == log["requests_attempted"]
    assert before["last"] < middle <= after["first"]
    assert after["covered_s"] < log["covered_s"]


@pytest.mark.long("proofs")
def test_a_log_in_several_files_is_the_log(tmp_path: Path) -> None:
    sample = load_sample("microblog")
    lines = gzip.decompress(Path(sample.logs[0]).read_bytes()).splitlines(keepends=True)
    for number, part in enumerate((lines[:500], lines[500:])):
        (tmp_path / f"part{number}.log").write_bytes(b"".join(part))
    alone: dict[str, Any] = {"data": (), "design": None}
    split = analyze(request("microblog", logs=(str(tmp_path / "part*.log"),), **alone), SilentProgress())
    whole = result("microblog", **alone)
    assert [entry["name"] for entry in split["inputs"]["logs"]] == ["part0.log", "part1.log"]
    assert split["tables"] == whole["tables"]
    assert {**split["log"]} == whole["log"]


TWO = """schema: 1
tables:
  Orders:
    queries: [{name: order, filter: "id eq {id}", rate: 5/s}]
  Users:
    queries: [{name: user, filter: "name eq '{name}'", rate: 5/s}]
"""


def two_tables(folder: Path) -> AnalyzeRequest:
    (folder / "orders.csv").write_text("id,who\n" + "".join(f"{i},u{i % 9}\n" for i in range(90)))
    (folder / "people.csv").write_text("name,age\n" + "".join(f"u{i},{i}\n" for i in range(60)))
    (folder / "design.yaml").write_text(TWO)
    data = (str(folder / "orders.csv"), f"Users={folder / 'people.csv'}")
    return AnalyzeRequest(data=data, design=str(folder / "design.yaml"))


def test_data_goes_to_the_table_of_its_name_or_kind(tmp_path: Path) -> None:
    tables = analyze(two_tables(tmp_path), SilentProgress())["tables"]
    assert [(t["table"], t["data"]["entities_read"]) for t in tables] == [("Orders", 90), ("Users", 60)]
    assert [t["verdict"] for t in tables] == ["choose", "choose"]
    assert "{" in tables[1]["recommended"]["partition_key"] + tables[1]["recommended"]["row_key"]


def test_one_table_can_be_asked_for_in_any_case_of_letters(tmp_path: Path) -> None:
    from dataclasses import replace

    asked = replace(two_tables(tmp_path), data=(str(tmp_path / "orders.csv"),), tables=("orders",))
    assert [t["table"] for t in analyze(asked, SilentProgress())["tables"]] == ["Orders"]
    with pytest.raises(UsageError, match="no table 'order'") as caught:
        analyze(replace(asked, tables=("order",)), SilentProgress())
    assert "Orders" in str(caught.value)


def test_a_smaller_look_is_said_and_the_key_still_checked_over_every_row() -> None:
    (table,) = result("footrace", sample_rows=1500)["tables"]
    assert table["data"]["rows_at_hand"] == 1500
    assert table["data"]["unique_key_checked_over"] == 6000
    assert any("1,500 of 6,000" in note for note in table["notes"])
    assert keys(table["recommended"]) == keys(result("footrace")["tables"][0]["recommended"])


def test_a_filter_of_the_declared_type_holds_over_numbers_that_would_fit_a_narrower_one(tmp_path: Path) -> None:
    design = tmp_path / "design.yaml"
    design.write_text(
        "schema: 1\ntables:\n  Things:\n    partition_key: '{id}'\n    row_key: '{n}'\n"
        "    properties: {id: int64, n: int32}\n"
        "    queries:\n      - {name: by-id, filter: 'id eq {id}L', rate: 10/s}\n"
    )
    data = tmp_path / "things.csv"
    data.write_text("id,n\n" + "".join(f"{i % 7},{i}\n" for i in range(70)))
    found = analyze(AnalyzeRequest(data=(str(data),), design=str(design)), SilentProgress())
    (table,) = found["tables"]
    assert {p["name"]: p["type"] for p in table["data"]["properties"]} == {"id": "Int64", "n": "Int32"}
    assert table["current"]["feasible"]


def test_the_command_of_a_bundled_sample_names_it_and_only_a_design_of_ones_own() -> None:
    named = AnalyzeRequest(data=("any/bank/t.csv",), logs=("any/bank/t.log",), design="any/bank/d.yaml", sample="bank")
    assert use_case._settings(named).command == "advisor analyze --sample bank --seed 0"
    own = replace(named, design="own/d.yaml")
    assert use_case._settings(own).command == "advisor analyze --sample bank --design d.yaml --seed 0"
    files = replace(named, sample=None)
    assert use_case._settings(files).command == "advisor analyze t.csv --log t.log --design d.yaml --seed 0"

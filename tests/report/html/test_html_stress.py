"""The page of a stress test: every figure of the document, the answer first, and what is missing said in a line."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest
from msgspec import convert

from pkadvisor.documents.schema_errors import typed
from pkadvisor.documents.stress import StressDocument, StressTable
from pkadvisor.documents.stress_run import StressRun
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.page import render_html
from pkadvisor.report.html.place import Context, Missing, Places
from pkadvisor.report.html.stress_pictures import distinct, events, heat, heat_finding, marks_of, over_time, per_mille
from pkadvisor.report.html.stress_proof import breaks, command, endpoint, prediction
from pkadvisor.report.html.stress_sections import designs, queries, verdict
from tests.report.pages import HTML, check_figures, embedded, parsed, rows_of, text_of
from tests.stress.stressed import SAMPLE_SECONDS, document, document_of_sample


def at(found: dict[str, Any]) -> tuple[StressDocument, StressTable, Places]:
    """A document, its first table, and where its numbers stand."""
    whole: StressDocument = typed(found)
    return whole, whole.tables[0], Places(whole)


def context(section: Callable[[StressDocument, StressTable, Places], Context], found: dict[str, Any]) -> Any:
    """What a section shows of the first table; it must have something."""
    shown = section(*at(found))
    assert not isinstance(shown, Missing), shown.reason
    return shown


def first(found: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = found["tables"][0]
    return table


def drawn(found: dict[str, Any], section: str, caption: str) -> list[list[str]]:
    return rows_of(parsed(render_html(found, HtmlOptions(sections=(section,)))), caption)


def shown(found: dict[str, Any], *sections: str) -> str:
    return text_of(parsed(render_html(found, HtmlOptions(sections=sections))))


@pytest.mark.parametrize("name", SAMPLE_SECONDS)
def test_every_number_of_the_page_is_that_of_the_document(name: str) -> None:
    tree = parsed(render_html(document_of_sample(name)))
    assert embedded(tree) == document_of_sample(name)
    assert check_figures(tree) > 200


def test_everything_that_can_be_asked_for_is_on_the_page() -> None:
    tree = parsed(render_html(document()))
    assert check_figures(tree) > 200
    said = text_of(tree)
    for words in ("closed loop", "server lost", "3 clients", "alone, on a table of one range", "p99 of all requests"):
        assert words in said
    assert "add --partition" not in said
    assert "add --find-limit" in said


def test_a_request_is_one_of_the_application_and_that_is_said_once() -> None:
    found = document_of_sample("footrace")
    found["tables"].append(document_of_sample("microblog")["tables"][0])
    said = shown(found)
    assert said.count("operation: what it sends to the store") == 1
    assert said.count("operations at the store, /s mean") == 2
    assert "requests at the store" not in said


def test_a_page_is_the_same_bytes_each_time() -> None:
    assert render_html(document_of_sample("footrace")) == render_html(document_of_sample("footrace"))


# -- the verdict -------------------------------------------------------------------------------------------------------


def test_the_headline_is_of_the_design_that_is_proposed() -> None:
    found = document_of_sample("footrace")
    told = first(found)["verdict"]
    told["level"] = None
    assert context(verdict, found)["word"] == "SUSTAINS THE LOAD"
    told["new_table_bears"] = False
    assert context(verdict, found)["word"] == "SUSTAINS THE LOAD ONCE IT IS WARMED UP"
    told["bears"] = False
    assert context(verdict, found)["word"] == "DOES NOT SUSTAIN THE LOAD"
    assert context(verdict, found)["mood"] == "bad"
    told["bears"] = told["new_table_bears"] = None
    assert context(verdict, found)["word"] == "DOES NOT SUSTAIN THE LOAD"


def test_a_goal_that_the_proposed_design_misses_is_in_the_headline_and_stands_first() -> None:
    found = document_of_sample("footrace")
    table = first(found)
    table["goals"].insert(0, deepcopy(table["goals"][0]) | {"query": "by-age"})
    table["goals"][1]["designs"][-1]["met"] = False
    about = context(verdict, found)
    assert about["word"].endswith(", BUT MISSES 1 GOAL")
    assert about["mood"] == "bad"
    listed = drawn(found, "goals", "Goals")
    assert [row[0] for row in listed] == ["p99 of by-bib", "p99 of by-age"]
    assert [cell.split(" ")[-1] for cell in listed[0][2:]] == ["missed", "missed"]
    table["goals"][1]["designs"][0]["met"] = table["goals"][1]["designs"][-1]["met"] = True
    table["goals"][0]["designs"][0]["met"] = False  # the keys in use may miss what they like
    assert "MISSES" not in context(verdict, found)["word"]


def test_faults_are_in_the_headline() -> None:
    found = document_of_sample("footrace")
    found["settings"]["faults"] = ["server-down@1m"]
    assert "SUSTAINS THE LOAD UNDER THESE FAULTS" in shown(found, "verdict")


def test_the_tiles_are_of_the_warmed_up_runs_of_both_designs() -> None:
    about = context(verdict, document_of_sample("footrace"))
    runs = [design["runs"][0] for design in first(document_of_sample("footrace"))["designs"]]
    (tile,) = [tile for tile in about["tiles"] if tile["label"] == "Throttled (503)"]
    assert tile["now"].path == "tables.0.designs.0.runs.0.throttled_share"
    assert tile["after"].path == "tables.0.designs.1.runs.0.throttled_share"
    assert runs[0]["throttled_share"] > runs[1]["throttled_share"] == 0
    assert str(tile["after"]) == "0 %"
    alone = document_of_sample("footrace")
    first(alone)["designs"].pop(0)
    assert all(tile["now"] is None for tile in context(verdict, alone)["tiles"])


# -- side by side ------------------------------------------------------------------------------------------------------


def test_every_run_has_its_column() -> None:
    found = document()
    heads = [f"{d['label']}, {r['state']}" for d in first(found)["designs"] for r in d["runs"]]
    assert [head for head, _, _ in context(designs, found)["runs"]] == heads
    assert {len(row) for row in drawn(found, "designs", "Results of each run")} == {1 + len(heads)}
    assert len(heads) >= 6


def test_queries_that_get_slower_stand_first_and_are_marked() -> None:
    found = document_of_sample("footrace")
    before, after = (design["runs"][0]["classes"] for design in first(found)["designs"])
    assert after[0]["name"] == "by-bib"
    about = context(queries, found)
    assert about["worse"] == []
    slower = next(entry for entry in after if entry["name"] == "register")
    slower["latency_ms_p99"] = 1.2 * next(e for e in before if e["name"] == "register")["latency_ms_p99"]
    about = context(queries, found)
    assert about["worse"] == ["register"]
    rows = drawn(found, "queries", "Queries and writes")
    assert rows[0][0] == rows[1][0] == "register"
    assert (rows[0][-1], rows[1][-1]) == ("", "worse")
    slower["latency_ms_p99"] = 1.01 * next(e for e in before if e["name"] == "register")["latency_ms_p99"]
    assert context(queries, found)["worse"] == []


def test_a_query_that_loses_more_requests_is_worse_even_if_it_is_not_slower() -> None:
    found = document_of_sample("footrace")
    before, after = (design["runs"][0]["classes"] for design in first(found)["designs"])
    after[0]["lost_share"] = before[0]["lost_share"] + 0.01
    assert context(queries, found)["worse"] == [after[0]["name"]]


def test_what_never_came_has_no_figures() -> None:
    assert "too rare to occur in this run" in shown(document_of_sample("footrace"), "queries")


# -- pictures ----------------------------------------------------------------------------------------------------------


def test_runs_that_are_the_same_are_drawn_once() -> None:
    found = document_of_sample("footrace")
    heads = [(head, same) for head, _, same in distinct(at(found)[1])]
    assert heads == [
        ("current, warmed up", []),
        ("current, cold start", []),
        ("recommended, warmed up", ["cold start"]),
    ]
    first(found)["designs"][1]["runs"][1]["timeline"]["accepted_per_s"][0] += 1
    assert len(distinct(at(found)[1])) == 4
    assert context(over_time, found)["runs"][3]["same"] == []


def test_a_timeline_draws_attempts_latencies_and_the_hottest_partition_with_its_events() -> None:
    found = document()
    page = parsed(render_html(found, HtmlOptions(sections=("stress", "events"))))
    drawn = [figure for figure in page.iter(f"{HTML}figure") if "timeline" in figure.get("class", "")]
    assert len(drawn) == len(distinct(at(found)[1]))
    said = text_of(page)
    for words in (
        "Attempts at the store",
        "p99 latency by query",
        "Hottest partition",
        "target",
        "offered",
        "throttled",
    ):
        assert words in said
    run = at(found)[1].designs[0].runs[0]
    assert [mark.label for mark in marks_of(run)][:1] == ["server lost"]
    assert [mark.kind for mark in marks_of(run)][:1] == ["bad"]


def test_a_document_without_latencies_over_time_is_drawn_without_them() -> None:
    found = document_of_sample("footrace")
    for design in first(found)["designs"]:
        for run in design["runs"]:
            del run["timeline"]["latencies"]
    assert "p99 latency by query" not in shown(found, "stress")


def test_a_load_is_never_drawn_as_none() -> None:
    assert [per_mille(v) for v in (0, 1e-9, 0.0004, 0.0016, 1, 7.5, 1e308)] == [0, 1, 1, 2, 1000, 7500, 10**9]


def test_the_finding_of_a_map_counts_the_rows_over_the_target() -> None:
    run = deepcopy(first(document_of_sample("footrace"))["designs"][0]["runs"][0])
    run["heat"].pop("pattern", None)
    run["heat"]["rows"] = [
        {"from_key": "a", "partitions": 1, "times_target": [0.1, 0.2]},
        {"from_key": "b", "partitions": 3, "times_target": [1.5, 0]},
        {"from_key": "", "partitions": 1, "times_target": [0, 1.0]},
    ]
    told = heat_finding(convert(run, StressRun))
    assert told.startswith("2 of 3 rows over the target of a partition; the hottest row is b and 2 more, at most 1.5x")
    run["heat"]["pattern"] = {"name": "hot-key", "sentence": "one key takes it", "share": 0.9, "count": 1}
    assert heat_finding(convert(run, StressRun)) == f"one key takes it; {told}"
    run["heat"]["rows"] = [{"from_key": "a", "partitions": 1, "times_target": [0, 0]}]
    assert heat_finding(convert(run, StressRun)) == "no load"


def test_a_run_without_a_map_says_so() -> None:
    found = document_of_sample("footrace")
    for design in first(found)["designs"]:
        for run in design["runs"]:
            run["heat"] = {"step_s": 0, "rows": []}
    assert isinstance(heat(*at(found)), Missing)


def test_quiet_runs_say_how_to_see_an_event() -> None:
    found = document_of_sample("footrace")
    for design in first(found)["designs"]:
        for run in design["runs"]:
            run["events"] = []
    missing = events(*at(found))
    assert isinstance(missing, Missing)
    assert "add --fault" in missing.reason


def test_events_tell_the_keys_the_shares_and_how_long_nobody_served() -> None:
    found = document()
    told = first(found)["designs"][0]["runs"][0]["events"]
    run = first(found)["designs"][0]
    rows = drawn(found, "events", f"Events: {run['label']}, {run['runs'][0]['state']}")
    assert len(rows) == len(told)
    assert rows[0][1:3] == ["1 s", "server lost"]


# -- how far to believe it ---------------------------------------------------------------------------------------------


def test_a_prediction_that_fails_is_named() -> None:
    found = document_of_sample("footrace")
    about = context(prediction, found)
    assert [part["wrong"] for part in about["parts"]] == [[], []]
    entry = first(found)["designs"][1]["prediction"]["classes"][0]
    entry["agrees"] = entry["measures"][0]["agrees"] = False
    said = shown(found, "prediction")
    assert "The model is wrong about by-bib" in said and "by-age: in the sampled data" in said


def test_wrong_answers_of_the_engine_are_told() -> None:
    found = document_of_sample("footrace")
    audit = first(found)["designs"][0]["prediction"]["audit"]
    audit["violations"], audit["examples"] = 2, ["GET <b>: 404, but it is there"]
    said = shown(found, "prediction")
    assert "2 answers were wrong" in said
    assert "GET <b>: 404, but it is there" in said


def test_a_break_that_a_run_does_not_prove_is_told() -> None:
    found = document_of_sample("footrace")
    proof = first(found)["designs"][0]["prediction"]["breaks"][0]
    moods = []
    for holds in (True, False, None):
        proof["holds"] = holds
        moods.append(context(breaks, found)["parts"][0]["proofs"][0][1:])
    assert moods == [("proved", "good"), ("does not hold", "bad"), ("not proved by a run", "warn")]


def test_the_highest_load_and_what_binds_are_told() -> None:
    found = document_of_sample("footrace")
    first(found)["designs"][1]["limit"] = {"factor": 10.5, "requests_per_s": 3937.5, "binds": "the target of one range"}
    said = shown(found, "breaks")
    assert (
        "The highest load that meets the goals is 10.5x (3,938/s); above it, the target of one range is the limit."
        in said
    )
    assert "add --find-limit" not in said


def test_without_a_real_endpoint_the_page_says_how_to_get_one() -> None:
    missing = endpoint(*at(document_of_sample("footrace")))
    assert isinstance(missing, Missing)
    assert "--target" in missing.reason


def test_what_a_real_endpoint_measured_is_shown_with_its_warnings() -> None:
    found = document_of_sample("footrace")
    first(found)["designs"][1]["measured"] = measured(first(found)["designs"][1]["runs"][0])
    page = parsed(render_html(found))
    said = text_of(page)
    for words in (
        "recommended on table.example, 2026-11-20",
        "stopped at --max-transactions",
        "the client could not keep up",
        "7 operations got no answer",
        "the table pkadvisorx could not be removed",
        "1 of 40 answers were wrong",
        "read_latency_ms_p50",
        "burst_s was not measured: no run was throttled",
    ):
        assert words in said
    assert check_figures(page) > 200


def measured(run: dict[str, Any]) -> dict[str, Any]:
    """A run on an endpoint on which everything went wrong that can."""
    found = {"name": "read_latency_ms_p50", "unit": "ms", "predicted": 3.5, "basis": "assumed", "measured": 4.25}
    return {
        "host": "table.example",
        "date": "2026-11-20",
        "table": "pkadvisorx",
        "rows": 6000,
        "concurrency": 8,
        "complete": True,
        "stopped": "max-transactions",
        "why": "",
        "unanswered": 7,
        "late_share": 0.25,
        "late_ms_max": 900,
        "kept_up": False,
        "run": run,
        "residuals": [
            {
                "class": "by-bib",
                "name": "latency_ms_p50",
                "unit": "ms",
                "predicted": 3.5,
                "measured": 4.25,
                "residual": 0.75,
            }
        ],
        "calibration": {
            "found": [found | {"low": 4, "high": 4.5, "count": 900, "of": "reads"}],
            "left_out": [{"name": "burst_s", "why": "no run was throttled"}],
        },
        "removed": False,
        "transactions": 12_345,
        "cost_usd": None,
        "audit": {"operations": 40, "violations": 1, "examples": ["GET x: 404, but it is there"]},
    }


# -- method, reproduce, bad documents ----------------------------------------------------------------------------------


def test_the_command_says_what_was_asked_for_and_leaves_out_the_usual() -> None:
    found = document()
    told = command(typed(found))
    assert told == (
        "advisor stress scores.csv --design design.yaml --duration 3s --fault server-down@1s+1s --slo p99=50ms "
        "--slo throttled=0.1% --partition hottest --clients 3 --think 0.01s --vms 2"
    )
    found = document_of_sample("microblog")
    told = command(typed(found))
    assert told == "advisor stress blogs.csv --log table-000000.log.gz --design design.yaml --duration 5s"
    found["inputs"]["files"][0]["name"] = "b; rm -rf '*'.csv"
    assert "'b; rm -rf '\"'\"'*'\"'\"'.csv'" in command(typed(found))


def test_an_older_document_says_that_it_names_no_files() -> None:
    found = document_of_sample("footrace")
    del found["inputs"]
    assert "does not name the files" in shown(found, "reproduce")


@pytest.mark.parametrize(
    ("level", "word", "mood"),
    [
        ("bears", "SUSTAINS THE LOAD", "good"),
        ("bursts", "SUSTAINS THE LOAD, WITH RETRIES IN BURSTS", "warn"),
        ("fails", "DOES NOT SUSTAIN THE LOAD", "bad"),
        (None, "SUSTAINS THE LOAD", "good"),
    ],
)
def test_the_headline_is_that_of_the_level(level: str | None, word: str, mood: str) -> None:
    found = document_of_sample("footrace")
    first(found)["verdict"] |= {"level": level, "failed_predictions": 0}
    about = context(verdict, found)
    assert (about["word"], about["mood"]) == (word, mood)


def test_a_prediction_that_did_not_come_true_takes_the_green_from_the_headline() -> None:
    found = document_of_sample("footrace")
    first(found)["verdict"] |= {"level": "bears", "failed_predictions": 2}
    assert context(verdict, found)["mood"] == "warn"


def test_seconds_with_throttling_are_told_with_the_longest() -> None:
    found = document_of_sample("footrace")
    first(found)["designs"][0]["runs"][0]["throttling"] = {"seconds": 12, "longest_s": 7}
    (row,) = [row for row in drawn(found, "designs", "Results") if row[0] == "seconds with throttling"]
    assert row[1] == "12 7 in a row at most"


def test_a_load_that_is_not_predicted_says_why() -> None:
    found = document_of_sample("footrace")
    measure = first(found)["designs"][0]["prediction"]["load"][0]
    measure |= {"agrees": None, "why": "no law holds above the target"}
    assert "no law holds above the target" in shown(found, "prediction")
    measure["agrees"] = False
    assert drawn(found, "prediction", "Load and latency")[0][5] == "differs"

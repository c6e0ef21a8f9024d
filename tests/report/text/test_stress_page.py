"""The page of a stress test: whole at every width, harmless, the answer in its first line, what to do in the last."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.documents.schema_errors import typed
from pkadvisor.numbers import lasting
from pkadvisor.report.text.stress_page import render_stress
from tests.cli.support import checked
from tests.stress.stressed import SAMPLE_SECONDS, document, document_of_sample

FIRST_SCREEN_LINES = 24
GOLDEN = Path(__file__).parents[1] / "golden"
CODES = re.compile(r"\x1b\[[0-9;]*m")
HOSTILE = "a\x1b[2J\x1b]0;t\x07[red]x[/red]\u202eb\u2066\nc\r\u2028\x9b31m\x7f\U000e0041 é😀"


def page(found: dict[str, Any], width: int = 80, **more: Any) -> str:
    return render_stress(typed(found), **{"width": width, "color": False, "ascii_only": False, "details": True, **more})


def widest(text: str) -> int:
    """The longest line but for the next command: one in two lines cannot be pasted."""
    return max(len(line) for line in text.splitlines() if not line.startswith("  next: "))


def squeezed(text: str) -> str:
    """Without line ends, indentation and blanks."""
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_nothing_is_wider_than_the_page_or_missing(width: int) -> None:
    found = document()
    text = page(found, width)
    assert widest(text) <= width
    for design in found["tables"][0]["designs"]:
        assert squeezed(
            design["scheme"]["partition_key"]["text"]
            if isinstance(design["scheme"]["partition_key"], dict)
            else design["scheme"]["partition_key"]
        ) in squeezed(text)
        assert squeezed(design["partition_test"]["verdict"]) in squeezed(text)
        for run in design["runs"]:
            assert run["state"] in text


def test_a_request_is_one_of_the_application_everywhere_and_that_is_said_once_before_the_figures() -> None:
    """What one sends to the store are operations, which documents call requests."""
    found = document()
    found["tables"][0]["verdict"]["sentences"] = []
    text = " ".join(page(found, 120).split())
    assert text.count("operation: what it sends to the store") == 1
    assert text.index("operation: what it sends") < text.index("Predicted and measured")
    told = text[text.index("Predicted and measured") :]
    assert ": operations 1, entities read 1" in told
    assert ": requests 1" not in text


def test_numbers_that_differ_are_never_shown_as_the_same() -> None:
    found = document()
    measure = found["tables"][0]["designs"][0]["prediction"]["classes"][0]["measures"][0]
    measure |= {"predicted": 2.00143, "measured": 2, "agrees": False}
    assert "operations 2.00143 but 2 measured" in page(found, 200)
    measure["predicted"] = 3
    assert "operations 3 but 2 measured" in page(found, 200)


def test_ascii_is_ascii_and_colour_is_only_colour() -> None:
    found = document()
    assert page(found, ascii_only=True).isascii()
    coloured = page(found, color=True)
    assert "\x1b[1;31m" in coloured
    assert CODES.sub("", coloured) == page(found)


def test_the_first_line_is_the_answer() -> None:
    found = document()
    found["tables"][0]["verdict"]["failed_predictions"] = 0
    first = page(found, 120).splitlines()[0]
    assert first == "Scores, recommended: sustains the load under these faults, but misses p99 and 1 more goal"
    found["settings"]["faults"] = []
    (verdict, goals) = (found["tables"][0][name] for name in ("verdict", "goals"))
    verdict["new_table_bears"] = False
    first = page(found, 160).splitlines()[0]
    told = "sustains the load once Azure has split the table, but misses p99 and 1 more goal"
    assert first == f"Scores, recommended: {told}; a new table does not sustain it"
    for mark in (mark for goal in goals for mark in goal["designs"]):
        mark["met"] = True
    verdict["bears"] = False
    assert (
        page(found, 120).splitlines()[0] == "Scores, recommended: does not sustain the load, though it meets every goal"
    )
    found["tables"][0]["goals"] = []
    verdict["failed_predictions"] = 2
    told = "does not sustain the load; but 2 predictions did not come true"
    assert page(found, 120).splitlines()[0] == f"Scores, recommended: {told}"
    verdict |= {"failed_predictions": 0, "bears": True, "level": "bursts", "new_table_bears": True}
    told = "sustains the load, with bursts throttled and retried"
    assert page(found, 120).splitlines()[0] == f"Scores, recommended: {told}"
    verdict |= {"bears": False, "level": "fails"}
    assert page(found, 120).splitlines()[0] == "Scores, recommended: does not sustain the load"
    found["complete"] = False
    assert "interrupted: the figures cover only the part that was run" in page(found, 120)


def test_keys_that_stay_are_no_new_table_and_one_wrong_prediction_is_no_headline() -> None:
    found = document()
    found["settings"]["faults"] = []
    table = found["tables"][0]
    table["goals"], table["designs"] = [], table["designs"][:1]
    table["verdict"] |= {"failed_predictions": 1, "bears": True, "level": "bears", "new_table_bears": False}
    table["designs"][0]["label"] = "current = recommended"
    assert page(found, 120).splitlines()[0] == "Scores, current = recommended: sustains the load"
    table["designs"][0]["label"] = "recommended"
    told = "sustains the load once Azure has split the table; but 1 prediction did not come true"
    assert page(found, 160).splitlines()[0].startswith(f"Scores, recommended: {told}")
    table["designs"][0]["label"] = "current = recommended"
    table["verdict"] |= {"bears": False, "level": "fails"}
    told = "does not sustain the load; but 1 prediction did not come true"
    assert page(found, 120).splitlines()[0] == f"Scores, current = recommended: {told}"


def test_the_steps_to_deploy_are_those_of_a_new_table_or_of_the_index_rows_that_differ() -> None:
    found = document()
    table = found["tables"][0]
    table["goals"], table["verdict"]["new_table_bears"] = [], True
    now, after = (design["scheme"] for design in table["designs"])
    assert "Deploy: write each new entity to a new table too, copy" in page(found, 160)
    after |= {"partition_key": now["partition_key"], "row_key": now["row_key"]}
    row = {"partition_key": "P:{player}", "row_key": "", "copy": "full", "consistency": "eventual"}
    after["index_rows"] = [row]
    assert "Deploy: write the index rows with each new entity, add those" in page(found, 160)
    now["index_rows"], after["index_rows"] = [row], []
    assert "Deploy: move the queries off the index rows that go, then stop writing them." in page(found, 160)
    table["verdict"]["bears"] = False
    assert "Deploy:" not in page(found, 160)


def test_the_load_that_would_all_be_served_is_that_of_the_run() -> None:
    """As the analysis predicts under the expected load, as the model does under another."""
    found = document()
    (table,) = found["tables"]
    for design in table["designs"]:
        design["scheme"]["hot_partition"]["entities_per_s_peak"] = 400.0
        (hottest,) = (each for each in design["prediction"]["load"] if each["name"] == "hottest partition")
        hottest["predicted"] = 4_000.0
        for run in design["runs"]:
            run["hottest"]["target_entities_per_s"] = 2_000.0

    def served(load: str) -> set[str]:
        found["settings"]["load"] = load
        line = next(line for line in page(found).splitlines() if "hottest if all served" in line)
        return set(line.split()[4:])

    assert served("x1") == {"0.20x"}
    assert served("x10") == {"2x"}


def test_keys_that_serve_less_are_not_to_be_used() -> None:
    found = document()
    found["tables"][0]["verdict"]["keep_current"] = True
    lines = page(found, 160).splitlines()
    assert lines[0].startswith("Scores, do not change the keys: recommended: ")
    assert "--scheme 2   # tests the next best keys; keep the current ones" in lines[-1]


def test_the_first_screen_has_the_verdict_the_figures_and_one_command_and_the_rest_is_behind_details() -> None:
    found = document()
    for design in found["tables"][0]["designs"]:
        design |= {"partition_test": None, "limit": None}
        del design["runs"][2:]  # the clients
    whole, first = page(found), page(found, details=False)
    assert first.splitlines()[0] == whole.splitlines()[0]
    assert len(first.splitlines()) <= FIRST_SCREEN_LINES < len(whole.splitlines())
    for name in (
        "throttled, simulated",
        "lost requests",
        "hottest, simulated",
        "hottest if all served",
        "goal p99",
        "Simulated: ",
    ):
        assert name in first
    for name in ("p99.9", "query by query", "Where the load falls", "Predicted and measured", "PartitionKey"):
        assert name in whole and name not in first


def test_what_an_option_asks_for_stands_on_the_first_screen() -> None:
    found = document()
    first = page(found, 200, details=False)
    assert f"it {found['tables'][0]['designs'][0]['partition_test']['verdict']}" in first
    found["tables"][0]["designs"][-1]["limit"] = {"factor": 2.0, "requests_per_s": 800.0, "binds": ""}
    assert "the highest load that meets the goals is 2x (800 requests/s)" in page(found, 200, details=False)


def test_the_last_line_is_the_next_command_as_it_is_typed() -> None:
    found = document()
    found["settings"]["goals"] = []
    table = found["tables"][0]
    told = page(found, inputs="'my data.csv' --design d.yaml").splitlines()[-1]
    assert told.startswith("  next: advisor stress 'my data.csv' --design d.yaml ")
    assert told.endswith(" --find-limit   # finds the load that recommended serves")
    assert "--engine" not in told
    found["settings"] |= {"engine": True, "sample_keys": 3}
    assert " --engine --sample-keys 3 --find-limit " in page(found).splitlines()[-1]
    table["goals"] = []
    table["verdict"] |= {"bears": True, "failed_predictions": 1}
    assert page(found).splitlines()[-1].endswith(" --details   # shows where the run differs from the prediction")
    table["verdict"]["failed_predictions"] = 0
    found["inputs"]["design"] = "my design.yaml"
    after = "   # after you write the recommended keys into it"
    assert page(found).splitlines()[-1] == f"  next: advisor review 'my design.yaml'{after}"
    table["designs"][-1]["label"] = "current = recommended"
    assert page(found).splitlines()[-1].endswith("   # checks the current keys by rules")
    table["designs"][-1]["label"] = "recommended"
    typed = page(found, inputs="x.csv --design 'deep/my design.yaml'").splitlines()[-1]
    assert typed == f"  next: advisor review 'deep/my design.yaml'{after}"
    assert (
        page(found, inputs="--sample footrace")
        .splitlines()[-1]
        .startswith("  next: advisor explain scheme:1 --sample footrace ")
    )
    found["complete"] = False
    assert "--duration 1m   # a shorter run: this one was interrupted" in page(found).splitlines()[-1]


def test_heat_is_shown_where_it_is_hot() -> None:
    found = document()
    text = page(found)
    assert text.count("Where the load falls") == 3  # in each state of the keys in use, and in none of the others
    for run in found["tables"][0]["designs"][0]["runs"]:
        for row in run["heat"]["rows"]:
            row["times_target"] = [0.1]
    assert page(found).count("Where the load falls") == 1


def test_what_is_not_throttled_has_no_line_of_blanks() -> None:
    lines = [line for line in page(document()).splitlines() if line.startswith("  throttled |")]
    assert lines
    assert all(re.search(r"\|.*[▁-█].*\|", line) for line in lines)


def test_a_class_that_never_came_is_said_so() -> None:
    found = document()
    entry = found["tables"][0]["designs"][0]["runs"][0]["classes"][0]
    entry |= {"requests": 0, "latency_ms_p50": None, "latency_ms_p99": None, "latency_ms_p99.9": None}
    assert f"{entry['name']}  too rare to occur in this run" in page(found)
    assert f"too rare to occur: '{entry['name']}'" in " ".join(page(found, details=False).split())


def hostile(node: Any, names: tuple[str, ...]) -> None:
    if isinstance(node, dict):
        for name, value in node.items():
            if name in names and isinstance(value, str):
                node[name] = HOSTILE
            hostile(value, names)
    elif isinstance(node, list):
        for value in node:
            hostile(value, names)


def test_keys_are_hostile_text() -> None:
    found = document()
    hostile(found, ("partition_key", "from_key", "until_key", "table", "label", "server"))
    for design in found["tables"][0]["designs"]:
        hostile(design, ("name",))
        for run in design["runs"]:
            run["heat"]["pattern"] = None  # its name is a word of the schema
    for entry in found["tables"]:
        entry["verdict"]["sentences"] = [HOSTILE]
        entry["notes"] = [HOSTILE]
    for goal in found["tables"][0]["goals"]:
        goal["query"] = HOSTILE
    for width in (40, 120):
        text = page(found, width)
        assert all(line.isprintable() for line in text.splitlines())
        assert "\u202e" not in text
        assert widest(text) <= width
        assert page(found, width, ascii_only=True).isascii()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.09, "90 ms"),
        (1, "1 s"),
        (12.5, "12.5 s"),
        (59.4, "59.4 s"),
        (60, "1 min"),
        (306, "5 min 6 s"),
        (600, "10 min"),
        (5400, "1 h 30 min"),
        (86_400, "24 h"),
    ],
)
def test_times_are_told_in_units_that_people_use(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


@pytest.mark.parametrize("name", SAMPLE_SECONDS)
def test_pages_are_as_kept(name: str) -> None:
    """PKADVISOR_GOLDEN=write makes the pages anew."""
    kept = GOLDEN / f"stress-{name}-100.txt"
    shown = page(document_of_sample(name), 100)
    if os.environ.get("PKADVISOR_GOLDEN") == "write":
        kept.write_text(shown, encoding="utf-8")
    assert shown == kept.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAMPLE_SECONDS)
def test_results_of_samples_keep_to_the_schema(name: str) -> None:
    found = checked(json.dumps(document_of_sample(name)), "stress")
    assert found["complete"]

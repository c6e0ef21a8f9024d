"""Stress documents that are hostile, not whole, or of a test that was interrupted, as a page."""

from __future__ import annotations

import re
from typing import Any

import pytest

from pkadvisor.documents.schema_errors import departure, typed
from pkadvisor.report.html.page import render_html
from pkadvisor.report.html.stress_proof import command
from tests.report.html.test_html_stress import first, shown
from tests.report.pages import HTML, embedded, parsed, text_of
from tests.stress.stressed import document, document_of_sample


def test_redacted_keys_stay_hidden() -> None:
    found = document(redact=True)
    page = render_html(found).decode()
    assert "--redact keys" in command(typed(found)), "to run it again must not show them"
    assert "secret" not in page
    assert "[key " in page


@pytest.mark.parametrize("hostile", ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "\u202ex"])
def test_hostile_keys_are_text(hostile: str) -> None:
    found = document()
    for design in first(found)["designs"]:
        design["label"] = hostile
        for run in design["runs"]:
            run["hottest"]["partition_key"] = hostile
            for row in run["heat"]["rows"]:
                row["from_key"] = hostile
            for event in run["events"]:
                event["server"] = hostile
                for part in event["ranges"]:
                    part["from_key"] = part["until_key"] = hostile
    tree = parsed(render_html(found))
    assert embedded(tree) == found
    assert not list(tree.iter(f"{HTML}img"))
    assert len(list(tree.iter(f"{HTML}script"))) == 2
    assert hostile.replace("\u202e", "\\u202e") in text_of(tree)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        (("designs", 0, "runs", 0, "throttled_share"), r"tables\.0\.designs\.0\.runs\.0\.throttled_share"),
        (("verdict", "bears"), r"tables\.0\.verdict\.bears"),
        (("designs", 1, "prediction", "load"), r"tables\.0\.designs\.1\.prediction\.load"),
        (("designs", 0, "runs", 0, "timeline"), r"tables\.0\.designs\.0\.runs\.0\.timeline"),
    ],
)
def test_a_document_that_is_not_whole_is_refused_with_the_place(path: tuple[str | int, ...], told: str) -> None:
    found = document_of_sample("footrace")
    inner: Any = first(found)
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    assert re.fullmatch(f"{told} is missing", departure(found))


def test_a_test_that_was_interrupted_before_anything_ran_is_a_page_that_says_so() -> None:
    found = document_of_sample("footrace")
    whole, found["complete"], found["outcome"] = found["outcome"], False, "incomplete"
    table = first(found)
    table["designs"], table["goals"] = [], []
    table["verdict"] |= {"sentences": [], "style": "warn", "level": None, "bears": None, "new_table_bears": None}
    table["verdict"]["designs"] = []
    said = shown(found)
    assert "Nothing was run to its end" in said
    assert "The test was interrupted" in said
    assert not departure(found)
    assert departure(found | {"complete": True, "outcome": whole}) == "tables.0.designs holds 0, not 1"

"""Annotations and pages of a review: every finding at its place, every error a line of its own."""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from pkadvisor.documents.review import ReviewFinding
from pkadvisor.report import review_words as words
from pkadvisor.report.formats.annotations import render_azure, render_github, render_gitlab
from pkadvisor.report.formats.junit import render_junit
from pkadvisor.report.formats.review_markdown import CHARACTERS_MAX, render_markdown
from pkadvisor.report.formats.sarif import RESULTS_MAX, render_sarif
from pkadvisor.report.review_words import open_findings
from pkadvisor.report.text.review_page import SHOWN, render_concise, render_review
from tests.review.documents import (
    NAME,
    Document,
    broken,
    copy,
    design,
    diff,
    document,
    everything,
    finding,
    hot,
    metric,
    rendered,
    suppressed,
    text,
    typed,
    worsened,
)
from tests.review.test_outputs import HERE, sarif

# --- annotations


def commands(page: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them: kind, properties, message."""
    found = []
    for line in page.splitlines():
        match = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert match, line
        pairs = [pair.partition("=")[::2] for pair in match[2].split(",")]
        properties = {key: unquote(value) for key, value in pairs}
        found.append((match[1], properties, unquote(match[3])))
    return found


def test_github_annotations_say_place_rule_and_message() -> None:
    told = commands(render_github(typed(everything()), {NAME: "sub/schema/orders.yaml"}))
    assert [kind for kind, _, _ in told] == ["error", "error", "error"]
    assert told[1][1] == {
        "file": "sub/schema/orders.yaml",
        "line": "4",
        "col": "9",
        "endLine": "4",
        "endColumn": "27",
        "title": "PK103 hot-partition (new)",
    }
    assert "3,400 entities/s" in told[1][2]


def test_github_gets_ten_of_a_kind_and_the_tenth_says_how_many_more() -> None:
    many = [finding(subject=f"e{i}") for i in range(24)]
    many += [finding("PK202", "warning", subject=f"w{i}") for i in range(10)]
    told = commands(render_github(typed(document(design(*many))), {}))
    errors = [message for kind, _, message in told if kind == "error"]
    warnings = [message for kind, _, message in told if kind == "warning"]
    assert (len(errors), len(warnings)) == (10, 10)
    assert errors[9].endswith("(and 14 more, see the summary)")
    assert not any("more, see" in message for message in (*errors[:9], *warnings))


def test_azure_logs_issues_and_escapes_as_its_agent_reads() -> None:
    hard = finding(message="50% of ];\nx", subject="q]")
    made = document(design(hard, finding("PK203", "info"), name="a;b].yaml"))
    lines = render_azure(typed(made), {}).splitlines()
    found = re.fullmatch(r"##vso\[task\.logissue ([^\]]*)\](.*)", lines[0])
    assert found
    properties = dict(pair.split("=", 1) for pair in found[1].split(";"))
    assert properties == {
        "type": "error",
        "sourcepath": "a%3Bb%5D.yaml",
        "linenumber": "7",
        "columnnumber": "9",
        "code": "PK201",
    }
    assert found[2].startswith("50%AZP25 of ];\\x0ax")
    assert lines[1].startswith("a;b].yaml:7:9: PK203 info")
    assert lines[-1] == "GATE FAILED: 1 error, 1 info (fail-on: error)"


def test_gitlab_gets_issues_with_fingerprints_of_their_own() -> None:
    issues = json.loads(render_gitlab(typed(document(design(finding(), finding(), suppressed()), broken())), {}))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 3
    assert [issue["severity"] for issue in issues] == ["blocker", "critical", "critical"]
    assert issues[1]["location"] == {"path": NAME, "lines": {"begin": 7, "end": 7}}
    assert issues[1]["check_name"] == "PK201"
    assert issues[0]["location"]["lines"]["begin"] == 3


def test_every_error_of_a_design_is_a_line_an_issue_and_a_notification_of_its_own() -> None:
    bad = broken()
    others = ("schema/bad.yaml:7:3: a second error: 'x: 1'; did you mean 'y'?", "2 more after these")
    bad = typed(document(bad | {"error": bad["error"] | {"others": others}}))
    lines = [line for line in render_concise(bad).splitlines() if " unreadable " in line]
    assert [line.partition(" unreadable")[0] for line in lines] == [
        f"schema/bad.yaml:{p}:" for p in ("3:5", "7:3", "1:1")
    ]
    assert lines[1].endswith("a second error: 'x: 1'; did you mean 'y'?")
    issues = json.loads(render_gitlab(bad, {}))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues) == 3
    notes = json.loads(render_sarif(bad, {}))["runs"][0]["invocations"][0]["toolConfigurationNotifications"]
    assert [n["locations"][0]["physicalLocation"]["region"]["startLine"] for n in notes] == [3, 7, 1]


# --- text


def test_concise_lines_are_read_by_editors() -> None:
    found = re.findall(
        r"^(.+?):(\d+):(\d+): (\S+) (error|warning|info) (.+)$", render_concise(typed(everything())), re.M
    )
    assert [(path, line, column, rule) for path, line, column, rule, _, _ in found] == [
        ("schema/bad.yaml", "3", "5", "unreadable"),
        (NAME, "4", "9", "PK103"),
        (NAME, "7", "9", "PK201"),
    ]


def test_the_page_begins_with_the_verdict_and_ends_with_what_to_do() -> None:
    quiet, failed, broken_too = (
        text(found).splitlines() for found in (document(design()), document(design(hot())), everything())
    )
    assert quiet[0] == "GATE PASSED: no findings (fail-on: error); the load is a lower bound: no data"
    assert quiet[-1] == "  next: give --profile or --data: 1 rule could not be checked"
    assert failed[0] == "GATE FAILED: 1 error (fail-on: error)"
    assert failed[-1] == f"  next: advisor explain PK103   # fix PK103 in {NAME}:4 first"
    assert broken_too[0].startswith("NOT REVIEWED: 1 design cannot be read; 2 errors")
    assert broken_too[-1] == "  next: correct schema/bad.yaml:3:5, which cannot be read"


def test_the_first_screen_has_the_worst_findings_and_says_how_many_more_there_are() -> None:
    warnings = [hot(severity="warning", gating=False) for _ in range(SHOWN)]
    made = document(design(*warnings, hot()))
    first = text(made, details=False)
    assert first.splitlines()[3] == "PK103 hot-partition  [error]", "the worst one is last in the design"
    assert first.count(f"  {NAME}:4:") == SHOWN, "of each finding its place"
    assert first.count("PK103 hot-partition") == first.count("  fix: ") == 2, "each fix once, of either severity"
    assert text(made).count(hot()["fix"][:20]) == 1 and text(made).count("as for PK103 above") == SHOWN
    assert "1 more finding: --details shows it" in first
    assert " --> " not in first and " --> " in text(made)
    assert first.splitlines()[-1] == text(made).splitlines()[-1]


def test_a_gate_that_is_off_is_not_said_to_be_passed() -> None:
    off = document(design(hot(gating=False))) | {"outcome": "passed"}
    off["gate"]["fail_on"] = "never"
    assert text(off).splitlines()[0] == "1 error, gate off"
    assert text(off).splitlines()[-1] == f"  next: advisor explain PK103   # look at PK103 in {NAME}:4 first"


def test_carets_stand_below_the_place() -> None:
    lines = text(document(design(hot(excerpt='\tkey: "日{day}"', line=12)))).splitlines()
    row = next(number for number, line in enumerate(lines) if line.startswith("12 |"))
    assert lines[row] == '12 |     key: "日{day}"'
    assert lines[row + 1].index("^") == lines[row].index("{") + 1  # a wide character before it


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_no_key_is_cut_at_any_width(width: int, ascii_only: bool) -> None:
    key = "{tenantId}_" + "{hash(deviceId,16):02x}_" * 40
    told = worsened()
    told["keys"][0] |= {"partition_key": ["{old}", key], "index_rows_added": [f"{key} / {{id}}"]}
    made = document(design(hot(subject=key, excerpt=f"partition_key: {key}", proposal=f"{key} / x"), diff=told))
    page = render_review(typed(made), width=width, color=False, ascii_only=ascii_only)
    squeezed = re.sub(r"[\s^|=]", "", page)
    assert squeezed.count(re.sub(r"[\s^|=]", "", key)) >= 4
    assert max(len(line) for line in page.splitlines() if not line.startswith("  next: ")) <= width
    assert page.isascii() or not ascii_only


def test_suppressed_findings_are_counted_or_listed_with_their_reason() -> None:
    found = everything()
    assert "1 finding suppressed" in text(found)
    assert "a nightly export" not in text(found)
    assert "a nightly export (until 2027-03-31)" in text(found, show_suppressed=True)


def test_rules_without_data_are_one_line() -> None:
    page = text(document(design(), design(name="b.yaml")))
    assert page.count("profile (--profile)") == 1
    assert "1 rule needs a profile" in page


def test_a_finding_of_the_baseline_is_told_only_if_it_got_worse() -> None:
    told = [f.rule for _, f in open_findings(typed(everything()))]
    assert told == ["PK103", "PK201"]
    assert "1 finding in the baseline" in text(everything())


# --- Markdown


def test_markdown_begins_with_its_marker_and_the_verdict() -> None:
    page = render_markdown(typed(document(design(hot(status="new"), diff=worsened()))), {}).splitlines()
    assert page[0] == "<!-- pkadvisor:review -->"
    assert page[1] == "### Partition-key review: FAILED · 1 error (1 new, 1 fixed)"


def test_the_marker_is_the_same_for_one_design_and_for_several() -> None:
    pages = [
        render_markdown(typed(document(*designs)), {})
        for designs in ((design(name="a--b>.yaml"),), (design(), broken()))
    ]
    assert {page.splitlines()[0] for page in pages} == {"<!-- pkadvisor:review -->"}


def test_a_change_of_the_profile_alone_is_in_the_summary() -> None:
    share = metric("hottest partition share", 0.2, 0.4, unit="share")
    page = render_markdown(typed(document(design(diff=diff(profile_changed=True, load_metrics=[share])))), {})
    assert "The profile changed" in page
    assert "| hottest partition share | 20 % | **40 %** | +20 points | worse |" in page


def test_small_moves_are_not_worth_a_comment() -> None:
    def page(*found: Document, **more: Any) -> str:
        return render_markdown(typed(document(design(*found, diff=diff(**more)))), {}, if_changed=0.02)

    small = [metric("peak partition load", 1.0, 1.019)]
    assert "<!-- pkadvisor:unchanged -->" in page(metrics=small)
    assert page(metrics=small).startswith("<!-- pkadvisor:review -->\n")
    assert "unchanged -->" not in page(metrics=[metric("peak partition load", 1.0, 1.021)])
    assert "unchanged -->" not in page(metrics=[metric("peak partition load", None, 1.0)])
    assert "unchanged -->" not in page(metrics=small, fixed=[finding()])
    assert "unchanged -->" not in page(finding("PK202", "warning", status="new", gating=False), metrics=small)
    assert "unchanged -->" not in page(finding(), metrics=small), "a gate that failed is told"
    assert "unchanged -->" not in page(metrics=small, keys=worsened()["keys"])
    assert "unchanged -->" not in page(metrics=small, queries=worsened()["queries"])
    nothing_compared = render_markdown(typed(document(design())), {}, if_changed=0.02)
    assert "unchanged -->" not in nothing_compared


# --- all of them


@pytest.mark.long("proofs")
def test_ten_thousand_findings_stay_within_every_cap() -> None:
    many = [finding(subject=f"q{i}", line=i + 1) for i in range(10_000)]
    found = document(design(*many))
    page = render_markdown(typed(found), {})
    assert len(page) <= CHARACTERS_MAX
    shown = page.count("<details>")
    assert shown > 50
    assert f"Left out here: {10_000 - shown:,} findings" in page
    assert page.count("<details>") == page.count("</details>")
    assert len(render_github(typed(found), {}).splitlines()) == 10
    ElementTree.parse(io.BytesIO(render_junit(typed(found), {})))
    assert len(json.loads(render_gitlab(typed(found), {}))) == 10_000
    assert len(json.loads(render_sarif(typed(found), {}))["runs"][0]["results"]) == 10_000


def test_what_was_cut_is_the_end() -> None:
    """Nothing small slips in behind what did not fit: readers take the list for whole up to its end."""
    long = [finding(subject=f"{i}", proposal="k" * 1024) for i in range(60)]
    page = render_markdown(typed(document(design(*long, finding(subject="small")))), {})
    assert "Left out here" in page
    assert "small" not in page


def test_sarif_is_capped_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pkadvisor.report.formats.sarif.RESULTS_MAX", 3)
    many = [suppressed(subject="first"), *(finding("PK202", "info", subject=f"q{i}") for i in range(4)), finding()]
    run = sarif(document(design(*many)))
    assert [result["level"] for result in run["results"]] == ["error", "note", "note"]
    assert "3 results left out" in run["invocations"][0]["toolExecutionNotifications"][-1]["message"]["text"]
    assert RESULTS_MAX == 25_000


def test_formats_are_the_same_bytes_each_time_and_leave_the_document_alone() -> None:
    found = everything()
    kept = copy(found)
    assert rendered(found) == rendered(copy(found))
    assert found == kept


@pytest.mark.parametrize("name", ["text-80", "text-40", "markdown", "sarif", "junit"])
def test_formats_of_a_small_design_are_as_kept(name: str, tmp_path: Path) -> None:
    """PKADVISOR_GOLDEN=write makes them anew."""
    found = everything()
    pages = rendered(found) | {"text-80": text(found, show_suppressed=True), "text-40": text(found, 40)}
    path = HERE / "golden" / f"everything-{name}.txt"
    if os.environ.get("PKADVISOR_GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(pages[name], encoding="utf-8")
    assert pages[name] == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [40, 80])
def test_colour_adds_nothing_but_colour(width: int) -> None:
    found = everything()
    colored = render_review(typed(found), width=width, color=True, ascii_only=False, show_suppressed=True)
    assert "\x1b[1;31m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == text(found, width, show_suppressed=True)


def test_a_number_says_how_it_is_known_where_it_is_that_of_a_fact() -> None:
    load = {"name": "table.load", "value": 3400.0, "unit": "entities/s", "basis": "declared"}
    other = {"name": "limit.partition", "value": 2000.0, "unit": "entities/s", "basis": "published"}

    def numbers(*facts: dict[str, Any]) -> str:
        return words.numbers(typed(hot(facts=list(facts)), ReviewFinding))

    assert numbers(load, other).startswith("3,400 entities/s (declared); limit 2,000")
    estimated = load | {"name": "table.hot", "basis": "estimated"}
    assert "(estimated)" in numbers(estimated)
    for facts in ([load, estimated], [load | {"unit": "bytes"}], [load | {"basis": "derived"}], [other], []):
        assert numbers(*facts).startswith("3,400 entities/s; limit 2,000"), "nothing stands out"


def test_markdown_tells_what_fails_before_the_rest() -> None:
    still = [design(name=f"schema/{i}.yaml", diff=diff(metrics=[metric("cost", 1.0, 1.0)])) for i in range(58)]
    new = design(hot(status="new"), finding("PK202", "info", status="unchanged", gating=False), diff=worsened())
    page = render_markdown(typed(document(*still, new)), {})
    lines = page.splitlines()
    assert lines[2:4] == ["", "`schema/orders.yaml`: against `origin/main`, the same load for both."]
    first = page.index("| **error** | PK103 hot-partition | `schema/orders.yaml:4` |")
    assert first < page.index("| peak partition load") < page.index("58 designs unchanged") < page.index("<details>")
    assert "schema/3.yaml" not in page
    assert page.count("PK202") == page[page.index("<details>") :].count("PK202"), "what is unchanged is not listed"
    assert "58 designs unchanged" in text(document(*still, new))


def test_where_only_the_load_changed_its_numbers_stand_first_and_what_is_the_same_is_left_out() -> None:
    moved, still = metric("peak partition load", 1.0, 2.0), metric("peak partition load", 2.0, 2.0)
    found = diff(profile_changed=True, metrics=[still, metric("cost", 3.0, 3.0)], load_metrics=[moved])
    page = render_markdown(typed(document(design(diff=found))), {})
    assert "old keys, old and new load" in page
    assert page.count("peak partition load") == 1
    assert "cost" not in page
    keyed = render_markdown(typed(document(design(diff=found | {"keys": worsened()["keys"]}))), {})
    assert keyed.index("cost") < keyed.index("old keys, old and new load")


def test_an_excerpt_keeps_its_column_where_it_is_folded() -> None:
    excerpt = f"      - {{name: by-status, filter: \"status eq '{'x' * 60}'\", rate: 5/s}}"
    shown = text(document(design(finding(excerpt=excerpt)))).splitlines()
    at = next(i for i, line in enumerate(shown) if "by-status" in line and "|" in line)
    bar = shown[at].index("|") + 2
    assert shown[at][bar + 8 :].startswith("{name"), "column 9 stands in column 9"
    assert shown[at + 1].index("^") == bar + 8


def test_a_number_that_did_not_move_is_told_once() -> None:
    assert "before" not in text(document(design(hot(status="unchanged", measured=900.0))))
    assert "before 900" in text(document(design(hot(status="worse"))))

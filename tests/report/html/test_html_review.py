"""The page of a review: the gate's answer, findings worst first, what is folded, and what changed."""

from __future__ import annotations

from typing import Any

import pytest

from pkadvisor.errors import InputError
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.page import render_html
from pkadvisor.report.html.place import Missing, Places
from pkadvisor.report.html.review_sections import changes, findings, form_of, method, reproduce, rules, verdict
from tests.report.pages import HTML, check_figures, embedded, parsed, rows_of, text_of
from tests.review import documents
from tests.review.documents import Document


def about(section: Any, found: Document) -> Any:
    """What a section shows of a document; it must have something."""
    value = documents.typed(found)
    shown = section(value, Places(value))
    assert not isinstance(shown, Missing), shown.reason
    return shown


def shown(found: Document, *sections: str) -> str:
    return text_of(parsed(render_html(found, HtmlOptions(sections=sections))))


def test_everything_a_review_can_hold_is_on_its_page() -> None:
    found = documents.everything()
    tree = parsed(render_html(found))
    assert embedded(tree) == found
    assert check_figures(tree) >= 15
    text = text_of(tree)
    for words in (
        "NOT REVIEWED",
        "schema/bad.yaml:3:5: unknown key 'partitionkey'. did you mean 'partition_key'?",
        "the hottest partition takes 3,400 entities/s at the peak",
        "Measured 3,400 entities/s",
        "limit 2,000 entities/s",
        "before 900 entities/s",
        "Take instead: {tenantId}_{hash(deviceId,16)} / {orderId}",
        "a nightly export",
        "2027-03-31",
        "keys changed, entities to rewrite: 41,200,000 entities",
        "index row added",
        "advisor explain PK103",
        "Design for querying",
    ):
        assert words in text, words


@pytest.mark.parametrize(("outcome", "word"), [("passed", "GATE PASSED"), ("failed", "GATE FAILED")])
def test_the_word_is_that_of_the_outcome(outcome: str, word: str) -> None:
    found = documents.document(documents.design(), outcome=outcome)
    context = about(verdict, found)
    assert context["word"] == word
    assert context["mood"] == ("good" if outcome == "passed" else "bad")


def test_counts_are_those_of_the_summary() -> None:
    found = documents.everything()
    tiles = {tile["label"]: tile["count"] for tile in about(verdict, found)["tiles"]}
    for label, name in (("Errors", "error"), ("Suppressed", "suppressed"), ("Fail the gate", "gating"), ("New", "new")):
        assert (tiles[label].path, str(tiles[label])) == (f"summary.{name}", str(found["summary"][name]))
    alone = documents.document(documents.design(documents.hot()))
    assert "New" not in {tile["label"] for tile in about(verdict, alone)["tiles"]}


def test_findings_stand_worst_first_and_can_be_filtered_by_severity() -> None:
    mild = [documents.finding(f"PK70{n}", "info", gating=False) for n in (1, 2)]
    found = documents.document(
        documents.design(mild[0], documents.finding("PK702", "warning"), mild[1], documents.hot())
    )
    page = parsed(render_html(found))
    assert [row[0] for row in rows_of(page, "Findings")] == ["error", "warning", "info", "info"]
    assert [table.get("data-filter") for table in page.iter(f"{HTML}table")].count("severity") == 1
    marked = [row.get("data-severity") for row in page.iter(f"{HTML}tr") if row.get("data-severity")]
    assert marked == ["error", "warning", "info", "info"]
    assert about(findings, found)["counts"] == [("error", 1), ("warning", 1), ("info", 2)]


def test_findings_of_one_severity_have_no_filter() -> None:
    found = documents.document(documents.design(documents.hot()))
    assert not [table for table in parsed(render_html(found)).iter(f"{HTML}table") if table.get("data-filter")]


def test_what_is_suppressed_or_known_is_folded_not_listed() -> None:
    tree = parsed(render_html(documents.everything()))
    assert [row[1].split(" ")[0] for row in rows_of(tree, "Findings of the baseline")] == ["PK203"]
    assert len(rows_of(tree, "Suppressed findings")) == 1
    assert rows_of(tree, "Suppressed findings")[0][4] == "a nightly export"
    assert [f.rule for _, f in about(findings, documents.everything())["open"]] == ["PK103", "PK201"]
    folded = [e for e in tree.iter(f"{HTML}details") if "a nightly export" in "".join(e.itertext())]
    assert len(folded) == 1


def test_what_stops_the_gate_is_told_before_the_table() -> None:
    stopping = about(verdict, documents.everything())["stopping"]
    assert [entry["rule"] for entry in stopping] == ["PK103 hot-partition", "PK201 query-scans-table"]
    assert stopping[0]["place"] == "schema/orders.yaml:4:9"
    assert stopping[0]["fix"] == "name the PartitionKey in the filter"


def test_nothing_found_is_said_in_a_line() -> None:
    found = documents.document(documents.design())
    assert isinstance(findings(documents.typed(found), Places(documents.typed(found))), Missing)
    assert isinstance(rules(documents.typed(found), Places(documents.typed(found))), Missing)
    assert isinstance(changes(documents.typed(found), Places(documents.typed(found))), Missing)
    assert "every rule that could run is kept" in shown(found)


def test_a_number_is_written_in_the_form_of_its_unit() -> None:
    assert form_of("share of the load") == ("percent", "")
    assert form_of("x target") == ("ratio", "")
    assert form_of("ms") == ("ms", "")
    assert form_of("entities/s") == ("amount", "entities/s")


def test_a_share_is_shown_in_percent() -> None:
    found = documents.document(documents.design(documents.hot(measured=0.31, limit=0.2, before=0.31, unit="share")))
    text = shown(found, "findings")
    assert "Measured 31 % · limit 20 %" in text
    assert "before" not in text.split("limit 20 %")[1][:20]


def test_rules_of_findings_are_explained_and_links_are_only_web_pages() -> None:
    pages = [documents.page_of_rule(), documents.page_of_rule(id="PK999", name="not-broken")]
    pages[0]["links"] += [{"title": "bad", "url": "javascript:alert(1)"}]
    found = documents.document(documents.design(documents.finding()), rules=pages)
    (rule,) = about(rules, found)["rules"]
    assert rule.id == "PK201"
    tree = parsed(render_html(found))
    outside = [link.text for link in tree.iter(f"{HTML}a") if link.get("rel") == "noreferrer"]
    assert outside == ["Design for querying"]
    targets = [link.get("href") for link in tree.iter(f"{HTML}a")]
    assert all(target.startswith(("#", "https://")) for target in targets)


# -- what changed ------------------------------------------------------------------------------------------------------


def test_regressions_stand_first_and_keys_tell_what_must_be_rewritten() -> None:
    found = documents.everything()
    (part,) = about(changes, found)["parts"]
    page = parsed(render_html(found))
    metrics = rows_of(page, "Numbers before and after")
    assert [row[0] for row in metrics] == ["peak partition load", "latency p99", "query requests"]
    assert [row[6] for row in metrics] == ["worse, over 1x", "worse, over 50 ms", "unknown"]
    assert [row[4] for row in rows_of(page, "Queries that are served differently")] == ["worse"]
    assert part["worse"] == 3
    assert "keys changed, entities to rewrite: 41,200,000 entities" in shown(found, "changes")
    assert about(changes, found)["worse"] == 3


def test_designs_that_got_worse_stand_before_the_others() -> None:
    quiet = documents.design(name="quiet.yaml", diff=documents.diff())
    loud = documents.design(name="loud.yaml", diff=documents.worsened())
    context = about(changes, documents.document(quiet, loud))
    assert [part["name"] for part in context["parts"]] == ["loud.yaml", "quiet.yaml"]
    assert context["parts"][1]["quiet"]
    assert "No number, no access and no key changed." in shown(documents.document(quiet, loud), "changes")


# -- method, reproduce, bad documents ----------------------------------------------------------------------------------


def test_rules_that_were_not_asked_are_counted_with_the_reason() -> None:
    found = documents.document(documents.design(documents.finding()))
    context = about(method, found)
    assert context["skipped"] == [("1 rule needs a profile (--profile) or data (--data)", "PK104")]
    assert [entry.rule for _, entry in context["undecided"]] == ["PK304"]
    assert context["asked"] == "3 rules"


def test_the_command_quotes_what_needs_it() -> None:
    found = documents.document(documents.design(name="a b.yaml"), fail_on="warning")
    assert about(reproduce, found)["command"] == "advisor review 'a b.yaml' --fail-on warning"


@pytest.mark.parametrize(
    "hostile", ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "a\x1b[2Jb"]
)
def test_hostile_text_is_text(hostile: str) -> None:
    bad = documents.finding(message=hostile, fix=hostile, proposal=hostile, excerpt=hostile, subject=hostile)
    found = documents.document(documents.design(bad, documents.suppressed(hostile), name=hostile))
    found["designs"][0]["diff"] = documents.worsened()
    found["designs"][0]["diff"]["against"] = hostile
    tree = parsed(render_html(found))
    assert embedded(tree) == found
    assert not list(tree.iter(f"{HTML}img"))
    assert len(list(tree.iter(f"{HTML}script"))) == 2
    assert hostile.replace("\x1b", "\\x1b") in text_of(tree)


def test_a_document_that_is_not_whole_is_refused_with_the_place() -> None:
    found = documents.everything()
    del found["designs"][0]["findings"][0]["fix"]
    with pytest.raises(InputError, match=r"designs\.0\.findings\.0\.fix is missing"):
        render_html(found)
    found = documents.everything()
    found["designs"][0]["findings"][1]["suppressed"] = 3
    with pytest.raises(InputError, match="is not whole"):
        render_html(found)
    found = documents.everything()
    found["gate"] = None
    with pytest.raises(InputError, match="is not whole"):
        render_html(found)

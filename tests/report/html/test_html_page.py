"""The page of a document: whole, harmless, and equal to the document it is made of."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.progress import SilentProgress
from pkadvisor.report.html.options import HtmlOptions
from pkadvisor.report.html.page import render_html
from tests.plain import score
from tests.report.pages import HTML, check_figures, embedded, parsed, text_of
from tests.report.support import request, result


def test_every_number_of_the_page_is_that_of_the_document() -> None:
    tree = parsed(render_html(result("footrace")))
    assert embedded(tree) == result("footrace")
    assert check_figures(tree) > 60


def test_what_may_lose_writes_stands_beside_the_keys() -> None:
    found, question = result("microblog"), "whether two entities with the same channel ever have the same posted"
    found["tables"][0]["cannot_be_known"].append(question)
    verdict = text_of(parsed(render_html(found, HtmlOptions(sections=("verdict",)))))
    assert question in verdict and f"{len(found['tables'][0]['cannot_be_known'])} things assumed" in verdict


@pytest.mark.parametrize("over", [0, 3])
def test_sets_that_one_group_transaction_cannot_hold_are_told_where_there_are_any(over: int) -> None:
    found = result("microblog")
    for group in found["tables"][0]["recommended"]["transactions"]:
        group["sets_over_limit"] = over
    scheme = text_of(parsed(render_html(found, HtmlOptions(sections=("scheme",)))))
    assert ("sets are too large" in scheme) is (over > 0)


def test_new_index_rows_alone_are_no_change_of_the_key() -> None:
    found = result("footrace")
    table = found["tables"][0]
    table["current"] |= {key: table["recommended"][key] for key in ("partition_key", "row_key")}
    verdict = text_of(parsed(render_html(found, HtmlOptions(sections=("verdict",)))))
    assert "ADD AN INDEX ROW" in verdict and "CHANGE THE KEY" not in verdict


def test_the_policy_allows_the_one_style_and_the_one_script_by_hash() -> None:
    page = render_html(result("footrace")).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    allowed = policy[1].replace("&#39;", "'")
    assert allowed.startswith("default-src 'none'")
    for kind, text in (("style", re.search(r"<style>(.*?)</style>", page, re.S)), ("script", None)):
        found = text or re.search(r"<script>(.*?)</script>", page, re.S)
        assert found is not None
        digest = base64.b64encode(hashlib.sha256(found[1].encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in allowed
    assert not re.search(r"\s(style|on[a-z]+)=", re.sub(r"<(script|style).*?</\1>", "", page, flags=re.S))


def test_a_page_is_the_same_bytes_each_time_and_has_no_character_that_acts() -> None:
    page = render_html(result("footrace"))
    assert page == render_html(result("footrace"))
    assert not [c for c in page.decode() if not c.isprintable() and c != "\n"]


@pytest.mark.parametrize(
    "hostile",
    [
        "</script><script>alert(1)</script>",
        '"><img src=x onerror=alert(1)>',
        "\x1b[31mred",
        "\u202egnp.exe",
        "=cmd()",
        "{{ 7*7 }}",
        "k" * 1024,
        "\ud800",
    ],
)
def test_hostile_text_is_text(hostile: str) -> None:
    document = result("footrace")
    table = document["tables"][0]
    for scheme in (table["recommended"], table["current"], *table["alternatives"]):
        scheme["partition_key"] = hostile
    table["current"]["violations"][0]["message"] = hostile
    tree = parsed(render_html(document))
    shown = text_of(tree)
    escaped = {"\x1b[31mred": "\\x1b[31mred", "\u202egnp.exe": "\\u202egnp.exe", "\ud800": "\\ud800"}
    assert escaped.get(hostile, hostile) in shown
    assert embedded(tree) == document
    assert not list(tree.iter(f"{HTML}img"))
    assert len(list(tree.iter(f"{HTML}script"))) == 2


def test_an_unknown_section_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'candidates'"):
        render_html(result("footrace"), HtmlOptions(sections=("candidate",)))
    page = text_of(parsed(render_html(result("footrace"), HtmlOptions(sections=("verdict",)))))
    assert "CHANGE THE KEY" in page
    assert "Ranking" not in page


def test_a_score_card_has_a_page_with_each_scheme_its_queries_and_what_it_breaks() -> None:
    document = score(request("footrace"), ("{event} | {pad(bib,5)}",), SilentProgress())
    tree = parsed(render_html(document))
    assert embedded(tree) == document
    assert check_figures(tree) > 40
    text = text_of(tree)
    broken = sum(not v["assumed_growth"] for v in document["tables"][0]["schemes"][0]["scheme"]["violations"])
    verdict = text.index(f"THESE KEYS BREAK {broken} CONSTRAINT")
    assert verdict < text.index("breaks at, x today's load".capitalize()) < text.index("Scores", verdict)
    for card in document["tables"][0]["schemes"]:
        assert card["scheme"]["row_key"] in text
        for entry in card["scheme"]["classes"]:
            assert all(filter_ in text for filter_ in entry["filters"])
        for violation in card["scheme"]["violations"]:
            assert violation["message"] in text

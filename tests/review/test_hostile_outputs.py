"""Texts that want to be something else: whatever stands in a design, each format stays what it is.

Pieces that terminals, build agents, Markdown, XML and editors act upon are mixed at random into every text of a
document, and each format is read back.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml
from markdown_it import MarkdownIt

from pkadvisor.report.escapes import clean, code, json_text, log_line, markdown, one_line
from pkadvisor.report.text import review_page
from tests.review.documents import (
    Document,
    broken,
    design,
    diff,
    document,
    finding,
    metric,
    rendered,
    text,
    typed,
    worsened,
)
from tests.review.support import as_dict
from tests.review.test_annotations_and_pages import commands
from tests.review.test_outputs import sarif
from tests.tiers import examples

PIECES = (
    "\x1b[2J",
    "\x1b]0;t\x07",
    "\u202e",
    "\u2066",
    "\u2028",
    "\x00",
    "\x9b31m",
    "\ud800",
    "\udfff\ud800",
    "\ufffe",
    "\r\n",
    "\n::error file=x::y",
    "::set-output name=x::y",
    "##vso[task.setvariable variable=x]y",
    "##VSO[task.complete]",
    "##[group]",
    "</script><script>alert(1)</script>",
    "-->",
    "<!-- pkadvisor:other -->",
    "]]>",
    "&amp;",
    "<details>",
    "</details>\n\n# x",
    "|",
    "\\|",
    "`",
    "```",
    "``",
    "\\",
    "*",
    "__",
    "~~",
    "$x$",
    "[a](http://x.y)",
    "![a](b)",
    "http://x.y/z",
    "www.x.y",
    "@team",
    "#123",
    "GH-12",
    "\n\n- x",
    "\n---\n",
    "%0A",
    "%AZP0A",
    ",",
    ":",
    ";",
    "]",
    '"',
    "'",
    "{0}",
    " ",
    "\t",
    "k" * 1024,
    "日本",
    "😀",
    "e\u0301",
)
HOSTILE = st.lists(st.sampled_from(PIECES) | st.text(max_size=4), min_size=1, max_size=5).map("".join)
FORBIDDEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
AGENT = re.compile(r"##(\[|vso\[)", re.IGNORECASE)


def of(words: list[str]) -> Document:
    """A document in which every text that comes from a design or from data is hostile."""
    a, b, c, d = words
    told = finding(message=a, subject=b, excerpt=c, fix=d, proposal=a, table=b, kind=c)
    told["facts"] = [{"name": "x", "value": [a, b], "unit": "", "basis": "declared"}]
    other = {"reason": b, "until": None, "where": c}
    hidden = finding("PK202", "info", message=c, subject=a, suppressed=other, gating=False)
    compared = worsened()
    compared["against"] = a
    compared["metrics"] = [metric(b, 1.0, 2.0, table=c, limit=1.5), metric("y", 1.0, 2.0, table=d)]
    compared["queries"][0] |= {"table": a, "name": b, "access_before": "point"}
    compared["keys"][0] |= {"table": c, "partition_key": [a, b], "row_key": [c, d], "index_rows_added": [a, d]}
    compared["fixed"] = [finding(subject=c, name="fixed", message=d)]
    read = design(told, hidden, name=f"schema/{a}.yaml", diff=compared)
    return document(read, broken(name=f"schema/{b}.yaml", what=c), design(name="c.yaml", diff=diff(notes=[d])))


WORDS = st.lists(HOSTILE.filter(lambda text: text.strip()), min_size=4, max_size=4, unique=True)


def harmless(page: str) -> None:
    """What may reach a terminal or the log of a build."""
    assert FORBIDDEN.search(page) is None
    page.encode()


@settings(max_examples=examples(60), deadline=None)
@given(WORDS)
def test_pages_show_nothing_that_acts(words: list[str]) -> None:
    found = of(words)
    for page in (text(found), text(found, 40, ascii_only=True), review_page.render_concise(typed(found))):
        harmless(page)
        assert AGENT.search(page) is None
        assert not any(line.lstrip().startswith("::") for line in page.splitlines())


@settings(max_examples=examples(60), deadline=None)
@given(WORDS)
def test_json_formats_hold_the_texts_and_no_command(words: list[str]) -> None:
    found = of(words)
    pages = rendered(found)
    assert json.loads(pages["json"]) == json.loads(
        json.dumps(as_dict(typed(found)))
    )  # of two surrogates it makes one character
    for name in ("json", "sarif", "gitlab"):
        harmless(pages[name])
        assert AGENT.search(pages[name]) is None
    run = sarif(found)
    for result in run["results"]:
        assert not re.search(r"\]\(", result["message"]["text"])
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9/._~%-]+", uri)
    assert len(json.loads(pages["gitlab"])) == 2


@settings(max_examples=examples(60), deadline=None)
@given(WORDS)
def test_junit_stays_xml(words: list[str]) -> None:
    page = rendered(of(words))["junit"]
    harmless(page)
    report = JUnitXml.fromfile(io.BytesIO(page.encode()))
    assert [len(list(suite)) for suite in report] == [5, 1, 3]
    failure = next(r for case in next(iter(report)) for r in case.result if type(r).__name__ == "Failure")
    assert (failure.message or "") == one_line(words[0])


@settings(max_examples=examples(60), deadline=None)
@given(WORDS)
def test_annotations_are_one_command_a_line(words: list[str]) -> None:
    found = of(words)
    pages = rendered(found)
    harmless(pages["github"] + pages["azure"])
    told = commands(pages["github"])
    assert [(kind, properties["line"]) for kind, properties, _ in told] == [("error", "3"), ("error", "7")]
    assert told[1][1]["file"] == one_line(f"schema/{words[0]}.yaml")
    assert told[1][2].startswith(one_line(words[0]))
    assert AGENT.search(pages["github"]) is None
    lines = pages["azure"].splitlines()
    assert [bool(re.match(r"##vso\[task\.logissue type=error;[^\]]*code=\w+\]", line)) for line in lines] == [
        True,
        True,
        False,
    ]
    assert not any(AGENT.search(line[2:]) for line in lines)


def tokens(page: str) -> list[Any]:
    """What a reader of Markdown with tables makes of a text, inline pieces included."""
    found = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(page)
    return [t for block in found for t in (block, *(block.children or ()))]


@settings(max_examples=examples(100), deadline=None)
@given(WORDS)
@example(["|", "\\", "`|`", "a\\|b"])
@example(["a", "b", "c", "#__"])
@example(["</details>\n\n# x", "<!-- pkadvisor:other -->", "![a](b)", "$x$"])
def test_markdown_is_the_structure_that_was_meant_and_nothing_else(words: list[str]) -> None:
    page = rendered(of(words))["markdown"]
    harmless(page)
    usual = rendered(of(["one", "two", "three", "four"]))["markdown"]
    kinds = [t.type for t in tokens(page) if t.type not in ("text", "code_inline", "text_special", "softbreak")]
    assert kinds == [
        t.type for t in tokens(usual) if t.type not in ("text", "code_inline", "text_special", "softbreak")
    ]
    assert page.count("<!--") == 1
    for block in MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(page):
        prose = "".join(t.content if t.type.startswith("text") else " " for t in block.children or ())
        prose += re.sub("<code>.*?</code>", "", block.content) if block.type == "html_block" else ""
        assert not re.search(r"@\w|(?<!&)#\w|://|\bwww\.\w", prose)


@settings(max_examples=examples(200), deadline=None)
@given(HOSTILE)
@example("`")
@example("\\|`|``")
@example(" a ")
def test_a_code_span_shows_the_key_as_it_is(key: str) -> None:
    spans = [t.content for t in tokens(code(key)) if t.type == "code_inline"]
    shown = one_line(key).replace("<!--", "<!\\x2d-")
    assert spans == ([shown] if shown.strip() else [])
    cells = tokens(f"| a | b |\n|---|---|\n| {code(key, in_table=True)} | x |\n")
    assert [t.content for t in cells if t.type == "code_inline"] == spans
    assert sum(t.type == "td_open" for t in cells) == 2


@settings(max_examples=examples(200), deadline=None)
@given(HOSTILE)
@example("12. x")
@example("- x")
@example("+")
@example("===")
@example("    x")
@example("1)")
def test_prose_in_markdown_is_text_only(words: str) -> None:
    found = [t for t in tokens(markdown(words)) if t.type not in ("inline", "paragraph_open", "paragraph_close")]
    assert {t.type for t in found} <= {"text", "text_special"}
    assert "".join(t.content for t in found).replace("\u200b", "") == one_line(words).strip().replace("\u200b", "")


@pytest.mark.parametrize("value", ["##[x]", "###vso[y", "a##", "\\##", "\ud800##\udc00", "\U000e0041\u200b"])
def test_json_is_the_same_value_with_another_spelling(value: str) -> None:
    page = json_text({"a": [value]})
    assert json.loads(page) == {"a": [value]}
    page.encode()
    assert AGENT.search(page) is None


def test_a_line_of_a_log_keeps_all_but_its_command() -> None:
    assert log_line("  ::error::x") == "  \\x3a:error::x"
    assert log_line("a ::error::x") == "a ::error::x"
    assert log_line("a ##vso[x] ## y") == "a #\\x23vso[x] ## y"
    assert one_line("a\nb\x1b") == clean("a\nb\x1b") == "a\\x0ab\\x1b"

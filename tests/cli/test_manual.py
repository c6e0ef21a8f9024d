"""``advisor manual``: its list, a page as Markdown and as plain text, and words that are no page."""

from __future__ import annotations

import io
import json
import re

import pytest

from pkadvisor.cli.commands.manual import plain_text
from pkadvisor.cli.main import main
from pkadvisor.cli.shared import page_words
from pkadvisor.manual import PAGES, near_pages, page_text, title_and_summary
from tests.cli.support import Ask

ESCAPE = re.compile(r"\x1b\[[0-9;]*m")


def test_the_list_has_a_line_for_each_page_with_its_sentence(ask: Ask) -> None:
    code, text, _ = ask("manual")
    assert code == 0
    assert [line.split(maxsplit=1) for line in text.splitlines()] == [[p, title_and_summary(p)[1]] for p in PAGES]
    assert max(map(len, text.splitlines())) <= 80
    listed = json.loads(ask("manual", "--format", "json")[1])["pages"]
    assert [page["page"] for page in listed] == list(PAGES)


def test_a_pipe_gets_the_markdown_and_a_program_the_json(ask: Ask) -> None:
    assert ask("manual", "review-ci") == (0, page_text("review-ci"), "")
    found = json.loads(ask("manual", "review-ci", "--format", "json")[1])
    assert (found["title"], found["markdown"]) == ("Review in CI", page_text("review-ci"))


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("color", "colored"), [("never", False), ("always", True)])
def test_a_terminal_gets_plain_text(color: str, colored: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal())
    monkeypatch.setenv("COLUMNS", "70")
    assert main(["manual", "key-templates", "--color", color]) == 0
    import sys

    shown = sys.stdout.getvalue()  # type: ignore[attr-defined]
    assert bool(ESCAPE.search(shown)) == colored
    text = ESCAPE.sub("", shown)
    assert text.splitlines()[0] == "Key templates"
    assert max(map(len, text.splitlines())) <= 70
    assert "```" not in text
    assert "…" not in text  # nothing is cut: long words go on in the next line
    assert "2026-11-21T10:34:05.2" in text


def test_links_become_commands_and_other_alphabets_escapes() -> None:
    page = "# Title\n\nSee [the logs](logs.md#data), 99999 − 1544.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert "See the logs (advisor manual logs), 99999 − 1544." in plain_text(page, color=False)
    assert plain_text(page, color=False, encoding="ascii").isascii()


def test_a_word_that_is_no_page_is_one_line_with_near_pages(ask: Ask) -> None:
    code, out, err = ask("manual", "glosary")
    assert (code, out) == (2, "")
    assert err == "error: PAGE: there is no page 'glosary'; did you mean 'glossary'?\n"
    assert ask("manual", "\x1b[31m")[2] == (
        "error: PAGE: there is no page '\\x1b[31m'; 'advisor manual' lists the pages\n"
    )
    assert near_pages("Design_File.md") == ["design-file"]
    assert near_pages("templates") == ["key-templates"]
    assert set(near_pages("stres")) >= {"stress", "stress-options"}


def test_a_shell_completes_pages() -> None:
    assert page_words("re") == [("review", "Review"), ("review-ci", "Review in CI"), ("report", "The HTML page")]

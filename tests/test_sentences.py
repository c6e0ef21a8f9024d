"""The list of sentences holds those of each kind, and no sentence has a word that only this project understands."""

from __future__ import annotations

import pytest

from tests.sentences import (
    BANNED,
    KINDS,
    Sentence,
    prose_sentences,
    python_sentences,
    rule_sentences,
    sentences,
    template_sentences,
    unclear,
    unclear_sentences,
)

PLANTED = '''
"""A docstring is not a sentence that a user meets."""
import re

WORD = re.compile("no user (sees|reads) this")

NAMES: dict[str, str] = {"key words": "name"}
"""Nor is this one."""


def command(
    count: Annotated[int, typer.Option("--count", help="How many rows to read.")] = 1,
) -> "a type of words":
    assert count > 0, "a thing that never happens"
    raise InputError(
        f"the file {path} has {plural(len(rows), 'row')}: "
        f"{count:,} were asked for",
        fix="give a longer " + "file, or " + hint,
    )
'''


def texts(found: list[Sentence]) -> list[tuple[int, str]]:
    return [(one.line, one.text) for one in found]


def test_python_sentences_are_whole_and_code_is_left_out() -> None:
    assert texts(list(python_sentences("a.py", PLANTED))) == [
        (7, "key words"),
        (12, "How many rows to read."),
        (16, "the file {path} has {plural(len(rows), 'row')}: {count} were asked for"),
        (18, "give a longer file, or {hint}"),
    ]


def test_a_rule_gives_its_title_reason_and_messages() -> None:
    rule = (
        'id = "PK1"\ntitle = "Two words"\nwhy = """\nBecause of\nthis."""\nbad = "no sentence here"\n'
        '[[level]]\nwhen = "key.a && key.b"\nmessage = "{subject} is wrong"\n[[fail]]\nsays = "is wrong"\n'
    )
    assert texts(list(rule_sentences("r.toml", rule))) == [
        (2, "Two words"),
        (4, "Because of this."),
        (9, "{subject} is wrong"),
    ]


def test_a_page_of_markdown_gives_paragraphs_items_and_rows() -> None:
    page = "# The head\n\nA paragraph\nof two lines.\n- an item\n```sh\nno sentence here\n```\n| a row | of words |\n"
    assert texts(list(prose_sentences("m.md", page))) == [
        (1, "# The head"),
        (3, "A paragraph of two lines."),
        (5, "- an item"),
        (9, "| a row | of words |"),
    ]


def test_a_template_gives_the_text_between_its_tags() -> None:
    template = '<style>a b{c:d}</style>\n<p class="x y">It is {{ state }} now.</p>{# not this #}\n'
    assert texts(list(template_sentences("t.html", template))) == [(2, "It is {{ state }} now.")]


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("pkadvisor/cli/shared.py", "Ignore log lines at or after T."),
        ("rules/PK101", "Inserts always go to the end of the key order"),
        ("pkadvisor/manual/glossary", "Look up the words of the output."),
        ("samples/footrace/sample", "race"),
        ("templates/report/advice/reproduce", "How to check it"),
    ],
)
def test_the_list_has_sentences_of_each_place(place: str, text: str) -> None:
    assert any(text in one.text for one in sentences([place]))


def test_no_sentence_has_an_unclear_word() -> None:
    assert [f"{one}  -> {use}" for one, use in unclear_sentences()] == []


def test_a_planted_word_is_found_and_the_words_to_use_are_named() -> None:
    planted = python_sentences("a.py", 'say(f"the {name} of the "\n    "keys in use")')
    assert [unclear(one) for one in planted] == ["current keys"]
    assert unclear(Sentence("a.py", 1, "Their load is turned away")) == "throttled"
    assert unclear(Sentence("a.py", 1, "the current keys of {surplus} tables")) is None
    assert all(BANNED.values()) and len(KINDS) == 7

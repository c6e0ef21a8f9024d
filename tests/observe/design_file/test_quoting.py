"""What the tool writes into a design file is read again, whatever characters a key or a value holds."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from pkadvisor.observe.design_file.declaration import escaped_for_yaml, plain_or_quoted

CHARACTERS = [chr(c) for c in (*range(0x100), 0x2028, 0x2029, 0xD7FF, 0xE000, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1F600)]
WORDS = ["yes", "null", "1e5", "a: b", "- a", "#a", "{a}", "a\\b", 'a"b', "", " a ", "~"]


@pytest.fixture(scope="module")
def yaml() -> YAML:
    return YAML(typ="safe", pure=True)


def test_a_quoted_text_is_read_as_it_was(yaml: YAML) -> None:
    texts = [*WORDS, *(f"a{c}b" for c in CHARACTERS), *CHARACTERS]
    lines = "".join(f"- {plain_or_quoted(text)}\n" for text in texts)
    assert yaml.load(lines) == texts


def test_a_comment_ends_where_its_line_does(yaml: YAML) -> None:
    comments = [escaped_for_yaml(f"a{c}b") for c in CHARACTERS if c not in "\n\r" and c >= " "]
    assert yaml.load("".join(f"- 1  # {comment}\n" for comment in comments)) == [1] * len(comments)

"""Positions in TOML texts: every key and value that ``tomllib`` reads is found where it stands."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.resources import resource
from pkadvisor.toml_places import TomlPath, inside, places

TEXT = (
    """\
# a = 1
schema = 1 # c
"odd key" = 'it"""
    + "'"
    + ''' # [no]
list = [1, # one ]
  "two, ]", [3, {x = 4, "y.z" = [5]}],
]
a.b . c = true
[tool.pkadvisor] # x
text = """
first \\
   line ""quoted""
[not] = 1"""
[[level]]
when = "a \\"b\\" c"
[level.sub]
deep = 1979-05-27 07:32:00
[[level]]
when = \'\'\'
raw = \'\'quote
\'\'\'
'''
)


def paths_of(value: Any, path: TomlPath = ()) -> dict[TomlPath, Any]:
    found = {path: value} if path else {}
    if isinstance(value, dict):
        for key, item in value.items():
            found |= paths_of(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            found |= paths_of(item, (*path, number))
    return found


def check(text: str) -> None:
    wanted = paths_of(tomllib.loads(text))
    found = places(text)
    assert found.keys() == wanted.keys()
    for path, place in found.items():
        if path in wanted and not isinstance(wanted[path], dict | list):
            assert tomllib.loads(f"x = {text[place.value : place.end]}") == {"x": wanted[path]}, path
            assert not isinstance(path[-1], str) or text[place.key :].lstrip("\"'").startswith(path[-1])


def test_every_value_is_found_where_it_stands() -> None:
    check(TEXT)
    assert TEXT[places(TEXT)["list", 2, 1, "y.z"].key :].startswith('"y.z"')


@pytest.mark.parametrize("path", sorted(resource("rules").rglob("*.toml")), ids=lambda p: p.stem)
def test_every_bundled_file_is_understood(path: Path) -> None:
    check(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("key", "word"),
    [
        (("tool", "pkadvisor", "text"), "line"),
        (("tool", "pkadvisor", "text"), "[not]"),
        (("level", 0, "when"), "c"),
        (("level", 1, "when"), "quote"),
    ],
)
def test_a_character_of_a_text_is_found_behind_escapes_and_joined_lines(key: TomlPath, word: str) -> None:
    value = paths_of(tomllib.loads(TEXT))[key]
    assert TEXT[inside(TEXT, places(TEXT)[key].value, value.index(word)) :].startswith(word)

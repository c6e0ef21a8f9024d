"""README and the pages of the manual, and the blocks of code in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from pkadvisor.manual import PAGES
from pkadvisor.resources import resource

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
FILES = {"README": README, **{page: resource("manual", f"{page}.md") for page in PAGES}}
_FENCE = re.compile(r"^```(\w*)(?: ([\w.-]+))?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INSTALLATION = re.compile(r"<!-- command:\w+ -->.*?<!-- /command:\w+ -->", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: the language, the name behind it, the text."""

    language: str
    name: str
    text: str


def text_of(name: str) -> str:
    """The Markdown of README or of a page."""
    return FILES[name].read_text(encoding="utf-8")


def blocks_of(name: str) -> list[Block]:
    """All fenced blocks but the two installations of README, which ``.ci/run`` carries out."""
    return [Block(*found) for found in _FENCE.findall(_INSTALLATION.sub("", text_of(name)))]


def block_of(name: str, language: str, called: str) -> str:
    """The text of the one block with this language and name."""
    (text,) = (b.text for b in blocks_of(name) if (b.language, b.name) == (language, called))
    return text


def prose_of(name: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", text_of(name))

"""What a shell is offered for the values of options and arguments; cheap, and silent where it cannot say."""

from __future__ import annotations

import re

COMPLETE = "_ADVISOR_COMPLETE"
"""Set by a shell that asks for completions; what it asks is in further variables."""


def rule_words(incomplete: str) -> list[tuple[str, str]]:
    """Ids and names of the bundled rules, from the names of their files."""
    from pkadvisor.resources import resource

    out = []
    for path in sorted(resource("rules").glob("*.toml")):
        if match := re.fullmatch(r"([A-Z]+\d+)-(.+)", path.stem):
            out += [(match[1], match[2]), (match[2], match[1])]
    return [(word, about) for word, about in out if word.lower().startswith(incomplete.lower())]


def sample_words(incomplete: str) -> list[str]:
    """Names of the bundled samples."""
    from pkadvisor.resources import resource

    names = sorted(path.parent.name for path in resource("samples").glob("*/sample.toml"))
    return [name for name in names if name.startswith(incomplete)]


def page_words(incomplete: str) -> list[tuple[str, str]]:
    """Names and titles of the pages of the manual."""
    from pkadvisor.manual import PAGES, title_and_summary

    return [(page, title_and_summary(page)[0]) for page in PAGES if page.startswith(incomplete)]


def target_words(incomplete: str) -> list[tuple[str, str]]:
    """What ``advisor explain`` explains."""
    fixed = [("scheme:", "a scheme of the ranking"), ("query:", "a query"), ("key", "a key"), ("keys", "keys in data")]
    return [pair for pair in fixed if pair[0].startswith(incomplete)] + rule_words(incomplete)

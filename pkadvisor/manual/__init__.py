"""The pages of the manual: a Markdown file for each name below, which begins with a title and one sentence about it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from pkadvisor.resources import resource

PAGES: Final = (
    "quick-start",
    "on-call",
    "design-file",
    "workload",
    "key-templates",
    "logs",
    "explain",
    "review",
    "review-ci",
    "stress",
    "stress-options",
    "report",
    "profile",
    "cost-model",
    "ranking",
    "numbers",
    "limitations",
    "glossary",
    "options",
    "embedded-store",
    "extending",
    "testing",
)
"""The names in the order in which a new user reads them."""


def page_text(page: str) -> str:
    """The Markdown of a page of ``PAGES``."""
    return resource("manual", f"{page}.md").read_text(encoding="utf-8")


def title_and_summary(page: str) -> tuple[str, str]:
    """The title of a page and the sentence below it."""
    title, _, summary, *_ = page_text(page).split("\n", 3)
    return title.removeprefix("# "), summary


def near_pages(word: str) -> list[str]:
    """Up to three pages whose names resemble a word, contain it or are contained in it; the best first."""
    folded = word.lower().removesuffix(".md").replace("_", "-").replace(" ", "-")
    close = get_close_matches(folded, PAGES, n=3, cutoff=0.6)
    inside = [page for page in PAGES if len(folded) > 2 and (folded in page or page in folded)]
    return list(dict.fromkeys([*close, *inside]))[:3]

"""A page as a test looks at it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

import html5lib

from pkadvisor.report.html.place import FORMS, USUAL

HTML = "{http://www.w3.org/1999/xhtml}"


def parsed(page: bytes) -> Any:
    """The page as a strict parser of HTML 5 sees it."""
    return html5lib.HTMLParser(strict=True).parse(page.decode())


def text_of(tree: Any) -> str:
    return " ".join("".join(tree.find(f"{HTML}body").itertext()).split())


def rows_of(tree: Any, caption: str) -> list[list[str]]:
    """The text of each cell of the tables with that caption, row by row, without the heads."""
    tables = [t for t in tree.iter(f"{HTML}table") if caption in "".join(t.find(f"{HTML}caption").itertext())]
    assert tables, caption
    rows = [row for t in tables for row in t.find(f"{HTML}tbody")]
    return [[" ".join(" ".join(cell.itertext()).split()) for cell in row] for row in rows]


def embedded(tree: Any) -> Any:
    (data,) = [e for e in tree.iter(f"{HTML}script") if e.get("id") == "document"]
    return unpacked(json.loads(data.text))


def at_path(document: Any, path: str) -> Any:
    for step in map(unquote, path.split(".")):
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def check_figures(tree: Any) -> int:
    """Every marked number of a page is that of the document in it, in its form; returns how many there are."""
    document = embedded(tree)
    marked = figures(tree)
    for element, place in marked:
        value = at_path(document, place)
        assert "".join(element.itertext()) == FORMS[element.get("data-f", USUAL)](value), place
    return len(marked)


def figures(tree: Any, start: str = "") -> list[tuple[Any, str]]:
    """The marked numbers of a page, each with its place in the document."""
    found = []
    for element in tree:
        below = element.get("data-at", start)
        if place := element.get("data-v"):
            found.append((element, below + place if place.startswith(".") else place))
        found += figures(element, below)
    return found


def unpacked(data: Any) -> Any:
    """The document that ``packed`` wrote."""
    keys, shared = data["keys"], data["shared"]

    def opened(node: Any) -> Any:
        if isinstance(node, list):
            if node[0] >= 0:
                return opened(shared[node[0]])
            return dict(zip(keys[-1 - node[0]], map(opened, node[1:]), strict=True))
        if not isinstance(node, dict):
            return node
        if "list" in node:
            return list(map(opened, node["list"]))
        runs = (run.partition("*") for run in node["runs"].split(" "))
        return [int(value) for value, _, times in runs for _ in range(int(times or 1))]

    return opened(data["document"])

"""Pages of real documents in the Chromium of the system."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from playwright.sync_api import BrowserContext, Page

from pkadvisor.report.html.page import render_html
from pkadvisor.usecases.compare import compare_stored
from tests.report.pages import unpacked
from tests.report.support import result
from tests.review.documents import everything
from tests.stress.stressed import document_of_sample

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
ADVICE = ("footrace", "documents")
"""Samples whose advice is looked at."""
PAGES = (*ADVICE, "stress", "review", "comparison")
HOSTILE = (
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "\x1b[31mred",
    "\u202egnp.exe",
    "=cmd()|'/c calc'!A0",
    "k" * 1024,
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.requires("chromium"))


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    return {**browser_type_launch_args, "executable_path": found, "args": ["--no-sandbox"]}


@pytest.fixture(scope="session")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of each sample, as a file."""
    folder = tmp_path_factory.mktemp("pages")
    found = {}
    for name in PAGES:
        found[name] = folder / f"{name}.html"
        found[name].write_bytes(render_html(document_of(name)))
    return found


def document_of(name: str) -> dict[str, Any]:
    """The document of a page."""
    if name in ADVICE:
        return result(name)
    if name == "stress":
        return document_of_sample("footrace")
    if name == "review":
        return everything()
    free, lean = result("footrace"), result("footrace")
    (table,) = lean["tables"]
    table["recommended"] = table["recommended"] | table["alternatives"][2]  # which says less than a recommendation
    with tempfile.TemporaryDirectory() as folder:
        for side, document in (("old", free), ("new", lean)):
            (Path(folder) / f"{side}.json").write_text(json.dumps(document))
        made: dict[str, Any] = to_builtins(compare_stored(f"{folder}/old.json", f"{folder}/new.json"))
        return made


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page in which every name, key and sentence of the data may be somebody's attack."""
    document = result("footrace")
    table = document["tables"][0]
    for scheme, text in zip((table["recommended"], table["current"], *table["alternatives"]), HOSTILE, strict=False):
        scheme["partition_key"] = scheme["row_key"] = text
        for entry in scheme["classes"]:
            entry["filters"] = [text]
    for entry, text in zip(table["recommended"]["examples"], HOSTILE, strict=False):
        entry["partition_key"] = text
    for remark, text in zip(table["current"]["remarks"], HOSTILE, strict=False):
        remark["message"] = text
    table["table"] = HOSTILE[0]
    table["notes"] = list(HOSTILE)
    path = tmp_path_factory.mktemp("hostile") / "hostile.html"
    path.write_bytes(render_html(document))
    return path


@pytest.fixture
def opened(new_context: Callable[..., BrowserContext]) -> Callable[..., Page]:
    """A page in a context of its own, without a network; ``requests`` and ``noise`` are lists to be filled."""

    def open_page(
        path: Path, *, requests: list[str] | None = None, noise: list[str] | None = None, **more: Any
    ) -> Page:
        page = new_context(offline=True, **more).new_page()
        if requests is not None:
            page.on("request", lambda request: requests.append(request.url))
        if noise is not None:
            page.on("console", lambda message: noise.append(message.text))
            page.on("pageerror", lambda error: noise.append(str(error)))
        page.goto(path.as_uri())
        return page

    return open_page


def embedded(page: Page) -> Any:
    """The document in a page."""
    return unpacked(json.loads(page.locator("#document").text_content() or ""))

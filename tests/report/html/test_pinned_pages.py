"""The page of every sample is the same bytes on every machine: its SHA-256 is kept.

Whoever changes a result or the page on purpose writes them anew with PKADVISOR_GOLDEN=write and looks at the pages.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from pkadvisor.report.html.page import render_html
from pkadvisor.report.html.sections import SECTIONS
from tests.report.pages import check_figures, parsed
from tests.report.support import SAMPLES, result

KEPT = Path(__file__).parents[1] / "golden" / "pages.json"
MOST_BYTES = 300_000
"""No page of a sample is larger."""
STORED = ("stress-footrace", "stress-microblog")
"""Documents that are kept whole, for they take long to make."""


def _pin(name: str, page: bytes) -> None:
    """Holds a page against its digest, or keeps a new one."""
    digest = hashlib.sha256(page).hexdigest()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    if os.environ.get("PKADVISOR_GOLDEN") == "write":
        KEPT.write_text(json.dumps({**kept, name: digest}, indent=1, sort_keys=True) + "\n")
        return
    assert digest == kept.get(name), f"the page of {name} is not the one kept: PKADVISOR_GOLDEN=write keeps it"


@pytest.mark.parametrize("name", SAMPLES)
def test_pages_of_samples_are_as_kept(name: str) -> None:
    page = render_html(result(name))
    assert check_figures(parsed(page)) > 100
    assert len(page) <= MOST_BYTES
    _pin(name, page)


@pytest.mark.parametrize("name", STORED)
def test_pages_of_stored_documents_are_as_kept(name: str) -> None:
    document = json.loads((KEPT.parent / f"{name}.json").read_text())
    if not [section for section in SECTIONS if section.document == document["document"]]:
        pytest.skip("no section of this document yet")
    page = render_html(document)
    assert check_figures(parsed(page)) > 20
    _pin(name, page)

"""Document and page of every sample are the same bytes on every machine: chosen values and a SHA-256 are pinned."""

from __future__ import annotations

import pytest

from pkadvisor.report.html.page import render_html
from tests.report.pages import check_figures, parsed
from tests.report.pins import pin
from tests.report.support import SAMPLES, result
from tests.stress.stressed import SAMPLE_SECONDS, document_of_sample

MOST_BYTES = 300_000
"""No page of a sample is larger."""


@pytest.mark.parametrize("name", SAMPLES)
def test_documents_and_pages_of_samples_are_as_pinned(name: str) -> None:
    page = render_html(result(name))
    assert check_figures(parsed(page)) > 100
    assert len(page) <= MOST_BYTES
    pin(name, result(name), page)


@pytest.mark.parametrize("name", SAMPLE_SECONDS)
def test_documents_and_pages_of_stress_tests_are_as_pinned(name: str) -> None:
    page = render_html(document_of_sample(name))
    assert check_figures(parsed(page)) > 20
    pin(f"stress-{name}", document_of_sample(name), page)

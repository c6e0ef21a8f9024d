"""What tests of the gate share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.review.gate_support import DESIGN, TEXT, Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder with one design, in which a query scans."""
    made = Folder(tmp_path, monkeypatch)
    made.write(DESIGN, TEXT)
    return made

"""What tests of the gate share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.review.gate_support import DESIGN, TEXT, Folder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """A folder with one design, in which a query scans."""
    made = Folder(tmp_path, monkeypatch)
    made.write(DESIGN, TEXT)
    return made

"""A folder of designs reviewed as the command line does it, under two small rules of its own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.progress import SilentProgress
from pkadvisor.usecases.review import Conducted, conduct
from pkadvisor.usecases.review.request import ReviewRequest
from tests.review.support import as_dict

DESIGN = "schema/orders.yaml"
RULES = {
    "ACME001-big-table.toml": """
id = "ACME001"
name = "big-table"
title = "A table is big"
scope = "table"
place = "row_key"
measured = "table.entities"
limit = "1000.0"
unit = "entities"
why = "Big."
fix = "make it smaller"
[[level]]
severity = "error"
when = "table.entities > 100000.0"
message = "{measured} entities"
[[level]]
severity = "warning"
when = "table.entities > 1000.0"
message = "{measured} entities"
""",
    "ACME002-scan.toml": """
id = "ACME002"
name = "scan"
title = "A query scans"
scope = "query"
why = "Slow."
fix = "use the keys"
[[level]]
severity = "error"
when = "query.access == 'table scan'"
message = "'{subject}' scans"
""",
}
TEXT = """\
schema: 1
tables:
  Orders:
    partition_key: "{tenantId}"
    row_key: "{orderId}"
    entities_total: 500
    queries:
      - {name: one, filter: "tenantId eq '{tenantId}' and orderId eq '{orderId}'", rate: 5/s}
      - {name: by-status, filter: "status eq '{status}'", rate: 5/s}
"""
"""ACME002 at by-status, on line 9."""


class Folder:
    """A working folder; ``review`` returns the canonical result."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        monkeypatch.chdir(path)
        for name, content in RULES.items():
            self.write(f"rules/{name}", content)

    def write(self, name: str, text: str) -> None:
        """A file of the folder."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())

    def conduct(self, *designs: str, **more: Any) -> Conducted:
        """A review of designs under the two rules and those about gate and changes."""
        given: dict[str, Any] = {"rules": ("rules",), "select": ("ACME", "PK8", "PK9"), "today": "2026-11-21"}
        return conduct(ReviewRequest(designs=designs or (DESIGN,), **(given | more)), SilentProgress())

    def review(self, *designs: str, **more: Any) -> dict[str, Any]:
        """Its result."""
        return as_dict(self.conduct(*designs, **more).document)

    def git(self, *arguments: str) -> None:
        """A git command with a user of its own."""
        user = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
        subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            check=True,
            capture_output=True,
            env=clean | user | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull},
        )

    def commit(self) -> None:
        """Everything of the folder as a commit of the branch main."""
        if not (self.path / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "as it was")


def told(document: dict[str, Any], rules: Sequence[str] = ()) -> list[str]:
    """Rule and line of what is neither suppressed nor in the baseline, in the order of the result."""
    return [
        f"{f['rule']}:{f['place']['line']}"
        for design in document["designs"]
        for f in design["findings"]
        if f["suppressed"] is None and not f["baselined"] and (not rules or f["rule"] in rules)
    ]


def finding(document: dict[str, Any], rule: str) -> dict[str, Any]:
    """The one finding of a rule."""
    (found,) = [f for design in document["designs"] for f in design["findings"] if f["rule"] == rule]
    return dict(found)

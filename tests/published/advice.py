"""What the tool advises for the published workloads, computed once for all tests."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from tests.published.catalogue import WORKLOADS
from tests.published.workload import Compared, compared
from tests.sample_results import stored


@cache
def modules_digest() -> str:
    """A digest of this folder's modules, which make data and designs."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if not path.name.startswith("test_"):
            digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()


@stored
def _compared(name: str, digest: str) -> dict[str, Compared]:
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    return {each.table: each for each in compared(workload)}


def advice(workload: str, table: str) -> Compared:
    """A table's figures under the expert's keys and under the recommended ones."""
    return _compared(workload, modules_digest())[table]

"""What is pinned of a document of thousands of lines: values that a reviewer can read, and the SHA-256 of everything.

A changed value shows what moved. A changed digest alone shows that something else moved: a sentence, or a value that
is not chosen here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden"
LABELS = ("table", "name", "label", "design", "code")
"""Members that name an entry of a list, in order of preference."""
_SCHEME = r"(recommended|current|alternatives\.0)"
_QUERY = r"(access|via|entities_read|requests|latency_ms_p99)"
CHOSEN = re.compile(
    r"tables\.[^.]+\.("
    r"verdict|confidence\.(share|rival|deciding_goal)|flip\.(turn|factor)|examined|forecast\.designs\.[^.]+\.break_factor"
    rf"|{_SCHEME}\.(partition_key|row_key|feasible|score|first_break\.(factor|cause)|saturation\.requests_per_s"
    r"|hot_partition\.entities_per_s_peak|index_rows\.[^.]+\.(partition_key|row_key)|violations\..*\.measured"
    rf"|classes\.[^.]+\.{_QUERY}|terms\.(requests|storage|price|throttled at peak)\.value)"
    r"|cost\.designs\.[^.]+\.total"
    r"|offered_requests_per_s|verdict\.(level|keep_current|failed_predictions)|goals\..*\.(measured|met)"
    r"|designs\.[^.]+\.runs\.[^.]+\.(requests|served|lost|attempts|throttled|pages|entities_read|latency_ms_p99)"
    r")"
)


def flat(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each leaf of a document with its path; an entry of a list goes by its name, else by its number."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from flat(member, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        names = [next((entry[k] for k in LABELS if k in entry), None) for entry in value if isinstance(entry, dict)]
        unique = None not in names and len({*names}) == len(value)
        for number, entry in enumerate(value):
            yield from flat(entry, f"{path}.{names[number] if unique else number}")
    else:
        yield path, value


def pin(name: str, document: dict[str, Any], page: bytes) -> None:
    """Compare the chosen values and the digests with those on file, or write them with PKADVISOR_GOLDEN=write."""
    values = {path: value for path, value in flat(document) if CHOSEN.fullmatch(path)}
    digests = {
        "document": hashlib.sha256(json.dumps(document).encode()).hexdigest(),
        "page": hashlib.sha256(page).hexdigest(),
    }
    path = GOLDEN / f"{name}.values.json"
    if os.environ.get("PKADVISOR_GOLDEN") == "write":
        text = json.dumps({"values": values, "sha256": digests}, indent=1, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    pinned = json.loads(path.read_text(encoding="utf-8"))
    assert values == pinned["values"], "PKADVISOR_GOLDEN=write writes the new values"
    assert digests == pinned["sha256"], "something moved that is not among the values; PKADVISOR_GOLDEN=write"

"""A small table that one PartitionKey is too hot for, and its stress test, made once for all tests."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.stress.experiment.request import Goal, StressRequest
from tests.plain import stress
from tests.report.support import request
from tests.sample_results import stored

DESIGN = """\
schema: 1
tables:
  Scores:
    partition_key: "{PARTITION}"
    row_key: "{player}"
    properties: {team: string, player: string, score: int32}
    queries:
      - {name: of-player, filter: "team eq '{team}' and player eq '{player}'", rate: 200/s, p99: 50ms}
      - {name: of-team, filter: "team eq '{team}'", rate: 1/s}
    writes:
      - {name: join, operation: insert, rate: 5/s}
"""
LIMITS = 'partition_entities_per_s = {value = 100, source = "a small store", date = "2026-11-22", basis = "measured"}\n'
TEAMS = 12
SAMPLE_SECONDS = {"footrace": 360.0, "microblog": 5.0}
"""How long the stress test of each sample is, in simulated seconds."""


def write_case(
    folder: Path, *, rows: int = 240, partition: str = "all", rates: bool = True, prefix: str = "t"
) -> tuple[str, str, str]:
    """Data, design and limits of the case in a folder: their paths."""
    drawn = random.Random(1)
    lines = [f"{prefix}{i % TEAMS},p{i:04},{drawn.randrange(1000)}\n" for i in range(rows)]
    files = folder / "scores.csv", folder / "design.yaml", folder / "limits.toml"
    files[0].write_text("team,player,score\n" + "".join(lines), encoding="utf-8")
    text = DESIGN.replace("{PARTITION}", partition)
    if not rates:
        text = text[: text.index("    queries:")]
    files[1].write_text(text, encoding="utf-8")
    files[2].write_text(LIMITS, encoding="utf-8")
    data, design, limits = map(str, files)
    return data, design, limits


def request_of(folder: Path, *, redact: bool = False, case: dict[str, Any] | None = None, **more: Any) -> StressRequest:
    """What the command makes of the case; a short run with few audited requests."""
    data, design, limits = write_case(folder, **(case or {}))
    reading = AnalyzeRequest(data=(data,), design=design, limits=(limits,), redact=redact)
    return StressRequest(reading, **{"duration_s": 3.0, "audited_requests": 50, **more})


@stored
def _made(redact: bool) -> str:
    with tempfile.TemporaryDirectory() as folder:
        asked = request_of(
            Path(folder),
            redact=redact,
            case={"prefix": "secret"},
            goals=(Goal("p99", 50.0), Goal("throttled", 0.001)),
            partition="hottest",
            clients=3,
            think_s=0.01,
            vms=2,
            faults=("server-down@1s+1s",),
        )
        return json.dumps(stress(asked, SilentProgress()))


def document(redact: bool = False) -> dict[str, Any]:
    """The document with everything asked for; a copy of its own for every caller. Teams are called ``secret…``."""
    found: dict[str, Any] = json.loads(_made(redact))
    return found


@stored
def _made_of_sample(name: str) -> str:
    asked = StressRequest(request(name), duration_s=SAMPLE_SECONDS[name], audited_requests=100)
    return json.dumps(stress(asked, SilentProgress()))


def document_of_sample(name: str) -> dict[str, Any]:
    """The document of a sample's stress test; a copy of its own for every caller."""
    document: dict[str, Any] = json.loads(_made_of_sample(name))
    return document


def ahead() -> list[Callable[[], object]]:
    """The document with and without key values, and those of the samples."""
    return [
        *(partial(_made_of_sample, name) for name in SAMPLE_SECONDS),
        *(partial(_made, redact) for redact in (False, True)),
    ]

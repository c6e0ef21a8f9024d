"""What the tests of the command line share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]


def clean_environment(**extra: str) -> dict[str, str]:
    """This process's environment without anything that colours, widens or configures."""
    dropped = (
        "NO_COLOR",
        "FORCE_COLOR",
        "GITHUB_ACTIONS",
        "COLUMNS",
        "PYTHONIOENCODING",
        "PYTHONUTF8",
        "PYTHONWARNINGS",
    )
    kept = {k: v for k, v in os.environ.items() if k not in dropped and not k.startswith("PKADVISOR_")}
    return {**kept, **extra}


@dataclass
class UseCases:
    """What the stand-in was asked, and what it answers."""

    requests: list[Any] = field(default_factory=list)
    salts: list[bytes] = field(default_factory=list)
    text: str = "KEEP THE KEYS\n"
    result: dict[str, Any] = field(default_factory=lambda: {"schema_version": 1, "verdict": "keep"})
    behave: Callable[[Any], None] = lambda progress: None
    rendered: list[dict[str, Any]] = field(default_factory=list)

"""What the tests of the command line share."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., "subprocess.CompletedProcess[bytes]"]
Ask = Callable[..., tuple[int, str, str]]


LISTENING = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
"""First lines of a program that is to be interrupted: what a shell starts in the background ignores Ctrl-C."""


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


def in_process(arguments: Sequence[str], stdin: bytes, patch: pytest.MonkeyPatch) -> subprocess.CompletedProcess[bytes]:
    """A command line carried out here, with streams as a process has them whose output goes to pipes."""
    from pkadvisor.cli.main import main

    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "utf-8").partition(":")
    out, err = io.BytesIO(), io.BytesIO()
    written = [io.TextIOWrapper(stream, encoding or "utf-8", errors or None) for stream in (out, err)]
    patch.setattr("sys.stdout", written[0])
    patch.setattr("sys.stderr", written[1])
    patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding or "utf-8"))
    code = main(list(arguments))
    for stream in written:
        stream.flush()
    return subprocess.CompletedProcess(["advisor", *arguments], code, out.getvalue(), err.getvalue())


@dataclass
class UseCases:
    """What the stand-in was asked, and what it answers."""

    requests: list[Any] = field(default_factory=list)
    salts: list[bytes] = field(default_factory=list)
    text: str = "KEEP THE KEYS\n"
    result: dict[str, Any] = field(default_factory=lambda: {"schema_version": 1, "verdict": "keep"})
    behave: Callable[[Any], None] = lambda progress: None
    rendered: list[dict[str, Any]] = field(default_factory=list)


def stored(name: str, path: Path, **more: Any) -> dict[str, Any]:
    """A sample's result, written to a file."""
    from pkadvisor.report.documents.result import dump_json
    from tests.report.support import result

    found = result(name, **more)
    path.write_bytes(dump_json(found))
    return found


def checked(text: str, name: str) -> dict[str, Any]:
    """A document that keeps to its schema."""
    from jsonschema import Draft202012Validator

    from tests.report.support import schema

    document: dict[str, Any] = json.loads(text)
    found = Draft202012Validator(schema(name)).iter_errors(document)
    assert [f"{e.json_path}: {e.message[:200]}" for e in found] == []
    return document

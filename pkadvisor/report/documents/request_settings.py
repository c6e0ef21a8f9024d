"""What an analysis was asked for, as its result tells it: enough to run it again, and no place on a machine."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any


def settings_json(
    *,
    data: Sequence[str],
    logs: Sequence[str],
    design: str | None,
    profiles: Sequence[str],
    limits: Sequence[str],
    candidates: str | None,
    numbers: dict[str, int | float | str | None],
    tables: Sequence[str],
    budgets: Sequence[str],
    redact: bool,
    seed: int,
) -> dict[str, Any]:
    """The command line with names of files without folders, and the seed.

    ``numbers`` are options by name without dashes; one that is None was not given.
    """
    words = ["advisor", "analyze", *sorted(_bare(text) for text in data)]
    for option, values in (
        ("--log", sorted(_bare(log) for log in logs)),
        ("--design", [_bare(design)] if design else []),
        ("--profile", sorted(_bare(profile) for profile in profiles)),
        ("--limits", [_bare(path) for path in limits]),
        ("--candidates", [_bare(candidates)] if candidates else []),
        ("--table", sorted(tables)),
        ("--budget", sorted(budgets)),
        ("--redact", ["keys"] if redact else []),
    ):
        for value in values:
            words += [option, value]
    for name, number in numbers.items():
        words += [] if number is None else [f"--{name}", f"{number:g}" if isinstance(number, float) else str(number)]
    words += ["--seed", str(seed)]
    return {"command": shlex.join(words), "seed": seed}


def _bare(text: str) -> str:
    """A file as named on the command line (``kind=path``), without its folders."""
    kind, equals, path = text.rpartition("=")
    if "/" in kind or "\\" in kind:
        kind, equals, path = "", "", text
    return f"{kind}{equals}{PurePath(path.replace(chr(92), '/')).name or path}"

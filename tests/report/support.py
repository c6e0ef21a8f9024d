"""Results of the bundled samples, computed once for all tests, and small tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any

from msgspec import to_builtins

from pkadvisor.cli.commands.config import published_schema
from pkadvisor.cli.inputs import load_sample, sample_names
from pkadvisor.design.choice.sections import Judged
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.observe.profile.profile_file import ProfileDocument
from pkadvisor.progress import SilentProgress
from pkadvisor.usecases.analyze import Analysis, judged, result_of
from tests.plain import profile
from tests.sample_results import stored

SAMPLES = sample_names()


def request(name: str, **more: Any) -> AnalyzeRequest:
    """What the command makes of ``--sample NAME``."""
    sample = load_sample(name)
    return AnalyzeRequest(**{"sample": name, "data": sample.data, "logs": sample.logs, "design": sample.design, **more})


@lru_cache(maxsize=1)
def _judged(asked: AnalyzeRequest) -> Analysis:
    return judged(asked, SilentProgress())


@stored
def _result(name: str, more: tuple[tuple[str, Any], ...]) -> str:
    asked = request(name, **dict(more))
    return json.dumps(to_builtins(result_of(_judged(replace(asked, redact=False, top=AnalyzeRequest().top)), asked)))


def result(name: str, **more: Any) -> dict[str, Any]:
    """The result of a sample; a copy of its own for every caller."""
    found: dict[str, Any] = json.loads(_result(name, tuple(sorted(more.items()))))
    return found


@stored
def judged_sections(name: str) -> tuple[Judged, ...]:
    """The answer for each table of a sample, with its bench and every scheme of its search."""
    return tuple(_judged(request(name)).answer.judged)


@stored
def profile_text(name: str, salt: bytes = b"") -> str:
    """The profile document of a sample as written."""
    return json.dumps(profile(request(name), SilentProgress(), salt=salt), sort_keys=True)


def ahead() -> list[Callable[[], object]]:
    """What many tests judge: the answer for each sample, its result with and without key values, and its profile."""
    return [
        *(partial(_judged_once, name) for name in SAMPLES),
        *(partial(profile_text, n) for n in SAMPLES),
    ]


def _judged_once(name: str) -> None:
    """One judging gives all three."""
    for more in ({}, {"redact": True}):
        result(name, **more)
    judged_sections(name)
    if name == "footrace":
        result(name, top=2)


def written(document: ProfileDocument) -> str:
    """A document's bytes, as text."""
    return json.dumps(to_builtins(document.stored()), sort_keys=True)


def schema(name: str) -> dict[str, Any]:
    """A published schema."""
    return published_schema(name)

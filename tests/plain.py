"""The documents of the use cases as plain JSON values, which tests read by name and change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import to_builtins

from pkadvisor.usecases.profile import profile as profile_document


def _plain(use_case: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def made(*arguments: Any, **options: Any) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(json.dumps(to_builtins(use_case(*arguments, **options))))
        return document

    return made


profile = _plain(profile_document)

"""The documents of the use cases as plain JSON values, which tests read by name and change."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from msgspec import to_builtins

from pkadvisor.usecases.analyze import analyze as analysis_document
from pkadvisor.usecases.explain import explain_query as query_explanation
from pkadvisor.usecases.explain_scheme import explain_scheme as scheme_explanation
from pkadvisor.usecases.explain_scheme import explain_stored as stored_explanation
from pkadvisor.usecases.profile import profile as profile_document
from pkadvisor.usecases.score import score as score_document
from pkadvisor.usecases.stress import stress as stress_document


def _plain(use_case: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    def made(*arguments: Any, **options: Any) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(json.dumps(to_builtins(use_case(*arguments, **options))))
        return document

    return made


analyze = _plain(analysis_document)
explain_query = _plain(query_explanation)
explain_scheme = _plain(scheme_explanation)
explain_stored = _plain(stored_explanation)
profile = _plain(profile_document)
score = _plain(score_document)
stress = _plain(stress_document)

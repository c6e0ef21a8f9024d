"""A score above that of the recommended keys is explained where they are recommended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pkadvisor.design.choice.goals import Loss
from pkadvisor.report import words


def judged(*scores: float) -> Any:
    ranking = [SimpleNamespace(score=score) for score in scores]
    return SimpleNamespace(ranking=lambda: ranking)


def test_the_goal_that_decides_against_a_higher_score_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "loss", lambda loser, winner: Loss("requests", "requests/s", 90.0, 60.0))
    many: Any = judged(66.7, 83.3, 70.0)
    sentence = words.score_against_rank(many.ranking()[0], many)
    assert sentence.startswith("rank 2 has the higher score (83.3 against 66.7)")
    assert "puts requests first, where it has 90 against 60 (requests/s)" in sentence
    for same in (judged(66.7, 60.0), judged(66.7, 67.0), judged(66.7)):
        assert words.score_against_rank(same.ranking()[0], same) == ""

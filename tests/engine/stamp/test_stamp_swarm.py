"""Whatever fails, no client sees a lost or an old value; after healing all is served: P1, P2, P4, P8, P10, T1, T8."""

from __future__ import annotations

from tests.engine.stamp import swarm
from tests.tiers import LONG

SEEDS = 200 if LONG == "simulation" else 10
SOMETIMES = (
    "zombie rejected",
    "lease lapsed",
    "lock service stood still",
    "request arrived twice",
    "write uncertain",
    "split",
    "split or merge undone",
    "action not done",
    "leader elected",
)


def test_many_small_disasters() -> None:
    facts: dict[str, int] = {}
    for seed in range(SEEDS):
        swarm.run(seed, facts)
    assert [name for name in SOMETIMES if not facts.get(name)] == []

"""What to do about a sealed extent of which copies are missing.

    copy whole ── node silent for long ──► lost ── copied from a whole one to another node ──► whole
         └─────── wrong bytes found ─────► damaged ── mended in place, what is right stays ──────────► whole

Sealed extents below their count are re-replicated lazily (SOSP 2011, 4.2). A copy that cannot be judged (its node is
silent for a short time) is neither counted as whole nor replaced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random

from pkadvisor.values import dataclass


class Condition(Enum):
    """What is known of one copy."""

    WHOLE = "whole"
    DAMAGED = "damaged"  # or missing, on a node that answers
    SILENT = "silent"  # its node does not answer, not yet for long
    LOST = "lost"  # its node does not answer for long


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where a node stands: what fails together, what is upgraded together; and bytes it holds."""

    fault_domain: int
    upgrade_domain: int
    held_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Repair:
    """Make the ``number``-th copy on ``target`` (in place of ``replaced``)."""

    number: int
    replaced: str
    target: str


def repairs(
    conditions: Sequence[tuple[str, Condition]], places: Mapping[str, NodePlace], chance: Random
) -> list[Repair]:
    """What to make anew: a damaged one on its own node, a lost one elsewhere. Nothing where nobody has a part of it.

    ``places`` are the nodes that answer.
    """
    if not any(condition in (Condition.WHOLE, Condition.DAMAGED) for _, condition in conditions):
        return []
    used = [node for node, condition in conditions if condition is not Condition.LOST]
    out = []
    for number, (node, condition) in enumerate(conditions):
        if condition is Condition.DAMAGED and node in places:
            out.append(Repair(number, node, node))
        elif condition is Condition.LOST:
            target = choose_node(used, places, chance)
            if target is not None:
                used.append(target)
                out.append(Repair(number, node, target))
    return out


def choose_node(used: Sequence[str], places: Mapping[str, NodePlace], chance: Random) -> str | None:
    """Another node, if there is one in a fault and an upgrade domain of its own, else the least bad; None: no node.

    Among equals by chance, weighted toward those that hold less (SOSP 2011, 3.2).
    """
    beside = [places[node] for node in used if node in places]
    faults = {place.fault_domain for place in beside}
    upgrades = {place.upgrade_domain for place in beside}

    def shared(node: str) -> int:
        place = places[node]
        return 2 * (place.fault_domain in faults) + (place.upgrade_domain in upgrades)

    free = sorted(node for node in places if node not in used)
    if not free:
        return None
    least = min(shared(node) for node in free)
    best = [node for node in free if shared(node) == least]
    most = max(places[node].held_bytes for node in best) + 1
    return chance.choices(best, [2 * most - places[node].held_bytes for node in best])[0]

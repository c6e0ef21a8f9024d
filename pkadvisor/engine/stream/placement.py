"""Where the replicas of a new extent go: distinct fault domains and upgrade domains, by chance weighted with room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import NamedTuple


class NodeInfo(NamedTuple):
    """An extent node and the domains in which it fails and is upgraded with others."""

    name: str
    fault_domain: int
    upgrade_domain: int


def place(nodes: Sequence[NodeInfo], room: Mapping[str, int], count: int, random: Random) -> tuple[str, ...] | None:
    """Nodes for ``count`` replicas, primary first; None where no choice has distinct domains (SOSP 2011, 4.3)."""
    waiting = list(nodes)
    order: list[NodeInfo] = []
    while waiting:
        weights = [max(1, room.get(node.name, 1 << 30) >> 20) for node in waiting]
        drawn = random.randrange(sum(weights))
        at = 0
        while drawn >= weights[at]:
            drawn -= weights[at]
            at += 1
        order.append(waiting.pop(at))
    distinct = _distinct(order, count)
    return tuple(node.name for node in distinct) if distinct is not None else None


def _distinct(order: Sequence[NodeInfo], count: int) -> list[NodeInfo] | None:
    """The first choice in order, with steps back where domains run out."""
    if not count:
        return []
    for at, node in enumerate(order):
        rest = [
            other
            for other in order[at + 1 :]
            if other.fault_domain != node.fault_domain and other.upgrade_domain != node.upgrade_domain
        ]
        others = _distinct(rest, count - 1)
        if others is not None:
            return [node, *others]
    return None

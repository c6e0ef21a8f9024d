"""The stream manager's lazy work: garbage and repair; one turn each poll period, on the manager's node.

    reports of all nodes ─► garbage: extents that no stream holds, after their grace; copies that belong nowhere
                         ─► repair:  sealed extents below their count, damaged copies

Every decision is a command of the manager's log before any copy goes: a crash between two steps leaves a copy too many,
never one too few. A copy goes only when the report of the same turn shows every copy that belongs to its extent whole
[H].
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from random import Random
from typing import Any

from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.stream.background import Report
from pkadvisor.engine.stream.directory import CollectExtent, ExtentInfo, PlaceExtent
from pkadvisor.engine.stream.manager import StreamManager
from pkadvisor.engine.worlds.world import EngineError, World
from pkadvisor.values import dataclass


class _KnownReport:
    """A report, to look things up in."""

    __slots__ = ("damaged", "free_bytes", "made", "replicas")

    def __init__(self, report: Report) -> None:
        self.replicas = {extent: (length, sealed) for extent, length, sealed, _ in report.replicas}
        self.made = {extent: made for extent, _, _, made in report.replicas}
        self.damaged = dict.fromkeys(report.damaged)
        self.free_bytes = report.free_bytes


class Caretaker:
    """Background work of one life of the stream manager. What it remembers itself may be forgotten at any time."""

    def __init__(self, world: World, manager: StreamManager, options: EngineOptions) -> None:
        self._world, self._manager, self._options = world, manager, options
        self._node = manager.name
        self._graces = Graces(options.garbage_grace_ns)
        self._answered_ns: dict[str, int] = {}
        self._lacking: dict[int, int] = {}
        self._reports: dict[str, _KnownReport] = {}
        self._asked_ns = 0

    @classmethod
    async def boot(cls, world: World, manager: StreamManager, options: EngineOptions, *, for_ever: bool) -> Caretaker:
        """Makes it, and starts its turns where told."""
        caretaker = cls(world, manager, options)
        if for_ever:
            world.spawn(caretaker.run(), manager.name)
        return caretaker

    async def run(self) -> None:
        """Takes a turn each period."""
        while True:
            await self._world.sleep(self._options.poll_period_ns)
            await self.turn()

    async def turn(self) -> None:
        """Everything once. What fails is tried again in a later turn."""
        await self._ask_nodes()
        await self._collect()
        await self._delete_strays()
        await self._seal_what_lacks()
        await self._repair()

    # ------------------------------------------------------------------------------------------------ what is known

    async def _ask_nodes(self) -> None:
        self._asked_ns = self._now()
        names = [node.name for node in self._manager.nodes]
        answers = await self._world.gather([self._call(name, "background", "report") for name in names], self._node)
        now = self._now()
        self._reports = {}
        for name, answer in zip(names, answers, strict=True):
            self._answered_ns.setdefault(name, now)
            if not isinstance(answer, EngineError):
                self._reports[name] = _KnownReport(answer)
                self._answered_ns[name] = now

    def _condition(self, node: str, whole: bool, here: bool) -> Condition:
        if node not in self._reports:
            lost = self._now() - self._answered_ns.get(node, self._now()) >= self._options.node_lost_ns
            return Condition.LOST if lost else Condition.SILENT
        if whole:
            return Condition.WHOLE
        return Condition.SILENT if here else Condition.DAMAGED

    def _copies(self, extent: int, info: ExtentInfo) -> list[tuple[str, Condition]]:
        """The condition of each copy that belongs to a sealed extent."""
        out = []
        for node in info.replicas:
            report = self._reports.get(node)
            held = report.replicas.get(extent) if report is not None else None
            damaged = report is not None and extent in report.damaged
            whole = held == (info.sealed, True) and not damaged
            out.append((node, self._condition(node, whole, here=held is not None and not held[1])))
        return out

    def _places(self) -> dict[str, NodePlace]:
        most = max((report.free_bytes for report in self._reports.values()), default=0)
        return {
            node.name: NodePlace(node.fault_domain, node.upgrade_domain, most - self._reports[node.name].free_bytes)
            for node in self._manager.nodes
            if node.name in self._reports
        }

    def _sealed(self) -> Iterator[tuple[int, ExtentInfo]]:
        for extent, info in list(self._manager.directory.extents.items()):
            if info.sealed is not None and info.references and extent in self._manager.directory.extents:
                yield extent, info

    # ------------------------------------------------------------------------------------------------ garbage

    async def _collect(self) -> None:
        directory = self._manager.directory
        for extent in self._graces.due(directory.unreferenced(), self._now()):
            info = directory.extents.get(extent)
            if info is not None and not info.references:
                self._world.event("collected", extent)
                try:
                    await self._manager.commit(CollectExtent(extent))
                except EngineError:
                    return

    async def _delete_strays(self) -> None:
        """Copies that belong nowhere. What the directory does not know at all goes by the poll.

        Nothing goes by old reports: this node may have been paused since they came [H].
        """
        directory = self._manager.directory
        good: dict[int, bool] = {}
        for node, report in self._reports.items():
            for extent in report.replicas:
                info = directory.extents.get(extent)
                if info is None or info.sealed is None or node in info.replicas:
                    continue
                if extent not in good:
                    good[extent] = all(condition is Condition.WHOLE for _, condition in self._copies(extent, info))
                if self._now() - self._asked_ns > self._options.node_lost_ns // 2:
                    return
                if good[extent]:
                    self._world.event("copy too many", node, extent)
                    await self._try(node, "extents", "delete", extent, report.made[extent])

    # ------------------------------------------------------------------------------------------------ repair

    async def _seal_what_lacks(self) -> None:
        """Seals open extents of which a replica is gone, so that it can be made anew: nobody may be appending to them.

        Seen so in two turns: the first report may be older than the extent [H].
        """
        lacking = {}
        for extent, info in self._manager.directory.extents.items():
            if info.sealed is None and info.references and any(self._lacks(node, extent) for node in info.replicas):
                lacking[extent] = self._lacking.get(extent, 0) + 1
        self._lacking = lacking
        for extent, turns in lacking.items():
            if turns >= 2:
                self._world.event("sealed because a replica lacks", extent)
                try:
                    await self._manager.seal(extent)
                except EngineError as error:
                    self._world.event("seal failed", extent, type(error).__name__)

    def _lacks(self, node: str, extent: int) -> bool:
        report = self._reports.get(node)
        return self._condition(node, report is not None and extent in report.replicas, here=False) in (
            Condition.LOST,
            Condition.DAMAGED,
        )

    async def _repair(self) -> None:
        budget = self._options.background_bytes
        for extent, info in self._sealed():
            if budget <= 0:
                return
            conditions = self._copies(extent, info)
            if all(condition is Condition.WHOLE for _, condition in conditions):
                continue
            for repair in repairs(conditions, self._places(), self._world.random("repair")):
                try:
                    if await self._copy(extent, repair, conditions):
                        budget -= info.sealed or 0
                except EngineError as error:
                    self._world.event("repair failed", extent, type(error).__name__)

    async def _copy(self, extent: int, repair: Repair, conditions: list[tuple[str, Condition]]) -> bool:
        """A copy of a sealed extent, mended in place or made elsewhere; whether it is good now."""
        info = self._manager.directory.extents.get(extent)
        if info is None or info.sealed is None:
            return False
        whole = tuple(node for node, condition in conditions if condition is Condition.WHOLE)
        target, in_place = repair.target, repair.target == repair.replaced
        if in_place and extent in self._reports[target].damaged:
            others = tuple(node for node, condition in conditions if condition is Condition.DAMAGED and node != target)
            await self._call(target, "scrub", "mend", extent, (*whole, *others))
        elif not whole:
            return False
        else:
            replicas = _with(info.replicas, repair)
            await self._call(target, "extents", "fetch", extent, info.sealed, replicas, whole)
        return await self._place(extent, info, repair)

    async def _place(self, extent: int, before: ExtentInfo, repair: Repair) -> bool:
        """Records that a copy lies elsewhere, unless the extent has changed meanwhile."""
        info = self._manager.directory.extents.get(extent)
        if info is None or info.replicas[repair.number] != repair.replaced:
            return False
        if repair.target == repair.replaced:
            self._world.event("copy repaired", extent, repair.target)
            return True
        self._world.event("re-replicated", extent, repair.target)
        await self._manager.commit(PlaceExtent(extent, _with(info.replicas, repair)))
        return True

    # ------------------------------------------------------------------------------------------------ helpers

    def _now(self) -> int:
        return self._world.clock_ns(self._node)

    async def _call(self, node: str, service: str, method: str, *arguments: Any) -> Any:
        return await self._world.call(self._node, node, service, method, *arguments)

    async def _try(self, node: str, service: str, method: str, *arguments: Any) -> None:
        try:
            await self._call(node, service, method, *arguments)
        except EngineError:
            self._world.event("left for a later turn", node)

    def check(self) -> None:
        """AssertionError where what it remembers does not fit together."""
        assert self._reports.keys() <= self._answered_ns.keys(), "a report of a node that never answered"

    def conditions(self) -> Mapping[int, list[tuple[str, Condition]]]:
        """Of each sealed extent how its copies are, as of the last turn; for checkers (S8)."""
        return {extent: self._copies(extent, info) for extent, info in self._sealed()}


def _with(replicas: tuple[str, ...], repair: Repair) -> tuple[str, ...]:
    return tuple(repair.target if number == repair.number else node for number, node in enumerate(replicas))


class Graces:
    """Since when extents are unreferenced; times are those of the manager's own clock, in ns.

    Which extents may go: those that no stream holds, after a time of grace.

        referenced ──last stream lets go──► unreferenced since t ──grace passed──► collected
             ▲                                      │
             └────── a stream holds it again ───────┘

    Streams share extents after a split (SOSP 2011, 4.1, 5.5): the directory counts how often an extent is held. The
    grace is [H]: who was told a location a moment ago may still read it. A new manager begins the grace anew.
    """

    def __init__(self, grace_ns: int) -> None:
        self._grace_ns = grace_ns
        self._since: dict[int, int] = {}

    def due(self, unreferenced: Iterable[int], now_ns: int) -> list[int]:
        """The extents that may be collected now, in order, of those that no stream holds."""
        since = self._since
        self._since = {extent: since.get(extent, now_ns) for extent in unreferenced}
        return sorted(extent for extent, began in self._since.items() if now_ns - began >= self._grace_ns)


# -- What to do about a sealed extent of which copies are missing.


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

"""The evil spirit of a simulation: crashes, pauses, partitions, clogs, sick disks, power cuts, at the rates of a swarm.

    trouble: each plague on its own loop ──heal()──► quiet: links open, disks well, every node up, nothing new happens

At most ``tolerance`` nodes of a role are hurt at a time, so that the engine owes an answer when all is healed. Devices
are lost and bits turned only where the atlas of the world allows it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

from pkadvisor.engine.worlds.faults import draw_ns
from pkadvisor.engine.worlds.simulated_disk import SimulatedDisk
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.tasks import Killed
from pkadvisor.engine.worlds.world import DataCorrupt, DiskError, EngineError
from tests.simulate.swarm import Plagues

MS = 1_000_000
SPINDLE_NS = 2_300_000_000  # the slowest answer of a spindle that the paper tells of (SOSP 2011, 4.2)
NODE = "nemesis"
ACTIONS = "nemesis actions"
"""Actions run code of the engine, and end when it does: a killed one that waits for a lock would keep it for ever."""
BOOTS = 20

Action = Callable[[], Awaitable[object]]


class Nemesis:
    """Hurts the nodes of a simulator until ``heal``.

    ``roles`` names the nodes of each role; ``tolerance`` says how many of a role may be hurt at a time (1 where it says
    nothing, 0 spares them). ``actions`` are pressure points: a checkpoint, a split, a move, a collection, done at any
    moment (SOSP 2011, 8); an EngineError of one is noted and goes by.
    """

    def __init__(
        self,
        world: Simulator,
        plagues: Plagues,
        roles: Mapping[str, Sequence[str]],
        tolerance: Mapping[str, int] | None = None,
        actions: Sequence[tuple[str, Action]] = (),
    ) -> None:
        self._world, self._plagues = world, plagues
        self._role = {node: role for role, nodes in roles.items() for node in nodes}
        self._tolerance = dict.fromkeys(roles, 1) | dict(tolerance or {})
        self._actions = tuple(actions)
        self._hurt: dict[str, int] = {}
        self._chance = world.random("nemesis")
        self._healed = False

    def begin(self) -> None:
        """Lets the trouble begin."""
        evils: dict[str, Callable[[], Awaitable[None]]] = {
            "crash": self._crash,
            "pause": self._pause,
            "isolate": self._isolate,
            "one_way": self._one_way,
            "clog": self._clog,
            "swizzle": self._swizzle,
            "slow_disk": self._slow_disk,
            "full_disk": self._full_disk,
            "lose_device": self._lose_device,
            "wipe": self._wipe,
            "damage": self._damage,
            "power_cut": self._power_cut,
            "action": self._act,
        }
        for name in self._plagues.names():
            node = ACTIONS if name == "action" else NODE
            self._world.spawn(self._repeat(getattr(self._plagues, f"{name}_every_ns"), evils[name]), node)

    async def heal(self) -> None:
        """Ends all trouble: returns when every node has started. What was under way may still come late."""
        world = self._world
        self._healed = True
        world.kill(NODE)
        world.event("healed")
        world.network.heal()
        world.network.faults = world.network.faults.calm()
        for disk in world.disks():
            self._mend(disk)
        world.calm()
        for node in world.nodes():
            world.resume(node)
        starts = [world.spawn(self._start(node)) for node in world.nodes()]  # one may need another in order to start
        for start in starts:
            await start
        self._hurt.clear()

    def check(self) -> None:
        """No role suffers more than it may."""
        for role in self._tolerance:
            hurt = [node for node in self._hurt if self._role[node] == role]
            assert len(hurt) <= self._tolerance[role], f"too many of {role} are hurt: {hurt}"

    # ------------------------------------------------------------------------------------------ whom, and for how long

    async def _repeat(self, every_ns: int, evil: Callable[[], Awaitable[None]]) -> None:
        while True:
            await self._world.sleep(draw_ns(self._chance, every_ns // 8, every_ns))
            if self._healed:
                return
            await evil()

    def _choose(self) -> str | None:
        """A node that may be hurt now, or None."""
        world = self._world
        fit = [
            node
            for node, role in self._role.items()
            if node not in self._hurt
            and world.is_up(node)
            and sum(self._role[other] == role for other in self._hurt) < self._tolerance[role]
        ]
        return fit[self._chance.randrange(len(fit))] if fit else None

    async def _last(self, node: str) -> None:
        """Time goes by while a node is hurt."""
        self._hurt[node] = self._hurt.get(node, 0) + 1
        self.check()
        await self._world.sleep(draw_ns(self._chance, MS, self._plagues.lasts_ns))

    def _over(self, node: str) -> None:
        self._hurt.pop(node, None)

    async def _start(self, node: str) -> None:
        """Starts a node, as often as it needs; returns when it has started, or has crashed once more.

        When all is healed and it still cannot start from what its disks hold, it gets new ones, as from an operator.
        """
        world = self._world
        failures = 0
        while True:
            boot = world.boot_of(node)
            try:
                await (boot if boot is not None and world.is_up(node) else world.start(node))
                return
            except EngineError as error:
                world.event("boot failed", node, type(error).__name__)
                failures += 1
                change = self._healed and failures > BOOTS and isinstance(error, DiskError | DataCorrupt)
                if change and self._may_lose_all(node):
                    world.event("disks changed after failed boots", node)
                    world.crash(node, lose_disks=True)
                else:
                    world.crash(node)
                await world.sleep(100 * MS)
            except Killed:
                if not self._healed:
                    return

    # ------------------------------------------------------------------------------------------ nodes

    async def _crash(self) -> None:
        node = self._choose()
        if node is not None:
            self._world.crash(node)
            await self._last(node)
            await self._start(node)
            self._over(node)

    async def _pause(self) -> None:
        node = self._choose()
        if node is not None:
            self._world.event("pause", node)
            self._world.pause(node)
            await self._last(node)
            self._world.resume(node)
            self._over(node)

    async def _power_cut(self) -> None:
        world = self._world
        world.power_cut()
        await world.sleep(draw_ns(self._chance, MS, self._plagues.lasts_ns))
        for node in world.nodes():
            world.spawn(self._start(node), NODE)

    async def _act(self) -> None:
        if not self._actions:
            return
        name, action = self._actions[self._chance.randrange(len(self._actions))]
        self._world.event("action", name)
        try:
            await action()
        except EngineError as error:
            self._world.event("action refused", name, type(error).__name__)

    # ------------------------------------------------------------------------------------------ links

    async def _isolate(self) -> None:
        node = self._choose()
        if node is None:
            return
        others = [other for other in self._role if other != node]
        if self._chance.getrandbits(1):  # from one role only: PS–SM, SM–EN, PS–EN, FE–PS …
            role = self._role[others[self._chance.randrange(len(others))]] if others else ""
            others = [other for other in others if self._role[other] == role]
        self._world.event("isolate", node, len(others))
        self._world.network.block([node], others)
        await self._last(node)
        self._world.network.unblock([node], others)
        self._over(node)

    async def _one_way(self) -> None:
        node = self._choose()
        if node is None:
            return
        others = [other for other in self._role if other != node]
        pair = ([node], others) if self._chance.getrandbits(1) else (others, [node])
        self._world.event("one way", node)
        self._world.network.block(*pair, both_ways=False)
        await self._last(node)
        self._world.network.unblock(*pair, both_ways=False)
        self._over(node)

    async def _clog(self) -> None:
        nodes = list(self._role)
        source, target = (nodes[self._chance.randrange(len(nodes))] for _ in range(2))
        self._world.event("clog", source, target)
        self._world.network.clog([source], [target], draw_ns(self._chance, MS, self._plagues.lasts_ns))

    async def _swizzle(self) -> None:
        """Clogs nodes one after the other, which end in another order (FoundationDB)."""
        nodes = [node for node in self._role if self._tolerance[self._role[node]]]
        self._chance.shuffle(nodes)
        self._world.event("swizzle")
        for node in nodes[: self._chance.randrange(len(nodes) + 1)]:
            others = [other for other in self._role if other != node]
            self._world.network.clog([node], others, draw_ns(self._chance, MS, self._plagues.lasts_ns))
            await self._world.sleep(self._chance.randrange(100 * MS))

    # ------------------------------------------------------------------------------------------ disks

    def _choose_disk(self) -> SimulatedDisk | None:
        node = self._choose()
        disks = [disk for disk in self._world.disks() if disk.node == node and not disk.failed]
        return disks[self._chance.randrange(len(disks))] if disks else None

    async def _slow_disk(self) -> None:
        disk = self._choose_disk()
        if disk is not None:
            self._world.event("slow disk", disk.node, disk.device)
            disk.slow_down(self._chance.randrange(SPINDLE_NS), draw_ns(self._chance, MS, self._plagues.lasts_ns))

    async def _full_disk(self) -> None:
        disk = self._choose_disk()
        if disk is not None:
            self._world.event("disk fills", disk.node, disk.device)
            disk.fill()
            await self._last(disk.node)
            disk.make_room()
            self._over(disk.node)

    async def _lose_device(self) -> None:
        """A device fails; its node goes down, and comes back with an empty one."""
        disk = self._choose_disk()
        if disk is None or not self._may_lose(disk):
            return
        self._world.event("device lost", disk.node, disk.device)
        disk.fail()
        await self._last(disk.node)
        self._world.crash(disk.node)
        disk.change()
        await self._start(disk.node)
        self._over(disk.node)

    async def _wipe(self) -> None:
        """A node comes back without any of its disks."""
        node = self._choose()
        if node is None or not self._may_lose_all(node):
            return
        self._world.event("wipe", node)
        self._world.crash(node, lose_disks=True)
        await self._last(node)
        await self._start(node)
        self._over(node)

    async def _damage(self) -> None:
        """A bit turns, or bytes become unreadable, where they lie."""
        files = [(disk, file) for disk in self._world.disks() for file in disk.files() if file.size()]
        if not files:
            return
        disk, file = files[self._chance.randrange(len(files))]
        at = self._chance.randrange(file.size())
        if disk.may_damage(file.name, at, at + 1):
            flips = self._chance.getrandbits(1) == 1
            self._world.event("damage", disk.node, disk.device, file.name, flips)
            if flips:
                file.flip(at, self._chance.getrandbits(3))
            else:
                file.spoil(at, at + 1)

    def _may_lose_all(self, node: str) -> bool:
        disks = [disk for disk in self._world.disks() if disk.node == node]
        return bool(disks) and all(self._may_lose(disk) for disk in disks)

    def _may_lose(self, disk: SimulatedDisk) -> bool:
        return all(disk.may_damage(file.name, 0, file.size()) for file in disk.files())

    @staticmethod
    def _mend(disk: SimulatedDisk) -> None:
        """What is lost stays lost; nothing new goes wrong."""
        if disk.failed:
            disk.change()
        disk.calm()

"""What a simulated disk needs of the world around it, and a world in which nothing happens."""

from __future__ import annotations

from random import Random
from typing import Protocol

from pkadvisor.engine.worlds.faults import Atlas, CrashPoint


class DiskHost(Protocol):
    """What a simulated disk needs of its world."""

    atlas: Atlas | None

    def now_ns(self) -> int:
        """Virtual time."""

    def random(self, purpose: str) -> Random:
        """A stream of chance."""

    async def sleep(self, duration_ns: int) -> None:
        """Waits."""

    def event(self, name: str, *facts: object) -> None:
        """Notes."""

    async def alive(self, node: str) -> None:
        """Never returns to a task whose node has crashed."""

    def durable_write(self, node: str, device: str, kind: str, name: str) -> CrashPoint | None:
        """Numbers a durable write; the crash point that it hits."""

    async def crash_here(self, node: str, point: CrashPoint) -> None:
        """Carries out a crash point; never returns to a task of that node."""


class QuietHost:
    """No world: nothing fails."""

    atlas: Atlas | None = None

    def now_ns(self) -> int:
        """No time passes."""
        return 0

    def random(self, purpose: str) -> Random:
        """Chance that is the same each time."""
        return Random(purpose)

    async def sleep(self, duration_ns: int) -> None:
        """Does not wait."""

    def event(self, name: str, *facts: object) -> None:
        """Forgets."""

    async def alive(self, node: str) -> None:
        """Is."""

    def durable_write(self, node: str, device: str, kind: str, name: str) -> CrashPoint | None:
        """Never a crash."""
        return None

    async def crash_here(self, node: str, point: CrashPoint) -> None:
        """Never happens."""

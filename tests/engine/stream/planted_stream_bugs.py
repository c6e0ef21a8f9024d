"""Mistakes that the judgement of runs under faults must notice: each is planted in place of the right code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pkadvisor.engine.stream import manager as manager_module
from pkadvisor.engine.stream.access import StreamError
from pkadvisor.engine.stream.manager import StreamManager
from pkadvisor.engine.stream.nodes.extent_node import SERVICE, ExtentNode
from pkadvisor.engine.stream.nodes.extent_store import Replica
from pkadvisor.engine.stream.nodes.record_file import RecordFile
from pkadvisor.engine.stream.records import frame
from pkadvisor.engine.worlds.world import Unreachable

Plant = Callable[[pytest.MonkeyPatch], None]


def seal_at_the_greatest_length(patch: pytest.MonkeyPatch) -> None:
    def greatest(_: int, replicas: Sequence[str], answers: Sequence[Any]) -> tuple[int, tuple[str, ...]]:
        lengths = [answer[0] for answer in answers if isinstance(answer, tuple)]
        if not lengths:
            raise Unreachable("nobody")
        return max(lengths), tuple(replicas)

    patch.setattr(manager_module, "_sealed_length", greatest)


def acknowledge_after_two_replicas(patch: pytest.MonkeyPatch) -> None:
    async def round_of_two(self: ExtentNode, replica: Replica, data: bytes) -> None:
        offset = replica.length
        answers = await self._world.gather(
            [
                self._store(replica, data),
                *[
                    self._world.call(self.name, node, SERVICE, "replicate", replica.extent, offset, data)
                    for node in replica.replicas[1:]
                ],
            ],
            self.name,
        )
        failed = [answer for answer in answers if answer is not None]
        if len(failed) > 1 or replica.durable < offset + len(data):
            raise failed[0]

    patch.setattr(ExtentNode, "_round", round_of_two)


def seal_without_freezing(patch: pytest.MonkeyPatch) -> None:
    async def freeze(self: ExtentNode, extent: int) -> tuple[int, bool]:
        replica = self._replica(extent)
        return replica.durable, not replica.uncertain

    patch.setattr(ExtentNode, "freeze", freeze)


def keep_what_is_beyond_the_seal(patch: pytest.MonkeyPatch) -> None:
    right = ExtentNode.seal

    async def seal(self: ExtentNode, extent: int, length: int, sources: tuple[str, ...]) -> None:
        replica = self._replica(extent)
        await right(self, extent, max(length, replica.durable if replica.sealed is None else replica.sealed), sources)

    patch.setattr(ExtentNode, "seal", seal)


def acquire_without_a_seal(patch: pytest.MonkeyPatch) -> None:
    async def acquire(self: StreamManager, name: str, epoch: int) -> None:
        async with self._stream_locks.hold(name):
            await self._own(name, epoch)

    patch.setattr(StreamManager, "acquire", acquire)


def acknowledge_before_the_sync(patch: pytest.MonkeyPatch) -> None:
    async def append(self: RecordFile, body: bytes, rest: bytes = b"") -> None:
        self._writes += 1
        await self._file.append(frame(body, self._writes, rest))

    patch.setattr(RecordFile, "append", append)


def delete_the_journal_before_the_flush(patch: pytest.MonkeyPatch) -> None:
    async def flush(self: ExtentNode, replica: Replica) -> None:
        return

    patch.setattr(ExtentNode, "_flush", flush)


def forget_who_owns_the_stream(patch: pytest.MonkeyPatch) -> None:
    right = StreamManager.tail

    async def tail(self: StreamManager, name: str, epoch: int, failed: int) -> Any:
        return await right(self, name, max(epoch, self._stream(name).epoch), failed)

    patch.setattr(StreamManager, "tail", tail)


def fill_a_gap_with_nothing(patch: pytest.MonkeyPatch) -> None:
    right = ExtentNode.replicate

    async def replicate(self: ExtentNode, extent: int, offset: int, data: bytes) -> None:
        try:
            await right(self, extent, offset, data)
        except StreamError:
            if self._replica(extent).frozen:
                raise

    patch.setattr(ExtentNode, "replicate", replicate)


BUGS: dict[Plant, int] = {
    acknowledge_after_two_replicas: 2,
    seal_without_freezing: 0,
    keep_what_is_beyond_the_seal: 9,
    acquire_without_a_seal: 0,
    acknowledge_before_the_sync: 0,
    delete_the_journal_before_the_flush: 6,
    forget_who_owns_the_stream: 0,
    fill_a_gap_with_nothing: 22,
}
"""Each mistake, and a seed that shows it."""

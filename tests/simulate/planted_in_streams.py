"""Mistakes of the stream layer beyond those of ``tests/engine/stream/planted_stream_bugs.py``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from pkadvisor.engine.stream import blocks
from pkadvisor.engine.stream.access import MultiModify
from pkadvisor.engine.stream.client import StreamClient
from pkadvisor.engine.stream.directory import Directory
from pkadvisor.engine.stream.manager import StreamManager
from pkadvisor.engine.stream.nodes import extent_store
from pkadvisor.engine.stream.nodes.extent_store import Replica
from pkadvisor.engine.stream.nodes.record_file import StateLog
from pkadvisor.engine.stream.records import Recovered
from pkadvisor.engine.worlds.world import EngineError
from tests.engine.stream import planted_stream_bugs as earlier


def load_what_is_open(patch: pytest.MonkeyPatch) -> None:
    """Nobody seals at a load: the open extent is read as far as its first replica goes, and stays open."""

    async def equal_length(self: StreamClient, view: Any) -> int | None:
        lengths = await self._world.gather([self._commit_length(r, view.extent) for r in view.replicas], self._node)
        return next((length for length in lengths if isinstance(length, int)), None)

    patch.setattr(StreamClient, "_equal_length", equal_length)
    earlier.acquire_without_a_seal(patch)


def skip_the_checksum(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(blocks, "extend", lambda _checksum, _data: 0)


def collect_extents_that_are_held(patch: pytest.MonkeyPatch) -> None:
    """A stream that goes takes its extents with it, whoever else holds them."""

    def delete(self: Directory, name: str) -> None:
        stream = self.streams.pop(name, None)
        for extent in stream.extents if stream is not None else ():
            self.extents[extent].references = 0

    patch.setattr(Directory, "_delete", delete)
    patch.setattr(Directory, "check", lambda _self: None)


def forget_the_journal(patch: pytest.MonkeyPatch) -> None:
    """A node starts from its data device alone."""
    right = extent_store.RecordFile.open

    async def opened(*arguments: Any) -> Any:
        file, recovered = await right(*arguments)
        return file, Recovered((), recovered.end, recovered.writes, True, False)

    class Forgetful(extent_store.RecordFile):
        open = opened  # type: ignore[assignment]

    patch.setattr(extent_store, "RecordFile", Forgetful)


def change_streams_of_a_later_owner(patch: pytest.MonkeyPatch) -> None:
    """A MultiModify does not ask whose its streams are."""
    right = StreamManager.multi_modify

    async def multi_modify(self: StreamManager, change: MultiModify) -> None:
        names = [*(source for new in change.make for source in new.sources), *change.delete]
        epochs = [self.directory.streams[name].epoch for name in names if name in self.directory.streams]
        await right(self, replace(change, epoch=max([change.epoch, *epochs])))

    patch.setattr(StreamManager, "multi_modify", multi_modify)


def append_to_what_is_sealed(patch: pytest.MonkeyPatch) -> None:
    """A replica takes appends in every state."""
    patch.setattr(Replica, "require_open", lambda _self: None)


def command_true_before_it_is_durable(patch: pytest.MonkeyPatch) -> None:
    """The stream manager acts on its commands while they are on their way to its device."""
    right = StateLog.commit

    async def commit(self: StateLog, body: bytes, apply: Callable[[], None]) -> None:
        apply()
        self._world.spawn(later(self, body), self._node)

    async def later(self: StateLog, body: bytes) -> None:
        with suppress(EngineError):
            await right(self, body, lambda: None)

    patch.setattr(StateLog, "commit", commit)

"""The rows of a range partition while it serves: reads, writes under latches, pauses, and the end of serving.

    loading ──► serving ──the log fails──► read only ──┐
                   │ offloaded, split, merged, fenced   ▼
                   └──────────────────────────────► stopped

    write:  latches of its keys ──► rows as they are now ──► decide ──► commit log ──► memory table ──► answer

A read that began before a range stopped may end after it: it answers what held while it ran. Whether this server may
serve at all (its lease) is the partition server's to know.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any, Final

from pkadvisor.engine.lsm.cache import PageCache
from pkadvisor.engine.lsm.tree import Tree
from pkadvisor.engine.options import EngineOptions
from pkadvisor.engine.partition.commit_log import CommitLog
from pkadvisor.engine.partition.metadata import KeyLatches, KeyOutside, MetadataStream, RangeReadOnly, RangeStopped
from pkadvisor.engine.rows import Cursor, Decide, Row
from pkadvisor.engine.stream.access import Fenced, Location, StreamMissing, Streams
from pkadvisor.engine.worlds.tasks import Future, Lock
from pkadvisor.engine.worlds.world import EngineError, World

SERVING: Final = "serving"
READ_ONLY: Final = "read only"
STOPPED: Final = "stopped"

LOOKS: Final = 256
"""How often the thresholds are looked at while a memory table fills, by bytes of the log [A]."""
CROWDED: Final = 2
"""Writers wait when the memory table is so many times its threshold and its predecessor is still being written [A]."""


class RangeRows:
    """What readers and writers of a range see of it; ``RangePartition`` adds what happens behind them."""

    def __init__(
        self,
        world: World,
        node: str,
        streams: Streams,
        options: EngineOptions,
        metadata: MetadataStream,
        tree: Tree,
        log: CommitLog,
        cache: PageCache,
    ) -> None:
        self.world, self.node, self.streams, self.options, self.cache = world, node, streams, options, cache
        self.metadata, self.tree, self.log = metadata, tree, log
        root = metadata.root
        self.number, self.low, self.high, self.epoch = root.number, root.low, root.high, root.epoch
        self.state: str = SERVING
        self.why = ""
        """Why it serves no more, or takes no writes."""
        self._latches = KeyLatches()
        self._pausing = KeyLatches()
        self._checkpointing, self._combining = Lock(), Lock()
        self._writers = 0
        self._paused: Future[None] | None = None
        self._drained: Future[None] | None = None
        self._relieved: Future[None] | None = None
        self._look_at = 0
        self._frozen: tuple[int, Location | None, int] | None = None
        self._covered_bytes = 0
        self._looks_after_itself = False
        self._maintaining = False

    @property
    def sequence(self) -> int:
        """The number of the last change that is applied."""
        return self.log.applied

    # ------------------------------------------------------------------------------------------ rows

    def read(self, key: bytes) -> Coroutine[Any, Any, Row | None]:
        """The row as last committed. KeyOutside, RangeStopped."""
        if self.state is STOPPED or key < self.low or (self.high is not None and key >= self.high):
            self._refuse(key)
        return self.tree.get(key)

    def cursor(self, low: bytes, high: bytes | None) -> Cursor:
        """Rows with ``low <= key < high`` that lie in this range, as last committed. RangeStopped."""
        if self.state is STOPPED:
            self._refuse(self.low)
        if self.high is not None:
            high = self.high if high is None else min(high, self.high)
        return self.tree.cursor(max(low, self.low), high, self.log.applied)

    async def write(self, keys: Sequence[bytes], decide: Decide) -> int:
        """Reads the rows of ``keys``, decides, logs the changes as one record, applies them; its sequence number.

        Where nothing is changed nothing is logged, and the number is that of the last change before.
        KeyOutside, RangeStopped, RangeReadOnly: nothing happened. WriteUncertain: it may turn out to have happened.
        """
        while self._paused is not None or self._relieved is not None:
            await (self._paused or self._relieved)  # type: ignore[misc]
        low, high = self.low, self.high
        held = keys if len(keys) == 1 else sorted(dict.fromkeys(keys))
        for key in (held[0], held[-1]):
            if key < low or (high is not None and key >= high):
                self._refuse(key)
        if self.state is not SERVING:
            self._refuse(low)
        latches, log = self._latches, self.log
        self._writers += 1
        try:
            if len(held) != 1 or not latches.take(held[0]):
                await latches.hold(held)
            try:
                tree = self.tree
                rows = [await tree.get(keys[0])] if len(keys) == 1 else await tree.get_all(keys)
                if self.state is not SERVING:
                    self._refuse(low)
                changes = decide(rows, log.given + 1)
                if not changes:
                    return log.applied
                if len(changes) == 1:
                    assert changes[0][0] in keys, "a change of a key that was not asked for"
                else:
                    names = {change[0] for change in changes}
                    assert len(names) == len(changes), "a key is changed once"
                    assert names.issubset(keys), "a change of a key that was not asked for"
                try:
                    sequence = await log.append(changes)  # numbered before anybody else runs
                except EngineError as error:
                    self._failed(log.failed or error)
                    raise
            finally:
                latches.release(held)
        finally:
            self._writers -= 1
            if self._drained is not None and not self._writers:
                self._drained.resolve(None)
                self._drained = None
        if log.bytes >= self._look_at:
            self._look()
        return sequence

    def _refuse(self, key: bytes) -> None:
        if self.state is STOPPED:
            raise RangeStopped(f"range {self.number}, epoch {self.epoch}: {self.why}")
        if key < self.low or (self.high is not None and key >= self.high):
            raise KeyOutside(f"range {self.number} does not hold the key {key!r}")
        raise RangeReadOnly(f"range {self.number}, epoch {self.epoch}: {self.why}")

    # ------------------------------------------------------------------------------------------ thresholds

    def wants_checkpoint(self) -> bool:
        """Whether the memory table or the log passed its threshold."""
        options, log = self.options, self.log
        return (
            self.tree.memory_bytes >= options.memory_table_bytes or log.bytes - self._covered_bytes >= options.log_bytes
        )

    def look_after_itself(self) -> None:
        """From now on a write that passes a threshold starts :meth:`maintain` in the background."""
        self._looks_after_itself = True

    def _look(self) -> None:
        """Starts maintenance where a threshold was passed; lets writers wait where it does not keep up."""
        options, memory_bytes = self.options, self.tree.memory_bytes
        self._look_at = self.log.bytes + options.memory_table_bytes // LOOKS
        if not self._looks_after_itself or self.state is not SERVING:
            return
        if not self._maintaining:
            if self.wants_checkpoint():
                self._maintaining = True
                self.world.spawn(self._maintain_quietly(), self.node)
        elif memory_bytes >= CROWDED * options.memory_table_bytes and self._relieved is None:
            self._relieved = Future()
            self.world.event("writers wait for a checkpoint", self.number)

    def _relieve(self) -> None:
        if self._relieved is not None:
            relieved, self._relieved = self._relieved, None
            relieved.resolve(None)

    async def _maintain_quietly(self) -> None:
        """Maintenance in the background, which raises nothing of the engine."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------------ pause and end

    async def pause(self) -> None:
        """Lets no new write begin, and returns when those under way have ended. Reads go on.

        One at a time pauses a range, and calls :meth:`unpause` whatever happens.
        """
        await self._pausing.hold((b"pause",))
        self._paused = Future()
        if self._writers:
            self._drained = Future()
            await self._drained

    def unpause(self) -> None:
        """Lets writes go on; those of a stopped range are refused."""
        self._pausing.release((b"pause",))
        self._wake_paused()

    def _wake_paused(self) -> None:
        if self._paused is not None:
            paused, self._paused = self._paused, None
            paused.resolve(None)

    def close(self, why: str) -> None:
        """Serves nothing any more, at once, and writes nothing."""
        if self.state is not STOPPED:
            self.state, self.why = STOPPED, why
            self.log.fail(RangeStopped(f"range {self.number}: {why}"))
        self._wake_paused()
        self._relieve()

    def _failed(self, error: EngineError) -> None:
        if self.state is STOPPED:
            return
        if isinstance(error, Fenced | StreamMissing):
            self.world.event("zombie rejected", self.number, self.epoch)
            self.close(f"another owner has it: {error}")
            return
        self.state, self.why = READ_ONLY, f"{type(error).__name__}: {error}"
        self.log.fail(error)
        self.world.event("range read only", self.number, type(error).__name__)

    def _failed_if_fenced(self, error: EngineError) -> None:
        if isinstance(error, Fenced | StreamMissing):
            self._failed(error)

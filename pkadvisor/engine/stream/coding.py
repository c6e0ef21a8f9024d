"""Coding a sealed extent: an extent node as coordinator encodes, then tries losses, and only then may full copies go.

    full copies ──encode: from where the fragments are──► all fragments whole
                                 │ coordinator stops, crashes        │ validate: every append whole as they hold it,
                                 ▼                                   │   and again after each trial loss
                       another one goes on from there                ├─ all the same ──► the manager records it: coded
                                                                     └─ any difference ─► CodingFailed: copies stay

Validation asks no full copy: one that was verified may have turned bad since, and the fragments be made of it. The
checksums of the appends, made before anything was acknowledged, say what the extent is [H].

A coordinator remembers nothing: how far it has come is the length of the fragments on their nodes (ATC 2012, 3.2).
Encoding goes through the extent by stripes: the same range of each data fragment.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from functools import partial
from typing import Any, NoReturn

import msgspec

from pkadvisor.engine.options import MS
from pkadvisor.engine.stream.blocks import whole_appends
from pkadvisor.engine.stream.erasure import code_named, fragment_bytes, pieces_of
from pkadvisor.engine.stream.errors import CodingFailed, NotThere, ReplicaFailed, Undecodable
from pkadvisor.engine.stream.hedge import Ask, first_enough, first_good
from pkadvisor.engine.stream.nodes.fragments import FragmentKey
from pkadvisor.engine.worlds.world import EngineError, World

HEDGE_NS = 100 * MS  # of a coordinator: nobody waits for it


class Coding(msgspec.Struct, frozen=True, array_like=True):
    """How an extent is coded: how long it is, the node of each fragment, and the pieces of fragments (bytes)."""

    extent: int
    attempt: int
    code: str
    piece_bytes: int
    length: int
    nodes: tuple[str, ...]

    @property
    def fragment_bytes(self) -> int:
        """How long each fragment is."""
        return fragment_bytes(self.length, code_named(self.code).data_count)

    @property
    def validation_bytes(self) -> int:
        """Where a validation ends: it goes through the extent, and then through its fragments."""
        return self.length + self.fragment_bytes

    def key(self, number: int) -> FragmentKey:
        """The name of a fragment."""
        return FragmentKey(self.extent, self.attempt, number, self.piece_bytes)


CopyReader = Callable[[str, int, int, int], Awaitable[bytes]]
"""Reads a full copy: node, extent, offset, length. Unchecked: validation finds what was wrong."""


class Coordinator:
    """The service ``coordinator`` of an extent node."""

    def __init__(self, world: World, node: str, read_copy: CopyReader) -> None:
        self._world, self._node, self._read_copy = world, node, read_copy

    async def encode(self, coding: Coding, sources: Sequence[str], budget: int) -> bool:
        """Goes on from where the fragments are, by about ``budget`` bytes of the extent; whether all are whole.

        ReplicaFailed: a node of a fragment did not answer, or could not. Else what the sources said.
        """
        code, size = code_named(coding.code), coding.fragment_bytes
        numbers = range(code.total_count)
        sizes: list[int] = await self._all(coding, [self._fragment(coding, number, "size") for number in numbers])
        position = min(sizes)
        if 0 < position < size:
            self._world.event("coding resumed", coding.extent)
        while position < size and budget > 0:
            end = min(size, position + coding.piece_bytes)
            data = await self._stripe(coding, sources, position, end)
            whole = [*data, *code.encode(data)]
            behind = [number for number in numbers if sizes[number] < end]
            await self._all(coding, [self._fragment(coding, n, "write", position, whole[n]) for n in behind])
            budget -= (end - position) * code.data_count
            position = end
        return position >= size

    async def validate(self, coding: Coding, position: int, budget: int) -> int:
        """Goes on from a position by about ``budget`` bytes; the position reached, in the end ``validation_bytes``.

        CodingFailed: the data fragments do not hold what was acknowledged, or a loss would not give back what they do.
        """
        while position < coding.length and budget > 0:
            whole = await whole_appends(coding.extent, position, coding.length, partial(self._data, coding))
            if not whole:
                self._fail(coding, f"what lies at {position} is not whole")
            budget -= len(whole)
            position += len(whole)
        if position < coding.length:
            return position
        return coding.length + await self._try_losses(coding, position - coding.length, budget)

    async def _try_losses(self, coding: Coding, position: int, budget: int) -> int:
        """Reads all fragments from ``position`` of each on, and tries losses; the position reached."""
        code, size = code_named(coding.code), coding.fragment_bytes
        numbers, data_numbers = range(code.total_count), tuple(range(code.data_count))
        while position < size and budget > 0:
            end = min(size, position + coding.piece_bytes)
            fragments = await self._all(coding, [self._fragment(coding, n, "read", position, end) for n in numbers])
            for lost in code.trials(coding.extent):
                left = {number: fragments[number] for number in numbers if number not in lost}
                given_back = code.decode(left, data_numbers)
                if any(given_back[number] != fragments[number] for number in data_numbers):
                    self._fail(coding, f"after the loss of {list(lost)} others come back at {position}")
            budget -= (end - position) * code.data_count
            position = end
        return position

    async def _data(self, coding: Coding, offset: int, length: int) -> bytes:
        """A range of the extent as the data fragments hold it."""
        pieces = pieces_of(offset, length, coding.fragment_bytes)
        return b"".join(await self._all(coding, [self._fragment(coding, n, "read", a, b) for n, a, b in pieces]))

    def _fail(self, coding: Coding, why: str) -> NoReturn:
        self._world.event("coding failed", coding.extent)
        raise CodingFailed(f"extent {coding.extent}: {why}")

    async def restore(self, coding: Coding, number: int, target: str, budget: int) -> bool:
        """Makes a fragment whole on a node that has none, a part of it, or bad pieces; whether it is whole.

        Each range comes from as few others as there need be. Undecodable: too few are left; nothing was destroyed.
        """
        code, size, key = code_named(coding.code), coding.fragment_bytes, coding.key(number)
        reader = CodedReader(self._world, self._node, HEDGE_NS)

        async def on_target(method: str, *arguments: Any) -> Any:
            return await self._world.call(self._node, target, "fragments", method, key, *arguments)

        position = await on_target("size")
        bad = await on_target("bad_pieces")
        if bad:
            ends = [min(position, start + coding.piece_bytes) for start in bad]
            pieces = [
                (start, await reader.fragment(coding, number, start, end, without=(number,)))
                for start, end in zip(bad, ends, strict=True)
            ]
            await on_target("mend", tuple(pieces))
        while position < size and budget > 0:
            end = min(size, position + coding.piece_bytes)
            piece = await reader.fragment(coding, number, position, end, without=(number,))
            await on_target("write", position, piece)
            budget -= (end - position) * code.data_count
            position = end
        return bool(position >= size)

    async def _stripe(self, coding: Coding, sources: Sequence[str], start: int, end: int) -> list[bytes]:
        """The range of each data fragment, from a full copy; zeros beyond the end of the extent."""
        size = coding.fragment_bytes
        parts = []
        for number in range(code_named(coding.code).data_count):
            offset = number * size + start
            length = max(0, min(end - start, coding.length - offset))
            part = await self._copy(coding.extent, sources, offset, length) if length else b""
            parts.append(part.ljust(end - start, b"\0"))
        return parts

    async def _copy(self, extent: int, sources: Sequence[str], offset: int, length: int) -> bytes:
        return await first_good(
            self._world,
            self._node,
            sources,
            lambda source: self._read_copy(source, extent, offset, length),
            hedge_ns=HEDGE_NS,
        )

    async def _fragment(self, coding: Coding, number: int, method: str, *arguments: Any) -> Any:
        node = coding.nodes[number]
        return await self._world.call(self._node, node, "fragments", method, coding.key(number), *arguments)

    async def _all(self, coding: Coding, calls: Sequence[Coroutine[Any, Any, Any]]) -> list[Any]:
        answers = await self._world.gather(calls, self._node)
        for answer in answers:
            if isinstance(answer, EngineError):
                raise ReplicaFailed(f"a fragment of extent {coding.extent}: {answer}") from answer
        return answers


class CodedReader:
    """Reads of a coded extent by one node: the fragment itself, or what others give back."""

    def __init__(self, world: World, node: str, hedge_ns: int) -> None:
        self._world, self._node, self._hedge_ns = world, node, hedge_ns

    async def read(self, coding: Coding, offset: int, length: int) -> bytes:
        """A range of the extent. Undecodable: too few fragments could be read."""
        if offset + length > coding.length:
            raise NotThere(f"extent {coding.extent} ends at {coding.length}")
        pieces = pieces_of(offset, length, coding.fragment_bytes)
        return b"".join([await self.fragment(coding, *piece) for piece in pieces])

    async def fragment(
        self, coding: Coding, number: int, start: int, end: int, *, without: Collection[int] = ()
    ) -> bytes:
        """A range of a fragment. Others are asked, first the few of the plan, where it does not come in time.

        Where too few are whole over the range, piece by piece: wrong bytes in one piece spoil no other.
        """
        if number not in without:
            try:
                return await self._in_time(coding, number, start, end)
            except EngineError:
                self._world.event("read rebuilt", coding.extent, number)
        try:
            return await self._rebuilt(coding, number, start, end, without)
        except Undecodable:
            cut = start // coding.piece_bytes * coding.piece_bytes + coding.piece_bytes
            if cut >= end:
                raise
        parts = []
        while start < end:
            parts.append(await self.fragment(coding, number, start, min(cut, end), without=without))
            start, cut = cut, cut + coding.piece_bytes
        return b"".join(parts)

    async def _rebuilt(self, coding: Coding, number: int, start: int, end: int, without: Collection[int]) -> bytes:
        code = code_named(coding.code)
        others = [other for other in range(code.total_count) if other != number and other not in without]
        plan = code.plan((number,), others)
        if plan is None:
            raise Undecodable(f"extent {coding.extent}: fragment {number}")
        asks = {
            other: partial(self._ask, coding, other, start, end)
            for other in (*plan, *(other for other in others if other not in plan))
        }
        fragments = await first_enough(
            self._world,
            self._node,
            asks,
            lambda answers: code.plan((number,), answers) is not None,
            at_first=len(plan),
            hedge_ns=self._hedge_ns,
        )
        return code.decode(fragments, (number,))[number]

    async def _in_time(self, coding: Coding, number: int, start: int, end: int) -> bytes:
        """The range from its own node; gives up after the time of a hedge."""
        ask: dict[int, Ask[bytes | None]] = {0: partial(self._ask, coding, number, start, end), 1: self._nothing}
        answers = await first_enough(self._world, self._node, ask, bool, at_first=1, hedge_ns=self._hedge_ns)
        data = answers.get(0)
        if data is None:
            raise NotThere(f"fragment {number} of extent {coding.extent} did not come")
        return data

    async def _ask(self, coding: Coding, number: int, start: int, end: int) -> bytes:
        key = coding.key(number)
        return bytes(await self._world.call(self._node, coding.nodes[number], "fragments", "read", key, start, end))

    async def _nothing(self) -> None:
        return None

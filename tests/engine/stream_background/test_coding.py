"""Coding of sealed extents: fragments, resume, validation, reads of what is lost (S7, S8, S13)."""

from __future__ import annotations

from random import Random

import pytest

from pkadvisor.engine.options import MS, EngineOptions
from pkadvisor.engine.stream import blocks as blocks_module
from pkadvisor.engine.stream import coding as coding_module
from pkadvisor.engine.stream.blocks import HEADER_BYTES as BLOCK_HEADER_BYTES
from pkadvisor.engine.stream.blocks import encode
from pkadvisor.engine.stream.coding import CodedReader, Coding, Coordinator
from pkadvisor.engine.stream.erasure import code_named
from pkadvisor.engine.stream.errors import CodingFailed, NotThere, ReplicaFailed, Undecodable
from pkadvisor.engine.stream.nodes.device import Device
from pkadvisor.engine.stream.nodes.fragments import HEADER_BYTES, FragmentKey, FragmentStore
from pkadvisor.engine.worlds.simulator import Simulator
from pkadvisor.engine.worlds.world import DataCorrupt, Unreachable

PIECE = 16


def appends(extent: int, length: int) -> bytes:
    """What an extent of that length holds."""
    chance, data = Random(length), b""
    while (left := length - len(data)) > 0:
        size = chance.randrange(BLOCK_HEADER_BYTES, 120)
        if left - size < BLOCK_HEADER_BYTES:
            size = left
        data += encode(extent, len(data), [chance.randbytes(size - BLOCK_HEADER_BYTES)])[0]
    return data


class Stamp:
    """Nodes that hold fragments and coordinate, and full copies that a test may spoil."""

    def __init__(self, length: int = 1000, code: str = "lrc-12-2-2") -> None:
        self.world = Simulator(7)
        self.extent = appends(9, length)
        count = code_named(code).total_count
        self.nodes = [f"en{number}" for number in range(count + 2)]
        self.coding = Coding(9, 1, code, PIECE, length, tuple(self.nodes[:count]))
        self.copies = dict.fromkeys(("en0", "en1", "en2"), self.extent)
        self.stores: dict[str, FragmentStore] = {}
        self.reads = 0
        for node in self.nodes:
            self.start(node)

    def start(self, node: str) -> None:
        store = FragmentStore(
            self.world, node, self.world.disk(node, "data"), Device(self.world, node, EngineOptions())
        )
        self.world.run(store.recover(), node)
        self.stores[node] = store
        self.world.register(node, "fragments", store)

    async def read_copy(self, node: str, extent: int, offset: int, length: int) -> bytes:
        self.reads += 1
        if node not in self.copies:
            raise Unreachable(node)
        return self.copies[node][offset : offset + length]

    def coordinator(self, node: str = "en0") -> Coordinator:
        return Coordinator(self.world, node, self.read_copy)

    def encode(self, budget: int = 1 << 20, node: str = "en0", sources: tuple[str, ...] = ("en0", "en1")) -> bool:
        return self.world.run(self.coordinator(node).encode(self.coding, sources, budget), node)

    def validate(self, position: int = 0, budget: int = 1 << 20) -> int:
        return self.world.run(self.coordinator().validate(self.coding, position, budget), "en0")

    def read(self, offset: int, length: int) -> bytes:
        return self.world.run(CodedReader(self.world, "client", 10 * MS).read(self.coding, offset, length), "client")

    def flip(self, number: int, position: int) -> None:
        """One bit of a piece, at rest."""
        node = self.coding.nodes[number]
        file = self.world.run(self.world.disk(node, "data").open(f"fragment-9-1-{number}-{PIECE}"))
        size = file.size()
        data = bytearray(self.world.run(file.read(0, size)))
        data[HEADER_BYTES + position] ^= 4
        self.world.run(self.world.disk(node, "data").replace(f"fragment-9-1-{number}-{PIECE}", bytes(data)))
        self.start(node)


@pytest.mark.parametrize("code", ["rs-3-2", "lrc-12-2-2", "rs-6-3"])
@pytest.mark.parametrize("length", [8, 11, 192, 1000])
def test_s8_an_extent_is_coded_validated_and_read(code: str, length: int) -> None:
    stamp = Stamp(length, code)
    assert stamp.encode()
    assert stamp.validate() == stamp.coding.validation_bytes == length + stamp.coding.fragment_bytes
    assert stamp.read(0, length) == stamp.extent
    chance = Random(length)
    for _ in range(20):
        start = chance.randrange(length)
        end = chance.randrange(start, length)
        assert stamp.read(start, end - start) == stamp.extent[start:end]
    with pytest.raises(NotThere):
        stamp.read(length - 1, 2)


def test_coding_goes_on_from_where_another_coordinator_stopped() -> None:
    stamp = Stamp()
    assert not stamp.encode(budget=12 * PIECE * 2)
    assert stamp.reads == 12 * 2
    sizes = {stamp.world.run(stamp.stores[node].size(stamp.coding.key(n))) for n, node in enumerate(stamp.coding.nodes)}
    assert sizes == {32}
    for node in stamp.nodes:
        stamp.start(node)  # what was acknowledged is on disk
    assert stamp.encode(node="en5", sources=("en2",))
    assert stamp.world.counts["coding resumed"] == 1
    assert stamp.reads == 12 * 6 - 1, "nothing is read twice; the end of the last fragment is zeros"
    assert stamp.encode(), "an encoded extent is encoded"
    assert stamp.reads == 12 * 6 - 1
    assert stamp.validate() == 1084


def test_two_coordinators_at_once_write_the_same() -> None:
    stamp = Stamp()
    first = stamp.world.spawn(stamp.coordinator("en0").encode(stamp.coding, ("en0",), 1 << 20), "en0")
    second = stamp.world.spawn(stamp.coordinator("en1").encode(stamp.coding, ("en1",), 1 << 20), "en1")
    stamp.world.run_until(MS)
    assert first.result() and second.result()
    assert stamp.validate() == 1084


def test_a_lost_node_stops_coding_and_it_goes_on_when_the_node_is_back() -> None:
    stamp = Stamp()
    stamp.encode(budget=12 * PIECE)
    stamp.world._services.pop(("en7", "fragments"))
    with pytest.raises(ReplicaFailed):
        stamp.encode()
    stamp.start("en7")
    assert stamp.encode()
    assert stamp.validate() == 1084


def test_a_source_that_fails_is_replaced_by_another() -> None:
    stamp = Stamp()
    del stamp.copies["en0"]
    assert stamp.encode()
    stamp.copies.clear()
    assert stamp.validate() == 1084, "no copy is asked what is right"
    with pytest.raises(Unreachable):
        Stamp().encode(sources=("en7",))


@pytest.mark.parametrize("spoiled", [0, 499, 999])
def test_s8_validation_finds_that_a_copy_was_bad(spoiled: int) -> None:
    """The copy that was coded had turned bad: the full copies must stay, whichever of them answer now."""
    stamp = Stamp()
    wrong = bytearray(stamp.extent)
    wrong[spoiled] ^= 1
    stamp.copies = dict.fromkeys(stamp.copies, bytes(wrong))
    assert stamp.encode()
    with pytest.raises(CodingFailed):
        stamp.validate()


@pytest.mark.parametrize("parity", [12, 13, 14, 15])
def test_s8_validation_finds_a_wrong_parity(parity: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stamp = Stamp()
    right = code_named("lrc-12-2-2")

    class Wrong:
        data_count, total_count = 12, 16

        def encode(self, data: list[bytes]) -> list[bytes]:
            made = right.encode(data)
            made[parity - 12] = bytes(len(data[0]))
            return made

    with monkeypatch.context() as patch:
        patch.setattr(coding_module, "code_named", lambda name: Wrong())
        assert stamp.encode()
    with pytest.raises(CodingFailed):
        stamp.validate()


def test_validation_goes_on_by_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks_module, "PIECE_BYTES", 200)
    stamp = Stamp()
    stamp.encode()
    first = stamp.validate(0, 1)
    assert 0 < first <= 200
    assert first < stamp.validate(first, 1) <= first + 200
    assert stamp.validate(first, 1000 - first) == 1000
    assert stamp.validate(1000, 1) == 1000 + PIECE
    assert stamp.validate(1000 + PIECE, 12 * PIECE * 2) == 1000 + 3 * PIECE
    assert stamp.validate(1000 + 3 * PIECE) == 1084


def test_s7_a_flipped_bit_of_a_fragment_is_never_returned() -> None:
    stamp = Stamp()
    stamp.encode()
    for number, position in ((0, 5), (3, 30), (14, 2)):
        stamp.flip(number, position)
    with pytest.raises(DataCorrupt):
        stamp.world.run(stamp.stores["en3"].read(FragmentKey(9, 1, 3, PIECE), 20, 40))
    assert stamp.read(0, 1000) == stamp.extent
    assert stamp.world.counts["read rebuilt"] == 2
    whole = [stamp.world.run(stamp.stores[f"en{n}"].verify(FragmentKey(9, 1, n, PIECE))) for n in range(16)]
    assert [number for number, good in enumerate(whole) if not good] == [0, 3, 14]
    assert [key.number for node in stamp.nodes for key in stamp.world.run(stamp.stores[node].damaged())] == [0, 3, 14]


def test_s13_a_lost_fragment_is_read_from_one_group() -> None:
    stamp = Stamp()
    stamp.encode()
    stamp.world._services.pop(("en4", "fragments"))
    asked: list[str] = []
    call = stamp.world.call

    def counting(source: str, target: str, *arguments: object) -> object:
        asked.append(target)
        return call(source, target, *arguments)

    stamp.world.call = counting  # type: ignore[method-assign,assignment]
    start = 4 * 84
    assert stamp.read(start + 10, 20) == stamp.extent[start + 10 : start + 30]
    assert sorted(asked) == ["en0", "en1", "en12", "en2", "en3", "en4", "en5"]


def test_s13_too_few_fragments_are_reported_not_guessed() -> None:
    stamp = Stamp()
    stamp.encode()
    for number in (0, 1, 2, 3, 12):
        stamp.world._services.pop((f"en{number}", "fragments"))
    with pytest.raises(Undecodable):
        stamp.read(0, 10)
    assert stamp.read(6 * 84, 84) == stamp.extent[6 * 84 : 7 * 84], "the other group is there"
    stamp.start("en0")
    stamp.start("en1")
    assert stamp.read(0, 1000) == stamp.extent


def test_a_lost_fragment_is_rebuilt_on_another_node() -> None:
    for number in (2, 13, 15):
        stamp = Stamp()
        stamp.encode()
        before = stamp.world.run(stamp.stores[f"en{number}"].read(stamp.coding.key(number), 0, 84))
        stamp.world._services.pop((f"en{number}", "fragments"))
        restore = stamp.coordinator().restore
        assert not stamp.world.run(restore(stamp.coding, number, "en16", 1), "en0")
        assert stamp.world.run(restore(stamp.coding, number, "en16", 1 << 20), "en0")
        assert stamp.world.run(stamp.stores["en16"].read(stamp.coding.key(number), 0, 84)) == before


def test_s7_bad_pieces_are_mended_in_place() -> None:
    stamp = Stamp()
    stamp.encode()
    for number in (0, 1, 12, 14, 15):  # more than could be rebuilt at once, were they in the same place
        stamp.flip(number, number)
        stamp.flip(number, (HEADER_BYTES + PIECE) * 2 + number)
    spoiled = stamp.stores["en14"]
    with pytest.raises(Undecodable):
        stamp.world.run(stamp.coordinator().restore(stamp.coding, 0, "en0", 1 << 20), "en3")
    assert stamp.world.run(spoiled.bad_pieces(stamp.coding.key(14))) == (0, 32), "nothing was destroyed"
    for number in (1, 15):
        stamp.flip(number, number)
        stamp.flip(number, (HEADER_BYTES + PIECE) * 2 + number)
    for number in (0, 12, 14):
        assert stamp.world.run(stamp.coordinator().restore(stamp.coding, number, f"en{number}", 1 << 20), "en3")
    assert all(stamp.world.run(stamp.stores[f"en{n}"].verify(stamp.coding.key(n))) for n in range(16))
    assert stamp.world.run(spoiled.damaged()) == ()
    stamp.start("en14")
    assert stamp.validate() == 1084


def test_s8_a_piece_that_cannot_be_read_is_mended_in_place() -> None:
    stamp = Stamp()
    stamp.encode()
    key, store = stamp.coding.key(0), stamp.stores["en0"]
    (file,) = [file for file in stamp.world.disk("en0", "data").files() if file.name.startswith("fragment")]
    file.spoil(HEADER_BYTES + 3, HEADER_BYTES + 4)
    assert not stamp.world.run(store.verify(key))
    assert stamp.world.run(store.damaged()) == (key,), "reported, so that it is mended"
    assert stamp.world.run(stamp.coordinator().restore(stamp.coding, 0, "en0", 1 << 20), "en3")
    assert stamp.world.run(store.verify(key))
    assert stamp.world.run(store.damaged()) == ()


def test_s8_a_piece_that_could_not_be_read_once_is_not_reported_for_ever() -> None:
    stamp = Stamp()
    stamp.encode()
    key, store = stamp.coding.key(0), stamp.stores["en0"]
    (file,) = [file for file in stamp.world.disk("en0", "data").files() if file.name.startswith("fragment")]
    file.spoil(HEADER_BYTES + 3, HEADER_BYTES + 4)
    assert stamp.world.run(store.bad_pieces(key)) == (0,)
    file._bad.clear()
    assert stamp.world.run(store.bad_pieces(key)) == ()
    assert stamp.world.run(store.damaged()) == ()


def test_pieces_come_in_order_once_and_are_deleted_whole() -> None:
    stamp = Stamp()
    store, key = stamp.stores["en0"], FragmentKey(3, 2, 1, PIECE)
    run = stamp.world.run
    with pytest.raises(NotThere):
        run(store.write(key, PIECE, b"x" * PIECE))
    assert run(store.write(key, 0, b"x" * PIECE)) == PIECE
    assert run(store.write(key, 0, b"x" * PIECE)) == PIECE, "written twice is written once"
    assert run(store.write(key, PIECE, b"yz")) == PIECE + 2
    assert run(store.read(key, 10, 17)) == b"xxxxxxy"
    with pytest.raises(NotThere):
        run(store.read(key, 0, PIECE + 3))
    assert run(store.held()) == ((key, PIECE + 2),)
    run(store.delete(key))
    run(store.delete(key))
    store.check()
    assert run(store.held()) == () and run(store.size(key)) == 0
    assert stamp.world.disk("en0", "data").names() == ()


def test_a_torn_piece_is_cut_at_every_byte() -> None:
    """Crash points: whatever part of the last piece is on disk, the pieces before it stand and it is not there."""
    stamp = Stamp()
    store, key, run = stamp.stores["en0"], FragmentKey(9, 1, 0, PIECE), stamp.world.run
    run(store.write(key, 0, b"a" * PIECE))
    run(store.write(key, PIECE, b"b" * PIECE))
    disk = stamp.world.disk("en0", "data")
    name = f"fragment-9-1-0-{PIECE}"
    whole = run(run(disk.open(name)).read(0, 10**6))
    step = HEADER_BYTES + PIECE
    for kept in range(step, 2 * step):
        for torn in (whole[:kept], whole[:kept].ljust(2 * step, b"\0")):
            if torn == whole:
                continue
            run(disk.replace(name, torn))
            stamp.start("en0")
            store = stamp.stores["en0"]
            assert run(store.size(key)) == PIECE, (kept, torn)
            assert run(store.write(key, PIECE, b"b" * PIECE)) == 2 * PIECE
            assert run(run(disk.open(name)).read(0, 10**6)) == whole

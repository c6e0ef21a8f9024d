"""Pages of a query on a whole stamp, compared with the sequence numbers that ETags carry (T3), and slow disks (T6)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.options import MS, SECOND
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.engine.worlds.faults import DiskFaults, NetworkFaults
from pkadvisor.table.store import CreateTable, Delete, EntityKey, InsertOrReplace, Outcome, Query
from tests.engine.stamp.stamps import SMALL, built
from tests.engine.table_service.support import ACCOUNT, NO_WAIT, do, entity, keys
from tests.engine.worlds import simulated

Shown = dict[str, int]


@pytest.mark.parametrize("seed", range(4))
def test_t3_a_page_is_the_range_at_one_sequence_number(seed: int) -> None:
    """T3: there is one number, not before any write acknowledged when the query began, whose rows the page shows.

    Writers change single rows, among checkpoints and combines. A change is known by its sequence number: of a put from
    its ETag, of a deletion from the answer of the range.
    """
    options = replace(SMALL, memory_table_bytes=2 << 10, page_cache_bytes=2 << 10)
    network, disks = NetworkFaults(MS // 10, MS), DiskFaults(MS // 10, MS // 2)
    with simulated(seed, network=network, disks=disks) as world:
        stamp = built(world, options, front_ends=2)
        spy = Spy(stamp.front_end(0))
        writer, reader = TableService(spy, ACCOUNT, limits=NO_WAIT), TableService(stamp.front_end(1), ACCOUNT)
        assert world.run(writer.execute(CreateTable("tab"))).ok
        changes: dict[int, tuple[str, int | None]] = {}
        pages: list[tuple[int, int, Shown]] = []
        acked = 0
        working = 3

        async def write(number: int) -> None:
            nonlocal acked, working
            chance = world.random(f"writer/{number}")
            for turn in range(50):
                row, value = f"{3 * chance.randrange(8) + number:02}", 1000 * number + turn
                if chance.randrange(4):
                    outcome = await writer.execute(InsertOrReplace("tab", entity("p", row, v=value)))
                else:
                    outcome = await writer.execute(Delete("tab", EntityKey("p", row), "*"))
                assert outcome.ok or outcome.status == 404, outcome
                if outcome.ok:
                    sequence = spy.sequences.pop(("p", row))
                    changes[sequence] = row, (value if outcome.etags[0] else None)
                    acked = max(acked, sequence)
                await world.sleep(chance.randrange(3 * MS))
            working -= 1

        async def read() -> None:
            while working:
                least = acked
                outcome = await reader.execute(Query("tab", "PartitionKey eq 'p'"))
                assert outcome.ok and not outcome.continuation
                pages.append((least, acked, shown(outcome)))

        async def all_of_them() -> None:
            await world.gather([write(number) for number in range(3)] + [read(), read()], "clients")

        task = world.spawn(all_of_them(), "clients")
        world.run_until(world.now_ns() + 60 * SECOND)
        task.result()
        moments = states(changes)
        assert len(pages) > 20 and world.counts["checkpoint"] > 2
        for least, _, page in pages:
            later = [rows for sequence, rows in moments if sequence >= least]
            assert page in later, f"the page is the range at no number from {least} on"


class Spy:
    """A router that notes which sequence number the last write of each row was given."""

    def __init__(self, router: object) -> None:
        self.router = router
        self.sequences: dict[tuple[str, str], int] = {}

    async def send(self, key: bytes, request: object) -> object:
        answer = await self.router.send(key, request)  # type: ignore[attr-defined]
        parts = key.split(b"\0")
        if hasattr(request, "writes") and answer.ok:
            self.sequences[parts[-2].decode(), parts[-1].decode()] = answer.sequence
        return answer


def shown(outcome: Outcome) -> Shown:
    return {e.key.row_key: int(e.properties["v"].value) for e in outcome.entities}  # type: ignore[arg-type]


def states(changes: dict[int, tuple[str, int | None]]) -> list[tuple[int, Shown]]:
    """The rows after each change, in the order of the sequence numbers."""
    rows: Shown = {}
    found: list[tuple[int, Shown]] = [(0, {})]
    for sequence in sorted(changes):
        row, value = changes[sequence]
        rows = {name: held for name, held in rows.items() if name != row} | ({} if value is None else {row: value})
        found.append((sequence, rows))
    return found


def test_t6_slow_disks_end_a_page_before_five_seconds() -> None:
    """T6: at most 5 s, and not much less; every entity comes all the same, each once.

    One checkpoint, an index of one node, no cache. The table itself is looked up before, with one read more.
    """
    options = replace(
        SMALL,
        memory_table_bytes=1 << 20,
        log_bytes=2 << 20,
        page_cache_bytes=1,
        journal_segment_bytes=2 << 10,
        operation_timeout_ns=60 * SECOND,
    )
    with simulated(2) as world:
        stamp = built(world, options)
        store = EmbeddedStore(world, TableService(stamp.front_end(0), ACCOUNT, limits=NO_WAIT))
        assert do(store, CreateTable("tab")).ok
        for number in range(300):
            assert do(store, InsertOrReplace("tab", entity("p", f"{number:04}", v=number))).ok
        for server in stamp.servers.values():
            for hosted in server._ranges.values():
                world.run(hosted.partition.checkpoint())
        one_read_ns = 300 * MS
        for node in stamp.streams.nodes:
            world.disk(node.name, "data").slow_down(one_read_ns, 3600 * SECOND)
        found, token = [], ""
        while not found or token:
            outcome = store.execute(Query("tab", continuation=token), world.now_ns() / MS)
            assert outcome.ok, outcome
            assert outcome.latency_ns <= 5 * SECOND + one_read_ns
            found.append(outcome)
            token = outcome.continuation
        assert keys(found) == [("p", f"{number:04}") for number in range(300)]
        assert len(found) >= 2, "time was over before the rows were"
        longest_ns = max(outcome.latency_ns for outcome in found)
        assert longest_ns >= 5 * SECOND - 4 * one_read_ns, "and not much earlier"

"""Mistakes of the table service: ETags, groups, pages and their tokens, uncertain writes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import msgspec
import pytest

from pkadvisor.engine.tables import table_requests, table_service
from pkadvisor.engine.tables.table_messages import Answer, PageRequest, WriteRequest
from pkadvisor.engine.tables.table_rules import TableError
from pkadvisor.engine.tables.table_service import TableService
from pkadvisor.table.store import EntityKey, Outcome, Query

T = TypeVar("T", Answer, Outcome)


def token_as_an_offset(patch: pytest.MonkeyPatch) -> None:
    """A token says how many entities were shown; the next page counts them off again."""
    right = TableService._query

    async def query(self: TableService, asked: Query) -> Outcome:
        skipped = int(asked.continuation or 0)
        inner, page, found = replace(asked, continuation=""), None, []
        while page is None or page.continuation:
            page = await right(self, inner)
            if not page.ok:
                return page
            found += page.entities
            inner = replace(inner, continuation=page.continuation)
        end = skipped + (asked.top or 1_000)
        return changed(page, entities=tuple(found[skipped:end]), continuation=str(end) if end < len(found) else "")

    patch.setattr(TableService, "_query", query)


def token_names_an_entity(patch: pytest.MonkeyPatch) -> None:
    """A token names the last entity shown; the next page begins behind it, if it can be found."""
    right = TableService._query

    async def query(self: TableService, asked: Query) -> Outcome:
        last = EntityKey(*asked.continuation.split("/")) if asked.continuation else None
        inner, page, found = replace(asked, continuation="", top=None), None, []
        while page is None or page.continuation:
            page = await right(self, inner)
            if not page.ok:
                return page
            found += page.entities
            inner = replace(inner, continuation=page.continuation)
        keys = [entity.key for entity in found]
        start = 0 if last is None else keys.index(last) + 1 if last in keys else len(keys)
        shown = found[start : start + (asked.top or 1_000)]
        more = shown and start + len(shown) < len(found)
        return changed(page, entities=tuple(shown), continuation="/".join(shown[-1].key) if more else "")

    patch.setattr(TableService, "_query", query)


def end_at_an_empty_page(patch: pytest.MonkeyPatch) -> None:
    """A page without entities comes without a token."""
    right = TableService._query

    async def query(self: TableService, asked: Query) -> Outcome:
        page = await right(self, asked)
        return page if page.entities else changed(page, continuation="")

    patch.setattr(TableService, "_query", query)


def end_where_the_range_ends(patch: pytest.MonkeyPatch) -> None:
    """A page that reaches the end of a range says that nothing follows."""
    right = table_requests.read_page

    async def read_page(rows: Any, request: PageRequest, elapsed_ns: Any) -> Answer:
        answer = await right(rows, request, elapsed_ns)
        return changed(answer, next_key=None) if answer.next_key == rows.high else answer

    patch.setattr(table_requests, "read_page", read_page)


def page_of_two_moments(patch: pytest.MonkeyPatch) -> None:
    """A page is two reads, one after the other."""
    right = table_requests.read_page

    async def read_page(rows: Any, request: PageRequest, elapsed_ns: Any) -> Answer:
        answer = await right(rows, request, elapsed_ns)
        await rows.world.sleep(20_000_000)
        again = await right(rows, request, elapsed_ns)
        half = len(answer.entities) // 2
        if len(again.entities) != len(answer.entities):
            return again
        return changed(again, entities=answer.entities[:half] + again.entities[half:])

    patch.setattr(table_requests, "read_page", read_page)


def changed(answer: T, **changes: Any) -> T:
    """An answer with other fields."""
    return msgspec.structs.replace(answer, **changes)


def same_etag_after_a_change(patch: pytest.MonkeyPatch) -> None:
    """An ETag tells the entity, not its state."""
    patch.setattr(table_requests, "etag", lambda ticks, sequence: 'W/"one"')
    from pkadvisor.engine.tables import entity_codec

    patch.setattr(entity_codec, "etag", lambda ticks, sequence: 'W/"one"')


def ignore_if_match(patch: pytest.MonkeyPatch) -> None:
    """Every update is unconditional."""
    right = table_requests._decided

    def decided(write: Any, *arguments: Any) -> Any:
        return right(msgspec.structs.replace(write, if_match="*"), *arguments)

    patch.setattr(table_requests, "_decided", decided)


def group_that_keeps_its_beginning(patch: pytest.MonkeyPatch) -> None:
    """A refused write ends a group; what came before it stays."""
    right = table_requests._decided

    async def carry_out_writes(rows: Any, request: WriteRequest, ticks: int) -> Answer:
        def decide(found: Any, sequence: int) -> Any:
            changes = []
            refused.clear()
            for index, (write, row) in enumerate(zip(request.writes, found, strict=True)):
                try:
                    value, tag, _ = right(write, row, request.generation, ticks, sequence)
                except TableError as error:
                    error.index = index
                    refused.append(error)
                    break
                changes.append((write.key, value))
                tags.append(tag)
            return changes

        refused: list[TableError] = []
        tags: list[str] = []
        await rows.write([write.key for write in request.writes], decide)
        if refused:
            raise refused[0]
        return Answer(204, etags=tuple(tags), low=rows.low, high=rows.high)

    patch.setattr(table_requests, "carry_out_writes", carry_out_writes)


def group_in_pieces(patch: pytest.MonkeyPatch) -> None:
    """Each write of a group is a record of its own."""
    right = table_requests.carry_out_writes

    async def carry_out_writes(rows: Any, request: WriteRequest, ticks: int) -> Answer:
        if len(request.writes) < 2 or request.writes[-1].key.endswith(b"never"):
            return await right(rows, request, ticks)
        for write in request.writes:
            answer = await right(rows, msgspec.structs.replace(request, writes=(write,)), ticks)
        return answer

    patch.setattr(table_requests, "carry_out_writes", carry_out_writes)


def call_what_is_uncertain_undone(patch: pytest.MonkeyPatch) -> None:
    """A write whose answer did not come is told to the client as one that was not carried out."""
    right = TableService.execute

    async def execute(self: TableService, operation: Any) -> Outcome:
        outcome = await right(self, operation)
        return table_service._refused(503, "ServerBusy") if outcome.uncertain else outcome

    patch.setattr(TableService, "execute", execute)


def merge_as_a_replacement(patch: pytest.MonkeyPatch) -> None:
    """A merge leaves nothing of the older properties."""
    patch.setattr(table_requests, "_merged", lambda key, old, new: new)


def timestamp_of_the_first_write(patch: pytest.MonkeyPatch) -> None:
    """The Timestamp of an entity stays while it is changed."""
    right = table_requests._decided

    def decided(write: Any, row: Any, *arguments: Any) -> Any:
        value, tag, size = right(write, row, *arguments)
        if row is not None and value is not None:
            value = value[:9] + row[1][9:17] + value[17:]
        return value, tag, size

    patch.setattr(table_requests, "_decided", decided)


def group_without_conditions(patch: pytest.MonkeyPatch) -> None:
    """The members of a group are written whatever tags they ask for."""
    right = table_requests.carry_out_writes

    async def carry_out_writes(rows: Any, request: WriteRequest, ticks: int) -> Answer:
        if len(request.writes) > 1:
            writes = tuple(msgspec.structs.replace(write, if_match="*") for write in request.writes)
            request = msgspec.structs.replace(request, writes=writes)
        return await right(rows, request, ticks)

    patch.setattr(table_requests, "carry_out_writes", carry_out_writes)


def filter_of_keys_alone(patch: pytest.MonkeyPatch) -> None:
    """What a filter says of properties is not looked at."""
    patch.setattr(table_requests, "compiled", lambda text: None)


def select_that_selects_nothing(patch: pytest.MonkeyPatch) -> None:
    """An entity read by its key comes with all its properties."""
    right = table_requests.entity_of
    patch.setattr(table_requests, "entity_of", lambda key, sequence, value, select: right(key, sequence, value, ()))


def token_a_byte_too_far(patch: pytest.MonkeyPatch) -> None:
    """A continuation begins behind the row that it names."""
    right = table_service.encode_token
    patch.setattr(table_service, "encode_token", lambda prefix, next_key: right(prefix, next_key + b"\0"))

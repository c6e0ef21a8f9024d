"""When a write under If-Match is there for readers: once it is answered."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from pkadvisor.table.store import Delete, EntityKey, Group, Merge, Operation, Outcome, Update


class LateCommits:
    """Commits that are still under way, by key.

    A store in virtual time carries a write out as it arrives and counts its time afterwards, so a read that arrives
    meanwhile would see what nobody was told yet. It gets the ETag from before, and what it writes then is answered 412.
    """

    def __init__(self) -> None:
        self._before: dict[EntityKey, tuple[int, str]] = {}
        self._last_ns = 0

    def seen(self, operation: Operation, outcome: Outcome, at_ns: int) -> Outcome:
        """What a client is told of an operation that was sent at a moment."""
        if at_ns >= self._last_ns:
            self._before.clear()
        if self._before and any(entity.key in self._before for entity in outcome.entities):
            told = []
            for entity in outcome.entities:
                until_ns, etag = self._before.get(entity.key, (0, ""))
                told.append(replace(entity, etag=etag) if at_ns < until_ns else entity)
            return structs.replace(outcome, entities=tuple(told))
        if outcome.ok:
            for write in operation.writes if isinstance(operation, Group) else (operation,):
                if isinstance(write, Update | Merge | Delete) and write.if_match != "*":
                    key = write.key if isinstance(write, Delete) else write.entity.key
                    self._before[key] = (at_ns + outcome.latency_ns, write.if_match)
                    self._last_ns = max(self._last_ns, at_ns + outcome.latency_ns)
        return outcome

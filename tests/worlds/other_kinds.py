"""Rows of the other kinds of a table, under their keys in use, that a request for one kind reads as well.

As the manual states it: scans of the table, and of whole partitions that are named by one value of each property, read
the rows of all kinds; those of ranges over partitions, and of requests that ``$top`` ends, are not counted. Rows of a
kind without keys lie anywhere, so that no request that is bound to a label reads them.
"""

from __future__ import annotations

from functools import cache

from tests.worlds.key_text import parse, properties
from tests.worlds.model import Constant, Kind, World
from tests.worlds.requests import Plan, Sent, spanned
from tests.worlds.rows import Layout, lay_out


class OtherRows:
    """The rows of all kinds of a world but one."""

    def __init__(self, world: World, kind: Kind) -> None:
        self._layouts: list[tuple[Kind, Layout | None]] = [
            (other, lay_out(other, other.current) if other.current is not None else None)
            for other in world.kinds
            if other.name != kind.name
        ]
        self._among = cache(self._count)

    def read(self, plan: Plan, partition: str, sent: Sent) -> int:
        """The rows that one request reads; ``partition``: the template of the PartitionKey that it goes through."""
        if plan.top is not None or plan.back or not self._layouts:
            return 0
        if plan.access == "table scan" or (plan.access == "partition scan" and named_by_one_value(plan, partition)):
            return self._among(partition, plan.access, sent.terms)
        return 0

    def _count(self, template: str, access: str, terms: tuple[tuple[str, str, str], ...]) -> int:
        partition = template if access == "partition scan" else None
        labelled = isinstance(next(iter(parse(template)), None), str)
        count = 0
        for other, layout in self._layouts:
            if layout is None:
                count += len(other.rows) if partition is None and not labelled else 0
                continue
            templates = [key[0] for key in layout.scheme.each_key()]
            found = spanned(layout, terms)
            rows = layout.rows[found.start : found.stop]
            count += sum(1 for row in rows if partition is None or templates[row.via] == partition)
        return count


def named_by_one_value(plan: Plan, partition: str) -> bool:
    """Whether a request names a PartitionKey by parameters alone, or by constants alone, and by no period."""
    names = {name for part in parse(partition) for name in properties(part)}
    if names & plan.asked.choices().keys() or not names <= plan.asked.equal().keys():
        return False
    constants = {name for name in names if isinstance(plan.asked.equal()[name], Constant)}
    return constants in (set(), names)

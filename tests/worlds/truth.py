"""The truth: what the printed requests read of the rows of a table, counted by loops.

Rows are sorted (``rows``), printed plans are taken as the specification of what the client sends (``requests``), and
their consequences are counted here: entities, pages, and which partition they are asked of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from tests.worlds.answers import Answers, Instance
from tests.worlds.model import Scheme
from tests.worlds.other_kinds import OtherRows
from tests.worlds.requests import Plan, Requests, Sent, admitted
from tests.worlds.rows import Stored

PAGE = 1000
"""Entities of a page."""
BOUNDARY = 1
"""Continuations that a scan over several partitions is charged with, on all its way: an assumption that the limits file
states."""


@dataclass(eq=False)
class Broken:
    """A law that does not hold: what, under which keys, the printed and the true value."""

    law: str
    what: str
    scheme: str
    printed: object
    true: object
    plan: Plan | None = None
    keys: Scheme | None = None
    """The scheme, where the law is about one."""

    def __str__(self) -> str:
        plan = self.plan
        sent = "" if plan is None else f"; sent: {plan.filter!r}, $top {plan.top}, {plan.access} via {plan.via}"
        return f"{self.law}: {self.what} under {self.scheme}: printed {self.printed}, true {self.true}{sent}"


@dataclass
class Count:
    """What one set of parameters costs: entities read and returned, requests sent, entities by partition.

    Scans over several partitions are no part of ``load``: ``runs`` has the rows that each of them reads.
    """

    read: int
    returned: int
    requests: float
    sent: int
    load: Counter[str]
    runs: list[tuple[int, int]]
    fetched: int = 0
    """Of the requests, those that read the entity behind a pointer."""
    ends: float = 0.0
    """Of the requests, those behind the end of a range."""


@dataclass
class Counting:
    """The counts of one plan, instance by instance."""

    requests: Requests
    answers: Answers
    others: OtherRows | None = None

    def count(self, instance: Instance) -> Count:
        """What one instance costs; raises Broken through ``check`` only."""
        plan, layout = self.requests.plan, self.requests.layout
        matching = self.answers.matching(instance)
        load, read, pages, sent_total, fetched, got = Counter[str](), 0, 0, 0, 0, 0
        on_the_way, runs = 0, list[tuple[int, int]]()
        for sent in self.requests.of(instance.values):
            if plan.back and plan.asked.top is not None and got >= plan.asked.top:
                break
            stop = sent.stop
            if plan.top is not None:
                stop, hits = self._stop(sent, matching, plan.top)
                got += hits
            elif plan.back:
                got += sum(1 for r in layout.rows[sent.start : stop] if r.entity in matching and r.via == plan.via)
            scanned = stop - sent.start
            if self.others is not None:
                scanned += self.others.read(plan, layout.scheme.each_key()[plan.via][0], sent)
            read += scanned
            sent_total += 1
            pages += max(1, ceil(scanned / PAGE))
            if sent.partition is None:
                on_the_way += sent.stop - sent.start
                runs.append((sent.start, stop))
            else:
                load[sent.partition] += max(1, scanned)
            if plan.follows:
                for row in self._followed(sent, stop, matching):
                    fetched += 1
                    load[self._main(row.entity)] += 1
        passed = sum(stop - start for start, stop in runs)
        ends = BOUNDARY * (passed / on_the_way if on_the_way else 1.0) if runs else 0.0
        returned = len(matching) if plan.asked.top is None else min(len(matching), plan.asked.top)
        return Count(max(1, read) + fetched, returned, pages + ends + fetched, sent_total, load, runs, fetched, ends)

    def _main(self, entity: int) -> str:
        return next(r.partition for r in self.requests.layout.of_entity[entity] if r.via == 0)

    def _followed(self, sent: Sent, stop: int, matching: frozenset[int]) -> list[Stored]:
        """The rows whose entities are read: of pointers all that the server returns, in order until ``top`` suffice; of
        copies, which can be compared, those that match."""
        plan, layout = self.requests.plan, self.requests.layout
        pointers = layout.scheme.each_key()[plan.via][2] == "pointer"
        return [r for r in layout.rows[sent.start : stop] if r.via == plan.via and (pointers or r.entity in matching)]

    def spread(self, runs: Mapping[tuple[int, int], float]) -> Counter[str]:
        """The entities by partition of scans over these runs of rows, each with its weight."""
        rows, out = self.requests.layout.rows, Counter[str]()
        weight, begun = [0.0] * (len(rows) + 1), [0] * (len(rows) + 1)
        for (start, stop), each in runs.items():
            weight[start] += each
            weight[stop] -= each
            begun[start] += 1
            begun[stop] -= 1
        at, scans = 0.0, 0
        for n, row in enumerate(rows):
            at, scans = at + weight[n], scans + begun[n]
            if scans:
                out[row.partition] += at  # type: ignore[assignment]
            else:
                at = 0.0
        return out

    def _stop(self, sent: Sent, matching: frozenset[int], top: int) -> tuple[int, int]:
        """(the row behind the last one that a request with ``$top`` reads, how many it returns)."""
        hits, rows = 0, self.requests.layout.rows
        for at in range(sent.start, sent.stop):
            if rows[at].entity in matching and admitted(sent, rows[at]):
                hits += 1
                if hits == top:
                    return at + 1, hits
        return sent.stop, hits

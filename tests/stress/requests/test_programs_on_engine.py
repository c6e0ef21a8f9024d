"""Every sample's programs on the embedded engine: what its servers judge is what the scripts say, number for number."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from pkadvisor.cli.inputs import sample_names
from pkadvisor.engine.capacity.capacity import ServedRequest, Ticket
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.embedded_store import EmbeddedStore
from pkadvisor.engine.open_store import ACCOUNT, open_virtual
from pkadvisor.engine.tables import row_keys
from pkadvisor.limits import Limits
from pkadvisor.observe.workload import Operation as Does
from pkadvisor.stress.requests.plain_table import page_limits
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.script_table import script_table
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Step
from pkadvisor.stress.requests.steps import step_of
from pkadvisor.table.store import CreateTable, Entity, Group, Insert, Operation
from tests.stress.support import HOUR_NS, TABLE, cut, designs, spread, steps

ROWS = 1_500
INSTANCES = 25
ORDER = (Does.QUERY, Does.UPDATE, Does.DELETE, Does.UPSERT, Does.INSERT)
SEEN: Counter[str] = Counter()


def without_targets(limits: Limits) -> Limits:
    """Room for everything: what is looked at is what is counted, not what is let through."""
    names = ("partition_entities_per_s", "range_entities_per_s", "server_entities_per_s", "account_requests_per_s")
    return replace(limits, **dict.fromkeys(names, 1000000000.0), range_bytes_per_s=1e12)


def filled(store: EmbeddedStore, programs: Programs) -> None:
    """Puts the rows that the table holds into it, those of a partition in groups."""
    assert store.execute(CreateTable(TABLE)).ok
    partitions: dict[str, list[Entity]] = {}
    for row in programs.stored:
        partitions.setdefault(row.key.partition_key, []).append(row)
    operations: list[Operation] = []
    for rows in partitions.values():
        for begin in range(0, len(rows), 100):
            inserts = tuple(Insert(TABLE, row) for row in rows[begin : begin + 100])
            operations.append(Group(inserts) if len(inserts) > 1 else inserts[0])
    for outcome in store.perform_all(operations):
        assert outcome.ok, outcome


class Judged:
    """What a store's capacity was told of each request."""

    def __init__(self, store: EmbeddedStore, space: KeySpace) -> None:
        self.steps: list[Step] = []
        assert store.capacity is not None
        finish = store.capacity.finish
        prefix = row_keys.table_prefix(ACCOUNT, TABLE)
        ranks = {prefix + row_keys.encode_part(key) + b"\0": rank for rank, key in enumerate(space.keys)}

        def told(ticket: Ticket, *, examined: int = 0, bytes_moved: int = 0) -> ServedRequest:
            place, work = ticket.place, ticket.work
            rank = SEVERAL if place.partition is None else ranks.get(place.partition, SEVERAL)
            read = 0 if work.kind is Kind.WRITE else examined
            self.steps.append(Step(work.kind, rank, 0, 0, work.entities, read, bytes_moved, work.continued))
            return finish(ticket, examined=examined, bytes_moved=bytes_moved)

        store.capacity.finish = told  # type: ignore[method-assign]


@pytest.mark.parametrize("name", sample_names())
def test_the_engine_judges_what_scripts_say(name: str) -> None:
    for whole in designs(name):
        design = cut(whole, ROWS)
        programs = design.programs()
        limits = without_targets(design.bench.limits)
        used = [spread(count, INSTANCES) for count in programs.instances]
        scripts = script_table(programs, limits, used, HOUR_NS, examined_scale=False)
        # Nobody writes before everybody has read, and nothing is removed before it was changed.
        order = sorted(range(len(programs.classes)), key=lambda n: ORDER.index(programs.demands[n].query.operation))
        with open_virtual(1, limits=limits, table_limits=page_limits(limits)) as store:
            filled(store, programs)
            judged = Judged(store, scripts.space)
            request = 0
            for number in order:
                for instance in used[number].tolist():
                    judged.steps.clear()
                    answered, weighed = run(store, programs, number, instance, request, scripts.space)
                    said = [
                        step._replace(low=0, high=0)
                        for stage in scripts.epochs[0][number][instance].stages
                        for step in stage
                    ]
                    told = (name, programs.classes[number], design.scheme.text, instance)
                    assert judged.steps == said, (told, judged.steps, said)
                    assert weighed == list(steps(scripts.epochs[0][number][instance])) or merges(programs, number), told
                    assert programs.plan(number) is not None or all(s < 400 for s in answered), (told, answered)
                    SEEN["steps"] += len(said)
                    SEEN["continued"] += sum(step.continued for step in said)
                    SEEN["several partitions"] += sum(step.partition == SEVERAL for step in said)
                    SEEN["groups"] += sum(step.entities > 1 for step in said)
                    request += 1


def merges(programs: Programs, number: int) -> bool:
    """Whether a class sends less than what is there afterwards, so that an outcome does not tell what was written."""
    cost = next(c for c in programs.estimate.classes if c.name == programs.classes[number])
    return cost.operation is Does.UPDATE and not cost.requests_locate


def run(
    store: EmbeddedStore, programs: Programs, number: int, instance: int, request: int, space: KeySpace
) -> tuple[list[int], list[Step]]:
    """Runs one program to its end; the statuses that it met, and its steps by what was answered."""
    statuses, weighed = [], list[Step]()
    program = programs.start(number, instance, request, request * 1_000_000)
    sent = next(program, None)
    while sent is not None:
        outcomes = tuple(store.execute(operation, request) for operation in sent)
        statuses += [outcome.status for outcome in outcomes]
        weighed += [step_of(operation, outcome, space) for operation, outcome in zip(sent, outcomes, strict=True)]
        try:
            sent = program.send(outcomes)
        except StopIteration:
            break
    return statuses, weighed


def test_enough_was_judged() -> None:
    if SEEN["steps"] < 1:
        pytest.skip("counts what the tests above did, which did not run")
    assert SEEN["steps"] > 1400 and min(SEEN["continued"], SEEN["several partitions"], SEEN["groups"]) >= 20, SEEN

"""Updates and deletes use what their filter names and what they have read, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from pkadvisor.design.keys.scheme import IndexRow, KeyScheme, parse_key
from pkadvisor.observe.workload import Operation as Does
from pkadvisor.observe.workload import QueryClass
from pkadvisor.stress.requests.plain_table import PlainTable, page_limits
from pkadvisor.stress.requests.programs import Programs
from pkadvisor.stress.requests.rows import entities_of
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import parameters
from pkadvisor.table.store import Get, Group, Operation, Query
from tests.design.support import bench_of, population_of, query
from tests.tiers import sizes

TYPES = dict.fromkeys(("tenant", "user", "mail", "region", "name"), EdmType.STRING)
USERS = 40
COLUMNS: dict[str, list[object]] = {
    "tenant": [f"t{n % 4}" for n in range(USERS)],
    "user": [f"u{n:02}" for n in range(USERS)],
    "mail": [f"m{n:02}@x" for n in range(USERS)],
    "region": [f"r{n % 7}" for n in range(USERS)],
    "name": [f"n{n * 7 % 40:02}" for n in range(USERS)],
}
MAIL = ("MAIL:{mail}", "")
REGION = ("REGION:{region}", "{tenant}_{user}", "pointer")
BY_MAIL, BY_KEY = "mail eq '{mail}'", "tenant eq '{tenant}' and user eq '{user}'"


def update(filter_: str, *sets: str, rmw: bool = False) -> QueryClass:
    return replace(query("change", filter_, operation=Does.UPDATE, sets=sets), read_modify_write=rmw)


def delete(filter_: str) -> QueryClass:
    return query("drop", filter_, operation=Does.DELETE)


def programs(changing: QueryClass, index_rows: Sequence[tuple[str, str, str]], row: str = "{user}") -> Programs:
    rows = tuple(IndexRow(parse_key(partition, row), copy) for partition, row, copy in index_rows)
    bench = bench_of(population_of(COLUMNS, TYPES), changing)
    return Programs(bench, KeyScheme(parse_key("{tenant}", row), rows), entities_of(bench.population), table="users")


def sent_by(made: Programs, instance: int) -> list[tuple[Operation, ...]]:
    """The stages of one request on a table that nothing has changed."""
    table = PlainTable("users", list(made.stored), page_limits(made.bench.limits))
    program = made.start(0, instance, 0, 0)
    stages: list[tuple[Operation, ...]] = []
    sent = next(program, None)
    while sent is not None:
        stages.append(sent)
        outcomes = tuple(table.answer(operation)[0] for operation in sent)
        try:
            sent = program.send(outcomes)
        except StopIteration:
            break
    return stages


CASES = {
    # name: (what changes, index rows beside the main key {tenant} | {user}, reads, requests that write)
    "by its key": (update(BY_KEY, "name"), (), 0, 1),
    "by its key, a copy in the way": (update(BY_KEY, "name"), ((*MAIL, "full"),), 1, 2),
    "by its key, a pointer that stays": (update(BY_KEY, "name"), ((*MAIL, "pointer"),), 0, 1),
    "a copy tells the key": (update(BY_MAIL, "name"), ((*MAIL, "full"),), 1, 2),
    "a copy tells the keys to delete": (delete(BY_MAIL), ((*MAIL, "full"), REGION), 1, 3),
    "a copy does not tell the ETag": (update(BY_MAIL, "name", rmw=True), ((*MAIL, "full"),), 2, 2),
    "a pointer tells the key": (update(BY_MAIL, "name"), ((*MAIL, "pointer"),), 1, 1),
    "a pointer tells two keys to delete": (delete(BY_MAIL), ((*MAIL, "pointer"),), 1, 2),
    "a pointer does not tell a third": (delete(BY_MAIL), ((*MAIL, "pointer"), REGION), 2, 3),
    "a pointer does not tell the ETag": (update(BY_MAIL, "name", rmw=True), ((*MAIL, "pointer"),), 2, 1),
    "a pointer compares nothing": (
        update(f"{BY_MAIL} and region eq '{{region}}'", "name"),
        ((*MAIL, "pointer"),),
        2,
        1,
    ),
    "a copy that moves is written whole": (update(BY_KEY, "mail"), ((*MAIL, "full"),), 1, 3),
    "a pointer that moves": (update(f"{BY_KEY} and mail eq '{{mail}}'", "mail"), ((*MAIL, "pointer"),), 0, 3),
    "a pointer that moves from an unknown key": (update(BY_KEY, "mail"), ((*MAIL, "pointer"),), 1, 3),
    "an entity that moves is written whole": (update(BY_KEY, "user"), (), 1, 1),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_unknown_is_read_and_counted(name: str) -> None:
    changing, index_rows, reads, writes = CASES[name]
    made = programs(changing, index_rows)
    counted = made.estimate.classes[0]
    told = (counted.requests_locate, counted.requests - counted.requests_locate)
    assert told == pytest.approx((reads, writes), rel=0.01)  # a lost race in some hundred read-modify-writes
    operations = [operation for stage in sent_by(made, 5) for operation in stage]
    reading = [isinstance(operation, Get | Query) for operation in operations]
    assert (sum(reading), len(reading) - sum(reading)) == (reads, writes)


@pytest.mark.parametrize("name", sizes(list(CASES)[::2], CASES, "proofs"))
def test_nothing_hangs_on_what_the_caller_cannot_know(name: str) -> None:
    changing, index_rows, _, _ = CASES[name]
    made, blind = programs(changing, index_rows), programs(changing, index_rows)
    assert blind.stored and changing.filter is not None
    named = {*parameters(changing.filter), *changing.sets}
    blind.entities = [{n: v for n, v in entity.items() if n in named} for entity in blind.entities]
    assert sent_by(blind, 5) == sent_by(made, 5)


def test_what_is_written_holds_what_is_known() -> None:
    stages = sent_by(programs(update(BY_KEY, "name"), (("{tenant}", "COPY:{user}", "full"),)), 5)
    ((group,),) = stages
    assert isinstance(group, Group)
    assert [set(write.entity.properties) for write in group.writes] == [{"name"}, {"name"}]  # type: ignore[union-attr]


def test_a_copy_that_does_not_tell_the_assigned_number_names_no_entity() -> None:
    copy = ("{mail}", "{user}", "full")
    made = programs(delete(BY_MAIL), (copy,), row="{name}_{seq(3)}")
    plan = made.plan(0)
    assert plan is not None and plan.via == 0
    with_number = programs(delete(BY_MAIL), (("{mail}", "{user}_{seq(3)}", "full"),), row="{name}_{seq(3)}").plan(0)
    assert with_number is not None and with_number.via == 1

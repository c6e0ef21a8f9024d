"""A table of a run's own on a real endpoint: a name that nobody has, rows put in by groups, and its removal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from time import sleep

from pkadvisor.errors import AdvisorError, InputError, UsageError
from pkadvisor.limits import Limits
from pkadvisor.rest.endpoint import NO_ANSWER, NOT_SENT
from pkadvisor.stress.load.arrivals import stream
from pkadvisor.table.accounting import entity_bytes
from pkadvisor.table.store import (
    CreateTable,
    DeleteTable,
    Entity,
    Group,
    InsertOrReplace,
    Operation,
    Outcome,
    Query,
    TableStore,
)

PREFIX, LETTERS = "pkadvisor", 8
WIRE_SHARE = 4
"""A group holds at most this part of the bytes that a transaction may have: JSON writes some characters as six."""
TRIES = 4
AROUND = 3 + 2 * (TRIES - 1)
"""Operations beside rows and load, at most: look, create, remove, and trying again."""
WAIT_S = 0.5


def table_name(seed: int, start: str) -> str:
    """``pkadvisor`` and eight letters: the same for a seed and a moment at which the run starts."""
    letters = stream(seed, "table", start).integers(0, 26, LETTERS).tolist()
    return PREFIX + "".join(chr(ord("a") + letter) for letter in letters)


def groups_of(table: str, rows: Iterable[Entity], limits: Limits) -> list[tuple[InsertOrReplace, ...]]:
    """The rows as group transactions: each of one partition, and none too large by number or bytes."""
    partitions: dict[str, list[Entity]] = defaultdict(list)
    for row in rows:
        partitions[row.key.partition_key].append(row)
    return [group for some in partitions.values() for group in _cut(table, some, limits)]


def _cut(table: str, rows: list[Entity], limits: Limits) -> Iterator[tuple[InsertOrReplace, ...]]:
    most_bytes = limits.group_transaction_bytes // WIRE_SHARE
    group: list[InsertOrReplace] = []
    weight = 0
    for row in rows:
        size = entity_bytes(row)
        if group and (len(group) == limits.group_transaction_entities or weight + size > most_bytes):
            yield tuple(group)
            group, weight = [], 0
        group.append(InsertOrReplace(table, row))
        weight += size
    if group:
        yield tuple(group)


class OwnTable:
    """A table that this run made. ``operations`` counts what was sent for it; ``pause`` waits between tries (s).

    ``absent ──create──► there ──remove──► absent``; what is not ours is never touched.
    """

    def __init__(self, store: TableStore, name: str, *, pause: Callable[[float], None] = sleep) -> None:
        self.name, self.operations, self.there = name, 0, False
        self._store, self._pause = store, pause

    def look(self) -> None:
        """Whether somebody is there, lets us in, and has no such table; UsageError or InputError where not."""
        outcome = self._asked(Query(self.name, top=1))
        if outcome.status != 404:
            self._refuse(outcome)

    def create(self) -> None:
        """Makes the table; errors as of ``look``, and where the endpoint does not let us."""
        self.look()
        self.there = True  # from here on it may be: an answer can get lost
        outcome = self._asked(CreateTable(self.name))
        if not outcome.ok and outcome.code != "TableAlreadyExists":  # it was not there, so that is the try before
            if not outcome.uncertain:
                self.there = False
            self._refuse(outcome)

    def load(self, groups: list[tuple[InsertOrReplace, ...]], concurrency: int) -> None:
        """Puts rows in, so many groups at once; InputError where one is refused for good."""
        failed: list[Outcome] = []

        def put(group: tuple[InsertOrReplace, ...]) -> None:
            if failed:
                return
            outcome = self._asked(Group(group) if len(group) > 1 else group[0])
            if not outcome.ok:
                failed.append(outcome)

        pool = ThreadPoolExecutor(concurrency)
        try:
            for _ in pool.map(put, groups):
                if failed:
                    break
        finally:
            pool.shutdown(wait=True, cancel_futures=True)
        if failed:
            what = f"rows cannot be loaded: {failed[0].status} {failed[0].code}"
            raise InputError(what, where="--target")

    def remove(self) -> bool:
        """Removes the table if it is ours; whether it is gone."""
        if not self.there:
            return True
        outcome = self._asked(DeleteTable(self.name))
        if outcome.ok or outcome.status == 404 or outcome.code == "TableBeingDeleted":
            self.there = False
        return not self.there

    @contextmanager
    def removed_after(self, host: str, tell: Callable[[str], None]) -> Iterator[None]:
        """Removes the table however the block ends; a signal meanwhile (KeyboardInterrupt) makes it try once more.

        InputError that names the table where the block was ended early and the table is still there. After a bug that
        is only told, and after a block that ended well ``there`` says it.
        """
        why: BaseException | None = None
        try:
            yield
        except BaseException as error:
            why = error
            raise
        finally:
            try:
                self._remove_or_once_more(tell)
            except KeyboardInterrupt as insists:
                why = insists
            if self.there and isinstance(why, AdvisorError | KeyboardInterrupt):
                raise left_behind(self.name, host, why) from why
            if self.there and why is not None:
                tell(str(left_behind(self.name, host)))

    def _remove_or_once_more(self, tell: Callable[[str], None]) -> None:
        try:
            self.remove()
        except KeyboardInterrupt:
            tell(f"the table {self.name} is being removed: one more signal leaves it there")
            self.remove()

    def _asked(self, operation: Operation) -> Outcome:
        """The answer, after some tries where nobody had time for one."""
        for tried in range(TRIES):
            self.operations += 1
            outcome = self._store.execute(operation, 0)
            if outcome.status not in (500, 503) or tried == TRIES - 1 or outcome.code == NOT_SENT:
                break
            self._pause(WAIT_S * 2**tried)
        return outcome

    def _refuse(self, outcome: Outcome) -> None:
        raise refusal(outcome, "--target", self.name)


def left_behind(table: str, where: str, why: BaseException | None = None) -> InputError:
    """What to say of a table that is there and should not be; ``why`` is what ended the run early."""
    before = f"{why.what}; " if isinstance(why, AdvisorError) else ""
    fix = f"remove it yourself, it costs what it stores: az storage table delete --name {table}"
    return InputError(f"{before}the table {table} was not removed", where=where, fix=fix)


def refusal(outcome: Outcome, where: str, table: str) -> AdvisorError:
    """What an endpoint that does not let us in is called: by status and code, never by its own words.

    Those may quote what was signed.
    """
    said = f"{outcome.status} {outcome.code}".strip()
    if outcome.status == 200 or outcome.code == "TableAlreadyExists":
        return UsageError(f"the table {table} exists already; it is not touched", where=where, fix="run it again")
    if outcome.status in (401, 403):
        fix = "check the account's name and key, or what the signature permits and when it ends"
        return UsageError(f"the endpoint refuses the credentials ({said})", where=where, fix=fix)
    if outcome.code == NOT_SENT:
        return InputError("the endpoint cannot be reached", where=where, fix="check the host, the port and the network")
    if outcome.code == NO_ANSWER:
        return InputError("the endpoint does not answer like a table service", where=where)
    return InputError(f"the endpoint refuses to make a table ({said})", where=where)

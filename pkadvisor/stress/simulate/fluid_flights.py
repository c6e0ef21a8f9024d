"""Requests between windows, what they would send in the next one, and what is left of them after it.

Flights and attempts are matrices with a row for each; the columns are the constants below. Attempts of a flight are
all of its current stage: each step of it that was not accepted yet and not given up.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pkadvisor.lazy import Bools, Ints
from pkadvisor.stress.placement.run_result import WINDOW_NS
from pkadvisor.stress.simulate.fluid_pass import ACCEPTED, NOT_SENT, TIMED_OUT
from pkadvisor.stress.simulate.fluid_table import FluidTable
from pkadvisor.values import dataclass

REQUEST, SCRIPT, STAGE, SENT, READY, ANSWER, LATENCY, LOST = range(8)
"""Of a flight: when its stage was sent first; over its accepted steps the latest (moment + nominal time) and the
latest answer; the latency of the stages before; 1 if a step was given up."""
FLIGHT, ROW, AT, TRY = range(4)
"""Of an attempt: its flight, by place; its step; when it will be made; its number, from 1."""
NO_FLIGHTS = np.empty((0, 8), np.int64)
NO_ATTEMPTS = np.empty((0, 4), np.int64)


def _begins(*keys: Ints) -> Ints:
    """Where runs of equal rows begin."""
    changes = np.zeros(len(keys[0]), np.bool_)
    changes[:1] = True
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    return np.flatnonzero(changes)


class Calendar:
    """Flights by when they go on. Every second has the same number of slots, of equal length to a ns."""

    def __init__(self, slots: int) -> None:
        self._per_second = slots
        self._slots: dict[int, list[tuple[Ints, Ints]]] = {}
        self._earliest: dict[int, int] = {}

    def slot_end(self, at_ns: int) -> int:
        """Where the slot that a moment lies in ends."""
        second, rest = divmod(at_ns, WINDOW_NS)
        slot = rest * self._per_second // WINDOW_NS
        return second * WINDOW_NS - -(slot + 1) * WINDOW_NS // self._per_second

    def put(self, flights: Ints, attempts: Ints) -> None:
        """Takes flights with their attempts, of which each has one at least; attempts stand in the flights' order."""
        count = len(flights)
        if not count:
            return
        moments, places = attempts[:, AT], attempts[:, FLIGHT]
        alone = len(attempts) == count
        first = moments if alone else np.minimum.reduceat(moments, _begins(places))
        seconds = first // WINDOW_NS
        slots = seconds * self._per_second + (first - seconds * WINDOW_NS) * self._per_second // WINDOW_NS
        order = np.argsort(slots, kind="stable")
        slots, first = slots[order], first[order]
        begins = _begins(slots)
        ends = np.r_[begins[1:], count]
        earliest = np.minimum.reduceat(first, begins).tolist()
        flights = flights[order]
        if alone:
            attempts = attempts[order]
            of = begins
        else:
            place = np.empty(count, np.int64)
            place[order] = np.arange(count)
            attempts[:, FLIGHT] = place[places]
            attempts = attempts[np.argsort(attempts[:, FLIGHT], kind="stable")]
            of = np.searchsorted(attempts[:, FLIGHT], begins)
        stops = np.r_[of[1:], len(attempts)]
        for i, slot in enumerate(slots[begins].tolist()):
            its = attempts[of[i] : stops[i]]
            its[:, FLIGHT] = np.arange(len(its)) if alone else its[:, FLIGHT] - begins[i]
            self._slots.setdefault(slot, []).append((flights[begins[i] : ends[i]], its))
            self._earliest[slot] = min(earliest[i], self._earliest.get(slot, earliest[i]))

    def next_ns(self) -> int | None:
        """When the next flight goes on."""
        return self._earliest[min(self._earliest)] if self._earliest else None

    def take(self, end_ns: int) -> tuple[Ints, Ints]:
        """Flights that go on before a moment, by request, and their attempts, by step."""
        due: list[tuple[Ints, Ints]] = []
        for slot in [slot for slot, at in self._earliest.items() if at < end_ns]:
            del self._earliest[slot]
            flights, attempts = _joined(self._slots.pop(slot))
            if int(attempts[:, AT].max()) >= end_ns:
                moments = attempts[:, AT]
                first = np.minimum.reduceat(moments, _begins(attempts[:, FLIGHT]))
                now = first < end_ns
                due.append(_chosen(flights, attempts, now))
                if not now.all():
                    self.put(*_chosen(flights, attempts, ~now))
            else:
                due.append((flights, attempts))
        if not due:
            return NO_FLIGHTS, NO_ATTEMPTS
        flights, attempts = _joined(due)
        order = np.argsort(flights[:, REQUEST], kind="stable")
        if len(flights) == len(attempts):
            attempts = attempts[order]
            attempts[:, FLIGHT] = np.arange(len(order))
            return flights[order], attempts
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        attempts[:, FLIGHT] = place[attempts[:, FLIGHT]]
        return flights[order], attempts[np.lexsort((attempts[:, ROW], attempts[:, FLIGHT]))]


def _joined(parts: list[tuple[Ints, Ints]]) -> tuple[Ints, Ints]:
    if len(parts) == 1:
        return parts[0]
    flights = np.concatenate([part[0] for part in parts])
    attempts = np.concatenate([part[1] for part in parts])
    sizes = [len(part[0]) for part in parts]
    lift = np.repeat(np.cumsum(sizes) - sizes, [len(part[1]) for part in parts])
    attempts[:, FLIGHT] += lift
    return flights, attempts


def _chosen(flights: Ints, attempts: Ints, which: Bools) -> tuple[Ints, Ints]:
    its = attempts[which[attempts[:, FLIGHT]]]
    its[:, FLIGHT] = (which.cumsum() - 1)[its[:, FLIGHT]]
    return flights[which], its


# ------------------------------------------------------------------------------------------------ before a window


@dataclass(slots=True)
class Plan:
    """What could be sent in a window: attempts in the order of (request, step), each at its nominal moment.

    The first ``carried`` requests are flights of earlier windows; ``waiting`` are their attempts after the window.
    ``resume`` is the row at which a request goes on after the window if all of this comes to pass (−1: it is done),
    at ``resume_at``. ``in_order``: the attempts are sorted by moment as they stand.
    """

    request: Ints
    script: Ints
    flights: Ints
    waiting: Ints
    owner: Ints
    row: Ints
    at: Ints
    tries: Ints
    resume: Ints
    resume_at: Ints
    in_order: bool

    @property
    def carried(self) -> int:
        """Requests that are older than the window."""
        return len(self.flights)


def spread(table: FluidTable, taken: tuple[Ints, Ints], requests: Ints, moments: Ints, script: Ints, end: int) -> Plan:
    """The plan of a window that ends at ``end``, of flights that go on and requests that arrive in it."""
    flights, attempts = taken
    if not len(flights) and table.alone:
        owner = np.arange(len(requests), dtype=np.int64)
        resume = np.full(len(requests), -1, np.int64)
        tries = np.ones(len(requests), np.int64)
        return Plan(
            requests, script, flights, attempts, owner, table.first[script], moments, tries, resume, resume, True
        )
    carried = len(flights)
    request = np.concatenate([flights[:, REQUEST], requests])
    scripts = np.concatenate([flights[:, SCRIPT], script])
    if table.alone:
        row = np.concatenate([attempts[:, ROW], table.first[script]])
        at = np.concatenate([attempts[:, AT], moments])
        tries = np.concatenate([attempts[:, TRY], np.ones(len(script), np.int64)])
        done = np.full(len(request), -1, np.int64)
        owner = np.arange(len(request), dtype=np.int64)
        return Plan(request, scripts, flights, NO_ATTEMPTS, owner, row, at, tries, done, done, False)
    resume = np.full(len(request), -1, np.int64)
    resume_at = np.zeros(len(request), np.int64)
    fresh = np.arange(carried, len(request), dtype=np.int64)
    columns = [_stages(table, fresh, table.first[script], table.end[script], moments, end, resume, resume_at)]
    waiting = NO_ATTEMPTS
    if carried:
        soon = attempts[:, AT] < end
        due, waiting = attempts[soon], attempts[~soon]
        owner = due[:, FLIGHT]
        begins = _begins(owner)
        done = np.maximum.reduceat(due[:, AT] + table.nominal_ns(due[:, ROW]), begins)
        start = np.maximum(done, flights[:, READY])
        following = table.next_stage[due[begins, ROW]]
        last = table.end[flights[:, SCRIPT]]
        goes_on = (following < last) & (flights[:, LOST] == 0)
        goes_on[waiting[:, FLIGHT]] = False
        who = np.flatnonzero(goes_on)
        later = _stages(table, who, following[who], last[who], start[who], end, resume, resume_at)
        both = [np.concatenate(pair) for pair in zip((owner, due[:, ROW], due[:, AT], due[:, TRY]), later, strict=True)]
        order = np.argsort(both[0], kind="stable")
        columns.insert(0, tuple(each[order] for each in both))  # type: ignore[arg-type]
    owner, row, at, tries = (np.concatenate(each) for each in zip(*columns, strict=True))
    return Plan(request, scripts, flights, waiting, owner, row, at, tries, resume, resume_at, False)


def _stages(
    table: FluidTable, owner: Ints, start: Ints, stop: Ints, moments: Ints, end: int, resume: Ints, resume_at: Ints
) -> tuple[Ints, Ints, Ints, Ints]:
    """Owner, row, moment and try of the steps from a stage on that are sent before the end, one request after another.

    The stage that begins at row ``start`` is sent at ``moments``; the script ends at ``stop``.
    """
    starts = table.starts
    counts = stop - start
    spread = np.repeat(np.arange(len(owner)), counts)
    row = np.arange(len(spread), dtype=np.int64) + np.repeat(start - (counts.cumsum() - counts), counts)
    at = np.repeat(moments - starts[start], counts) + starts[row]
    soon = at < end
    if not soon.all():
        started = np.bincount(spread[soon], minlength=len(owner))
        cut = np.flatnonzero(started < counts)
        after = start[cut] + started[cut]
        resume[owner[cut]] = after
        resume_at[owner[cut]] = moments[cut] - starts[start[cut]] + starts[after]
        spread, row, at = spread[soon], row[soon], at[soon]
    return owner[spread], row, at, np.ones(len(row), np.int64)


# ------------------------------------------------------------------------------------------------ after a window


@dataclass(slots=True)
class Landing:
    """What became of the requests of a plan: places of those served, with their latency, and lost; flights go on."""

    served: Ints
    latency: Ints
    lost: Ints
    flights: Ints
    attempts: Ints


def landed(
    table: FluidTable, plan: Plan, code: Ints, latency: Ints, delays: Callable[[Ints, Ints, Ints, Ints], Ints]
) -> Landing:
    """Works out a window's outcome from what became of each attempt. ``delays`` is the policy, −1: given up."""
    owner = plan.owner
    bad = (code != ACCEPTED) & (code != NOT_SENT)
    if plan.in_order and not bad.any():
        return Landing(owner, latency, owner[:0], NO_FLIGHTS, NO_ATTEMPTS)
    failed = np.flatnonzero(bad)
    if table.alone:
        return _landed_alone(table, plan, code, latency, failed, delays)
    again = _retries(table, plan, code, latency, failed, delays)

    before, was_lost = np.zeros(len(plan.request), np.int64), np.zeros(len(plan.request), np.bool_)
    if plan.carried:
        before[: plan.carried], was_lost[: plan.carried] = plan.flights[:, LATENCY], plan.flights[:, LOST] > 0
    stages = _stages_run(table, plan, code, latency, was_lost)
    np.add.at(before, stages.of[stages.whole], (stages.answer - stages.sent)[stages.whole])

    broken = np.zeros(len(plan.request), np.bool_)
    broken[stages.of[~stages.whole]] = True
    served = np.flatnonzero(~broken & (plan.resume < 0))
    given_up = np.zeros(len(plan.request), np.bool_)
    given_up[owner[failed[again < 0]]] = True
    lost = np.flatnonzero(given_up & ~was_lost)

    flights = _stopped(plan, stages, before, was_lost | given_up)
    attempts, alive = _to_come(plan, stages, failed, again)
    if not alive.all():
        flights, attempts = _chosen(flights, attempts, alive)
    cut = np.flatnonzero(~broken & (plan.resume >= 0))
    if len(cut):
        flights, attempts = _joined([(flights, attempts), _cut_off(table, plan, cut, before)])
    return Landing(served, before[served], lost, flights, attempts)


@dataclass(frozen=True, slots=True, eq=False)
class _StagesRun:
    """The stages of which attempts were due in a window, by request: one row each."""

    of: Ints
    stage: Ints
    sent: Ints
    answer: Ints
    ready: Ints
    whole: Bools

    @property
    def stopped(self) -> Ints:
        """The stage at which each broken request stands: the first that is not whole."""
        stopped = np.flatnonzero(~self.whole)
        return stopped[_begins(self.of[stopped])] if len(stopped) else stopped


def _stages_run(table: FluidTable, plan: Plan, code: Ints, latency: Ints, was_lost: Bools) -> _StagesRun:
    """What became of each stage, with the part of it that flights carried into the window."""
    owner, row, at, carried = plan.owner, plan.row, plan.at, plan.carried
    stage = table.stage[row]
    begins = _begins(owner, stage)
    group = np.repeat(np.arange(len(begins)), np.diff(np.r_[begins, len(owner)]))
    of = owner[begins]
    passed = code == ACCEPTED
    answer = np.maximum.reduceat(np.where(passed, at + latency, 0), begins) if len(begins) else of
    nominal = table.nominal_ns(row)
    ready = np.maximum.reduceat(np.where(passed, at + nominal, 0), begins) if len(begins) else of
    whole = np.bincount(group[~passed], minlength=len(begins)) == 0
    sent = at[begins]
    if carried:
        flights = plan.flights
        old = _begins(of)[:carried]  # each flight has something due, so its first group comes first
        sent[old] = flights[:, SENT]
        answer[old] = np.maximum(answer[old], flights[:, ANSWER])
        ready[old] = np.maximum(ready[old], flights[:, READY])
        unfinished = was_lost[:carried].copy()
        unfinished[plan.waiting[:, FLIGHT]] = True
        whole[old[unfinished]] = False
    return _StagesRun(of, stage[begins], sent, answer, ready, whole)


def _stopped(plan: Plan, stages: _StagesRun, before: Ints, lost: Bools) -> Ints:
    """The flights of broken requests; ``before`` is the latency of their whole stages."""
    stopped = stages.stopped
    who = stages.of[stopped]
    flights = np.empty((len(who), 8), np.int64)
    flights[:, REQUEST], flights[:, SCRIPT] = plan.request[who], plan.script[who]
    flights[:, STAGE], flights[:, SENT] = stages.stage[stopped], stages.sent[stopped]
    flights[:, READY], flights[:, ANSWER] = stages.ready[stopped], stages.answer[stopped]
    flights[:, LATENCY], flights[:, LOST] = before[who], lost[who]
    return flights


def _to_come(plan: Plan, stages: _StagesRun, failed: Ints, again: Ints) -> tuple[Ints, Bools]:
    """The attempts of stopped flights, retried ones and those that wait, and which flights have any."""
    who = stages.of[stages.stopped]
    place = np.full(len(plan.request), -1, np.int64)
    place[who] = np.arange(len(who))
    retried = failed[again >= 0]
    attempts = np.empty((len(retried), 4), np.int64)
    attempts[:, FLIGHT], attempts[:, ROW] = place[plan.owner[retried]], plan.row[retried]
    attempts[:, AT], attempts[:, TRY] = again[again >= 0], plan.tries[retried] + 1
    if len(plan.waiting):
        waiting = plan.waiting.copy()
        waiting[:, FLIGHT] = place[waiting[:, FLIGHT]]
        attempts = np.concatenate([attempts, waiting])
        attempts = attempts[np.lexsort((attempts[:, ROW], attempts[:, FLIGHT]))]
    alive = np.zeros(len(who), np.bool_)
    alive[attempts[:, FLIGHT]] = True
    return attempts, alive


def _landed_alone(
    table: FluidTable,
    plan: Plan,
    code: Ints,
    latency: Ints,
    failed: Ints,
    delays: Callable[[Ints, Ints, Ints, Ints], Ints],
) -> Landing:
    """The same where every script is one step: attempts and requests are one to one."""
    again = _retries(table, plan, code, latency, failed, delays)
    served = np.flatnonzero(code == ACCEPTED)
    whole = plan.at + latency
    carried = plan.carried
    whole[:carried] -= plan.flights[:, SENT]
    whole[carried:] -= plan.at[carried:]
    retried = failed[again >= 0]
    flights = np.zeros((len(retried), 8), np.int64)
    flights[:, REQUEST], flights[:, SCRIPT] = plan.request[retried], plan.script[retried]
    flights[:, SENT] = plan.at[retried]
    old = np.searchsorted(retried, carried)
    flights[:old, SENT] = plan.flights[retried[:old], SENT]
    attempts = np.empty((len(retried), 4), np.int64)
    attempts[:, FLIGHT], attempts[:, ROW] = np.arange(len(retried)), plan.row[retried]
    attempts[:, AT], attempts[:, TRY] = again[again >= 0], plan.tries[retried] + 1
    return Landing(served, whole[served], failed[again < 0], flights, attempts)


def _retries(
    table: FluidTable,
    plan: Plan,
    code: Ints,
    latency: Ints,
    failed: Ints,
    delays: Callable[[Ints, Ints, Ints, Ints], Ints],
) -> Ints:
    """When failed attempts are made again; −1: never."""
    if not len(failed):
        return failed
    owner, row = plan.owner[failed], plan.row[failed]
    steps = row - table.first[plan.script[owner]]
    status = np.where(code[failed] == TIMED_OUT, 500, 503)
    delay = delays(plan.tries[failed], plan.request[owner], steps, status)
    moments: Ints = np.where(delay < 0, -1, plan.at[failed] + latency[failed] + delay)
    return moments


def _cut_off(table: FluidTable, plan: Plan, cut: Ints, before: Ints) -> tuple[Ints, Ints]:
    """Flights of requests whose next stage begins after the window."""
    start, at = plan.resume[cut], plan.resume_at[cut]
    flights = np.zeros((len(cut), 8), np.int64)
    flights[:, REQUEST], flights[:, SCRIPT] = plan.request[cut], plan.script[cut]
    flights[:, STAGE], flights[:, SENT] = table.stage[start], at
    flights[:, LATENCY] = before[cut]
    counts = table.next_stage[start] - start
    attempts = np.ones((int(counts.sum()), 4), np.int64)
    attempts[:, FLIGHT] = np.repeat(np.arange(len(cut)), counts)
    attempts[:, ROW] = np.arange(len(attempts)) + np.repeat(start - (counts.cumsum() - counts), counts)
    attempts[:, AT] = np.repeat(at, counts)
    return flights, attempts

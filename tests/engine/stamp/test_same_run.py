"""One seed is one run (M8): in every process, and however inputs that do not touch one another are ordered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from random import Random

from pkadvisor.engine.capacity.capacity import Capacity, Place, Work
from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.engine.options import SECOND
from pkadvisor.limits import default_limits
from tests.engine.stamp.stamps import built, get, put
from tests.engine.worlds import simulated

ROOT = Path(__file__).parents[3]
PROGRAM = """
from tests.simulate.run import simulate
report = simulate(4, operations=60)
assert not report.violation, report.violation
print(report.event_hash, report.virtual_ns, sorted(report.counts.items()))
"""


def test_m8_a_run_is_the_same_in_every_process() -> None:
    """M8: whatever seeds the hashes of strings, so no order of a set and no address decides anything."""
    told = []
    for seed in ("0", "4242"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        told.append(done.stdout)
    assert told[0] == told[1]
    assert "'crash'" in told[0]


def test_m8_the_order_of_independent_inputs_changes_nothing() -> None:
    """M8: clients of different keys begin in any order; what they are told and what there is in the end is the same."""

    def run(order: list[int]) -> tuple[dict[int, list[bool]], dict[int, int | None]]:
        with simulated(11) as world:
            stamp = built(world, servers=2, boundaries=(b"a\0t\0p00003\0",))
            told: dict[int, list[bool]] = {number: [] for number in order}

            async def client(number: int) -> None:
                for turn in range(5):
                    told[number].append((await put(stamp, number, 100 * number + turn)).ok)

            tasks = [world.spawn(client(number)) for number in order]
            world.run_until(world.now_ns() + SECOND)
            for task in tasks:
                task.result()
            return dict(sorted(told.items())), {number: world.run(get(stamp, number)) for number in sorted(order)}

    numbers = list(range(0, 60, 5))
    shuffled = list(numbers)
    Random(1).shuffle(shuffled)
    assert run(numbers) == run(numbers[::-1]) == run(shuffled)


def test_m8_requests_that_share_nothing_are_judged_alike_in_any_order() -> None:
    """M8: those of one moment, of different accounts, servers, ranges and partitions, may arrive in any order."""

    def run(chance: Random | None) -> dict[int, list[tuple[bool, str]]]:
        capacity = Capacity(default_limits())
        judged: dict[int, list[tuple[bool, str]]] = {number: [] for number in range(5)}
        for moment in range(300):
            order = [number for number in range(5) if moment % (number + 1) == 0]
            if chance is not None:
                chance.shuffle(order)
            for number in order:
                place = Place(f"account-{number}", f"server-{number}", number, f"p{number}")
                for _ in range(8 - number):
                    ticket = capacity.admit(moment * SECOND // 1_000, place, Work(Kind.WRITE, entities=3))
                    if ticket.admitted:
                        capacity.finish(ticket)
                    judged[number].append((ticket.admitted, str(ticket.bound)))
        capacity.check()
        return judged

    expected = run(None)
    assert any(not admitted for admitted, _ in expected[0]) and all(admitted for admitted, _ in expected[4])
    assert run(Random(1)) == run(Random(2)) == expected

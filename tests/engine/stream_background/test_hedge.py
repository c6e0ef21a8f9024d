"""The first good answer of several nodes; a refusal is followed at once, silence after a while."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from pkadvisor.engine.options import MS
from pkadvisor.engine.stream.access import NotThere, TooSlow
from pkadvisor.engine.stream.client import first_good
from pkadvisor.engine.worlds.simulator import Simulator


class Nodes:
    """Nodes that answer after some time, or refuse."""

    def __init__(self) -> None:
        self.world = Simulator(1)
        self.asked: list[tuple[int, int]] = []

    def ask(self, number: int, *, after_ms: int = 0, error: Exception | None = None) -> Callable[[], Awaitable[int]]:
        async def answer() -> int:
            self.asked.append((number, self.world.now_ns() // MS))
            if after_ms:
                await self.world.sleep(after_ms * MS)
            if error is not None:
                raise error
            return number

        return answer

    def first(self, *asks: Callable[[], Awaitable[int]]) -> tuple[int, int]:
        asked = dict(zip("abcdef", asks, strict=False))
        call = first_good(self.world, "client", list(asked), lambda target: asked[target](), hedge_ns=100 * MS)
        found = self.world.run(call, "client")
        return found, self.world.now_ns() // MS


def test_a_good_answer_asks_nobody_else() -> None:
    nodes = Nodes()
    assert nodes.first(nodes.ask(1), nodes.ask(2)) == (1, 0)
    assert nodes.asked == [(1, 0)]
    assert nodes.first(nodes.ask(3, after_ms=90), nodes.ask(4)) == (3, 90)
    assert nodes.asked == [(1, 0), (3, 0)]


def test_a_refusal_asks_the_next_at_once() -> None:
    nodes = Nodes()
    found = nodes.first(nodes.ask(1, error=TooSlow("x")), nodes.ask(2, after_ms=20, error=NotThere("y")), nodes.ask(3))
    assert found == (3, 20)
    assert nodes.asked == [(1, 0), (2, 0), (3, 20)]


def test_silence_asks_the_next_beside_it_and_the_first_answer_wins() -> None:
    nodes = Nodes()
    assert nodes.first(nodes.ask(1, after_ms=2300), nodes.ask(2, after_ms=30)) == (2, 130)
    assert nodes.asked == [(1, 0), (2, 100)]
    assert nodes.world.counts["hedged read"] == 1
    nodes.world.run_until(5000 * MS)
    assert nodes.asked == [(1, 0), (2, 100)], "a late answer starts nothing"
    assert not nodes.world.unhandled


def test_the_slow_one_may_still_be_first() -> None:
    nodes = Nodes()
    assert nodes.first(nodes.ask(1, after_ms=150), nodes.ask(2, after_ms=500)) == (1, 150)


def test_silence_of_all_asks_each_after_the_other() -> None:
    nodes = Nodes()
    assert nodes.first(*(nodes.ask(number, after_ms=1000) for number in range(4))) == (0, 1000)
    assert nodes.asked == [(0, 0), (1, 100), (2, 200), (3, 300)]


def test_when_all_refuse_the_last_error_is_raised() -> None:
    nodes = Nodes()
    with pytest.raises(NotThere):
        nodes.first(nodes.ask(1, after_ms=5, error=TooSlow("x")), nodes.ask(2, after_ms=7, error=NotThere("y")))
    with pytest.raises(TooSlow):
        nodes.first(nodes.ask(1, error=NotThere("y")), nodes.ask(2, error=TooSlow("x")))


def test_another_error_is_never_hidden() -> None:
    nodes = Nodes()
    with pytest.raises(ZeroDivisionError):
        nodes.first(nodes.ask(1, error=ZeroDivisionError()), nodes.ask(2))

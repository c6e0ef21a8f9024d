"""Latches on keys: first come, first served; never two holders; no circle of those who wait."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.engine.partition.metadata import KeyLatches
from pkadvisor.engine.worlds.simulator import Simulator
from tests.tiers import examples


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=1, unique=True), st.integers(0, 3)),
        max_size=12,
    )
)
def test_each_key_is_held_by_one_and_handed_on_in_the_order_of_asking(wanted: list[tuple[list[bytes], int]]):
    world, latches = Simulator(), KeyLatches()
    holders: dict[bytes, int] = {}
    single: dict[bytes, list[int]] = {b"a": [], b"b": [], b"c": []}
    served: list[int] = []

    async def use(number: int, keys: list[bytes], pause_ns: int) -> None:
        await latches.hold(keys)
        for key in keys:
            assert key not in holders, "two hold the same key"
            holders[key] = number
        latches.check()
        if pause_ns:
            await world.sleep(pause_ns)
        for key in keys:
            del holders[key]
        if len(keys) == 1:
            single[keys[0]].append(number)
        served.append(number)
        latches.release(keys)

    for number, (keys, pause_ns) in enumerate(wanted):
        world.spawn(use(number, sorted(keys), pause_ns))
    world.run_until(1_000)
    assert sorted(served) == list(range(len(wanted))), "somebody waits for ever"
    assert len(latches) == 0
    for numbers in single.values():
        if all(len(keys) == 1 for keys, _ in wanted):
            assert numbers == sorted(numbers), "a late comer overtook"


def test_a_latch_that_is_held_is_not_taken_at_once():
    latches = KeyLatches()
    assert latches.take(b"k") and not latches.take(b"k")
    latches.release((b"k",))
    assert latches.take(b"k")

"""What the manager decides about garbage and repair, as pure functions (S8, S9)."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.stream.caretaker import Condition, Graces, NodePlace, Repair, choose_node, repairs

WHOLE, DAMAGED, SILENT, LOST = Condition.WHOLE, Condition.DAMAGED, Condition.SILENT, Condition.LOST
PLACES = {f"en{number}": NodePlace(number // 2, number % 3) for number in range(8)}


def test_s9_an_extent_goes_only_after_an_unbroken_grace() -> None:
    graces = Graces(10)
    assert graces.due([2], 0) == []
    assert graces.due([2], 9) == []
    assert graces.due([], 9) == [], "held again"
    assert graces.due([2], 10) == []
    assert graces.due([2], 19) == []
    assert graces.due([2], 20) == [2]
    assert graces.due([], 20) == []


@given(st.lists(st.tuples(st.integers(1, 5), st.sets(st.integers(1, 4)))))
def test_s9_never_a_referenced_one_and_always_an_unreferenced_one_in_the_end(
    passes: list[tuple[int, set[int]]],
) -> None:
    graces, now, last_held = Graces(6), 0, dict.fromkeys(range(1, 5), 0)
    for step, held in passes:
        now += step
        due = graces.due([extent for extent in range(1, 5) if extent not in held], now)
        last_held.update(dict.fromkeys(held, now))
        assert all(extent not in held and now - last_held[extent] >= 6 for extent in due)
    graces.due(range(1, 5), now)
    assert graces.due(range(1, 5), now + 6) == [1, 2, 3, 4]


def test_s8_nothing_is_made_from_nothing() -> None:
    assert repairs([("gone1", LOST), ("gone2", LOST), ("en4", SILENT)], PLACES, Random(1)) == []
    assert len(repairs([("en0", DAMAGED), ("gone2", LOST)], PLACES, Random(1))) == 2


def test_s8_damaged_in_place_lost_elsewhere_silent_not_at_all() -> None:
    found = repairs([("en0", WHOLE), ("en2", DAMAGED), ("en4", LOST), ("en6", SILENT)], PLACES, Random(1))
    assert found[0] == Repair(1, "en2", "en2")
    assert (found[1].number, found[1].replaced) == (2, "en4")
    assert found[1].target not in ("en0", "en2", "en6") and len(found) == 2


def test_s6_a_new_copy_stands_in_domains_of_its_own_if_it_can() -> None:
    for seed in range(20):
        target = choose_node(["en0", "en2"], PLACES, Random(seed))
        assert target is not None
        place = PLACES[target]
        assert place.fault_domain not in (0, 1) and place.upgrade_domain == 1
    few = {"en0": NodePlace(0, 0), "en1": NodePlace(0, 0)}
    assert choose_node(["en0"], few, Random(1)) == "en1", "better beside it than not at all"
    assert choose_node(["en0", "en1"], few, Random(1)) is None


def test_two_lost_copies_go_to_two_nodes() -> None:
    for seed in range(20):
        found = repairs([("gone1", LOST), ("en0", WHOLE), ("gone2", LOST)], PLACES, Random(seed))
        assert len({repair.target for repair in found} | {"en0"}) == 3


def test_a_fuller_node_is_chosen_less() -> None:
    places = {"a": NodePlace(1, 1, 900), "b": NodePlace(2, 2, 0)}
    chance = Random(1)
    chosen = [choose_node([], places, chance) for _ in range(600)]
    assert 150 < chosen.count("a") < 250  # weights 902 and 1802

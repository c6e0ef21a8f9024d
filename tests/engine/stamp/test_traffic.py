"""Where traffic falls, and whether it runs away (P11)."""

from __future__ import annotations

from random import Random

import pytest

from pkadvisor.engine.partition.traffic import SAMPLE_KEYS, TrafficProfile

SECOND = 1_000_000_000


def profile(horizon_s: int = 10) -> TrafficProfile:
    return TrafficProfile(b"", Random(1), buckets=64, half_life_ns=5 * SECOND, horizon_ns=horizon_s * SECOND)


def key(number: int) -> bytes:
    return b"%08d" % number


def drive(found: TrafficProfile, seconds: int, keys: object, per_s: int = 100, first_s: int = 0) -> None:
    for second in range(first_s, first_s + seconds):
        for i in range(per_s):
            found.record(key(keys(second * per_s + i)))  # type: ignore[operator]
        found.roll((second + 1) * SECOND)
        found.check()


def test_even_traffic_is_halved_near_its_middle() -> None:
    chance = Random(2)
    found = profile()
    drive(found, 30, lambda _: chance.randrange(1000))
    halving = found.halving_key()
    assert halving is not None
    assert 400 <= int(halving) <= 600


def test_skewed_traffic_is_halved_by_traffic_not_by_keys() -> None:
    chance = Random(3)
    found = profile()
    drive(found, 30, lambda _: chance.randrange(20) if chance.randrange(10) < 8 else chance.randrange(1000))
    halving = found.halving_key()
    assert halving is not None
    assert 6 <= int(halving) <= 20


@pytest.mark.parametrize("sign", [1, -1])
def test_a_running_tail_is_never_halved(sign: int) -> None:
    """P11: keys that grow, or shrink, with time: a split would leave all later load on one side."""
    found = profile()
    for second in range(60):
        drive(found, 1, lambda i: 50_000_000 + sign * i, first_s=second)
        assert found.halving_key() is None


def test_a_tail_that_stands_still_is_halved_after_the_horizon() -> None:
    found, chance = profile(), Random(4)
    drive(found, 30, lambda i: i)
    assert found.halving_key() is None
    drive(found, 30, lambda i: 3000 + chance.randrange(500), first_s=30)
    assert found.halving_key() is not None


def test_one_hot_partition_cannot_be_halved() -> None:
    found = profile()
    drive(found, 30, lambda i: 5 if i % 20 else 7)
    assert found.halving_key() is None


def test_nothing_is_known_before_the_horizon_has_passed() -> None:
    found, chance = profile(horizon_s=20), Random(5)
    drive(found, 15, lambda _: chance.randrange(1000))
    assert found.halving_key() is None
    drive(found, 10, lambda _: chance.randrange(1000), first_s=15)
    assert found.halving_key() is not None


def test_the_sample_of_a_window_is_even_over_it() -> None:
    found = profile()
    for i in range(20 * SAMPLE_KEYS):
        found.record(key(i))
    found.roll(SECOND)
    part, whole = found.left_share(key(10 * SAMPLE_KEYS))
    assert whole == SAMPLE_KEYS
    assert SAMPLE_KEYS // 3 <= part <= 2 * SAMPLE_KEYS // 3

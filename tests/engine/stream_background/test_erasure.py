"""Codes: what is lost comes back as it was, or is reported (S13)."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.engine.stream import erasure
from pkadvisor.engine.stream.erasure import FragmentRange, LocalReconstruction, ReedSolomon, code_named
from pkadvisor.engine.stream.errors import CodeMissing, Undecodable

LRC = LocalReconstruction(12)
GROUPS = (set(range(6)), set(range(6, 12)))


def fragments(code: erasure.ErasureCode, length: int = 33, seed: int = 1) -> list[bytes]:
    chance = Random(seed)
    data = [chance.randbytes(length) for _ in range(code.data_count)]
    return [*data, *code.encode(data)]


def test_field_of_256_elements() -> None:
    assert erasure.multiply(0x80, 2) == 0x1D
    for a in range(1, 256):
        assert erasure.multiply(a, erasure.inverse(a)) == 1
        assert len({erasure.multiply(a, b) for b in range(256)}) == 256
    chance = Random(3)
    for _ in range(200):
        a, b, c = (chance.randrange(256) for _ in range(3))
        assert erasure.multiply(a, b ^ c) == erasure.multiply(a, b) ^ erasure.multiply(a, c)
        assert erasure.multiply(a, erasure.multiply(b, c)) == erasure.multiply(erasure.multiply(a, b), c)


def test_combination_says_when_there_is_none() -> None:
    rows = {0: (1, 0, 0), 1: (0, 1, 0), 2: (1, 1, 0), 3: (0, 0, 1)}
    assert erasure.combination(rows, (1, 2), (0,)) == {0: {1: 1, 2: 1}}
    assert erasure.combination(rows, (0, 1, 2), (3,)) is None


def swap_test(lost: tuple[int, ...]) -> bool:
    """The test of ATC 2012, 2.2.2: each local parity that is left replaces one lost fragment of its group."""
    globals_left = sum(number not in lost for number in (14, 15))
    remaining = 0
    for group, parity in zip(GROUPS, (12, 13), strict=True):
        count = len(group & set(lost))
        remaining += count - 1 if count and parity not in lost else count
    return remaining <= globals_left


def test_s13_every_loss_of_up_to_four_decodes_or_is_reported() -> None:
    whole = fragments(LRC)
    data = tuple(range(12))
    decodable = dict.fromkeys(range(6), 0)
    for count in range(5):
        for lost in combinations(range(16), count):
            left = {number: whole[number] for number in range(16) if number not in lost}
            possible = swap_test(lost)
            assert LRC.decodable(lost) == possible
            if possible:
                decodable[count] += 1
                wanted = tuple(sorted({*data, *lost}))
                assert LRC.decode(left, wanted) == {number: whole[number] for number in wanted}
            else:
                assert count > 3, "up to r + 1 losses always decode"
                with pytest.raises(Undecodable):
                    LRC.decode(left, data)
    assert decodable[3] == 560
    assert decodable[4] == 1568  # of 1,820: 86 %


def test_s13_five_losses_never_decode_as_a_whole_but_a_group_may() -> None:
    whole = fragments(LRC)
    chance = Random(5)
    for _ in range(100):
        assert not LRC.decodable(chance.sample(range(12), 5))
    left = {number: whole[number] for number in (0, 1, 2, 3, 4, 12)}
    assert LRC.decode(left, (5,)) == {5: whole[5]}
    with pytest.raises(Undecodable):
        LRC.decode(left, (5, 6))


def test_share_of_four_losses_is_that_of_the_paper_for_six_fragments() -> None:
    code = LocalReconstruction(6)
    found = [code.decodable(lost) for lost in combinations(range(10), 4)]
    assert (sum(found), len(found)) == (180, 210)  # 86 % (ATC 2012, 2.2.2)


def test_s13_one_lost_data_fragment_reads_one_group() -> None:
    for number in range(12):
        left = [other for other in range(16) if other != number]
        plan = LRC.plan((number,), left)
        group = 0 if number < 6 else 1
        assert plan is not None and set(plan) == (GROUPS[group] | {12 + group}) - {number}
        assert len(plan) == 6
    assert LRC.plan((3,), range(16)) == (3,), "what is there is read itself"
    assert LRC.plan((0, 1, 2, 6, 7), set(range(16)) - {0, 1, 2, 6, 7}) is None


@pytest.mark.parametrize(("data", "parity"), [(1, 1), (2, 1), (3, 2), (6, 3), (12, 4)])
def test_reed_solomon_gives_back_from_any_n(data: int, parity: int) -> None:
    code = ReedSolomon(data, parity)
    whole = fragments(code)
    chance = Random(data)
    choices = list(combinations(range(data + parity), data))
    for chosen in chance.sample(choices, min(len(choices), 60)):
        wanted = tuple(range(data + parity))
        assert code.plan(wanted, chosen) == chosen
        assert code.decode({number: whole[number] for number in chosen}, wanted) == dict(enumerate(whole))
    few = {number: whole[number] for number in range(data - 1)}
    assert code.plan((data - 1,), few) is None
    with pytest.raises(Undecodable):
        code.decode(few, (data - 1,))


def test_reed_solomon_uses_more_than_n_and_parities_alone() -> None:
    code = ReedSolomon(3, 4)
    whole = fragments(code)
    assert code.decode({number: whole[number] for number in (3, 4, 5, 6)}, (0, 2)) == {0: whole[0], 2: whole[2]}


def test_names_of_codes() -> None:
    assert code_named("rs-6-3").total_count == 9
    assert code_named("lrc-12-2-2").total_count == 16
    for name in ("lrc-12-3-2", "raid-5", ""):
        with pytest.raises(CodeMissing):
            code_named(name)


def test_without_zfec_reed_solomon_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(erasure, "import_module", missing)
    with pytest.raises(CodeMissing, match=r"pkadvisor\[erasure\]"):
        ReedSolomon(6, 3)
    assert LocalReconstruction(12).total_count == 16, "the other code needs nothing"


@pytest.mark.parametrize("name", ["rs-6-3", "rs-3-2", "rs-2-4", "lrc-12-2-2", "lrc-6-2-2"])
@pytest.mark.parametrize("salt", [0, 1, 5, 11])
def test_trials_find_a_wrong_byte_in_any_fragment(name: str, salt: int) -> None:
    code = code_named(name)
    whole = fragments(code, length=9)
    data = tuple(range(code.data_count))

    def passes(held: list[bytes]) -> bool:
        for lost in code.trials(salt):
            left = {number: held[number] for number in range(code.total_count) if number not in lost}
            if code.decode(left, data) != {number: whole[number] for number in data}:
                return False
        return True

    assert passes(whole)
    for number in range(code.total_count):
        wrong = list(whole)
        wrong[number] = bytes([wrong[number][0] ^ 1]) + wrong[number][1:]
        assert not passes(wrong), number


@given(st.integers(0, 500), st.integers(0, 200), st.integers(1, 60))
def test_pieces_cover_a_range_once(offset: int, length: int, fragment_length: int) -> None:
    covered = [
        piece.fragment * fragment_length + position
        for piece in erasure.pieces_of(offset, length, fragment_length)
        for position in range(piece.start, piece.end)
    ]
    assert covered == list(range(offset, offset + length))


def test_pieces_of_a_range_over_three_fragments() -> None:
    assert list(erasure.pieces_of(8, 14, 10)) == [
        FragmentRange(0, 8, 10),
        FragmentRange(1, 0, 10),
        FragmentRange(2, 0, 2),
    ]
    assert erasure.fragment_bytes(100, 12) == 9

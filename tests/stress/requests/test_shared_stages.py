"""Stages that scripts share are taken apart once, and nothing of a script is lost."""

from __future__ import annotations

import numpy as np
import pytest

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.limits import default_limits
from pkadvisor.stress.requests.flat_scripts import FlatScripts, in_order, offered, runs, shared_stages
from pkadvisor.stress.requests.scripts import SEVERAL, KeySpace, Script, Scripts, Step
from pkadvisor.stress.simulate.measures import offered_milli


def test_scripts_are_their_stages_in_order_and_a_shared_one_comes_once() -> None:
    first, second = ((Step(Kind.READ, rank, rank, rank + 1, examined=1),) for rank in (0, 1))
    scripts = [Script((first, second)), Script(()), Script((second, first, second))]
    found = shared_stages(scripts)
    assert found.distinct == (first, second)
    assert found.which.tolist() == [0, 1, 1, 0, 1]
    assert found.lengths.tolist() == [2, 0, 3]


def test_no_scripts_have_no_stages() -> None:
    found = shared_stages([])
    assert found.distinct == () and not len(found.which) and not len(found.lengths)


def test_flat_scripts_are_the_scripts() -> None:
    page = (Step(Kind.PAGE, SEVERAL, 0, 3, examined=700), Step(Kind.PAGE, 1, 1, 2, examined=2, continued=True))
    write = (Step(Kind.WRITE, 2, 2, 3, 5, 0, 90),)
    one, two, none = Script((page, write)), Script((write, page, write)), Script(())
    keys = KeySpace("t", ("a", "b", "c"), np.ones(3, dtype=np.int64))
    scripts = Scripts(keys, ("x", "y"), (((one, none, one), (two,)), ((none, none, two), (two,))), (1,))
    flat = FlatScripts.of(scripts)
    assert FlatScripts.of(scripts) is flat, "made once"
    for epoch, of_classes in zip(scripts.epochs, flat.numbers, strict=True):
        for of_class, numbers in zip(epoch, of_classes, strict=True):
            for script, number in zip(of_class, numbers.tolist(), strict=True):
                stages = flat.stages_of(np.array([number]))
                assert tuple(flat.stages[stage] for stage in stages.tolist()) == script.stages
                steps = [step for stage in script.stages for step in stage]
                assert flat.raw[flat.rows_of(stages)].tolist() == [list(map(int, step)) for step in steps]
    limits = default_limits()
    steps = [step for stage in flat.stages for step in stage]
    assert offered(flat.raw, limits).tolist() == [offered_milli(step, limits) for step in steps]


@pytest.mark.parametrize(("numbers", "distinct"), [([], []), ([4, 1, 4, 0, 1], [4, 1, 0]), ([2, 2], [2])])
def test_numbers_in_the_order_in_which_they_come_first(numbers: list[int], distinct: list[int]) -> None:
    found, place = in_order(np.array(numbers, dtype=np.int64), 5)
    assert found.tolist() == distinct
    assert place[np.array(numbers, dtype=np.int64)].tolist() == [distinct.index(number) for number in numbers]


def test_runs_follow_one_another() -> None:
    assert runs(np.array([7, 0, 3]), np.array([2, 0, 3])).tolist() == [7, 8, 3, 4, 5]
    assert not len(runs(np.array([], dtype=np.int64), np.array([], dtype=np.int64)))

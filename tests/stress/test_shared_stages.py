"""Stages that scripts share are taken apart once, and nothing of a script is lost."""

from __future__ import annotations

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.stress.scripts import Script, Step
from pkadvisor.stress.shared_stages import shared_stages


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

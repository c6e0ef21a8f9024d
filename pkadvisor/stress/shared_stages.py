"""The stages of many scripts, each of those that scripts share once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.stress.scripts import Script, Stage

    Ints = NDArray[np.int64]


class SharedStages(NamedTuple):
    """``distinct`` stages in the order in which they come first; ``which`` of them each stage of each script is, script
    after script; ``lengths``: how many stages each script has."""

    distinct: tuple[Stage, ...]
    which: Ints
    lengths: Ints


def shared_stages(scripts: Sequence[Script]) -> SharedStages:
    """Stages that are one object come once; equal ones need not be one."""
    import numpy as np

    lengths = np.fromiter((len(script.stages) for script in scripts), np.int64, len(scripts))
    every = list(chain.from_iterable(script.stages for script in scripts))
    distinct = {id(stage): stage for stage in every}
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    which = np.fromiter(map(place.__getitem__, map(id, every)), np.int64, len(every))
    return SharedStages(tuple(distinct.values()), which, lengths)

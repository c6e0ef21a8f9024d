"""The stages of many scripts, each of those that scripts share once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pkadvisor.stress.requests.scripts import Script, Stage

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

    of_scripts = list(map(itemgetter(0), scripts))
    lengths = np.fromiter(map(len, of_scripts), np.int64, len(scripts))
    every = list(chain.from_iterable(of_scripts))
    ids = list(map(id, every))
    distinct = dict(zip(ids, every, strict=True))
    place = dict(zip(distinct, range(len(distinct)), strict=True))
    which = np.fromiter(map(place.__getitem__, ids), np.int64, len(ids))
    return SharedStages(tuple(distinct.values()), which, lengths)

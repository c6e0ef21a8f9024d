"""A window of attempts judged by the compiled ``sequential``: the same integers, sooner."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pkadvisor.engine.capacity.service_times import DRAWS
from pkadvisor.lazy import Ints
from pkadvisor.stress.simulate.fluid_doubts import NEVER
from pkadvisor.stress.simulate.fluid_numpy import draw_indices
from pkadvisor.stress.simulate.fluid_pass import sequential
from pkadvisor.stress.simulate.fluid_state import State
from pkadvisor.stress.simulate.fluid_table import JUDGED, FluidTable
from pkadvisor.stress.simulate.fluid_window import Window


@lru_cache(maxsize=1)
def kernel() -> Any:
    """The compiled function; kept on disk where numba finds a folder that it may write to."""
    import numba

    try:
        return numba.njit(cache=True, nogil=True)(sequential)
    except RuntimeError:  # no folder for the cache
        return numba.njit(nogil=True)(sequential)


def judge(window: Window, table: FluidTable, state: State) -> tuple[Ints, Ints]:
    """What becomes of each attempt, and its latency; ``state`` goes on to the end of the window."""
    count, state.listed = len(window.at), None
    code, latency = np.empty(count, np.int64), np.empty(count, np.int64)
    kernel()(
        window.at, window.owner, window.stage, window.partition, window.of_range, window.weight,
        table.judged.reshape(-1), JUDGED, state.server_of, draw_indices(window.seed, window.ticket, count),
        table.trips.reshape(-1), DRAWS,
        np.array(state.figures, np.int64), state.partitions.reshape(-1), state.ranges.reshape(-1),
        state.bandwidths.reshape(-1), state.servers.reshape(-1), state.accounts.reshape(-1), state.range_free,
        state.server_free, np.full(window.owners, NEVER, np.int64), code, latency,
    )  # fmt: skip
    return code, latency

"""Which stages of the scripts of a load a range end may cut, and which of them are one scan in pages."""

from __future__ import annotations

from pkadvisor.engine.capacity.service_times import Kind
from pkadvisor.lazy import Ints, np
from pkadvisor.stress.requests import flat_scripts as field
from pkadvisor.stress.requests.flat_scripts import FlatScripts
from pkadvisor.stress.requests.scripts import SEVERAL
from pkadvisor.values import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Scans:
    """The stages that a range end may cut, each from where to where it goes; ``following``: those that go on where it
    ends, of a scan that is sent alone."""

    stages: Ints
    low: Ints
    high: Ints
    following: dict[int, tuple[int, ...]]

    @staticmethod
    def of(flat: FlatScripts) -> Scans:
        """Of all scripts of a load."""
        stage_of = np.repeat(np.arange(len(flat.stages)), flat.sizes)
        following = _following(flat)
        pages = (flat.raw[:, field.OF_PARTITION] == SEVERAL) & (flat.raw[:, field.KIND] == Kind.PAGE)
        rows = np.flatnonzero(pages & (flat.raw[:, field.HIGH] > flat.raw[:, field.LOW] + 1))
        tail = np.zeros(len(flat.stages), np.bool_)
        tail[[each for of_scan in following.values() for each in of_scan]] = True
        heads = np.array(list(following), np.int64)
        rows = rows[~tail[stage_of[rows]] & ~np.isin(stage_of[rows], heads)]
        ends = np.array([of_scan[-1] for of_scan in following.values()], np.int64)
        raw, first = flat.raw, flat.first
        return Scans(
            np.concatenate([stage_of[rows], heads]),
            np.concatenate([raw[rows, field.LOW], raw[first[heads], field.LOW]]),
            np.concatenate([raw[rows, field.HIGH], raw[first[ends], field.HIGH]]),
            following,
        )

    def cut_by(self, edges: Ints) -> Ints:
        """The stages inside of which one of some edges lies, in order."""
        after = np.searchsorted(edges, self.low, side="right")
        stages: Ints = np.unique(self.stages[after < np.searchsorted(edges, self.high)])
        return stages


def _following(flat: FlatScripts) -> dict[int, tuple[int, ...]]:
    """For each stage that begins a scan of several pages the stages of the others (``expanded.chain_at``)."""
    which, count = flat.which, len(flat.stages)
    if len(which) < 2:
        return {}
    raw = np.zeros((count, 8), np.int64)
    alone = flat.sizes == 1
    raw[alone] = flat.raw[flat.first[alone]]
    alone &= (raw[:, field.OF_PARTITION] == SEVERAL) & (raw[:, field.KIND] == Kind.PAGE)
    before, after = which[:-1], which[1:]
    ahead = raw[after, field.LOW] - raw[before, field.HIGH]
    links = alone[before] & alone[after] & (raw[after, field.CONTINUED] > 0) & (ahead >= -1) & (ahead <= 0)
    ends = flat.begins[flat.lengths > 0]
    links[ends[ends > 0] - 1] = False  # the next script begins there
    heads = np.flatnonzero(links & ~np.r_[False, links[:-1]])
    if not len(heads):
        return {}
    breaks = np.flatnonzero(~np.r_[links, False])
    lasts = breaks[np.searchsorted(breaks, heads)]
    _, some = np.unique(which[heads], return_index=True)
    return {
        int(which[head]): tuple(which[head + 1 : last + 1].tolist())
        for head, last in zip(heads[some].tolist(), lasts[some].tolist(), strict=True)
    }

"""What a heat map shows, in one word and one sentence: computed, so that nobody has to see it.

The words are those of the services' own key visualizers: even, one diagonal, a few diagonals, one flat line, bursts
over all keys, and a hot spot that jumps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pkadvisor.lazy import Floats, Ints, np
from pkadvisor.numbers import amount, percent
from pkadvisor.values import dataclass

IDLE, EVEN, SKEWED, HOT_KEY, BURST = "idle", "even", "skewed", "hot-key", "burst"
APPEND, FRONTS, MOVING = "append", "fronts", "moving"

MOVED = 0.2
"""Share of the load that must lie elsewhere than on average, more than by chance, before a map is said to move."""
CLUSTER = 0.25
"""Cells of a column that belong to its hot spots, in times of what the hottest of them has above its average."""
SPOTS_MAX = 16
"""Hot spots of a column that are told apart: more of them are as good as even."""
NEAR = 2
"""Rows that a front may leave out between one column and the next."""
UNSEEN = 3
"""Columns for which a hot spot may be hidden by chance and still be the same."""
ONE_WAY = 0.7
"""Share of the moves that go one way from which on hot spots are fronts."""
MOVES_LEAST = 3
"""Moves below which a hot spot does not move: it came once, and went."""
FAR_MOST = 0.3
"""Share of moves that may be jumps where hot spots are fronts."""
HOT = 0.1
"""Share of the load from which on one row is a hot key, where an even one would be far below …"""
HOT_TIMES = 4.0
"""… which is: this many times below."""
MOSTLY, BRIEF = 0.8, 0.25
"""A hot key that takes so much of its load in at most that share of the time is not hot all the time."""
BURST_TIMES = 2.5
"""A column is in a burst from so many times the median column on."""
BURST_CHANCE = 5.0
"""… and beyond what so many standard deviations of a column's requests make of it."""
BURST_SHARE = 0.05
"""Share of the load that must lie above the median in bursts."""
SKEW_TIMES = 2.0
"""Times its even share from which on the busiest row makes a map skewed."""
COLUMNS_LEAST = 6
"""Columns below which nothing is said of time."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """``share`` of the load is in the pattern; ``count`` of its fronts or hot spots, 0 where it has none."""

    name: str
    sentence: str
    share: float
    count: int = 0


def pattern_of(
    loads: Floats,
    partitions: Sequence[int],
    of: str = "load",
    *,
    events: float = math.inf,
) -> Pattern:
    """The pattern of a map: ``loads`` has a row for each band of keys in their order and a column for each stretch of
    time, in any unit; ``partitions`` of each band; ``of``: what the sentence calls it.

    ``events``: how many requests the map counts, whose chance is no pattern; infinite for what was computed.
    """
    total = float(loads.sum())
    if not loads.size or total <= 0:
        return Pattern(IDLE, f"there is no {of}", 0.0)
    by_row, columns = loads.sum(axis=1) / total, loads.sum(axis=0)
    timed = loads.shape[1] >= COLUMNS_LEAST
    in_column = events / loads.shape[1]
    pattern = _moving(loads, by_row, columns, of, in_column) if timed and len(loads) > 1 else None
    pattern = pattern or _hot(loads / total, np.array(partitions, dtype=np.int64), of)
    pattern = pattern or (_burst(columns, in_column) if timed else None)
    return pattern or _still(by_row, np.array(partitions, dtype=np.int64), of)


# -- movement ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Spot:
    """Neighbouring rows [low, high] of one column that have much more than on average; ``centre`` by load."""

    low: int
    high: int
    centre: float
    mass: float


def _moving(loads: Floats, by_row: Floats, columns: Floats, of: str, in_column: float) -> Pattern | None:
    """One front, several, or a hot spot that jumps; None where nothing moves but noise."""
    shares = loads / np.where(columns > 0, columns, 1.0)
    excess = np.maximum(shares - by_row[:, None], 0.0)
    total = float(columns.sum())
    moved = float((excess.sum(axis=0) * columns).sum()) / total
    # What Poisson arrivals move by chance: half of the mean deviation of each cell from what is expected in it.
    expected = by_row * in_column if math.isfinite(in_column) else np.full(len(by_row), math.inf)
    each = np.minimum(np.exp(-np.minimum(expected, 700.0)), 1 / np.sqrt(2 * math.pi * np.maximum(expected, 1e-12)))
    chance = min(1.0, float((by_row * each).sum()))
    if moved < chance + MOVED * (1 - chance):
        return None
    spots = [_spots(excess[:, at]) if columns[at] > 0 else [] for at in range(loads.shape[1])]
    in_spots = (
        sum(float(columns[at]) * sum(s.mass for s in columns_spots) for at, columns_spots in enumerate(spots)) / total
    )
    count = round(float(np.median([len(columns_spots) for columns_spots in spots if columns_spots] or [0])))
    if not 0 < count <= SPOTS_MAX or in_spots < MOVED:
        return None
    onward, total_moves, far, moves = _moves(spots)
    if moves < MOVES_LEAST:
        return None
    share = min(1.0, in_spots)
    if total_moves and abs(onward) >= ONE_WAY * total_moves and far <= FAR_MOST:
        way, end = ("rise", "last") if onward > 0 else ("fall", "first")
        if count == 1:
            what = (
                f"a diagonal: keys {way} with time, so at any moment the {end} ones take {rounded(share)} of the {of}"
            )
            return Pattern(APPEND, what, share, 1)
        what = f"{count} diagonals: keys {way} with time in {count} places, which take {rounded(share)} of the {of}"
        return Pattern(FRONTS, what, share, count)
    few = "one place takes" if count == 1 else f"{count} places take"
    what = f"a hot spot that moves: at any moment {few} {rounded(share)} of the {of}, and then another"
    return Pattern(MOVING, what, share, count)


def _spots(excess: Floats) -> list[_Spot]:
    """The hot spots of one column, in the order of their rows; one cold row between does not part them."""
    rows = np.flatnonzero(excess >= CLUSTER * float(excess.max(initial=0.0)))
    if not len(rows) or float(excess.max()) <= 0:
        return []
    cuts = np.flatnonzero(np.diff(rows) > 2) + 1
    out = []
    for part in np.split(rows, cuts):
        mass = float(excess[part].sum())
        out.append(_Spot(int(part[0]), int(part[-1]), float((part * excess[part]).sum()) / mass, mass))
    # What a spot of a tenth of the greatest has is noise.
    most = max(s.mass for s in out)
    return [s for s in out if s.mass >= most / 10]


def _moves(spots: Sequence[Sequence[_Spot]]) -> tuple[float, float, float, int]:
    """(rows that hot spots go up, less those they go down; rows that they go in all; share of moves that are jumps;
    moves).

    A spot comes from the nearest one of the column before. It has moved when it is a whole row away from where its last
    move ended: the chance of single cells is no movement.
    """
    onward = total = 0.0
    near = jumps = 0
    known: list[tuple[_Spot, float, int]] = []
    for column, after in enumerate(spots):
        now: list[tuple[_Spot, float, int]] = []
        for spot in after:
            if not known:
                now.append((spot, spot.centre, column))
                continue
            nearest, anchor, _ = min(known, key=lambda p: (_gap(p[0], spot), abs(p[0].centre - spot.centre)))
            step = spot.centre - anchor
            if _gap(nearest, spot) > NEAR + (nearest.high - nearest.low):
                jumps, anchor = jumps + 1, spot.centre
            elif abs(step) >= 1:
                near, anchor = near + 1, spot.centre
                onward, total = onward + step, total + abs(step)
            now.append((spot, anchor, column))
        # One that is not seen for some columns may be seen again.
        now += [k for k in known if column - k[2] <= UNSEEN and all(_gap(k[0], spot) > NEAR for spot in after)]
        known = now or known
    return onward, total, jumps / max(1, near + jumps), near + jumps


def _gap(one: _Spot, other: _Spot) -> int:
    """Rows between two spots."""
    return max(other.low - one.high, one.low - other.high, 0)


# -- what stays --------------------------------------------------------------------------------------------------------


def _even_shares(partitions: Ints) -> Floats:
    held = np.maximum(partitions, 1)
    shares: Floats = held / held.sum()
    return shares


def _hot(shares: Floats, partitions: Ints, of: str) -> Pattern | None:
    """Rows that take a multiple of what an even share would be, and much of the load; ``shares`` of it by row and
    column."""
    even, by_row = _even_shares(partitions), shares.sum(axis=1)
    needed = np.maximum(HOT, np.minimum(HOT_TIMES * even, (1 + even) / 2))
    hot = np.flatnonzero(by_row >= needed)
    if not len(hot):
        return None
    share = min(1.0, float(by_row[hot].sum()))
    held = int(np.maximum(partitions, 1)[hot].sum())
    if len(by_row) == 1 and held == 1:
        return Pattern(HOT_KEY, "there is only one partition, and it takes every request", 1.0, 1)
    who = "one key takes" if held == 1 else f"{held:,} keys take"
    lasts = _lasts(shares[hot].sum(axis=0))
    if lasts <= BRIEF:
        blocks = "a block" if len(hot) == 1 else f"{len(hot)} blocks"
        what = f"{blocks}: {who} {rounded(share)} of the {of}, nearly all of it in {percent(lasts)} of the time"
        return Pattern(HOT_KEY, what, share, len(hot))
    lines = "a flat line" if len(hot) == 1 else f"{len(hot)} flat lines"
    return Pattern(HOT_KEY, f"{lines}: {who} {rounded(share)} of the {of} all the time", share, len(hot))


def _lasts(columns: Floats) -> float:
    """The least share of the time in which ``MOSTLY`` of a load falls; 1 where the columns are too few to tell."""
    if len(columns) < COLUMNS_LEAST:
        return 1.0
    falling = np.cumsum(np.sort(columns)[::-1])
    return float(np.searchsorted(falling, MOSTLY * falling[-1]) + 1) / len(columns)


def _burst(columns: Floats, in_column: float) -> Pattern | None:
    """Columns that have a multiple of the median, all keys together."""
    total, median = float(columns.sum()), float(np.median(columns))
    times_least = max(BURST_TIMES, 1 + BURST_CHANCE / math.sqrt(in_column))
    inside = columns >= times_least * median if median > 0 else columns > 0
    above = float((columns - median)[inside].sum()) / total
    if not inside.any() or above < BURST_SHARE:
        return None
    starts = np.flatnonzero(np.diff(np.concatenate([[False], inside]).astype(np.int64)) == 1)
    share = float(columns[inside].sum()) / total
    times = float(columns.max()) / median if median > 0 else float("inf")
    high = f"up to {amount(times)} times the usual load" if median > 0 else "with nothing between"
    bursts = "a burst" if len(starts) == 1 else f"{len(starts)} bursts"
    gaps = np.diff(starts)
    regular = len(gaps) >= 2 and float(gaps.std()) <= 0.15 * float(gaps.mean())
    how = ", at regular distances" if regular else ""
    return Pattern(BURST, f"{bursts} over all keys{how}: {high}, {rounded(share)} of all", share, len(starts))


def _still(by_row: Floats, partitions: Ints, of: str) -> Pattern:
    """Even, or skewed without a hot key."""
    even = _even_shares(partitions)
    times = by_row / even
    top = int(times.argmax())
    share = float(by_row.max())
    if float(times[top]) >= SKEW_TIMES:
        mine = float(by_row[top])
        who = (
            "the busiest key takes" if int(partitions[top]) <= 1 else f"the busiest {int(partitions[top]):,} keys take"
        )
        what = f"skewed: {who} {rounded(mine)} of the {of}, {amount(float(f'{times[top]:.2g}'))} times an even share"
        return Pattern(SKEWED, what, mine)
    count = int(np.maximum(partitions, 1).sum())
    what = f"even over {count:,} partitions: no part of the keys and no time stands out"
    return Pattern(EVEN, what, share)


def rounded(share: float) -> str:
    """A share in per cent, in whole ones; below one of them with what it has."""
    return f"{100 * share:.0f} %" if share >= 0.01 else percent(share)

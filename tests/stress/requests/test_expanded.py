"""The pages of a scan under a map of ranges: as many as the service makes, and nothing is lost."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.stress.requests.expanded import expanded, paged
from pkadvisor.stress.requests.scripts import Step
from tests.stress.small import page, read, script

MOST = 1000


def chain(rows: list[int], more: int = 0) -> list[Step]:
    """A scan of all rows of PartitionKeys in pages of ``MOST``, the first of which moves ``more``."""
    sums, total = [0, *accumulate(rows)], sum(rows)
    out = []
    for begin in range(0, max(1, total), MOST):
        end = min(total, begin + MOST)
        low = next(rank for rank in range(len(rows) - 1, -1, -1) if sums[rank] <= begin)
        high = len(rows) if end == total else next(rank for rank in range(len(rows) + 1) if sums[rank] >= end)
        out.append(page(low if begin else 0, max(high, low + 1), end - begin, continued=begin > 0))
    return [step._replace(bytes_moved=50 * step.examined + (more if not n else 0)) for n, step in enumerate(out)]


@given(
    st.lists(st.integers(0, 1500), min_size=1, max_size=30), st.sets(st.integers(1, 29), max_size=4), st.integers(0, 99)
)
def test_a_page_ends_at_a_thousand_entities_or_where_a_range_does(rows: list[int], ends: set[int], more: int) -> None:
    sums, lows = (0, *accumulate(rows)), (0, *sorted(end for end in ends if end < len(rows)))
    scan = chain(rows, more)
    made = list(paged(scan, sums, lows, MOST))
    edges = [*lows, len(rows)]
    each = [sums[high] - sums[low] for low, high in pairwise(edges)]
    assert len(made) == sum(max(1, -(-count // MOST)) for count in each), "each range begins to count anew"
    assert sum(step.examined for step in made) == sum(rows) and max(step.examined for step in made) <= MOST
    assert sum(step.bytes_moved for step in made) == sum(step.bytes_moved for step in scan)
    assert made[0].low == 0 and made[-1].high == len(rows)
    assert [step.continued for step in made] == [n > 0 for n in range(len(made))]
    for one, other in pairwise(made):
        assert one.high - 1 <= other.low <= one.high or not one.examined or not other.examined
    assert not any(step.low < edge < step.high for step in made for edge in lows)


def test_a_scan_of_the_issue_takes_as_many_operations_as_on_the_engine() -> None:
    rows = [2000] * 40  # 80 pages; four ends of ranges between them, none at the end of a page
    scan, sums = chain(rows), (0, *accumulate(rows))
    assert len(scan) == 80
    assert len(list(paged(scan, sums, (0, 7, 19, 20, 31), MOST))) == 80
    found = expanded(script([read(0)], *([step] for step in scan)), sums, (0, 7, 19, 20, 31), MOST)
    assert len(found.stages) == 81


def test_what_is_sent_beside_other_pages_is_cut_where_it_is() -> None:
    both = script([page(0, 4, 400), page(4, 8, 400)], [read(1)])
    made = expanded(both, tuple(range(0, 900, 100)), (0, 2, 5), MOST)
    assert [[(step.low, step.high, step.examined) for step in stage] for stage in made.stages] == [
        [(0, 2, 200), (4, 5, 100)],
        [(2, 4, 200), (5, 8, 300)],
        [(1, 2, 1)],
    ]

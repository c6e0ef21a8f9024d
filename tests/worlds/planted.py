"""Mistakes that the laws must find: each is planted in the package, and some world breaks a law that it keeps without.

``python -m tests.worlds --planted --seeds N --first S`` looks for each of them from seed S on, in at most N worlds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.worlds import candidate_mistakes as c
from tests.worlds import doubt_mistakes as d
from tests.worlds import mistakes as m
from tests.worlds.draw.world import draw_world
from tests.worlds.laws import AN_ERROR, judge
from tests.worlds.running import forget_results

ROWS = 300
Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True)
class Mistake:
    """What is planted, the law that finds it, and a seed that shows it."""

    plant: Plant
    law: str
    seed: int

    @property
    def name(self) -> str:
        """What is done wrong."""
        return self.plant.__name__

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The package with this mistake."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            yield


MISTAKES = (
    Mistake(m.updates_do_not_move, "counted", 2),
    Mistake(m.index_rows_for_missing_values, "counted", 3),
    Mistake(m.everybody_is_asked_for, "counted", 3),
    Mistake(m.pages_of_ten, "counted", 2),
    Mistake(m.ranges_take_both_ends, "counted", 3),
    Mistake(m.one_range_sent_as_included, "counted", 11),
    Mistake(m.order_of_every_part, "counted", 7),
    Mistake(m.order_always_served, "counted", 2),
    Mistake(m.no_separators, "counted", 147),
    Mistake(m.newest_forgotten, "counted", 24),
    Mistake(m.buckets_of_one, "counted", 2),
    Mistake(m.peaks_forgotten, "counted", 3),
    Mistake(m.labels_cost_top, "harmless", 33),
    Mistake(m.falling_numbers_rise, "counted", 27),
    Mistake(m.periods_end_early, "counted", 44),
    Mistake(m.choices_counted_once, "counted", 2),
    Mistake(m.equal_choices_counted_twice, "counted", 2),
    Mistake(m.constants_forgotten, "counted", 2),
    Mistake(m.nothing_matches_all, "counted", 7),
    Mistake(m.zipf_forgotten, "counted", 8),
    Mistake(m.distinct_forgotten, "counted", 4),
    Mistake(m.pointers_are_whole, "counted", 3),
    Mistake(m.copies_written_for_free, "counted", 3),
    Mistake(m.sets_of_any_size, "counted", 7),
    Mistake(m.pointers_load_nothing, "counted", 4),
    Mistake(m.bytes_of_rows_not_written, "counted", 3),
    Mistake(m.growth_forgotten, "counted", 3),
    Mistake(m.months_are_years, "counted", 109),
    Mistake(m.buckets_of_other_hashes, "counted", 4),
    Mistake(m.doubles_lose_their_sign, "logs", 86),
    Mistake(m.shared_keys_untold, "counted", 54),
    Mistake(m.logged_ranges_are_open, "logs", 7),
    Mistake(d.density_not_measured, "evidence", 13),
    Mistake(d.windows_of_any_length, "evidence", 13),
    Mistake(d.any_total_believed, "evidence", 3),
    Mistake(d.any_log_believed, "evidence", 12),
    Mistake(d.strangers_asked_for, "evidence", 61),
    Mistake(d.every_difference_doubted, "evidence", 8),
    Mistake(d.windows_not_told_by_rate, "evidence", 8),
    Mistake(d.windows_of_half_the_rate, "evidence", 8),
    Mistake(d.every_value_is_new, "evidence", 8),
    Mistake(d.grounds_do_not_count, "evidence", 6),
    Mistake(d.the_largest_kind_is_the_account, "together", 1),
    Mistake(d.each_kind_breaks_alone, "together", 1),
    Mistake(d.broken_sets_weigh_nothing, "together", 2),
    Mistake(d.mixed_ids_are_kinds, "files", 44),
    Mistake(d.pairs_in_buckets_meet, "counted", 92),
    Mistake(d.one_entity_speaks_for_its_value, "counted", 8),
    Mistake(d.pairs_are_not_weighed, "counted", 19),
    Mistake(d.entities_meet_themselves, "counted", 21),
)

BY_HAND = (
    Mistake(m.the_engine_drops_lower_bounds, "carried-out", 0),
    Mistake(m.each_index_row_by_itself, "counted", 0),
    Mistake(m.the_newest_load_every_period, "counted", 0),
    Mistake(m.walks_end_early, "counted", 0),
    Mistake(m.ends_left_out_are_read, "counted", 0),
    Mistake(c.ranges_need_an_equality, "best", 0),
    Mistake(c.rules_serve_no_other_property, "best", 0),
    Mistake(c.callers_know_every_key, "counted", 0),
    Mistake(c.periods_only_close_a_key, "best", 0),
    Mistake(c.lists_pass_in_silence, "best", 0),
    Mistake(c.case_passes_in_silence, "best", 0),
    Mistake(c.texts_break_ties, "best", 0),
    Mistake(c.missing_values_sort_first, "counted", 0),
    Mistake(c.index_rows_repeat_the_main_key, "best", 0),
    Mistake(m.one_pattern_is_tried, "best", 0),
)
"""Mistakes that no drawn world is known to show: a test finds each in a world by hand, whose seed is 0."""


def shows(mistake: Mistake, seed: int) -> str:
    """The first law that a world breaks with a mistake planted and keeps without; empty where there is none. A mistake
    that ends in an exception shows nothing: what it changes has another signature by now."""
    world = draw_world(seed, rows_most=ROWS)
    forget_results()
    with mistake.planted():
        with_it = [b for b in judge(world, (mistake.law,)).broken if b.printed != AN_ERROR]
    forget_results()  # what the package said with the mistake
    if not with_it:
        return ""
    before = {str(b) for b in judge(world, (mistake.law,)).broken}
    return next((str(b) for b in with_it if str(b) not in before), "")


def look_for_all(worlds: int, first: int) -> int:
    """Look for each mistake from a seed on; the exit code tells whether all were found."""
    lost = 0
    for mistake in MISTAKES:
        began = time.monotonic()
        found = ""
        for seed in range(first, first + worlds):
            if found := shows(mistake, seed):
                print(f"{mistake.name}: world {seed - first + 1}, seed {seed}: {found[:200]}", flush=True)
                break
        if not found:
            lost += 1
            print(f"{mistake.name}: not found in {worlds} worlds, {time.monotonic() - began:.0f} s", flush=True)
    print(f"{len(MISTAKES) - lost} of {len(MISTAKES)} planted mistakes found")
    return 1 if lost else 0

"""Mistakes that the simulation must notice: each is planted in place of the right code, and a seed shows it.

    plant ──► simulate(seed) ──► a violation; without the mistake the same seed has none

``python -m tests.simulate --planted`` looks for each of them from scratch, and prints the seeds that show it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from tests.engine.stream import planted_stream_bugs as earlier
from tests.simulate import planted_in_partitions as partitions
from tests.simulate import planted_in_streams as streams
from tests.simulate import planted_in_tables as tables
from tests.simulate.run import Report, simulate
from tests.tiers import sizes

FIXED = (*range(72), 11864, 101665, 102045, 104135, 104156, 405319)
"""Seeds of which other tests say that they have no violation.

In 11864 a merge that nobody heard of was done twice. 101665: a slow disk got more replicas to make than it could.
102045: a replica that could not be read any more was never sealed. 104135: ranges were checked that were no longer
their server's. 104156: a run that takes no time, where the judge saw no order. 405319: a range went to another server
while a merge of it was begun, as mending had decided the one and waited when the other was.
"""
FIXED_SHORT = (*(0, 1, 2, 3, 5, 7, 8, 11, 13, 23, 28, 41), *FIXED[72:])
"""Those of the short form: the ones that show a planted mistake, and the ones that once had a violation."""
SPARE = range(8)
"""A seed may show a mistake no longer when the engine changes: then one of these does, for most mistakes."""

BROKEN = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError")
"""Errors of a plant itself, not of what it breaks."""

Plant = Callable[[pytest.MonkeyPatch], None]


@dataclass(frozen=True, slots=True)
class Bug:
    """A mistake: what it breaks, a seed that shows it, and within how many seeds it is found from anywhere."""

    plant: Plant
    breaks: str
    seed: int
    within: int
    dear: bool = False
    """Whether it is looked for in the long form only: most of these seeds end after two virtual minutes
    without progress, or take more than a second for another reason."""

    @property
    def name(self) -> str:
        """What is done wrong."""
        return self.plant.__name__

    @contextmanager
    def planted(self) -> Iterator[None]:
        """The engine with this mistake."""
        with pytest.MonkeyPatch.context() as patch:
            self.plant(patch)
            yield

    def run(self, seed: int) -> Report:
        """A seed with this mistake."""
        with self.planted():
            report = simulate(seed)
        # Code that has moved on leaves a plant that only trips over itself: any seed would "show" that.
        assert not report.violation.startswith(BROKEN), f"{self.name} is planted wrongly: {report.violation}"
        return report

    def shown_by(self) -> int | None:
        """The known seed, or where it shows the mistake no longer, one of the first; it has no violation without it."""
        for seed in (self.seed, *SPARE):
            if self.run(seed).violation and (seed in FIXED or not simulate(seed).violation):
                return seed
        return None


IN_STREAMS = (
    Bug(earlier.seal_at_the_greatest_length, "S3", 0, 40),
    Bug(earlier.acknowledge_after_two_replicas, "S2", 15, 100, dear=True),
    Bug(earlier.seal_without_freezing, "S4", 28, 200),
    Bug(earlier.keep_what_is_beyond_the_seal, "S3", 0, 40),
    Bug(earlier.acquire_without_a_seal, "P2", 0, 40),
    Bug(earlier.acknowledge_before_the_sync, "S1", 0, 40),
    Bug(earlier.delete_the_journal_before_the_flush, "S12", 1, 40, dear=True),
    Bug(earlier.forget_who_owns_the_stream, "P2", 0, 40),
    Bug(earlier.fill_a_gap_with_nothing, "S5", 15, 40, dear=True),
    Bug(streams.load_what_is_open, "P3", 0, 40),
    Bug(streams.skip_the_checksum, "S7", 18, 100, dear=True),
    Bug(streams.collect_extents_that_are_held, "S9", 8, 40, dear=True),
    Bug(streams.forget_the_journal, "S12", 0, 40, dear=True),
    Bug(streams.append_to_what_is_sealed, "S4", 0, 40),
    Bug(streams.change_streams_of_a_later_owner, "P2", 28, 400),
    Bug(streams.command_true_before_it_is_durable, "S3", 7, 40),
)
IN_PARTITIONS = (
    Bug(partitions.serve_after_the_lease, "P2", 2, 40),
    Bug(partitions.lapse_without_the_drift_of_clocks, "P2", 0, 40),
    Bug(partitions.lease_from_the_answer, "P2", 41, 400),
    Bug(partitions.take_records_twice, "P3", 0, 40, dear=True),
    Bug(partitions.answer_before_the_log_is_durable, "P3", 0, 40),
    Bug(partitions.drop_the_log_before_the_root, "P6", 18, 40, dear=True),
    Bug(partitions.deny_rows_in_the_filter, "P7", 13, 100),
    Bug(partitions.checkpoints_before_memory, "P7", 5, 40),
    Bug(partitions.forget_the_frozen_table, "P7", 3, 40, dear=True),
    Bug(partitions.show_the_foreign_half, "P4", 3, 40),
    Bug(partitions.range_without_its_first_place, "T7", 15, 400, dear=True),
    Bug(partitions.drop_tombstones_too_early, "T1", 55, 400, dear=True),
    Bug(partitions.checkpoint_without_tombstones, "P6", 3, 40, dear=True),
    Bug(partitions.forget_to_seal_at_the_split, "S4", 3, 40),
    Bug(partitions.split_among_writers, "P4", 8, 40),
    Bug(partitions.split_without_emptying_memory, "P4", 8, 40, dear=True),
    Bug(partitions.never_refresh_the_map, "P8", 2, 40, dear=True),
    Bug(partitions.no_latches, "T4", 0, 40),
)
IN_TABLES = (
    Bug(partitions.write_again_after_silence, "T9", 101665, 400),
    Bug(partitions.carry_out_a_message_twice, "T9", 23, 200),
    Bug(tables.token_as_an_offset, "T5", 0, 40, dear=True),
    Bug(tables.token_names_an_entity, "T5", 42, 200, dear=True),
    Bug(tables.end_at_an_empty_page, "T5", 0, 40),
    Bug(tables.end_where_the_range_ends, "T6", 0, 40),
    Bug(tables.page_of_two_moments, "T2", 11, 40),
    Bug(tables.same_etag_after_a_change, "T4", 0, 40),
    Bug(tables.ignore_if_match, "T4", 0, 40),
    Bug(tables.group_that_keeps_its_beginning, "T2", 1, 40),
    Bug(tables.group_in_pieces, "T2", 0, 40),
    Bug(tables.call_what_is_uncertain_undone, "T9", 0, 40),
    Bug(tables.merge_as_a_replacement, "T1", 0, 40),
    Bug(tables.timestamp_of_the_first_write, "T4", 0, 40),
    Bug(tables.group_without_conditions, "T4", 0, 100),
    Bug(tables.filter_of_keys_alone, "T1", 0, 40),
    Bug(tables.select_that_selects_nothing, "T1", 5, 40),
    Bug(tables.token_a_byte_too_far, "T5", 0, 40),
)
BUGS = (*IN_STREAMS, *IN_PARTITIONS, *IN_TABLES)


def tried(bugs: Iterable[Bug]) -> list[Bug]:
    """The mistakes that are planted in this tier."""
    return sizes([bug for bug in bugs if not bug.dear], bugs, "simulation")

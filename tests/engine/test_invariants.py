"""Which test holds which promise of the engine.

Each promise has tests that fail when it is broken. The table is literal: it can be searched, and this module checks
that every test in it is there and says in its name or docstring (or its module's) which promise it holds.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent

PROMISES: dict[str, str] = {
    "S1": "an acknowledged append is never lost, and reads the same from any replica",
    "S2": "whatever is acknowledged lies before the commit length of all three replicas, and before the seal",
    "S3": "the sealed length is decided once; replicas in sync have it and are the same bit for bit",
    "S4": "nothing is acknowledged after the seal; only the last extent of a stream is open, and of one stream only",
    "S5": "acknowledged in the order of offsets, without gaps; an append of several blocks is there whole or not",
    "S6": "primary and replicas of an open extent stay; they stand in distinct fault and upgrade domains",
    "S7": "a flipped bit is never returned: it is mended or reported",
    "S8": "at rest every extent has its copies; a copy too many goes when all others are whole only",
    "S9": "an extent that a stream holds is never collected, one that none holds is in the end",
    "S10": "a stream reads the same whichever replica serves it",
    "S11": "nothing is dispatched to a device that is behind; a read with a deadline is refused at once",
    "S12": "what is only in the journal is readable, and outlives a power cut",
    "P1": "at every instant the ranges tile the key space",
    "P2": "one server at most serves a range; what a deposed owner writes is never applied",
    "P3": "a load gives the state of all acknowledged changes, each applied once, in order",
    "P4": "split and merge keep every row and version; a crash leaves what was before or what comes after",
    "P5": "a partition is never divided",
    "P6": "checkpoint and log together are the memory; the log goes after the root is durable",
    "P7": "filters deny nothing that is there; what is cached is what is stored; the memory table wins",
    "P8": "a stale map costs a refresh, never a wrong answer",
    "P9": "between the watermarks at rest; a constant load does not make ranges split and merge for ever",
    "P10": "a range is without an owner for no longer than is stated",
    "P11": "traffic that runs away is not split",
    "T1": "operations on an entity are linearizable",
    "T2": "a group is atomic and isolated, and leaves no trace where it fails",
    "T3": "a page is the partition at one sequence number, after every write acknowledged before",
    "T4": "a stale tag changes nothing; of two updates with one tag one wins; every change gives a new tag",
    "T5": "pages go on in key order, each entity once; a token outlives what it names",
    "T6": "a page ends at 1,000 entities, 4 MiB, 5 s, and where the range ends",
    "T7": "keys are in ordinal order; empty ones are allowed",
    "T8": "an acknowledged change is visible to every later read from any front end",
    "T9": "a retry after a lost answer ends as one execution",
    "M1": "a token bucket admits what burst and rate allow, and refuses nothing while tokens suffice",
    "M3": "Little's law, utilisation, and conservation of requests",
    "M8": "the same seed gives the same run; the order of independent inputs changes nothing",
}

HELD_BY: dict[str, tuple[str, ...]] = {
    "S1": (
        "stream/test_stream_faults.py::test_nothing_acknowledged_is_lost_under_faults",
        "stream/test_stream_crash_points.py::test_a_power_cut_at_any_durable_write_loses_nothing_acknowledged",
        "stream_background/test_background_faults.py::test_nothing_is_lost_and_everything_comes_to_rest",
        "stamp/test_stamp_crash_points.py::test_a_power_cut_at_any_durable_write_of",
    ),
    "S2": (
        "stream/test_stream_promises.py::test_s2_all_three_replicas_hold_what_is_acknowledged",
        "stream/test_stream_damage.py::test_a_node_that_lost_acknowledged_bytes_does_not_shorten_a_seal",
        "stream/test_stream_planted.py::test_nothing_is_stored_once_a_length_was_told",
    ),
    "S3": (
        "stream/test_stream_promises.py::test_s3_a_seal_is_decided_once_however_often_it_is_asked_for",
        "stream/test_stream_planted.py::test_a_seal_at_the_least_length_outlives_the_longest_replica",
        "stream/test_stream_crash_points.py::test_a_crash_of_one_node_at_any_durable_write_is_lived_through",
    ),
    "S4": (
        "stream/test_stream_planted.py::test_nothing_is_stored_once_a_length_was_told",
        "stream/test_stream_crash_points.py::"
        "test_a_multi_modify_is_done_or_not_done_after_a_crash_at_any_durable_write",
    ),
    "S5": (
        "stream/test_stream_promises.py::test_s5_concurrent_appends_are_acknowledged_in_the_order_of_their_offsets",
        "stream/test_stream_crash_points.py::test_a_power_cut_at_any_durable_write_loses_nothing_acknowledged",
    ),
    "S6": (
        "stream/test_stream_placement.py::test_replicas_stand_in_distinct_fault_and_upgrade_domains_by_room",
        "stream/test_stream_faults.py::test_nothing_acknowledged_is_lost_under_faults",
        "stream_background/test_background_policy.py::test_s6_a_new_copy_stands_in_domains_of_its_own_if_it_can",
    ),
    "S7": (
        "stream/test_stream_damage.py::test_every_flipped_bit_of_a_block_is_found",
        "stream/test_stream_damage.py::test_a_damaged_block_is_read_from_another_replica",
        "stream_background/test_caretaker.py::test_s7_what_is_good_nowhere_is_reported_and_nothing_else_is_lost",
    ),
    "S8": (
        "stream/test_stream_damage.py::test_s8_a_copy_is_not_made_of_damaged_bytes",
        "stream_background/test_caretaker.py::test_s8_the_copies_of_a_lost_node_are_made_elsewhere",
        "stream_background/test_background_crash_points.py::"
        "test_a_power_cut_at_any_durable_write_of_repair_and_collecting_loses_nothing",
    ),
    "S9": (
        "stream_background/test_background_policy.py::"
        "test_s9_never_a_referenced_one_and_always_an_unreferenced_one_in_the_end",
        "stream_background/test_caretaker.py::test_s9_an_extent_goes_when_no_stream_holds_it_and_not_before",
        "stamp/test_stamp_crash_points.py::test_a_power_cut_at_any_durable_write_of",
    ),
    "S10": (
        "stream/test_stream_faults.py::test_nothing_acknowledged_is_lost_under_faults",
        "stream/test_stream_crash_points.py::test_a_power_cut_at_any_durable_write_loses_nothing_acknowledged",
    ),
    "S11": (
        "stream/test_stream_device.py::test_nothing_is_dispatched_behind_a_request_unserved_for_200_ms",
        "stream/test_stream_device.py::test_nothing_is_dispatched_behind_100_ms_of_expected_work",
        "stream/test_stream_promises.py::test_s11_no_device_is_given_anything_while_it_is_behind",
    ),
    "S12": (
        "stream/test_stream_placement.py::"
        "test_what_is_only_in_the_journal_is_read_from_memory_and_outlives_a_power_cut",
        "stream/test_stream_damage.py::test_a_power_cut_with_one_damaged_journal_loses_nothing_acknowledged",
        "stream/test_stream_promises.py::test_s12_what_is_only_in_the_journal_is_read_from_every_replica_before_and_after",
    ),
    "P1": (
        "stamp/test_stamp.py::test_a_crash_anywhere_in_a_split_or_merge_leaves_one_whole_map",
        "stamp/test_stamp_crash_points.py::test_a_power_cut_at_any_durable_write_of",
        "stamp/test_stamp_swarm.py::test_many_small_disasters",
    ),
    "P2": (
        "stamp/test_stamp.py::test_a_server_that_was_paused_beyond_its_lease_serves_nothing_when_it_wakes",
        "stamp/test_lock_service.py::test_the_holder_stops_before_anybody_else_can_hold_it_however_clocks_drift",
        "stamp/test_commands.py::test_a_server_that_serves_after_its_lease_is_found",
        "stamp/test_commands.py::test_what_a_lost_split_or_merge_made_is_given_up_before_another_server_has_it",
        "partition/test_crash_points.py::test_a_new_owner_at_any_step_of_a_zombie_is_never_disturbed",
    ),
    "P3": (
        "partition/test_range_partition.py::"
        "test_load_gives_all_acknowledged_writes_whatever_was_checkpointed_and_combined",
        "partition/test_commit_log.py::test_duplicates_by_sequence_are_applied_once",
        "partition/test_crash_points.py::test_a_crash_at_any_step_loses_nothing_that_was_acknowledged",
    ),
    "P4": (
        "partition/test_split_merge.py::test_many_splits_and_merges_keep_every_row_and_version",
        "partition/test_crash_points.py::test_a_crash_at_any_step_of_a_recovery_loses_nothing_either",
        "stamp/test_stamp_crash_points.py::test_a_power_cut_at_any_durable_write_of",
        "stamp/test_stamp_crash_points.py::test_a_crash_of_one_node_at_any_durable_write_of",
    ),
    "P5": (
        "partition/test_split_merge.py::test_a_range_is_never_divided_inside_a_partition_key",
        "partition/test_range_partition.py::test_the_halving_key_lies_at_the_start_of_a_partition_key",
        "table_service/test_row_keys.py::test_a_boundary_never_divides_a_partition_p5",
    ),
    "P6": (
        "partition/test_range_partition.py::test_a_checkpoint_lets_go_of_the_log_that_it_covers_and_only_of_that",
        "partition/test_crash_points.py::test_a_crash_at_any_step_loses_nothing_that_was_acknowledged",
        "lsm/test_lsm_tree_machine.py::TestTreeMachine",
    ),
    "P7": (
        "lsm/test_lsm_parts.py::test_a_filter_never_denies_a_key_that_is_there",
        "lsm/test_lsm_promises.py::test_p7_the_memory_table_wins_over_checkpoints_and_newer_ones_over_older",
        "lsm/test_lsm_promises.py::test_p7_a_cached_page_is_the_stored_page_and_the_index_leads_to_the_right_one",
        "lsm/test_lsm_tree_machine.py::TestTreeMachine",
    ),
    "P8": (
        "stamp/test_stamp.py::test_a_range_is_split_merged_and_moved_and_loses_nothing",
        "partition/test_range_partition.py::test_a_key_outside_of_the_range_is_never_served",
    ),
    "P9": (
        "stamp/test_balancer.py::test_constant_load_comes_to_rest_within_the_watermarks",
        "stamp/test_balancer.py::test_p9_a_load_that_wavers_around_a_threshold_turns_once_an_hour_at_most",
        "stamp/test_automatic.py::test_p9_a_constant_load_splits_and_then_rests",
        "stamp/test_automatic.py::test_a_stamp_at_rest_stays_at_rest",
    ),
    "P10": (
        "stamp/test_stamp.py::test_a_lost_server_s_ranges_are_served_by_the_others_within_a_bound",
        "stamp/test_automatic.py::test_p10_a_hand_over_takes_no_longer_than_the_options_say",
        "stamp/test_stamp_swarm.py::test_many_small_disasters",
    ),
    "P11": (
        "stamp/test_automatic.py::test_keys_that_grow_with_time_are_not_split_at_all",
        "stamp/test_automatic.py::test_p11_tails_beside_one_another_are_parted_and_none_is_split",
        "stamp/test_traffic.py::test_a_running_tail_is_never_halved",
    ),
    "T1": (
        "table_service/test_on_stamp.py::test_entities_are_linearizable_from_any_front_end_t1_t4_t8",
        "partition/test_concurrent_life.py::test_writers_of_one_key_take_turns_and_none_is_lost",
    ),
    "T2": (
        "table_service/test_on_stamp.py::test_no_page_shows_a_part_of_a_group_nor_misses_what_was_acknowledged_t2_t3",
        "table_service/test_rules.py::test_a_group_that_is_refused_names_the_write_and_leaves_no_trace_t2",
        "partition/test_range_partition.py::test_decide_sees_the_rows_as_they_are_and_a_refusal_leaves_no_trace",
    ),
    "T3": (
        "table_service/test_page_moments.py::test_t3_a_page_is_the_range_at_one_sequence_number",
        "partition/test_range_partition.py::"
        "test_a_cursor_sees_one_moment_whatever_is_written_checkpointed_and_combined_meanwhile",
        "table_service/test_pages.py::test_each_page_is_a_snapshot_of_its_own_t3",
    ),
    "T4": (
        "table_service/test_on_stamp.py::test_of_two_racing_updates_with_one_tag_exactly_one_wins_t4",
        "table_service/test_tables.py::test_an_entity_that_comes_again_within_a_tick_has_another_tag_t4",
    ),
    "T5": (
        "table_service/test_pages.py::test_what_is_inserted_before_the_token_is_missed_and_what_lies_behind_is_seen_t5",
        "table_service/test_pages.py::test_a_token_outlives_the_entity_and_the_range_that_it_names_t5",
        "table_service/test_on_stamp.py::test_a_store_on_a_stamp_pages_across_ranges_and_servers_t5",
    ),
    "T6": (
        "table_service/test_pages.py::test_a_page_holds_a_thousand_entities_t6",
        "table_service/test_pages.py::test_a_page_weighs_at_most_four_mebibytes_t6",
        "table_service/test_pages.py::test_a_page_ends_after_five_seconds_and_may_be_empty_t6",
        "table_service/test_page_moments.py::test_t6_slow_disks_end_a_page_before_five_seconds",
    ),
    "T7": (
        "table_service/test_row_keys.py::test_order_is_that_of_utf16_code_units_t7",
        "table_service/test_row_keys.py::test_digits_are_texts_and_empty_keys_come_first_t7",
    ),
    "T8": (
        "table_service/test_on_stamp.py::test_entities_are_linearizable_from_any_front_end_t1_t4_t8",
        "table_service/test_tables.py::test_a_front_end_that_is_not_alone_sees_at_once_what_another_one_deletes_t8",
    ),
    "T9": ("table_service/test_tables.py::test_a_retry_after_a_lost_answer_ends_as_one_execution_t9",),
    "M1": (
        "capacity/test_capacity_buckets.py::test_m1_no_window_admits_more_than_burst_and_rate",
        "capacity/test_capacity_buckets.py::"
        "test_m1_a_steady_stream_at_the_rate_is_never_turned_away_and_one_above_it_is",
    ),
    "M3": (
        "capacity/test_capacity.py::test_m3_little_utilisation_and_conservation",
        "capacity/test_capacity.py::test_m3_requests_in_flight_are_counted_until_they_end",
        "stamp/test_automatic.py::test_m3_the_load_that_a_server_reports_obeys_little_s_law",
    ),
    "M8": (
        "world/test_simulator.py::test_M8_the_same_seed_gives_the_same_hash_and_another_seed_another",
        "stamp/test_stamp.py::test_the_same_seed_gives_the_same_run",
        "stamp/test_same_run.py::test_m8_a_run_is_the_same_in_every_process",
        "stamp/test_same_run.py::test_m8_the_order_of_independent_inputs_changes_nothing",
    ),
}


@cache
def module(name: str) -> ast.Module:
    return ast.parse((HERE / name).read_text(encoding="utf-8"))


def named(text: str) -> set[str]:
    """The promises that a docstring speaks of."""
    return set(re.findall(r"\b([SPTM]\d{1,2})\b", text))


def spoken_of(test: str) -> set[str]:
    """The promises that a test says it holds; KeyError where there is no such test."""
    file, _, name = test.partition("::")
    tree = module(file)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            own = " ".join(
                (name.upper().replace("_", " "), ast.get_docstring(node) or "", ast.get_docstring(tree) or "")
            )
            return named(own)
        if isinstance(node, ast.Assign) and name in {t.id for t in node.targets if isinstance(t, ast.Name)}:
            return named(ast.get_docstring(tree) or "")
    raise KeyError(test)


def test_every_promise_is_held_by_something() -> None:
    assert list(PROMISES) == list(HELD_BY)
    assert all(HELD_BY.values())


@pytest.mark.parametrize("promise", PROMISES)
def test_the_tests_of_a_promise_are_there_and_name_it(promise: str) -> None:
    for test in HELD_BY[promise]:
        assert promise in spoken_of(test), f"{test} does not say that it holds {promise}"


def test_no_test_speaks_of_a_promise_that_nobody_made() -> None:
    """A slip of a number in a docstring would leave a promise without its test."""
    of_the_model = {"M2", "M4", "M5", "M6", "M7"}
    for path in sorted(HERE.rglob("test_*.py")):
        for node in ast.walk(module(str(path.relative_to(HERE)))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                told = named(ast.get_docstring(node) or "") - of_the_model
                assert told <= set(PROMISES), f"{path.name}::{node.name}: {told - set(PROMISES)}"

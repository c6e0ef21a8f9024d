"""The engine's thresholds, sizes and times as one value."""

from __future__ import annotations

from dataclasses import dataclass

MS = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What is configurable in the stream and partition layers; durations in ns, sizes in bytes."""

    # stream layer
    extent_bytes_target: int = 1 << 30
    block_bytes_max: int = 4 << 20
    read_deadline_ns: int = 100 * MS
    spindle_pending_ns_max: int = 100 * MS
    spindle_unserved_ns_max: int = 200 * MS
    extents_max: int = 50_000_000
    streams_max: int = 100_000
    journal_segment_bytes: int = 16 << 20
    journal_append_bytes_max: int = 512 << 10
    replicas: int = 3
    garbage_grace_ns: int = 10 * MINUTE
    poll_period_ns: int = 10 * SECOND
    scrub_period_ns: int = 3 * 24 * 60 * MINUTE
    node_lost_ns: int = 10 * MINUTE
    background_bytes: int = 256 << 20
    fragment_piece_bytes: int = 64 << 10
    erasure_code: str = ""
    erasure_suffixes: tuple[str, ...] = ("/blob",)
    erasure_after_ns: int = 10 * MINUTE

    # partition layer: one range
    memory_table_bytes: int = 64 << 20
    log_bytes: int = 256 << 20
    page_bytes: int = 32 << 10
    index_fan_out: int = 256
    bloom_bits_per_key: int = 10
    page_cache_bytes: int = 64 << 20
    combine_fan_in: int = 4
    group_commit_records: int = 256

    # partition layer: servers and their manager
    lease_ns: int = 12 * SECOND
    heartbeat_ns: int = 3 * SECOND
    clock_drift_ns_max: int = 500 * MS
    evaluate_ns: int = 15 * SECOND
    sustain_ns: int = 300 * SECOND
    move_ns: int = (
        10 * SECOND
    )  # a promise that tests hold the engine to (P10); counted, where capacity is, as the time away
    splits_per_pass: int = 4
    split_bytes: int = 10 << 30
    split_throttled_share: float = 0.01
    split_load_share: float = 0.8
    merge_load_share: float = 0.1
    merge_after_ns: int = 60 * MINUTE
    ranges_per_server_max: int = 10
    traffic_buckets: int = 64
    traffic_half_life_ns: int = 60 * SECOND
    traffic_sample_every: int = 8
    # What the policy takes for the capacity of a range and of a server. It counts requests, where a store's limits
    # count entities; and a balancer may be tuned where a limit may not. A test holds the defaults together.
    range_requests_per_s: int = 2_000
    server_requests_per_s: int = 10_000
    server_bytes_per_s: int = 125_000_000
    route_retry_ns: int = 50 * MS
    map_snapshot_changes: int = 64

    # capacity: what the service does with more than it can take
    range_rate_multiple: float = 2.0
    queue_wait_ns_max: int = 5 * SECOND
    elastic_wait_ns_max: int = 50 * MS
    operation_timeout_ns: int = 30 * SECOND
    rejection_ns: int = 2 * MS

    # the queue of work items
    visibility_timeout_ns: int = 30 * SECOND
    message_time_to_live_ns: int = 7 * 24 * 60 * MINUTE

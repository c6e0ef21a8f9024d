"""The engine's thresholds, sizes and times as one value."""

from __future__ import annotations

from pkadvisor.values import dataclass

MS = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What is configurable in the stream and partition layers; durations in ns, sizes in bytes.

    Durations are whole, so that simulated time never rounds. The comment before a number says who states it: published,
    derived from what is published, or assumed (nobody states it). Checked against its source on 2026-11-21.
    """

    # stream layer
    # Published: Windows Azure Storage (SOSP 2011), section 4: target size of an extent, 1 GB
    extent_bytes_target: int = 1 << 30
    # Published: Windows Azure Storage (SOSP 2011), section 4: up to N bytes, e.g. 4 MB
    block_bytes_max: int = 4 << 20
    # Assumed: as long as a disk may have requests pending (Windows Azure Storage (SOSP 2011), section 4.6)
    read_deadline_ns: int = 100 * MS
    # Published: Windows Azure Storage (SOSP 2011), section 4.6: no new I/O to a disk with more than 100 ms expected to
    # be pending
    spindle_pending_ns_max: int = 100 * MS
    # Published: Windows Azure Storage (SOSP 2011), section 4.6: or with a request that was not served for 200 ms
    spindle_unserved_ns_max: int = 200 * MS
    # Published: Windows Azure Storage (SOSP 2011), section 4.1: 50 million extents fit into the memory of a stream
    # manager
    extents_max: int = 50_000_000
    # Published: Windows Azure Storage (SOSP 2011), section 4.1: and 100,000 streams
    streams_max: int = 100_000
    # Assumed: size at which a node's journal goes on in a new file
    journal_segment_bytes: int = 16 << 20
    # Assumed: appends of this size and more go to the data device at once, not by way of the journal
    journal_append_bytes_max: int = 512 << 10
    # Published: Windows Azure Storage (SOSP 2011), section 4: three replicas of each extent
    replicas: int = 3
    # Assumed: longer than any append or read under way
    garbage_grace_ns: int = 10 * MINUTE
    # Assumed: how often the stream manager asks the extent nodes what they hold
    poll_period_ns: int = 10 * SECOND
    # Assumed: Windows Azure Storage (SOSP 2011), section 4.6 says once every few days
    scrub_period_ns: int = 3 * 24 * 60 * MINUTE
    # Assumed: silence after which a node's replicas are made anew elsewhere
    node_lost_ns: int = 10 * MINUTE
    # Assumed: what background work may move in one pass
    background_bytes: int = 256 << 20

    # partition layer: one range
    # Assumed: order of the write buffer of LevelDB's successors
    memory_table_bytes: int = 64 << 20
    # Assumed: four memory tables; 256 MB reload in seconds
    log_bytes: int = 256 << 20
    # Assumed: between the pages of LevelDB (4 KB) and HBase (64 KB)
    page_bytes: int = 32 << 10
    # Assumed: an index of two levels for a billion rows of a page's size
    index_fan_out: int = 256
    # Assumed: 10 bits give about 0.8 % false positives with 7 hashes
    bloom_bits_per_key: int = 10
    # Assumed: one and a half memory tables
    page_cache_bytes: int = 96 << 20
    # Assumed: order of size-tiered stores; 3 writes rows again more often
    combine_fan_in: int = 4
    # Assumed: how many log records share one append
    group_commit_records: int = 256

    # partition layer: servers and their manager
    # Assumed: Chubby (OSDI 2006), section 2.8: a master extends a lease by 12 s; the paper compares its lock service to
    # it
    lease_ns: int = 12 * SECOND
    # Assumed: a quarter of the lease
    heartbeat_ns: int = 3 * SECOND
    # Assumed: the bound on how far clocks drift apart during a lease
    clock_drift_ns_max: int = 500 * MS
    # Published: Windows Azure Storage (SOSP 2011), section 8: one pass of the partition manager, 15 s
    evaluate_ns: int = 15 * SECOND
    # Published: How to get most out of Windows Azure Tables (2010): 5 to 10 minutes before a partition moves; lower end
    sustain_ns: int = 300 * SECOND
    # Published: How to get most out of Windows Azure Tables (2010): 10 to 20 seconds per reassignment; lower end; a
    # promise that tests hold the engine to (P10)
    move_ns: int = 10 * SECOND
    # Assumed: Windows Azure Storage (SOSP 2011), section 8 says a small number
    splits_per_pass: int = 4
    # Assumed: order of HBase's default for a region
    split_bytes: int = 10 << 30
    # Assumed: one request in a hundred was throttled
    split_throttled_share: float = 0.01
    # Assumed: borrowed from the capacity rule of a storage stamp (SOSP 2011, section 3: avoid more than 80 %)
    split_load_share: float = 0.8
    # Assumed: far below the load that splits, so that neither undoes the other
    merge_load_share: float = 0.1
    # Assumed: how long two neighbours must have been idle together
    merge_after_ns: int = 60 * MINUTE
    # Published: Windows Azure Storage (SOSP 2011), section 5.5: the manager keeps about ten ranges per server
    ranges_per_server_max: int = 10
    # Assumed: pieces of equal traffic in which a server knows the load of a range
    traffic_buckets: int = 64
    # Assumed: how soon old traffic counts half
    traffic_half_life_ns: int = 60 * SECOND
    # Assumed: one request in so many is placed in the pieces of traffic
    traffic_sample_every: int = 8
    # What the policy takes for the capacity of a range and of a server. It counts requests, where a store's limits
    # count entities; and a balancer may be tuned where a limit may not. A test holds the defaults together.
    # Assumed: a range is taken to hold what a partition does: 2,000 entities per second
    range_requests_per_s: int = 2_000
    # Assumed: of the order of one Bigtable server (OSDI 2006, section 7)
    server_requests_per_s: int = 10_000
    # Assumed: one gigabit per second for each server of the paper's stamps
    server_bytes_per_s: int = 125_000_000
    # Assumed: a front end's wait before it asks for the map again
    route_retry_ns: int = 50 * MS
    # Assumed: changes of the map between two snapshots
    map_snapshot_changes: int = 64

    # capacity: what the service does with more than it can take
    # Derived: How to get most out of Windows Azure Tables (2010), figure 8: 1,037 single inserts/s fitted, at a target
    # of 500
    range_rate_multiple: float = 2.0
    # Assumed: as long as a query may be executed
    queue_wait_ns_max: int = 5 * SECOND
    # Assumed: a queue in which nobody would notice that he waits (inserts took 50 ms in 2010)
    elastic_wait_ns_max: int = 50 * MS
    # Assumed: the time that the service may take for a request, order of its clients' defaults
    operation_timeout_ns: int = 30 * SECOND
    # Assumed: a round trip and the front end, nothing else
    rejection_ns: int = 2 * MS

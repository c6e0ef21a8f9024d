"""One attempt after the other, on columns of whole numbers: what ``Capacity`` decides, in one loop.

The function is plain Python over lists and dicts, and the same text is what numba compiles over arrays; so there is one
arithmetic. Every value must stay below 2^63 in size (``fluid_state.State`` looks after that).
"""

from __future__ import annotations

from typing import Any

ACCEPTED, PARTITION, RANGE, BANDWIDTH, SERVER, ACCOUNT, QUEUE, TIMED_OUT, NOT_SENT = range(9)
"""What becomes of an attempt; ``NOT_SENT`` where an earlier stage of its request failed."""

# Where a family of buckets has its figures in ``figures``: rate, burst, and the time that surely fills it.
OF_PARTITION, OF_RANGE, OF_BANDWIDTH, OF_SERVER, OF_ACCOUNT = 0, 3, 6, 9, 12
ELASTIC, ELASTIC_WAIT, QUEUE_WAIT, TIME_OUT, REJECTION = 15, 16, 17, 18, 19


def sequential(
    at: Any, owner: Any, stage: Any, partition: Any, of_ranges: Any, weight: Any, weights: Any, width: int,
    server_of: Any, draws: Any, trips: Any, draws_each: int, figures: Any, partitions: Any, ranges: Any,
    bandwidths: Any, servers: Any, accounts: Any, range_free: Any, server_free: Any, failed: Any, code: Any,
    latency: Any,
) -> int:  # fmt: skip
    """Judges attempts in their order and leaves the state of buckets and queues as it is after the last one.

    All tables are flat. What attempt ``i`` costs begins at ``weights[width · weight[i]]`` (columns of ``fluid_table``);
    ``owner[i]`` is its request, of which ``failed`` holds the first stage with a failed attempt. Bucket ``b`` has its
    level at ``2b`` and its moment at ``2b + 1``. Returns how many attempts were sent.
    """
    partition_rate, partition_burst, partition_full = figures[0], figures[1], figures[2]
    range_rate, range_burst, range_full = figures[3], figures[4], figures[5]
    bandwidth_rate, bandwidth_burst, bandwidth_full = figures[6], figures[7], figures[8]
    server_rate, server_burst, server_full = figures[9], figures[10], figures[11]
    account_rate, account_burst, account_full = figures[12], figures[13], figures[14]
    elastic, elastic_wait, queue_wait = figures[15], figures[16], figures[17]
    time_out, rejection = figures[18], figures[19]
    of_account, account_at = accounts[0], accounts[1]
    sent = 0
    for i in range(len(at)):
        request, now = owner[i], at[i]
        if failed[request] < stage[i]:
            code[i], latency[i] = 8, 0
            continue
        draw = draws[sent]
        sent += 1
        p, r, w = partition[i], of_ranges[i], width * weight[i]
        s = server_of[r]
        cost, more, account_cost = weights[w] * 1_000_000_000, weights[w + 1] * 1_000_000_000, weights[w + 3]

        # every bucket comes to the moment
        of_range, gone = ranges[2 * r], now - ranges[2 * r + 1]
        if gone > 0:
            of_range = range_burst if gone > range_full else min(range_burst, of_range + range_rate * gone)
        of_bandwidth, gone = bandwidths[2 * r], now - bandwidths[2 * r + 1]
        if gone > 0:
            of_bandwidth += bandwidth_rate * min(gone, bandwidth_full)
            of_bandwidth = min(bandwidth_burst, of_bandwidth)
        of_server, gone = servers[2 * s], now - servers[2 * s + 1]
        if gone > 0:
            of_server = server_burst if gone > server_full else min(server_burst, of_server + server_rate * gone)
        gone = now - account_at
        if gone > 0:
            of_account = account_burst if gone > account_full else min(account_burst, of_account + account_rate * gone)
            account_at = now
        of_partition = partition_burst
        if p >= 0:
            of_partition, gone = partitions[2 * p], now - partitions[2 * p + 1]
            if gone > 0:
                of_partition += partition_rate * min(gone, partition_full)
                of_partition = min(partition_burst, of_partition)

        wait = max(0, server_free[s] - now, range_free[r] - now)
        wall = elastic == 0 or wait > elastic_wait
        bound = 0
        if wall and of_partition < min(cost, partition_burst):
            bound = 1
        elif wall and of_range < min(cost, range_burst):
            bound = 2
        elif of_bandwidth < 0:
            bound = 3
        elif of_server < min(cost, server_burst):
            bound = 4
        elif of_account < min(account_cost * 1_000_000_000, account_burst):
            bound = 5
        elif wait > queue_wait:
            bound = 6
        if bound != 0:
            code[i], latency[i] = bound, rejection
            failed[request] = min(failed[request], stage[i])
        else:
            if elastic == 0:
                of_range -= cost + more
                of_partition -= cost + more
            else:
                of_range = min(of_range, max(0, of_range - cost - more))
                of_partition = min(of_partition, max(0, of_partition - cost - more))
            of_bandwidth -= weights[w + 2] * 1_000_000_000
            of_server -= cost + more
            of_account -= (account_cost + weights[w + 4]) * 1_000_000_000
            on_server, on_range = weights[w + 5], weights[w + 6]
            departed = max(now, server_free[s]) + on_server
            server_free[s] = departed
            departed = max(departed, range_free[r]) + on_range
            range_free[r] = departed
            trip = trips[draws_each * weights[w + 7] + draw] * weights[w + 8] // 1000
            took = departed - now - on_server - on_range + trip + weights[w + 9]
            code[i], latency[i] = 0, took
            if took > time_out:
                code[i], latency[i] = 7, time_out
                failed[request] = min(failed[request], stage[i])
        ranges[2 * r], ranges[2 * r + 1] = of_range, now
        bandwidths[2 * r], bandwidths[2 * r + 1] = of_bandwidth, now
        servers[2 * s], servers[2 * s + 1] = of_server, now
        if p >= 0:
            partitions[2 * p], partitions[2 * p + 1] = of_partition, now
    accounts[0], accounts[1] = of_account, account_at
    return sent

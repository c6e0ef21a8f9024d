"""One attempt after the other, on columns of whole numbers: what ``Capacity`` decides, in one loop.

The function is plain Python over lists and dicts, and the same text is what numba compiles over arrays; so there is one
arithmetic. Every value must stay below 2^63 in size (:class:`~pkadvisor.stress.fluid_state.State` looks after that).
"""

from __future__ import annotations

from typing import Any

ACCEPTED, PARTITION, RANGE, BANDWIDTH, SERVER, ACCOUNT, QUEUE, TIMED_OUT, NOT_SENT = range(9)
"""What becomes of an attempt; ``NOT_SENT`` where an earlier stage of its request failed."""

# Where a family of buckets has its figures in ``figures``: rate, burst, and the time that surely fills it.
OF_PARTITION, OF_RANGE, OF_BANDWIDTH, OF_SERVER, OF_ACCOUNT = 0, 3, 6, 9, 12
ELASTIC, ELASTIC_WAIT, QUEUE_WAIT, TIME_OUT, REJECTION = 15, 16, 17, 18, 19
UNITS = 1_000_000_000


def sequential(
    at: Any, row: Any, owner: Any, rows: Any, range_of: Any, server_of: Any, draws: Any, trips: Any, figures: Any,
    partitions: Any, ranges: Any, bandwidths: Any, servers: Any, accounts: Any, range_free: Any, server_free: Any,
    failed: Any, code: Any, latency: Any,
) -> int:  # fmt: skip
    """Judges attempts in their order and leaves the state of buckets and queues as it is after the last one.

    ``rows[row[i]]`` is the step of attempt ``i`` (columns of ``fluid_table``); ``owner[i]`` its request, of which
    ``failed`` holds the first stage with a failed attempt. A bucket is a pair (level, moment). Returns how many
    attempts were sent.
    """
    partition_rate, partition_burst, partition_full = figures[0], figures[1], figures[2]
    range_rate, range_burst, range_full = figures[3], figures[4], figures[5]
    bandwidth_rate, bandwidth_burst, bandwidth_full = figures[6], figures[7], figures[8]
    server_rate, server_burst, server_full = figures[9], figures[10], figures[11]
    account_rate, account_burst, account_full = figures[12], figures[13], figures[14]
    elastic, elastic_wait, queue_wait, time_out, rejection = (
        figures[15], figures[16], figures[17], figures[18], figures[19],
    )  # fmt: skip
    account = accounts[0]
    sent = 0
    for i in range(len(at)):
        step, request, now = rows[row[i]], owner[i], at[i]
        if failed[request] < step[0]:
            code[i], latency[i] = 8, 0
            continue
        draw = draws[sent]
        sent += 1
        p, r = step[1], range_of[step[2]]
        s = server_of[r]
        of_range, of_bandwidth, of_server = ranges[r], bandwidths[r], servers[s]

        gone = now - of_range[1]
        if gone > 0:
            of_range[0] = range_burst if gone > range_full else min(range_burst, of_range[0] + range_rate * gone)
            of_range[1] = now
        gone = now - of_bandwidth[1]
        if gone > 0:
            of_bandwidth[0] = (
                bandwidth_burst
                if gone > bandwidth_full
                else min(bandwidth_burst, of_bandwidth[0] + bandwidth_rate * gone)
            )
            of_bandwidth[1] = now
        gone = now - of_server[1]
        if gone > 0:
            of_server[0] = server_burst if gone > server_full else min(server_burst, of_server[0] + server_rate * gone)
            of_server[1] = now
        gone = now - account[1]
        if gone > 0:
            account[0] = account_burst if gone > account_full else min(account_burst, account[0] + account_rate * gone)
            account[1] = now

        wait = max(0, server_free[s] - now, range_free[r] - now)
        wall = elastic == 0 or wait > elastic_wait
        cost = step[3] * UNITS
        bound = 0
        if p >= 0:
            of_partition = partitions[p]
            gone = now - of_partition[1]
            if gone > 0:
                of_partition[0] = (
                    partition_burst
                    if gone > partition_full
                    else min(partition_burst, of_partition[0] + partition_rate * gone)
                )
                of_partition[1] = now
            if wall and of_partition[0] < min(cost, partition_burst):
                bound = 1
        if bound == 0:
            if wall and of_range[0] < min(cost, range_burst):
                bound = 2
            elif of_bandwidth[0] < 0:
                bound = 3
            elif of_server[0] < min(cost, server_burst):
                bound = 4
            elif account[0] < min(step[6] * UNITS, account_burst):
                bound = 5
            elif wait > queue_wait:
                bound = 6
        if bound != 0:
            code[i], latency[i] = bound, rejection
            failed[request] = min(failed[request], step[0])
            continue

        more = step[4] * UNITS
        if elastic == 0:
            of_range[0] -= cost + more
            if p >= 0:
                partitions[p][0] -= cost + more
        else:
            of_range[0] = min(of_range[0], max(0, of_range[0] - cost - more))
            if p >= 0:
                partitions[p][0] = min(partitions[p][0], max(0, partitions[p][0] - cost - more))
        of_bandwidth[0] -= step[5] * UNITS
        of_server[0] -= cost + more
        account[0] -= (step[6] + step[7]) * UNITS
        departed = max(now, server_free[s]) + step[8]
        server_free[s] = departed
        departed = max(departed, range_free[r]) + step[9]
        range_free[r] = departed
        took = departed - now - step[8] - step[9] + trips[step[10]][draw] * step[11] // 1000 + step[12]
        if took > time_out:
            code[i], latency[i] = 7, time_out
            failed[request] = min(failed[request], step[0])
        else:
            code[i], latency[i] = 0, took
    return sent

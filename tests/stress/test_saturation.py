"""What one partition bears: the measurements of 2010, threads in a closed loop, hash buckets, and append-only keys.

*How to get most out of Windows Azure Tables* (2010) loaded one partition of the service of that year with threads on
virtual machines, 15 on each. A row is *calibration* where a number of the model was read off it, *check* where none was.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from pkadvisor.design.buckets import BucketDemand, bucket_count
from pkadvisor.design.queueing import closed_loop
from pkadvisor.engine.capacity.capacity import Capacity, Enforcement
from pkadvisor.limits import Limits
from pkadvisor.stress.clients import THREADS_PER_VM, Clients, run_clients
from pkadvisor.stress.loop import run_loop
from pkadvisor.stress.run_result import RunResult
from tests.stress.small import (
    MS,
    NEVER_AGAIN,
    SECOND,
    Listed,
    Waits,
    fixed,
    limits,
    one_class,
    options,
    script,
    space,
    write,
)

print(closed_loop, BucketDemand, bucket_count, Enforcement, NEVER_AGAIN, np, THREADS_PER_VM, options, Limits, cache, Listed)
def probe(threads, group, lim, opts, seconds, enforcement=Enforcement.STRICT, wait=3*SECOND):
    capacity = Capacity(lim, opts, enforcement)
    found = run_clients(Clients(threads, vms=-(-threads//15)), itertools.repeat((0,0)), one_class(space(1), [script([write(0, group)])]), capacity, fixed(0,1), Waits((wait,)*1000), duration_ns=seconds*SECOND)
    c = found.classes["c"]
    warm = len(found.accepted)//5
    acc, thr = found.accepted[warm:seconds].sum(), found.throttled[warm:seconds].sum()
    print(threads, group, "rate", acc*group/(seconds-warm), "rejected", thr/(thr+acc), "mean latency ms", c.latency_ns_sum/max(1,c.served)/1e6)
def test_probe():
    # batches: p50 of a single so that a group of 100 takes 0.87 s unhindered
    for t in (20, 30, 50):
        for burst in (1.0,):
            single_ms = 870/33.33*0.93
            lim = limits(write_latency_ms_p50=round(single_ms,2), write_latency_ms_p99=round(single_ms*2.2,2), partition_entities_per_s=2400, range_entities_per_s=2400)
            probe(t, 100, lim, options(), 300)
    for t in (15, 30, 75, 150):
        lim = limits(write_latency_ms_p50=47.0, write_latency_ms_p99=60, partition_entities_per_s=2400, range_entities_per_s=2400)
        probe(t, 1, lim, options(range_rate_multiple=1037/2400), 30)

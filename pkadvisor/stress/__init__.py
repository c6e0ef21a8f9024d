"""Peak load on a design before it is deployed: the load, the clients, two ways to run it, and what came of it.

    workload ──► load ─────────► requests: when, of which class, with whose parameters
    scheme ────► programs ─────► what a client sends for one of them, step by step          (operations)
                    │ recorded once
                    ▼
                 scripts ──────► the same as numbers: kind, partition, entities, bytes      (steps)

    requests + programs + rows ──► driver ──► a TableStore: the embedded engine, a real endpoint   ──► run
    requests + scripts ─────────► fluid ───► the same arithmetic, without rows: hours in seconds   ──► run

**The course of a request**, the same in every way to run it:

1. Request ``r`` (they are numbered from 0 in the order of arrival) of class ``c`` with parameters ``i`` arrives. Its
   script is a tuple of *stages*, each a tuple of *steps*; a step is one HTTP request to the store.
2. The steps of a stage are sent at once. The next stage is sent when all of them were accepted: at the latest of
   (moment at which the step was accepted + its *nominal* time). The nominal time is what the step takes unhindered in
   the median, so that no queue feeds back on arrivals; what a client really waits is in the latencies.
3. An *attempt* is a step at a moment. ``Capacity`` accepts it (200), turns it away (503), or carries it out too late
   (500). What the retry policy does not send again is lost, and with it the rest of its request.
4. Attempts are judged in the order of (moment, request, stage, step, try), which is the order of the store's tickets.

A request is *served* when its last stage was; its latency is the sum over its stages of the longest
(last answer of a step − moment at which the stage was sent). Closed-loop clients send their next request after the
answer and their think time, and the next stage after the answers in truth.

*Read-modify-writes*: a write under If-Match is answered 412 where its entity was changed since it was read, and its
request begins anew, ``UPDATES_MAX`` times at the most. A commit is there for readers when it is answered. Their stages
follow in nominal time in every way to run them, or the quickest of many readers would always commit.
"""

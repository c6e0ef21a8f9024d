"""YCSB, core workloads A to F: records of 1 KB under one key.

Source: B. F. Cooper et al., Benchmarking Cloud Serving Systems with YCSB, SoCC 2010, table 2; the files
``workloads/workloada`` to ``workloadf`` of github.com/brianfrankcooper/YCSB (recordcount 1,000, the default; ten
fields of 100 bytes; exponent 0.99 of the Zipfian distribution); ``CoreWorkload``: keys are ``user`` and the hash of
the record's number, so that records do not arrive in the order of their keys.

Workload E draws the length of a scan evenly from 1 to 100 (``maxscanlength``); the mean, 50, stands for it. Workload
D reads what was inserted last; it needs a time of insertion, which YCSB's records do not have. Rates are assumed:
1,000 operations a second, of E 40.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import Keys, Row, Table, Workload, arrivals, text

RECORDS = 600
POINT = Keys("{ycsb_key}", "", "Records are read and written one by one, and the key is hashed: each has a partition.")
SCAN = Keys(
    "{ycsb_key}",
    "",
    "A scan begins at any key and goes on over whatever follows, so it is a range of partitions however the key is "
    "divided; with a partition for each record the service may split anywhere.",
)
READ = "{name: read, filter: \"ycsb_key eq '{ycsb_key}'\", rate: RATE/s, draw: {zipf: 0.99, of: [ycsb_key]}}"
UPDATE = (
    "{name: update, operation: update, key: [ycsb_key], sets: [field0], rate: RATE/s, "
    "draw: {zipf: 0.99, of: [ycsb_key]}}"
)


def fnv(number: int) -> int:
    """FNV-1a over the 8 bytes of a number, as ``Utils.fnvhash64`` has it."""
    value = 0xCBF29CE484222325
    for byte in number.to_bytes(8, "little"):
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def records(random: Random, count: int) -> list[Row]:
    times = arrivals(random, count, 0.05)
    return [
        {"ycsb_key": f"user{fnv(n)}", "inserted": at, **{f"field{i}": text(random, 100) for i in range(10)}}
        for n, at in enumerate(times)
    ]


def table(letter: str, queries: list[str], writes: list[str], expert: Keys = POINT) -> Table:
    declared = "arrival: inserted\n"
    declared += "".join(
        f"{name}: [{', '.join(each)}]\n" for name, each in (("queries", queries), ("writes", writes)) if each
    )
    return Table(f"Usertable{letter}", declared, records, RECORDS, expert, identity=("ycsb_key",))


def at(entry: str, rate: float) -> str:
    return entry.replace("RATE", f"{rate:g}")


WORKLOAD = Workload(
    name="ycsb",
    source="Cooper et al., Benchmarking Cloud Serving Systems with YCSB, SoCC 2010; YCSB core workloads A to F",
    tables=(
        table("A", [at(READ, 500)], [at(UPDATE, 500)]),
        table("B", [at(READ, 950)], [at(UPDATE, 50)]),
        table("C", [at(READ, 1000)], []),
        table(
            "D",
            ["{name: read, filter: \"ycsb_key eq '{ycsb_key}'\", rate: 950/s, draw: {newest: 0.9, window: 30 min}}"],
            ["{name: insert, operation: insert, rate: 50/s}"],
        ),
        table(
            "E",
            [
                "{name: scan, filter: \"ycsb_key ge '{ycsb_key}'\", order_by: [ycsb_key], top: 50, rate: 38/s, "
                "draw: {zipf: 0.99, of: [ycsb_key]}}"
            ],
            ["{name: insert, operation: insert, rate: 2/s}"],
            SCAN,
        ),
        table("F", [at(READ, 500)], [at(UPDATE, 500).replace("rate:", "read_modify_write: true, rate:")]),
    ),
)

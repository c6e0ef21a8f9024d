"""Folders as a stranger has them: an export of a table, its storage log, both, or neither of the keys.

Each folder is made from a fixed seed and comes with its right keys, written down before any of it was analysed. A right
key is a pattern over the printed templates ``PARTITIONKEY | ROWKEY`` of the advice; ``question`` is what the answer has
to ask for where the files do not tell enough.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

from tests.strangers.stranger import ROWS, TICKS_MAX, Log, Stranger, begins, table_csv, ticks
from tests.worlds.law.log_lines import BEGIN


def telemetry_by_date() -> Stranger:
    """Every insert of a day lands in one partition, and each reader asks for one device."""
    random, log = Random(1), Log(1, 2.0)
    rows, keys = [], []
    for n in range(ROWS):
        at = BEGIN - timedelta(days=n % 3, seconds=random.random() * 30_000)
        device = f"dev{random.randrange(60):03}"
        pk, rk = at.strftime("%Y%m%d"), f"{device}_{at.strftime('%Y%m%d%H%M%S')}"
        if (pk, rk) not in keys:
            keys.append((pk, rk))
            rows.append({"PartitionKey": pk, "RowKey": rk, "temperature": round(random.gauss(20, 4), 2)})
    for n in range(4_400):
        at = BEGIN + timedelta(seconds=n)
        log.point(at.strftime("%Y%m%d"), f"dev{random.randrange(60):03}_{at.strftime('%Y%m%d%H%M%S')}", "insert")
    for _ in range(200):
        pk, rk = random.choice(keys)
        log.query(f"PartitionKey eq '{pk}' and {begins(rk[:7])}")
    return Stranger(
        "telemetry by date",
        {"export.csv": table_csv(rows), "logs/2026/03/02/1000/000000.log": log.text("Readings")},
        ("export.csv",),
        ("logs/**/*.log",),
        (r"^(dev)?\{.*r1.*\}.* \| .*p1",),
        ("{time(p1,'yyyyMMdd')} | dev{pad(r1,3)}_{time(p1,'yyyyMMddHHmmss')}",),
    )


def telemetry_by_reverse_ticks() -> Stranger:
    """The log-tail pattern, well chosen: the newest readings of a device."""
    random, log = Random(2), Log(2)
    rows, devices = [], [f"dev{n:03}" for n in range(80)]
    for _ in range(ROWS):
        at = BEGIN - timedelta(seconds=random.random() * 300_000)
        pk, rk = random.choice(devices), f"{TICKS_MAX - ticks(at):019}"
        rows.append({"PartitionKey": pk, "RowKey": rk, "value": round(random.random(), 4)})
    for n in range(1_200):
        log.point(random.choice(devices), f"{TICKS_MAX - ticks(BEGIN + timedelta(seconds=n / 20)):019}", "insert")
    for _ in range(600):
        log.query(f"PartitionKey eq '{random.choice(devices)}' and RowKey lt '{TICKS_MAX - ticks(BEGIN):019}'")
    return Stranger(
        "telemetry by reverse ticks",
        {"export.csv": table_csv(rows), "requests.log": log.text("Telemetry")},
        ("export.csv",),
        ("requests.log",),
        (r"^dev\{pad\(p1,3\)\} \| \{reverse_ticks\(r1\)\}$",),
        ("dev{pad(p1,3)} | {reverse_ticks(r1)}",),
    )


def keys_and_payload() -> Stranger:
    """One partition for all customers; every request names the customer, which stands in the RowKey."""
    random, log = Random(3), Log(3, 2.0)
    rows, keys = [], []
    for n in range(ROWS):
        key = f"C{random.randrange(150):04}|{n:07}"
        keys.append(key)
        rows.append({"PartitionKey": "orders", "RowKey": key, "payload": "x" * random.randrange(50, 300)})
    for _ in range(4_200):
        log.point("orders", random.choice(keys))
    for _ in range(400):
        log.query(f"PartitionKey eq 'orders' and {begins(random.choice(keys)[:6])}")
    return Stranger(
        "keys and payload",
        {"orders.csv": table_csv(rows), "orders.log": log.text("Orders", "azure monitor")},
        ("orders.csv",),
        ("orders.log",),
        (r"^(C)?\{.*r1.*\} \| .*r2",),
        ("orders | C{pad(r1,4)}|{pad(r2,7)}",),
    )


def log_alone() -> Stranger:
    """Nothing but the log of the same table."""
    whole = keys_and_payload()
    return Stranger(
        "a log alone", {"orders.log": whole.files["orders.log"]}, (), ("orders.log",), whole.right, whole.current
    )


def data_alone() -> Stranger:
    """Data, and nobody says what is asked of it."""
    random = Random(5)
    rows = [
        {"id": n, "city": random.choice(["Oslo", "Rome", "Bonn"]), "visits": random.randrange(100), "note": "a/b" * 3}
        for n in range(400)
    ]
    return Stranger(
        "data alone", {"visits.csv": table_csv(rows)}, ("visits.csv",), question="say what is asked of the table"
    )


def tenants() -> Stranger:
    """Users and orders of a tenant in one partition, told apart by the beginning of the RowKey."""
    random, log = Random(6), Log(6)
    rows: list[dict[str, object]] = []
    users, orders = [], []
    for n in range(ROWS):
        tenant = f"t{random.randrange(40):02}"
        if n % 3:
            orders.append((tenant, f"ORDER:{n:07}"))
            rows.append({"PartitionKey": tenant, "RowKey": orders[-1][1], "total": random.randrange(900), "mail": ""})
        else:
            users.append((tenant, f"USER:u{n}"))
            rows.append({"PartitionKey": tenant, "RowKey": users[-1][1], "total": "", "mail": f"u{n}@example.org"})
    for _ in range(900):
        log.point(*random.choice(orders))
        log.point(*random.choice(users))
    for _ in range(300):
        log.query(f"PartitionKey eq '{random.choice(orders)[0]}' and {begins('ORDER:')}")
    return Stranger(
        "tenants with two kinds of rows",
        {"shop.csv": table_csv(rows), "shop.log": log.text("Shop")},
        ("shop.csv",),
        ("shop.log",),
        (r"^t\{pad\(p1,2\)\} \| ORDER:.*r1", r"^t\{pad\(p1,2\)\} \| USER:u.*r1"),
        ("t{pad(p1,2)} | ORDER:{pad(r1,7)}", "t{pad(p1,2)} | USER:u{r1}"),
    )


def moves_in() -> Stranger:
    """Documents from another store: properties and filters over them, no keys yet."""
    random = Random(7)
    owners = [f"owner-{n}" for n in range(90)]
    rows = [
        {"docId": f"d{n:05}", "ownerId": random.choice(owners), "title": f"Title {n}", "bytes": random.randrange(9000)}
        for n in range(ROWS)
    ]
    lines = []
    for n in range(1_500):
        row = random.choice(rows)
        text = f"ownerId eq '{row['ownerId']}'" + ("" if n % 3 else f" and docId eq '{row['docId']}'")
        lines.append({"table": "Documents", "at": 1_790_000_000 + n / 30, "filter": text})
    return Stranger(
        "a document store that moves in",
        {"documents.csv": table_csv(rows), "requests.jsonl": "".join(json.dumps(line) + "\n" for line in lines)},
        ("documents.csv",),
        ("requests.jsonl",),
        (r"^\{ownerId\} \| \{docId\}$",),
    )


def queue() -> Stranger:
    """Messages in order of arrival: added at the end, taken from the front, few per second."""
    random, log = Random(8), Log(8, 120.0)
    rows, keys = [], []
    for n in range(600):
        key = f"{ticks(BEGIN - timedelta(seconds=3600 - 6 * n)):019}"
        keys.append(key)
        rows.append({"PartitionKey": f"queue{n % 4}", "RowKey": key, "body": "b" * random.randrange(20, 90)})
    for n in range(400):
        log.point(f"queue{n % 4}", f"{ticks(BEGIN + timedelta(seconds=n / 4)):019}", "insert")
        log.point(f"queue{n % 4}", keys[n], "delete")
        log.query(f"PartitionKey eq 'queue{n % 4}' and RowKey lt '{keys[n]}'")
    return Stranger(
        "a queue",
        {"queue.csv": table_csv(rows), "queue.log": log.text("Work")},
        ("queue.csv",),
        ("queue.log",),
        (r"^(queue)?\{p1\} \| \{ticks\(r1\)\}$",),
        ("queue{p1} | {ticks(r1)}",),
    )


def counter() -> Stranger:
    """Counters, all in one partition."""
    random, log = Random(9), Log(9, 1.0)
    rows = [{"PartitionKey": "counters", "RowKey": f"page-{n}", "hits": random.randrange(10**6)} for n in range(300)]
    for _ in range(2_600):
        key = str(random.choice(rows)["RowKey"])
        log.point("counters", key)
        log.point("counters", key, "update")
    return Stranger(
        "a counter",
        {"counters.csv": table_csv(rows), "counters.log": log.text("Counters")},
        ("counters.csv",),
        ("counters.log",),
        (r"^(page-)?\{.*r1.*\} \|",),
        ("counters | page-{r1}",),
    )


def audit() -> Stranger:
    """An audit log by tenant and month, read by spans of time."""
    random, log = Random(10), Log(10)
    rows, keys = [], []
    for n in range(ROWS):
        at = BEGIN - timedelta(seconds=random.random() * 5_000_000)
        pk = f"acme{random.randrange(30):02}_{at.strftime('%Y-%m')}"
        keys.append((pk, f"{ticks(at):019}_{n:05}"))
        rows.append({"PartitionKey": pk, "RowKey": keys[-1][1], "action": random.choice(["read", "write", "login"])})
    for n in range(900):
        at = BEGIN + timedelta(seconds=n / 15)
        log.point(f"acme{n % 30:02}_{at.strftime('%Y-%m')}", f"{ticks(at):019}_{ROWS + n:05}", "insert")
    for _ in range(300):
        pk, rk = random.choice(keys)
        log.query(f"PartitionKey eq '{pk}' and RowKey ge '{rk[:19]}' and RowKey lt '{int(rk[:19]) + 10**12:019}'")
    return Stranger(
        "an audit log",
        {"audit.csv": table_csv(rows), "audit.log": log.text("Audit")},
        ("audit.csv",),
        ("audit.log",),
        (r"^acme\{.*p1.*\}.* \| .*ticks\(p2\)",),
        ("acme{pad(p1,2)}_{time(p2,'yyyy-MM')} | {ticks(p2)}_{pad(r1,5)}",),
    )


def hashed() -> Stranger:
    """Partitions are buckets of a hash of the device, which is a column as well."""
    from pkadvisor.design.keys.transforms import bucket

    random, log = Random(11), Log(11)
    rows, keys = [], []
    for n in range(ROWS):
        device = f"sensor-{random.randrange(200)}"
        pk = f"{bucket(device, 16):02}"
        keys.append((pk, f"{device}_{n:06}"))
        rows.append({"PartitionKey": pk, "RowKey": keys[-1][1], "device": device, "v": random.randrange(99)})
    for _ in range(900):
        log.point(*random.choice(keys))
    for _ in range(300):
        pk, rk = random.choice(keys)
        head = rk.split("_")[0]
        log.query(f"PartitionKey eq '{pk}' and RowKey ge '{head}_' and RowKey lt '{head}`'")
    return Stranger(
        "hashed keys",
        {"sensors.csv": table_csv(rows), "sensors.log": log.text("Sensors")},
        ("sensors.csv",),
        ("sensors.log",),
        (r"^(\{hash\(device,16\)\} \| \{device\}_|\{device\} \| )",),
        ("{hash(device,16)} | {device}_{pad(r1,6)}",),
    )


def guids() -> Stranger:
    """Items of users, both by GUID; a CSV of Storage Explorer with its types."""
    random, log = Random(12), Log(12)
    users = [str(UUID(int=random.getrandbits(128), version=4)) for _ in range(120)]
    keys = [(random.choice(users), str(UUID(int=random.getrandbits(128), version=4))) for _ in range(ROWS)]
    rows = [
        {"PartitionKey": pk, "RowKey": rk, "name": f"item {n}", "name@type": "Edm.String"}
        for n, (pk, rk) in enumerate(keys)
    ]
    for _ in range(1_200):
        log.point(*random.choice(keys))
    for _ in range(300):
        log.query(f"PartitionKey eq '{random.choice(users)}'")
    return Stranger(
        "GUID keys",
        {"items.csv": table_csv(rows), "items.log": log.text("Items")},
        ("items.csv",),
        ("items.log",),
        (r"^\{p1\} \| \{r1\}$",),
        ("{p1} | {r1}",),
    )


def by_month() -> Stranger:
    """One table for each month; the files are called like the tables."""
    random = Random(13)
    files: dict[str, str] = {}
    for month in (1, 2):
        log, rows = Log(13 + month), []
        for _ in range(ROWS // 2):
            at = datetime(2026, month, 1, tzinfo=UTC) + timedelta(seconds=random.random() * 2_000_000)
            rows.append({"PartitionKey": f"m{random.randrange(50):02}", "RowKey": f"{ticks(at):019}", "kwh": 0.5})
        for _ in range(500):
            row = random.choice(rows)
            log.point(str(row["PartitionKey"]), str(row["RowKey"]))
            log.query(f"PartitionKey eq '{row['PartitionKey']}' and RowKey ge '{row['RowKey']}'")
        files[f"Meters2026{month:02}.csv"] = table_csv(rows)
        files[f"{month}.log"] = log.text(f"Meters2026{month:02}")
    return Stranger(
        "a table split by month",
        files,
        tuple(sorted(name for name in files if name.endswith("csv"))),
        tuple(sorted(name for name in files if name.endswith("log"))),
        (r"^m?\{(pad\()?p1.* \| \{ticks\(r1\)\}$",) * 2,
        ("m{pad(p1,2)} | {ticks(r1)}",) * 2,
    )


def escapes() -> Stranger:
    """Paths in keys, written with escapes."""
    random, log = Random(14), Log(14)
    rows, keys = [], []
    for n in range(ROWS):
        site = f"site{random.randrange(40)}"
        path = f"docs~002F{random.choice(['a', 'b', 'c'])}~002Fpage~0023{n}"
        keys.append((site, path))
        rows.append({"PartitionKey": site, "RowKey": path, "size": random.randrange(5000)})
    for _ in range(1_000):
        log.point(*random.choice(keys))
    for _ in range(200):
        log.query(f"PartitionKey eq '{random.choice(keys)[0]}'")
    return Stranger(
        "keys with escapes",
        {"pages.csv": table_csv(rows), "pages.log": log.text("Pages")},
        ("pages.csv",),
        ("pages.log",),
        (r"^(site)?\{p1\} \| .*\{r1\}$",),
        ("site{p1} | {r1}",),
    )


def contradictory() -> Stranger:
    """The log is of a table whose keys are made otherwise than those of the export."""
    other = telemetry_by_reverse_ticks()
    return Stranger(
        "contradictory evidence",
        {"export.csv": keys_and_payload().files["orders.csv"], "requests.log": other.files["requests.log"]},
        ("export.csv",),
        ("requests.log",),
        question="another table",
    )


def bookings_by_day() -> Stranger:
    """Bookings of an organisation by day and id, with the time of the service beside that of the booking; a host's
    bookings are found by scanning the organisation's."""
    random, log = Random(13), Log(13, 60.0)
    rows, keys = [], []
    hosts = [f"host{n}" for n in range(12)]
    for n in range(ROWS):
        at = BEGIN - timedelta(days=20) + timedelta(seconds=n * 1_100)
        pk, rk = f"org-{int(30 * random.random() ** 3):03}", f"{at:%Y%m%d}_{UUID(int=random.getrandbits(128))}"
        keys.append((pk, rk))
        moment = f"{at:%Y-%m-%dT%H:%M:%S}Z"
        times = {"Timestamp": f"{at + timedelta(seconds=1):%Y-%m-%dT%H:%M:%S}Z", "startedAt": moment}
        rows.append({"PartitionKey": pk, "RowKey": rk, **times, "host": random.choice(hosts)})
    for _ in range(600):
        log.point(*random.choice(keys))
    for _ in range(400):
        pk, rk = random.choice(keys)
        log.query(f"PartitionKey eq '{pk}' and host eq '{random.choice(hosts)}'")
        log.query(f"PartitionKey eq '{pk}' and {begins(rk[:9])}")
    current = "org-{pad(p1,3)} | {time(startedAt,'yyyyMMdd')}_{r1}"
    return Stranger(
        "bookings by day",
        {"bookings.csv": table_csv(rows), "bookings.log": log.text("Bookings", "azure monitor")},
        ("bookings.csv",),
        ("bookings.log",),
        ("^" + re.escape(current) + "$",),
        (current,),
    )


STRANGERS: tuple[Callable[[], Stranger], ...] = (
    telemetry_by_date,
    telemetry_by_reverse_ticks,
    keys_and_payload,
    log_alone,
    data_alone,
    tenants,
    moves_in,
    queue,
    counter,
    audit,
    hashed,
    guids,
    by_month,
    escapes,
    contradictory,
    bookings_by_day,
)
"""In the order of the list that they were asked for by."""

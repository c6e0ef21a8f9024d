"""Folders of tables that stay as they are but for an index row, and of data without keys that gets its first ones."""

from __future__ import annotations

import json
from datetime import timedelta
from random import Random

from tests.strangers.stranger import ROWS, Log, Stranger, table_csv
from tests.worlds.law.log_lines import BEGIN


def tubes() -> Stranger:
    """Tubes of an order by both numbers, and by their barcode; updates, and no insert in 40 seconds of log.

    A partition for all would save the updates a request to the index row, and every row would be written anew.
    """
    random, log = Random(51), Log(51, 40.0)
    rows: list[dict[str, object]] = []
    for n in range(ROWS):
        order, tube = 31_000 + n // 3, n % 3 + 1
        keys = {"PartitionKey": f"ORD-{order:08}", "RowKey": f"TUBE-{tube:02}", "order_no": order, "tube_no": tube}
        rows.append({**keys, "barcode": f"A{random.randrange(10**8):08}B", "ward": f"W{n % 9}"})
    for _ in range(1_080):
        log.query(f"barcode eq '{random.choice(rows)['barcode']}'")
    for operation, times in (("query", 840), ("update", 480)):
        for _ in range(times):
            row = random.choice(rows)
            log.point(str(row["PartitionKey"]), str(row["RowKey"]), operation)
    return Stranger(
        "tubes of a laboratory",
        {"tubes.csv": table_csv(rows), "tubes.log": log.text("Tubes")},
        ("tubes.csv",),
        ("tubes.log",),
        (r"^ORD-\{pad\(order_no,8\)\} \| TUBE-\{pad\(tube_no,2\)\}$",),
        ("ORD-{pad(order_no,8)} | TUBE-{pad(tube_no,2)}",),
    )


def refills() -> Stranger:
    """Several slots of a machine are filled in one second; the cash of each differs by chance, the slot by nature."""
    random = Random(52)
    rows: list[dict[str, object]] = []
    for n in range(ROWS // 5):
        at = BEGIN - timedelta(days=30) + timedelta(seconds=n * 7_000 + random.randrange(5_000))
        for slot in random.sample(range(10, 60), 5):
            known = {"machine": f"VM-{n % 60:04}", "refilled_at": f"{at:%Y-%m-%dT%H:%M:%SZ}", "slot": slot}
            rows.append({**known, "units": random.randrange(1, 20), "cash_cents": random.randrange(9_000)})
    asked = []
    for n in range(600):
        machine = f"VM-{random.randrange(60):04}"
        month = "refilled_at ge datetime'2026-02-01T00:00:00Z' and refilled_at lt datetime'2026-03-01T00:00:00Z'"
        asked.append({"table": "Refills", "at": 1_790_000_000 + n, "filter": f"machine eq '{machine}' and {month}"})
    lines = "".join(json.dumps(line) + "\n" for line in asked)
    return Stranger(
        "refills of machines",
        {"refills.csv": table_csv(rows), "asked.jsonl": lines},
        ("refills.csv",),
        ("asked.jsonl",),
        (r"^\{machine\} \| \{(reverse_)?ticks\(refilled_at\)\}_\{pad\(slot,[0-9]+\)\}$",),
    )

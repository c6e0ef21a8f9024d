"""The files that README and the manual take for the reader's own: a small export, its log, designs, limits, rules."""

from __future__ import annotations

import json
import random
from pathlib import Path

DESIGN = """\
schema: 1
tables:
  Orders:
    partition_key: "all"
    row_key: "{order_id}"
    properties: {customer: string, order_id: int32, placed_at: datetime, status: string, total: int32}
    queries:
      - {name: one-order, filter: "customer eq '{customer}' and order_id eq {order_id}", rate: 40/min, p99: 50ms}
      - {name: of-customer, filter: "customer eq '{customer}'", rate: 20/min}
"""
ORDERS = 240
LOG_LINES = 300


def write_own_files(folder: Path, *, limits: str, rule: str, candidates: str) -> None:
    """Write them into a folder; the last three are the files that the manual shows."""
    drawn = random.Random(7)
    orders = [
        (f"c{min(int(drawn.paretovariate(1.2)), 40):02}", 1000 + i, f"2026-09-{i // 8 % 30 + 1:02}T{i % 24:02}:07:00Z")
        for i in range(ORDERS)
    ]
    rows = [f"all,{number},{customer},{number},{placed},open,{number % 90}" for customer, number, placed in orders]
    text = "PartitionKey,RowKey,customer,order_id,placed_at,status,total\n" + "\n".join(rows) + "\n"
    (folder / "orders.csv").write_text(text, encoding="utf-8")
    (folder / "logs").mkdir()
    (folder / "logs" / "2026-11-01.jsonl").write_text(_log(orders, drawn), encoding="utf-8")
    (folder / "design.yaml").write_text(DESIGN, encoding="utf-8")
    new = DESIGN.replace('"all"', '"{customer}"').replace('"{order_id}"', '"{pad(order_id,6)}"')
    (folder / "new-keys.yaml").write_text(new, encoding="utf-8")
    (folder / "designs").mkdir()
    (folder / "designs" / "orders.yaml").write_text(DESIGN, encoding="utf-8")
    (folder / "keys.txt").write_text(candidates, encoding="utf-8")
    (folder / "account.toml").write_text(limits, encoding="utf-8")
    (folder / "own-rules").mkdir()
    (folder / "own-rules" / "index-rows.toml").write_text(rule, encoding="utf-8")


def _log(orders: list[tuple[str, int, str]], drawn: random.Random) -> str:
    """A line a second for five minutes: two look-ups of an order, then the orders of a customer."""
    lines = []
    for second in range(LOG_LINES):
        customer, number, _ = drawn.choice(orders)
        asked = {"pk": "all", "rk": str(number)}
        if second % 3 == 2:
            asked = {"filter": f"PartitionKey eq 'all' and customer eq '{customer}'"}
        at = f"2026-11-01T12:{second // 60:02}:{second % 60:02}Z"
        lines.append(json.dumps({"table": "Orders", "at": at, **asked}))
    return "\n".join(lines) + "\n"

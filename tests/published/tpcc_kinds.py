"""TPC-C, the three tables of orders as kinds of one table: a New-Order inserts into all of them at once.

Source and figures: see ``tpcc``; clause 2.4.2.2 inserts an order, its place in the queue and its lines in one
transaction. The expert's keys: PartitionKey warehouse and district for all three kinds, a prefix for each kind in the
RowKey, since all accesses name the district, and a group transaction writes one partition. Requests a second,
reckoned by hand: 43 New-Orders, 38 oldest open orders, 3.8 newest orders of a customer, 42 orders' lines, 3.8 newest
lines of a district, 38 removals from the queue, 38 orders delivered: 206.6.
"""

from __future__ import annotations

from random import Random

from tests.published.tpcc_orders import CUSTOMERS, DISTRICTS, ITEMS, WAREHOUSES, districts_drawn, nurand
from tests.published.workload import Row, arrivals

EXPERT_REQUESTS_PER_S = 206.6
EXPERT_PARTITION = {"w_id", "d_id"}

DESIGN = f"""schema: 1
tables:
  OrderEntry:
    sampling: random-keys
    sampled_by: [w_id, d_id]
    kinds:
      Orders:
        properties: {{w_id: int32, d_id: int32, o_id: int32, c_id: int32, entry_d: datetime, carrier: int32}}
        entities_total: {WAREHOUSES * DISTRICTS * 25}
        arrival: entry_d
      NewOrder:
        properties: {{w_id: int32, d_id: int32, o_id: int32, entry_d: datetime}}
        entities_total: {WAREHOUSES * DISTRICTS * 9}
        arrival: entry_d
      OrderLine:
        properties: {{w_id: int32, d_id: int32, o_id: int32, number: int32, i_id: int32, amount: double,
          entry_d: datetime}}
        entities_total: {WAREHOUSES * DISTRICTS * 250}
        arrival: entry_d
    queries:
      - {{name: oldest, kind: NewOrder, filter: "w_id eq {{w_id}} and d_id eq {{d_id}}", order_by: [o_id], top: 1,
         rate: 38/s, draw: {{by: distinct, of: [w_id, d_id]}}}}
      - {{name: newest-of-customer, kind: Orders, filter: "w_id eq {{w_id}} and d_id eq {{d_id}} and c_id eq {{c_id}}",
         order_by: [o_id desc], top: 1, rate: 3.8/s, draw: {{by: distinct, of: [w_id, d_id, c_id]}}}}
      - {{name: lines-of-order, kind: OrderLine, filter: "w_id eq {{w_id}} and d_id eq {{d_id}} and o_id eq {{o_id}}",
         rate: 42/s, draw: {{by: distinct, of: [w_id, d_id, o_id]}}}}
      - {{name: newest-of-district, kind: OrderLine, filter: "w_id eq {{w_id}} and d_id eq {{d_id}}",
         order_by: [o_id desc], top: 200, rate: 3.8/s, draw: {{by: distinct, of: [w_id, d_id]}}}}
    writes:
      - {{name: place, kind: Orders, operation: insert, rate: 43/s}}
      - {{name: queue, kind: NewOrder, operation: insert, rate: 43/s}}
      - {{name: add-line, kind: OrderLine, operation: insert, rate: 430/s}}
      - {{name: take, kind: NewOrder, operation: delete, key: [w_id, d_id, o_id], rate: 38/s, draw: entities}}
      - {{name: deliver, kind: Orders, operation: update, key: [w_id, d_id, o_id], sets: [carrier], rate: 38/s,
         draw: entities}}
    transactions:
      - {{name: new-order, together: [place, queue, add-line], group_by: [w_id, d_id, o_id], required: true}}
"""


def rows(random: Random) -> dict[str, list[Row]]:
    """All orders of 24 districts by kind: 25 of each district, of which the last nine are open."""
    drawn = districts_drawn(random, 24)
    kinds: dict[str, list[Row]] = {"Orders": [], "NewOrder": [], "OrderLine": []}
    per_s = 43 * len(drawn) / (WAREHOUSES * DISTRICTS)
    for n, at in enumerate(arrivals(random, 25 * len(drawn), per_s)):
        warehouse, district = drawn[n % len(drawn)]
        order: Row = {"w_id": warehouse, "d_id": district, "o_id": 1 + n // len(drawn), "entry_d": at}
        customer = nurand(random, 1023, 1, CUSTOMERS)
        kinds["Orders"].append({**order, "c_id": customer, "carrier": random.randint(1, 10)})
        if n // len(drawn) >= 16:
            kinds["NewOrder"].append(order)
        kinds["OrderLine"] += [
            {
                **order,
                "number": number,
                "i_id": nurand(random, 8191, 1, ITEMS),
                "amount": random.randint(1, 9_999) / 100,
            }
            for number in range(1, random.randint(5, 15) + 1)
        ]
    return kinds

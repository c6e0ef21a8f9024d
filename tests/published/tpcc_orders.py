"""TPC-C, the tables of orders: see ``tpcc`` for the source and the figures."""

from __future__ import annotations

from functools import partial
from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, arrivals

WAREHOUSES, DISTRICTS, CUSTOMERS, ITEMS = 200, 10, 3_000, 100_000


def nurand(random: Random, a: int, low: int, high: int) -> int:
    """Clause 2.1.6, with the constant C at 0."""
    return (random.randint(0, a) | random.randint(low, high)) % (high - low + 1) + low


def districts_drawn(random: Random, count: int, warehouses: int = WAREHOUSES) -> list[tuple[int, int]]:
    """So many districts (warehouse, number within it) by chance."""
    drawn = random.sample(range(warehouses * DISTRICTS), count)
    return [(1 + n // DISTRICTS, 1 + n % DISTRICTS) for n in drawn]


def new_order_rows(random: Random, count: int) -> list[Row]:
    """The nine open orders of some districts, in the order in which they were placed."""
    drawn = districts_drawn(random, count // 9)
    first = {district: random.randint(2_000, 3_000) for district in drawn}
    rows = [{"no_w_id": w, "no_d_id": d, "no_o_id": first[w, d] + n} for n in range(9) for w, d in drawn]
    return list(rows)


def order_rows(random: Random, count: int) -> list[Row]:
    """All orders of some districts, 25 each."""
    drawn = districts_drawn(random, count // 25)
    times = arrivals(random, 25 * len(drawn), 43 * len(drawn) / (WAREHOUSES * DISTRICTS))
    return [
        {
            "o_w_id": w,
            "o_d_id": d,
            "o_id": 1 + n // len(drawn),
            "o_c_id": nurand(random, 1023, 1, CUSTOMERS),
            "o_entry_d": at,
            "o_carrier_id": random.randint(1, 10) if n // len(drawn) < 16 else None,
            "o_ol_cnt": random.randint(5, 15),
        }
        for n, at in enumerate(times)
        for w, d in [drawn[n % len(drawn)]]
    ]


def order_line_rows(random: Random, count: int, warehouses: int) -> list[Row]:
    """All lines of some districts: 25 orders of 5 to 15 lines each."""
    drawn = districts_drawn(random, max(3, count // 250), warehouses)
    return [
        {
            "ol_w_id": w,
            "ol_d_id": d,
            "ol_o_id": order,
            "ol_number": number,
            "ol_i_id": nurand(random, 8191, 1, ITEMS),
            "ol_supply_w_id": w if random.random() < 0.99 else random.randint(1, warehouses),
            "ol_quantity": 5,
            "ol_amount": random.randint(1, 999_999) / 100,
        }
        for order in range(1, 26)
        for w, d in drawn
        for number in range(1, random.randint(5, 15) + 1)
    ]


NEW_ORDER = Table(
    "NewOrder",
    f"""
    properties: {{no_w_id: int32, no_d_id: int32, no_o_id: int32}}
    entities_total: {WAREHOUSES * DISTRICTS * 9}
    sampling: random-keys
    sampled_by: [no_w_id, no_d_id]
    arrival: file_order
    queries:
      - {{name: oldest, filter: "no_w_id eq {{no_w_id}} and no_d_id eq {{no_d_id}}", order_by: [no_o_id], top: 1,
         rate: 38/s, draw: {{by: distinct, of: [no_w_id, no_d_id]}}}}
    writes:
      - {{name: place, operation: insert, rate: 43/s}}
      - {{name: deliver, operation: delete, key: [no_w_id, no_d_id, no_o_id], rate: 38/s, draw: entities}}
    """,
    new_order_rows,
    600,
    Keys(
        "{pad(no_w_id,4)}_{pad(no_d_id,2)}",
        "{pad(no_o_id,8)}",
        "The primary key: the oldest open order of a district is the first row of its partition.",
    ),
    identity=("no_w_id", "no_d_id", "no_o_id"),
    largest={"no_o_id": 10_000_000},
)

ORDERS = Table(
    "Orders",
    f"""
    properties: {{o_w_id: int32, o_d_id: int32, o_id: int32, o_c_id: int32, o_entry_d: datetime,
      o_carrier_id: int32, o_ol_cnt: int32}}
    entities_total: {WAREHOUSES * DISTRICTS * 25}
    sampling: random-keys
    sampled_by: [o_w_id, o_d_id]
    arrival: o_entry_d
    queries:
      - {{name: newest-of-customer, filter: "o_w_id eq {{o_w_id}} and o_d_id eq {{o_d_id}} and o_c_id eq {{o_c_id}}",
         order_by: [o_id desc], top: 1, rate: 3.8/s, draw: {{by: distinct, of: [o_w_id, o_d_id, o_c_id]}}}}
    writes:
      - {{name: place, operation: insert, rate: 43/s}}
      - {{name: deliver, operation: update, key: [o_w_id, o_d_id, o_id], sets: [o_carrier_id],
         read_modify_write: true, rate: 38/s, draw: entities}}
    """,
    order_rows,
    1000,
    Keys(
        "{pad(o_w_id,4)}_{pad(o_d_id,2)}",
        "ID:{pad(o_id,8)}",
        "Delivery and Order-Status name the district; a copy by customer, newest order first, is written in the "
        "same group transaction.",
        (IndexRow("CUST:{pad(o_c_id,4)}_{reverse_pad(o_id,8)}"),),
    ),
    identity=("o_w_id", "o_d_id", "o_id"),
    largest={"o_id": 10_000_000},
)


def order_line(warehouses: int) -> Table:
    """The lines of so many warehouses: each sends 0.215 orders a second, the most that clause 4.2 allows."""
    return Table(
        "OrderLine",
        f"""
        properties: {{ol_w_id: int32, ol_d_id: int32, ol_o_id: int32, ol_number: int32, ol_i_id: int32,
          ol_supply_w_id: int32, ol_quantity: int32, ol_amount: double}}
        entities_total: {warehouses * DISTRICTS * 250}
        sampling: random-keys
        sampled_by: [ol_w_id, ol_d_id]
        arrival: file_order
        queries:
          - {{name: lines-of-order,
             filter: "ol_w_id eq {{ol_w_id}} and ol_d_id eq {{ol_d_id}} and ol_o_id eq {{ol_o_id}}",
             rate: {0.21 * warehouses:g}/s, draw: {{by: distinct, of: [ol_w_id, ol_d_id, ol_o_id]}}}}
          - {{name: newest-of-district, filter: "ol_w_id eq {{ol_w_id}} and ol_d_id eq {{ol_d_id}}",
             order_by: [ol_o_id desc], top: 200, rate: {0.019 * warehouses:g}/s,
             draw: {{by: distinct, of: [ol_w_id, ol_d_id]}}}}
        writes:
          - {{name: place, operation: insert, rate: {2.15 * warehouses:g}/s}}
          - {{name: deliver, operation: update, key: [ol_w_id, ol_d_id, ol_o_id, ol_number], sets: [ol_amount],
             rate: {1.9 * warehouses:g}/s, draw: entities}}
        transactions:
          - {{name: whole-order, together: [place], group_by: [ol_w_id, ol_d_id, ol_o_id]}}
        """,
        partial(order_line_rows, warehouses=warehouses),
        1500,
        Keys(
            "{pad(ol_w_id,4)}_{pad(ol_d_id,2)}",
            "{reverse_pad(ol_o_id,8)}_{pad(ol_number,2)}",
            "An order's lines lie together and are written in one batch; falling order numbers put the last 20 "
            "orders at the head of the district's partition.",
        ),
        identity=("ol_w_id", "ol_d_id", "ol_o_id", "ol_number"),
        largest={"ol_o_id": 10_000_000},
    )

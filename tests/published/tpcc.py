"""TPC-C: an order-entry system of 200 warehouses.

Source: TPC Benchmark C, Standard Specification, revision 5.11 (February 2010). Schema: clause 1.3. Transactions:
clauses 2.4 (New-Order), 2.5 (Payment), 2.6 (Order-Status), 2.7 (Delivery), 2.8 (Stock-Level). Mix: clause 5.2.3, with
45 % New-Order. Cardinalities: clause 4.3.3.1; order ids to 10,000,000: clause 1.3.1. Non-uniform random numbers:
clause 2.1.6.

Rates are derived: 200 warehouses at the most that clause 4.2 allows, 12.86 New-Orders a minute each, make 43 a
second; Payment 41, and 3.8 a second of each of the three others. A New-Order has 10 lines on average; Payment and
Order-Status select the customer by last name in 60 % of cases; a Delivery delivers the oldest order of each of 10
districts; Stock-Level looks at the lines of the last 20 orders of a district. Customers, stock and items are sampled;
orders and lines are those of a young database (9 open orders in place of 900 and 25 orders in place of 3,000 for a
district).

``LARGE`` is the same table of order lines for 2,000 warehouses, with ten times the rates.
"""

from __future__ import annotations

from random import Random

from tests.published.tpcc_orders import (
    CUSTOMERS,
    DISTRICTS,
    ITEMS,
    NEW_ORDER,
    ORDERS,
    WAREHOUSES,
    nurand,
    order_line,
)
from tests.published.workload import Difference, IndexRow, Keys, Row, Table, Workload, arrivals, text


def warehouse_rows(random: Random, count: int) -> list[Row]:
    return [
        {"w_id": w, "w_name": text(random, 8), "w_tax": random.randrange(2000) / 10_000, "w_ytd": 300_000.5}
        for w in range(1, count + 1)
    ]


def district_rows(random: Random, count: int) -> list[Row]:
    """All districts of some warehouses."""
    return [
        {
            "d_w_id": warehouse,
            "d_id": 1 + n,
            "d_tax": random.randrange(2000) / 10_000,
            "d_ytd": 30_000.5,
            "d_next_o_id": 3_001,
        }
        for warehouse in sorted(random.sample(range(1, WAREHOUSES + 1), count // DISTRICTS))
        for n in range(DISTRICTS)
    ]


def customer_rows(random: Random, count: int) -> list[Row]:
    """All customers of some last names in some districts: 1,000 names once, and 2,000 customers of NURand names."""
    rows: list[Row] = []
    while len(rows) < count:
        warehouse, district = random.randint(1, WAREHOUSES), random.randint(1, DISTRICTS)
        names = list(range(1000)) + [nurand(random, 255, 0, 999) for _ in range(CUSTOMERS - 1000)]
        chosen = set(random.sample(range(1000), 12))
        rows += [
            {
                "c_w_id": warehouse,
                "c_d_id": district,
                "c_id": customer + 1,
                "c_last": f"NAME{name:03d}",
                "c_first": text(random, 10),
                "c_balance": -10.0,
                "c_payment_cnt": 1,
                "c_data": text(random, 300),
            }
            for customer, name in enumerate(names)
            if name in chosen
        ]
    return rows


def history_rows(random: Random, count: int) -> list[Row]:
    rows: list[Row] = []
    for at in arrivals(random, count, 41):
        district, warehouse = random.randint(1, DISTRICTS), random.randint(1, WAREHOUSES)
        remote = random.random() < 0.15
        rows.append(
            {
                "h_c_id": nurand(random, 1023, 1, CUSTOMERS),
                "h_c_d_id": random.randint(1, DISTRICTS) if remote else district,
                "h_c_w_id": random.randint(1, WAREHOUSES) if remote else warehouse,
                "h_d_id": district,
                "h_w_id": warehouse,
                "h_date": at,
                "h_amount": random.randint(100, 500_000) / 100,
            }
        )
    return rows


def stock_rows(random: Random, count: int) -> list[Row]:
    drawn = sorted(random.sample(range(WAREHOUSES * ITEMS), count))
    return [
        {
            "s_w_id": 1 + n // ITEMS,
            "s_i_id": 1 + n % ITEMS,
            "s_quantity": random.randint(10, 100),
            "s_data": text(random, 38),
            "s_dist": text(random, 24),
        }
        for n in drawn
    ]


def item_rows(random: Random, count: int) -> list[Row]:
    return [
        {
            "i_id": i,
            "i_name": text(random, 18),
            "i_price": random.randint(100, 10_000) / 100,
            "i_data": text(random, 38),
        }
        for i in sorted(random.sample(range(1, ITEMS + 1), count))
    ]


WORKLOAD = Workload(
    name="tpcc",
    source="TPC Benchmark C, Standard Specification, revision 5.11",
    differences=(
        Difference(
            "Orders",
            ("entities_per_s",),
            1.06,
            "Goal 5 comes before goal 6: without a copy by customer the requests are the same, and each of 3.8 "
            "look-ups a second reads the district's 25 orders. With the 3,000 orders of a full database the copy "
            "pays.",
        ),
    ),
    tables=(
        Table(
            "Warehouse",
            """
            properties: {w_id: int32, w_name: string, w_tax: double, w_ytd: double}
            queries:
              - {name: tax, filter: "w_id eq {w_id}", rate: 43/s, draw: entities}
            writes:
              - {name: pay, operation: update, key: [w_id], sets: [w_ytd], read_modify_write: true, rate: 41/s,
                 draw: entities}
            """,
            warehouse_rows,
            WAREHOUSES,
            Keys("{pad(w_id,4)}", "", "The primary key; every Payment changes a warehouse, so each has a partition."),
            identity=("w_id",),
        ),
        Table(
            "District",
            f"""
            properties: {{d_w_id: int32, d_id: int32, d_tax: double, d_ytd: double, d_next_o_id: int32}}
            entities_total: {WAREHOUSES * DISTRICTS}
            sampling: random-keys
            sampled_by: [d_w_id]
            queries:
              - {{name: next-order, filter: "d_w_id eq {{d_w_id}} and d_id eq {{d_id}}", rate: 3.8/s, draw: entities}}
            writes:
              - {{name: take-number, operation: update, key: [d_w_id, d_id], sets: [d_next_o_id],
                 read_modify_write: true, rate: 43/s, draw: entities}}
              - {{name: pay, operation: update, key: [d_w_id, d_id], sets: [d_ytd], read_modify_write: true,
                 rate: 41/s, draw: entities}}
            """,
            district_rows,
            500,
            Keys("{pad(d_w_id,4)}", "{pad(d_id,2)}", "The primary key; every access names both parts."),
            identity=("d_w_id", "d_id"),
        ),
        Table(
            "Customer",
            f"""
            properties: {{c_w_id: int32, c_d_id: int32, c_id: int32, c_last: string, c_first: string,
              c_balance: double, c_payment_cnt: int32, c_data: string}}
            entities_total: {WAREHOUSES * DISTRICTS * CUSTOMERS}
            sampling: random-keys
            sampled_by: [c_w_id, c_d_id, c_last]
            queries:
              - {{name: by-id, filter: "c_w_id eq {{c_w_id}} and c_d_id eq {{c_d_id}} and c_id eq {{c_id}}", rate: 44/s,
                 draw: entities}}
              - {{name: by-last-name,
                 filter: "c_w_id eq {{c_w_id}} and c_d_id eq {{c_d_id}} and c_last eq '{{c_last}}'",
                 order_by: [c_first], rate: 27/s, draw: entities}}
            writes:
              - {{name: pay, operation: update, key: [c_w_id, c_d_id, c_id], sets: [c_balance, c_payment_cnt],
                 read_modify_write: true, rate: 41/s, draw: entities}}
              - {{name: deliver, operation: update, key: [c_w_id, c_d_id, c_id], sets: [c_balance],
                 read_modify_write: true, rate: 38/s, draw: entities}}
            """,
            customer_rows,
            900,
            Keys(
                "{pad(c_w_id,4)}_{pad(c_d_id,2)}",
                "ID:{pad(c_id,4)}",
                "Every access names the district; a full copy by name, in the same group transaction, answers a "
                "look-up by last name in order of first names with one request.",
                (IndexRow("LAST:{c_last}_{c_first}_{pad(c_id,4)}"),),
            ),
            identity=("c_w_id", "c_d_id", "c_id"),
        ),
        Table(
            "History",
            f"""
            properties: {{h_c_id: int32, h_c_d_id: int32, h_c_w_id: int32, h_d_id: int32, h_w_id: int32,
              h_date: datetime, h_amount: double}}
            entities_total: {WAREHOUSES * DISTRICTS * CUSTOMERS}
            sampling: slice
            arrival: h_date
            writes:
              - {{name: pay, operation: insert, rate: 41/s}}
            """,
            history_rows,
            500,
            Keys(
                "{pad(h_w_id,4)}_{pad(h_d_id,2)}",
                "{ticks(h_date)}_{pad(h_c_w_id,4)}_{pad(h_c_d_id,2)}_{pad(h_c_id,4)}",
                "Only written: district first, so that inserts spread, then the time and the customer, so that no two "
                "payments have one key.",
            ),
        ),
        NEW_ORDER,
        ORDERS,
        order_line(WAREHOUSES),
        Table(
            "Stock",
            f"""
            properties: {{s_w_id: int32, s_i_id: int32, s_quantity: int32, s_data: string, s_dist: string}}
            entities_total: {WAREHOUSES * ITEMS}
            sampling: random-rows
            queries:
              - {{name: level, filter: "s_w_id eq {{s_w_id}} and s_i_id eq {{s_i_id}}", rate: 760/s, draw: entities}}
            writes:
              - {{name: take, operation: update, key: [s_w_id, s_i_id], sets: [s_quantity], read_modify_write: true,
                 rate: 430/s, draw: entities}}
            """,
            stock_rows,
            800,
            Keys("{pad(s_w_id,4)}", "{pad(s_i_id,6)}", "The primary key; every access names warehouse and item."),
            identity=("s_w_id", "s_i_id"),
        ),
        Table(
            "Item",
            f"""
            properties: {{i_id: int32, i_name: string, i_price: double, i_data: string}}
            entities_total: {ITEMS}
            sampling: random-rows
            queries:
              - {{name: price, filter: "i_id eq {{i_id}}", rate: 430/s, draw: entities}}
            """,
            item_rows,
            500,
            Keys("{pad(i_id,6)}", "", "The primary key; read one by one, and by nothing else."),
            identity=("i_id",),
        ),
    ),
)

LARGE = Workload(
    name="tpcc_large",
    source="TPC Benchmark C, Standard Specification, revision 5.11, at 2,000 warehouses",
    tables=(order_line(10 * WAREHOUSES),),
)

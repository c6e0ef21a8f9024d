"""TPC-C: an order-entry system of 200 warehouses.

Source: TPC Benchmark C, Standard Specification, revision 5.11 (February 2010). Schema: clause 1.3. Transactions:
clauses 2.4 (New-Order), 2.5 (Payment), 2.6 (Order-Status), 2.7 (Delivery), 2.8 (Stock-Level). Mix: clause 5.2.3, with
45 % New-Order. Cardinalities: clause 4.3.3.1. Non-uniform random numbers: clause 2.1.6.

Rates are derived: 200 warehouses at the most that clause 4.2 allows, 12.86 New-Orders a minute each, make 43 a second;
Payment 41, and 3.8 a second of each of the three others. A New-Order has 10 lines on average; Payment and Order-Status
select the customer by last name in 60 % of cases; a Delivery delivers the oldest order of each of 10 districts;
Stock-Level looks at the lines of the last 20 orders of a district. Customers, stock and items are sampled; orders and
lines are those of a young database (9 open orders in place of 900 and 25 orders in place of 3,000 for a district).
"""

from __future__ import annotations

from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, Workload, arrivals, text

WAREHOUSES, DISTRICTS, CUSTOMERS, ITEMS = 200, 10, 3_000, 100_000


def nurand(random: Random, a: int, low: int, high: int) -> int:
    """Clause 2.1.6, with the constant C at 0."""
    return (random.randint(0, a) | random.randint(low, high)) % (high - low + 1) + low


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
    rows = []
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


def districts_drawn(random: Random, count: int) -> list[tuple[int, int]]:
    drawn = random.sample(range(WAREHOUSES * DISTRICTS), count)
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


def order_line_rows(random: Random, count: int) -> list[Row]:
    """All lines of some districts: 25 orders of 5 to 15 lines each."""
    drawn = districts_drawn(random, max(3, count // 250))
    return [
        {
            "ol_w_id": w,
            "ol_d_id": d,
            "ol_o_id": order,
            "ol_number": number,
            "ol_i_id": nurand(random, 8191, 1, ITEMS),
            "ol_supply_w_id": w if random.random() < 0.99 else random.randint(1, WAREHOUSES),
            "ol_quantity": 5,
            "ol_amount": random.randint(1, 999_999) / 100,
        }
        for order in range(1, 26)
        for w, d in drawn
        for number in range(1, random.randint(5, 15) + 1)
    ]


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
              - {{name: by-last-name, filter: "c_w_id eq {{c_w_id}} and c_d_id eq {{c_d_id}} and c_last eq '{{c_last}}'",
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
                "Every access names the district; a full copy by name, in the same group transaction, answers a look-up "
                "by last name in order of first names with one request.",
                (IndexRow("LAST:{c_last}_{c_first}_{pad(c_id,4)}"),),
            ),
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
        Table(
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
        ),
        Table(
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
        ),
        Table(
            "OrderLine",
            f"""
            properties: {{ol_w_id: int32, ol_d_id: int32, ol_o_id: int32, ol_number: int32, ol_i_id: int32,
              ol_supply_w_id: int32, ol_quantity: int32, ol_amount: double}}
            entities_total: {WAREHOUSES * DISTRICTS * 250}
            sampling: random-keys
            sampled_by: [ol_w_id, ol_d_id]
            arrival: file_order
            queries:
              - {{name: lines-of-order, filter: "ol_w_id eq {{ol_w_id}} and ol_d_id eq {{ol_d_id}} and ol_o_id eq {{ol_o_id}}",
                 rate: 42/s, draw: {{by: distinct, of: [ol_w_id, ol_d_id, ol_o_id]}}}}
              - {{name: newest-of-district, filter: "ol_w_id eq {{ol_w_id}} and ol_d_id eq {{ol_d_id}}",
                 order_by: [ol_o_id desc], top: 200, rate: 3.8/s, draw: {{by: distinct, of: [ol_w_id, ol_d_id]}}}}
            writes:
              - {{name: place, operation: insert, rate: 430/s}}
              - {{name: deliver, operation: update, key: [ol_w_id, ol_d_id, ol_o_id, ol_number], sets: [ol_amount],
                 rate: 380/s, draw: entities}}
            transactions:
              - {{name: whole-order, together: [place], group_by: [ol_w_id, ol_d_id, ol_o_id]}}
            """,
            order_line_rows,
            1500,
            Keys(
                "{pad(ol_w_id,4)}_{pad(ol_d_id,2)}",
                "{reverse_pad(ol_o_id,8)}_{pad(ol_number,2)}",
                "An order's lines lie together and are written in one batch; falling order numbers put the last 20 "
                "orders at the head of the district's partition.",
            ),
        ),
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
        ),
    ),
)

"""TPC-E: a brokerage firm of 10,000 customers; the tables that take most of the accesses.

Source: TPC Benchmark E, Standard Specification, version 1.14.0 (April 2015). Schema and
cardinalities: clause 2. Transactions: clause 3.3. Mix and scale factor: clause 6 (Broker-Volume 4.9 %,
Customer-Position 13, Market-Feed 1, Market-Watch 18, Security-Detail 14, Trade-Lookup 8, Trade-Order 10.1,
Trade-Result 10, Trade-Status 19, Trade-Update 2).

Rates are derived: 10,000 customers at a scale factor of 500 make 20 Trade-Results and 200 transactions a second.
Trade-Lookup and Trade-Update choose each of their frames alike often, and their first frame reads 20 trades by id. A
Market-Watch reads the last and the closing price of about 100 securities. Counts are the specification's (5 accounts a
customer, 685 securities for 1,000 customers), but for the initial trades: 60 an account in place of 3,456, and 100
trading days in place of 1,305.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, Workload, moment, text, zipf

ACCOUNTS, SECURITIES = 50_000, 6_850
DAY_S = 86_400


def symbol(number: int) -> str:
    return f"SYM{number:05d}"


def account_rows(random: Random, count: int) -> list[Row]:
    """Customers with 1 to 10 accounts; those of a customer have neighbouring ids."""
    rows: list[Row] = []
    for customer in random.sample(range(1, 10_001), count // 5):
        accounts = random.choice((1, 2, 3, 4, 5, 5, 6, 7, 8, 9))
        rows += [
            {
                "ca_id": 43_000_000 + customer * 10 + n,
                "ca_c_id": 4_300_000 + customer,
                "ca_b_id": random.randint(1, 100),
                "ca_name": text(random, 30),
                "ca_bal": 1_000.25,
            }
            for n in range(accounts)
        ]
    return rows


def trade_rows(random: Random, count: int) -> list[Row]:
    """All trades of some accounts: a customer's tier decides how much it trades (1 : 2.5 : 5 is assumed)."""
    accounts = random.sample(range(1, ACCOUNTS + 1), max(8, count // 60))
    tiers = [random.choice((1.0, 2.5, 2.5, 5.0)) for _ in accounts]
    rows: list[Row] = []
    for n, account in enumerate(random.choices(accounts, tiers, k=count)):
        at = n * 100 * DAY_S / count
        rows.append(
            {
                "t_id": 200_000_000 + n * 3_001 + random.randint(0, 3_000),
                "t_dts": moment(at),
                "t_ca_id": 43_000_000 + account,
                "t_s_symb": symbol(random.randrange(SECURITIES)),
                "t_st_id": "CMPT",
                "t_qty": random.choice((100, 200, 400, 800)),
                "t_trade_price": random.randint(2_000, 3_000) / 100,
                "t_exec_name": text(random, 28),
            }
        )
    return rows


def holding_rows(random: Random, count: int) -> list[Row]:
    """All holdings of some accounts: about 10 securities each, of which some were bought more than once."""
    rows: list[Row] = []
    for account in random.sample(range(1, ACCOUNTS + 1), count // 18):
        owned = random.sample(range(SECURITIES), 10)
        rows += [
            {
                "h_t_id": 200_000_000 + random.randrange(3_000_000),
                "h_ca_id": 43_000_000 + account,
                "h_s_symb": symbol(security),
                "h_dts": moment(random.random() * 100 * DAY_S),
                "h_price": random.randint(2_000, 3_000) / 100,
                "h_qty": random.choice((100, 200, 400, 800)),
            }
            for security in (owned[place] for place in zipf(random, 10, 0.5, 18))
        ]
    return rows


def last_trade_rows(random: Random, count: int) -> list[Row]:
    return [
        {"lt_s_symb": symbol(n), "lt_dts": moment(100 * DAY_S), "lt_price": 25.5, "lt_vol": random.randint(1, 9_000)}
        for n in sorted(random.sample(range(SECURITIES), count))
    ]


def daily_market_rows(random: Random, count: int) -> list[Row]:
    """The 100 days of some securities."""
    chosen = random.sample(range(SECURITIES), count // 100)
    return [
        {
            "dm_date": moment(day * DAY_S),
            "dm_s_symb": symbol(security),
            "dm_close": random.randint(2_000, 3_000) / 100,
            "dm_high": 30.5,
            "dm_low": 20.5,
            "dm_vol": random.randint(1_000, 10_000),
        }
        for day in range(100)
        for security in chosen
    ]


WORKLOAD = Workload(
    name="tpce",
    source="TPC Benchmark E, Standard Specification, version 1.14.0",
    tables=(
        Table(
            "CustomerAccount",
            f"""
            properties: {{ca_id: int32, ca_c_id: int32, ca_b_id: int32, ca_name: string, ca_bal: double}}
            entities_total: {ACCOUNTS}
            sampling: random-keys
            sampled_by: [ca_c_id]
            queries:
              - {{name: by-id, filter: "ca_id eq {{ca_id}}", rate: 58/s, draw: entities}}
              - {{name: of-customer, filter: "ca_c_id eq {{ca_c_id}}", rate: 26/s,
                 draw: {{by: distinct, of: [ca_c_id]}}}}
            writes:
              - {{name: settle, operation: update, key: [ca_id], sets: [ca_bal], read_modify_write: true, rate: 20/s,
                 draw: entities}}
            """,
            account_rows,
            500,
            Keys(
                "{ca_id}",
                "",
                "Most accesses know the account alone; a full copy by customer costs a write for each settled trade "
                "and saves a request for each account of a position.",
                (IndexRow("{ca_id}", "CUSTOMER:{ca_c_id}"),),
            ),
            identity=("ca_id",),
        ),
        Table(
            "Trade",
            f"""
            properties: {{t_id: int32, t_dts: datetime, t_ca_id: int32, t_s_symb: string, t_st_id: string, t_qty: int32,
              t_trade_price: double, t_exec_name: string}}
            entities_total: {60 * ACCOUNTS}
            sampling: random-keys
            sampled_by: [t_ca_id]
            arrival: t_dts
            queries:
              - {{name: by-id, filter: "t_id eq {{t_id}}", rate: 142/s, draw: entities}}
              - {{name: status, filter: "t_ca_id eq {{t_ca_id}}", order_by: [t_dts desc], top: 50, rate: 38/s,
                 draw: {{by: distinct, of: [t_ca_id]}}}}
              - {{name: position-history, filter: "t_ca_id eq {{t_ca_id}}", order_by: [t_dts desc], top: 10, rate: 13/s,
                 draw: {{by: distinct, of: [t_ca_id]}}}}
              - {{name: of-account-from, rate: 6/s, draw: entities, order_by: [t_dts], top: 20,
                 filter: "t_ca_id eq {{t_ca_id}} and t_dts ge datetime'{{t_dts-5d}}' and t_dts le datetime'{{t_dts}}'"}}
              - {{name: of-security-from, rate: 6/s, draw: entities, order_by: [t_dts], top: 20,
                 filter: "t_s_symb eq '{{t_s_symb}}' and t_dts ge datetime'{{t_dts-5d}}'
                   and t_dts le datetime'{{t_dts}}'"}}
            writes:
              - {{name: order, operation: insert, rate: 20/s}}
              - {{name: complete, operation: update, key: [t_id], sets: [t_dts, t_st_id, t_trade_price], rate: 20/s,
                 draw: {{newest: 1.0, window: 1d}}}}
            """,
            trade_rows,
            1000,
            Keys(
                "{t_id}",
                "",
                "Half of the accesses and the completion know the id alone; copies by account, newest first, and by "
                "security in order of time serve the rest, and both are moved when a trade completes.",
                (
                    IndexRow("{reverse_ticks(t_dts)}_{t_id}", "ACCOUNT:{t_ca_id}"),
                    IndexRow("{ticks(t_dts)}_{t_id}", "SECURITY:{t_s_symb}"),
                ),
            ),
            identity=("t_id",),
        ),
        Table(
            "Holding",
            f"""
            properties: {{h_t_id: int32, h_ca_id: int32, h_s_symb: string, h_dts: datetime, h_price: double,
              h_qty: int32}}
            entities_total: {18 * ACCOUNTS}
            sampling: random-keys
            sampled_by: [h_ca_id]
            queries:
              - {{name: of-security, filter: "h_ca_id eq {{h_ca_id}} and h_s_symb eq '{{h_s_symb}}'", order_by: [h_dts],
                 rate: 40/s, draw: {{by: distinct, of: [h_ca_id, h_s_symb]}}}}
              - {{name: position, filter: "h_ca_id eq {{h_ca_id}}", rate: 26/s, draw: {{by: distinct, of: [h_ca_id]}}}}
            writes:
              - {{name: buy, operation: insert, rate: 10/s}}
              - {{name: sell, operation: delete, key: [h_ca_id, h_s_symb, h_dts, h_t_id], rate: 8/s, draw: entities}}
              - {{name: sell-part, operation: update, key: [h_ca_id, h_s_symb, h_dts, h_t_id], sets: [h_qty], rate: 2/s,
                 draw: entities}}
            """,
            holding_rows,
            720,
            Keys(
                "{h_ca_id}",
                "{h_s_symb}_{ticks(h_dts)}_{h_t_id}",
                "All accesses name the account; within it the security and the time are the order in which holdings "
                "are sold.",
            ),
            identity=("h_t_id",),
        ),
        Table(
            "LastTrade",
            f"""
            properties: {{lt_s_symb: string, lt_dts: datetime, lt_price: double, lt_vol: int32}}
            entities_total: {SECURITIES}
            sampling: random-rows
            queries:
              - {{name: price, filter: "lt_s_symb eq '{{lt_s_symb}}'", rate: 3900/s, draw: entities}}
            writes:
              - {{name: tick, operation: update, key: [lt_s_symb], sets: [lt_dts, lt_price, lt_vol],
                 read_modify_write: true, rate: 40/s, draw: entities}}
            """,
            last_trade_rows,
            600,
            Keys("{lt_s_symb}", "", "The primary key; prices are read and changed one by one, and thousands a second."),
            identity=("lt_s_symb",),
        ),
        Table(
            "DailyMarket",
            f"""
            properties: {{dm_date: datetime, dm_s_symb: string, dm_close: double, dm_high: double, dm_low: double,
              dm_vol: int32}}
            entities_total: {100 * SECURITIES}
            sampling: random-keys
            sampled_by: [dm_s_symb]
            arrival: dm_date
            queries:
              - {{name: closing-price, rate: 3600/s, draw: entities,
                 filter: "dm_s_symb eq '{{dm_s_symb}}' and dm_date eq datetime'{{dm_date}}'"}}
              - {{name: days-from, rate: 28/s, draw: entities, order_by: [dm_date], top: 20,
                 filter: "dm_s_symb eq '{{dm_s_symb}}' and dm_date ge datetime'{{dm_date}}'"}}
            """,
            daily_market_rows,
            800,
            Keys(
                "{dm_s_symb}",
                "{ticks(dm_date)}",
                "The primary key: a security's days in rising order serve both the one day and the twenty from a day.",
            ),
            identity=("dm_date", "dm_s_symb"),
        ),
    ),
)

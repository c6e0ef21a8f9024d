"""SmallBank: accounts of a bank, payments between two of them.

Source: M. Alomari et al., The Cost of Serializability on Platforms That Use Snapshot Isolation, ICDE 2008, as carried
over into H-Store (hstore.cs.brown.edu): tables ACCOUNTS, SAVINGS and CHECKING by customer, six transactions. Mix of the
port: Amalgamate 15 %, Balance 15, DepositChecking 15, SendPayment 25, TransactSavings 15, WriteCheck 15.

Both balances of a customer stand in one entity here. Rates are assumed: 100 transactions a second, each customer alike
often. SendPayment changes the checking accounts of two customers, Amalgamate moves all of one's money to another.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import Keys, Row, Table, Workload, text

CUSTOMERS = 1_000_000


def account_rows(random: Random, count: int) -> list[Row]:
    return [
        {
            "custid": number,
            "name": text(random, 16),
            "savings": random.randint(10_000, 50_000),
            "checking": random.randint(10_000, 50_000),
        }
        for number in sorted(random.sample(range(CUSTOMERS), count))
    ]


WORKLOAD = Workload(
    name="smallbank",
    source="Alomari et al., ICDE 2008; H-Store",
    tables=(
        Table(
            "Account",
            f"""
            properties: {{custid: int32, name: string, savings: int32, checking: int32}}
            entities_total: {CUSTOMERS}
            sampling: random-rows
            queries:
              - {{name: balance, filter: "custid eq {{custid}}", rate: 15/s, draw: entities}}
            writes:
              - {{name: deposit-or-check, operation: update, key: [custid], sets: [checking], read_modify_write: true,
                 rate: 30/s, draw: entities}}
              - {{name: transact-savings, operation: update, key: [custid], sets: [savings], read_modify_write: true,
                 rate: 15/s, draw: entities}}
              - {{name: pay, operation: update, key: [custid], sets: [checking], read_modify_write: true, rate: 50/s,
                 draw: entities}}
              - {{name: amalgamate, operation: update, key: [custid], sets: [savings, checking],
                 read_modify_write: true, rate: 30/s, draw: entities}}
            transactions:
              - {{name: send-payment, together: [pay], pair: {{sender: custid, receiver: custid}}}}
              - {{name: amalgamation, together: [amalgamate], pair: {{giver: custid, taker: custid}}}}
            growth: {{rate: 0 %/month}}
            """,
            account_rows,
            500,
            Keys(
                "{reverse(custid)}",
                "",
                "Customers are read and changed one by one, and any two may meet: nothing but one partition for all "
                "keeps a payment in one group transaction, so it is written with an intent row.",
            ),
            identity=("custid",),
        ),
    ),
)

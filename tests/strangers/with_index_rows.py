"""Folders whose export holds each entity twice: its own row and the row of an index that the application keeps.

The right keys were written before the folders were analysed. ``index_rows`` are templates ``PK | RK (copy)`` in the
names of the draft.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from tests.strangers.stranger import Log, Stranger, table_csv

USERS = 700
MAILED = 9 * USERS // 10
"""Users that have an address: the others have no row in the index by address."""


def beside() -> Stranger:
    """Users of a tenant, and in the same partition a full copy of each by its address."""
    random, log = Random(41), Log(41)
    rows: list[dict[str, object]] = []
    users: list[tuple[str, str, str]] = []
    for n in range(USERS):
        tenant, user = f"t{random.randrange(20):02}", f"u{random.getrandbits(40):010x}"
        mail = f"{user[:4]}.{n}@example.org"
        said = {"Tenant": tenant, "UserId": user, "Mail": mail, "Visits": random.randrange(900)}
        rows.append({"PartitionKey": tenant, "RowKey": f"USER:{user}", **said})
        rows.append({"PartitionKey": tenant, "RowKey": f"MAIL:{mail}", **said})
        users.append((tenant, user, mail))
    for _ in range(900):
        tenant, user, mail = random.choice(users)
        log.point(tenant, f"USER:{user}")
        log.point(tenant, f"MAIL:{mail}")
    for n in range(200):
        tenant, user = f"t{random.randrange(20):02}", f"u{random.getrandbits(40):010x}"
        log.point(tenant, f"USER:{user}", "insert")
        log.point(tenant, f"MAIL:{user[:4]}.{USERS + n}@example.org", "insert")
    return Stranger(
        "full copies beside the entity",
        {"users.csv": table_csv(rows), "users.log": log.text("Users")},
        ("users.csv",),
        ("users.log",),
        (r"^\{Tenant\} \| ([A-Z]+:)?\{UserId\}$",),
        ("{Tenant} | USER:{UserId}",),
    )


def elsewhere() -> Stranger:
    """Accounts of a tenant, all listed at times, and pointers by address; nothing but keys tells the account."""
    random, log = Random(42), Log(42)
    rows: list[dict[str, object]] = []
    accounts: list[tuple[str, str, str]] = []
    for n in range(USERS):
        tenant, account = f"acme{random.randrange(20):02}", f"{random.getrandbits(48):012x}"
        mail = f"{account[:5]}.{n}@example.com" if n < MAILED else ""
        rows.append({"PartitionKey": tenant, "RowKey": account, "Mail": mail, "Plan": random.choice(["free", "pro"])})
        if mail:
            accounts.append((tenant, account, mail))
            rows.append({"PartitionKey": f"mail:{mail}", "RowKey": f"{tenant}|{account}"})
    for _ in range(900):
        tenant, account, mail = random.choice(accounts)
        log.point(tenant, account)
        log.query(f"PartitionKey eq 'mail:{mail}'")
    for n in range(300):
        log.query(f"PartitionKey eq 'acme{n % 20:02}'")
    return Stranger(
        "pointers by address",
        {"accounts.csv": table_csv(rows), "accounts.log": log.text("Accounts")},
        ("accounts.csv",),
        ("accounts.log",),
        (r"^(acme)?\{.*p1.*\} \| \{r1\}$",),
        ("acme{pad(p1,2)} | {r1}",),
    )


WITH_INDEX_ROWS: tuple[tuple[Callable[[], Stranger], str, int], ...] = (
    (beside, "{Tenant} | MAIL:{Mail} (full)", USERS),
    (elsewhere, "mail:{Mail} | acme{pad(p1,2)}|{r1} (pointer)", USERS),
)
"""Each folder with its only index row and the number of its entities."""

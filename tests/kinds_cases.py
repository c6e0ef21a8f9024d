"""Tables of several kinds with transactions across them, small enough to reckon by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from tests.plain import analyze


def _analyzed(folder: Path, files: dict[str, str], design: str) -> dict[str, Any]:
    for kind, text in files.items():
        (folder / f"{kind}.csv").write_text(text)
    (folder / "design.yaml").write_text(design)
    data = tuple(f"{kind}={folder / f'{kind}.csv'}" for kind in files)
    return analyze(AnalyzeRequest(data=data, design=str(folder / "design.yaml")), SilentProgress())


def shop(folder: Path, *, required: bool = True) -> dict[str, Any]:
    """400 orders of three lines each, written together: a header and its lines, 25 orders a second."""
    files = {
        "Orders": "order_id,customer\n" + "".join(f"o{i:05d},c{i % 50}\n" for i in range(400)),
        "Lines": "order_id,line,sku\n" + "".join(f"o{i:05d},{n},s{i % 9}\n" for i in range(400) for n in range(3)),
    }
    return _analyzed(
        folder,
        files,
        f"""schema: 1
tables:
  Shop:
    kinds:
      Orders: {{properties: {{order_id: string, customer: string}}}}
      Lines: {{properties: {{order_id: string, line: int32, sku: string}}}}
    queries:
      - {{name: header, kind: Orders, filter: "order_id eq '{{order_id}}'", rate: 40/s, draw: entities}}
      - {{name: lines-of, kind: Lines, filter: "order_id eq '{{order_id}}'", rate: 40/s,
         draw: {{by: distinct, of: [order_id]}}}}
    writes:
      - {{name: place, kind: Orders, operation: insert, rate: 25/s}}
      - {{name: add-line, kind: Lines, operation: insert, rate: 75/s}}
    transactions:
      - {{name: whole-order, together: [place, add-line], group_by: [order_id], required: {str(required).lower()}}}
    growth: {{rate: 0 %/month, of: rate}}
""",
    )


def devices(folder: Path, *, line: str) -> dict[str, Any]:
    """Orders and lines of 3 tenants in 5 regions, written together by both; lines are read by ranges of their device,
    whose text is made of a number. 8,000 reads a second ask for both in the PartitionKey."""
    where = [f"t{n % 3},r{n % 5}" for n in range(120)]
    files = {
        "Order": "tenant,region,order\n" + "".join(f"{of},o{n:03}\n" for n, of in enumerate(where)),
        "Line": "tenant,region,device\n"
        + "".join(f"{of},{line.format(3 * n + k)}\n" for n, of in enumerate(where) for k in range(3)),
    }
    equal = "tenant eq '{tenant}' and region eq '{region}' and"
    return _analyzed(
        folder,
        files,
        f"""schema: 1
tables:
  Shop:
    kinds:
      Order: {{properties: {{tenant: string, region: string, order: string}}}}
      Line: {{properties: {{tenant: string, region: string, device: string}}}}
    queries:
      - {{name: of-order, kind: Order, filter: "{equal} order eq '{{order}}'", rate: 4000/s, draw: entities}}
      - {{name: of-line, kind: Line, filter: "{equal} device eq '{{device}}'", rate: 4000/s, draw: entities}}
      - {{name: lines, kind: Line, filter: "{equal} device ge '{{device}}' and device lt '{{device}}0'",
         rate: 1/s, draw: entities}}
    writes:
      - {{name: place, kind: Order, operation: insert, rate: 1/s}}
      - {{name: add-line, kind: Line, operation: insert, rate: 3/s}}
    transactions:
      - {{name: whole-order, together: [place, add-line], group_by: [tenant, region], required: true}}
    growth: {{rate: 0 %/month, of: rate}}
""",
    )


def bank(folder: Path) -> dict[str, Any]:
    """Payments of 900 a second over one branch: two kinds that must change together, and a third that cannot."""
    files = {
        "Accounts": "account,branch,balance\n" + "".join(f"a{i:05d},b1,0\n" for i in range(600)),
        "Entries": "entry,branch,amount\n" + "".join(f"e{i:05d},b1,{i}\n" for i in range(600)),
        "Alerts": "alert,text\n" + "".join(f"x{i:05d},t{i}\n" for i in range(300)),
    }
    return _analyzed(
        folder,
        files,
        """schema: 1
tables:
  Bank:
    kinds:
      Accounts: {properties: {account: string, branch: string, balance: int32}}
      Entries: {properties: {entry: string, branch: string, amount: int32}}
      Alerts: {properties: {alert: string, text: string}}
    queries:
      - {name: balance, kind: Accounts, filter: "account eq '{account}' and branch eq '{branch}'", rate: 900/s,
         draw: entities}
      - {name: alert, kind: Alerts, filter: "alert eq '{alert}'", rate: 1/s, draw: entities}
      - {name: entry, kind: Entries, filter: "entry eq '{entry}' and branch eq '{branch}'", rate: 1/s, draw: entities}
    writes:
      - {name: pay, kind: Accounts, operation: update, key: [account, branch], sets: [balance],
         rate: 900/s, draw: entities}
      - {name: enter, kind: Entries, operation: insert, rate: 900/s}
      - {name: warn, kind: Alerts, operation: insert, rate: 1/s}
    transactions:
      - {name: payment, together: [pay, enter], group_by: [branch], required: true}
      - {name: payment-and-warning, together: [enter, warn], group_by: [branch]}
    growth: {rate: 0 %/month, of: rate}
""",
    )


def transfers(folder: Path) -> dict[str, Any]:
    """Two kinds that only together ask for more than the account gives: 12,000 balances and 13,000 look-ups a second.

    Transfers are between two accounts, which keys in use by account keep apart; an hour of them is more by the rate of
    inserts than the data has. A table beside them keeps tenants apart, of which one is too much for a server.
    """
    files = {
        "Accounts": "account,balance\n" + "".join(f"a{i:03d},0\n" for i in range(300)),
        "Moves": "move,from,to,at\n"
        + "".join(
            f"m{i:04d},a{0 if i % 2 else i % 300:03d},a{(i + 1) % 300:03d},2026-03-02T{i // 60:02}:{i % 60:02}:00Z\n"
            for i in range(600)
        ),
        "Orders": "tenant,order\n" + "".join(f"t{0 if n % 2 else n % 37:02d},o{n:04d}\n" for n in range(600)),
    }
    return _analyzed(
        folder,
        files,
        """schema: 1
tables:
  Transfers:
    kinds:
      Accounts:
        partition_key: "{account}"
        row_key: "ACCOUNT:"
        properties: {account: string, balance: int32}
      Moves:
        partition_key: "{from}"
        row_key: "MOVE:{move}"
        arrival: at
        properties: {move: string, from: string, to: string, at: datetime}
    queries:
      - {name: balance, kind: Accounts, filter: "account eq '{account}'", rate: 12000/s, draw: entities}
      - {name: of-account, kind: Moves, filter: "from eq '{from}' and move eq '{move}'", rate: 13000/s, draw: entities}
      - {name: last-hour, kind: Moves, rate: 1/s, draw: entities,
         filter: "from eq '{from}' and at ge datetime'{at-1h}' and at le datetime'{at}'"}
    writes:
      - {name: book, kind: Accounts, operation: update, key: [account], sets: [balance], rate: 40/s, draw: entities}
      - {name: record, kind: Moves, operation: insert, rate: 20/s}
    transactions:
      - {name: transfer, together: [book], pair: {from: account, to: account}}
    growth: {rate: 0 %/month, of: rate}
  Orders:
    isolation: tenant
    properties: {tenant: string, order: string}
    queries:
      - {name: by-id, filter: "tenant eq '{tenant}' and order eq '{order}'", rate: 3000/s, draw: entities}
      - {name: list, filter: "tenant eq '{tenant}'", top: 60, rate: 120/s, draw: entities}
    writes:
      - {name: place, operation: insert, rate: 1000/s}
    growth: {rate: 0 %/month}
""",
    )


MARKET = """\
schema: 1
tables:
  Market:
    partition_key: "{tenant}"
    row_key: "TENANT:"
    kinds:
      Tenants: {properties: {tenant: string, name: string}}
      Users:
        partition_key: "{tenant}"
        row_key: "USER:{user}"
        index_rows:
          - {row_key: "MAIL:{mail}"}
        properties: {tenant: string, user: string, mail: string}
      Orders:
        partition_key: "{tenant}"
        row_key: "ORDER:{order}"
        properties: {tenant: string, order: int32, user: string}
    queries:
      - {name: tenant, kind: Tenants, filter: "tenant eq '{tenant}'", rate: 10/s}
      - {name: user, kind: Users, filter: "tenant eq '{tenant}' and user eq '{user}'", rate: 60/s}
      - {name: by-mail, kind: Users, filter: "tenant eq '{tenant}' and mail eq '{mail}'", rate: 20/s}
      - {name: order, kind: Orders, filter: "tenant eq '{tenant}' and order eq {order}", rate: 50/s}
    writes:
      - {name: place, kind: Orders, operation: insert, rate: 3/s}
    growth: {rate: 0 %/month, of: rate}
"""
"""Three kinds in one table, each told apart by its label: 20 tenants with 5 users and 10 orders each."""


def market(folder: Path, design: str = MARKET, *, one_file: bool = False) -> list[str]:
    """Writes the data and the design of a market; what goes onto a command line for them."""
    tenants = [f"t{i:02d}" for i in range(20)]
    users = [(t, f"u{5 * i + n:03d}", f"m{5 * i + n}@x.example") for i, t in enumerate(tenants) for n in range(5)]
    orders = [(t, 10 * i + n + 1, f"u{5 * i + n % 5:03d}") for i, t in enumerate(tenants) for n in range(10)]
    (folder / "design.yaml").write_text(design)
    if one_file:
        rows = [f"{t},TENANT:,Tenants,{t},name of {t},,," for t in tenants]
        rows += [f"{t},USER:{u},Users,{t},,{u},{m}," for t, u, m in users]
        rows += [f"{t},ORDER:{o},Orders,{t},,{u},,{o}" for t, o, u in orders]
        (folder / "all.csv").write_text(
            "PartitionKey,RowKey,EntityType,tenant,name,user,mail,order\n" + "\n".join(rows)
        )
        return [str(folder / "all.csv"), "--design", str(folder / "design.yaml")]
    (folder / "Tenants.csv").write_text("tenant,name\n" + "".join(f"{t},name of {t}\n" for t in tenants))
    (folder / "Users.csv").write_text("tenant,user,mail\n" + "".join(f"{t},{u},{m}\n" for t, u, m in users))
    (folder / "Orders.csv").write_text("tenant,order,user\n" + "".join(f"{t},{o},{u}\n" for t, o, u in orders))
    data = [f"{kind}={folder / kind}.csv" for kind in ("Tenants", "Users", "Orders")]
    return [*data, "--design", str(folder / "design.yaml")]

"""More folders as a stranger has them: exports in other forms, and keys of other shapes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from datetime import timedelta
from random import Random
from urllib.parse import quote
from uuid import UUID

from tests.strangers.stranger import ROWS, TICKS_MAX, Log, Stranger, table_csv, ticks
from tests.worlds.law.log_lines import BEGIN


def _guid(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128), version=4))


def events_by_region() -> Stranger:
    """Events of a region and month, the newest first, each with a GUID behind its time."""
    random, log = Random(21), Log(21)
    regions = ("eu-west", "eu-north", "us-east", "ap-south")
    rows, keys = [], []
    for _ in range(ROWS):
        at = BEGIN - timedelta(seconds=random.random() * 9_000_000)
        key = (f"{random.choice(regions)}-{at.strftime('%Y%m')}", f"{TICKS_MAX - ticks(at):019}_{_guid(random)}")
        keys.append(key)
        rows.append(
            {"PartitionKey": key[0], "RowKey": key[1], "level": random.choice(["info", "warn"]), "text": "t" * 40}
        )
    for n in range(900):
        at = BEGIN + timedelta(seconds=n / 15)
        partition = f"{regions[n % 4]}-{at.strftime('%Y%m')}"
        log.point(partition, f"{TICKS_MAX - ticks(at):019}_{_guid(random)}", "insert")
    for _ in range(300):
        pk, rk = random.choice(keys)
        log.query(f"PartitionKey eq '{pk}' and RowKey ge '{rk[:19]}' and RowKey lt '{int(rk[:19]) + 10**12:019}'")
    return Stranger(
        "events by region and month",
        {"events.csv": table_csv(rows), "events.log": log.text("Events")},
        ("events.csv",),
        ("events.log",),
        (r"^\{p1\}.* \| \{reverse_ticks\(p[23]\)\}_\{r1\}$",),
        ("{p1}-{p2}-{time(p3,'yyyyMM')} | {reverse_ticks(p3)}_{r1}",),
    )


def hashed_in_hex() -> Stranger:
    """Users by the first digits of a hash of their name; their pages by a hash of the address in base64."""
    random, log = Random(22), Log(22)
    rows, keys = [], []
    users = [f"user{n}@example.org" for n in range(300)]
    for n in range(ROWS):
        user = random.choice(users)
        digest = hashlib.sha256(user.encode()).hexdigest()
        page = base64.urlsafe_b64encode(hashlib.md5(f"page{n}".encode()).digest()).decode().rstrip("=")
        keys.append((digest[:3], f"{user}|{page}"))
        rows.append({"PartitionKey": digest[:3], "RowKey": keys[-1][1], "User": user, "Visits": random.randrange(50)})
    for _ in range(900):
        log.point(*random.choice(keys))
    for _ in range(300):
        pk, rk = random.choice(keys)
        user = rk.split("|")[0]
        log.query(f"PartitionKey eq '{pk}' and RowKey ge '{user}|' and RowKey lt '{user}}}'")
    return Stranger(
        "hashes in hex and base64",
        {"visits.csv": table_csv(rows), "visits.log": log.text("Visits")},
        ("visits.csv",),
        ("visits.log",),
        (r"^(\{hash_prefix\(User,3\)\} \| \{User\}\|\{r1\}|\{User\} \| \{r1\})$",),
        ("{hash_prefix(User,3)} | {User}|{r1}",),
    )


def hashed_and_encoded() -> Stranger:
    """Rings of birds by the first digits of their MD5, percent-encoded in the RowKey, since they hold a slash."""
    random, log = Random(34), Log(34)
    rows, keys = [], []
    rings = [f"{office}/{n:05}" for n in range(200) for office in ("BTO", "Ölandet")]
    for n in range(ROWS):
        ring = rings[n % len(rings)]
        day = BEGIN - timedelta(days=n // len(rings), hours=9)
        pk, encoded = hashlib.md5(ring.encode()).hexdigest()[:2], quote(ring, safe="")
        keys.append((pk, f"{encoded}_{day:%Y%m%d}"))
        rows.append({"PartitionKey": pk, "RowKey": keys[-1][1], "Ring": ring, "SeenOn": f"{day:%Y-%m-%d}"})
    for _ in range(300):
        log.point(*random.choice(keys))
    for _ in range(900):
        pk, rk = random.choice(keys)
        encoded = rk.rsplit("_", 1)[0]
        log.query(f"PartitionKey eq '{pk}' and RowKey ge '{encoded}_' and RowKey lt '{encoded}`'")
    keys_in_use = "{md5_prefix(Ring,2)} | {r1}_{time(SeenOn,'yyyyMMdd')}"
    return Stranger(
        "hashed and encoded keys",
        {"rings.csv": table_csv(rows), "rings.log": log.text("Rings")},
        ("rings.csv",),
        ("rings.log",),
        ("^" + re.escape(keys_in_use) + "$",),
        (keys_in_use,),
    )


def guid_segments() -> Stranger:
    """Orders and invoices of a tenant, each by a word and a GUID behind a colon."""
    random, log = Random(23), Log(23)
    tenants = [_guid(random) for _ in range(60)]
    rows: list[dict[str, object]] = []
    keys: dict[str, list[tuple[str, str]]] = {"order": [], "invoice": []}
    for n in range(ROWS):
        word = "order" if n % 3 else "invoice"
        key = (f"tenant:{random.choice(tenants)}", f"{word}:{_guid(random)}")
        keys[word].append(key)
        rows.append({"PartitionKey": key[0], "RowKey": key[1], "amount": random.randrange(900)})
    for word in keys:
        for _ in range(600):
            log.point(*random.choice(keys[word]))
    for _ in range(300):
        log.query(f"PartitionKey eq '{random.choice(keys['order'])[0]}' and RowKey ge 'order:' and RowKey lt 'order;'")
    return Stranger(
        "trailing GUIDs",
        {"billing.csv": table_csv(rows), "billing.log": log.text("Billing", "azure monitor")},
        ("billing.csv",),
        ("billing.log",),
        (r"^(tenant:)?\{p1\} \| \{r1\}:\{r2\}$",),
        ("tenant:{p1} | {r1}:{r2}",),
    )


def sessions() -> Stranger:
    """Sessions by their id, spread by its first two characters, with the time at which they expire."""
    random, log = Random(24), Log(24)
    rows, keys = [], []
    for _ in range(ROWS):
        session = f"{random.getrandbits(128):032x}"
        at = BEGIN + timedelta(seconds=random.randrange(3600))
        keys.append((session[:2], session))
        rows.append(
            {
                "PartitionKey": session[:2],
                "RowKey": session,
                "Expires": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "State": "s" * 80,
            }
        )
    for _ in range(2_000):
        log.point(*random.choice(keys))
    for _ in range(300):
        log.point(*random.choice(keys), "update")
        log.point(*(lambda s: (s[:2], s))(f"{random.getrandbits(128):032x}"), "insert")
    return Stranger(
        "sessions that expire",
        {"sessions.csv": table_csv(rows), "sessions.log": log.text("Sessions")},
        ("sessions.csv",),
        ("sessions.log",),
        (r"^\{prefix\(r1,2\)\} \| \{r1\}$|^\{r1\} \|",),
        ("{prefix(r1,2)} | {r1}",),
    )


def mixed_devices() -> Stranger:
    """Devices of several makers, some of whose ids are numbers with leading zeros; the time in ISO form."""
    random, log = Random(25), Log(25)
    devices = [f"{n:06}" for n in range(40)] + [f"AX-{n}" for n in range(40)] + [f"00{n}b" for n in range(10, 50)]
    rows, keys = [], []
    for n in range(ROWS):
        at = BEGIN - timedelta(seconds=60 * n + random.random())
        device = random.choice(devices)
        keys.append((device, at.strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z"))
        rows.append({"PartitionKey": device, "RowKey": keys[-1][1], "rssi": -random.randrange(90), "battery": 3.7})
    for n in range(900):
        at = BEGIN + timedelta(seconds=n / 15)
        log.point(random.choice(devices), at.strftime("%Y-%m-%dT%H:%M:%S.%f") + "0Z", "insert")
    for _ in range(300):
        pk, rk = random.choice(keys)
        log.query(f"PartitionKey eq '{pk}' and RowKey ge '{rk}'")
    return Stranger(
        "devices of mixed ids",
        {"hub.csv": table_csv(rows), "hub.log": log.text("Hub")},
        ("hub.csv",),
        ("hub.log",),
        (r"^\{p1\} \| \{r1\}$|^\{p1\} \| \{ticks\(r1\)\}$",),
        ("{p1} | {r1}",),
    )


def nested() -> Stranger:
    """Orders as JSON lines with values inside values; the keys are made of two of these."""
    random, log = Random(26), Log(26)
    lines, keys = [], []
    for n in range(ROWS):
        customer, number = f"c-{random.randrange(120)}", 10_000 + n
        keys.append((customer, f"{number:08}"))
        lines.append(
            {
                "PartitionKey": customer,
                "RowKey": keys[-1][1],
                "customer": {"id": customer, "address": {"city": random.choice(["Oslo", "Rome"])}},
                "order": {"number": number, "lines": [{"sku": n % 17, "count": 1}]},
            }
        )
    for _ in range(900):
        log.point(*random.choice(keys))
    for _ in range(300):
        log.query(f"PartitionKey eq '{random.choice(keys)[0]}'")
    return Stranger(
        "nested JSON lines",
        {"orders.jsonl": "".join(json.dumps(line) + "\n" for line in lines), "orders.log": log.text("Orders")},
        ("orders.jsonl",),
        ("orders.log",),
        (r"^\{`?customer\.id`?\} \| \{(pad\()?`?order\.number",),
        ("{customer.id} | {pad(order.number,8)}",),
    )


def german() -> Stranger:
    """An export of a German spreadsheet: semicolons, a byte order mark, CRLF and decimal commas."""
    random, log = Random(27), Log(27)
    lines, keys = ["PartitionKey;RowKey;Kundennummer;Größe;Betrag;Straße"], []
    for n in range(ROWS):
        customer = random.randrange(90)
        keys.append((f"K{customer:05}", f"B{n:07}"))
        lines.append(
            f"{keys[-1][0]};{keys[-1][1]};{customer};{random.choice(['groß', 'klein'])};"
            f"{random.randrange(900)},{random.randrange(100):02};Hauptstraße {n % 40}"
        )
    for _ in range(900):
        log.point(*random.choice(keys))
    for _ in range(300):
        log.query(f"PartitionKey eq '{random.choice(keys)[0]}'")
    return Stranger(
        "a German spreadsheet",
        {"Bestellungen.csv": "\ufeff" + "\r\n".join(lines) + "\r\n", "zugriffe.log": log.text("Bestellungen")},
        ("Bestellungen.csv",),
        ("zugriffe.log",),
        (r"^K?\{(pad\()?Kundennummer.* \| B?\{(pad\()?r1",),
        ("K{pad(Kundennummer,5)} | B{pad(r1,7)}",),
    )


def access_log() -> Stranger:
    """Spanish columns without keys, and a web server's access log turned into a trace by the manual's recipe."""
    random = Random(28)
    rows = [
        {
            "código": f"p{n:05}",
            "país": random.choice(["ES", "MX", "AR"]),
            "dueño": f"u{random.randrange(80)}",
            "año": 2020 + n % 6,
        }
        for n in range(ROWS)
    ]
    lines = []
    for n in range(1_500):
        row = random.choice(rows)
        found = re.search(
            r'\[(\S+) [^]]*\] "GET /pedidos/(\w+)(?:\?dueno=(\w+))?',
            f'10.0.0.1 - - [02/Mar/2026:10:{n // 60:02}:{n % 60:02} +0000] "GET /pedidos/'
            + (f'{row["código"]} HTTP/1.1" 200 5' if n % 3 else f'todos?dueno={row["dueño"]} HTTP/1.1" 200 5'),
        )
        assert found is not None
        text = f"dueño eq '{found[3]}'" if found[3] else f"código eq '{found[2]}'"
        at = f"2026-03-02T10:{n // 60:02}:{n % 60:02}Z"
        lines.append(json.dumps({"table": "Pedidos", "at": at, "filter": text}, ensure_ascii=False) + "\n")
    return Stranger(
        "an access log",
        {"pedidos.csv": table_csv(rows), "pedidos.jsonl": "".join(lines)},
        ("pedidos.csv",),
        ("pedidos.jsonl",),
        (r"(código|dueño)",),
    )


def rooms() -> Stranger:
    """Three kinds of rows in the partition of a chat room, of which one has a constant RowKey and few rows. The newest
    messages come first by their keys alone; nothing is wrong with these keys."""
    random, log = Random(30), Log(30)
    names = [f"room-{n:04}" for n in range(25)]
    rows = [{"PartitionKey": room, "RowKey": "META", "Title": f"talk {n}"} for n, room in enumerate(names)]
    for room in names:
        members = sorted(random.sample(range(9_000), 40))
        rows += [{"PartitionKey": room, "RowKey": f"MEM_u{n:05}", "Role": random.choice(["a", "m"])} for n in members]
    for n in range(2 * ROWS):
        key = f"MSG_{TICKS_MAX - ticks(BEGIN - timedelta(seconds=60 * n + random.random())):019}"
        rows.append({"PartitionKey": random.choice(names), "RowKey": key, "Text": "hello " * random.randrange(1, 5)})
    for n in range(1_200):
        room = random.choice(names)
        log.query(f"PartitionKey eq '{room}' and RowKey ge 'MSG_' and RowKey lt 'MSG`'", top=50)
        if n % 3 == 0:
            log.point(room, f"MSG_{TICKS_MAX - ticks(BEGIN + timedelta(seconds=n / 20)):019}", "insert")
        if n % 5 == 0:
            log.point(room, "META")
            log.query(f"PartitionKey eq '{room}' and RowKey ge 'MEM_' and RowKey lt 'MEM`'")
    current = (
        "room-{pad(p1,4)} | MEM_u{pad(r1,5)}",
        "room-{pad(p1,4)} | MSG_{reverse_ticks(r1)}",
        "room-{pad(p1,4)} | META",
    )
    return Stranger(
        "rooms of a chat",
        {"chat.csv": table_csv(rows), "chat.log": log.text("Chat")},
        ("chat.csv",),
        ("chat.log",),
        tuple("^" + re.escape(keys) + "$" for keys in current),
        current,
    )


def ledger() -> Stranger:
    """Transfers of a wallet by day and GUID: the statement of a month reads the transfers of all wallets."""
    random, log = Random(31), Log(31)
    wallets = [f"W{random.randrange(10**9):09}" for _ in range(90)]
    rows, keys = [], []
    for _ in range(ROWS):
        at = BEGIN - timedelta(seconds=random.random() * 60 * 86_400)
        keys.append((f"{at:%Y-%m-%d}", _guid(random)))
        own = {
            "Wallet": random.choice(wallets),
            "Cents": random.randrange(10**6),
            "BookedAt": f"{at:%Y-%m-%dT%H:%M:%SZ}",
        }
        rows.append({"PartitionKey": keys[-1][0], "RowKey": keys[-1][1], **own})
    for _ in range(600):
        log.point(*random.choice(keys))
        last = BEGIN - timedelta(days=random.randrange(20))
        days = f"PartitionKey ge '{last - timedelta(days=30):%Y-%m-%d}' and PartitionKey le '{last:%Y-%m-%d}'"
        log.query(f"{days} and Wallet eq '{random.choice(wallets)}'")
        log.point(f"{BEGIN:%Y-%m-%d}", _guid(random), "insert")
    return Stranger(
        "a ledger by day",
        {"ledger.jsonl": "".join(json.dumps(row) + "\n" for row in rows), "ledger.log": log.text("Ledger")},
        ("ledger.jsonl",),
        ("ledger.log",),
        (r"^\{time\(BookedAt,'yyyy-MM-dd'\)\} \| \{r1\}$",),
        ("{time(BookedAt,'yyyy-MM-dd')} | {r1}",),
    )


def orders_with_lines() -> Stranger:
    """Orders of a shop and their lines behind them, which one range reads together; only orders have a time."""
    random, log = Random(32), Log(32)
    shops = [f"shop{n:03}" for n in range(30)]
    rows: list[dict[str, object]] = []
    orders = []
    for n in range(ROWS // 3):
        key = (random.choice(shops), f"O:{40_000 + 3 * n:08}")
        orders.append(key)
        placed = f"{BEGIN - timedelta(seconds=60 * (ROWS // 3 - n)):%Y-%m-%dT%H:%M:%SZ}"
        rows.append(
            {"PartitionKey": key[0], "RowKey": key[1], "Customer": f"c{random.randrange(90)}", "Placed": placed}
        )
        for line in range(random.randrange(1, 5)):
            own = {"Sku": f"SKU-{random.randrange(500):04}", "Quantity": random.randrange(1, 9)}
            rows.append({"PartitionKey": key[0], "RowKey": f"{key[1]}:L:{line:03}", **own})
    for _ in range(900):
        shop, order = random.choice(orders)
        log.query(f"PartitionKey eq '{shop}' and RowKey ge '{order}' and RowKey lt '{order};'")
        log.point(*random.choice(orders), random.choice(["query", "update"]))
    current = ("shop{pad(p1,3)} | O:{pad(r1,8)}:L:{pad(r2,3)}", "shop{pad(p1,3)} | O:{pad(r1,8)}")
    return Stranger(
        "orders with lines",
        {"shop.csv": table_csv(rows), "shop.log": log.text("Shop", "azure monitor")},
        ("shop.csv",),
        ("shop.log",),
        tuple("^" + re.escape(keys) + "$" for keys in current),
        current,
    )


def meters() -> Stranger:
    """Readings of a meter by their time to the second, of which requests name whole months."""
    random, log = Random(33), Log(33)
    names = [f"MTR{random.randrange(10**8):08}" for _ in range(25)]
    rows = []
    for n in range(ROWS):
        at = BEGIN - timedelta(hours=n, seconds=random.randrange(60))
        rows.append({"PartitionKey": names[n % 25], "RowKey": f"{at:%Y-%m-%dT%H:%M:%SZ}", "Kwh": random.randrange(99)})
    for n in range(900):
        meter, month = random.choice(names), 1 + n % 2
        log.query(f"PartitionKey eq '{meter}' and RowKey ge '2026-0{month}-01' and RowKey lt '2026-0{month + 1}-01'")
        log.point(meter, f"{BEGIN + timedelta(seconds=n / 15):%Y-%m-%dT%H:%M:%SZ}", "insert")
    current = "MTR{pad(p1,8)} | {time(r1,'yyyy-MM-ddTHH:mm:ssZ')}"
    return Stranger(
        "meters by second",
        {"meters.csv": table_csv(rows), "meters.log": log.text("Meters", "azure monitor")},
        ("meters.csv",),
        ("meters.log",),
        ("^" + re.escape(current) + "$",),
        (current,),
    )


def sales_in_groups() -> Stranger:
    """An order and its two items, which a trace shows to be written in one group transaction."""
    random = Random(34)
    shops = [f"s{n:03}" for n in range(30)]
    rows: list[dict[str, object]] = []
    lines: list[dict[str, object]] = []
    for n in range(ROWS // 3):
        shop = random.choice(shops)
        rows.append({"PartitionKey": shop, "RowKey": f"ORD:{n:06}", "total": n % 97})
        rows += [{"PartitionKey": shop, "RowKey": f"ITM:{n:06}:{item:02}", "sku": f"k{n % 50}"} for item in range(2)]
    for n in range(300):
        shop, at, asked = random.choice(shops), 1_790_000_000 + n / 5, random.choice(rows)
        keys = [f"ORD:{ROWS + n:06}", *(f"ITM:{ROWS + n:06}:{item:02}" for item in range(2))]
        own = {"table": "Sales", "at": at}
        lines += [own | {"op": "insert", "pk": shop, "rk": key, "group": f"g{n}"} for key in keys]
        lines.append(own | {"pk": asked["PartitionKey"], "rk": asked["RowKey"]})
    current = ("s{pad(p1,3)} | ITM:{pad(r1,6)}:{pad(r2,2)}", "s{pad(p1,3)} | ORD:{pad(r1,6)}")
    return Stranger(
        "sales in groups",
        {"sales.csv": table_csv(rows), "sales.jsonl": "".join(json.dumps(line) + "\n" for line in lines)},
        ("sales.csv",),
        ("sales.jsonl",),
        tuple("^" + re.escape(keys) + "$" for keys in current),
        current,
    )


MORE: tuple[Callable[[], Stranger], ...] = (
    events_by_region,
    hashed_in_hex,
    hashed_and_encoded,
    guid_segments,
    sessions,
    mixed_devices,
    nested,
    german,
    access_log,
    rooms,
    ledger,
    orders_with_lines,
    meters,
    sales_in_groups,
)
"""Other shapes than those of ``folders``."""

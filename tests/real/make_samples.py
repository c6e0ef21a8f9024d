"""Rebuild the data and the log of the bundled samples, byte for byte.

    PKADVISOR_SHARED=DIR python tests/real/make_samples.py [OUT] [NAME ...]

``DIR`` holds the real data (``DIR/data/chicago-marathon``, ``DIR/data/beijing-air-quality``); only ``footrace`` and
``sensors`` read it. ``OUT`` defaults to ``samples/`` of the checkout. Everything else is drawn from SHA-256 of a stated
seed and a counter, so that the bytes depend neither on the Python version nor on the platform.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import html
import io
import os
import sys
from bisect import bisect_right
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from urllib.parse import quote

Rows = list[tuple[object, ...]]


class Dice:
    """Reproducible draws: number ``i`` is SHA-256 of ``seed:i``."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._drawn = 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to ``limit`` - 1."""
        self._drawn += 1
        return digest(f"{self._seed}:{self._drawn}") % limit

    def weighted(self, cumulative: list[int]) -> int:
        """An index, drawn in proportion to the whole-number weights whose running sum is ``cumulative``."""
        return bisect_right(cumulative, self.below(cumulative[-1]))

    def guid(self) -> str:
        """Text in the shape of a GUID."""
        self._drawn += 1
        text = hashlib.sha256(f"{self._seed}:{self._drawn}".encode()).hexdigest()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:32]}"


def digest(text: str) -> int:
    """The first 64 bits of the SHA-256 of ``text``."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def zipf(ranks: int, *, hundredths: int) -> list[int]:
    """Running sums of weights 1/rank^(``hundredths``/100), as whole numbers."""
    return list(accumulate(max(1, round(1e6 / (rank ** (hundredths / 100)))) for rank in range(1, ranks + 1)))


def iso(time: datetime) -> str:
    """``time`` (UTC) to the second, as ISO 8601."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def to_csv(header: str, rows: Rows) -> bytes:
    """``rows`` as CSV with line feeds."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header.split(","))
    writer.writerows(rows)
    return out.getvalue().encode()


def gz(data: bytes) -> bytes:
    """``data`` as gzip, without name and time."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=9, mtime=0) as file:
        file.write(data)
    return out.getvalue()


# --- footrace: chicago-marathon runners, MIT

RACES = (  # event, distance, how many runners; only the first is real, see samples/footrace/README.md
    ("2023 Chicago Marathon", "Full", 1800),
    ("2023 Lakefront Run", "Half", 1200),
    ("2023 Lakefront Run", "10K", 900),
    ("2023 Prairie Run", "Full", 700),
    ("2023 Prairie Run", "Half", 800),
    ("2023 Prairie Run", "10K", 600),
)
RACES_OPEN = datetime(2022, 10, 25, 15, tzinfo=UTC)
RACES_OPEN_S = 3000  # 48,000 registrations at 16 a second


def age_in_group(group: str, salt: int) -> int:
    """A whole age inside an age group of the source: ``20-24``, ``19 and under`` or ``80+``."""
    if group == "80+":
        return 80 + salt % 5
    if group == "19 and under":
        return 16 + salt % 4
    return int(group[:2]) + salt % 5


def footrace(shared: Path) -> dict[str, bytes]:
    """6,000 of the 48,000 runners, chosen and spread over the races by hash of the bib."""
    with gzip.open(shared / "data/chicago-marathon/runners.csv.gz", "rt", encoding="utf-8", newline="") as file:
        runners = [r for r in csv.DictReader(file) if r["bib"] != "1544" and r["age_group"][0].isdigit()]
    runners.sort(key=lambda r: digest(f"footrace-1:{r['bib']}"))
    made: list[tuple[datetime, tuple[object, ...]]] = []
    left = iter(runners)
    for event, distance, count in RACES:
        for place in range(count):
            r = next(left)
            salt = digest(f"footrace-1:details:{int(r['bib'])}")
            # The invented races number their runners from 1, as races do: a bib alone names nobody.
            bib = int(r["bib"]) if (event, distance) == RACES[0][:2] else 1 + place * 8 + salt % 8
            at = RACES_OPEN + timedelta(seconds=(salt >> 16) % RACES_OPEN_S)
            age = age_in_group(r["age_group"], salt)
            row = (event, distance, bib, r["initials"], r["gender"], age, r["city_state"], iso(at))
            made.append((at, row))
    made.sort(key=lambda m: (m[0], m[1][2]))
    header = "event,distance,bib,initials,gender,age,city,registered_at"
    return {"registrations.csv": to_csv(header, [row for _, row in made])}


# --- microblog: seed microblog-1

TOPIC_LIST = (
    "Channel9 Databases Travel Chess Gardening Astronomy Cycling Jazz Cooking Robotics Weather Football "
    "Photography History Sailing Knitting Birds Theatre Maps Podcasts Running Trains Poetry Ceramics Wine Geology "
    "Fencing Opera Drones Tea"
)
TOPICS = TOPIC_LIST.split()
BLOG_WORD_LIST = (
    "today we tried a new way to do this and it went better than last time so here is what we learned about it again "
    "first results look good but more work is needed before anybody can use it thanks for all your notes and ideas"
)
BLOG_WORDS = BLOG_WORD_LIST.split()
BLOGS_FROM = datetime(2009, 8, 31, tzinfo=UTC)
BLOGS_LOG_FROM = datetime(2009, 10, 29, 12, tzinfo=UTC)
BLOGS_LOG_S = 600
BLOGS_BEFORE, BLOGS_LOGGED = 2940, 60
ACCOUNT = "microblog"


@dataclass(frozen=True, slots=True)
class Post:
    """One entity of the table Blogs."""

    channel: str
    posted: datetime
    text: str
    rating: int

    @property
    def row_key(self) -> str:
        """The RowKey in use: the time of posting to the second."""
        return self.posted.strftime("%Y%m%d%H%M%S")


def posts() -> list[Post]:
    """2,940 posts over 59 days and 60 in the ten minutes of the log, no two of a channel in one second."""
    dice = Dice("microblog-1")
    channels = zipf(len(TOPICS), hundredths=90)
    seen: set[tuple[str, int]] = set()
    made = []
    before_s = int((BLOGS_LOG_FROM - BLOGS_FROM).total_seconds())
    for i in range(BLOGS_BEFORE + BLOGS_LOGGED):
        channel = TOPICS[dice.weighted(channels)]
        at_s = dice.below(before_s) if i < BLOGS_BEFORE else before_s + dice.below(BLOGS_LOG_S)
        while (channel, at_s) in seen:
            at_s += 1
        seen.add((channel, at_s))
        text = " ".join(BLOG_WORDS[dice.below(len(BLOG_WORDS))] for _ in range(5 + dice.below(12)))
        made.append(Post(channel, BLOGS_FROM + timedelta(seconds=at_s), text, 1 + dice.below(5)))
    return sorted(made, key=lambda p: (p.posted, p.channel))


@dataclass(frozen=True, slots=True)
class Request:
    """One log line before it is written; ``path`` is not yet percent-encoded."""

    operation: str
    path: str
    query: str = ""
    key: str = ""
    status: str = "Success"
    http: int = 200
    sent_bytes: int = 0
    etag: str = ""
    client_id: str = ""


def storage_analytics_line(request: Request, at: datetime, request_id: str, number: int) -> str:
    """A line of Storage Analytics 1.0: thirty fields, texts HTML-encoded and quoted.

    The lines of a group transaction share latency, sizes and client, as those of the service do.
    """
    dice = Dice(request_id)
    url = f"https://{ACCOUNT}.table.core.windows.net/" + quote(request.path, safe="()=',$")
    if request.query:
        url += "?" + quote(request.query, safe="$=&'")
    server_ms = 3 + dice.below(20)
    texts = [html.escape(t, quote=True).replace("&#x27;", "'") for t in (url, f"/{ACCOUNT}{request.key}", request.etag)]
    fields = (
        "1.0",
        at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond:06d}0Z",
        request.operation,
        request.status,
        request.http,
        server_ms + 1 + dice.below(15),
        server_ms,
        "authenticated",
        ACCOUNT,
        ACCOUNT,
        "table",
        f'"{texts[0]}"',
        f'"{texts[1]}"',
        request_id,
        number,
        f"203.0.113.{1 + dice.below(4)}:{40000 + dice.below(20000)}",
        "2009-09-19",
        300 + dice.below(90),
        request.sent_bytes,
        200 + dice.below(60),
        200 + dice.below(2000) if request.operation.startswith("Query") and request.http == 200 else 0,
        request.sent_bytes,
        "",
        "",
        f'"{texts[2]}"' if texts[2] else "",
        "",
        f'"If-Match={texts[2]}"' if request.operation == "MergeEntity" else "",
        '"Microblog/1.0 (.NET CLR 2.0.50727; Win32NT 6.1)"',
        "",
        f'"{request.client_id or dice.guid()}"',
    )
    return ";".join(str(f) for f in fields)


def entity_path(post: Post) -> str:
    """The address of one post."""
    return f"Blogs(PartitionKey='{post.channel}',RowKey='{post.row_key}')"


def entity_key(post: Post) -> str:
    """The object key of one post."""
    return f"/Blogs/{post.channel}/{post.row_key}"


def microblog_request(kind: int, known: list[Post], ranks: list[int], at: datetime, dice: Dice) -> Request:
    """A read or an update; ``kind`` runs from 0 to 99."""
    channel = TOPICS[dice.weighted(ranks)]
    if kind < 62:  # what a subscriber has not seen yet: everything since the last visit
        since = at - timedelta(minutes=30 + dice.below(2 * 24 * 60))
        query = f"$filter=PartitionKey eq '{channel}' and RowKey ge '{since:%Y%m%d%H%M%S}'"
        return Request("QueryEntities", "Blogs()", query, "/Blogs")
    if kind < 69:  # one page of the whole channel
        return Request("QueryEntities", "Blogs()", f"$filter=PartitionKey eq '{channel}'&$top=100", "/Blogs")
    newest = 1 + dice.below(300) if dice.below(10) < 8 else 1 + dice.below(len(known))
    post = known[-newest]
    if kind < 94:
        return Request("QueryEntity", entity_path(post), "", entity_key(post))
    if kind < 99:
        etag = f"W/\"datetime'{quote(iso(post.posted), safe='')}'\""
        return Request("MergeEntity", entity_path(post), "", entity_key(post), http=204, sent_bytes=420, etag=etag)
    return Request("QueryEntities", "Blogs()", "$filter=rating eq 3", "/Blogs")


def microblog_log(made: list[Post]) -> bytes:
    """Ten minutes of requests: about two reads a second, the 60 inserts, and what real logs also hold."""
    dice = Dice("microblog-1:log")
    ranks = zipf(len(TOPICS), hundredths=110)
    lines: list[tuple[datetime, int, str]] = []

    def write(request: Request, at: datetime, request_id: str, number: int = 0) -> None:
        lines.append((at, len(lines), storage_analytics_line(request, at, request_id, number)))

    for post in made[-BLOGS_LOGGED:]:
        at = post.posted + timedelta(microseconds=dice.below(1_000_000))
        write(Request("InsertEntity", "Blogs", "", entity_key(post), http=201, sent_bytes=640), at, dice.guid())
    for i in range(1200):
        at = BLOGS_LOG_FROM + timedelta(microseconds=dice.below(BLOGS_LOG_S * 1_000_000))
        request = microblog_request(dice.below(100), made[:-BLOGS_LOGGED], ranks, at, dice)
        request_id = dice.guid()
        if i % 150 == 149:  # throttled once; the client asks again after a second
            request = replace(request, client_id=dice.guid())
            write(replace(request, status="ThrottlingError", http=503), at, request_id)
            at, request_id = at + timedelta(seconds=1), dice.guid()
        write(request, at, request_id)
        if i % 400 == 399:  # the service may write a line twice
            at_again, _, text = lines[-1]
            lines.append((at_again, len(lines), text))
    for n in range(4):  # a moderator hides three posts of one channel in one group transaction
        at = BLOGS_LOG_FROM + timedelta(seconds=90 + 120 * n, microseconds=dice.below(1_000_000))
        request_id = dice.guid()
        channel = TOPICS[n]
        write(Request("EntityGroupTransaction", "$batch", http=202, sent_bytes=2100), at, request_id)
        for number, post in enumerate([p for p in made[:-BLOGS_LOGGED] if p.channel == channel][-3:], start=1):
            write(
                Request("DeleteEntity", "$batch", "", entity_key(post), http=202, sent_bytes=2100),
                at,
                request_id,
                number,
            )
    lines.sort(key=lambda entry: entry[:2])
    return "".join(f"{text}\n" for _, _, text in lines).encode()


def microblog(shared: Path) -> dict[str, bytes]:
    """Posts of 30 channels and a log over the keys in use (channel, time of posting)."""
    made = posts()
    rows: Rows = [(p.channel, iso(p.posted), p.text, p.rating) for p in made]
    return {
        "blogs.csv": to_csv("channel,posted,text,rating", rows),
        "table-000000.log.gz": gz(microblog_log(made)),
    }


# --- documents: seed documents-1

DOCUMENT_NAMES = ("contract", "invoice", "manual", "offer", "minutes", "report", "plan", "letter")
DOCUMENTS_FROM = datetime(2007, 1, 8, 8, tzinfo=UTC)


def documents(shared: Path) -> dict[str, bytes]:
    """320 documents; a few have many versions, most have few."""
    dice = Dice("documents-1")
    rows: list[tuple[object, ...]] = []
    for i in range(320):
        name = f"{DOCUMENT_NAMES[dice.below(len(DOCUMENT_NAMES))]}-{1000 + i}"
        at_s = dice.below(150 * 86400)
        for version in range(1, 2 + 200 // (1 + dice.below(200)) if i % 40 == 0 else 2 + dice.below(13)):
            at = DOCUMENTS_FROM + timedelta(seconds=at_s)
            rows.append((name, version, iso(at), f"user{dice.below(45):02d}", 2000 + dice.below(90000)))
            at_s += 60 + dice.below(4 * 86400)
    rows.sort(key=lambda r: (str(r[2]), str(r[0])))
    return {"documents.csv": to_csv("document,version,changed,author,size_bytes", rows)}


# --- bank: seed bank-1

BANK_FROM = datetime(2011, 3, 1, 9, tzinfo=UTC)


def bank(shared: Path) -> dict[str, bytes]:
    """2,000 transactions in 50 seconds, of two rows, every twentieth with a third for the fee; each nets to zero."""
    dice = Dice("bank-1")
    owners = zipf(400, hundredths=60)
    rows: list[tuple[object, ...]] = []
    for i in range(2000):
        transaction = f"T{dice.guid().replace('-', '')[:15].upper()}"
        at = BANK_FROM + timedelta(milliseconds=25 * i + dice.below(25))
        booked = at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
        payer = dice.weighted(owners)
        payee = (payer + 1 + dice.below(399)) % 400
        cents = 100 + dice.below(90_000)
        fee = 25 if i % 20 == 19 else 0
        rows.append((transaction, 30_000_000 + 7 * payer, "debit", -cents - fee, booked))
        rows.append((transaction, 30_000_000 + 7 * payee, "credit", cents, booked))
        if fee:
            rows.append((transaction, 90_000_001, "credit", fee, booked))
    return {"transactions.csv": to_csv("transaction_id,account,side,amount_cents,booked", rows)}


# --- sensors: beijing-air-quality, CC BY 4.0

SENSOR_COLUMN_LIST = "year month day hour PM2.5 PM10 SO2 NO2 CO O3 TEMP PRES DEWP RAIN wd WSPM"
SENSOR_COLUMNS = SENSOR_COLUMN_LIST.split()
SENSOR_MONTHS = (("2013", "11"), ("2013", "12"))
BEIJING_AHEAD_H = 8  # China Standard Time has no summer time


def sensors(shared: Path) -> dict[str, bytes]:
    """Two months of all twelve stations, hour by hour."""
    rows: list[tuple[object, ...]] = []
    for path in sorted((shared / "data/beijing-air-quality").glob("PRSA_Data_*.csv.gz")):
        with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
            for r in csv.DictReader(file):
                if (r["year"], r["month"]) in SENSOR_MONTHS:
                    local = datetime(int(r["year"]), int(r["month"]), int(r["day"]), int(r["hour"]), tzinfo=UTC)
                    ts = iso(local - timedelta(hours=BEIJING_AHEAD_H))
                    values = ("" if r[c] == "NA" else r[c] for c in SENSOR_COLUMNS)
                    rows.append((ts, r["station"], *values))
    rows.sort(key=lambda r: (str(r[0]), str(r[1])))
    names = [c.lower().replace(".", "") for c in SENSOR_COLUMNS]
    return {"readings.csv.gz": gz(to_csv(",".join(["ts", "station", *names]), rows))}


# --- orders: seed orders-1

STATUSES = (("delivered", 70), ("shipped", 12), ("paid", 9), ("new", 5), ("cancelled", 4))
ORDERS_FROM = datetime(2022, 1, 3, tzinfo=UTC)


def orders(shared: Path) -> dict[str, bytes]:
    """4,000 orders of 25 tenants out of two years; the largest tenant has about a quarter of them.

    Order numbers rise within a tenant, with gaps of some 300: the file holds one order in 300.
    """
    dice = Dice("orders-1")
    tenants = zipf(25, hundredths=100)
    statuses = list(accumulate(weight for _, weight in STATUSES))
    last: dict[int, int] = {}
    rows: list[tuple[object, ...]] = []
    for i in range(4000):
        tenant = dice.weighted(tenants)
        last[tenant] = last.get(tenant, 0) + 1 + dice.below(599)
        customer = tenant * 1000 + dice.weighted(zipf(20 + 400 // (tenant + 1), hundredths=70))
        created = iso(ORDERS_FROM + timedelta(seconds=15_780 * i + dice.below(15_780)))
        total = f"{5 + dice.below(400)}.{dice.below(100):02d}"
        status = STATUSES[dice.weighted(statuses)][0]
        rows.append((f"tenant-{tenant + 1:02d}", last[tenant], f"C{customer:05d}", status, created, total))
    return {"orders.csv": to_csv("tenantId,orderId,customerId,status,created,total", rows)}


SAMPLES = {
    "footrace": footrace,
    "microblog": microblog,
    "documents": documents,
    "bank": bank,
    "sensors": sensors,
    "orders": orders,
}


def main(args: list[str]) -> None:
    """Write the samples named in ``args`` (all of them without names)."""
    out = Path(args[0]) if args else Path(__file__).resolve().parents[2] / "samples"
    shared = Path(os.environ.get("PKADVISOR_SHARED", "."))
    for name in args[1:] or list(SAMPLES):
        for file, data in SAMPLES[name](shared).items():
            path = out / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


if __name__ == "__main__":
    main(sys.argv[1:])

"""Valid files of everything that is read: small, and made by the commands themselves wherever a command writes them."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from pkadvisor.resources import resource
from tests.sample_results import stored

DATA_ROWS = 120
LOG_LINES = 150
DESIGN = """\
schema: 1
tables:
  Registrations:
    partition_key: "{event}__{distance}"
    row_key: "{bib}__{initials}"
    index_rows:
      - {row_key: "AGE:{pad(age,3)}_{pad(bib,6)}", copy: pointer}
    properties: {event: string, distance: string, bib: int32, initials: {type: string, size: 4, sensitive: personal},
                 gender: string, age: int32, city: string, registered_at: datetime}
    entities_total: 48_000
    sampling: random-rows
    arrival: registered_at
    queries:
      - {name: by-bib, filter: "event eq '{event}' and distance eq '{distance}' and bib eq {bib}",
         rate: 60/s, peak: 300/s, p99: 50ms, draw: entities}
      - {name: by-age, filter: "event eq '{event}' and distance eq '{distance}' and age eq {age}", order_by: [bib],
         top: 100, rate: 4/s, draw: {by: distinct, of: [event, distance, age]}}
      - {name: recent, filter: "registered_at ge datetime'{registered_at-1d}'", rate: 1/day, analytic: true}
    writes:
      - {name: register, operation: insert, rate: 16/s, peak: 71/s, peak_at: "18:00-20:00"}
      - {name: correct, operation: update, key: [event, distance, bib], sets: [age], rate: 1/h, read_modify_write: true}
    transactions:
      - {name: one-city, together: [register], group_by: [event, city], required: false}
    growth: {rate: 8 %/month, of: new_keys, horizon: 24 months}
    retention: 24 months
    retry: exponential
"""
KINDS_DESIGN = """\
schema: 1
tables:
  Shop:
    partition_key: "{tenant}"
    row_key: "TENANT:"
    isolation: tenant
    kinds:
      Tenants: {}
      Users: {partition_key: "{tenant}", row_key: "USER:{user}", index_rows: [{row_key: "MAIL:{mail}"}]}
      Orders: {partition_key: "{tenant}", row_key: "ORDER:{pad(order,8)}", properties: {order: int64, placed: datetime}}
    queries:
      - {name: one, kind: Orders, filter: "tenant eq '{tenant}' and order eq {order}", rate: 5/s}
    writes:
      - {name: place, kind: Orders, operation: insert, rate: 2/s}  # pkadvisor: ignore PK403 -- known
"""
RULE = """\
id = "ACME001"
name = "too-many-index-rows"
title = "More index rows than one"
scope = "table"
needs = ["design"]
measured = "table.index_rows"
limit = "1.0"
unit = "rows"
why = "Each is a write."
fix = "leave out an index row"

[[level]]
severity = "warning"
when = "table.index_rows > 0.0 && !(table.entities < 10.0) && [1.0, 2.0].exists(x, x > table.index_rows)"
message = "{subject} has {measured} index rows, more than {limit}"

[[fail]]
severity = "warning"
design = '''
schema: 1
tables: {Orders: {partition_key: "{a}", row_key: "{b}", index_rows: [{row_key: "{c}"}]}}
'''
"""
PART_RULE = """\
id = "ACME002"
name = "lower-case-parts"
title = "A part is not in lower case"
scope = "part"
why = "Languages disagree."
fix = "write {subject} in lower case"
[[level]]
severity = "info"
when = "part.number_unpadded || size(part.asked_in_order) > 0 && part.asked_in_order.exists(q, q.startsWith('by'))"
message = "{subject} of {table}"
"""
LIMITS = """\
schema = 1
store = "measured"
page_entities = 500
price_per_gb_month = 0.07
[partition_entities_per_s]
value = 4000
source = "own test"
basis = "published"
date = 2026-01-01
"""
SETTINGS = """\
schema = 1
designs = ["design.yaml"]
data = ["Registrations=data.csv"]
fail_on = "warning"
profile = ["profile.json"]
[limits]
page_entities = 500
[budget]
cost_month = 500
index_rows = "2"
[review]
select = ["PK1", "PK303"]
ignore = ["PK110"]
[review.severity]
PK303 = "info"
[[review.suppress]]
rule = "PK101"
reason = "small"
path = "design.yaml"
target = "tables.Registrations"
until = 2027-03-31
"""
CANDIDATES = """\
# a comment
{event}_{distance} | BIB:{pad(bib,6)}
  + AGE:{pad(age,3)}_{pad(bib,6)} (full)
{hash(bib,8)} | {bib}
  + {city} | {pad(bib,6)} (pointer)
"""
CANDIDATES_YAML = """\
- "{event} | {pad(bib,6)}"
- {partition_key: "{event}", row_key: "{sortable(bib)}", index_rows: [{row_key: "AGE:{pad(age,3)}_{bib}", copy: full}]}
"""
TEMPLATES = (
    "{event}__{distance} | {bib}__{initials}__{gender}__{age}",
    "{hash(concat(event,'_',distance),16)} | {time(registered_at,'yyyyMMdd')}_{reverse_ticks(registered_at)}_{seq(4)}",
    "{lower(city)} | {reverse_pad(bib,6)}~{sortable(age)}{{x}}",
    "{prefix(city,3)}_{hash_prefix(bib,2)} | {reverse(bib)}_{time_of_day(registered_at,3)}_{reverse_sortable(age)}",
    "{`event`} | {time(registered_at,'YYYY-Www')}",
)
FILTERS = (
    "event eq '{event}' and (distance eq '{distance}' or bib lt {bib}) and not (age ge 30)",
    "registered_at ge datetime'{registered_at-30d}' and registered_at lt datetime'2026-01-01T00:00:00Z'",
    "PartitionKey eq '2023 Lakefront Run__10K' and RowKey ge '1' and RowKey lt '2'",
    "city ne 'O''Hare' and bib eq 12L or age gt -1.5e3 and gender eq null",
    "guid eq guid'c9da6455-213d-42c9-9a79-3e9149a57833' and flag eq true and blob eq X'00ff'",
)
MONITOR = {
    "time": "2026-01-01T00:00:00.1234567Z",
    "resourceId": "/subscriptions/x/providers/Microsoft.Storage/storageAccounts/shop/tableServices/default",
    "category": "StorageRead",
    "operationName": "QueryEntities",
    "operationVersion": "2019-07-07",
    "statusCode": 200,
    "statusText": "Success",
    "durationMs": 7,
    "callerIpAddress": "192.0.2.1:4000",
    "correlationId": "0f1e2d3c-0002-0000-0000-000000000000",
    "uri": "https://shop.table.core.windows.net/Orders()?$filter=PartitionKey%20eq%20'a'%20and%20RowKey%20ge%20'1'&$top=5",
    "properties": {"accountName": "shop", "serviceType": "table", "objectKey": "/shop/Orders", "serverLatencyMs": 4,
                   "operationCount": 0, "responseBodySize": 340, "clientRequestId": "c-1"},
}  # fmt: skip
ARGUMENTS: tuple[tuple[str, ...], ...] = (
    ("analyze", "data.csv", "--design", "design.yaml", "--top", "3", "--format", "json"),
    ("analyze", "data.csv", "--design", "design.yaml", "--budget", "index_rows=1", "-v", "--redact", "keys"),
    (
        "analyze",
        "--log",
        "log.txt",
        "--since",
        "2009-10-29T12:00:05Z",
        "--until",
        "2009-10-30",
        "--log-fraction",
        "50%",
    ),
    ("analyze", "data.csv", "--log", "trace.jsonl", "--sample-rows", "50", "--max-bad-lines", "5%"),
    ("review", "design.yaml", "--profile", "profile.json", "--fail-on", "warning", "--out", "sarif=out.sarif"),
    ("review", "design.yaml", "kinds.yaml", "--select", "PK1,PK303", "--ignore", "PK110", "--today", "2026-11-01"),
    ("review", "design.yaml", "--against", "design.yaml", "--baseline", "baseline.json", "--budget", "cost_month=5"),
    ("score", "design.yaml", "data.csv", "--scheme", "{event} | {pad(bib,6)}", "--seed", "3"),
    ("compare", "result.json", "result.json", "--fail-if-worse", "score=5%"),
    ("compare", "design.yaml", "design.yaml", "data.csv", "--format", "json"),
    ("explain", "PK303"),
    ("explain", "query:by-age", "data.csv", "--design", "design.yaml", "--scheme", "current"),
    ("explain", "scheme:2", "--result", "result.json"),
    ("explain", "key", "2023 Lakefront Run__10K", "--design", "design.yaml"),
    ("explain", "keys", "data.csv"),
    ("profile", "data.csv", "--design", "design.yaml", "--out", "out.json", "--salt-file", "design.yaml"),
    ("report", "result.json", "--out", "html=out.html", "--theme", "dark", "--sections", "verdict,scheme"),
    ("report", "stress.json", "--max-size", "100kB", "--title", "Keys"),
    ("init", "new", "--from", "data.csv", "--log", "log.txt", "--yes", "--ci", "github", "--force"),
    ("rules", "list", "--select", "PK3", "--format", "json"),
    ("rules", "explain", "PK303"),
    ("samples", "list", "--format", "json"),
    ("config", "schema", "--of", "design"),
    ("config", "show", "--config", "pkadvisor.toml"),
    ("completion", "bash"),
)


def ahead() -> list[Callable[[], object]]:
    """The files that all kinds begin with."""
    return [corpus]


@stored
def corpus() -> dict[str, bytes]:
    """Valid files by name; what commands write is written by them."""
    files = {**plain(), **compressed(), "data.parquet": _parquet()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, content in files.items():
            (folder / file).write_bytes(content)
        for words in (
            ("analyze", "data.csv", "--design", "design.yaml", "--top", "2", "--out", "json=result.json"),
            ("score", "design.yaml", "data.csv", "--out", "json=score.json"),
            ("profile", "data.csv", "--log", "log.txt", "--design", "design.yaml", "--out", "profile.json"),
            ("profile", "--log", "trace.jsonl", "--out", "profile-log.json"),
            ("stress", "data.csv", "--design", "design.yaml", "--duration", "20s", "--out", "json=stress.json"),
            ("review", "design.yaml", "--profile", "profile.json", "--out", "json=review.json"),
            ("compare", "result.json", "result.json", "--out", "json=comparison.json"),
            ("review", "design.yaml", "--baseline", "baseline.json", "--write-baseline"),
        ):
            command = [sys.executable, "-m", "pkadvisor", *words, "-q", "--isolated"]
            ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            assert ran.returncode in (0, 1), (words, ran.stderr)
        for path in folder.glob("*.json"):
            files[path.name] = path.read_bytes()
    return files


def plain() -> dict[str, bytes]:
    """The files that people write, and data and logs in every format of text."""
    import polars as pl

    rows = (resource("samples", "footrace") / "registrations.csv").read_text().splitlines()[: DATA_ROWS + 1]
    frame = pl.read_csv("\n".join(rows).encode())
    records = frame.to_dicts()
    typed = ["PartitionKey,RowKey,Timestamp,bib,bib@type,at,at@type"]
    typed += [
        f"{r['event']},{r['bib']},2026-01-01T00:00:00Z,{r['bib']},Edm.Int32,{r['registered_at']},Edm.DateTime"
        for r in records
    ]
    keyed = [{"PartitionKey": r["event"], "RowKey": str(r["bib"]), "tags": ["a", {"b": 1}], **r} for r in records]
    rest = [{**r, "age@odata.type": "Edm.Int64", "age": str(r["age"]), "odata.etag": "W/1"} for r in keyed]
    log = gzip.decompress((resource("samples", "microblog") / "table-000000.log.gz").read_bytes())
    monitor = [{**MONITOR, "correlationId": f"0f1e2d3c-{i:04}", "time": f"2026-01-01T00:00:{i:02}Z"} for i in range(40)]
    heads = ("TimeGenerated [UTC]", "OperationName", "StatusCode", "StatusText", "Uri", "ServiceType", "CorrelationId")
    analytics = [
        ",".join((m["time"], m["operationName"], "200", "Success", f'"{m["uri"]}"', "table", m["correlationId"]))  # type: ignore[arg-type]
        for m in monitor
    ]
    trace = [
        {"table": "Registrations", "op": "query", "at": 1700000000 + i, "pk": "a", "rk": str(i), "top": 5,
         "id": f"r{i}",
         "filter": f"event eq '{r['event']}' and bib eq {r['bib']}", "status": 200, "latency_ms": 1.5, "bytes": 100}
        for i, r in enumerate(records[:60])
    ]  # fmt: skip
    paths = [str(m["uri"]).split("/", 3)[3] for m in monitor]
    access = [
        f'10.0.0.1 - - [14/Nov/2023:22:{n // 60:02}:{n % 60:02} +0000] "GET /{path} HTTP/1.1" 200 9'
        for n, path in enumerate(paths)
    ]
    texts = {
        "design.yaml": DESIGN,
        "kinds.yaml": KINDS_DESIGN,
        "rule.toml": RULE,
        "part-rule.toml": PART_RULE,
        "limits.toml": LIMITS,
        "pkadvisor.toml": SETTINGS,
        "candidates.txt": CANDIDATES,
        "candidates.yaml": CANDIDATES_YAML,
        "data.csv": "\n".join(rows) + "\n",
        "semicolons.csv": frame.write_csv(separator=";", quote_style="always"),
        "typed.csv": "\n".join(typed) + "\n",
        "data.jsonl": "\n".join(map(json.dumps, records)),
        "keyed.jsonl": "\n".join(map(json.dumps, keyed)),
        "rest.json": json.dumps({"odata.metadata": "x", "value": rest}),
        "array.json": json.dumps(keyed),
        "log.txt": "\n".join(log.decode().splitlines()[:LOG_LINES]) + "\n",
        "monitor.jsonl": "\n".join(map(json.dumps, monitor)),
        "monitor.json": json.dumps({"records": monitor}),
        "analytics.csv": "\n".join([",".join(heads), *analytics]) + "\n",
        "trace.jsonl": "\n".join(map(json.dumps, trace)),
        "access.log": "\n".join(access) + "\n",
    }
    return {name: text.encode() for name, text in texts.items()}


def compressed() -> dict[str, bytes]:
    """The same data under each compression, and in UTF-16."""
    import zstandard

    data = (resource("samples", "footrace") / "registrations.csv").read_bytes()[:6000].rpartition(b"\n")[0] + b"\n"
    return {
        "data.gz": gzip.compress(data, mtime=0),
        "data.bz2": bz2.compress(data),
        "data.xz": lzma.compress(data),
        "data.zst": zstandard.compress(data),
        "data.utf16": data.decode().encode("utf-16"),
    }


def _parquet() -> bytes:
    import io

    import polars as pl

    frame = pl.DataFrame(
        {
            "event": ["a", "b", None] * 40,
            "bib": list(range(120)),
            "share": [0.5, 1.0, 2.5] * 40,
            "flag": [True, False, None] * 40,
            "tags": [["a", "b"], [], None] * 40,
            "place": [{"city": "x", "zip": 1}] * 120,
        }
    )
    buffer = io.BytesIO()
    frame.write_parquet(buffer)
    return buffer.getvalue()

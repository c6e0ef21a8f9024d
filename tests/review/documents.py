"""Documents of a review made by hand, for tests of formats; each keeps to the published schema."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
from jsonschema import Draft202012Validator

from pkadvisor.documents.review import ReviewDocument
from pkadvisor.report.documents import review_result
from pkadvisor.report.formats import junit, review_markdown, sarif
from pkadvisor.report.formats.annotations import render_azure, render_github, render_gitlab
from pkadvisor.report.text import review_page
from tests.report.support import schema

Document = dict[str, Any]
NAME = "schema/orders.yaml"


def finding(rule: str = "PK201", severity: str = "error", **more: Any) -> Document:
    """A finding about a query; ``line``, ``subject`` and ``excerpt`` go where they belong."""
    line, name = more.pop("line", 7), more.pop("subject", "by-status")
    excerpt = more.pop("excerpt", "      - {name: by-status, filter: \"status eq '{status}'\", rate: 5/s}")
    path = f"tables.Orders.queries.{name}"
    made = {
        "rule": rule,
        "name": "query-scans-table",
        "severity": severity,
        "status": None,
        "gating": severity == "error",
        "message": f"'{name}' reads the whole table, 5 times a second",
        "table": "Orders",
        "kind": None,
        "subject": {"scope": "query", "name": name, "path": path},
        "place": {
            "line": line,
            "column": 9,
            "end_line": line,
            "end_column": len(excerpt) + 1,
            "excerpt": excerpt,
            "path": path,
        },
        "measured": None,
        "limit": None,
        "unit": "",
        "before": None,
        "facts": [{"name": "query.access", "value": "table scan", "unit": "", "basis": "declared"}],
        "fix": "name the PartitionKey in the filter",
        "proposal": "",
        "fingerprint": hashlib.sha256(f"{rule} {path}".encode("utf-8", "surrogatepass")).hexdigest(),
        "suppressed": None,
        "baselined": False,
    }
    return {**made, **more}


def suppressed(reason: str = "a nightly export", **more: Any) -> Document:
    """A finding that a comment in the design lets pass."""
    said = {"reason": reason, "until": "2027-03-31", "where": f"{NAME}:7"}
    return finding(rule="PK202", severity="warning", suppressed=said, gating=False, **more)


def hot(**more: Any) -> Document:
    """A finding with a number, a limit, the number before and a proposal."""
    numbers = {"measured": 3400.0, "limit": 2000.0, "unit": "entities/s", "before": 900.0}
    told = {"name": "hot-partition", "proposal": "{tenantId}_{hash(deviceId,16)} / {orderId}"}
    place = {"line": 4, "subject": "{day}", "excerpt": '    partition_key: "{day}"'}
    message = "the hottest partition takes 3,400 entities/s at the peak, 1.7 times its target of 2,000"
    return finding(rule="PK103", message=message, **{**numbers, **told, **place, **more})


def metric(name: str, before: float | None, after: float | None, **more: Any) -> Document:
    """A number of two designs; more is worse."""
    change = None if before is None or after is None else after - before
    word = "unknown" if change is None else "same" if not change else "worse" if change > 0 else "better"
    made = {"table": "Orders", "kind": None, "name": name, "unit": "x", "before": before, "after": after}
    return {**made, "change": change, "direction": word, "limit": None, **more}


def diff(**more: Any) -> Document:
    """A comparison in which nothing changed, unless told otherwise."""
    made: Document = {"against": "origin/main", "same_load": True, "profile_changed": False, "metrics": []}
    made |= {"queries": [], "keys": [], "fixed": []}
    return {**made, "counts": {"new": 0, "worse": 0, "unchanged": 0, "fixed": 0}, **more}


def worsened() -> Document:
    """A comparison in which everything changed."""
    return diff(
        profile_changed=True,
        metrics=[
            metric("peak partition load", 0.74, 1.7, limit=1.0),
            metric("latency_p99", 12.0, 940.0, unit="ms", limit=50.0),
            metric("cost_month", 396.0, 398.0, unit="USD", direction="same"),
            metric("query_requests", None, 4.0, unit="requests/s"),
        ],
        queries=[
            {
                "table": "Orders",
                "name": "by-status",
                "access_before": "point",
                "access_after": "table scan",
                "direction": "worse",
            }
        ],
        keys=[
            {
                "table": "Orders",
                "class": "rewrite",
                "entities": 41_200_000.0,
                "partition_key": ["{tenantId}", "{day}"],
                "row_key": ["{orderId}", "{orderId}"],
                "index_rows_added": ["{status} / {orderId}"],
                "index_rows_removed": [],
            }
        ],
        fixed=[finding("PK303", "error", name="numeric-not-padded", gating=False, subject="{number}")],
    )


def design(*findings: Document, name: str = NAME, **more: Any) -> Document:
    """One design; every rule that its findings name was asked, and three more."""
    evaluated = [_evaluated("PK301", "forbidden-characters"), _evaluated("PK304", "separator-ambiguous", undecided=2)]
    evaluated += [_evaluated("PK104", "hot-partition-near", skipped="needs a profile (--profile) or data (--data)")]
    rules = dict.fromkeys((f["rule"], f["name"]) for f in findings)
    evaluated += [_evaluated(r, n, findings=sum(f["rule"] == r for f in findings)) for r, n in rules]
    table = {"table": "Orders", "kind": None, "partition_key": "{day}", "row_key": "{orderId}"}
    tables = [{**table, "has_data": False, "note": "", "grounds": []}]
    made: Document = {"design": name, "error": None, "tables": tables}
    return {**made, "findings": list(findings), "evaluated": evaluated, "diff": None, **more}


def _evaluated(rule: str, name: str, **more: Any) -> Document:
    made = {"rule": rule, "name": name, "subjects": 2, "findings": 0, "undecided": 0, "missing": [], "skipped": ""}
    return {**made, **({"missing": ["table.entities"]} if more.get("undecided") else {}), **more}


def broken(name: str = "schema/bad.yaml", what: str = "unknown key 'partitionkey'") -> Document:
    """A design that could not be read."""
    excerpt = "    partitionkey: x\n    ^^^^^^^^^^^^"
    error = {"exit_code": 2, "what": what, "where": f"{name}:3:5", "excerpt": excerpt}
    told: Document = {"design": name, "error": {**error, "fix": "did you mean 'partition_key'?"}, "tables": []}
    return {**told, "findings": [], "evaluated": [], "diff": None}


def page_of_rule(**more: Any) -> Document:
    """The page of a rule."""
    made: Document = {"id": "PK201", "name": "query-scans-table", "title": "A query reads the whole table"}
    made |= {"severity": "error", "levels": ["error"], "scope": "query", "needs": ["design"], "precision": "high"}
    made |= {"tags": ["queries"], "aliases": [], "why": "The table has one index.", "bad": "a: 1", "good": "a: 2"}
    links = [{"title": "Design for querying", "url": "https://learn.microsoft.com/azure/storage/tables/"}]
    made |= {"fix": "name the PartitionKey", "links": links, "unit": "", "ratchet": False, "builtin": False}
    return {**made, **more}


def document(*designs: Document, fail_on: str = "error", **more: Any) -> Document:
    """The result of a review of such designs, with its counts."""
    found = [f for d in designs for f in d["findings"]]
    told = [f for f in found if f["suppressed"] is None and not f["baselined"]]
    summary = {s: sum(f["severity"] == s for f in told) for s in ("error", "warning", "info")}
    summary |= {"suppressed": sum(f["suppressed"] is not None for f in found)}
    summary |= {"baselined": sum(f["baselined"] for f in found)}
    summary |= {s: sum(f["status"] == s for f in found) for s in ("new", "worse", "unchanged")}
    summary |= {"gating": sum(f["gating"] for f in found)}
    unread = any(d["error"] for d in designs)
    failed = summary["gating"] > 0
    made: Document = {"document": "pkadvisor review", "schema_version": "1.0"}
    made |= {"tool": {"name": "pkadvisor", "version": "0.1.0"}}
    made |= {"outcome": "unreadable" if unread else "failed" if failed else "passed"}
    made |= {"exit_code": 2 if unread else int(failed), "redacted": False}
    made |= {"gate": {"fail_on": fail_on, "new_only": False}, "summary": summary}
    return {**made, "designs": list(designs), "rules": [page_of_rule()], **more}


def everything() -> Document:
    """Two designs with all that there can be; the second cannot be read."""
    return document(
        design(
            hot(status="new"),
            finding(status="worse", baselined=True),
            finding("PK203", "info", name="query-fan-out", status="unchanged", baselined=True, gating=False),
            suppressed(status="unchanged"),
            diff=worsened(),
        ),
        broken(),
    )


def complaints(found: Document) -> list[str]:
    """Where a document breaks the published schema."""
    errors = Draft202012Validator(schema("review")).iter_errors(found)
    return [f"{error.json_path}: {error.message[:200]}" for error in errors]


def typed(found: Document, kind: Any = ReviewDocument) -> Any:
    """A document, or a part of one, as the value that is drawn."""
    return msgspec.convert(found, kind)


def text(found: Document, width: int = 80, **more: Any) -> str:
    """The page."""
    options = {"color": False, "ascii_only": False, **more}
    return review_page.render_review(typed(found), width=width, **options)


def rendered(found: Document, paths: dict[str, str] | None = None) -> dict[str, str]:
    """A document in every format."""
    at, value = paths or {}, typed(found)
    return {
        "text": text(found),
        "concise": review_page.render_concise(value),
        "json": review_result.dump(value),
        "sarif": sarif.render_sarif(value, at).decode(),
        "junit": junit.render_junit(value, at).decode(),
        "github": render_github(value, at),
        "azure": render_azure(value, at),
        "gitlab": render_gitlab(value, at).decode(),
        "markdown": review_markdown.render_markdown(value, at),
    }


def copy(found: Document) -> Document:
    """A document of one's own."""
    made: Document = json.loads(json.dumps(found))
    return made

"""The audit log of a service with many tenants: written all the time, read rarely, kept for 90 days.

Source: AWS CloudTrail, API reference, LookupEvents: events of the last 90 days by event id, user name or resource
name, newest first, 50 in an answer; NIST SP 800-92, Guide to Computer Security Log Management:
fields of an audit record (when, who, what, on which object), retention.

Rates are assumed: 30 events a second and 6.5 look-ups. The data is a slice, the last minutes of the log; the whole
holds 90 days of it. Tenants are Zipfian with exponent 0.9 (assumed), and a tenant's events come from few users.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, Workload, arrivals, text, zipf


def event_rows(random: Random, count: int) -> list[Row]:
    tenants = zipf(random, 200, 0.9, count)
    return [
        {
            "tenant": f"tenant-{tenant:03d}",
            "event_id": text(random, 16),
            "occurred": at,
            "actor": f"user-{tenant:03d}-{actor}",
            "action": random.choice(("read", "read", "update", "create", "delete", "login")),
            "resource": f"bucket-{tenant:03d}-{int(random.paretovariate(0.7)) % 500}",
            "detail": text(random, 200),
        }
        for tenant, actor, at in zip(tenants, zipf(random, 20, 1.0, count), arrivals(random, count, 30), strict=True)
    ]


WORKLOAD = Workload(
    name="audit_log",
    source="AWS CloudTrail LookupEvents; NIST SP 800-92",
    tables=(
        Table(
            "Events",
            """
            properties: {tenant: string, event_id: string, occurred: datetime, actor: string, action: string,
              resource: string, detail: string}
            entities_total: 233_000_000
            sampling: slice
            arrival: occurred
            isolation: tenant
            retention: 90 days
            queries:
              - {name: of-tenant, filter: "tenant eq '{tenant}'", order_by: [occurred desc], top: 50, rate: 2/s,
                 draw: entities}
              - {name: by-user, filter: "tenant eq '{tenant}' and actor eq '{actor}'", order_by: [occurred desc],
                 top: 50, rate: 1/s, draw: entities}
              - {name: by-resource, filter: "tenant eq '{tenant}' and resource eq '{resource}'",
                 order_by: [occurred desc], top: 50, rate: 3/s, draw: entities}
              - {name: by-id, filter: "tenant eq '{tenant}' and event_id eq '{event_id}'", rate: 0.5/s, draw: entities}
            writes:
              - {name: record, operation: insert, rate: 30/s}
            """,
            event_rows,
            1000,
            Keys(
                "{tenant}",
                "TIME:{reverse_ticks(occurred)}_{event_id}",
                "A tenant's events must stay apart and are asked for in four ways, newest first: copies in the "
                "tenant's own partition cost no further request for an event and save scans of months.",
                (
                    IndexRow("USER:{actor}_{reverse_ticks(occurred)}_{event_id}"),
                    IndexRow("RESOURCE:{resource}_{reverse_ticks(occurred)}_{event_id}"),
                    IndexRow("ID:{event_id}"),
                ),
            ),
            identity=("event_id",),
        ),
    ),
)

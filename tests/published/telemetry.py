"""Telemetry of devices, and the registry of the devices.

Source: Microsoft, Azure IoT reference architecture, version 2.1: device identity and registry store, warm
storage (the last days of telemetry by device and time); Microsoft, Design scalable and performant
tables (Azure Table storage design guide), patterns *log tail* and *data series*.

Rates are assumed: 2,000 devices of 50 tenants (Zipfian with exponent 0.8) report every 4 s on average, some ten times
as often as others. A device's last contact is noted in the registry once a minute.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import Keys, Row, Table, Workload, arrivals, zipf

DEVICES = 2_000


def registry_rows(random: Random, count: int) -> list[Row]:
    times = arrivals(random, count, 0.001)
    return [
        {
            "tenant": f"t{tenant:02d}",
            "device": f"dev-{n:05d}",
            "model": random.choice(("M1", "M1", "M2", "M3")),
            "firmware": random.choice(("v1.0", "v1.1", "v1.1", "v2.0")),
            "registered": at,
            "last_seen": times[-1],
        }
        for n, (tenant, at) in enumerate(zip(zipf(random, 50, 0.8, count), times, strict=True))
    ]


def reading_rows(random: Random, count: int) -> list[Row]:
    """All readings of some devices over 20 hours."""
    devices = random.sample(range(DEVICES), max(10, count // 60))
    often = [random.choice((1, 1, 1, 3, 10)) for _ in devices]
    drawn = random.choices(devices, often, k=count)
    return [
        {"source": f"dev-{device:05d}", "at": at, "celsius": round(random.gauss(21, 4), 1), "battery": 3.1, "seq": n}
        for n, (device, at) in enumerate(zip(drawn, arrivals(random, count, count / 72_000), strict=True))
    ]


WORKLOAD = Workload(
    name="telemetry",
    source="Microsoft Azure IoT reference architecture 2.1; Azure Table storage design guide",
    tables=(
        Table(
            "Registry",
            """
            properties: {tenant: string, device: string, model: string, firmware: string, registered: datetime,
              last_seen: datetime}
            arrival: registered
            queries:
              - {name: one-device, filter: "tenant eq '{tenant}' and device eq '{device}'", rate: 100/s, draw: entities}
              - {name: of-tenant, filter: "tenant eq '{tenant}'", order_by: [device], top: 100, rate: 2/s,
                 draw: {by: distinct, of: [tenant]}}
              - {name: roll-out, filter: "model eq '{model}' and firmware eq '{firmware}'", rate: 1/h, analytic: true,
                 draw: entities}
            writes:
              - {name: register, operation: insert, rate: 6/h}
              - {name: seen, operation: update, key: [tenant, device], sets: [last_seen], rate: 33/s, draw: entities}
            """,
            registry_rows,
            1000,
            Keys("{tenant}", "{device}", "Both parts are always known, and a tenant's devices are listed in order."),
            identity=("device",),
        ),
        Table(
            "Telemetry",
            f"""
            properties: {{source: string, at: datetime, celsius: double, battery: double, seq: int32}}
            entities_total: {DEVICES * 60}
            sampling: random-keys
            sampled_by: [source]
            arrival: at
            queries:
              - {{name: newest, filter: "source eq '{{source}}'", order_by: [at desc], top: 1, rate: 50/s,
                 draw: {{by: distinct, of: [source]}}}}
              - {{name: last-hours, rate: 10/s, draw: entities,
                 filter: "source eq '{{source}}' and at ge datetime'{{at-2h}}' and at le datetime'{{at}}'"}}
            writes:
              - {{name: report, operation: insert, rate: 500/s}}
            retention: 7 days
            """,
            reading_rows,
            900,
            Keys(
                "{source}",
                "{reverse_ticks(at)}",
                "The design guide's log tail for each device: the newest reading is its partition's first row, and a "
                "range of hours is a range of rows.",
            ),
            identity=("source", "at"),
        ),
    ),
)

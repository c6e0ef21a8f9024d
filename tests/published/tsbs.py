"""TSBS, use case *devops* (cpu only): readings of the processors of 4,000 hosts.

Source: Time Series Benchmark Suite, github.com/timescale/tsbs, README (appendix I: query types of devops) and
``cmd/tsbs_generate_queries/uses/devops/devops.go``. A reading has ten metrics and ten tags. Queries: single-groupby
(one host, 1 hour and 12 hours), cpu-max-all (one host, 8 hours), high-cpu (one host, 12 hours, usage over 90),
lastpoint (the last reading of each host, here asked for host by host), double-groupby (all hosts, 12 hours) and
groupby-orderby-limit, which read everything and are declared as analyses.

Scaled: a reading every 5 minutes in place of every 10 s, and 30 times the hosts that send at once, so that 133
readings come a second. Rates of queries are assumed, since TSBS runs each type alone.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import Keys, Row, Table, Workload, moment

HOSTS, STEP_S, READINGS = 40_000, 300, 288
METRICS = ("user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice")


def reading_rows(random: Random, count: int) -> list[Row]:
    """A day of some hosts; each metric is a random walk between 0 and 100, as TSBS has it."""
    hosts = random.sample(range(HOSTS), count // READINGS)
    now = {host: [random.uniform(0, 100) for _ in METRICS] for host in hosts}
    rows: list[Row] = []
    for step in range(READINGS):
        for host in hosts:
            now[host] = [min(100.0, max(0.0, value + random.gauss(0, 5))) for value in now[host]]
            rows.append(
                {
                    "hostname": f"host_{host}",
                    "region": ("us-east-1", "us-west-1", "eu-west-1")[host % 3],
                    "service": str(host % 20),
                    "time": moment(step * STEP_S),
                    **{f"usage_{name}": round(value, 2) for name, value in zip(METRICS, now[host], strict=True)},
                }
            )
    return rows


WORKLOAD = Workload(
    name="tsbs",
    source="Time Series Benchmark Suite, use case devops, cpu-only",
    tables=(
        Table(
            "Cpu",
            f"""
            properties: {{hostname: string, region: string, service: string, time: datetime}}
            entities_total: {HOSTS * READINGS}
            sampling: random-keys
            sampled_by: [hostname]
            arrival: time
            queries:
              - {{name: single-groupby-1-1-1, rate: 10/s, draw: entities,
                 filter: "hostname eq '{{hostname}}' and time ge datetime'{{time-1h}}' and time lt datetime'{{time}}'"}}
              - {{name: single-groupby-1-1-12, rate: 5/s, draw: entities,
                 filter: "hostname eq '{{hostname}}' and time ge datetime'{{time-12h}}'
                   and time lt datetime'{{time}}'"}}
              - {{name: cpu-max-all-1, rate: 5/s, draw: entities,
                 filter: "hostname eq '{{hostname}}' and time ge datetime'{{time-8h}}' and time lt datetime'{{time}}'"}}
              - {{name: high-cpu-1, rate: 2/s, draw: entities,
                 filter: "hostname eq '{{hostname}}' and usage_user gt 90.0 and time ge datetime'{{time-12h}}'
                 and time lt datetime'{{time}}'"}}
              - {{name: lastpoint, filter: "hostname eq '{{hostname}}'", order_by: [time desc], top: 1, rate: 20/s,
                 draw: {{by: distinct, of: [hostname]}}}}
              - {{name: double-groupby, filter: "time ge datetime'{{time-12h}}' and time lt datetime'{{time}}'",
                 rate: 1/h, analytic: true, draw: entities}}
            writes:
              - {{name: read-in, operation: insert, rate: 133/s}}
            """,
            reading_rows,
            1152,
            Keys(
                "{hostname}",
                "{reverse_ticks(time)}",
                "Every query but the analyses names the host and a range of time; newest first gives the last point.",
            ),
            identity=("hostname", "time"),
        ),
    ),
)

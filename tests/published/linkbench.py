"""LinkBench: the social graph of Facebook as nodes, typed links and counts of links.

Source: T. G. Armstrong et al., LinkBench: a Database Benchmark Based on the Facebook Social Graph, SIGMOD 2013.
Schema: the tables of github.com/facebookarchive/linkbench (linktable, nodetable, counttable). Mix:
``config/FBWorkload.properties``: get_link_list 50.7 %, get_node 12.9, add_link 9.0, update_link 8.0,
update_node 7.4, count_link 4.9, delete_link 3.0, add_node 2.6, delete_node 1.0, multiget_link 0.5. Out-degrees follow
a power law; reads of nodes are Zipfian with exponent 0.606.

Rates are assumed: 1,000 operations a second. A list is asked for newest first with a limit of 10,000, which is longer
than the lists of this data, and a count is changed with each added, deleted or hidden link.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import Keys, Row, Table, Workload, arrivals, text

NODES = 400_000


def node_rows(random: Random, count: int) -> list[Row]:
    return [
        {
            "id": n,
            "type": 2048,
            "version": 1,
            "time": at,
            "data": text(random, round(random.lognormvariate(4.4, 0.6))),
        }
        for n, at in zip(sorted(random.sample(range(1, NODES + 1), count)), arrivals(random, count, 0.1), strict=True)
    ]


def links(random: Random, count: int) -> list[tuple[int, int, int]]:
    """(id1, link type, id2) of all links of some nodes: out-degrees of a power law, cut at 150, in order of arrival."""
    out: set[tuple[int, int, int]] = set()
    while len(out) < count:
        node = random.randint(1, NODES)
        degree = min(150, int(random.paretovariate(0.9)))
        kind = random.choice((123456789, 123456790))
        out |= {(node, kind, random.randint(1, NODES)) for _ in range(degree)}
    drawn = sorted(out)
    random.shuffle(drawn)
    return drawn


def link_rows(random: Random, count: int) -> list[Row]:
    drawn = links(random, count)
    return [
        {
            "id1": source,
            "link_type": kind,
            "id2": target,
            "visibility": 1 if random.random() < 0.95 else 0,
            "data": text(random, 11),
            "time": at,
            "version": 0,
        }
        for (source, kind, target), at in zip(drawn, arrivals(random, len(drawn), 0.1), strict=True)
    ]


def count_rows(random: Random, count: int) -> list[Row]:
    """Some of the counts; a node has one for each of two types of links."""
    return [
        {
            "count_id": 1 + n // 2,
            "count_type": 123456789 + n % 2,
            "link_count": int(random.paretovariate(0.9)),
            "version": 0,
        }
        for n in sorted(random.sample(range(2 * NODES), count))
    ]


WORKLOAD = Workload(
    name="linkbench",
    source="Armstrong et al., LinkBench, SIGMOD 2013",
    tables=(
        Table(
            "Nodetable",
            f"""
            properties: {{id: int32, type: int32, version: int32, time: datetime, data: string}}
            entities_total: {NODES}
            sampling: random-rows
            arrival: time
            queries:
              - {{name: get-node, filter: "id eq {{id}}", rate: 129/s, draw: {{zipf: 0.606, of: [id]}}}}
            writes:
              - {{name: add-node, operation: insert, rate: 26/s}}
              - {{name: update-node, operation: update, key: [id], sets: [version, data], rate: 74/s,
                 draw: {{zipf: 0.606, of: [id]}}}}
              - {{name: delete-node, operation: delete, key: [id], rate: 10/s, draw: entities}}
            """,
            node_rows,
            500,
            Keys(
                "{reverse(id)}",
                "",
                "The primary key; ids count up, so their digits are turned round, or all inserts land in one range.",
            ),
            identity=("id",),
        ),
        Table(
            "Linktable",
            f"""
            properties: {{id1: int32, link_type: int32, id2: int32, visibility: int32, data: string, time: datetime,
              version: int32}}
            entities_total: {NODES * 5}
            sampling: random-keys
            sampled_by: [id1]
            arrival: time
            queries:
              - {{name: get-link-list, filter: "id1 eq {{id1}} and link_type eq {{link_type}} and visibility eq 1",
                 order_by: [time desc], top: 10000, rate: 507/s, draw: {{by: distinct, of: [id1, link_type]}}}}
              - {{name: get-link,
                 filter: "id1 eq {{id1}} and link_type eq {{link_type}} and id2 eq {{id2}}", rate: 13/s,
                 draw: entities}}
            writes:
              - {{name: add-link, operation: insert, rate: 90/s}}
              - {{name: update-link, operation: update, key: [id1, link_type, id2], sets: [data, time, version],
                 rate: 80/s, draw: entities}}
              - {{name: delete-link, operation: delete, key: [id1, link_type, id2], rate: 30/s, draw: entities}}
            """,
            link_rows,
            900,
            Keys(
                "{id1}_{link_type}",
                "{id2}",
                "The whole list is always wanted, so the client may sort it: one partition for each list, links "
                "found by their key, and no copy to move when the time of a link changes.",
            ),
            identity=("link_type", "id1", "id2"),
        ),
        Table(
            "Counttable",
            f"""
            properties: {{count_id: int32, count_type: int32, link_count: int32, version: int32}}
            entities_total: {2 * NODES}
            sampling: random-rows
            queries:
              - {{name: count-link, filter: "count_id eq {{count_id}} and count_type eq {{count_type}}", rate: 49/s,
                 draw: entities}}
            writes:
              - {{name: change-count, operation: update, key: [count_id, count_type], sets: [link_count, version],
                 read_modify_write: true, rate: 120/s, draw: {{weight: link_count}}}}
            """,
            count_rows,
            500,
            Keys("{count_id}_{count_type}", "", "The primary key; counters are changed one by one."),
            identity=("count_id", "count_type"),
        ),
    ),
)

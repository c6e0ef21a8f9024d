"""LDBC SNB, interactive workload: short reads and updates of a social network.

Source: The LDBC Social Network Benchmark, specification (ldbcouncil.org), chapters *Data* and *Interactive*: short
reads IS1 (profile), IS2 (last 10 messages of a person), IS3 (friends, newest first), IS4 (content of a message), IS5
(its creator), IS6 (its forum), IS7 (its replies); updates IU1 (person), IU6 and IU7 (post, comment), IU8
(friendship). O. Erling et al., The LDBC Social Network Benchmark: Interactive Workload, SIGMOD 2015:
degrees of persons follow Facebook's distribution, the activity of a person goes with the number of friends.

Scale factor 1 has about 10,000 persons, 180,000 friendships and 3 million messages; of the latter 30 a person are
counted here in place of 300. Short reads are about equally often; rates are assumed: 300 short reads and 38 updates a
second. A friendship is stored once for each of the two.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, Workload, arrivals, text

PERSONS = 10_000
MESSAGES = 30 * PERSONS
START_ID = 933


def person_rows(random: Random, count: int) -> list[Row]:
    drawn = sorted(random.sample(range(PERSONS), count))
    return [
        {
            "person_id": START_ID + n * 1_000_003,
            "first_name": text(random, 7),
            "last_name": text(random, 9),
            "created": at,
            "city_id": random.randint(1, 1_343),
            "browser": random.choice(("Firefox", "Chrome", "Internet Explorer")),
        }
        for n, at in zip(drawn, arrivals(random, count, 0.001), strict=True)
    ]


def degree(random: Random) -> int:
    return max(1, min(300, round(random.lognormvariate(3.0, 1.0))))


def knows_rows(random: Random, count: int) -> list[Row]:
    """All friendships of some persons."""
    rows: list[tuple[int, int]] = []
    while len(rows) < count:
        person = random.randrange(PERSONS)
        rows += [(person, friend) for friend in random.sample(range(PERSONS), degree(random))]
    random.shuffle(rows)
    return [
        {"knower_id": START_ID + a * 1_000_003, "friend_id": START_ID + b * 1_000_003, "since": at}
        for (a, b), at in zip(rows, arrivals(random, len(rows), 0.001), strict=True)
    ]


def message_rows(random: Random, count: int) -> list[Row]:
    """All messages of some persons: a third are posts, the others reply to an earlier message of anybody."""
    rows: list[int] = []
    while len(rows) < count:
        rows += [random.randrange(PERSONS)] * round(degree(random) * 1.5)
    random.shuffle(rows)
    numbers = sorted(random.sample(range(MESSAGES), len(rows)))
    return [
        {
            "message_id": message_id(number),
            "creator_id": START_ID + person * 1_000_003,
            "created": at,
            "forum_id": random.randint(1, 100_000),
            "reply_of": None if random.random() < 1 / 3 else message_id(random.randrange(number + 1)),
            "content": text(random, random.randint(20, 180)),
        }
        for number, person, at in zip(numbers, rows, arrivals(random, len(rows), 0.001), strict=True)
    ]


def message_id(number: int) -> int:
    return 1_000_000_000 + number * 701


WORKLOAD = Workload(
    name="snb",
    source="LDBC Social Network Benchmark, interactive workload",
    tables=(
        Table(
            "Person",
            f"""
            properties: {{person_id: int64, first_name: string, last_name: string, created: datetime, city_id: int32,
              browser: string}}
            entities_total: {PERSONS}
            sampling: random-rows
            arrival: created
            queries:
              - {{name: IS1-profile, filter: "person_id eq {{person_id}}", rate: 90/s, draw: entities}}
            writes:
              - {{name: IU1-add-person, operation: insert, rate: 6/min}}
            """,
            person_rows,
            400,
            Keys("{person_id}", "", "The primary key; profiles are read one by one."),
            identity=("person_id",),
        ),
        Table(
            "Knows",
            f"""
            properties: {{knower_id: int64, friend_id: int64, since: datetime}}
            entities_total: {PERSONS * 33}
            sampling: random-keys
            sampled_by: [knower_id]
            arrival: since
            queries:
              - {{name: IS3-friends, filter: "knower_id eq {{knower_id}}", order_by: [since desc], rate: 43/s,
                 draw: {{by: distinct, of: [knower_id]}}}}
            writes:
              - {{name: IU8-befriend, operation: insert, rate: 8/s}}
            transactions:
              - {{name: IU8-both-sides, together: [IU8-befriend], pair: {{knower_id: knower_id, friend_id: knower_id}}}}
            """,
            knows_rows,
            800,
            Keys(
                "{knower_id}",
                "{reverse_ticks(since)}_{friend_id}",
                "All friends of a person are read together, newest first; the friend's id keeps the key unique.",
            ),
            identity=("knower_id", "friend_id"),
        ),
        Table(
            "Message",
            f"""
            properties: {{message_id: int64, creator_id: int64, created: datetime, forum_id: int64, reply_of: int64,
              content: string}}
            entities_total: {MESSAGES}
            sampling: random-keys
            sampled_by: [creator_id]
            arrival: created
            queries:
              - {{name: IS4-5-6-message, filter: "message_id eq {{message_id}}", rate: 129/s, draw: entities}}
              - {{name: IS2-last-messages, filter: "creator_id eq {{creator_id}}", order_by: [created desc], top: 10,
                 rate: 43/s, draw: {{by: distinct, of: [creator_id]}}}}
              - {{name: IS7-replies, filter: "reply_of eq {{reply_of}}", order_by: [created desc], rate: 43/s,
                 draw: {{by: distinct, of: [reply_of]}}}}
            writes:
              - {{name: IU6-7-add-message, operation: insert, rate: 30/s}}
            """,
            message_rows,
            1000,
            Keys(
                "{message_id}",
                "",
                "Most reads know the message alone; messages never change, so full copies by creator and by the "
                "message that is answered cost two writes for each new one and no more.",
                (
                    IndexRow("{reverse_ticks(created)}_{message_id}", "CREATOR:{creator_id}"),
                    IndexRow("{reverse_ticks(created)}_{message_id}", "REPLY:{reply_of}"),
                ),
            ),
            identity=("message_id",),
        ),
    ),
)

"""A message store: the channels of a chat service.

Source: S. Vishnevskiy, How Discord Stores Billions of Messages, Discord blog, January 2017: table ``messages`` under
``((channel_id, bucket), message_id)`` in falling order of message ids, which are times (*snowflakes*); the read of the
newest 50, of the 50 before a message, of one message; about as many writes as reads; very large and very small servers.
The bucket of ten days keeps a partition of Cassandra under 100 MB; Table Storage has no such bound.

Rates are assumed: 120 writes a second, as the post states (100 million a day are 1,200), a tenth. Channels are Zipfian
with exponent 1.0 (assumed).
"""

from __future__ import annotations

from random import Random

from tests.published.workload import Keys, Row, Table, Workload, arrivals, text, zipf


def message_rows(random: Random, count: int) -> list[Row]:
    channels = [random.randint(10**17, 10**18) for _ in range(60)]
    times = arrivals(random, count, 0.002)
    return [
        {
            "channel_id": channels[channel],
            "message_id": 4 * 10**17 + n * 2_000_000_000_003 + random.randrange(10**12),
            "author_id": random.randint(1, 5_000),
            "posted": at,
            "content": text(random, random.randint(5, 150)),
        }
        for n, (channel, at) in enumerate(zip(zipf(random, 60, 1.0, count), times, strict=True))
    ]


WORKLOAD = Workload(
    name="message_store",
    source="Discord blog, How Discord Stores Billions of Messages, 2017",
    tables=(
        Table(
            "Messages",
            """
            properties: {channel_id: int64, message_id: int64, author_id: int32, posted: datetime, content: string}
            arrival: posted
            queries:
              - {name: newest, filter: "channel_id eq {channel_id}", order_by: [message_id desc], top: 50, rate: 80/s,
                 draw: {zipf: 1.0, of: [channel_id]}}
              - {name: page-before, filter: "channel_id eq {channel_id} and message_id lt {message_id}",
                 order_by: [message_id desc], top: 50, rate: 20/s, draw: entities}
              - {name: one, filter: "channel_id eq {channel_id} and message_id eq {message_id}", rate: 15/s,
                 draw: {newest: 0.8, window: 3d}}
            writes:
              - {name: post, operation: insert, rate: 120/s}
              - {name: edit, operation: update, key: [channel_id, message_id], sets: [content], rate: 5/s,
                 draw: {newest: 0.9, window: 1d}}
              - {name: remove, operation: delete, key: [channel_id, message_id], rate: 1/s, draw: entities}
            growth: {rate: 5 %/month, of: new_keys}
            """,
            message_rows,
            2000,
            Keys(
                "{channel_id}",
                "{reverse_pad(message_id,19)}",
                "Everything names the channel; falling ids, which are times, put the newest messages first, and a "
                "message is still found by its key.",
            ),
            identity=("channel_id", "message_id"),
        ),
    ),
)

"""The sessions of a web application's users.

Source: Django documentation, How to use sessions, *Using database-backed sessions* and *Clearing the session store*:
table ``django_session`` (session_key as primary key, session_data, expire_date with an index), read with each request,
saved when changed, purged by ``clearsessions``; OWASP Session Management Cheat Sheet, *Simultaneous session logons*:
a user's sessions are listed and ended. YCSB names the session store as the example of workload A.

Rates are assumed: 800 reads and 400 saves a second, 20 sessions begun and 5 ended by the user, 2 lists of a user's
sessions a second. A user has 1.6 sessions on average (assumed); those begun last are used most.
"""

from __future__ import annotations

from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, Workload, arrivals, moment, text

SESSIONS = 400_000


def session_rows(random: Random, count: int) -> list[Row]:
    """Some of the sessions, of users who have 1.6 in the whole table on average."""
    users = [int(random.random() ** 1.5 * SESSIONS / 1.6) for _ in range(count)]
    return [
        {
            "session_key": text(random, 32),
            "user_id": 1_000 + user,
            "begun": at,
            "expires": moment(n * 60 + 14 * 86_400),
            "data": text(random, random.randint(100, 400)),
        }
        for n, (user, at) in enumerate(zip(users, arrivals(random, count, 1 / 60), strict=True))
    ]


WORKLOAD = Workload(
    name="sessions",
    source="Django documentation, How to use sessions; OWASP Session Management Cheat Sheet",
    tables=(
        Table(
            "Sessions",
            """
            properties: {session_key: string, user_id: int32, begun: datetime, expires: datetime, data: string}
            entities_total: 400_000
            sampling: random-rows
            arrival: begun
            queries:
              - {name: load, filter: "session_key eq '{session_key}'", rate: 800/s, draw: {newest: 0.7, window: 2h}}
              - {name: of-user, filter: "user_id eq {user_id}", rate: 2/s, draw: {by: distinct, of: [user_id]}}
              - {name: clear, filter: "expires lt datetime'{expires}'", rate: 1/day, analytic: true, draw: entities}
            writes:
              - {name: begin, operation: insert, rate: 20/s}
              - {name: save, operation: update, key: [session_key], sets: [expires, data], rate: 400/s,
                 draw: {newest: 0.7, window: 2h}}
              - {name: end, operation: delete, key: [session_key], rate: 5/s, draw: entities}
            """,
            session_rows,
            800,
            Keys(
                "{session_key}",
                "",
                "A session is read and saved by its random key alone; a pointer by user is written when it begins and "
                "ends, and unlike a full copy not with each save.",
                (IndexRow("{session_key}", "USER:{user_id}", "pointer"),),
            ),
            identity=("session_key",),
        ),
    ),
)

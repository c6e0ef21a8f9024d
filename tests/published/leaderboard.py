"""The leaderboards of games: the best score of each user in each game.

Source: Amazon DynamoDB Developer Guide, *Using Global Secondary Indexes*: table ``GameScores`` (partition key UserId,
sort key GameTitle; TopScore, TopScoreDateTime, Wins, Losses) and the index ``GameTitleIndex`` (GameTitle, TopScore)
that answers which users have the top scores of a game.

Rates are assumed: 200 look-ups of a user's score, 100 of a game's first ten, 20 of all games of a user, 50 new top
scores and 5 first ones a second. Games are Zipfian with exponent 0.8, top scores log-normal (both assumed).
"""

from __future__ import annotations

from random import Random

from tests.published.workload import IndexRow, Keys, Row, Table, Workload, arrivals, zipf


def score_rows(random: Random, count: int) -> list[Row]:
    pairs: dict[tuple[int, int], None] = {}
    while len(pairs) < count:
        pairs[int(count / 4 * random.random() ** 2), zipf(random, 25, 0.8, 1)[0]] = None
    return [
        {
            "user_id": f"u{user:05d}",
            "game": f"game-{game:02d}",
            "top_score": min(9_999_999, round(random.lognormvariate(8, 1.2))),
            "scored_at": at,
            "wins": random.randint(0, 50),
            "losses": random.randint(0, 50),
        }
        for (user, game), at in zip(pairs, arrivals(random, count, 0.01), strict=True)
    ]


WORKLOAD = Workload(
    name="leaderboard",
    source="Amazon DynamoDB Developer Guide, Using Global Secondary Indexes (GameScores)",
    tables=(
        Table(
            "GameScores",
            """
            properties: {user_id: string, game: string, top_score: int32, scored_at: datetime, wins: int32,
              losses: int32}
            arrival: scored_at
            queries:
              - {name: score, filter: "user_id eq '{user_id}' and game eq '{game}'", rate: 200/s, draw: entities}
              - {name: first-ten, filter: "game eq '{game}'", order_by: [top_score desc], top: 10, rate: 100/s,
                 draw: {zipf: 0.8, of: [game]}}
              - {name: of-user, filter: "user_id eq '{user_id}'", rate: 20/s, draw: {by: distinct, of: [user_id]}}
            writes:
              - {name: first-score, operation: insert, rate: 5/s}
              - {name: new-top-score, operation: update, key: [user_id, game], sets: [top_score], rate: 50/s,
                 draw: entities}
            """,
            score_rows,
            1200,
            Keys(
                "{user_id}",
                "{game}",
                "The guide's table and its index: scores by user and game, and full copies by game with the greatest "
                "score first, moved with each new top score.",
                (IndexRow("{reverse_pad(top_score,8)}_{user_id}", "GAME:{game}"),),
            ),
            identity=("user_id", "game"),
        ),
    ),
)

"""A folder whose RowKeys hold titles with other text in place of what a key cannot hold."""

from __future__ import annotations

from random import Random

from tests.strangers.stranger import Log, Stranger, table_csv

WORDS = ("river", "stone", "garden", "letter", "winter", "light", "north", "bread")
READS, LISTS = 1_200, 600


def articles() -> Stranger:
    """Articles of an author by day and title, a tenth of which holds a slash, written as an underscore. Each is read by
    its key, and all of an author are listed: nothing is wrong with these keys."""
    random, log = Random(51), Log(51)
    rows: list[dict[str, object]] = []
    for n in range(800):
        title = f"{random.choice(WORDS)} {random.choice(WORDS)}{'/' if n % 10 == 0 else ' '}{random.choice(WORDS)}"
        author = f"{random.choice(WORDS)}-{random.randrange(9)}"
        key = f"2025{1 + n % 12:02}{1 + n % 28:02}_{title.replace('/', '_')}"
        rows.append(
            {"PartitionKey": author, "RowKey": key, "author": author, "title": title, "words": random.randrange(5000)}
        )
    rows = list({(row["PartitionKey"], row["RowKey"]): row for row in rows}.values())
    for _ in range(READS):
        row = random.choice(rows)
        log.point(str(row["PartitionKey"]), str(row["RowKey"]))
    for _ in range(LISTS):
        log.query(f"PartitionKey eq '{random.choice(rows)['author']}'")
    return Stranger(
        "articles by title",
        {"articles.csv": table_csv(rows), "articles.log": log.text("Articles")},
        ("articles.csv",),
        ("articles.log",),
        (r"^\{author\} \| \{r1\}$",),
        ("{author} | {r1}",),
    )

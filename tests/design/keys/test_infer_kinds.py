"""Which keys are of kinds of their own, and which only hold values that look otherwise."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Callable
from hashlib import sha256
from random import Random

import polars as pl
import pytest

from pkadvisor.design.keys.infer.cut import key_text
from pkadvisor.design.keys.infer.kinds import one_identifier
from pkadvisor.table.edm import TICKS_MAX, TICKS_UNIX_EPOCH
from tests.design.keys.inference import infer_keys


def test_few_values_of_one_property_are_no_kinds() -> None:
    """Words in the PartitionKey above RowKeys of one form, a time among them, and words so rare that what their few
    RowKeys begin with is chance."""
    counts = {"north": 181, ";": 52, "east": 23, "x,y": 17, "red": 7, "2026-01-01": 5, "|": 5, "blue": 3, "gamma": 3}
    places = [place for place, count in (counts | {"alpha": 2, "delta": 1, "beta": 1}).items() for _ in range(count)]
    chance = Random(1)
    for _ in range(5):
        chance.shuffle(places)
        at, keys = 638816480870470000, []
        for n, place in enumerate(places):
            at += chance.randrange(10**6, 2 * 10**7) // 10_000 * 10_000
            keys.append((place, f"{at:019}_{'ABC'[n % 3]}{n:04x}"))
        (shape,) = infer_keys(keys).kinds
        assert str(shape.key) == "{p1} | {ticks(r1)}_{r2}"
        assert shape.explained == len(places)


@pytest.mark.parametrize(
    ("keys", "template"),
    [
        ([(f"fw-{n % 3}.0", f"{n:06x}-cam") for n in range(600)], "fw-{p1} | {r1}-{r2}"),
        (
            [
                (f"repo{n % 5}", f"{n:08}_{['docs.html', 'app.tar', 'linux-x64.tgz', 'sbom.json'][n % 4]}")
                for n in range(400)
            ],
            "repo{p1} | {pad(r1,8)}_{r2}",
        ),
    ],
    ids=["hex of which some is digits", "a value with a separator more"],
)
def test_what_happens_to_look_otherwise_is_no_kind(keys: list[tuple[str, str]], template: str) -> None:
    (shape,) = infer_keys(keys).kinds
    assert str(shape.key) == template
    assert shape.explained == len(keys)


@pytest.mark.parametrize(
    "end",
    [
        lambda n: "header" if n % 4 == 0 else f"line-{n % 4:03}",
        lambda n: "header" if n % 4 == 0 else f"{['red', 'green', 'blue'][n // 4 % 3]}-{n % 4}",
        lambda n: "order-header" if n % 4 == 0 else f"{n * 7919:x}",
    ],
    ids=["a number", "more separators", "identifiers"],
)
def test_an_end_in_one_text_beside_others_is_a_kind(end: Callable[[int], str]) -> None:
    kinds = infer_keys([("t", f"{n // 4:05}_{end(n)}") for n in range(400)]).kinds
    assert {k.explained for k in kinds} == {100, 300}


def test_a_value_that_is_missing_makes_no_kind() -> None:
    """A column that makes the PartitionKey lacks it in some rows, whose keys say so."""
    keys = [("010" if n % 28 else "~-", str(1001 + n), 10 if n % 28 else None) for n in range(285)]
    frame = pl.DataFrame(keys, schema=["PartitionKey", "RowKey", "status"], orient="row")
    assert [str(kind.key) for kind in infer_keys(frame).kinds] == ["{pad(p1,3)} | {r1}"]


def test_heads_of_one_length_that_are_not_mixed_are_kinds() -> None:
    """A date beside a word of eight letters: nothing shows that they are one identifier."""
    keys = [(f"{20260101 + n % 28}" if n % 2 else "settings", f"{n:05}") for n in range(400)]
    assert len(infer_keys(keys).kinds) == 2


@pytest.mark.parametrize(
    ("texts", "one"),
    [
        (["c053e666", "7fffffec", "80000000"], True),
        (["c053e666", "7fffffec", "80000000", "~-"], True),  # as keys are written of entities without the value
        (["c053e666", "7fffffec", "header"], False),
        (["80000001", "80000002", "7fffffec"], False),
        (["0a", "17", "ff", "42"], True),  # two hex digits of a hash
    ],
)
def test_letters_and_digits_of_one_length_are_one_identifier(texts: list[str], *, one: bool) -> None:
    assert one_identifier(key_text(text) for text in texts) == one


def test_a_column_shows_where_a_text_ends_that_values_with_separators_follow() -> None:
    users = [f"user{n % 40}@example.org" for n in range(400)]
    pages = [urlsafe_b64encode(sha256(bytes(n % 256 for _ in range(n))).digest()[:16]).decode() for n in range(400)]
    keys = [f"{user}|{page.rstrip('=')}" for user, page in zip(users, pages, strict=True)]
    partitions = [sha256(user.encode()).hexdigest()[:3] for user in users]
    (kind,) = infer_keys(pl.DataFrame({"PartitionKey": partitions, "RowKey": keys, "User": users})).kinds
    assert str(kind.key) == "{hash_prefix(User,3)} | {User}|{r1}"


@pytest.mark.parametrize(("columns", "kinds"), [
    ({"url": "u", "clicks": "3"}, 1),  # campaigns of one table of links
    ({"url": "u"}, 2),  # one column shows no kind
    ({"url": "u", "clicks": "3", "adhoc": None}, 2),
])  # fmt: skip
def test_words_before_keys_make_no_kinds_of_rows_with_the_same_columns(
    columns: dict[str, str | None], kinds: int
) -> None:
    keys = [(f"spring-sale-{20 + n % 5}", f"{n * 7919 % 99991:05}ab") for n in range(200)]
    keys += [(f"adhoc-{n % 40:03}", f"{n * 7907 % 99991:05}cd") for n in range(200)]
    frame = pl.DataFrame({"PartitionKey": [p for p, _ in keys], "RowKey": [r for _, r in keys]})
    values = {
        name: [("x" if p.startswith("adhoc") else None) if value is None else value for p, _ in keys]
        for name, value in columns.items()
    }
    found = infer_keys(frame.with_columns(pl.Series(name, each) for name, each in values.items()))
    assert len(found.kinds) == kinds, [str(kind.key) for kind in found.kinds]


CHOIRS = ("kantorei-sankt-jacobi", "liedertafel-Süd1", "liedertafel-Nord2", "gospel-bremen0", "pop_voices-altona8")
GAUGES = ("Cuxhaven-Steubenhöft", "Brunsbüttel", "Wilhelmsburg", "St-Pauli-Süd", "Teufelsbrück")
PATHS = ("%2Fc++%2F", "%2Fa&b%2F", "%2F%C3%9Cber%20uns%2F", "%2F")


def choirs(place: int) -> tuple[str, str, int]:
    choir, member = CHOIRS[place % 5], f"m{10_000 + place * 7919 % 9000}"
    if place % 8 == 0:
        return choir, f"M-{member}", 0
    return choir, f"R-2025{1 + place % 12:02}{1 + place % 28:02}-{member}", 1


def gauges(place: int) -> tuple[str, str, int]:
    return f"2026112{place % 3}", f"{GAUGES[place % 5]}_{place % 24:02}{place % 60:02}{place * 7 % 60:02}", 0


def captures(place: int) -> tuple[str, str, int]:
    origin = f"https%3A%2F%2F{'%C3%A6r%C3%B8-' if place % 4 == 0 else ''}site{place % 13}.example"
    return origin, f"{PATHS[place // 5 % 4]}{place * 31 % 977}!202611{1 + place % 28:02}{place % 24:02}0314", 0


@pytest.mark.parametrize(("keys", "kinds"), [(choirs, 2), (gauges, 1), (captures, 1)])
def test_values_that_look_otherwise_make_no_kinds_of_rows_with_the_same_columns(
    keys: Callable[[int], tuple[str, str, int]], kinds: int
) -> None:
    """The names of choirs, gauges and hosts hold separators, or begin with words; members and rehearsals are two kinds
    in each choir."""
    rows = sorted({keys(place) for place in range(1200)})
    frame = pl.DataFrame(
        {
            "PartitionKey": [p for p, _, _ in rows],
            "RowKey": [r for _, r, _ in rows],
            "Name": [None if kind else "x" for _, _, kind in rows],
            "Voice": [None if kind else "alto" for _, _, kind in rows],
            "Present": [bool(kind) or None for _, _, kind in rows],
        }
    )
    inference = infer_keys(frame)
    assert len(inference.kinds) == kinds, [str(kind.key) for kind in inference.kinds]
    assert inference.explained == len(rows)


def test_a_word_that_begins_the_row_keys_tells_kinds_apart_whatever_their_columns_are() -> None:
    rows = [(f"a{n % 30}", f"HEADER-{n * 7919 % 9973:04}") for n in range(300)]
    rows += [(f"a{n % 30}", f"LINE-{n * 7919 % 9973:04}-{n % 9}") for n in range(300)]
    frame = pl.DataFrame({"PartitionKey": [p for p, _ in rows], "RowKey": [r for _, r in rows]})
    inference = infer_keys(frame.with_columns(pl.lit("x").alias("Name"), pl.lit(3).alias("Count")))
    assert sorted(str(kind.key).split("|")[1].strip()[:4] for kind in inference.kinds) == ["HEAD", "LINE"]


def _stones(rows: int, rare: int, written: str, values: tuple[object, ...]) -> pl.DataFrame:
    """Keys that begin with the value of a column, which is the first one in all rows but ``rare``."""
    every = rows // rare
    grades = [values[0] if n % every else values[1 + n // every % (len(values) - 1)] for n in range(rows)]
    return pl.DataFrame(
        {
            "PartitionKey": [f"mine{n % 7}" for n in range(rows)],
            "RowKey": [f"{grade:{written}}-{n:07}" for n, grade in enumerate(grades)],
            "mine": [f"mine{n % 7}" for n in range(rows)],
            "grade": grades,
            "stone": list(range(rows)),
            "always": [values[0]] * rows,
        }
    )


@pytest.mark.parametrize("rare", [3, 9, 36, 80, 400])
@pytest.mark.parametrize(
    ("written", "values", "part"),
    [("", (3, 1, 2), "{grade}"), ("02", (3, 1, 12), "{pad(grade,2)}"), ("", ("open", "lost", "sold"), "{grade}")],
)
def test_a_column_that_nearly_always_has_one_value_is_no_fixed_text(
    rare: int, written: str, values: tuple[object, ...], part: str
) -> None:
    """However few rows have another value, and though another column has the frequent one in all rows."""
    frame = _stones(8_000, rare, written, values)
    for keys in (frame, frame.select("mine", "stone", "grade", RowKey="PartitionKey", PartitionKey="RowKey")):
        (shape,) = infer_keys(keys).kinds
        halves = ["{mine}", f"{part}-{{pad(stone,7)}}"]
        assert [str(shape.key)] == [" | ".join(halves if keys is frame else halves[::-1])]
        assert shape.explained == 8_000


def test_a_number_that_is_nearly_always_the_same_is_no_fixed_text_where_no_column_is_known() -> None:
    keys = [("q", f"{1 if n % 500 else 2}-{n:07}") for n in range(4_000)]
    (shape,) = infer_keys(keys).kinds
    assert str(shape.key) == "q | {r1}-{pad(r2,7)}"


@pytest.mark.parametrize("every", [2, 30, 250])
@pytest.mark.parametrize("width", [6, 8])
def test_a_word_that_names_a_kind_stays_fixed_text_though_a_column_repeats_it(every: int, width: int) -> None:
    """Rows with columns of their own, or with numbers of another width."""
    types = ["INV" if n % every == 0 else "CASE" for n in range(6_000)]
    frame = pl.DataFrame(
        {
            "PartitionKey": ["p"] * 6_000,
            "RowKey": [f"{t}:{n:0{width if t == 'INV' else 8}}" for n, t in enumerate(types)],
            "type": types,
            "id": list(range(6_000)),
            "patient": [f"x{n}" if t == "CASE" else None for n, t in enumerate(types)],
            "amount": [n / 4 if t == "INV" else None for n, t in enumerate(types)],
        }
    )
    found = {shape.label: str(shape.key) for shape in infer_keys(frame).kinds}
    assert found == {"CASE": "p | CASE:{pad(id,8)}", "INV": f"p | INV:{{pad(id,{width})}}"}


def test_ticks_of_18_and_19_digits_are_of_the_column_that_holds_the_time() -> None:
    at = [638_900_000_000_000_000 + n * 10_000_000 for n in range(300)]
    moments = pl.Series([(ticks - TICKS_UNIX_EPOCH) // 10 for ticks in at]).cast(pl.Datetime("us"))
    for text, part in (
        ([f"{ticks}" for ticks in at], "{ticks(opened,18)}"),
        ([f"{ticks:019}" for ticks in at], "{ticks(opened)}"),
        ([f"{TICKS_MAX - ticks}" for ticks in at], "{reverse_ticks(opened)}"),
    ):
        rows = [f"{key}_{sha256(key.encode()).hexdigest()[:8]}" for key in text]
        frame = pl.DataFrame({"PartitionKey": ["c"] * 300, "RowKey": rows, "opened": moments})
        (shape,) = infer_keys(frame).kinds
        assert str(shape.key) == f"c | {part}_{{r1}}"

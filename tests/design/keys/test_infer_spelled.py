"""Values of a column that keys hold with other text, or with separators in them, make no kinds of rows."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from urllib.parse import quote

import polars as pl
import pytest

from pkadvisor.design.keys.infer.spelled import spelling
from tests.design.keys.inference import infer_keys

ROWS = 600
SONGS = ("Hallelujah", "Blue river", "Roads", "Home again", "1984", "Stone garden light")
WAYS: dict[str, Callable[[str], str]] = {
    "percent": lambda text: quote(text, safe=""),
    "only": lambda text: "".join(quote(c, safe="") if c in "/#?%" else c for c in text),
    "_": lambda text: "".join("_" if c in "/#?" else c for c in text),
    "-": lambda text: "".join("-" if c in "/#?" else c for c in text),
    "nothing": lambda text: "".join(c for c in text if c not in "/#?"),
}


def songs(write: Callable[[str], str], share: float, form: str, rows: int = ROWS) -> pl.DataFrame:
    """Songs of bands, some of which hold what a key cannot; the title is written into the keys."""
    special, number = ("A/C live", "Why?", "Row #9 and B/D"), 0
    titles = []
    for n in range(rows):
        number += int((n + 1) * share) > int(n * share)
        new = int((n + 1) * share) > int(n * share)
        titles.append(special[number % 3] if new else f"{SONGS[n % 6]}{'' if n % 5 else f' {n % 90}'}")
    return pl.DataFrame(
        {
            "PartitionKey": [
                form.split("|")[0].format(t=write(t), b=f"band{n % 7}", n=n) for n, t in enumerate(titles)
            ],
            "RowKey": [form.split("|")[1].format(t=write(t), b=f"band{n % 7}", n=n) for n, t in enumerate(titles)],
            "band": [f"band{n % 7}" for n in range(rows)],
            "title": titles,
            "label": [None if n % 9 else "x" for n in range(rows)],
            "seconds": [n * 37 % 500 for n in range(rows)],
        }
    )


FORMS = (
    "{b}|{t}_{n:05}",
    "{b}|20260{n:03}_{t}_{n:04}",
    "{t}|{n:05}",
    "{b}|{t};{n:04}",
    "{b}_{t}|{n:05}",
    "{b}|{t}-{n:05}",
)


@pytest.mark.parametrize(("way", "form"), [*product(WAYS, FORMS[:2]), *product("_-", FORMS[2:])])
def test_titles_with_other_text_are_of_the_kind_of_the_others(way: str, form: str) -> None:
    for share in (0.04, 0.2):
        inference = infer_keys(songs(WAYS[way], share, form))
        assert [kind.explained for kind in inference.kinds] == [ROWS], [str(k.key) for k in inference.kinds]


def test_a_column_that_keys_write_otherwise_is_named() -> None:
    (kind,) = infer_keys(songs(WAYS["percent"], 0.1, FORMS[0])).kinds
    assert str(kind.key) == "{band} | {r1}_{pad(r2,5)}"
    assert kind.notes == ("r1 is title with other text in place of # / ?, which no template writes",)
    (kind,) = infer_keys(songs(WAYS["_"], 0.1, FORMS[0])).kinds
    assert str(kind.key) == "{band} | {r1}"
    assert kind.notes == ("r1 holds title with other text in place of # / ?, which no template writes",)


def test_one_title_in_a_hundred_is_an_exception_and_labels_no_kind() -> None:
    """Of 4,000 keys 31 begin with ``Why_``, as a word does that names a kind."""
    titles = [f"{'Why?' if n % 130 == 0 else SONGS[n % 4] + str(n % 170)}" for n in range(4000)]
    frame = pl.DataFrame(
        {
            "PartitionKey": [f"band{n % 7}" for n in range(4000)],
            "RowKey": [f"{title.replace('?', '_')}_{n:05}" for n, title in enumerate(titles)],
            "title": titles,
            "seconds": list(range(4000)),
        }
    )
    kinds = infer_keys(frame).kinds
    assert [(kind.label, kind.explained) for kind in kinds] == [("band", 3969), ("unexplained", 0)]
    assert str(kinds[0].key) == "band{p1} | {title}_{pad(seconds,5)}"


def test_words_with_separators_that_go_with_columns_of_their_own_are_kinds() -> None:
    """A column repeats the word of a kind; and two kinds have the titles of one column."""
    kinds = ["ORDER", "ORDER-LINE", "ORDER-NOTE-1"]
    frame = pl.DataFrame(
        {
            "PartitionKey": [f"c{n % 9}" for n in range(ROWS)],
            "RowKey": [f"{kinds[n % 3]}:{n:05}" for n in range(ROWS)],
            "type": [kinds[n % 3] for n in range(ROWS)],
            "total": [n if n % 3 == 0 else None for n in range(ROWS)],
            "product": [f"x{n}" if n % 3 == 1 else None for n in range(ROWS)],
        }
    )
    assert len(infer_keys(frame).kinds) == 3
    bands = pl.DataFrame({"PartitionKey": [f"band{n}" for n in range(40)], "RowKey": ["BAND"] * 40, "city": ["x"] * 40})
    for way, form in product(WAYS.values(), FORMS[:2]):
        both = infer_keys(pl.concat([songs(way, 0.1, form), bands], how="diagonal"))
        assert sorted(kind.explained for kind in both.kinds) == [40, ROWS]


@pytest.mark.parametrize(
    ("pairs", "value", "text"),
    [
        ([("AC/DC", "AC%2FDC_1"), ("a b", "a%20b_2")], "Ü & 1/2?", "%C3%9C%20%26%201%2F2%3F"),
        ([("AC/DC", "AC%2FDC_1"), ("a b", "a b_2")], "x & 1/2?", "x & 1%2F2%3F"),
        ([("AC/DC", "AC_DC_1"), ("a b", "a b_2")], "1/2?", "1_2_"),
        ([("AC/DC", "ACDC_1")], "1/2?", "12"),
        ([("Why?", "Why%3f;1")], "Who?", "Who%3f"),
        ([("Why?", "Why;1")], "Who?", "Who"),
    ],
)
def test_a_spelling_is_read_off_keys(pairs: list[tuple[str, str]], value: str, text: str) -> None:
    assert spelling(pairs).write(value) == text

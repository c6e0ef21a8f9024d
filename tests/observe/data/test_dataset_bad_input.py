"""Data files that cannot be read: the right exit code and one to four lines that say what, where and how to fix it."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path

import polars as pl
import pytest

from pkadvisor.errors import AdvisorError, InputError, UsageError
from pkadvisor.observe.data.dataset import open_datasets

GOOD = "id,name\n" + "".join(f"{i},n{i}\n" for i in range(1000))
RANDOM = random.Random(7)


def parquet_bytes() -> bytes:
    out = io.BytesIO()
    pl.DataFrame({"a": list(range(5000))}).write_parquet(out)
    return out.getvalue()


CASES: dict[str, tuple[bytes, str]] = {
    "truncated gzip": (gzip.compress(GOOD.encode())[:-40], "cut short"),
    "binary": (RANDOM.randbytes(5000), "binary file"),
    "elf": (b"\x7fELF\x02\x01\x01" + bytes(400), "binary file"),
    "zip": (b"PK\x03\x04" + RANDOM.randbytes(100), "zip archive"),
    "tar.gz": (gzip.compress(b"name.csv" + bytes(249) + b"ustar\0" + GOOD.encode()), "tar archive"),
    "utf-16 without mark": (GOOD.encode("utf-16-le"), "binary file"),
    "latin-1": (GOOD.encode() + "1,Käse\n".encode("latin-1"), "not UTF-8: byte 0xe4 at offset"),
    "latin-1 late": ((GOOD + "1,xxxxxxx\n" * 60_000).encode() + b"2,K\xe4se\n", "offset 60"),
    "latin-1 header": ("id,stra\xdfe\n1,2\n".encode("latin-1"), "0xdf at offset 7"),
    "empty": (b"", "empty"),
    "blanks": (b"\n \n\n", "blanks"),
    "markdown": (b"| id | name |\n|---:|:-----|\n| 1 | a |\n", "a Markdown table"),
    "header only": (b"id,name\n", "no rows"),
    "no header": (b"1,2,2024-01-01\n3,4,2024-01-02\n", "looks like data"),
    "prose": (b"Dear reader, this is text\nand no table at all\n", "rows cannot be read as csv; the first: line 2"),
    "one cell": (b"this is text without any\nand no table at all\n", "neither a CSV header nor JSON"),
    "ragged": (b"a,b\n1,2\n1,2,3\n4\n", "2 of 3 rows cannot be read as csv; the first: line 3 has 3 fields"),
    "open quote": (b'a,b\n1,"x\n' + b"2,y\n" * 9, "a quote opened in line 2 is never closed"),
    "long line": (b"a,b\n1," + b"x" * 10_000_000 + b"\n2,3\n", "line 2 is 10,000,003 bytes long"),
    "long json": (b'{"a":"' + b"x" * 10_000_000 + b'"}\n{"a":1}\n', "a value is longer than 8 MiB"),
    "long json line": (b'{"a":1}\n{"a":"' + b"x" * 10_000_000 + b'"}\n', "line 2 is 10,000,009 bytes long"),
    "cut json": (json.dumps({"value": [{"a": i} for i in range(9)]}).encode()[:-9], "ends early, after 8 entities"),
    "bad json": (b'[{"a": 1}, {"a": }]', "not valid"),
    "array of numbers": (b"[1, 2, 3]", "not an object"),
    "empty array": (b'{"value": []}', "no rows"),
    "bad json lines": (b'{"a": 1}\n{"a": \n{"a": 2}\n', "line 2 is not valid JSON"),
    "deep json": (b'{"a":' * 5000 + b"1" + b"}" * 5000, "JSON"),
    "cut parquet": (parquet_bytes()[:-100], "damaged or cut short"),
    "compressed parquet": (gzip.compress(parquet_bytes()), "inside gzip"),
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_content_that_cannot_be_used(tmp_path: Path, case: str) -> None:
    data, words = CASES[case]
    path = tmp_path / "data"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        open_datasets([str(path)])
    message = str(caught.value)
    assert words in message, message
    assert caught.value.where == str(path)
    assert caught.value.fix
    assert 1 <= len(message.split("\n")) <= 4
    assert all(len(line) < 400 for line in message.split("\n"))


def test_what_is_not_there(tmp_path: Path) -> None:
    specs = ["absent.csv", str(tmp_path), str(tmp_path / "*.csv"), "kind=absent.csv", "nul\x00.csv", "x" * 5000]
    for spec in specs:
        with pytest.raises(UsageError) as caught:
            open_datasets([spec])
        assert caught.value.exit_code == 2
    for wrong in ([], ["-", "a=-"]):
        with pytest.raises(UsageError):
            open_datasets(wrong)
    (tmp_path / "x").write_text(GOOD)
    with pytest.raises(UsageError, match="did you mean 'csv'"):
        open_datasets([str(tmp_path / "x")], input_format="cvs")


def test_few_bad_rows_are_counted_and_nothing_else_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(GOOD + "7,8,9\n\n" + '"x\ny",2\n' + "5\n" + GOOD.split("\n", 1)[1])
    (dataset,) = open_datasets([str(path)])
    assert dataset.row_count == 2001
    assert sum(f.height for f in dataset.batches(["name"])) == 2001
    (note,) = (n for n in dataset.notes if "skipped" in n)
    assert "2 of 2,003 rows skipped; line 1,002 has 3 fields where the header has 2" in note
    with pytest.raises(InputError):
        open_datasets([str(path)], max_bad_share=0.0)


def test_few_bad_json_lines_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_text('{"a":1}\n' * 150 + "oops\n" + '{"a":2}\n' * 150)
    (dataset,) = open_datasets([str(path)])
    assert dataset.row_count == 300
    assert any("line 151 is not valid JSON" in n for n in dataset.notes)


def test_a_badly_escaped_quote_costs_no_other_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('a,b\n1,"f"g"h"\n2,"ok"\n')
    (dataset,) = open_datasets([str(path)])
    assert [f["a"].to_list() for f in dataset.batches()] == [[1, 2]]


def test_lone_surrogates_of_utf_16_are_counted_and_escaped(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("a,b\nx\ud800,1\n".encode("utf-16", "surrogatepass"))
    (dataset,) = open_datasets([str(path)])
    assert [f["a"].to_list() for f in dataset.batches()] == [["x\\ud800"]]
    assert any("1 lone surrogate" in n for n in dataset.notes)


def test_errors_are_errors_of_the_advisor_for_any_damage(tmp_path: Path) -> None:
    """Cut and flip bytes of good files: only AdvisorError may come out."""
    goods = [
        GOOD.encode(),
        json.dumps({"value": [{"a": i, "b": "é"} for i in range(50)]}).encode(),
        b"".join(b'{"a": %d, "o": {"b": [1]}}\n' % i for i in range(50)),
        gzip.compress(GOOD.encode()),
        parquet_bytes(),
    ]
    path = tmp_path / "x"
    chance = random.Random(3)
    for good in goods:
        for _ in range(60):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 4)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            path.write_bytes(bytes(data[: chance.randrange(1, len(data) + 1)]))
            try:
                (dataset,) = open_datasets([str(path)])
                assert sum(f.height for f in dataset.batches()) == dataset.row_count
            except AdvisorError as error:
                assert len(error.lines()) <= 4


def test_stray_quotes_lose_no_row(tmp_path: Path) -> None:
    """Two of them join the lines between; whether or not the joined line has the right width."""
    for lines in (['5" pipe,1', "b,2", '3" tube,4'], ['5" pipe,1', '3" tube,4']):
        path = tmp_path / "x.csv"
        path.write_text('a,b\n"quoted",0\n' + "".join(line + "\n" for line in lines))
        (dataset,) = open_datasets([str(path)])
        wanted = [("quoted", 0), *((line.split(",")[0], int(line.split(",")[1])) for line in lines)]
        assert [row for f in dataset.batches() for row in f.rows()] == wanted
        assert any("misplaced quotes" in note for note in dataset.notes)


def test_empty_parts_among_others_are_noted(tmp_path: Path) -> None:
    (tmp_path / "part-0.csv").write_bytes(b"")
    (tmp_path / "part-1.csv").write_text("a,b\n")
    (tmp_path / "part-2.csv").write_text("a,b\n1,2\n")
    (tmp_path / "part-3.csv").write_bytes(b"")
    (dataset,) = open_datasets([str(tmp_path / "part-*.csv")])
    assert (dataset.row_count, len(dataset.notes)) == (1, 2 + 1)
    assert sum(f.height for f in dataset.batches()) == 1
    with pytest.raises(InputError, match=r"no rows|empty"):
        open_datasets([str(tmp_path / "part-[01].csv")])


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(GOOD.encode()))))
    (dataset,) = open_datasets(["Thing=-"])
    assert (dataset.kind, dataset.row_count) == ("Thing", 1000)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    with pytest.raises(InputError, match=r"^standard input: the file is empty"):
        open_datasets(["-"])


def test_an_entity_without_properties_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.json").write_text("{}")
    with pytest.raises(InputError, match="no entity has a property"):
        (dataset,) = open_datasets([str(tmp_path / "empty.json")])
        next(dataset.batches())

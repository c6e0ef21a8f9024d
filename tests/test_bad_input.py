"""Bad input through the whole command: its exit code, and one to four lines that say what, where and how to fix it."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from pkadvisor.resources import resource
from tests.tiers import sizes

Advise = Callable[..., tuple[int, str, str]]

RACE = resource("samples", "footrace")
DATA = str(RACE / "registrations.csv")
DESIGN = (RACE / "design.yaml").read_text()
BLOG_LOG = gzip.decompress((resource("samples", "microblog") / "table-000000.log.gz").read_bytes())
BLOB_LINE = (
    b'1.0;2011-07-28T18:02:40.6271789Z;PutBlob;Success;201;28;21;authenticated;sally;sally;blob;"http://sally.blob.core.'
    b'windows.net/thumbnails/lake.jpg";"/sally/thumbnails/lake.jpg";fb658ee6-6123-41f5-81e2-4bfdc178fea3;0;201.9.10.20;'
    b'2009-09-19;438;100;223;0;100;;"66CbMXKirxDeTr82SXBKbg==";"0x8CE1B67AD25AA05";Thursday, 28-Jul-11 18:02:40 GMT;;;;'
    b'"7/28/2011 6:02:40 PM ab970a57"\n'
)


@pytest.fixture
def advise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Advise:
    """The command in an empty folder: exit code, standard output, standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "design.yaml").write_text(DESIGN)

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["analyze", *words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def told(err: str, *says: str) -> None:
    """One error of one to four lines, with each of these words in it, and nothing that moves a cursor."""
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert 1 <= len(lines) <= 4, err
    assert lines[0].startswith("error: "), err
    assert "Traceback" not in err
    assert "bug in pkadvisor" not in err
    assert all(ch.isprintable() or ch == "\n" for ch in err)
    assert max(map(len, lines)) <= 400
    for words in says:
        assert words in err, err


def changed(old: str, new: str) -> str:
    """The sample's design with one change."""
    assert DESIGN.count(old) >= 1, old
    return DESIGN.replace(old, new, 1)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("design.yaml",), "error: DATA: design.yaml: this is a design file\n  give it with --design\n"),
        ((DATA, "--log", "design.yaml"), "error: --log: design.yaml: this is a design file\n  give it with --design\n"),
        (("design.json",), "error: DATA: design.json: this is a design file\n  give it with --design\n"),
        (("race=design.yaml",), "error: DATA: design.yaml: this is a design file\n  give it with --design\n"),
        (("--design", "rows.jsonl"), "error: rows.jsonl: this is not a design\n"),
        (("--design", DATA), "a design is YAML with schema: and tables:; a data file is named without --design\n"),
    ],
)
def test_a_file_in_the_place_of_another_is_named_with_its_own_option(
    advise: Advise, words: tuple[str, ...], says: str
) -> None:
    Path("design.json").write_text('{\n "schema": 1,\n "tables": {"Race": {"properties": {"city": "string"}}}\n}\n')
    Path("rows.jsonl").write_text('{"city": "Oslo"}\n{"city": "Bergen"}\n')
    code, _, err = advise(*words)
    assert code == 2
    told(err, says)


# -- content that cannot be used: exit 3 --------------------------------------------------------------------------

GOOD_ROWS = "event,distance,bib,initials,gender,age\n" + "".join(f"e,d,{i},ab,f,{i % 70}\n" for i in range(300))
CASES: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "truncated gzip": (gzip.compress(GOOD_ROWS.encode())[:-60], ("bad.csv", "cut short", "copy or download")),
    "damaged gzip": (gzip.compress(GOOD_ROWS.encode())[:200] + b"\xff" * 300, ("bad.csv", "gzip")),
    "binary": (random.Random(1).randbytes(9000), ("bad.csv", "binary", "CSV")),
    "deflate without a frame": (zlib.compress(GOOD_ROWS.encode()), ("bad.csv",)),
    "ragged": (
        (GOOD_ROWS + "1,2,3\n" * 40).encode(),
        ("bad.csv", "line 302 has 3 fields where the header has 6", "quotes"),
    ),
    "wrong encoding": ((GOOD_ROWS + "e,d,7,J\xf6,f,4\n").encode("latin-1"), ("bad.csv", "0xf6", "iconv")),
    "10 MB line": (b"event,distance\n" + b"x" * 10_000_000 + b"\n", ("bad.csv", "line 2", "10,000,00")),
    "empty": (b"", ("bad.csv", "empty", "leave it out")),
    "header only": (b"event,distance\n", ("bad.csv", "no rows")),
    "cut json": (b'{"value": [{"a": 1}, {"a"', ("bad.csv", "early")),
}


@pytest.mark.parametrize("case", CASES)
def test_data_that_cannot_be_used(case: str, advise: Advise, tmp_path: Path) -> None:
    content, says = CASES[case]
    (tmp_path / "bad.csv").write_bytes(content)
    code, out, err = advise("bad.csv", "--design", "design.yaml")
    assert (code, out) == (3, "")
    told(err, *says)


LOGS: dict[str, tuple[bytes, tuple[str, ...]]] = {
    "nothing parsed": (
        b"hello, this is prose\nand more of it\n" * 50,
        ("bad.log:1", "hello, this is prose", "formats tried: Storage Analytics, Azure Monitor, trace"),
    ),
    "truncated gzip": (gzip.compress(BLOG_LOG)[:-500], ("bad.log", "cut short")),
    "binary": (random.Random(2).randbytes(9000), ("bad.log", "formats tried")),
    "empty": (b"", ("bad.log", "empty")),
    "a CSV": (GOOD_ROWS.encode(), ("bad.log:1", "formats tried")),
    "another service": (BLOB_LINE * 30, ("bad.log", "another service", "blob")),
    "half of it unreadable": (
        b"".join(BLOG_LOG.splitlines(True)[:50]) + b"junk\n" * 60,
        ("bad.log", "junk", "--max-bad-lines"),
    ),
}


@pytest.mark.parametrize("case", LOGS)
def test_a_log_that_cannot_be_used(case: str, advise: Advise, tmp_path: Path) -> None:
    content, says = LOGS[case]
    (tmp_path / "bad.log").write_bytes(content)
    code, out, err = advise("--log", "bad.log")
    assert (code, out) == (3, ""), err
    told(err, *says)


@pytest.mark.long("proofs")
def test_a_long_line_in_a_log_is_skipped_and_nothing_else_lost(advise: Advise, tmp_path: Path) -> None:
    lines = BLOG_LOG.splitlines(keepends=True)
    (tmp_path / "long.log").write_bytes(b"".join([*lines[:600], b"x" * 10_000_000 + b"\n", *lines[600:]]))
    code, out, err = advise("--log", "long.log", "--format", "json")
    assert code == 0
    assert "long.log:601" in err
    assert len(err) < 1000
    log = json.loads(out)["log"]
    (tmp_path / "plain.log").write_bytes(BLOG_LOG)
    whole = json.loads(advise("--log", "plain.log", "--format", "json")[1])["log"]
    assert log["skipped"] == [{"reason": "line too long", "lines": 1}]
    assert log["requests_attempted"] == whole["requests_attempted"]


@pytest.mark.long("proofs")
def test_a_mark_at_the_start_of_utf_16_is_understood(advise: Advise, tmp_path: Path) -> None:
    (tmp_path / "utf16.csv").write_bytes(Path(DATA).read_text().encode("utf-16"))
    code, out, _ = advise("utf16.csv", "--design", "design.yaml", "--format", "json")
    assert code == 0
    assert json.loads(out)["tables"][0]["data"]["entities_read"] == 6000


# -- wrong usage: exit 2 ------------------------------------------------------------------------------------------

USAGE: dict[str, tuple[list[str], str | None, tuple[str, ...]]] = {
    "a directory": ([str(RACE)], None, ("is a directory", "glob")),
    "a missing file": (["registration.csv"], None, ("registration.csv", "no such file")),
    "a missing design": ([DATA, "--design", "desing.yaml"], None, ("desing.yaml", "did you mean 'design.yaml'?")),
    "a property that the data lacks": (
        [DATA, "--design", "changed.yaml"],
        changed("age eq {age}", "agge eq {agge}"),
        ("changed.yaml:", "'agge'", "did you mean 'age'?", "^^^^"),
    ),
    "a filter with a syntax error": (
        [DATA, "--design", "changed.yaml"],
        changed("and bib eq {bib}", "and bib == {bib}"),
        ("changed.yaml:", "bib == {bib}", "^"),
    ),
    "a template with an unknown property": (
        [DATA, "--design", "changed.yaml"],
        changed("{bib}__{initials}", "{bip}__{initials}"),
        ("'bip'", "did you mean 'bib'?", "^^^"),
    ),
    "a template that does not close": (
        [DATA, "--design", "changed.yaml"],
        changed("{bib}__{initials}", "{bib__{initials}"),
        ("^",),
    ),
    "a design that is no YAML": ([DATA, "--design", "changed.yaml"], "schema: 1\ntables: [", ("changed.yaml:",)),
    "a design of another key": ([DATA, "--design", "changed.yaml"], "schema: 1\ntabels: {}\n", ("tabels", "tables")),
    "an unknown output format": (
        [DATA, "--design", "design.yaml", "--out", "pdf=x.pdf"],
        None,
        ("--out", "no format 'pdf'", "formats: text, json"),
    ),
    "an unknown table": (
        [DATA, "--design", "design.yaml", "--table", "Registration"],
        None,
        ("--table", "'Registration'", "did you mean 'Registrations'?"),
    ),
    "a time that is none": (
        [DATA, "--log", "ok.log", "--since", "yesterday"],
        None,
        ("--since", "'yesterday' is no date, and no date with a time\n", "2026-"),
    ),
    "limits that are none": ([DATA, "--design", "design.yaml", "--limits", "design.yaml"], None, ("design.yaml",)),
    "data that no table belongs to": (
        [DATA, f"Horse={DATA}", "--design", "design.yaml"],
        None,
        ("kind=PATH",),
    ),
}


@pytest.mark.parametrize("case", USAGE)
def test_wrong_usage(case: str, advise: Advise, tmp_path: Path) -> None:
    words, design, says = USAGE[case]
    (tmp_path / "ok.log").write_bytes(BLOG_LOG)
    if design is not None:
        (tmp_path / "changed.yaml").write_text(design)
    code, out, err = advise(*words)
    assert (code, out) == (2, ""), err
    told(err, *says)


def test_the_caret_stands_under_what_is_wrong(advise: Advise, tmp_path: Path) -> None:
    (tmp_path / "changed.yaml").write_text(changed("{bib}__{initials}", "{bip}__{initials}"))
    _, _, err = advise(DATA, "--design", "changed.yaml")
    source, marks = err.splitlines()[1:3]
    assert source[marks.index("^") : marks.rindex("^") + 1] == "bip"


def test_data_alone_is_exit_2_with_a_design_to_fill_in(advise: Advise, tmp_path: Path) -> None:
    code, out, err = advise(DATA)
    assert code == 2
    told(err, "no workload", "--design", "--log")
    assert "Registrations:" in out
    assert "registered_at: datetime" in out
    # Once the rates are filled in it is a design that works.
    filled = out.replace("rate:   ", "rate: 5/s ")
    assert filled != out
    (tmp_path / "mine.yaml").write_text(filled)
    code, _, err = advise(DATA, "--design", "mine.yaml")
    assert (code, err) == (0, "")


def test_a_log_without_times_and_no_declared_rate_is_exit_2(advise: Advise, tmp_path: Path) -> None:
    rows = [json.dumps({"table": "Registrations", "op": "query", "filter": f"bib eq {i}"}) for i in range(40)]
    (tmp_path / "trace.jsonl").write_text("\n".join(rows) + "\n")
    code, out, err = advise(DATA, "--log", "trace.jsonl")
    assert (code, out) == (2, ""), err
    told(err, "no times", "rates", "--design")


# -- a constraint that cannot be satisfied: exit 1, with the result -----------------------------------------------

IMPOSSIBLE = """schema: 1
tables:
  Pairs:
    isolation: tenant
    queries:
      - {name: one, filter: "tenant eq '{tenant}' and n eq {n}", rate: 10/s}
    writes:
      - {name: book, operation: insert, rate: 5/s}
    transactions:
      - {name: both, together: [book], group_by: [pair], required: true}
"""


@pytest.mark.parametrize("form", ["text", "json"])
def test_constraints_that_no_key_holds_are_exit_1_and_the_result_is_shown(
    form: str, advise: Advise, tmp_path: Path
) -> None:
    rows = "".join(f"t{i % 7},p{i // 2},{i}\n" for i in range(400))
    (tmp_path / "pairs.csv").write_text(f"tenant,pair,n\n{rows}")
    (tmp_path / "pairs.yaml").write_text(IMPOSSIBLE)
    code, out, err = advise("pairs.csv", "--design", "pairs.yaml", "--format", form, "--out", "json=r.json")
    assert code == 1
    assert err.splitlines()[0].startswith("wrote r.json")
    told("\n".join(err.splitlines()[1:]), "Pairs: no key holds every constraint")
    group = "every set of transaction 'both' is one group transaction"
    constraints = f"the isolating property leads every PartitionKey; {group}"
    assert f"give up one of: {constraints}" in err
    assert json.loads((tmp_path / "r.json").read_bytes())["outcome"] == "constraint-unsatisfied"
    violations = json.loads((tmp_path / "r.json").read_bytes())["tables"][0]["recommended"]["violations"]
    assert any(v["message"] in err for v in violations)
    if form == "json":
        assert json.loads(out)["tables"][0]["verdict"] == "unsatisfied"
    else:
        assert out.startswith("NO KEY HOLDS EVERY CONSTRAINT   Pairs")
        assert f"Caveat: No key holds both: {constraints.replace('; ', ' and ')}." in " ".join(out.split())


# -- hostile values: nothing lost, nothing obeyed -----------------------------------------------------------------

HOSTILE = [
    "a/b",
    "a\\b",
    "a#b",
    "a?b",
    "tab\there",
    "bell\x07",
    "null\x00",
    "esc\x1b[2J\x1b]0;title\x07",
    "[red]rich[/red] [link=x]y[/link]",
    "bidi\u202eevil\u2066",
    "line\nbreak\r\nmore",
    "del\x7fc1\x85\x9b31m",
    "sep\u2028\u2029",
    "{braces} {{double}}",
    "quote'quote''\"",
    "%2F%00 +&=",
    "",
    " ",
    "😀 é ß",
]
HOSTILE_DESIGN = """schema: 1
tables:
  Hostile:
    partition_key: "{who}"
    row_key: "{n}"
    queries:
      - {name: one, filter: "who eq '{who}' and n eq {n}", rate: 50/s}
      - {name: all-of, filter: "who eq '{who}'", rate: 5/s, draw: {by: distinct, of: [who]}}
    writes:
      - {name: add, operation: insert, rate: 1/s}
"""


@pytest.mark.parametrize("form", ["json lines", "csv"])
@pytest.mark.parametrize("redact", ["none", "keys"])
def test_hostile_key_values_are_kept_and_obeyed_by_nothing(
    form: str, redact: str, advise: Advise, tmp_path: Path
) -> None:
    rows = [{"who": HOSTILE[i % len(HOSTILE)], "n": i} for i in range(380)]
    if form == "csv":
        import csv

        with (tmp_path / "t.dat").open("w", newline="") as file:
            writer = csv.DictWriter(file, ["who", "n"], quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows({**r, "who": str(r["who"]).replace("\0", "")} for r in rows)
    else:
        (tmp_path / "t.dat").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "t.yaml").write_text(HOSTILE_DESIGN)
    for color in ("never", "always"):
        code, out, err = advise("t.dat", "--design", "t.yaml", "-v", "--redact", redact, "--color", color)
        assert code == 0, err
        plain = out
        for mark in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[33m", "\x1b[1;31m", "\x1b[1;32m"):
            plain = plain.replace(mark, "")
        assert [ch for ch in plain if not ch.isprintable() and ch != "\n"] == []
    found = json.loads(advise("t.dat", "--design", "t.yaml", "--redact", redact, "--format", "json")[1])
    (table,) = found["tables"]
    assert table["data"]["entities_read"] == 380
    text = json.dumps(found)
    if redact == "keys":
        assert [v for v in HOSTILE if len(v) > 4 and json.dumps(v)[1:-1] in text] == []


def test_lone_surrogates_are_counted_and_written_as_escapes(advise: Advise, tmp_path: Path) -> None:
    rows = [f'{{"who": "k{i % 9}\\ud83d", "n": {i}}}' for i in range(90)]
    (tmp_path / "t.jsonl").write_text("\n".join(rows))
    (tmp_path / "t.yaml").write_text(HOSTILE_DESIGN)
    code, out, err = advise("t.jsonl", "--design", "t.yaml", "--details")
    assert code == 0, err
    assert "90 lone surrogates" in err + out
    assert "ud83d" in out
    code, out, _ = advise("t.jsonl", "--design", "t.yaml", "--format", "json")
    assert code == 0
    out.encode("utf-8")
    assert "ud83d" in out


def test_every_option_that_is_wrong_and_every_file_at_once_is_no_bug(advise: Advise, tmp_path: Path) -> None:
    rng = random.Random(5)
    pool = [
        b"event,distance,bib\n",
        b"e,d,1\n",
        b"\x00",
        b"\xff\xfe",
        b'"',
        b"{",
        b"1.0;",
        BLOB_LINE,
        b"\n",
        b"[",
        b";" * 30,
    ]
    for i in sizes(range(8), range(60)):
        content = b"".join(rng.choice(pool) for _ in range(rng.randrange(1, 25)))
        (tmp_path / f"f{i}").write_bytes(content)
        for words in (
            [f"f{i}", "--design", "design.yaml"],
            ["--log", f"f{i}"],
            ["--design", f"f{i}"],
            ["--profile", f"f{i}"],
        ):
            code, _, err = advise(*words)
            assert code in (0, 2, 3), (words, content, err)
            if code:
                told(err)

"""Profile documents: what they hide, how they merge, what they refuse, and that they stand in for data and logs."""

from __future__ import annotations

import gzip
import json
import re
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.cli.inputs import load_sample
from pkadvisor.cli.main import main
from pkadvisor.observe.data.dataset import open_datasets
from pkadvisor.observe.profile.profile import canonical_column
from pkadvisor.observe.profile.profile_file import is_document, load_document, merge_documents
from pkadvisor.observe.profile.profile_json import FILE_SAMPLE_ROWS
from pkadvisor.observe.profile.table_profiles import INSTANCES_MAX, OPEN_KEY, key_check, seed_of, thinned, token
from pkadvisor.observe.workload import Workload
from tests.report.support import SAMPLES, profile_text, result, written
from tests.tiers import sizes

SALT = b"a salt of enough bytes"
SALTED = sizes(["bank", "documents"], SAMPLES, "proofs")
"""Samples that are profiled with a salt too."""


def save(folder: Path, text: str, name: str = "p.json") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


# -- hiding --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "salt"), [*((name, b"") for name in SAMPLES), *((name, SALT) for name in SALTED)])
def test_no_key_value_is_in_the_document(name: str, salt: bytes) -> None:
    text = profile_text(name, salt)
    shown = text
    document = json.loads(text)
    hashed = {h for t in document["tables"] for h in t["data"]["hashed"]}
    assert hashed
    words = set(re.findall(r"[A-Za-z0-9.+/=-]+", shown))
    looked_at = 0
    for dataset in open_datasets(list(load_sample(name).data)):
        types = {c.name: c.edm for c in dataset.columns}
        for batch in dataset.batches():
            for column in sorted(hashed & types.keys()):
                values = canonical_column(batch, column, types[column]).drop_nulls().unique().to_list()
                # Short numbers and words stand anywhere by chance.
                telling = [v for v in values if len(v) >= 6]
                looked_at += len(telling)
                assert [v for v in telling if v in words or (not v.isdigit() and v in shown)] == [], column
    assert looked_at or name in ("documents",)


def test_a_logged_key_is_not_in_the_document_of_a_log_alone(capsys: pytest.CaptureFixture[str]) -> None:
    sample = load_sample("microblog")
    assert main(["profile", "--log", *sample.logs]) == 0
    text = capsys.readouterr().out
    keys = {k["partition_key"] for k in result("microblog")["tables"][0]["heat_in_log"]["reads"]["top"]}
    assert keys
    assert [k for k in keys if k in text] == []
    assert re.findall(r"2009[01]\d[0-3]\d", text) == []


@given(st.text(max_size=12), st.text(max_size=12))
def test_tokens_are_equal_where_values_are(one: str, other: str) -> None:
    assert (token(one, OPEN_KEY) == token(other, OPEN_KEY)) == (one == other)
    assert token(one, OPEN_KEY) != token(one, b"x" * 32)
    assert re.fullmatch(r"[a-z2-7]{12}[_;|!:~.-]*", token(one, OPEN_KEY))


def test_a_token_tells_the_punctuation_that_a_separator_must_not_be() -> None:
    assert token("a_b_c;d", OPEN_KEY).endswith("_;")
    assert token("abc", OPEN_KEY).isalnum()


def test_of_the_greatest_number_its_first_digit_stays() -> None:
    document = json.loads(profile_text("bank"))
    largest = {p["name"]: p["largest"] for p in document["tables"][0]["data"]["properties"]}
    data = open_datasets(list(load_sample("bank").data))[0]
    real = max(int(b.get_column("account").max()) for b in data.batches())  # type: ignore[arg-type]
    assert largest["account"] != real
    assert str(largest["account"])[0] == str(real)[0]
    assert len(str(largest["account"])) == len(str(real))
    assert set(str(largest["account"])[1:]) == {"9"}


def test_a_salt_hides_row_and_value_hashes_too() -> None:
    assert seed_of(b"") == 0
    assert seed_of(SALT) not in (0, seed_of(SALT + b"x"))
    one, other = (json.loads(profile_text("bank", salt))["tables"][0]["data"] for salt in (b"", SALT))
    assert one["properties"][0]["distinct"] != other["properties"][0]["distinct"]
    assert one["sample"]["hash"] != other["sample"]["hash"]


@pytest.mark.parametrize("name", SAMPLES)
def test_a_profile_is_small_and_survives_reading_and_writing(name: str, tmp_path: Path) -> None:
    text = profile_text(name)
    assert len(text.encode()) <= 200_000
    path = save(tmp_path, text)
    assert is_document(path)
    document = load_document(path)
    assert written(document) == text
    data = document.tables[0].data
    assert data is not None
    assert data.token_key == OPEN_KEY


@pytest.mark.parametrize("name", SALTED)
def test_a_profile_with_a_salt_of_its_own_keeps_it_to_itself(name: str, tmp_path: Path) -> None:
    closed = load_document(save(tmp_path, profile_text(name, SALT), "s.json"))
    assert closed.key_check != key_check(OPEN_KEY)
    assert all(t.data is None or t.data.token_key is None for t in closed.tables)


# -- merging -------------------------------------------------------------------------------------------------------


def parts_of(name: str, folder: Path, cuts: list[int]) -> list[str]:
    """The data of a sample cut into files of the same name, profiled one by one by the command."""
    (source,) = load_sample(name).data
    head, *lines = Path(source).read_text().splitlines(keepends=True)
    out = []
    for i, (a, b) in enumerate(pairwise([0, *cuts, len(lines)])):
        part = folder / f"part{i}" / Path(source).name
        part.parent.mkdir()
        part.write_text(head + "".join(lines[a:b]))
        out.append(str(folder / f"{i}.json"))
        assert main(["profile", str(part), "--out", out[-1], "-q", "--sample-rows", "300"]) == 0
    return out


def test_ten_files_merged_in_any_grouping_are_the_whole_byte_for_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = parts_of("documents", tmp_path, [7, 200, 201, 500, 900, 901, 1300, 1800, 2100])
    whole = tmp_path / "whole.json"
    data = load_sample("documents").data[0]
    assert main(["profile", data, "--out", str(whole), "-q", "--sample-rows", "300"]) == 0

    def merge(*names: str, out: str) -> str:
        options = [word for name in names for word in ("--profile", name)]
        assert main(["profile", *options, "--out", str(tmp_path / out), "-q"]) == 0
        return str(tmp_path / out)

    at_once = merge(*parts, out="once.json")
    left = merge(*parts[:4], out="left.json")
    right = merge(*parts[4:], out="right.json")
    halves = merge(left, right, out="halves.json")
    assert all(line.startswith("wrote ") for line in capsys.readouterr().err.splitlines())
    # Parts cannot tell how many of more than k values they share, which one pass over all rows counts.
    once = re.sub(rb'"counted":\d+,', b"", whole.read_bytes())
    assert Path(at_once).read_bytes() == Path(halves).read_bytes() == once


def test_merged_logs_add_up(tmp_path: Path) -> None:
    log = load_sample("microblog").logs[0]
    lines = gzip.decompress(Path(log).read_bytes()).splitlines(keepends=True)
    design = load_sample("microblog").design
    assert design is not None

    def workload(lines: list[bytes], name: str) -> tuple[Workload, float, str]:
        path = tmp_path / f"{name}.log"
        path.write_bytes(b"".join(lines))
        out = str(tmp_path / f"{name}.json")
        assert main(["profile", "--log", str(path), "--design", design, "--out", out, "-q"]) == 0
        table = load_document(out).tables[0]
        assert table.workload is not None
        return table.workload, table.covered_s, out

    whole, covered, _ = workload(lines, "whole")
    edges = [0, 300, 650, 900, len(lines)]
    parts = [workload(lines[a:b], f"part{a}") for a, b in pairwise(edges)]
    merged = reduce(merge_documents, (load_document(p[2]) for p in parts)).tables[0]
    assert merged.workload is not None
    assert merged.covered_s == pytest.approx(covered, rel=0.02)
    mine = {(str(c.operation), str(c.filter), c.top): c for c in whole.classes}
    theirs = {(str(c.operation), str(c.filter), c.top): c for c in merged.workload.classes}
    assert mine.keys() == theirs.keys()
    for shape, query in mine.items():
        assert theirs[shape].rate.mean_per_s == pytest.approx(query.rate.mean_per_s, rel=0.1, abs=0.02), query.name
        assert theirs[shape].rate.peak_per_s <= query.rate.peak_per_s + 1
        # A minute in which the log was cut is put together again, but for a retry whose first attempt is cut off.
        one, other = (w.minutes[c.name] for w, c in ((whole, query), (merged.workload, theirs[shape])))
        assert (one.at, one.of_day) == (other.at, other.of_day)
        assert sum(abs(a - b) for a, b in zip(one.requests, other.requests, strict=True)) <= 1
        assert theirs[shape].rate.peak_minute_per_s == pytest.approx(query.rate.peak_minute_per_s, abs=1 / 60)
    names = [c.name for c in merged.workload.classes]
    assert len(set(names)) == len(names)
    for name, frame in merged.workload.instances.items():
        assert name in names
        assert frame.get_column("_weight").sum() == pytest.approx(1)
        assert frame.height <= INSTANCES_MAX


def test_parameters_of_a_merge_weigh_as_many_requests_as_they_stand_for() -> None:
    document = load_document_text(profile_text("microblog"))
    (table,) = document.tables
    assert table.workload is not None
    doubled = merge_documents(document, document).tables[0]
    assert doubled.workload is not None
    assert doubled.covered_s == 2 * table.covered_s
    for query, twice in zip(table.workload.classes, doubled.workload.classes, strict=True):
        assert twice.rate.mean_per_s == pytest.approx(query.rate.mean_per_s)
    frame = next(iter(doubled.workload.instances.values()))
    assert frame.get_column("_weight").sum() == pytest.approx(1)


def load_document_text(text: str) -> Any:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        return load_document(save(Path(folder), text))


def test_thinning_keeps_equal_steps_and_the_sum_of_weights() -> None:
    frame = pl.DataFrame({"x": list(range(2500)), "_weight": [1 / 2500] * 2500})
    found = thinned(frame, 1000)
    assert found.height <= 1000
    assert found.get_column("x").to_list()[:3] == [0, 3, 6]
    assert found.get_column("_weight").sum() == pytest.approx(1)


def test_profiles_of_different_salts_refuse_to_merge(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one = save(tmp_path, profile_text("bank"), "one.json")
    other = save(tmp_path, profile_text("bank", SALT), "other.json")
    assert main(["profile", "--profile", one, "--profile", other]) == 2
    err = capsys.readouterr().err
    assert "different salts" in err
    assert "--profile" in err
    assert len(err.splitlines()) <= 4


# -- standing in -----------------------------------------------------------------------------------------------------


def keys(found: dict[str, Any]) -> tuple[Any, ...]:
    best = found["tables"][0]["recommended"]
    rows = [(r["partition_key"], r["row_key"], r["copy"]) for r in best["index_rows"]]
    return found["tables"][0]["verdict"], best["partition_key"], best["row_key"], rows


LOOKED_AT = {"orders": {"sample_rows": FILE_SAMPLE_ROWS}}
"""One order in 300 is at hand: the 1,000 of them that a profile keeps tell less of the sizes of customers than all
4,000 do, and near ties hang on these. The profile is held beside as many rows of the data."""
WIDTH = r"(pad\([^,()]*,)(\d+)\)"


PLACES = ("--profile", "DATA", "kind=DATA")


@pytest.mark.parametrize(
    ("place", "name"),
    sizes(
        [(PLACES[0], "documents"), (PLACES[2], "bank")],
        [(place, name) for place in PLACES for name in SAMPLES],
        "proofs",
    ),
)
def test_a_profile_gives_the_same_keys_as_its_data(
    place: str, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = save(tmp_path, profile_text(name))
    design = load_sample(name).design
    assert design is not None
    words = {"--profile": ["--profile", path], "DATA": [path], "kind=DATA": [f"Any={path}"]}[place]
    assert main(["analyze", *words, "--design", design, "--format", "json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    expected = result(name, **LOOKED_AT.get(name, {}))
    # How far a counter has risen lies in its values, which a profile hides: it is padded to the largest alone.
    assert re.sub(WIDTH, r"\1n)", str(keys(found))) == re.sub(WIDTH, r"\1n)", str(keys(expected)))
    widths = zip(re.findall(WIDTH, str(keys(found))), re.findall(WIDTH, str(keys(expected))), strict=True)
    assert all(int(narrow[1]) <= int(wide[1]) for narrow, wide in widths)
    assert found["inputs"]["profiles"] == ["p.json"]


@pytest.mark.long("proofs")
def test_a_constant_of_a_filter_is_found_among_the_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    design = Path(str(load_sample("orders").design)).read_text()
    assert "status eq '{status}'" in design
    (tmp_path / "d.yaml").write_text(design.replace("status eq '{status}'", "status eq 'shipped'"))
    profile = save(tmp_path, profile_text("orders"))
    returned = []
    for words in (["--profile", profile], list(load_sample("orders").data)):
        assert main(["analyze", *words, "--design", str(tmp_path / "d.yaml"), "--format", "json", "-q"]) == 0
        classes = json.loads(capsys.readouterr().out)["tables"][0]["recommended"]["classes"]
        returned.append(next(c for c in classes if c["name"] == "by-status")["entities_returned"])
    assert returned[1] > 1000
    assert returned[0] == pytest.approx(returned[1], rel=0.25)


def test_a_profile_of_a_log_alone_says_what_cannot_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "p.json")
    assert main(["profile", "--log", load_sample("microblog").logs[0], "--out", out, "-q"]) == 0
    assert main(["analyze", "--profile", out, "--format", "json", "-q"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert table["verdict"] == "heat_only"
    assert table["workload"]


def test_profiles_of_different_salts_are_not_analysed_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [save(tmp_path, profile_text("bank", salt), f"{len(salt)}.json") for salt in (b"", SALT)]
    design = load_sample("bank").design
    assert design is not None
    assert main(["analyze", "--profile", paths[0], "--profile", paths[1], "--design", design]) == 2
    assert "different salts" in capsys.readouterr().err


def test_the_profiles_of_two_halves_are_analysed_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parts = parts_of("documents", tmp_path, [1000])
    design = load_sample("documents").design
    assert design is not None
    words = ["--profile", parts[0], "--profile", parts[1], "--design", design]
    assert main(["analyze", *words, "--format", "json", "-q"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["tables"][0]["data"]["entities_read"] == 2205
    assert keys(found) == keys(result("documents"))


@pytest.mark.long("proofs")
def test_a_profile_is_taken_where_a_log_is_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = save(tmp_path, profile_text("microblog"))
    sample = load_sample("microblog")
    assert sample.design is not None
    assert main(["analyze", *sample.data, "--log", path, "--design", sample.design, "--format", "json", "-q"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    (expected,) = result("microblog")["tables"]
    rates = {q["name"]: q["rate_per_s"] for q in expected["workload"]}
    assert {q["name"]: q["rate_per_s"] for q in table["workload"]} == rates


def test_a_profile_without_its_design_does_not_take_whole_keys_for_those_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The design told that the keys are made of tenant and id: point reads of whole keys would look like scans."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"t{n % 9}", f"{n:04}") for n in range(600)]
    Path("data.csv").write_text("PartitionKey,RowKey,tenant,id\n" + "".join(f"{t},{i},{t},{i}\n" for t, i in rows))
    asked = ({"table": "Things", "op": "query", "pk": t, "rk": i, "at": n} for n, (t, i) in enumerate(rows))
    Path("log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    Path("design.yaml").write_text(
        'schema: 1\ntables:\n  Things: {partition_key: "{tenant}", row_key: "{id}", properties: {id: string}}\n'
    )
    given = ["--log", "log.jsonl", "--design", "design.yaml"]
    assert main(["profile", "data.csv", *given, "--out", "p.json", "-q"]) == 0
    told = {}
    for name, more in (("with", ["--design", "design.yaml"]), ("without", [])):
        assert main(["analyze", "--profile", "p.json", *more, "-q", "--out", f"json={name}.json"]) == 0
        (told[name],) = json.loads(Path(f"{name}.json").read_text())["tables"]
    assert told["with"]["verdict"] == "keep"
    assert told["without"]["current"] is None
    assert told["without"]["verdict"] == "choose"
    assert any("does not say which keys are in use" in note for note in told["without"]["notes"])

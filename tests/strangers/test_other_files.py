"""Files that tell less than all, or more than one thing: exports without keys, samples, several files, broken ones."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from pkadvisor.cli.main import main
from pkadvisor.observe.design_file.read_declaration import load_declaration
from tests.strangers.folders import STRANGERS
from tests.strangers.stranger import recommended
from tests.strangers.with_index_rows import WITH_INDEX_ROWS


def test_keys_that_an_export_lacks_are_made_of_its_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pkadvisor.resources import resource

    folder = resource("samples", "microblog")
    monkeypatch.chdir(tmp_path)
    logs = [str(path) for path in folder.glob("*.log.gz")]
    given = [word for path in logs for word in ("--log", path)]
    assert main(["init", "--from", str(folder / "blogs.csv"), *given, "--yes", "-q"]) == 0
    (mine,) = load_declaration("design.yaml").tables
    (theirs,) = load_declaration(folder / "design.yaml").tables
    assert mine.partition_key is not None
    assert theirs.partition_key is not None
    assert mine.partition_key.text == theirs.partition_key.text
    assert mine.row_key is not None
    assert theirs.row_key is not None
    assert mine.row_key.text == theirs.row_key.text


def test_logged_keys_that_no_column_makes_are_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = STRANGERS[1]().files["requests.log"]
    monkeypatch.chdir(tmp_path)
    Path("export.csv").write_text("a,b\n" + "".join(f"{n},x{n % 9}\n" for n in range(200)))
    Path("requests.log").write_text(log)
    assert main(["init", "--from", "export.csv", "--log", "requests.log", "--yes", "-q"]) == 0
    text = Path("design.yaml").read_text()
    assert "say what they are made of, or give an export with its keys" in " ".join(text.split())
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 1
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    assert (table["verdict"], table["recommended"]) == ("not_enough", None)
    assert "declares what the keys are made of" in table["next"]
    assert "the log names keys that the data does not have" in json.dumps(table)


def test_a_folder_of_logs_is_read_and_several_files_may_follow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = STRANGERS[0]()
    stranger.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    whole = Path("export.csv").read_text().splitlines(keepends=True)
    Path("a.csv").write_text("".join(whole[:700]))
    Path("b.csv").write_text("".join([whole[0], *whole[700:]]))
    assert main(["init", "--from", "a.csv", "b.csv", "--log", "logs", "--yes", "-q"]) == 0
    assert 'data = ["a.csv", "b.csv"]' in Path("pkadvisor.toml").read_text()
    assert "inferred: 1,500 of 1,500 exported keys" in Path("design.yaml").read_text()


def test_the_log_of_a_sample_tells_how_large_the_table_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = STRANGERS[11]()
    stranger.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = Path("items.csv").read_text().splitlines(keepends=True)
    Path("items.csv").write_text("".join([lines[0], *(line for n, line in enumerate(lines[1:]) if n % 3 == 0)]))
    assert main(["init", "--from", "items.csv", "--log", "items.log", "--yes", "-q"]) == 0
    (table,) = load_declaration("design.yaml").tables
    assert table.sampling == "random-rows"
    assert table.entities_total is not None
    assert 1_200 < table.entities_total < 1_800


@pytest.mark.long("worlds")
def test_what_the_log_inserts_tells_the_size_of_a_table_that_was_exported_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few reads find a key of a sample of 2 %; of the inserts as large a share is in it, or none in an older export."""
    monkeypatch.chdir(tmp_path)
    keys = [(f"t{n % 20}", f"{n:06}") for n in range(50_000)]
    asked = (
        {"table": "Log", "op": op, "at": 1_780_000_000 + n, "pk": p, "rk": r}
        for n, (op, (p, r)) in enumerate(
            [("query", k) for k in keys[:47_000:47]] + [("insert", k) for k in keys[47_000:]]
        )
    )
    Path("log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    totals = []
    for until in (50_000, 47_000):
        rows = keys[7:until:50]
        Path("Log.csv").write_text("PartitionKey,RowKey,n\n" + "".join(f"{p},{r},1\n" for p, r in rows))
        assert main(["init", "--from", "Log.csv", "--log", "log.jsonl", "--yes", "--force", "-q"]) == 0
        totals.append(load_declaration("design.yaml").tables[0].entities_total or 0)
    assert [round(total / 1_000) for total in totals] == [50, 47]


def test_rows_with_keys_of_before_the_template_break_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses in lower case, but for a few of earlier times that stand beside the new ones."""
    monkeypatch.chdir(tmp_path)
    mails = [f"Ann{n}@X{n % 7}.example" for n in range(600)]
    rows = [("T", mail.lower(), mail) for mail in mails] + [("T", mail, mail) for mail in mails[:4]]
    Path("Logins.csv").write_text("PartitionKey,RowKey,mail\n" + "".join(f"{p},{r},{m}\n" for p, r, m in rows))
    asked = ({"table": "Logins", "at": 1_780_000_000 + n, "pk": p, "rk": r} for n, (p, r, _) in enumerate(rows * 2))
    Path("log.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    assert main(["analyze", "Logins.csv", "--log", "log.jsonl", "-q", "--out", "json=r.json"]) == 0
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    assert (table["verdict"], recommended({"tables": [table]})) == ("keep", ["T | {lower(mail)}"])


def test_keys_that_are_not_found_say_nothing_of_the_size_of_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a list that most addresses are not on, each request for one of those is answered by 404."""
    monkeypatch.chdir(tmp_path)
    keys = [(f"d{n % 20}", f"u{n}") for n in range(1_500)]
    Path("export.csv").write_text("PartitionKey,RowKey,why\n" + "".join(f"{p},{r},spam\n" for p, r in keys[::5]))
    asked = (
        {"table": "List", "op": "query", "at": 1_780_000_000 + n, "pk": p, "rk": r, "status": 404 if n % 5 else 200}
        for n, (p, r) in enumerate(keys)
    )
    Path("asked.jsonl").write_text("".join(json.dumps(each) + "\n" for each in asked))
    assert main(["init", "--from", "export.csv", "--log", "asked.jsonl", "--yes", "-q"]) == 0
    (table,) = load_declaration("design.yaml").tables
    assert (table.sampling, table.entities_total) == ("complete", None)


def test_few_rows_that_are_asked_for_often_are_a_kind_and_a_queue_is_no_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever claims a job deletes it: of those that the log names, hardly one is in a later export."""
    monkeypatch.chdir(tmp_path)
    jobs = [(f"q{n % 4:02}", f"{639_214_355_947_118_300 + n * 10**9:019}_job-{n:05}") for n in range(2_400)]
    settings = [("control", word) for word in ("batch", "limit", "pause", "region")]
    rows = "".join(f"{p},{r},x\n" for p, r in (*settings, *jobs[1_200:]))
    Path("jobs.csv").write_text(f"PartitionKey,RowKey,body\n{rows}")
    lines: list[dict[str, object]] = [{"filter": "PartitionKey eq 'control'"} for _ in range(900)]
    lines += [{"op": "merge", "pk": p, "rk": r} for p, r in jobs[:1_250]]
    lines += [{"op": "delete", "pk": p, "rk": r} for p, r in jobs[:900]]
    shown = (json.dumps({"table": "Jobs", "at": 1_780_000_000 + n % 600} | line) for n, line in enumerate(lines))
    Path("log.jsonl").write_text("".join(f"{line}\n" for line in shown))
    assert main(["init", "--from", "Jobs=jobs.csv", "--log", "log.jsonl", "--yes", "-q"]) == 0
    (table,) = load_declaration("design.yaml").tables
    assert [kind.name for kind in table.kinds] == ["control", "q"]
    assert (table.sampling, table.entities_total) == ("complete", None)


@pytest.mark.parametrize("known", [False, True])
def test_what_asks_for_a_property_that_no_file_holds_is_not_priced(
    known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log alone, or an export without the property: too many of such requests are no ground for advice."""
    monkeypatch.chdir(tmp_path)
    keys = [(f"eu{n % 3}", str(UUID(int=n * 7_919 + 1))) for n in range(600)]
    if known:
        Path("sessions.csv").write_text("PartitionKey,RowKey,n\n" + "".join(f"{p},{r},1\n" for p, r in keys))
    lines: list[dict[str, object]] = [{"pk": p, "rk": r} for p, r in keys]
    lines += [{"filter": f"PartitionKey eq '{p}' and user eq 'u{n}'"} for n, (p, _) in enumerate(keys[:150])]
    shown = (json.dumps({"table": "Sessions", "at": 1_780_000_000 + n % 300} | line) for n, line in enumerate(lines))
    Path("log.jsonl").write_text("".join(f"{line}\n" for line in shown))
    assert main(["analyze", *["sessions.csv"] * known, "--log", "log.jsonl", "-q", "--out", "json=r.json"]) == 1
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    said = capsys.readouterr().err
    assert table["verdict"] == "not_enough" and "scans of the partitions that it names make 98 %" in said, (
        "200 rows for each"
    )
    assert "an export of the table" in table["next"]


def test_data_without_keys_is_that_of_one_table_of_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tickets.csv").write_text("shop,number\n" + "".join(f"s{n % 9},{n}\n" for n in range(300)))
    lines = [{"table": "Tickets", "filter": f"shop eq 's{n % 9}' and number eq {n}"} for n in range(300)]
    lines += [{"table": "Users", "filter": f"email eq 'm{n}'"} for n in range(300)]
    shown = (json.dumps({"at": 1_780_000_000 + n} | line) for n, line in enumerate(lines))
    Path("log.jsonl").write_text("".join(f"{line}\n" for line in shown))
    main(["analyze", "tickets.csv", "--log", "log.jsonl", "-q", "--out", "json=r.json"])
    verdicts = {table["table"]: table["verdict"] for table in json.loads(Path("r.json").read_text())["tables"]}
    assert verdicts == {"Tickets": "choose", "Users": "heat_only"}


def test_a_note_about_a_file_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"s{n % 9},{n:05},s{n % 9},2026-03-01T00:{n // 60:02}:{n % 60:02}\n" for n in range(300))
    Path("tickets.csv").write_text("PartitionKey,RowKey,shop,sold\n" + rows)
    main(["analyze", "tickets.csv"])
    shown = capsys.readouterr().err
    assert shown.count("times without a zone") == shown.count("no design file: keys are read as") == 1


def test_redacted_nothing_of_a_key_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = STRANGERS[14]()
    stranger.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["analyze", "export.csv", "--log", "requests.log", "--redact", "keys"]) == 2
    assert "C00" not in capsys.readouterr().err
    assert main(["analyze", "export.csv", "--redact", "keys"]) == 2
    shown = capsys.readouterr()
    assert "C00" not in shown.err + shown.out


def test_a_declared_kind_of_which_the_data_has_no_row_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"t{n % 9},USER:u{n},m{n}\n" for n in range(300))
    Path("shop.csv").write_text(f"PartitionKey,RowKey,mail\n{rows}")
    kind = '{partition_key: "t{p1}", row_key: "%s:{r1}", key_parts: {p1: string, r1: string}}'
    Path("design.yaml").write_text(
        f"schema: 1\ntables:\n  Shop:\n    kinds:\n      Orders: {kind % 'ORDER'}\n      Users: {kind % 'USER'}\n"
        "    queries:\n      - {name: q, kind: Users, filter: \"p1 eq '{p1}' and r1 eq '{r1}'\", rate: 1/s}\n"
    )
    assert main(["analyze", "shop.csv", "--design", "design.yaml", "-q", "--out", "json=r.json"]) == 1
    tables = json.loads(Path("r.json").read_text())["tables"]
    assert "t{p1} | USER:{r1}" in {
        f"{t['current']['partition_key']} | {t['current']['row_key']}" for t in tables if t["current"]
    }


@pytest.mark.long("worlds")
def test_init_allows_the_broken_files_that_it_is_told_to_and_analyze_then_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = WITH_INDEX_ROWS[0][0]()
    stranger.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    lines = Path(stranger.logs[0]).read_text().splitlines(keepends=True)
    Path("logs").mkdir()
    for n in range(24):
        Path(f"logs/{n:02}.log").write_text("".join(lines[n::24]))
    Path("logs/07.log").write_bytes(b"\x1f\x8b\x08\x00broken")
    given = ["init", "--from", stranger.data[0], "--log", "logs", "--yes", "-q"]
    assert main(given) == 3
    assert main([*given, "--max-bad-lines", "5%"]) == 0
    assert 'max_bad_lines = "5%"' in Path("pkadvisor.toml").read_text()
    assert main(["analyze", "-q"]) == 0
    assert main(["analyze", "-q", "--max-bad-lines", "1.5%"]) == 3


def test_a_table_of_several_kinds_beside_another_is_analysed_with_what_init_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is of the table that it is called like; the keys of one of them tell its kinds."""
    monkeypatch.chdir(tmp_path)
    shadows = [(f"dev-{n:03}", "SHADOW", n) for n in range(60)]
    devices = [*shadows, *((f"dev-{n % 60:03}", f"T_{n:05}", n) for n in range(600))]
    zones = [(f"zone{n % 50:02}", f"host{n:03}", n) for n in range(300)]
    lines = []
    for name, rows in (("Devices", devices), ("Zones", zones)):
        text = "".join(f"{pk},{rk},{n}\n" for pk, rk, n in rows)
        Path(f"{name.lower()}.csv").write_text(f"PartitionKey,RowKey,value\n{text}")
        for n, (pk, rk, _) in enumerate(rows[:240]):
            lines.append({"table": name, "op": "query", "at": 1_793_534_400 + n, "pk": pk, "rk": rk})
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert main(["init", "--from", "devices.csv", "zones.csv", "--log", "log.jsonl", "--yes", "-q"]) == 0
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    tables = json.loads(Path("r.json").read_text())["tables"]
    read = {(t["table"], t["kind"]): (t["data"]["entities_read"], t["verdict"]) for t in tables}
    assert read == {
        ("Devices", "SHADOW"): (60, "keep"),
        ("Devices", "T"): (600, "keep"),
        ("Zones", None): (300, "keep"),
    }

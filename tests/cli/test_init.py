"""A repository that is begun: what is written can be reviewed at once, and nothing of the user's is lost."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from pkadvisor.cli.main import main
from pkadvisor.progress import SilentProgress
from pkadvisor.resources import resource
from pkadvisor.usecases.init import DESIGN, Given, design_from
from tests.cli.support import Ask

SOURCE = "git+https://example.org/tools/pkadvisor@v1"
EVERYTHING = ("--ci", "github", "--pre-commit", "--install", SOURCE)


def yaml(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def contents(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def commands_of(text: str) -> list[list[str]]:
    """Command lines of 'advisor review' in a pipeline, joined over lines."""
    joined = re.sub(r"(?:\\\n|\n(?=\s+--out))\s*", " ", text)
    return [shlex.split(found) for found in re.findall(r"advisor review[^\n]*", joined)]


def test_what_is_written_passes_a_review_at_once(ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask("init", "shop", *EVERYTHING)[0] == 0
    wrote = contents(tmp_path / "shop")
    assert set(wrote) == {
        "pkadvisor.toml",
        "schema/devices.yaml",
        ".github/workflows/schema.yml",
        ".pre-commit-config.yaml",
    }
    (tmp_path / "shop" / ".git").mkdir()
    monkeypatch.chdir(tmp_path / "shop" / "schema")
    code, out, _ = ask_here("review", "--format", "json")
    (design,) = json.loads(out)["designs"]
    assert (code, design["error"], design["tables"][0]["table"]) == (0, None, "Devices")
    assert not [f for f in design["findings"] if f["severity"] in ("error", "warning")]


def ask_here(*words: str) -> tuple[int, str, str]:
    import contextlib
    import io

    class Binary(io.StringIO):
        def __init__(self) -> None:
            super().__init__()
            self.buffer = io.BytesIO()

    with contextlib.redirect_stdout(Binary()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main([*words, "-q"])
    return code, out.getvalue() + out.buffer.getvalue().decode(), err.getvalue()  # type: ignore[attr-defined]


def test_run_again_it_changes_nothing_and_force_restores(ask: Ask, tmp_path: Path) -> None:
    ask("init", ".", *EVERYTHING)
    before = contents(tmp_path)
    assert ask("init", ".", *EVERYTHING)[0] == 0
    assert contents(tmp_path) == before
    (tmp_path / "pkadvisor.toml").write_text("fail_on = 'info'\n")
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []\n")
    code, out, _ = ask("init", ".", *EVERYTHING, "--format", "json")
    assert code == 0
    assert json.loads(out)["wrote"] == []
    assert (tmp_path / "pkadvisor.toml").read_text() == "fail_on = 'info'\n"
    ask("init", ".", *EVERYTHING, "--force")
    after = contents(tmp_path)
    assert after.pop(".pre-commit-config.yaml") == b"repos: []\n"  # it holds the hooks of others
    assert after == {name: text for name, text in before.items() if name in after}


def test_a_hook_that_cannot_be_written_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".pre-commit-config.yaml").write_text("repos: []\n")
    assert main(["init", "--pre-commit", "--install", SOURCE, "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert "add this below its repos:" in shown.err
    assert "id: pkadvisor-review" in shown.err
    assert json.loads(shown.out)["kept"] == [".pre-commit-config.yaml"]


def test_a_design_begins_with_the_properties_of_a_data_file(ask: Ask, tmp_path: Path) -> None:
    data = tmp_path / "2024 Sensor-log.csv"
    data.write_text("deviceId,at,value\na,2026-01-01T00:00:00Z,1.5\nb,2026-01-02T00:00:00Z,2.5\n")
    code, _, err = ask("init", ".", "--from", data.name)
    assert (code, err) == (0, "")
    design = tmp_path / "design.yaml"
    (table,) = yaml(design.read_text())["tables"].items()
    assert table[0] == "SensorLog"
    assert table[1]["properties"] == {"deviceId": "string", "at": "datetime", "value": "double"}
    assert "queries" not in table[1], "rates are not guessed"
    assert ask("review", str(design))[0] == 0
    code, out, err = ask("analyze")
    assert (code, out) == (2, ""), "a design to fill in is there: another would lack its keys"
    assert err.startswith("error: design.yaml: there is no workload")
    assert not (tmp_path / "schema" / "devices.yaml").exists()


def test_a_column_that_is_nearly_all_of_one_type_says_what_to_declare(ask: Ask, tmp_path: Path) -> None:
    times = [*(f"2026-01-{n + 1:02}T00:00:00Z" for n in range(28)), "n/a?", "soon"]
    (tmp_path / "trips.csv").write_text("trip,at,fare\n" + "".join(f"{n},{t},1\n" for n, t in enumerate(times)))
    assert ask("init", ".", "--from", "trips.csv")[0] == 0
    said = "2 of 30 values are no DateTime: declared datetime, they count as missing"
    design = " ".join((tmp_path / "design.yaml").read_text().replace("#", " ").split())
    assert said in design and "1 of 30 hold / \\ ?" in design


def test_a_trace_alone_tells_the_types_of_what_its_filters_compare(ask: Ask, tmp_path: Path) -> None:
    filters = ["hotel eq 'H1' and booking eq 5", "hotel eq 'H2' and booking eq 5000000000", "paid eq true and fee gt 2"]
    filters += ["fee gt 2.5", "id eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'"]
    lines = [{"table": "Bookings", "at": n, "filter": text} for n, text in enumerate(filters * 9)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ask("init", "--log", "log.jsonl", "--yes")[0] == 0
    (table,) = yaml((tmp_path / "design.yaml").read_text())["tables"].values()
    assert sorted({query["filter"] for query in table["queries"]}) == [
        "booking eq {booking} and hotel eq '{hotel}'",
        "fee gt {fee}",
        "id eq guid'{id}'",
        "paid eq {paid} and fee gt {fee}",
    ]


def test_data_alone_is_not_declared_to_be_the_whole_table(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("visit,member\n1,a\n2,a\n3,b\n")
    code, out, _ = ask("analyze", "visits.csv")
    (table,) = yaml(out)["tables"].values()
    assert code == 2 and "sampling" not in table
    assert "# sampling: complete  # if the data is the whole table; nothing shows whether it is" in out


def test_a_log_of_which_nothing_is_known_makes_a_design_that_is_read(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text('{"table": "Orders", "at": 1, "op": "insert", "pk": "5f1a7147", "rk": "x"}\n')
    assert ask("init", "--log", "log.jsonl", "--yes")[0] == 0
    assert yaml((tmp_path / "design.yaml").read_text())["tables"] == {"Orders": {}}
    code, out, _ = ask("analyze")
    assert (code, out.split("\n")[0]) == (0, "HOT KEYS ONLY   Orders")


def test_an_empty_row_key_is_a_key_and_the_busiest_row_may_look_otherwise(ask: Ask, tmp_path: Path) -> None:
    """Advised keys may have an empty RowKey, and an export of them is data again. That most requests name one row, such
    as ``global`` beside ``k1``, does not make the log one of another table."""
    for name, keys, asked in (
        ("ids", [(f"{n * 997:05x}x", "") for n in range(60)], 7),
        ("config", [("config", k) for k in ("global", *(f"k{n}" for n in range(20)))], 0),
    ):
        (tmp_path / f"{name}.csv").write_text("PartitionKey,RowKey,v\n" + "".join(f"{p},{r},1\n" for p, r in keys))
        lines = [{"table": name, "at": n, "pk": p, "rk": r} for n, (p, r) in enumerate([*keys, *[keys[asked]] * 99])]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        assert ask("init", name, "--from", f"{name}.csv", "--log", f"{name}.jsonl", "--yes")[0] == 0
    (ids,) = yaml((tmp_path / "ids/design.yaml").read_text())["tables"].values()
    assert (ids["partition_key"], ids["row_key"]) == ("{p1}", "")
    (config,) = yaml((tmp_path / "config/design.yaml").read_text())["tables"].values()
    assert "partition_key" not in config and len(config["queries"]) == 1


def test_a_column_whose_values_begin_alike_is_seen_behind_logged_keys(ask: Ask, tmp_path: Path) -> None:
    """An export without keys: that all customers begin with a C is no fixed text of the key."""
    orders = [(f"C{n * 7 % 90:04}", 50_000 + n, n % 900) for n in range(600)]
    (tmp_path / "Orders.csv").write_text("customer,orderId,total\n" + "".join(f"{c},{o},{t}\n" for c, o, t in orders))
    lines = [{"table": "Orders", "at": n, "pk": c, "rk": f"no-{o:08}"} for n, (c, o, _) in enumerate(orders[::3])]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ask("init", "--from", "Orders.csv", "--log", "log.jsonl", "--yes")[0] == 0
    (table,) = yaml((tmp_path / "design.yaml").read_text())["tables"].values()
    assert (table["partition_key"], table["row_key"]) == ("{customer}", "no-{pad(orderId,8)}")


def test_parts_of_a_log_and_of_a_table_are_named_as_such(ask: Ask, tmp_path: Path) -> None:
    """The share of the requests that the logs hold goes into the settings, or 'analyze' contradicts what was scaled."""
    (tmp_path / "bins").mkdir()
    keys = [(f"hall-{n % 9}", f"{n:04}") for n in range(60)]
    for part in range(3):
        rows = "".join(f"{p},{r},{n}\n" for n, (p, r) in enumerate(keys[part::3]))
        (tmp_path / f"bins/part-{part:03}.csv").write_text("PartitionKey,RowKey,qty\n" + rows)
    lines = [{"table": "Bins", "at": n, "pk": p, "rk": r} for n, (p, r) in enumerate(keys)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert ask("init", "--from", "bins/*.csv", "--log", "log.jsonl", "--log-fraction", "10%", "--yes")[0] == 0
    design = (tmp_path / "design.yaml").read_text()
    assert "Bins:  # 60 entities in bins (3 files)" in design and "rate: 10/s" in design
    code, out, err = ask("analyze")
    assert (code, err) == (0, "") and "(10 req/s)" in out


def test_what_no_file_tells_is_asked_until_the_answer_makes_sense(tmp_path: Path) -> None:
    data, asked = tmp_path / "d.csv", list[str]()
    data.write_text("PartitionKey,RowKey,qty\n" + "".join(f"hall-{n % 9},{n:04},{n}\n" for n in range(60)))
    answers = iter(["many", "9,000", "by hand", "random-rows"])

    def ask(question: str, default: str) -> str:
        asked.append(f"{question} [{default}]")
        return next(answers)

    text, _ = design_from(Given((str(data),)), SilentProgress(), ask)
    assert "entities_total: 9000" in text and "sampling: random-rows" in text
    assert asked[0] == asked[1] == "How many entities has the table DTable? The data has [60]"
    assert asked[3].endswith("(random-rows, random-keys, slice)? [slice]")


def test_rows_with_columns_of_their_own_are_kinds_also_to_analyze(ask: Ask, tmp_path: Path) -> None:
    """``SKU:`` and ``NAME:`` before texts; the log has another table and deletes what is gone, and the file no name."""
    rows = ["PartitionKey,RowKey,sku,name,count"]
    for n in range(60):
        sku, name = f"{n * 7919 % 997:04}x", f"{'tcp'[n % 3]}ea {'mug cup'[n % 5 :]} {n}"
        rows += [f"s{n % 3},SKU:{sku},{sku},,{n}", f"s{n % 3},NAME:{name}_{sku},{sku},{name},"]
    (tmp_path / "dump_1.csv").write_text("\n".join(rows) + "\n")
    lines = []
    for n in range(240):
        row = rows[1 + n % 120].split(",")
        gone = {"op": "delete", "pk": "s1", "rk": f"SKU:gone{n}"} if n % 8 == 0 else {"pk": row[0], "rk": row[1]}
        other = {"table": "Others", "pk": "x", "rk": "y"} if n % 9 == 0 else {"table": "Catalog", **gone}
        lines.append(json.dumps({"at": n * 2.5, **other}) + "\n")
    (tmp_path / "log.jsonl").write_text("".join(lines))
    assert ask("init", "--from", "dump_1.csv", "--log", "log.jsonl", "--yes")[0] == 0
    assert 'data = ["Catalog=dump_1.csv"]' in (tmp_path / "pkadvisor.toml").read_text()
    table = yaml((tmp_path / "design.yaml").read_text())["tables"]["Catalog"]
    assert {(kind["partition_key"], kind["row_key"].split("{")[0]) for kind in table["kinds"].values()} == {
        ("s{p1}", "SKU:"),
        ("s{p1}", "NAME:"),
    }
    assert ask("analyze", "--format", "json")[0] == 0


@pytest.mark.parametrize(("first", "uneven"), [(3_100_000_000_000, False), (95, True)])
def test_numbers_of_one_length_lack_no_padding(ask: Ask, tmp_path: Path, first: int, uneven: bool) -> None:
    rows = "".join(f"branch-{'ab'[n % 2]},{first + n * 7},2026-11-{n % 28 + 1:02}T10:00:00Z\n" for n in range(60))
    (tmp_path / "loans.csv").write_text("PartitionKey,RowKey,dueOn\n" + rows)
    assert ask("init", "--from", "loans.csv", "--yes")[0] == 0
    design = (tmp_path / "design.yaml").read_text()
    assert 'row_key: "{r1}"' in design and ("without padding" in design) is uneven
    assert "# arrival: created" in design, "an entity does not come when it is due"


def test_a_log_alone_is_not_compared_with_data_that_nobody_gave(ask: Ask, tmp_path: Path) -> None:
    lines = [{"op": "upsert", "pk": f"room-{n % 9}", "rk": f"u{n:03}"} for n in range(40)]
    lines += [{"filter": f"RowKey eq 'u{n:03}'"} for n in range(30, 130)]
    log = "".join(json.dumps({"table": "Marks", "at": n} | line) + "\n" for n, line in enumerate(lines))
    (tmp_path / "log.jsonl").write_text(log)
    assert ask("init", "--log", "log.jsonl", "--yes")[0] == 0
    code, out, _ = ask("analyze", "--details")
    said = " ".join(out.split())
    assert code == 1 and "There is no data, and only 10 % of the values that 'query by r1' asks for" in said
    assert "next: give an export of the table" in said and "not in the data" not in said


def test_a_log_in_the_place_of_data_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.jsonl").write_text('{"method": "GET", "uri": "https://a.example/T(1)", "status": 200}\n' * 3)
    main(["analyze", "log.jsonl"])
    note = "note: log: this reads like a query log (recorded exchanges): if it is one, give it with --log\n"
    assert note in capsys.readouterr().err
    (tmp_path / "data.jsonl").write_text('{"id": "a", "status": 200}\n' * 3)
    main(["analyze", "data.jsonl"])
    assert "query log (" not in capsys.readouterr().err
    main(["analyze", "data.jsonl", "log.jsonl"])
    assert "log.jsonl reads like a query log (recorded exchanges)" in capsys.readouterr().err
    (tmp_path / "export.csv").write_text("PartitionKey,RowKey,qty\na,b,1\n")
    assert main(["analyze", "--log", "export.csv"]) == 3
    assert "export.csv:1: this reads like an export of a table" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["footrace/registrations.csv", "documents/documents.csv"])
def test_every_kind_of_column_makes_a_design_that_can_be_reviewed(name: str, ask: Ask) -> None:
    assert ask("init", ".", "--from", str(resource("samples") / name))[0] == 0
    code, out, err = ask("review", "--format", "json")
    assert (code, err) == (0, "")
    assert len(json.loads(out)["designs"]) == 1


def test_no_example_beside_designs_of_the_user(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "schema").mkdir()
    (tmp_path / "schema" / "mine.yml").write_text(DESIGN)
    assert ask("init")[0] == 0
    assert not (tmp_path / "schema" / "devices.yaml").exists()


def test_what_is_in_the_way_is_told_before_anything_is_written(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "is a file" in ask("init", "file")[2]
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "schema").write_text("")
    code, _, err = ask("init", "a")
    assert (code, "a folder of this name is needed" in err) == (2, True)
    (tmp_path / "b" / "pkadvisor.toml").mkdir(parents=True)
    code, _, err = ask("init", "b")
    assert (code, "a file of this name is needed" in err) == (2, True)
    assert ask("init", "c", "--from", "missing.csv")[0] == 2
    assert ask("init", "c", "--from", "-")[0] == 2
    assert not contents(tmp_path / "a").keys() - {"schema"}
    assert not (tmp_path / "c").exists()


def test_pipelines_and_hooks_are_yaml_with_options_that_exist(ask: Ask, tmp_path: Path) -> None:
    ask("init", ".", "--ci", "azure", "--pre-commit", "--install", SOURCE)
    ask("init", ".", "--ci", "github", "--install", SOURCE)
    github = (tmp_path / ".github/workflows/schema.yml").read_text()
    azure = (tmp_path / "azure-pipelines.yml").read_text()
    hooks = (Path(__file__).parents[2] / ".pre-commit-hooks.yaml").read_text()
    steps = yaml(github)["jobs"]["review"]["steps"]
    assert steps[0]["with"]["fetch-depth"] == 0
    assert "github.base_ref" not in "".join(step.get("run", "") for step in steps)  # a branch name is not to be run
    published = [step["inputs"] for step in yaml(azure)["steps"] if step.get("task") == "PublishBuildArtifacts@1"]
    assert [p["ArtifactName"] for p in published] == ["CodeAnalysisLogs"]
    assert all(f"pipx install 'pkadvisor @ {SOURCE}'" in text for text in (github, azure))
    own, shared = yaml((tmp_path / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"][0], yaml(hooks)[0]
    for key in ("id", "name", "entry", "language", "files", "pass_filenames"):
        assert own[key] == shared[key]
    help_text = ask("review", "--help")[1]
    lines = [*commands_of(github), *commands_of(azure), *commands_of(hooks)]
    assert len(lines) == 3
    options = {word for line in lines for word in line if word.startswith("--")}
    if "--against-ref" in help_text and "sarif" in help_text:
        assert {option for option in options if option not in help_text} == set()
        formats = {
            line[i + 1].partition("=")[0] for line in lines for i, w in enumerate(line) if w in ("--out", "--format")
        }
        assert {name for name in formats if name not in help_text} == set()
    assert {"--format", "--against-ref", "--out"} == options


def test_a_log_of_properties_with_inserts_makes_queries(ask: Ask, tmp_path: Path) -> None:
    """An insert in a trace names no key: that is no key of unknown make."""
    (tmp_path / "visits.csv").write_text("visit,member\n" + "".join(f"v{n},m{n % 7}\n" for n in range(60)))
    asked = [
        f'{{"table": "Visits", "at": {n}, "op": "query", "filter": "member eq \'m{n % 7}\'"}}\n' for n in range(60)
    ]
    added = [f'{{"table": "Visits", "at": {n}, "op": "insert"}}\n' for n in range(60)]
    (tmp_path / "log.jsonl").write_text("".join(asked + added))
    assert ask("init", "--from", "visits.csv", "--log", "log.jsonl", "--yes")[0] == 0
    (table,) = yaml((tmp_path / "design.yaml").read_text())["tables"].values()
    assert [q["filter"] for q in table["queries"]] == ["member eq '{member}'"]
    assert [w["operation"] for w in table["writes"]] == ["insert"]


def test_a_range_is_as_wide_as_the_logged_ones(ask: Ask, tmp_path: Path) -> None:
    """A box of 0.04 degrees was written as one of a whole degree: 600 times its rows."""
    (tmp_path / "shops.csv").write_text("shop,lat,stars\n" + "".join(f"s{n},{48 + n / 64},{n}\n" for n in range(60)))
    bounds = [
        f"lat ge {48 + n / 64} and lat lt {48 + n / 64 + 0.04} and stars le {n + 20} and stars ge {n}"
        for n in range(60)
    ]
    asked = [{"table": "shops", "at": n, "op": "query", "filter": bound} for n, bound in enumerate(bounds)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    assert ask("init", "--from", "shops.csv", "--log", "log.jsonl", "--yes")[0] == 0
    (table,) = yaml((tmp_path / "design.yaml").read_text())["tables"].values()
    (query,) = table["queries"]
    assert "lat lt {lat+0.04}" in query["filter"] and "stars le {stars+20}" in query["filter"]


def test_what_all_requests_compare_with_alike_is_a_constant(ask: Ask, tmp_path: Path) -> None:
    """``open eq false`` was written as ``open eq {open}``: most of its requests asked for what none had."""
    rows = "".join(f"t{n},c{n % 3},{n % 10 > 0},{n % 7},user{n % 40}\n".lower() for n in range(120))
    (tmp_path / "tickets.csv").write_text("ticket,state,open,age,owner\n" + rows)
    bound = "state eq 'c1' and open eq false and age gt 3 and owner eq 'user7'"
    asked = [{"table": "tickets", "at": n, "op": "query", "filter": bound} for n in range(20)]
    for count, expected in (
        (19, "owner eq '{owner}' and state eq '{state}' and age gt {age}"),
        (20, "state eq 'c1' and age gt 3"),
    ):
        (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked[:count]))
        assert ask("init", "--from", "tickets.csv", "--log", "log.jsonl", "--yes", "--force")[0] == 0
        text = (tmp_path / "design.yaml").read_text()
        (table,) = yaml(text)["tables"].values()
        assert ("names this value of open; {open} stands for any" in text) == (count == 20)
        assert expected in table["queries"][0]["filter"] and "owner eq '{owner}'" in table["queries"][0]["filter"]


def test_several_values_of_one_property_are_those_of_several_entities(ask: Ask, tmp_path: Path) -> None:
    """``sku eq '{sku}' or sku eq '{sku}'`` was written: one entity of the design where the log names two."""
    (tmp_path / "stock.csv").write_text("sku\n" + "".join(f"s{n}\n" for n in range(60)))
    asked = [
        {"table": "stock", "at": n, "op": "query", "filter": f"sku eq 's{n}' or sku eq 's{59 - n}'"} for n in range(60)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    assert ask("init", "--from", "stock.csv", "--log", "log.jsonl", "--yes")[0] == 0
    text = (tmp_path / "design.yaml").read_text()
    assert "sku eq '{sku}' or sku eq '{sku.or2}'" in text
    keys = text.replace("    properties:", "    partition_key: '{sku}'\n    row_key: ''\n    properties:")
    keys = re.sub("rate: .*", "rate: 4/s", re.sub(" peak: .*", "", keys))
    (tmp_path / "design.yaml").write_text(keys)
    code, out, err = ask("stress", "stock.csv", "--design", "design.yaml", "--duration", "10s", "--format", "json")
    (table,) = json.loads(out)["tables"]
    assert (code, err) == (0, "")
    terms = {term["name"]: term["value"] for term in table["designs"][0]["scheme"]["terms"]}
    assert terms["requests"] == terms["entities read"] == 8
    (tmp_path / "design.yaml").write_text(keys.replace("sku.or2", "skuu.or2"))
    code, _, err = ask("stress", "stock.csv", "--design", "design.yaml")
    assert code == 2 and "names the property 'skuu', which the data does not have" in err
    (tmp_path / "design.yaml").write_text(keys + "    sampled_by: [sku.or2]\n")
    code, _, err = ask("stress", "stock.csv", "--design", "design.yaml")
    assert code == 2 and "'sku.or2', which the data does not have" in err, "only a filter asks for a second entity"


def test_kinds_of_the_only_logged_table_are_not_guessed(ask: Ask, tmp_path: Path) -> None:
    """Two files as kinds and a log of one table: the first file was taken for the table, and the design was refused."""
    names = {"Night": "night", "Stay": "stay"}
    for kind, name in names.items():
        rows = [{"hotel": f"h{n % 5}", name: f"{name}{n}"} for n in range(40)]
        (tmp_path / f"{kind}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = [
        {"table": "Hotel", "at": f"2026-11-01T12:00:{n:02}Z", "filter": f"hotel eq 'h1' and {name} eq '{name}{n + 1}'"}
        for n in range(30)
        for name in names.values()
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in asked))
    data = [f"{kind}={tmp_path / f'{kind}.jsonl'}" for kind in names]
    log = ["--log", str(tmp_path / "log.jsonl")]
    code, _, err = ask("init", str(tmp_path / "shop"), "--from", *data, *log, "--yes")
    assert code == 2 and "the log has one table, Hotel, and the data are of other names: Night, Stay" in err
    assert not (tmp_path / "shop").exists()
    code, out, _ = ask("analyze", *data, *log, "--format", "json")
    tables = {t["kind"]: [q["name"] for q in t["workload"]] for t in json.loads(out)["tables"]}
    assert tables == {"Night": ["query by hotel, night"], "Stay": ["query by hotel, stay"]}

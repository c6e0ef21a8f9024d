"""Every command judges each kind of a table by its own keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import Ask, checked
from tests.kinds_cases import MARKET, market

KEYS = {
    "Tenants": ("{tenant}", "TENANT:", []),
    "Users": ("{tenant}", "USER:{user}", ["MAIL:{mail}"]),
    "Orders": ("{tenant}", "ORDER:{order}", []),
}


def keys_in(scheme: dict[str, Any]) -> tuple[str, str, list[str]]:
    return scheme["partition_key"], scheme["row_key"], [row["row_key"] for row in scheme["index_rows"]]


@pytest.mark.parametrize("one_file", [False, True])
def test_analyze_holds_each_kind_against_its_own_keys(tmp_path: Path, ask: Ask, one_file: bool) -> None:
    _, out, _ = ask("analyze", *market(tmp_path, one_file=one_file), "--format", "json")
    tables = json.loads(out)["tables"]
    assert {t["kind"]: keys_in(t["current"]) for t in tables} == KEYS
    assert all(c["entities_read"] == 1 for t in tables for c in t["current"]["classes"] if c["name"] != "place")


def test_files_that_are_called_like_the_kinds_are_theirs(tmp_path: Path, ask: Ask) -> None:
    words = [word.rpartition("=")[2] for word in market(tmp_path)]
    paths = [Path(word) for word in words if word.endswith(".csv")]
    assert {path.stem for path in paths} == KEYS.keys()
    _, out, _ = ask("analyze", *words, "--format", "json")
    assert {t["kind"]: keys_in(t["current"]) for t in json.loads(out)["tables"]} == KEYS
    code, _, err = ask("analyze", *words[:1], *words[3:])
    assert code == 2 and "cannot be told apart" in err


def test_score_prices_each_kind_by_its_own_keys(tmp_path: Path, ask: Ask) -> None:
    _, out, _ = ask("score", *market(tmp_path), "--format", "json")
    found = checked(out, "score")
    assert {t["kind"]: keys_in(t["schemes"][0]["scheme"]) for t in found["tables"]} == KEYS


def test_compare_prices_the_keys_of_each_kind_of_both_designs(tmp_path: Path, ask: Ask) -> None:
    old = MARKET.replace('"ORDER:{order}"', '"ORDER:{pad(order,8)}"')
    data = market(tmp_path)[:3]
    (tmp_path / "old.yaml").write_text(old)
    _, out, _ = ask("compare", str(tmp_path / "old.yaml"), str(tmp_path / "design.yaml"), *data, "--format", "json")
    tables = {t["kind"]: (t["old"], t["new"]) for t in checked(out, "comparison")["tables"]}
    assert tables["Tenants"] == ("{tenant} | TENANT:",) * 2
    assert tables["Orders"] == ("{tenant} | ORDER:{pad(order,8)}", "{tenant} | ORDER:{order}")


def test_a_kind_without_keys_in_one_of_two_designs_is_left_out_there(tmp_path: Path, ask: Ask) -> None:
    only_users = MARKET.replace('    partition_key: "{tenant}"\n    row_key: "TENANT:"\n', "", 1)
    data = market(tmp_path)[:3]
    (tmp_path / "old.yaml").write_text(only_users)
    _, out, _ = ask("compare", str(tmp_path / "old.yaml"), str(tmp_path / "design.yaml"), *data, "--format", "json")
    tables = {t["kind"]: (t["old"], t["new"]) for t in checked(out, "comparison")["tables"]}
    assert tables["Tenants"] == (None, "{tenant} | TENANT:")
    assert tables["Users"][0] == tables["Users"][1]


def test_explain_takes_the_keys_of_the_kind_that_a_query_is_for(tmp_path: Path, ask: Ask) -> None:
    words = market(tmp_path)
    _, page, _ = ask("explain", "query:by-mail", *words, "--scheme", "current")
    assert "on Market · Users" in page
    assert "PartitionKey eq '{tenant}' and RowKey eq 'MAIL:{mail}'" in " ".join(page.split())


def test_explain_tells_of_the_scheme_of_the_kind_that_is_named(tmp_path: Path, ask: Ask) -> None:
    """It told of the first kind's, whatever was meant."""
    words = market(tmp_path)
    for kind in KEYS:
        status, page, _ = ask("explain", f"scheme:{kind.lower()}:current", *words)
        assert status == 0
        assert f"Market · {kind}" in page
        assert KEYS[kind][1] in page
    status, _, problem = ask("explain", "scheme:2", *words)
    assert status == 2
    assert "3 kinds of rows have rankings of their own" in problem
    assert "scheme:Users:2" in problem
    status, _, problem = ask("explain", "scheme:Nobody:2", *words)
    assert (status, "no kind of rows 'Nobody'" in problem) == (2, True)


def test_explain_tells_of_the_kind_that_is_named_from_a_result(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "result.json"
    ask("analyze", *market(tmp_path), "--quiet", "--out", f"json={path}")
    status, page, _ = ask("explain", "scheme:Orders:1", "--result", str(path))
    assert (status, "Market · Orders" in page) == (0, True)
    status, _, problem = ask("explain", "scheme:current", "--result", str(path))
    assert (status, "scheme:Orders:current" in problem) == (2, True)


def test_a_key_is_explained_by_the_kind_that_writes_it(tmp_path: Path, ask: Ask) -> None:
    market(tmp_path)
    _, out, _ = ask("explain", "key", "ORDER:00012", "--design", str(tmp_path / "design.yaml"), "--format", "json")
    fits = {(fit["place"], fit["template"]): fit["kinds"] for fit in json.loads(out)["fits"]}
    assert fits[("PartitionKey", "{tenant}")] == ["Tenants", "Users", "Orders"]
    assert fits.get(("RowKey", "USER:{user}")) is None
    _, out, _ = ask("explain", "key", "ORDER:12", "--design", str(tmp_path / "design.yaml"), "--format", "json")
    fits = {(fit["place"], fit["template"]): fit["kinds"] for fit in json.loads(out)["fits"]}
    assert fits[("RowKey", "ORDER:{order}")] == ["Orders"]
    _, page, _ = ask("explain", "key", "ORDER:12", "--design", str(tmp_path / "design.yaml"))
    assert "RowKey of Market · Orders" in page


def test_stress_runs_each_kind_under_its_own_keys(tmp_path: Path, ask: Ask) -> None:
    _, out, _ = ask("stress", *market(tmp_path), "--duration", "20s", "--format", "json")
    current = {t["kind"]: next(d for d in t["designs"] if "current" in d["label"]) for t in json.loads(out)["tables"]}
    shown = {kind: (d["scheme"]["partition_key"], d["scheme"]["row_key"]) for kind, d in current.items()}
    assert shown == {kind: keys[:2] for kind, keys in KEYS.items()}


def test_the_review_points_at_the_keys_of_a_kind(tmp_path: Path, ask: Ask) -> None:
    market(tmp_path)
    _, out, _ = ask("review", str(tmp_path / "design.yaml"), "--format", "json")
    found = {f["rule"]: f for f in json.loads(out)["designs"][0]["findings"]}
    lines = MARKET.splitlines()
    assert "ORDER:{order}" in lines[found["PK303"]["place"]["line"] - 1] and found["PK303"]["kind"] == "Orders"
    assert "MAIL:{mail}" in lines[found["PK701"]["place"]["line"] - 1] and found["PK701"]["kind"] == "Users"


def test_an_unknown_property_in_the_keys_of_a_kind_is_shown_with_its_kind(tmp_path: Path, ask: Ask) -> None:
    code, _, err = ask("analyze", *market(tmp_path, MARKET.replace('"USER:{user}"', '"USER:{usr}"')))
    assert code == 2
    assert "(row_key of Market, kind Users): no property 'usr'" in err
    assert "^^^" in err and "did you mean 'user'?" in err


def test_a_safe_edit_of_the_review_reaches_the_keys_of_a_kind(tmp_path: Path, ask: Ask) -> None:
    market(tmp_path)
    ask("review", str(tmp_path / "design.yaml"), "--fix", "--fail-on", "never")
    edited = (tmp_path / "design.yaml").read_text()
    assert edited == MARKET.replace('"ORDER:{order}"', '"ORDER:{pad(order,10)}"')


def test_logged_requests_go_to_the_kind_whose_keys_they_name(tmp_path: Path, ask: Ask) -> None:
    """One read of a user and of two orders a second, all point reads: one shape of request in the log."""
    lines = []
    for second in range(300):
        user, first = second % 100, second % 100
        keys = [(user // 5, f"USER:u{user:03d}"), *((n // 10, f"ORDER:{n + 1}") for n in (first, first + 100))]
        lines += [
            {"table": "Market", "op": "query", "pk": f"t{tenant:02d}", "rk": row, "at": 1_793_534_400 + second + n / 4}
            for n, (tenant, row) in enumerate(keys)
        ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    words = [*market(tmp_path, MARKET.split("    queries:")[0]), "--log", str(tmp_path / "log.jsonl")]
    code, out, err = ask("analyze", *words, "--format", "json")
    assert code == 1 and "Market (Tenants): not enough to advise: there is no workload" in err
    tables = {t["kind"]: t["current"] for t in json.loads(out)["tables"]}
    logged = {kind: list(current["classes"]) for kind, current in tables.items() if current}
    assert {kind: [c["filters"] for c in of_kind] for kind, of_kind in logged.items()} == {
        "Users": [["PartitionKey eq '{tenant}' and RowKey eq 'USER:{user}'"]],
        "Orders": [["PartitionKey eq '{tenant}' and RowKey eq 'ORDER:{order}'"]],
    }
    assert logged["Users"][0]["rate_per_s"] == pytest.approx(1, rel=0.02)
    assert logged["Orders"][0]["rate_per_s"] == pytest.approx(2, rel=0.02)
    assert all(c["entities_returned"] == 1 for of_kind in logged.values() for c in of_kind)


SHARED = MARKET.replace('"USER:{user}"', '"{user}"').replace('"ORDER:{order}"', '"{user}"')
"""Users and orders under equal keys."""
COUNTED = "100 of 100 entities have the key of a row of Orders"


@pytest.mark.parametrize("command", ["analyze", "score"])
def test_keys_that_two_kinds_share_break_the_design(tmp_path: Path, ask: Ask, command: str) -> None:
    code, out, err = ask(command, *market(tmp_path, SHARED), "--format", "json")
    (users,) = (t for t in json.loads(out)["tables"] if t["kind"] == "Users")
    current = users["current"] if command == "analyze" else users["schemes"][0]["scheme"]
    (broken,) = (v["message"] for v in current["violations"] if v["code"] == "not-unique")
    assert broken == f"{COUNTED}, e.g. 't00' | 'u000'"
    if command == "score":
        assert code == 1 and broken in err
        _, hidden, _ = ask(command, *market(tmp_path, SHARED), "--redact", "keys")
        assert COUNTED in " ".join(hidden.split()) and "u000" not in hidden
    else:
        assert users["verdict"] == "change"
        assert users["recommended"]["violations"] == []


def test_compare_and_explain_name_keys_that_two_kinds_share(tmp_path: Path, ask: Ask) -> None:
    words = market(tmp_path)
    (tmp_path / "new.yaml").write_text(SHARED)
    _, page, _ = ask("compare", str(tmp_path / "design.yaml"), str(tmp_path / "new.yaml"), *words[:3])
    assert f"Broken now: {COUNTED}" in " ".join(page.split())
    _, page, _ = ask("explain", "query:user", *words[:3], "--design", str(tmp_path / "new.yaml"), "--scheme", "current")
    assert COUNTED in " ".join(page.split())


def test_the_review_names_keys_that_two_kinds_share(tmp_path: Path, ask: Ask) -> None:
    words = market(tmp_path, SHARED)
    code, out, _ = ask(
        "review", str(tmp_path / "design.yaml"), "--format", "json", "--data", words[1], "--data", words[2]
    )
    (found,) = (f for f in json.loads(out)["designs"][0]["findings"] if f["rule"] == "PK311")
    assert code == 1 and found["severity"] == "error" and found["kind"] == "Orders"
    assert "200 of 200 sampled entities have the key of a row of Users" in found["message"]
    assert '"{user}"' in SHARED.splitlines()[found["place"]["line"] - 1]


@pytest.mark.long("proofs")
def test_keys_in_use_that_could_meet_are_named_and_break_nothing(tmp_path: Path, ask: Ask) -> None:
    """Names of tenants are free text, and may be what an order's key is."""
    text = MARKET.replace('    row_key: "TENANT:"\n', '    row_key: "{name}"\n', 1).replace(
        "ORDER:{order}", "name of t{order}"
    )
    _, out, _ = ask("score", *market(tmp_path, text), "--format", "json")
    (tenants,) = (t["schemes"][0]["scheme"] for t in json.loads(out)["tables"] if t["kind"] == "Tenants")
    assert not any(v["code"] == "not-unique" for v in tenants["violations"])
    (told,) = (r["message"] for r in tenants["remarks"] if r["code"] == "may-collide")
    assert told.startswith("an entity can have the key of a row of Orders, e.g. 't00' | 'name of t10'")
    assert told.endswith("; none of the 20 sampled ones has")
    _, page, _ = ask("stress", *market(tmp_path, text), "--duration", "10s", "--details")
    assert f"the keys {{tenant}} | {{name}}: {told}" in " ".join(page.split())


def test_a_scan_for_one_kind_says_that_it_reads_the_rows_of_the_others(tmp_path: Path, ask: Ask) -> None:
    words = market(tmp_path)
    design = tmp_path / "design.yaml"
    query = "    queries:\n      - {name: by-size, kind: Users, filter: \"mail eq 'nobody'\", rate: 1/s}\n"
    text = design.read_text()
    assert text.count("    queries:\n") == 1
    design.write_text(text.replace("    queries:\n", query))
    _, out, _ = ask("analyze", *words, "--format", "json", "--budget", "index_rows=1")
    notes = {t["kind"]: [n for n in t["notes"] if "scans the table" in n] for t in json.loads(out)["tables"]}
    assert notes["Orders"] == notes["Tenants"] == []
    (note,) = notes["Users"]
    assert note == "'by-size' scans the table, and so reads the rows of Tenants and Orders as well: they are counted"


def test_a_read_of_a_partition_for_one_kind_says_that_it_reads_the_rows_of_the_others(tmp_path: Path, ask: Ask) -> None:
    parcels, depots, design = (tmp_path / name for name in ("parcels.csv", "depots.csv", "design.yaml"))
    parcels.write_text("carrier,parcel\n" + "".join(f"c{i % 3},P{i:04d}\n" for i in range(300)))
    depots.write_text("carrier,depot\n" + "".join(f"c{i % 3},D{i:02d}\n" for i in range(30)))

    def notes(row_key: str) -> list[str]:
        design.write_text(
            "schema: 1\ntables:\n  Shipping:\n    partition_key: '{carrier}'\n    row_key: '{code}'\n    kinds:\n"
            f"      Parcels: {{row_key: '{{parcel}}'}}\n      Depots: {{row_key: '{row_key}'}}\n    queries:\n"
            "      - {name: depots, kind: Depots, filter: \"carrier eq '{carrier}'\", rate: 2/s}\n"
            "      - {name: one, kind: Parcels, rate: 2/s,\n"
            "         filter: \"carrier eq '{carrier}' and parcel eq '{parcel}'\"}\n"
        )
        words = ("analyze", f"Parcels={parcels}", f"Depots={depots}", "--design", str(design), "--format", "json")
        tables = json.loads(ask(*words)[1])["tables"]
        current = next(t["current"] for t in tables if t["kind"] == "Depots")
        read = next(c["entities_read"] for c in current["classes"] if c["name"] == "depots")
        keys.append(next(t["recommended"]["row_key"] for t in tables if t["kind"] == "Depots"))
        assert read == (10 if "D:" in row_key else 110), "300 parcels and 30 depots of three carriers"
        return [note for t in tables for note in t["notes"] if "reads whole partitions" in note]

    keys = list[str]()
    (note,) = notes("{depot}")
    assert note.startswith("'depots' reads whole partitions, and so the rows of Parcels that lie in them: they are cou")
    assert notes("D:{depot}") == []
    assert keys == ["DEPOTS:{depot}", "D:{depot}"], "a label of its own, and no other one where there is one"


def test_loads_of_two_kinds_on_one_partition_add_up_in_every_command(tmp_path: Path, ask: Ask) -> None:
    """30 breweries with 50 batches and 400 kegs each: 1,400 entities/s of each kind are 2,800 on every partition. One
    kind has to move, and the other one stays."""
    batches, kegs, design = (tmp_path / name for name in ("Batch.csv", "Keg.csv", "design.yaml"))
    batches.write_text("brewery,batch\n" + "".join(f"b{i % 30:02},B{i:05}\n" for i in range(1_500)))
    kegs.write_text("brewery,keg\n" + "".join(f"b{i % 30:02},K{i:05}\n" for i in range(12_000)))
    draw = "draw: {by: distinct, of: [brewery]}"
    design.write_text(
        "schema: 1\ntables:\n  Brewery:\n    partition_key: '{brewery}'\n    kinds:\n"
        "      Batch: {row_key: 'BATCH:{batch}', properties: {brewery: string, batch: string}}\n"
        "      Keg: {row_key: 'KEG:{keg}', properties: {brewery: string, keg: string}}\n"
        "    growth: {rate: 1 %/year, of: rate, horizon: 12 months}\n    queries:\n"
        f"      - {{name: batches, kind: Batch, filter: \"brewery eq '{{brewery}}'\", rate: 840/s, {draw}}}\n"
        f"      - {{name: kegs, kind: Keg, filter: \"brewery eq '{{brewery}}'\", rate: 105/s, {draw}}}\n"
    )
    words = (f"Batch={batches}", f"Keg={kegs}", "--design", str(design), "--format", "json")
    _, out, _ = ask("analyze", *words)
    tables = {t["kind"]: t for t in json.loads(out)["tables"]}
    assert (tables["Batch"]["verdict"], tables["Keg"]["verdict"]) == ("change", "keep")
    loads = [tables["Batch"][which]["hot_partition"]["entities_per_s_peak"] for which in ("current", "recommended")]
    assert loads == [pytest.approx(2_800, rel=1e-3), pytest.approx(1_400, rel=1e-3)]
    loads = [tables["Keg"][which]["hot_partition"]["entities_per_s_peak"] for which in ("current", "recommended")]
    assert loads == [pytest.approx(2_800, rel=1e-3), pytest.approx(1_400, rel=1e-3)]
    (warning,) = tables["Keg"]["warnings"]
    assert warning.startswith(
        "these figures hold once Batch moved to the advised keys: today the hottest partition takes"
    )
    _, out, _ = ask("score", *words)
    scored = [
        s["scheme"]["hot_partition"]["entities_per_s_peak"] for t in json.loads(out)["tables"] for s in t["schemes"]
    ]
    assert scored == [pytest.approx(2_800, rel=1e-3)] * 2
    code, out, _ = ask("review", str(design), "--data", str(batches), "--data", str(kegs))
    assert code == 1 and "takes 2,800 entities/s at the peak" in " ".join(out.split())

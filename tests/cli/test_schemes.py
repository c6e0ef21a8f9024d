"""A scheme explained, from a result file or from data, and what is asked wrongly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.report.escapes import clean
from pkadvisor.report.summary.figures import goal_name
from tests.cli.support import Ask, checked, stored
from tests.report.support import SAMPLES, result
from tests.tiers import LONG, sizes

pytestmark = pytest.mark.usefixtures("samples_judged_once")
HOSTILE = ["</script>", "\x1b[31mred", "=cmd()", "a\u202eb", "x" * 1000]
KEYS = ("partition_key", "row_key", "index_rows")


@pytest.mark.parametrize("name", sizes(["footrace", "orders"], SAMPLES, "proofs"))
def test_each_scheme_of_a_result_is_told_from_the_file_alone(ask: Ask, tmp_path: Path, name: str) -> None:
    (table,) = stored(name, tmp_path / "r.json")["tables"]
    for scheme in [table["recommended"], *table["alternatives"], table["current"]]:
        if scheme is None:
            continue
        which = "current" if scheme["rank"] is None else str(scheme["rank"])
        code, out, err = ask("explain", f"scheme:{which}", "--result", "r.json", "--format", "json")
        assert (code, err) == (0, "")
        found = checked(out, "explanation")
        assert (found["scheme"]["partition_key"], found["scheme"]["row_key"]) == (
            scheme["partition_key"],
            scheme["row_key"],
        )
        assert found["wins"] == (scheme["rank"] == 1)
        assert found["decided_by"] == (table["alternatives"][0]["loses"] if found["wins"] else scheme["loses"])
        assert [t["value"] for t in found["terms"]] == [t["value"] for t in scheme["terms"]]
        assert {c["name"] for c in found["classes"]} == {q["name"] for q in table["workload"]}
        rank, flips = scheme["rank"], table["flip"]["rank"]
        assert (found["flip"] is not None) == (rank == flips or (rank, flips) == (1, 2)), "a result holds one flip"
        _, page, _ = ask("explain", f"scheme:{which}", "--result", "r.json")
        if found["decided_by"]:
            assert f"> {goal_name(found['decided_by']['goal'])}" in page


def test_the_queries_that_differ_most_in_what_decides_come_first(ask: Ask, tmp_path: Path) -> None:
    (table,) = stored("footrace", tmp_path / "r.json")["tables"]
    _, out, _ = ask("explain", "scheme:current", "--result", "r.json", "--format", "json")
    found = json.loads(out)
    assert found["decided_by"]["goal"] == "constraints"
    assert found["classes"][0]["name"] == "by-age"
    gaps = [abs(c["this"]["entities_per_s"] - c["other"]["entities_per_s"]) for c in found["classes"]]
    assert gaps == sorted(gaps, reverse=True) and gaps[0] > 1_000
    for entry in found["classes"]:
        cost = next(c for c in table["current"]["classes"] if c["name"] == entry["name"])
        assert entry["this"]["requests_per_s"] == pytest.approx(cost["rate_per_s"] * cost["requests"], rel=1e-5)


@pytest.mark.parametrize(
    ("words", "content", "code", "told"),
    [
        (["scheme:9"], None, 2, "the result holds no scheme 9"),
        (["scheme:0"], None, 2, "'0' is not a scheme"),
        (["scheme:x"], None, 2, "'x' is not a scheme"),
        (["query:by-age"], None, 2, "a result file holds schemes"),
        (["scheme:1", "--table", "Other"], None, 2, "ranks no scheme of Other"),
        (["scheme:1", "--sample", "footrace"], None, 2, "from itself alone"),
        (["scheme:1"], b"{", 3, "is not JSON"),
        (["scheme:1"], b"[]", 3, "is not a result"),
        (["scheme:1"], b'{"document": "pkadvisor result", "schema_version": "2.0"}', 3, "version 2.0"),
        (["scheme:1"], b'{"document": "pkadvisor result", "schema_version": "1.0"}', 3, "tool is missing"),
        (
            ["scheme:1"],
            b'{"document": "pkadvisor result", "schema_version": "1.0", "tables": [{"table": 5, "kind": null}]}',
            3,
            "tables.0.table is not a string",
        ),
        (
            ["scheme:1"],
            b'{"document": "pkadvisor result", "schema_version": "1.0", "tables": [{"table": "t", "kind": null, '
            b'"grounds": [{"title": "t"}]}]}',
            3,
            "tables.0.grounds.0.name is missing",
        ),
    ],
)
def test_what_is_asked_wrongly_of_a_result(
    ask: Ask, tmp_path: Path, words: list[str], content: bytes | None, code: int, told: str
) -> None:
    stored("footrace", tmp_path / "r.json")
    if content is not None:
        (tmp_path / "r.json").write_bytes(content)
    found, out, err = ask("explain", *words, "--result", "r.json")
    assert (found, out) == (code, "")
    assert told in err and len(err.splitlines()) <= 4 and "Traceback" not in err


def test_every_damage_to_a_result_is_told_or_harmless(ask: Ask, tmp_path: Path) -> None:
    whole = result("footrace")

    def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        inner = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
        return [p for key, v in inner for p in [(*at, key), *places(v, (*at, key))]]

    for number, place in enumerate(places(whole["tables"][0])):
        if number % (7 if LONG else 60):
            continue
        damaged = json.loads(json.dumps(whole))
        holder = damaged["tables"][0]
        for key in place[:-1]:
            holder = holder[key]
        holder[place[-1]] = "x" if not isinstance(holder[place[-1]], str) else 5
        (tmp_path / "r.json").write_text(json.dumps(damaged))
        for which in ("scheme:1", "scheme:2", "scheme:current"):
            code, _, err = ask("explain", which, "--result", "r.json")
            assert code in (0, 2, 3), (place, err)


def test_hostile_text_of_a_result_reaches_no_terminal(ask: Ask, tmp_path: Path) -> None:
    found = result("footrace")
    for bad in HOSTILE:
        scheme = found["tables"][0]["current"]
        scheme["partition_key"] = scheme["violations"][0]["message"] = scheme["classes"][0]["name"] = bad
        (tmp_path / "r.json").write_text(json.dumps(found))
        code, out, err = ask("explain", "scheme:current", "--result", "r.json")
        assert code == 0 and "\x1b" not in out + err and "\u202e" not in out
        assert clean(bad)[-3:] in out


@pytest.mark.long("proofs")
def test_a_scheme_of_the_ranking_is_the_same_live_and_from_the_file(ask: Ask, tmp_path: Path) -> None:
    stored("footrace", tmp_path / "r.json")
    told = []
    for source in (["--result", "r.json"], ["--sample", "footrace"]):
        code, out, _ = ask("explain", "scheme:2", *source, "--format", "json")
        assert code == 0
        told.append(checked(out, "explanation"))
    old, new = told
    assert new["sensitivity"]["schemes_priced"] >= 5 and new["sensitivity"]["unchanged"] > 5
    different = {k for k in old if old[k] != new[k]}
    # Examples of alternatives are not kept in a result.
    assert different <= {"from", "sensitivity", "scheme", "flip"}, "a result holds the nearest flip alone"
    assert {**old["scheme"], "examples": []} == {**new["scheme"], "examples": []}


@pytest.mark.long("proofs")
def test_any_keys_that_the_user_names_are_explained(ask: Ask) -> None:
    assert ask("samples", "write", "footrace", "race")[0] == 0
    data = ["race/registrations.csv", "--design", "race/design.yaml"]
    code, out, _ = ask("explain", *data, "--scheme", "'' | {pad(bib,5)}", "--format", "json")
    found = checked(out, "explanation")
    assert code == 0 and found["label"] == "as given"
    assert (found["scheme"]["partition_key"], found["scheme"]["row_key"]) == ("", "{pad(bib,5)}")
    assert not found["wins"] and found["decided_by"]["goal"] == "constraints"
    assert {v["code"] for v in found["violations"]} >= {"hot-partition", "not-unique"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["scheme"], "which scheme?"),
        ([], "what is to be explained?"),
        (["scheme:1", "--scheme", "{event} | {bib}"], "name two schemes"),
        (["scheme", "--scheme", "{event} | {bip}"], "bip"),
        (["scheme", "--scheme", "{event} | {bib} | {age}"], "one bar"),
        (["scheme", "--scheme", "{event} | {bib} + AGE:{age}_{bib}"], "a scheme of one line has no index rows"),
        (["query:by-age", "--budget", "index_rows=0"], "go with scheme:N"),
    ],
)
def test_what_is_asked_wrongly_of_data(ask: Ask, words: list[str], told: str) -> None:
    code, out, err = ask("explain", *words, "--sample", "footrace")
    assert (code, out) == (2, "")
    assert told in err and len(err.splitlines()) <= 4

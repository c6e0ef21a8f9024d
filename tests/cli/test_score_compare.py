"""Keys scored without a search; two designs or results side by side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.resources import resource
from tests.cli.support import Ask, checked, stored
from tests.report.support import result

pytestmark = pytest.mark.usefixtures("samples_judged_once")
FIRST_SCREEN_LINES = 20
RACE = str(resource("samples", "footrace", "design.yaml"))


def test_the_parts_of_a_score_make_the_score(ask: Ask) -> None:
    for name in ("documents", "footrace"):
        code, out, err = ask("score", "--sample", name, "--format", "json")
        found = checked(out, "score")
        (card,) = found["tables"][0]["schemes"]
        parts = card["score_parts"]
        assert sum(c["weight"] for c in parts["classes"]) == pytest.approx(1)
        useful = sum(c["weight"] * c["useful"] for c in parts["classes"])
        assert parts["useful"] == pytest.approx(useful, rel=1e-4)
        assert card["scheme"]["score"] == pytest.approx(100 * useful * parts["reach"], abs=0.06)
        broken = [v for v in card["scheme"]["violations"] if not v["assumed_growth"]]
        assert code == (1 if broken else 0) == {"documents": 0, "footrace": 1}[name]
        assert bool(err) == bool(broken)


def test_a_score_is_that_of_the_analysis(ask: Ask) -> None:
    (table,) = result("footrace")["tables"]
    _, out, _ = ask("score", "--sample", "footrace", "--format", "json")
    mine = json.loads(out)["tables"][0]["schemes"][0]["scheme"]
    for member in ("score", "violations", "remarks", "goals"):
        assert mine[member] == table["current"][member], member
    # The analysis adds how sure a number is; what it is stays the same.
    theirs = {t["name"]: t["value"] for t in table["current"]["terms"]}
    for term in mine["terms"]:
        assert term["name"] == "partitions" or theirs[term["name"]] == term["value"], term["name"]
    for own, other in zip(mine["classes"], table["current"]["classes"], strict=True):
        assert {**own, "entities_read_interval": None} == {**other, "entities_read_interval": None}


def test_keys_are_tried_by_hand(ask: Ask) -> None:
    good, bad = "{document} | {reverse_pad(version,2)}", "'' | {document}"
    words = ["score", "--sample", "documents", "--scheme", good]
    code, out, err = ask(*words, "--scheme", bad, "--format", "json")
    first, second = checked(out, "score")["tables"][0]["schemes"]
    assert (code, first["label"], second["label"]) == (1, "as given", "as given")
    assert first["scheme"]["score"] > second["scheme"]["score"]
    codes = {v["code"] for v in second["scheme"]["violations"]}
    assert "not-unique" in codes and second["scheme"]["violations"][0]["message"] in err
    _, first, _ = ask(*words)
    assert first.startswith("THESE KEYS HOLD EVERY CONSTRAINT   Documents, as given\n")
    assert "Terms" not in first and len(first.splitlines()) <= FIRST_SCREEN_LINES
    assert first.splitlines()[-1] == "  next: advisor analyze --sample documents"
    assert ask(*words[:3])[1].splitlines()[0].startswith("THESE KEYS HOLD EVERY CONSTRAINT   Documents, current")
    _, page, _ = ask(*words, "--details")
    assert page.startswith(first) and "The score, part by part" in page and "{reverse_pad(version,2)}" in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "nothing to score"),
        (["missing.yaml"], "missing.yaml"),
        ([RACE], "without data"),
        (["--sample", "documents", "--scheme", "{nothing} | {document}"], "nothing"),
        (["--sample", "documents", "--scheme", "{document}"], "one bar"),
    ],
)
def test_what_cannot_be_scored(ask: Ask, words: list[str], told: str) -> None:
    code, out, err = ask("score", *words)
    assert (code, out) == (2, "")
    assert told in err and len(err.splitlines()) <= 4


def test_a_file_compared_with_itself_shows_no_difference(ask: Ask, tmp_path: Path) -> None:
    stored("microblog", tmp_path / "r.json")
    worse = ["--fail-if-worse", "score=0%", "--fail-if-worse", "requests_per_s=0"]
    for pair in (["r.json", "r.json"], [RACE, RACE, "--sample", "footrace"]):
        code, _, err = ask("compare", *pair, *worse, "--out", "json=c.json", "--out", "text=c.txt")
        assert code == 0 and all(line.startswith("wrote ") for line in err.splitlines())
        assert (tmp_path / "c.txt").read_text().endswith("no difference\n")
        found = checked((tmp_path / "c.json").read_text(), "comparison")
        assert found["same"] and not any(t["classes"] for t in found["tables"])
        assert all(m["old"] == m["new"] and not m["worse"] for t in found["tables"] for m in t["measures"])


def other_keys(tmp_path: Path, partition: str, row: str) -> str:
    """The race's design with other keys."""
    text = Path(RACE).read_text()
    for name, key in (("partition_key", partition), ("row_key", row)):
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{name}:"))
        text = text.replace(line, f'    {name}: "{key}"')
    (tmp_path / "other.yaml").write_text(text)
    return "other.yaml"


@pytest.mark.long("proofs")
def test_two_designs_that_declare_different_workloads_say_so(ask: Ask, tmp_path: Path) -> None:
    rare = str(resource("samples", "footrace", "design-bib-only.yaml"))
    for pair, name in (([RACE, rare], "design-bib-only.yaml"), ([rare, RACE], "design.yaml")):
        ask("compare", *pair, "--sample", "footrace", "--out", "json=c.json", "--out", "text=c.txt")
        page = (tmp_path / "c.txt").read_text()
        found = checked((tmp_path / "c.json").read_text(), "comparison")
        (entry,) = found["workload"]["differs"]
        assert (found["workload"]["of"], entry["name"], found["same"]) == ("new", "by-age", True)
        assert f"Both are priced on the workload of {name}" in page and "- by-age: " in page and "1/day" in page
        assert page.endswith("the keys do not differ\n")


@pytest.mark.long("proofs")
def test_two_designs_on_the_same_data(ask: Ask, tmp_path: Path) -> None:
    other = other_keys(tmp_path, "{event}_{distance}", "{pad(age,3)}_{pad(bib,5)}")
    code, out, _ = ask("compare", RACE, other, "--sample", "footrace", "--format", "json")
    found = checked(out, "comparison")
    assert code == 0 and not found["same"]
    (table,) = found["tables"]
    changed = {c["name"]: c for c in table["classes"]}
    assert changed["by-bib"]["worse"] and not changed["by-age"]["worse"]
    assert (changed["by-age"]["old"]["access"], changed["by-age"]["new"]["access"]) == ("partition scan", "row range")
    _, turned, _ = ask("compare", other, RACE, "--sample", "footrace", "--format", "json")
    (back,) = json.loads(turned)["tables"]
    assert {m["name"]: (m["new"], m["old"]) for m in back["measures"]} == {
        m["name"]: (m["old"], m["new"]) for m in table["measures"]
    }
    (at,) = (m for m in table["measures"] if m["name"] == "smallest break factor")
    _, card, _ = ask("score", "--sample", "footrace", "--design", RACE, "--format", "json")
    (scheme,) = (c["scheme"] for t in json.loads(card)["tables"] for c in t["schemes"])
    assert at["old"] == min(b["factor"] for b in scheme["breaks"] if b["growth_of"])
    worse = {m["name"] for m in table["measures"] if m["worse"]}
    assert worse.isdisjoint(m["name"] for m in back["measures"] if m["worse"])


def test_a_comparison_begins_with_which_keys_are_better_and_ends_with_a_command(ask: Ask, tmp_path: Path) -> None:
    other = other_keys(tmp_path, "{event}_{distance}", "{pad(age,3)}_{pad(bib,5)}")
    for pair, headline in (((RACE, other), "WORSE"), ((other, RACE), "BETTER")):
        _, page, _ = ask("compare", *pair, "--sample", "footrace")
        lines = page.splitlines()
        assert lines[0] == f"THE NEW KEYS ARE {headline}   Registrations"
        assert len(lines) <= FIRST_SCREEN_LINES + 3
        assert lines[-1] == f"  next: advisor review {pair[1]} --against {pair[0]}"
        assert "'by-bib' touches" in page and "continuations" not in page
    assert "continuations" in ask("compare", RACE, other, "--sample", "footrace", "--details")[1]


def test_worse_by_more_than_allowed_is_exit_1(ask: Ask, tmp_path: Path) -> None:
    stored("footrace", tmp_path / "free.json")
    stored("footrace", tmp_path / "lean.json", budgets=("index_rows=0",))
    before, after = (
        json.loads((tmp_path / f"{n}.json").read_text())["tables"][0]["recommended"] for n in ("free", "lean")
    )
    drop = 1 - after["score"] / before["score"]
    assert drop > 0.02
    code, out, err = ask("compare", "free.json", "lean.json", "--fail-if-worse", f"score={100 * drop - 1}%")
    assert code == 1 and "score" in err and out
    assert ask("compare", "free.json", "lean.json", "--fail-if-worse", f"score={100 * drop + 1}%")[0] == 0
    assert ask("compare", "lean.json", "free.json", "--fail-if-worse", "score=0%")[0] == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["r.json", "r.json", "--fail-if-worse", "scor=5%"], 2, "did you mean 'score'?"),
        (["r.json", "r.json", "--fail-if-worse", "score"], 2, "is not K=V"),
        (["r.json", "r.json", "--fail-if-worse", "score=-1"], 2, "not a bound"),
        (["r.json", RACE], 2, "is a result and"),
        (["r.json", "r.json", "--sample", "footrace"], 2, "from themselves alone"),
        ([RACE, RACE], 2, "there is none"),
        (["r.json", "gone.json"], 2, "gone.json"),
        (["r.json", "-"], 2, "standard input"),
    ],
)
def test_what_cannot_be_compared(ask: Ask, tmp_path: Path, words: list[str], code: int, told: str) -> None:
    stored("footrace", tmp_path / "r.json")
    found, out, err = ask("compare", *words)
    assert (found, out) == (code, "")
    assert told in err and len(err.splitlines()) <= 4


def test_what_is_wrong_with_a_template_is_told_before_data_is_asked_for(tmp_path: Path, ask: Ask) -> None:
    design = tmp_path / "design.yaml"
    text = "schema: 1\ntables:\n  Orders: {partition_key: '{customer}', row_key: '{pad(order,9)}'}\n"
    design.write_text(text)
    assert "without data no key can be priced" in ask("score", str(design))[2]
    assert "no function 'padd'" in ask("score", str(design), "--scheme", "{customer} | {padd(order,9)}")[2]
    design.write_text(text.replace("pad(", "padd("))
    code, _, told = ask("score", str(design))
    assert code == 2 and "no function 'padd'" in told and "did you mean 'pad'?" in told

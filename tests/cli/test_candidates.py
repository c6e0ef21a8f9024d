"""Schemes that a user names, bounds that a user sets, limits over limits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pkadvisor.design.cost.budgets import BOUNDS, parse_budgets
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.candidate_file import load_candidates
from pkadvisor.table.edm import EdmType
from tests.cli.support import Ask, checked
from tests.design.choice.test_flips import judged
from tests.report.support import result

FORMS = {
    "lines": "# mine\n'' | {event}_{distance}_{pad(bib,5)}\n\n"
    "{event}_{distance} | {pad(bib,5)}\n  + A:{pad(age,3)}_{pad(bib,5)} (full)\n",
    "yaml": "- \"'' | {event}_{distance}_{pad(bib,5)}\"\n",
    "mappings": "candidates:\n  - {partition_key: '', row_key: '{event}_{distance}_{pad(bib,5)}'}\n"
    "  - partition_key: '{event}_{distance}'\n    row_key: '{pad(bib,5)}'\n    index_rows:\n"
    "      - {row_key: 'A:{pad(age,3)}_{pad(bib,5)}'}\n",
}
FEW = ("--sample", "footrace", "--sample-rows", "300")


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_candidates_names_the_same_schemes_in_every_form(tmp_path: Path, form: str) -> None:
    file = tmp_path / ("c.txt" if form == "lines" else "c.yaml")
    file.write_text(FORMS[form])
    types = {"event": EdmType.STRING, "distance": EdmType.STRING, "bib": EdmType.INT32, "age": EdmType.INT32}
    texts = [candidate.scheme(types).text for candidate in load_candidates(file)]
    wanted = ["'' | {event}_{distance}_{pad(bib,5)}"]
    if form != "yaml":
        row = "{event}_{distance} | A:{pad(age,3)}_{pad(bib,5)}"
        wanted.append(f"{{event}}_{{distance}} | {{pad(bib,5)}} + {row} (full)")
    assert texts == wanted


@pytest.mark.long("proofs")
def test_named_schemes_take_part_and_are_shown_wherever_they_end(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "c.txt"
    file.write_text(FORMS["lines"])
    code, out, _ = ask("analyze", *FEW, "--candidates", file.name, "--top", "2", "--format", "json")
    found = checked(out, "result")
    assert code == 0
    (table,) = found["tables"]
    others = table["alternatives"]
    mine = next(s for s in others if s["partition_key"] == "")
    assert mine["row_key"] == "{event}_{distance}_{pad(bib,5)}" and mine["rank"] > 2
    ranks = [s["rank"] for s in others]
    assert ranks == sorted(ranks) and ranks[0] == 2
    (indexed,) = [s for s in [table["recommended"], *others] if s["row_key"] == "{pad(bib,5)}"]
    assert [(r["row_key"], r["copy"]) for r in indexed["index_rows"]] == [("A:{pad(age,3)}_{pad(bib,5)}", "full")]


@pytest.mark.long("proofs")
def test_a_named_scheme_is_explained_by_its_rank(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text(FORMS["lines"])
    _, out, _ = ask("analyze", *FEW, "--candidates", "c.txt", "--top", "2", "--format", "json")
    mine = next(s for s in json.loads(out)["tables"][0]["alternatives"] if s["partition_key"] == "")
    _, explained, _ = ask("explain", f"scheme:{mine['rank']}", *FEW, "--candidates", "c.txt", "--format", "json")
    assert json.loads(explained)["scheme"]["text"] == "'' | {event}_{distance}_{pad(bib,5)}"


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("c.txt", "", "names no scheme"),
        ("c.txt", "{event} | {bib}\n\n  {event}\n", "c.txt:3:3"),
        ("c.txt", "+ {bib}\n", "c.txt:1:1"),
        ("c.txt", "\n{event} | {bip}\n", "c.txt:2:1"),
        ("c.yaml", "- partition_key: '{event}'\n", "c.yaml:1:3"),
        ("c.yaml", "- partition_key: '{event}'\n  row_kee: x\n", "c.yaml:2:3"),
        ("c.yaml", "a: 1\n", "c.yaml:1:1"),
        ("c.yaml", "- {event} | {bib}\n", "c.yaml:1:"),
        ("c.yaml", "- 5\n", "c.yaml:1:3"),
        (
            "c.yaml",
            "- partition_key: '{event}'\n  row_key: ''\n  index_rows: [{row_key: '{bib}', copy: ful}]\n",
            "'full'",
        ),
    ],
)
def test_a_file_of_candidates_is_refused_with_line_and_column(
    ask: Ask, tmp_path: Path, name: str, content: str, told: str
) -> None:
    (tmp_path / name).write_text(content)
    code, out, err = ask("analyze", "--sample", "footrace", "--candidates", name)
    assert (code, out) == (2, "")
    assert told in err and len(err.splitlines()) <= 4


def test_a_budget_is_a_constraint(ask: Ask) -> None:
    free = result("footrace")["tables"][0]["recommended"]
    assert free["index_rows"]
    lean = result("footrace", budgets=("index_rows=0",))["tables"][0]
    assert not lean["recommended"]["index_rows"]
    over = [s for s in lean["alternatives"] if s["index_rows"]]
    assert all("budget" in {v["code"] for v in s["violations"]} for s in over)
    code, out, err = ask("analyze", "--sample", "bank", "--budget", "bytes_per_entity=1")
    assert code == 1 and "NO KEY HOLDS" in out and "bytes_per_entity" in err


@pytest.mark.parametrize("key", sorted(BOUNDS))
def test_every_budget_binds_just_below_what_is_and_not_above(key: str) -> None:
    found = judged("bank")
    assert found.bench is not None and found.advice is not None and found.advice.current is not None
    mine = found.advice.current
    value = BOUNDS[key].value(mine, found.bench)
    for bound, binds in ((value * 1.01, False), (value * 0.99, value > 0)):
        bench = replace(found.bench, budgets=parse_budgets([f"{key}={bound!r}"]))
        codes = [v.code for v in estimate(mine.scheme, bench).violations]
        assert ("budget" in codes) == binds


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cost_mnth=5", "did you mean 'cost_month'?"),
        ("cost_month", "is not K=V"),
        ("cost_month=", "not a bound"),
        ("cost_month=nan", "not a bound"),
        ("cost_month=inf", "not a bound"),
        ("cost_month=-1", "not a bound"),
    ],
)
def test_a_budget_that_is_none(ask: Ask, text: str, told: str) -> None:
    code, out, err = ask("analyze", "--sample", "documents", "--budget", text)
    assert (code, out) == (2, "") and told in err
    code, out, err = ask("analyze", "--sample", "documents", "--budget", "index_rows=1", "--budget", "index_rows=2")
    assert code == 2 and "twice" in err


@pytest.mark.long("proofs")
def test_limits_lie_over_each_other_and_the_page_says_what_was_measured(
    ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a b.toml").write_text("partition_entities_per_s = 1000\nprice_per_gb_month = 1.5\n")
    (tmp_path / "account.toml").write_text(
        '[partition_entities_per_s]\nvalue = 500\nbasis = "measured"\nsource = "run of May"\ndate = "2026-05-02"\n'
    )
    words = ["analyze", "--sample", "bank", "--limits", "a b.toml", "--limits", "account.toml"]
    code, out, _ = ask(*words, "--format", "json")
    assert code == 0
    values = {v["name"]: v for v in json.loads(out)["limits"]["values"]}
    assert (values["partition_entities_per_s"]["value"], values["partition_entities_per_s"]["basis"]) == (
        500,
        "measured",
    )
    assert values["price_per_gb_month"]["value"] == 1.5
    monkeypatch.setenv("PKADVISOR_LIMITS", "a b.toml:account.toml")
    _, page, _ = ask(*words[:3], "--details")
    monkeypatch.delenv("PKADVISOR_LIMITS")
    told = " ".join(page.split())
    assert "measured, not published: partition_entities_per_s 500 entities/s (run of May, 2026-05-02)" in told
    assert "nothing was measured" not in told
    (tmp_path / "account.toml").write_text("partition_entitys_per_s = 1\n")
    code, _, err = ask(*words)
    assert code == 2 and "account.toml:1:1" in err


@pytest.mark.parametrize("name", ["bank", "footrace", "orders"])
def test_what_a_page_shows_is_read_back_as_the_same_schemes(tmp_path: Path, name: str) -> None:
    found = judged(name)
    assert found.section.data is not None
    types = found.section.data.types
    lines, texts = [], []
    for scheme in (c.scheme for c in found.ranking()[:20]):
        texts.append(scheme.text)
        lines.append(str(scheme.main))
        for row in scheme.index_rows:
            key = str(row.key) if not scheme.same_partition(row) else str(row.key).partition(" | ")[2]
            lines.append(f"  + {key} ({row.copy})")
    (tmp_path / "c.txt").write_text("\n".join(lines))
    assert [c.scheme(types).text for c in load_candidates(tmp_path / "c.txt")] == texts
    assert any(" + " in text for text in texts)


def test_a_property_without_braces_is_a_slip_and_not_one_key_for_all(ask: Ask) -> None:
    code, _, err = ask("score", *FEW, "--scheme", "event | {bib}")
    assert code == 2
    assert err.splitlines()[0] == "error: --scheme: 'event' is fixed text, and a property has this name"

"""Texts of which an application knows the lower case alone: what a log says, which keys serve them, what counts.

The right answers are those of a store that compares texts character by character, written out by hand.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from pkadvisor.cli.main import main
from pkadvisor.design.choice.candidates import main_keys
from pkadvisor.design.choice.finer_keys import bucketed_texts
from pkadvisor.design.choice.key_building import KeyGround
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import Context, Field, Hash, Lower
from pkadvisor.design.load.estimates import Bench
from pkadvisor.design.load.identifiers import identities
from pkadvisor.design.plan.access_plan import Access
from pkadvisor.design.plan.plan import plan
from pkadvisor.design.plan.requests import requests
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType, TypedValue
from pkadvisor.table.odata import FilterSyntaxError, bind, evaluate, format_filter, parse_filter
from tests.design.support import bench_of, population_of, query
from tests.strangers.stranger import Log, recommended, table_csv

FOLDED = "mail eq '{lower(mail)}'"
TYPES = {"mail": EdmType.STRING, "id": EdmType.INT32, "team": EdmType.STRING}
MAIL = {"mail": TypedValue(EdmType.STRING, "Bo@X")}


@pytest.mark.parametrize(
    ("template", "reads", "tells"),
    [
        ("{mail}", True, False),
        ("{lower(mail)}", False, True),
        ("{reverse(mail)}", True, False),
        ("{reverse(lower(mail))}", False, True),
        ("{lower(reverse(mail))}", False, True),
        ("{prefix(lower(mail),3)}", False, False),
        ("{prefix(mail,3)}", True, False),
        ("{hash(lower(mail),16)}", False, False),
        ("{md5_prefix(mail,2)}", True, False),
        ("{hash(concat(lower(mail),'_',lower(team)),16)}", False, False),
        ("{hash(concat(mail,'_',lower(team)),16)}", True, False),
    ],
)
def test_a_part_knows_whether_it_reads_case(template: str, reads: bool, tells: bool) -> None:
    (part,) = parse_template(template)
    assert (part.reads_case("mail"), part.tells_folded) == (reads, tells)


@pytest.mark.parametrize("template", ["{reverse(lower(mail))}", "{lower(reverse(mail))}", "{lower(mail)}"])
def test_what_is_left_of_a_text_is_its_lower_case(template: str) -> None:
    (part,) = parse_template(template)
    assert not part.decodes
    assert part.text_behind(part.encode({"mail": "Bo@X"}, Context(TYPES))) == "bo@x"


def test_a_folded_comparison_is_written_read_and_holds_for_every_spelling() -> None:
    tree = parse_filter(FOLDED, parameters=True)
    assert format_filter(tree) == FOLDED
    bound = bind(tree, MAIL)
    held = [text for text in ("bo@x", "BO@X", "al@x") if evaluate(bound, {"mail": TypedValue(EdmType.STRING, text)})]
    assert held == ["bo@x", "BO@X"]


@pytest.mark.parametrize("text", ["mail ge '{lower(mail)}'", "RowKey eq '{lower(mail)}'", "mail eq '{upper(mail)}'"])
def test_lower_stands_behind_eq_of_a_property_alone(text: str) -> None:
    with pytest.raises(FilterSyntaxError):
        parse_filter(text, parameters=True)


@pytest.mark.parametrize(
    ("partition", "row", "access", "sent", "left"),
    [
        ("{lower(mail)}", "", Access.POINT, "PartitionKey eq 'bo@x' and RowKey eq ''", 0),
        ("{hash(lower(mail),16)}", "{lower(mail)}", Access.POINT, "PartitionKey eq '02' and RowKey eq 'bo@x'", 0),
        ("{prefix(lower(mail),2)}", "{id}", Access.PARTITION_SCAN, "PartitionKey eq 'bo'", 1),
        ("{lower(mail)}", "{mail}", Access.PARTITION_SCAN, "PartitionKey eq 'bo@x'", 0),
        ("{mail}", "", Access.TABLE_SCAN, "", 1),
        ("{hash(mail,2)}", "{mail}", Access.PARTITION_SCAN, "PartitionKey eq '0'", 1),
        ("{team}", "{lower(mail)}", Access.TABLE_SCAN, "RowKey eq 'bo@x'", 0),
    ],
)
def test_only_a_part_that_reads_no_case_serves_a_folded_text(
    partition: str, row: str, access: Access, sent: str, left: int
) -> None:
    """No request compares a property without its case: a key does, or the client."""
    asked = query("by mail", FOLDED)
    wanted = conditions(asked.filter)
    found = min(plan(asked, wanted, KeyScheme(parse_key(partition, row)), TYPES), key=lambda p: p.access.rank)
    assert (found.access, len(found.client), found.rest) == (access, left, ())
    assert next(iter(requests(found, wanted, MAIL, TYPES))).filter == sent


def test_buckets_of_a_text_in_lower_case_are_known_to_who_asks_for_it() -> None:
    part = Hash(Lower("mail"), 16)
    assert part.bucketed == Lower("mail")
    assert conditions(parse_filter(FOLDED, parameters=True)).fixed_in(part) == {"mail"}


# -- what counts -------------------------------------------------------------------------------------------------------

SPELLED = ["Bo@X", "bo@x", "al@X", "di@x", "EV@x"]


def _bench(mails: list[str], *more: QueryClass) -> Bench:
    columns = {"mail": mails, "id": list(range(len(mails))), "team": ["a"] * len(mails)}
    return bench_of(population_of(columns, TYPES), query("by mail", FOLDED), *more)


def test_all_spellings_are_returned() -> None:
    (demand,) = _bench(SPELLED).demands
    assert demand.returned.tolist() == [2, 2, 1, 1, 1]


def test_a_text_names_one_entity_where_no_two_differ_in_case_alone() -> None:
    assert identities(_bench(SPELLED)) == ()
    assert identities(_bench(SPELLED[1:])) == (("mail",),)


def test_keys_hold_the_text_as_it_is_asked_for() -> None:
    """Two accounts that differ in case alone share a partition, and the RowKey tells them apart."""
    alone = {str(s.main) for s in main_keys(KeyGround(_bench(SPELLED[1:])))}
    assert "{lower(mail)} | ''" in alone
    assert not any("{mail}" in key.partition(" | ")[0] for key in alone)
    shared = {str(s.main) for s in main_keys(KeyGround(_bench(SPELLED)))}
    assert "{lower(mail)} | ''" not in shared
    assert "{lower(mail)} | {pad(id,2)}" in shared


def test_who_knows_the_text_as_it_is_spelled_may_use_a_key_in_lower_case() -> None:
    exact = query("by spelling", "mail eq '{mail}'")
    for asked, left in ((exact, 0), (query("by mail", FOLDED), 0)):
        (found,) = plan(asked, conditions(asked.filter), KeyScheme(parse_key("{lower(mail)}", "")), TYPES)
        assert (found.access, len(found.client)) == (Access.POINT, left)


def test_a_row_key_in_lower_case_is_bucketed_in_lower_case() -> None:
    names = bucketed_texts(
        parse_key("all", "{lower(mail)}_{pad(id,2)}"), KeyGround(_bench([f"M{n}" for n in range(40)]))
    )
    assert names == [Lower("mail"), Field("id")]


# -- whole answers -----------------------------------------------------------------------------------------------------


def _mails(count: int, random: Random) -> list[str]:
    names = ["Anna", "bob", "CARLA", "Dieter", "eva", "Fritz"]
    return [f"{random.choice(names)}.{random.choice(['Smith', 'KING'])}{n}@Example.com" for n in range(count)]


def _answer(rows: list[dict[str, str]], log: Log, folder: Path, patch: pytest.MonkeyPatch) -> dict[str, object]:
    patch.chdir(folder)
    Path("a.csv").write_text(table_csv(rows), encoding="utf-8")
    Path("a.log").write_text(log.text("Accounts"), encoding="utf-8")
    assert main(["init", "m", "--from", "a.csv", "--log", "a.log", "--yes", "-q"]) == 0
    patch.chdir(folder / "m")
    assert main(["analyze", "-q", "--out", "json=out.json"]) == 0
    out: dict[str, object] = json.loads(Path("out.json").read_text(encoding="utf-8"))
    return out


def test_accounts_by_their_mail_in_lower_case_keep_their_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random, log = Random(1), Log(1)
    rows = [{"PartitionKey": m.lower(), "RowKey": "", "mail": m, "name": f"N{len(m)}"} for m in _mails(300, random)]
    for n in range(400):
        log.point(random.choice(rows)["PartitionKey"], "", "update" if n % 9 == 0 else "query")
    result = _answer(rows, log, tmp_path, monkeypatch)
    assert recommended(result) == ["{lower(mail)} | "]
    (table,) = result["tables"]  # type: ignore[misc]
    assert table["verdict"] == "keep"
    text = Path("design.yaml").read_text(encoding="utf-8")
    assert text.count("filter: \"mail eq '{lower(mail)}'\"") == 2


def test_a_row_key_in_lower_case_alone_is_looked_up_through_an_index_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was a query without a filter, which reads the whole table under any keys."""
    random, log = Random(2), Log(2)
    rows = []
    for n, mail in enumerate(_mails(400, random)):
        rows.append({"PartitionKey": f"t{n % 20:02}", "RowKey": mail.lower(), "team": f"t{n % 20:02}", "mail": mail})
    for _ in range(300):
        row = random.choice(rows)
        log.point(row["PartitionKey"], row["RowKey"])
        log.query(f"RowKey eq '{random.choice(rows)['RowKey']}'")
    result = _answer(rows, log, tmp_path, monkeypatch)
    (table,) = result["tables"]  # type: ignore[misc]
    keys = json.dumps(table["recommended"])
    assert "{lower(mail)}" in keys
    assert "{mail}" not in keys
    assert all(c["entities_read"] <= 1 for c in table["recommended"]["classes"])

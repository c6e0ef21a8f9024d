"""Of a random sample a log's requests find what it holds of the table; a log of another table finds far less."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import polars as pl
import pytest

from pkadvisor.cli.main import main
from pkadvisor.design.evidence.held_requests import Held, held_requests
from pkadvisor.design.rows.demand import demands
from pkadvisor.observe.workload import Draw, DrawBy, Operation, Workload
from pkadvisor.table.edm import EdmType
from tests.design import support

Key = tuple[str, str]
TYPES = {"user": EdmType.STRING, "order": EdmType.STRING}
ONE, ALL = "user eq '{user}' and order eq '{order}'", "user eq '{user}'"


def table(users: int = 300, *, named: str = "u", seed: int = 3) -> list[Key]:
    """Orders of some users, of whom a few have many."""
    random = Random(seed)
    counts = [min(60, round(3 * random.paretovariate(2))) for _ in range(users)]
    return [(f"{named}{user:03}", f"o{user}-{n}") for user, count in enumerate(counts) for n in range(count)]


def drawn_by_zipf(keys: Sequence[Key], requests: int, exponent: float, random: Random) -> list[Key]:
    order = random.sample(keys, len(keys))
    return random.choices(order, [(n + 1) ** -exponent for n in range(len(order))], k=requests)


def held(data: Sequence[Key], log: Sequence[Key], total: int, way: str, text: str, *, deleted: bool = False) -> Held:
    """What a sample of ``total`` entities holds of the requests of a log."""

    def frame(keys: Sequence[Key]) -> pl.DataFrame:
        return pl.DataFrame(keys, schema=["user", "order"], orient="row")

    by = ("user",) if way == "random-keys" else ()
    population = support.population_of(
        {n: list(c) for n, c in zip(TYPES, zip(*data, strict=True), strict=True)},
        TYPES,
        total=total,
        complete=len(data) == total,
        sampling=way,
        sampled_by=by,
        ghosts=frame(log),
    )
    logged = Draw(DrawBy.LOG, stated=True)
    classes = [support.query("get", text, draw=logged)]
    if deleted:
        classes.append(support.query("drop", ONE, operation=Operation.DELETE, draw=logged))
    instances = frame(log).with_columns(pl.lit(1 / len(log)).alias("_weight"))
    workload = Workload("T", tuple(classes), instances={c.name: instances for c in classes})
    rows = {c.name: (len(data), len(data) + len(log)) for c in classes}
    asked = demands(workload, population, rows)
    return held_requests(asked[0], asked, workload, population)


@pytest.mark.parametrize("way", ["random-rows", "random-keys"])
def test_an_honest_sample_is_never_contradicted(way: str) -> None:
    """Half a percent to a third of the rows or of the keys, and requests that go to all alike or nearly to one."""
    random, every = Random(way), table()
    users = sorted({user for user, _ in every})
    for share in (0.005, 0.02, 0.06, 0.3):
        for exponent in (0.0, 0.8, 1.1, 1.6):
            for _ in range(6):
                log = drawn_by_zipf(every, 1_000, exponent, random)
                keys = {*random.sample(users, max(3, round(share * len(users))))}
                data = [key for key in every if key[0] in keys]
                if way == "random-rows":
                    data = random.sample(every, max(10, round(share * len(every))))
                for text in (ONE, ALL):
                    one = held(data, log, len(every), way, text)
                    assert not one.contradicts, (share, exponent, text, one)


@pytest.mark.parametrize("way", ["random-rows", "random-keys"])
@pytest.mark.parametrize("text", [ONE, ALL])
def test_requests_for_what_another_table_has_are_told(way: str, text: str) -> None:
    """6 % of the requests are for a third of the table; the others for users and orders that the table has not."""
    random, every = Random(5), table()
    keys = {*random.sample(sorted({user for user, _ in every}), 100)}
    data = [key for key in every if key[0] in keys] if way == "random-keys" else random.sample(every, len(every) // 3)
    log = random.choices(data, k=120) + random.choices(table(named="x"), k=1_880)
    one = held(data, log, len(every), way, text)
    assert one.share == pytest.approx(0.06)
    assert one.due is not None and one.due >= 0.25
    assert one.contradicts


def test_few_requests_for_many_of_the_keys_are_told() -> None:
    """The sample has a third of the users that are named, as it should, and these make a tenth of the requests."""
    random, every = Random(6), table()
    users = sorted({user for user, _ in every})
    mine = {*users[::3]}
    data = [key for key in every if key[0] in mine]
    others = [key for key in every if key[0] not in mine]
    log = [*{user: (user, order) for user, order in data}.values(), *random.choices(others, k=1_500)]
    one = held(data, log, 12 * len(data), "random-keys", ALL)
    assert one.due == pytest.approx(1 / 3, abs=0.02)
    assert one.contradicts


def test_what_the_log_deletes_need_not_be_there() -> None:
    every = table()
    log = every[: len(every) // 2]
    data = every[len(log) :][::3]
    assert held(data, log, len(every), "random-rows", ONE).contradicts
    assert not held(data, log, len(every), "random-rows", ONE, deleted=True).contradicts


def test_a_hot_key_outside_of_a_sample_is_chance() -> None:
    """One key of twenty is not in the data, and most requests are for it: one sample in twenty is like that."""
    assert Held(0.06, 0.95, error=0.2).chance == pytest.approx(0.05, rel=0.5)
    assert Held(0.06, 0.3, error=0.015).chance < 1e-9
    assert Held(0.4, 0.3, error=0.015).chance == 1
    assert Held(0.0, None).chance == 1


@pytest.mark.parametrize(("strangers", "verdict"), [(1_800, "not_enough"), (0, "keep")])
def test_a_log_that_shares_a_few_requests_is_no_sample_of_keys(
    strangers: int, verdict: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A third of the users that the log names are in the data, and 6 % of its requests are theirs."""
    random, every = Random(8), table(60)
    data, other = every, table(60, named="x", seed=9)
    asked = random.choices(other, k=strangers) or drawn_by_zipf(every + other, 2_000, 0.5, random)
    asked = random.sample(asked + random.choices(data, k=115 if strangers else 1), len(asked))
    text = "".join(f"{user},{order},{user},{order}\n" for user, order in data)
    (tmp_path / "orders.csv").write_text("PartitionKey,RowKey,user,order\n" + text)
    begin = datetime(2026, 11, 2, tzinfo=UTC)
    lines = [
        {"table": "Orders", "op": "query", "at": f"{begin + timedelta(seconds=n):%FT%TZ}", "pk": user, "rk": order}
        for n, (user, order) in enumerate(asked)
    ]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    given = [str(tmp_path / "orders.csv"), "--log", str(tmp_path / "log.jsonl")]
    assert main(["analyze", *given, "--format", "json", "-q"]) == (verdict == "not_enough")
    (shown,) = json.loads(capsys.readouterr().out)["tables"]
    (told,) = [g for g in shown["grounds"] if g["name"] == "parameters"]
    assert (shown["verdict"], told["carries"]) == (verdict, verdict == "keep"), told
    if strangers:
        assert told["measured"] == pytest.approx(0.06, abs=0.015)
        assert told["expected"] > 2 * told["measured"]
        assert "of the requests" in told["sentence"]
        assert told["next"] == "data and a log of the same table and the same time"


@pytest.mark.parametrize(
    ("sites", "states", "contradicts"),
    [
        (["a", "b"], ["new"], False),  # the queue was drained
        (["x", "y"], ["new"], True),  # neither the sites nor the state are there
        (["x", "y"], ["done"], True),  # a site is no state: the log is of other sites
    ],
)
def test_a_state_that_no_entity_has_now_is_no_contradiction(
    sites: list[str], states: list[str], contradicts: bool
) -> None:
    types = {"site": EdmType.STRING, "state": EdmType.STRING}
    rows = {"site": ["a", "b"] * 200, "state": ["done"] * 390 + ["printing"] * 10}
    ghosts = pl.DataFrame({"site": sites, "state": states * len(sites)})
    population = support.population_of(rows, types, total=400, complete=True, ghosts=ghosts)
    query = support.query("poll", "site eq '{site}' and state eq '{state}'", draw=Draw(DrawBy.LOG, stated=True))
    instances = ghosts.with_columns(pl.lit(1 / len(ghosts)).alias("_weight"))
    workload = Workload("T", (query,), instances={"poll": instances})
    asked = demands(workload, population, {"poll": (400, 400 + len(ghosts))})
    assert held_requests(asked[0], asked, workload, population).contradicts == contradicts

"""Each ground of a verdict alone: where it carries, where both numbers contradict each other, and what is asked for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from pkadvisor.cli.main import main
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.evidence.given import Evidence, Ground, weakest
from pkadvisor.design.evidence.grounds import GROUNDS, coverage
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.limits import default_limits
from pkadvisor.observe.workload import Basis
from pkadvisor.table.edm import EdmType
from pkadvisor.usecases.review.opening import open_design
from tests.design import support
from tests.tiers import sizes

ROWS, STEP_S = 400, 60
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
Table = dict[str, Any]


def moment(number: int) -> str:
    return f"{BEGIN + timedelta(seconds=STEP_S * number):%Y-%m-%dT%H:%M:%SZ}"


def rows(count: int = ROWS) -> list[dict[str, object]]:
    """One entity a minute, of eight devices."""
    return [{"device": f"d{n % 8}", "id": f"e{n:05}", "at": moment(n)} for n in range(count)]


def design(**more: object) -> dict[str, Any]:
    """A design whose evidence is complete: 60 inserts an hour, windows of an hour, draws stated."""
    table: dict[str, Any] = {
        "partition_key": "{device}",
        "row_key": "{id}",
        "properties": {"device": "string", "id": "string", "at": "datetime"},
        "arrival": "at",
        "queries": [
            {"name": "one", "filter": "device eq '{device}' and id eq '{id}'", "rate": "20/s", "draw": "entities"},
            {
                "name": "last-hour",
                "filter": "device eq '{device}' and at ge datetime'{at-1h}' and at le datetime'{at}'",
                "rate": "10/s",
                "draw": "entities",
            },
        ],
        "writes": [{"name": "add", "operation": "insert", "rate": "60/h"}],
    }
    return table | more


def judged(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    table: dict[str, Any],
    *options: str,
    count: int = ROWS,
    more: Mapping[str, object] = MappingProxyType({}),
) -> tuple[int, Table]:
    """(exit code, the table of the result); ``more``: properties that all entities have."""
    data, path = folder / "things.jsonl", folder / "design.yaml"
    data.write_text("".join(json.dumps({**row, **more}) + "\n" for row in rows(count)), encoding="utf-8")
    path.write_text(json.dumps({"schema": 1, "tables": {"Things": table}}), encoding="utf-8")
    code = main(["analyze", str(data), "--design", str(path), "--format", "json", "-q", *options])
    (found,) = json.loads(capsys.readouterr().out)["tables"]
    return code, found


def ground(table: Table, name: str) -> Table:
    return next(g for g in table["grounds"] if g["name"] == name)


def log_of(folder: Path, per_s: float, *, known: bool = True) -> str:
    """A log of an hour in which single entities are asked for; of a table of its own where they are not known."""
    path = folder / "log.jsonl"
    count = round(3600 * per_s)
    lines = []
    for n in range(count):
        number = n % ROWS
        at = f"{BEGIN + timedelta(seconds=3600 * n / count):%Y-%m-%dT%H:%M:%S.%f}Z"
        row_key = f"e{number:05}" if known else f"x{number:05}"
        lines.append({"table": "Things", "op": "query", "at": at, "pk": f"d{number % 8}", "rk": row_key})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return str(path)


def test_complete_evidence_has_a_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, table = judged(tmp_path, capsys, design())
    assert (code, table["verdict"]) == (0, table["ranking_says"])
    assert table["verdict"] in ("keep", "change")
    assert [g["name"] for g in table["grounds"]] == [
        "parameters", "density", "times", "coverage", "sampling", "assumptions",
    ]  # fmt: skip
    assert all(g["carries"] for g in table["grounds"])
    assert (table["why_not"], table["next"]) == (None, None)
    assert ground(table, "density")["load_share"] > 0.1
    assert ground(table, "density")["measured"] == pytest.approx(1 / STEP_S, rel=0.1)


def query(name: str, **more: object) -> list[dict[str, object]]:
    """The queries of the design, one of them changed."""
    return [{**q, **more} if q["name"] == name else q for q in design()["queries"]]


LAST_DAYS = "device eq '{device}' and at ge datetime'{at-20h}' and at le datetime'{at}'"
CONTRADICTED = {
    "density, too few": ("density", {"writes": [{"name": "add", "operation": "insert", "rate": "180/h"}]}),
    "density, too many": ("density", {"writes": [{"name": "add", "operation": "insert", "rate": "20/h"}]}),
    "times": ("times", {"queries": query("last-hour", filter=LAST_DAYS)}),
    "sampling, more": ("sampling", {"entities_total": 3 * ROWS}),
    "sampling, fewer": ("sampling", {"entities_total": ROWS // 3}),
    "assumptions": ("assumptions", {"queries": query("one", rate="60_000/s", draw=None)}),
}


@pytest.mark.parametrize(("partition_key", "carries"), [("counts", True), ("{shard}", False)])
def test_a_guess_is_never_milder_than_an_even_draw(partition_key: str, carries: bool, tmp_path: Path) -> None:
    """Read-modify-writes of few entities fail and are repeated, so that a partition takes more than its first tries."""
    rows = "".join(f"a{i},s{i % 2},{i}\n" for i in range(12))
    (tmp_path / "counts.csv").write_text("act,shard,votes\n" + rows, encoding="utf-8")
    text = (
        f'schema: 1\ntables:\n  Counts:\n    partition_key: "{partition_key}"\n    row_key: "{{act}}"\n'
        "    properties: {act: string, shard: string, votes: int64}\n    entities_total: 12\n    writes:\n"
        "      - {name: vote, operation: update, key: [act, shard], sets: [votes], read_modify_write: true,\n"
        "         rate: 4000/s}\n"
    )
    view = open_design("d.yaml", text, default_limits(), data=[str(tmp_path / "counts.csv")]).tables[0]
    assert view.estimate is not None and view.estimate.hot is not None
    told = next(g for g in view.grounds if g.name == "assumptions")
    assert told.carries is carries
    if carries:
        assert "all of them lie in one partition" in told.sentence
    else:
        assert told.measured is not None and told.measured >= view.estimate.hot.entities_per_s


@pytest.mark.parametrize("case", sizes(list(CONTRADICTED)[::2], CONTRADICTED, "proofs"))
def test_a_contradicted_ground_is_not_enough(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, changed = CONTRADICTED[case]
    table = design(**changed)
    for asked in table["queries"]:
        if asked.get("draw", "") is None:
            del asked["draw"]
    code, found = judged(tmp_path, capsys, table)
    weak = [g["name"] for g in found["grounds"] if not g["carries"]]
    assert (code, found["verdict"], weak) == (1, "not_enough", [name])
    told = ground(found, name)
    assert (found["why_not"], found["next"]) == (told["sentence"], told["next"])
    assert told["measured"] is not None and told["expected"] is not None
    assert found["recommended"] is not None and found["ranking_says"] is not None


CONTRADICTING_LOGS = [
    (20.0, True, None),
    (6.0, True, "coverage"),
    (60.0, True, "coverage"),
    (20.0, False, "parameters"),
]


@pytest.mark.parametrize(
    ("per_s", "known", "name"),
    sizes(CONTRADICTING_LOGS[1::2], CONTRADICTING_LOGS, "proofs"),
)
def test_a_log_that_contradicts_the_design_or_the_data(
    per_s: float, known: bool, name: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = log_of(tmp_path, per_s / 10, known=known)
    table = design(queries=query("one", rate="2/s"))
    code, found = judged(tmp_path, capsys, table, "--log", log)
    weak = [g["name"] for g in found["grounds"] if not g["carries"]]
    assert weak == ([] if name is None else [name])
    assert code == (0 if name is None else 1)


@pytest.mark.parametrize(
    ("logged_s", "rate", "kept", "carries"),
    [(2.0, 1.5, False, False), (2.0, 1.5, True, True), (2.0, 9.0, False, True), (3_600.0, 0.001, False, True)],
)
def test_a_few_requests_in_a_few_seconds_are_no_rate(logged_s: float, rate: float, kept: bool, carries: bool) -> None:
    """Three requests an hour are rare; three in two seconds may be one or nine: a key that bears nine may stay."""
    population = support.population_of(
        {"a": ["x", "y"] * 50, "n": list(range(100))}, {"a": EdmType.STRING, "n": EdmType.INT32}
    )
    asked = support.query("of-a", "a eq '{a}'", rate=rate)
    bench = support.bench_of(population, replace(asked, rate=replace(asked.rate, basis=Basis.COUNTED)))
    best = estimate(KeyScheme(parse_key("{a}", "{pad(n,3)}")), bench)
    given = Evidence(bench, best, None, 100, "complete", log=True, logged_s=logged_s, kept=kept)
    found = coverage(given)
    assert found.carries is carries
    assert carries or ("3 requests of 'of-a'" in found.sentence and "18.6/min to 4.38/s" in found.sentence)


@pytest.mark.parametrize(("older", "per_min", "carries"), [(True, 20, False), (True, 1, True), (False, 20, True)])
def test_the_size_of_partitions_that_only_a_log_fills(
    older: bool, per_min: int, carries: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four devices of today that report all the time were there before the log, and hold what others hold if they
    report as often; fifty that come one after the other, and are read once they have reported, begin in it."""
    path = tmp_path / "log.jsonl"
    lines: list[Table] = []
    for n in range(200):
        device = f"new{n % 4 if older else n // 4}"
        put = {"op": "insert", "pk": device, "rk": f"f{n:05}", "status": 204}
        read = {"op": "query", "pk": device, "rk": None, "filter": f"PartitionKey eq '{device}'", "status": 200}
        at = BEGIN + timedelta(seconds=STEP_S * ROWS + n * 60 // per_min)
        lines += ({"table": "Things", "at": f"{at:%Y-%m-%dT%H:%M:%SZ}", **one} for one in (put, read))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    table = {name: value for name, value in design().items() if name not in ("queries", "writes")}
    code, shown = judged(tmp_path, capsys, table, "--log", str(path))
    told = ground(shown, "parameters")
    assert [told["carries"], code] == [carries, 0 if carries else 1], told
    assert ("The log fills them" in told["sentence"]) != carries


def ticks(number: int) -> int:
    return (BEGIN - datetime(1, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 10 + number * STEP_S * 10_000_000


@pytest.mark.parametrize(("way", "carries"), [("{ticks(at)}", True), ("{reverse_ticks(at)}", False)])
def test_a_log_whose_keys_other_templates_wrote(
    way: str, carries: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its requests are one in a thousand, too few to weigh; still nothing that its keys say can be trusted."""
    path = tmp_path / "log.jsonl"
    asked = [n % ROWS for n in range(72)]
    lines = [
        {"table": "Things", "op": "query", "at": moment(n), "pk": f"d{number % 8}", "rk": f"{ticks(number):019}"}
        for n, number in enumerate(asked)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    table = design(row_key=way, queries=query("one", filter="device eq '{device}'")[:1])
    code, found = judged(tmp_path, capsys, table, "--log", str(path))
    told = ground(found, "parameters")
    weak = [g["name"] + ": " + g["sentence"] for g in found["grounds"] if not g["carries"]]
    assert [code, *weak] == ([0] if carries else [1, f"parameters: {told['sentence']}"])
    assert ("other templates wrote its keys" in told["sentence"]) != carries


@pytest.mark.long("proofs")
def test_the_share_of_a_log_mends_its_coverage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = log_of(tmp_path, 0.1)
    table = design(queries=query("one", rate="1/s"))
    assert judged(tmp_path, capsys, table, "--log", log)[1]["verdict"] == "not_enough"
    assert judged(tmp_path, capsys, table, "--log", log, "--log-fraction", "10%")[1]["verdict"] != "not_enough"


def test_what_no_load_rests_on_is_told_and_carries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    queries = [q for q in design()["queries"] if q["name"] == "one"]
    writes = [{"name": "add", "operation": "insert", "rate": "6_000/h"}]
    code, table = judged(tmp_path, capsys, design(queries=queries, writes=writes))
    told = ground(table, "density")
    assert (code, told["carries"], told["next"]) == (0, True, None)
    assert "nothing is counted in windows of time" in told["sentence"]


def test_a_guessed_workload_is_not_sure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stated = judged(tmp_path, capsys, design(sampling="complete"))[1]["confidence"]
    bare = [{k: v for k, v in q.items() if k != "draw"} for q in design()["queries"]]
    code, table = judged(tmp_path, capsys, design(queries=bare))
    guessed = table["confidence"]
    assert (stated["share"], stated["sure"], stated["assumed_share"]) == (1, True, 0)
    assert (code, guessed["share"], guessed["sure"], guessed["basis"]) == (0, None, False, "assumed")
    assert guessed["assumed_share"] > 0.9


def test_the_page_says_both_numbers_and_what_to_give(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    judged(tmp_path, capsys, design(entities_total=3 * ROWS))
    args = ["analyze", str(tmp_path / "things.jsonl"), "--design", str(tmp_path / "design.yaml"), "-q"]
    assert main(args) == 1
    out, err = capsys.readouterr()
    text = " ".join(out.split())
    assert "NOT ENOUGH TO ADVISE Things" in text
    assert "The data has 400 rows, entities_total is 1,200" in text
    assert "next: give `sampling` (random-rows, random-keys with sampled_by, or slice)" in text
    assert "the ranking says" not in text, "what it cannot advise it does not advise in another line"
    assert 1 <= len(err.strip().splitlines()) <= 4
    assert "not enough to advise" in err


def test_data_without_a_workload_of_its_own_asks_for_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "design.yaml"
    path.write_text(json.dumps({"schema": 1, "tables": {"Things": design()}}), encoding="utf-8")
    assert main(["analyze", "--design", str(path), "--format", "json", "-q"]) == 1
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert (table["verdict"], table["recommended"], table["next"]) == ("not_enough", None, "a data set of the table")


def test_a_log_alone_shows_heat_and_ends_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Requests that name a PartitionKey alone make no row, so that there is nothing to judge keys on."""
    path = tmp_path / "log.jsonl"
    lines = [{"table": "Things", "op": "query", "at": moment(n), "pk": f"d{n % 8}"} for n in range(ROWS)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["analyze", "--log", str(path), "--format", "json", "-q"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert (table["verdict"], table["next"]) == ("heat_only", "a data set of the table")
    assert table["recommended"] is None
    assert table["heat_in_log"]["reads"]["top"]


def test_a_log_alone_whose_keys_are_explained_is_advised_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "--log", log_of(tmp_path, 0.1), "--format", "json", "-q"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert (table["verdict"], table["next"]) == ("keep", None)
    assert table["recommended"]["partition_key"] == "d{p1}"
    assert all(g["carries"] for g in table["grounds"])
    assert table["heat_in_log"]["reads"]["top"]


def test_whole_keys_of_a_log_alone_that_look_otherwise_than_the_rest_are_no_design(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each symbol is written once, today; what is asked for are ranges of other days."""
    monkeypatch.chdir(tmp_path)
    asked = "PartitionKey eq 'S{:03}' and RowKey ge '2026{:02}01' and RowKey lt '2026{:02}28'"
    lines = [{"op": "upsert", "pk": f"S{n:03}", "rk": "20261103"} for n in range(60)]
    lines += [{"filter": asked.format(n % 60, n % 9 + 1, n % 9 + 1)} for n in range(200)]
    log = [{"table": "Candles", "at": moment(n), **line} for n, line in enumerate(lines)]
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in log), encoding="utf-8")
    assert main(["analyze", "--log", "log.jsonl", "-q", "--out", "json=alone.json"]) == 0
    assert main(["init", "--log", "log.jsonl", "--yes", "-q"]) == 0
    assert main(["analyze", "-q", "--out", "json=with.json"]) == 0
    for name in ("alone.json", "with.json"):
        (table,) = json.loads(Path(name).read_text())["tables"]
        assert (table["verdict"], table["recommended"]) == ("heat_only", None)


def test_a_range_over_values_that_a_profile_hides_cannot_be_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ids = {"name": "from", "filter": "device eq '{device}' and id ge '{id}' and id lt 'e9'", "rate": "5/s"}
    given = [{**ids, "draw": "entities"}]
    code, shown = judged(tmp_path, capsys, design(queries=given))
    assert (code, ground(shown, "parameters")["carries"]) == (0, True)
    assert main(["profile", "things.jsonl", "--design", "design.yaml", "-q", "--out", "p.json"]) == 0
    assert main(["analyze", "p.json", "--design", "design.yaml", "-q", "--out", "json=r.json"]) == 1
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    told = ground(table, "parameters")
    assert (table["verdict"], told["carries"], table["why_not"]) == ("not_enough", False, told["sentence"])
    assert "hides the values of id" in told["sentence"] and "the data in place of the profile" in table["next"]


@pytest.mark.parametrize(
    ("rate", "stated", "code"), [("60/h", True, 0), ("20/min", True, 0), ("500/s", True, 1), ("500/s", False, 0)]
)
def test_inserts_that_no_growth_explains_contradict_a_table_of_stated_size(
    rate: str, stated: bool, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is counted in windows of time; 500 inserts a second fill the 400 rows in a second, not in 7 h."""
    writes = [{"name": "add", "operation": "insert", "rate": rate}]
    table = design(writes=writes, queries=design()["queries"][:1], **({"sampling": "complete"} if stated else {}))
    exit_code, document = judged(tmp_path, capsys, table)
    assert (exit_code, ground(document, "density")["carries"]) == (code, code == 0)
    told = document["confidence"]
    assert ("inserts and data differ" in told["note"], told["sure"]) == (stated and rate != "60/h", rate == "60/h")


def test_a_draw_from_longer_than_a_slice_is_drawn_from_all_of_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    newest = {"newest": 0.9, "window": "30d"}
    queries = [design()["queries"][0] | {"draw": newest}]
    for sampling, carries in (("complete", False), ("slice", True)):
        _, document = judged(tmp_path, capsys, design(queries=queries, sampling=sampling))
        assert ground(document, "times")["carries"] == carries


# seconds of the log, the verdict; the windows asked for are of an hour
SHORT_LOGS = {"the log is shorter than the windows": (600, "keep"), "the log holds the windows": (7200, "not_enough")}


@pytest.mark.parametrize("case", SHORT_LOGS)
@pytest.mark.parametrize("declared", sizes([False], [False, True], "proofs"))
def test_inserts_of_a_short_log_are_no_rate_of_longer_windows(
    case: str, declared: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lasts_s, verdict = SHORT_LOGS[case]
    lines = []
    for n in range(lasts_s):
        at = (BEGIN + timedelta(seconds=n)).isoformat().replace("+00:00", "Z")
        until = BEGIN + timedelta(minutes=60 + n % (ROWS - 60))
        row_filter = (
            f"PartitionKey eq 'd{n % 8}' and at ge datetime'{until - timedelta(hours=1):%Y-%m-%dT%H:%M:%SZ}' "
            f"and at le datetime'{until:%Y-%m-%dT%H:%M:%SZ}'"
        )
        lines.append({"table": "Things", "op": "query", "at": at, "filter": row_filter})
        lines.append({"table": "Things", "op": "insert", "at": at, "pk": f"d{n % 8}", "rk": f"e{ROWS + n:05}"})
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    writes = [{"name": "add", "operation": "insert", "rate": "1/s"}]
    table = {k: v for k, v in design().items() if k not in ("queries", "writes")} | (
        {"writes": writes} if declared else {}
    )
    code, found = judged(tmp_path, capsys, table, "--log", str(log))
    told = ground(found, "density")
    assert told["carries"] == (verdict == "keep"), told
    assert (told["measured"], told["expected"]) == (pytest.approx(1 / STEP_S, rel=0.1), pytest.approx(1, rel=0.1))
    assert code == (0 if verdict == "keep" else 1)


def test_the_ground_that_most_rests_on_is_told_first() -> None:
    small = Ground("times", "", "", False, "data", 0.2)
    large = replace(small, name="density", rests=0.6)
    assert weakest([small, large]) is large
    assert weakest([replace(small, carries=True, next="")]) is None
    with pytest.raises(ValueError, match="what to give next"):
        replace(small, next="")
    with pytest.raises(ValueError, match="not a share"):
        replace(small, rests=1.5)


def test_there_is_a_registry_of_six() -> None:
    assert [measure.__name__ for measure in GROUNDS] == [
        "parameters", "density", "times", "coverage", "sampling", "assumptions",
    ]  # fmt: skip


@pytest.mark.parametrize(("rate", "verdict"), [("100/s", "not_enough"), ("1/min", None)])
def test_a_property_that_no_entity_has_carries_no_advice_where_much_of_the_load_asks_for_it(
    rate: str, verdict: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    owned = design()
    owned["properties"] |= {"owner": "string"}
    asked = {"name": "of-owner", "filter": "device eq '{device}' and id eq '{id}' and owner eq '{owner}'"}
    owned["queries"].append({**asked, "rate": rate, "draw": "entities"})
    code, found = judged(tmp_path, capsys, owned, more={"owner": None})
    basis = ground(found, "parameters")
    assert basis["carries"] == (verdict is None)
    if verdict:
        assert (code, found["verdict"]) == (1, verdict)
        assert "no entity of the data has a value of owner, which 'of-owner' asks for" in basis["sentence"]

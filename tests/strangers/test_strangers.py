"""Folders of strangers: ``init --from`` and ``analyze``, nothing edited, end in the right keys or the question."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from pkadvisor.observe.design_file.declaration import DeclaredKeys
from pkadvisor.observe.design_file.read_declaration import load_declaration
from tests.strangers.folders import STRANGERS, bookings_by_day, contradictory, data_alone, moves_in
from tests.strangers.more import MORE, access_log, hashed_and_encoded, ledger, orders_with_lines, rooms, sales_in_groups
from tests.strangers.stays_and_moves import refills, tubes
from tests.strangers.stranger import ROWS, Stranger, recommended
from tests.strangers.titles import LISTS, READS, articles
from tests.strangers.with_index_rows import WITH_INDEX_ROWS
from tests.tiers import sizes

# Named and not looked up in what they write: to write all of them costs seconds, also for a run of one other test.
ASKED = [data_alone, contradictory]
ANSWERED = [make for make in STRANGERS if make not in ASKED]
WITHOUT_KEYS = (data_alone, contradictory, moves_in, access_log)
WITH_KEYS = [
    make for make in (*STRANGERS, *MORE, *(make for make, _, _ in WITH_INDEX_ROWS)) if make not in WITHOUT_KEYS
]


_begun: dict[str, tuple[int, Path]] = {}
"""The exit code and the folder of what ``init`` made of each stranger's files."""


def begun(stranger: Stranger, folder: Path, patch: pytest.MonkeyPatch) -> int:
    """The folder with what ``init --from`` writes into it."""
    if stranger.name not in _begun:
        first = Path(tempfile.mkdtemp())
        stranger.write(first)
        patch.chdir(first)
        given = [word for name in stranger.data for word in ("--from", name)]
        given += [word for name in stranger.logs for word in ("--log", name)]
        _begun[stranger.name] = main(["init", *given, "--yes", "-q"]), first
    code, first = _begun[stranger.name]
    shutil.copytree(first, folder, dirs_exist_ok=True)
    patch.chdir(folder)
    return code


_advised: dict[str, list[str]] = {}
"""The keys that ``analyze`` recommends with what ``init`` wrote, of each stranger."""


def advised(stranger: Stranger) -> list[str]:
    """The recommended keys with the design file of the working folder, which ``begun`` filled."""
    if stranger.name not in _advised:
        assert main(["analyze", "-q", "--out", "json=with.json"]) == 0
        _advised[stranger.name] = recommended(json.loads(Path("with.json").read_text()))
    return _advised[stranger.name]


@pytest.fixture(scope="module", autouse=True)
def _folders_that_begun_leaves() -> Iterator[None]:
    yield
    for _, first in _begun.values():
        shutil.rmtree(first)
    _begun.clear()


@pytest.mark.parametrize("make", sizes(ANSWERED[2::5], ANSWERED, "worlds"))
def test_nothing_edited_they_end_in_the_right_keys(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    with_design = advised(stranger)
    assert len(with_design) == len(stranger.right)
    for keys, right in zip(with_design, stranger.right, strict=True):
        assert re.search(right, keys), f"{stranger.name}: {keys}"


@pytest.mark.long("worlds")
def test_a_day_and_an_id_are_a_point_read_and_a_scan_gets_an_index_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert begun(bookings_by_day(), tmp_path, monkeypatch) == 0
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    (row,) = table["recommended"]["index_rows"]
    assert (row["partition_key"], row["row_key"]) == ("org-{pad(p1,3)}", "HOST:{host}_{r1}")
    read = {q["name"]: (q["access"], round(q["entities_read"], 1)) for q in table["recommended"]["classes"]}
    assert read["query by p1, r1, startedAt"] == ("point", 1)
    # A review with a profile of what the project names proposes the same.
    assert main(["profile", "-q", "--out", "profile.json"]) == 0
    assert main(["review", "-q", "--profile", "profile.json", "--out", "json=review.json"]) == 0
    findings = json.loads(Path("review.json").read_text())["designs"][0]["findings"]
    current, row = "org-{pad(p1,3)} | {time(startedAt,'yyyyMMdd')}_{r1}", "org-{pad(p1,3)} | HOST:{host}_{r1} (full)"
    assert {f["proposal"] for f in findings if f["proposal"]} == {f"{current} + {row}"}


@pytest.mark.long("worlds")
def test_a_range_of_days_is_read_through_an_index_row_in_the_order_of_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert begun(ledger(), tmp_path, monkeypatch) == 0
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    (table,) = json.loads(Path("r.json").read_text())["tables"]
    (row,) = table["recommended"]["index_rows"]
    assert (row["partition_key"], row["row_key"]) == ("WALLET:{Wallet}", "{ticks(BookedAt)}_{r1}")
    (statement,) = [q for q in table["current"]["classes"] if q["name"] == "query by Wallet, BookedAt"]
    assert ROWS / 3 < statement["entities_read"] < 2 * ROWS / 3  # a month of two


@pytest.mark.parametrize("make", sizes(ANSWERED[7:8], ANSWERED, "worlds"))
def test_an_analysis_without_a_design_file_gives_the_keys_of_one_with_it(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    logs = [word for name in stranger.logs for word in ("--log", name)]
    assert main(["analyze", *stranger.data, *logs, "-q", "--isolated", "--out", "json=without.json"]) == 0
    assert advised(stranger) == recommended(json.loads(Path("without.json").read_text()))


@pytest.mark.parametrize("make", sizes([rooms, hashed_and_encoded, tubes, refills], [*MORE, tubes, refills], "worlds"))
def test_other_shapes_end_in_the_right_keys_too(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    keys = recommended(json.loads(Path("r.json").read_text()))
    assert len(keys) == len(stranger.right)
    assert all(re.search(right, one) for right, one in zip(stranger.right, keys, strict=True)), keys


@pytest.mark.parametrize(("make", "index_row", "entities"), sizes(WITH_INDEX_ROWS[:1], WITH_INDEX_ROWS, "worlds"))
def test_rows_of_an_index_are_no_entities(
    make: Callable[[], Stranger], index_row: str, entities: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    (table,) = load_declaration("design.yaml").tables
    assert table.partition_key is not None
    (row,) = table.index_rows
    partition = row.partition_key or table.partition_key
    assert f"{partition.text} | {row.row_key.text} ({row.copy})" == index_row
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    (result,) = json.loads(Path("r.json").read_text())["tables"]
    assert result["data"]["entities_read"] == entities
    assert re.search(stranger.right[0], recommended({"tables": [result]})[0])
    lacking = [text for text in result["gives_up"] if "10 % of the entities that lack Mail have none" in text]
    assert len(lacking) == ("(pointer)" in index_row)
    logged = Path(stranger.logs[0]).read_text().count(";InsertEntity;")
    inserts = sum(q["rate_per_s"] for q in result["workload"] if q["operation"] == "insert")
    assert inserts == pytest.approx(logged / 2 / 60, rel=0.02)  # one for an entity, and none for its index row


@pytest.mark.parametrize("make", ASKED)
def test_where_the_files_do_not_tell_enough_they_are_asked(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = make()
    code = begun(stranger, tmp_path, monkeypatch)
    said = capsys.readouterr().err
    if code == 0:
        code = main(["analyze", "-q"])
        said = Path("design.yaml").read_text() + capsys.readouterr().err
    assert code == 2
    assert stranger.question in said


@pytest.mark.parametrize("make", sizes(WITH_KEYS[::6], WITH_KEYS, "worlds"))
def test_the_keys_in_use_are_written_and_reproduce_the_export(
    make: Callable[[], Stranger], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = make()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    text = Path("design.yaml").read_text()
    templates = []
    for table in load_declaration("design.yaml", text).tables:
        keys = [k.keys for k in table.kinds] or [DeclaredKeys(table.partition_key, table.row_key)]
        templates += [f"{k.partition.text} | {k.row.text}" for k in keys if k.partition and k.row]
    assert stranger.current
    assert sorted(templates) == sorted(stranger.current)
    shares = re.findall(r"inferred: ([0-9,]+) of ([0-9,]+) (?:exported|logged) keys", text)
    assert len(shares) == len(stranger.current)
    assert all(exact == rows for exact, rows in shares)


def test_kinds_are_named_by_all_words_of_their_keys_and_the_file_is_noted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stranger = orders_with_lines()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    assert [kind.name for kind in load_declaration("design.yaml").tables[0].kinds] == ["O_L", "O"]
    assert main(["analyze", *stranger.data, "--log", *stranger.logs, "--isolated"]) == 0
    assert capsys.readouterr().err.count("no design file") == 1


def test_kinds_that_a_log_writes_in_one_group_are_one_transaction_and_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = sales_in_groups()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    (table,) = load_declaration("design.yaml").tables
    (transaction,) = table.workload.transactions
    assert transaction.together == ("insert in groups", "insert in groups (2)")
    assert (transaction.group_by, transaction.required) == (("p1",), False)
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    result = json.loads(Path("r.json").read_text())
    assert [t["verdict"] for t in result["tables"]] == ["keep", "keep"]
    (arranged,) = result["arrangements"]
    # 5 transactions a second of 3 rows are 5 requests with or without the other kind: nothing is saved twice.
    assert arranged["chosen"]["requests_per_s"] == pytest.approx(10, rel=0.02)


def test_titles_in_keys_with_escapes_are_one_kind_whose_queries_count_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = articles()
    assert begun(stranger, tmp_path, monkeypatch) == 0
    (table,) = load_declaration("design.yaml").tables
    assert table.kinds == ()
    rates = [query.rate.mean_per_s for query in table.workload.classes]
    assert sorted(rates) == pytest.approx([LISTS / 60, READS / 60], rel=0.02)
    assert main(["analyze", "-q", "--out", "json=r.json"]) == 0
    (advice,) = json.loads(Path("r.json").read_text())["tables"]
    assert advice["verdict"] == "keep"

"""Several storage accounts in the same logs, and group transactions in each format that can carry them."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from pkadvisor.cli.main import main
from pkadvisor.errors import InputError, UsageError
from pkadvisor.observe.logs.frame import UNLISTED, Op
from pkadvisor.observe.logs.read_traffic import read_traffic
from pkadvisor.observe.logs.traffic import LogWindow
from tests.worlds.law.log_lines import FORMATS, Line, log_text

REQUESTS = [Line(n / 10, "query", n, key=(f"p{n % 7}", f"r{n}")) for n in range(60)]
CAN_NAME_ACCOUNTS = [form for form in FORMATS if form != "trace"]


def mixed(form: str, *tables: tuple[str, str, int]) -> str:
    """A log with a line of each (account, table, number of requests) in turn."""
    texts = []
    for at, (account, table, count) in enumerate(tables):
        lines = [replace(line, number=line.number + 1000 * at) for line in REQUESTS[:count]]
        texts += log_text(lines, table, form).replace("//acct.", f"//{account}.").splitlines(keepends=True)
    Random(1).shuffle(texts)
    return "".join(texts)


@pytest.mark.parametrize("form", CAN_NAME_ACCOUNTS)
def test_two_accounts_are_never_summed(form: str, tmp_path: Path) -> None:
    log = tmp_path / "both.log"
    log.write_text(mixed(form, ("contoso", "Orders", 60), ("fabrikam", "Orders", 40), ("fabrikam", "Carts", 20)))
    with pytest.raises(UsageError, match=r"2 storage accounts that have Orders: .*contoso \(60 requests\)") as error:
        read_traffic([log], tables=["Orders"])
    assert "--account" in str(error.value.fix)
    with pytest.raises(UsageError, match="2 storage accounts: contoso"):
        read_traffic([log])
    one = read_traffic([log], LogWindow(account="Contoso"), tables=["Orders"])
    assert [(t.name, t.requests) for t in one.tables] == [("Orders", 60)]
    assert one.attempts == 60
    assert [(reason, n) for reason, n, _ in one.skipped] == [("another storage account (fabrikam)", 60)]
    other = read_traffic([log], tables=["carts"])  # only one account has it
    assert {t.name: t.requests for t in other.tables} == {"Orders": 40, "Carts": 20}
    with pytest.raises(UsageError, match="no request of the log is of the account 'contosso'"):
        read_traffic([log], LogWindow(account="contosso"))


def test_the_parts_of_a_recorded_transaction_are_of_its_account(tmp_path: Path) -> None:
    exchange = {"method": "POST", "uri": "", "status": 202, "batch": [{"method": "POST", "uri": "/Orders"}] * 2}
    log = tmp_path / "both.jsonl"
    uris = (f"https://{account}.table.core.windows.net/$batch" for account in ("contoso", "fabrikam", "fabrikam"))
    log.write_text("".join(json.dumps(exchange | {"uri": uri}) + "\n" for uri in uris))
    for account, parts in (("contoso", 2), ("fabrikam", 4)):
        (table,) = read_traffic([log], LogWindow(account=account)).tables
        assert [c.requests for c in table.classes if c.grouped] == [parts]


def test_the_second_endpoint_for_reads_is_of_the_same_account(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(mixed("storage analytics", ("contoso", "Orders", 30), ("contoso-secondary", "Orders", 20)))
    assert read_traffic([log]).attempts == 50


def test_init_keeps_the_account_for_analyze(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("Orders.csv").write_text("PartitionKey,RowKey\n" + "".join(f"p{n % 7},r{n}\n" for n in range(60)))
    Path("both.log").write_text(mixed("azure monitor", ("contoso", "Orders", 60), ("fabrikam", "Orders", 40)))
    given = ["init", "--from", "Orders.csv", "--log", "both.log", "--yes", "-q"]
    assert main(given) == 2
    assert len(capsys.readouterr().err.splitlines()) <= 4
    assert main([*given, "--account", "fabrikam"]) == 0
    assert main(["analyze", "-q", "--out", "json=r.json"]) in (0, 1)
    log = json.loads(Path("r.json").read_text())["log"]
    assert log["requests_attempted"] == 40
    assert log["skipped"] == [{"reason": "another storage account (contoso)", "lines": 60}]


# -- group transactions ------------------------------------------------------------------------------------------------

PARTS = [Line(1.0, "insert", n, key=("p", f"r{n}"), status=202, group="g1", part=n) for n in (1, 2, 3)]
WHOLE = Line(1.0, "insert", 0, status=202, group="g1")


def transaction(form: str, *, numbered: bool = True) -> str:
    """A group transaction of three inserts as a log has it; without ``numbered`` an export left their numbers out."""
    if form == "exchanges":
        account = "https://acct.table.core.windows.net"
        parts = [{"method": "PUT", "uri": f"{account}/Events(PartitionKey='p',RowKey='r{n}')"} for n in (1, 2, 3)]
        return json.dumps({"method": "POST", "uri": f"{account}/$batch", "status": 202, "batch": parts}) + "\n"
    text = log_text(PARTS if form == "trace" else [WHOLE, *PARTS], "Events", form)
    if not numbered:
        for n in (1, 2, 3):
            text = text.replace(f";g1;{n};", ";g1;;").replace(f'"operationCount": {n}, ', "")
    return text


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("form", FORMATS)
def test_each_part_of_a_group_transaction_is_counted(form: str, numbered: bool, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(transaction(form, numbered=numbered))
    traffic = read_traffic([log])
    (table,) = traffic.tables
    assert (table.groups.transactions, table.groups.entities) == (1, 3)
    assert sum(c.requests for c in table.classes if c.op is not Op.BATCH) == 3
    assert (table.requests, traffic.duplicates, traffic.skipped) == (1, 0, ())


def test_the_parts_of_a_portal_export_are_counted(tmp_path: Path) -> None:
    columns = ["TimeGenerated [UTC]", "OperationName", "Uri", "ObjectKey", "CorrelationId", "StatusCode", "ServiceType"]
    url = "https://acct.table.core.windows.net:443/$batch"
    with (tmp_path / "q.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerow(["3/2/2026, 10:00:01.000 AM", "EntityGroupTransaction", url, "/acct", "g1", 202, "table"])
        for n in (1, 2, 3):
            key = f"/acct/Events/p/r{n}"
            writer.writerow(["3/2/2026, 10:00:01.000 AM", "InsertEntity", url, key, "g1", 202, "table"])
    (table,) = read_traffic([tmp_path / "q.csv"]).tables
    assert (table.groups.transactions, table.groups.entities) == (1, 3)


@pytest.mark.parametrize("form", ["storage analytics", "azure monitor"])
def test_a_group_transaction_without_its_parts_is_told(form: str, tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text(log_text([*REQUESTS, WHOLE], "Events", form))
    traffic = read_traffic([log])
    assert [(reason, n) for reason, n, _ in traffic.skipped] == [(UNLISTED, 1)]
    log.write_text(log_text([WHOLE], "Events", form))
    with pytest.raises(InputError, match="1 are left out: group transactions whose parts"):
        read_traffic([log])


def test_each_file_read_is_told_with_its_size(tmp_path: Path) -> None:
    paths = []
    for n in range(3):
        paths.append(tmp_path / f"{n}.log")
        paths[-1].write_text(log_text(REQUESTS[: 10 * (n + 1)], "Events", "azure monitor"))
    told: list[int] = []
    read_traffic(paths, advance=told.append)
    assert sorted(told) == [path.stat().st_size for path in paths]

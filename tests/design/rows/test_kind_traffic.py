"""Which requests of a log are of which kind of entity, where no keys tell."""

from __future__ import annotations

import json
from pathlib import Path

from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.rows.decode import observe
from pkadvisor.design.rows.kind_traffic import traffic_of_kind, traffic_of_name
from pkadvisor.observe.logs.read_traffic import read_traffic
from pkadvisor.table.edm import EdmType

NIGHTS = {"hotel": EdmType.STRING, "night": EdmType.STRING}
STAYS = {"hotel": EdmType.STRING, "guest": EdmType.STRING}
LINES: list[dict[str, object]] = [
    {"kind": "Night", "filter": "hotel eq 'a' and night eq 'n'"},
    {"kind": "stay", "filter": "hotel eq 'a'"},
    {"filter": "guest eq 'g'"},
    {"op": "insert", "params": {"hotel": "a", "guest": "g"}},
    {"op": "merge", "params": {"hotel": "a"}},
    {"filter": "colour eq 'red'"},
]


def asked(tmp_path: Path, kind: str) -> list[int]:
    """The lines of the log that are taken for requests of one kind."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"table": "T", "id": str(n), **line}) + "\n" for n, line in enumerate(LINES)))
    (table,) = read_traffic([str(path)]).tables
    own, other = (NIGHTS, {"Stay": STAYS}) if kind == "Night" else (STAYS, {"Night": NIGHTS})
    mine = {(str(c.op), c.kind, str(c.filter)) for c in traffic_of_name(table, kind, own, other).classes}
    every = {(str(c.op), c.kind, str(c.filter)): c for c in table.classes}
    order = {"query Night": 0, "query stay": 1, "insert ": 3, "merge ": 4}
    numbers = []
    for op, name, text in mine & every.keys():
        numbers.append(order.get(f"{op} {name}", 2 if "guest" in text else 5))
    return sorted(numbers)


def test_a_request_is_of_the_kind_that_it_names_or_that_alone_has_its_properties(tmp_path: Path) -> None:
    assert asked(tmp_path, "Night") == [0, 4, 5]
    assert asked(tmp_path, "Stay") == [1, 2, 3, 4, 5]


def test_a_table_of_one_kind_has_the_whole_log(tmp_path: Path) -> None:
    asked(tmp_path, "Night")
    (table,) = read_traffic([str(tmp_path / "log.jsonl")]).tables
    assert traffic_of_name(table, "", NIGHTS, {}) == table


def test_a_request_without_keys_is_not_given_to_the_kind_with_the_longest_label(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [{"filter": "guest eq 'g'"}, {"pk": "a", "rk": "NIGHT:7"}, {"pk": "a", "rk": "S:1"}]
    path.write_text("".join(json.dumps({"table": "T", "id": str(n), **line}) + "\n" for n, line in enumerate(lines)))
    (table,) = read_traffic([str(path)]).tables
    nights = KeyScheme(parse_key("{hotel}", "NIGHT:{night}")), NIGHTS
    stays = KeyScheme(parse_key("{hotel}", "S:{stay}")), {**STAYS, "stay": EdmType.STRING}
    seen = [(c.requests, bool(c.address)) for c in traffic_of_kind(table, stays, [nights]).classes]
    assert sorted(seen) == [(1, False), (1, True)]


def test_inserts_that_fit_no_kind_are_counted_as_foreign(tmp_path: Path) -> None:
    """Of one kind they are new entities; of several nobody knows of which, and their load must not vanish unsaid."""
    path = tmp_path / "log.jsonl"
    rows = [("insert", "NIGHT:7"), ("insert", "NIGHT%3A8"), ("query", "S:1")]
    lines = [{"table": "T", "id": str(n), "op": op, "pk": "a", "rk": rk} for n, (op, rk) in enumerate(rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (table,) = read_traffic([str(path)]).tables
    nights = KeyScheme(parse_key("{hotel}", "NIGHT:{night}"))
    stays = KeyScheme(parse_key("{hotel}", "S:{stay}")), {**STAYS, "stay": EdmType.STRING}
    mine = traffic_of_kind(table, (nights, NIGHTS), [stays])
    seen = observe(mine, nights, NIGHTS, None, 3, one_kind=False).workload
    assert (seen.foreign.requests, seen.foreign.row_key) == (1, "NIGHT%3A8")
    alone = observe(table, nights, NIGHTS, None, 3).workload
    assert (alone.foreign.requests, alone.foreign.operation) == (1, "query")


def test_what_several_kinds_have_alike_is_asked_of_each_and_the_finest_rows_are_inserted(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    lines = [{"filter": "PartitionKey eq 'a'"}, {"op": "insert"}, {"op": "insert"}]
    path.write_text("".join(json.dumps({"table": "T", "id": str(n), **line}) + "\n" for n, line in enumerate(lines)))
    (table,) = read_traffic([str(path)]).tables
    heads = KeyScheme(parse_key("{hotel}", "HEAD")), NIGHTS
    nights = KeyScheme(parse_key("{hotel}", "{night}")), NIGHTS
    assert [c.requests for c in traffic_of_kind(table, heads, [nights]).classes] == [1]
    assert sorted(c.requests for c in traffic_of_kind(table, nights, [heads]).classes) == [1, 2]

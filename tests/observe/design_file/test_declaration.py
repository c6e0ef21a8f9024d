"""Design files: what they mean, where an error points, and that no text gets past without one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration import (
    Declaration,
    Sampling,
    TableDeclaration,
)
from pkadvisor.observe.design_file.read_declaration import load_declaration, read_declaration
from pkadvisor.observe.design_file.units import MONTH_S
from pkadvisor.observe.workload import Basis, Draw, DrawBy, GrowthOf, Operation
from pkadvisor.table import odata
from pkadvisor.table.edm import EdmType

RACE = """\
schema: 1
tables:
  Registrations:
    partition_key: "{event}__{distance}"
    row_key: 'BIB:{pad(bib,5)}__{name}'
    index_rows:
      - {row_key: "AGE:{pad(age,3)}__{pad(bib,5)}", copy: full}
      - {partition_key: "{name}", row_key: "", copy: pointer}
    properties: {event: string, distance: string, bib: int32, name: {type: Edm.String, size: 20}, age: Int32}
    entities_total: 2_000_000
    sampling: random-rows
    arrival: registered_at
    queries:
      - {name: by-bib, filter: "event eq '{event}' and bib eq {bib}", rate: 600/s, peak: 3000/s, p99: 50ms}
      - {name: by-age, filter: "age eq {age}", order_by: [bib, age desc], top: 100, rate: 40/min, analytic: true}
    writes:
      - {name: register, operation: insert, rate: 16/s, peak: 71/s, entities_per_request: 4}
      - {name: finish, operation: update, key: [event, bib], sets: [finishers], read_modify_write: true, rate: 20/s}
      - {name: forget, operation: delete, filter: "name eq '{name}'", rate: 1/h}
    transactions:
      - {name: team, together: [register, finish], group_by: [event, team], required: true}
    growth: {rate: 8 %/month, of: new_keys, horizon: 24 months}
    retention: 24 months
    isolation: event
    erase_by: name
    consistency: ' a queue whose steps can be repeated '
"""

KNOWN = dict.fromkeys(("event", "distance", "bib", "name", "age", "registered_at", "finishers", "team"), EdmType.STRING)


def load(text: str) -> Declaration:
    return load_declaration("design.yaml", text)


def table_of(text: str) -> TableDeclaration:
    (table,) = load(text).tables
    return table


def refusal(text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load(text)
    assert 1 <= len(caught.value.lines()) <= 4
    return caught.value


def changed(old: str, new: str, text: str = RACE) -> str:
    assert text.count(old) >= 1, old
    return text.replace(old, new, 1)


def under_caret(error: UsageError) -> str:
    """The part of the excerpt that the carets mark."""
    source, carets = error.excerpt.split("\n")
    start = carets.index("^")
    return source[start : start + carets.count("^")]


def classes_yaml(*, queries: str = "", writes: str = "", extra: str = "") -> str:
    text = "schema: 1\ntables:\n  Abc:\n"
    text += f"    queries:\n      - {queries}\n" if queries else ""
    text += f"    writes:\n      - {writes}\n" if writes else ""
    return text + "".join(f"    {line}\n" for line in extra.splitlines())


# --- what a design says -------------------------------------------------------------------------------------


def test_keys_carry_the_place_of_their_first_character() -> None:
    table = table_of(RACE)
    assert table.partition_key is not None
    assert table.row_key is not None
    assert (table.partition_key.text, table.partition_key.line, table.partition_key.column) == (
        "{event}__{distance}",
        4,
        21,
    )
    assert RACE.splitlines()[4][table.row_key.column - 1 :].startswith("BIB:")
    full, pointer = table.index_rows
    assert (full.partition_key, full.copy) == (None, "full")
    assert pointer.partition_key is not None
    assert (pointer.partition_key.text, pointer.row_key.text, pointer.copy) == ("{name}", "", "pointer")


def test_the_table() -> None:
    table = table_of(RACE)
    assert table.properties == (
        ("event", EdmType.STRING),
        ("distance", EdmType.STRING),
        ("bib", EdmType.INT32),
        ("name", EdmType.STRING),
        ("age", EdmType.INT32),
    )
    assert table.sizes == (("name", 20),)
    assert table.entities_total == 2_000_000
    assert table.sampling is Sampling.RANDOM_ROWS
    assert table.arrival == "registered_at"
    assert table_of("schema: 1\ntables: {Abc: {}}").sampling is Sampling.COMPLETE


def test_the_classes() -> None:
    by_bib, by_age, register, finish, forget = table_of(RACE).workload.classes
    assert (by_bib.rate.mean_per_s, by_bib.rate.peak_per_s, by_bib.rate.basis) == (600, 3000, Basis.DECLARED)
    assert by_bib.filter == odata.parse_filter("event eq '{event}' and bib eq {bib}", parameters=True)
    assert by_bib.latency_goal_ms_p99 == 50
    assert by_bib.draw == Draw()
    assert not by_bib.draw.stated
    assert by_age.rate.peak_per_s == by_age.rate.mean_per_s == pytest.approx(40 / 60)
    assert [(o.property, o.descending) for o in by_age.order_by] == [("bib", False), ("age", True)]
    assert (by_age.top, by_age.analytic) == (100, True)
    assert (register.operation, register.filter, register.entities_per_request) == (Operation.INSERT, None, 4)
    assert (finish.operation, finish.sets, finish.read_modify_write) == (Operation.UPDATE, ("finishers",), True)
    assert forget.operation is Operation.DELETE


def test_a_key_is_short_for_equality_with_the_declared_types() -> None:
    finish = table_of(RACE).workload.classes[3]
    assert finish.filter == odata.parse_filter("event eq '{event}' and bib eq {bib:Int32}", parameters=True)


def test_the_rest_of_the_workload() -> None:
    workload = table_of(RACE).workload
    (team,) = workload.transactions
    assert (team.together, team.group_by, team.required) == (("register", "finish"), ("event", "team"), True)
    assert workload.growth is not None
    assert workload.growth.of is GrowthOf.NEW_KEYS
    assert workload.growth.factor == pytest.approx(1.08**24)
    assert workload.retention_s == pytest.approx(24 * MONTH_S)
    assert (workload.isolation, workload.erase_by) == ("event", "name")
    assert table_of(RACE).consistency == "a queue whose steps can be repeated"


@pytest.mark.parametrize(
    ("text", "draw"),
    [
        ("entities", Draw(stated=True)),
        ("{by: entities}", Draw(stated=True)),
        ("{by: distinct, of: [a, b]}", Draw(DrawBy.DISTINCT, of=("a", "b"), stated=True)),
        ("{by: distinct, of: a}", Draw(DrawBy.DISTINCT, of=("a",), stated=True)),
        ("{zipf: 1.1, of: [a]}", Draw(DrawBy.ZIPF, of=("a",), exponent=1.1, stated=True)),
        ("{by: zipf, zipf: 1, of: [a]}", Draw(DrawBy.ZIPF, of=("a",), exponent=1.0, stated=True)),
        ("{weight: visits}", Draw(DrawBy.WEIGHT, column="visits", stated=True)),
        ("{newest: 0.8, window: 1h}", Draw(DrawBy.NEWEST, share=0.8, window_s=3600, stated=True)),
        ("{by: newest, newest: 80 %, window: 2 days}", Draw(DrawBy.NEWEST, share=0.8, window_s=172800, stated=True)),
    ],
)
def test_every_form_of_draw(text: str, draw: Draw) -> None:
    query = f"{{name: q, filter: 'a eq {{a}}', rate: 1/s, draw: {text}}}"
    table = table_of(classes_yaml(queries=query, extra="arrival: timestamp"))
    assert table.workload.classes[0].draw == draw


KINDS = """\
schema: 1
tables:
  Orders:
    arrival: created
    kinds:
      Header: {properties: {order: string, total: double}, entities_total: 100}
      Line: {properties: {order: string, sku: string}, entities_total: "1_000", arrival: file_order}
    queries:
      - {name: header, kind: Header, filter: "order eq '{order}'", rate: 5/s}
    writes:
      - {name: add, kind: Line, operation: insert, rate: 9/s}
      - {name: open, kind: Header, operation: insert, rate: 3/s}
    transactions:
      - {name: order, together: [open, add], group_by: [order]}
"""


def test_kinds() -> None:
    table = table_of(KINDS)
    header, line = table.kinds
    assert (header.name, header.entities_total, header.arrival) == ("Header", 100, "created")
    assert (line.properties, line.arrival) == ((("order", EdmType.STRING), ("sku", EdmType.STRING)), "file_order")
    assert table.entities_total == 1100
    assert [c.kind for c in table.workload.classes] == ["Header", "Line", "Header"]


def test_a_kind_has_the_properties_of_the_table_besides_its_own() -> None:
    shared = "properties: {order: int32, paid: boolean}"
    header, line = table_of(changed("arrival: created", shared, KINDS)).kinds
    assert dict(line.properties) == {"order": EdmType.STRING, "paid": EdmType.BOOLEAN, "sku": EdmType.STRING}
    assert dict(header.properties)["paid"] is EdmType.BOOLEAN


def test_requests_of_several_entities_tell_how_large_a_set_is() -> None:
    (one,) = table_of(KINDS).workload.transactions
    assert one.entities is None
    many = changed("operation: insert, rate: 9/s", "operation: insert, rate: 9/s, entities_per_request: 5", KINDS)
    (several,) = table_of(many).workload.transactions
    assert several.entities == 6


@pytest.mark.parametrize(
    ("old", "new", "says", "marked"),
    [
        ("kind: Header, ", "", "does not say which kind", None),
        ("kind: Line", "kind: Lines", "did you mean 'Line'?", "Lines"),
        ("arrival: created", "entities_total: 5", "its kinds have 1,100", "5"),
        ("arrival: created", "key_parts: {a: string}", "key_parts under each kind", "key_parts"),
    ],
)
def test_kinds_refused(old: str, new: str, says: str, marked: str | None) -> None:
    error = refusal(changed(old, new, KINDS))
    assert says in str(error)
    assert marked is None or under_caret(error) == marked


def test_one_kind_needs_no_naming_and_no_kinds_allow_none() -> None:
    one = table_of("schema: 1\ntables: {Abc: {kinds: {K: {}}, queries: [{name: q, filter: '', rate: 1/s}]}}")
    assert one.workload.classes[0].kind == "K"
    error = refusal("schema: 1\ntables: {Abc: {queries: [{name: q, kind: K, filter: '', rate: 1/s}]}}")
    assert "unknown kind 'K'" in str(error)


def test_json_is_yaml_and_aliases_stand_for_values() -> None:
    as_json = json.dumps({"schema": 1, "tables": {"Abc": {"partition_key": "{a}", "row_key": ""}}})
    assert table_of(as_json).row_key is not None
    aliased = table_of(
        "schema: 1\ntables:\n  Abc:\n    queries:\n"
        "      - {name: a, filter: &f \"x eq '{x}'\", rate: &r 5/s}\n      - {name: b, filter: *f, rate: *r}\n"
    )
    first, second = aliased.workload.classes
    assert (first.filter, first.rate) == (second.filter, second.rate)


def test_yaml_1_2_words_are_text() -> None:
    text = "schema: 1\ntables: {Abc: {properties: {no: string, on: int32, y: double}}}"
    assert [name for name, _ in table_of(text).properties] == ["no", "on", "y"]


def test_a_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    path = tmp_path / "d.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + RACE.replace("\n", "\r\n").encode())
    table = load_declaration(path).tables[0]
    assert table == table_of(RACE)


# --- errors: the place, the words, the way out ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "says", "marked"),
    [
        ("rate: 600/s", "rte: 600/s", "did you mean 'rate'?", "rte"),
        ("rate: 600/s", "rate: 600", "'600' has no unit", "600"),
        ("rate: 600/s", "rate: 0/s", "remove the class or give it a rate", "0/s"),
        ("rate: 600/s", "rate: .nan", "'nan' is not a rate", ".nan"),
        ("rate: 600/s", "rate: [600/s]", "not a number with a unit", "[600/s]"),
        ("rate: 600/s", "rate: ~", "no value yet", "~"),
        ("peak: 3000/s", "peak: 3/s", "below its mean rate (600/s)", "3/s"),
        ("row_key: 'BIB", "rwo_key: 'BIB", "did you mean 'row_key'?", "rwo_key"),
        ('"{event}__{distance}"', "{event}", 'needs quotes: "{event}"', "{event}"),
        ('"{event}__{distance}"', "17", "must be text, not 17", "17"),
        ("top: 100", "top: -1", "greater than or equal to 1", "-1"),
        ("top: 100", "top: ten", "must be a whole number, not 'ten'", "ten"),
        ("bib: int32", "bib: int23", "did you mean 'int32'?", "int23"),
        ("operation: insert", "operation: insrt", "did you mean 'insert'?", "insrt"),
        ("name: by-age", "name: by-bib", "appears twice among queries and writes", "by-bib"),
        ("name: register", "name: by-bib", "appears twice among queries and writes", "by-bib"),
        ("together: [register", "together: [registr", "did you mean 'register'?", "registr"),
        ("together: [register", "together: [by-bib", "'by-bib' is a query", "by-bib"),
        ("group_by: [event, team]", "group_by: []", "is empty", "group_by"),
        ("schema: 1", "schema: 2", "schema cannot be 2", "2"),
        ("schema: 1", "schema: true", "schema cannot be 'true'", "true"),
        ("Registrations", "R-1", "is not a table name", "R-1"),
        ("Registrations", "tables", "is not a table name", "tables"),
        ("p99: 50ms", "p99: 50", "'50' has no unit", "50"),
        ("read_modify_write: true", "read_modify_write: yes", "must be true or false, not 'yes'", "yes"),
        ("8 %/month", "8 %", "does not say per what", "8 %"),
        ("8 %/month", "9000 %/month", "more than 1e9-fold", None),
        ("sampling: random-rows", "sampling: random_rows", "did you mean 'random-rows'?", "random_rows"),
        ("entities_total: 2_000_000", "entities_total: 2.5", "is not a count", "2.5"),
        ("copy: pointer", "copy: partial", "one of: full, pointer", "partial"),
        ("order_by: [bib, age desc]", "order_by: [bib, age down]", "'age down' is not a sort key", "age down"),
        ("order_by: [bib, age desc]", "order_by: [bib, -age]", "write 'age desc'", "-age"),
        ("operation: insert", "operation: insert, key: [evnt], filter: ''", "carries the entity itself", "filter"),
        ("operation: insert", "operation: insert, sets: [a]", "sets no properties", "sets"),
        ("operation: delete, ", "operation: delete, key: [a], ", "either a filter or a key", None),
        ("key: [event, bib], ", "", "either a filter or a key", None),
        ("key: [event, bib]", "filter: ' '", "either a filter or a key", None),
        ("p99: 50ms", "draw: {by: zipf}", "draw by zipf needs zipf", "{by: zipf}"),
        ("p99: 50ms", "draw: {zipf: 1, weight: a}", "draw by zipf has no weight", "weight"),
        ("p99: 50ms", "draw: {of: [a]}", "draw does not say how", "{of: [a]}"),
        ("p99: 50ms", "draw: {zipf: 0, of: [a]}", "greater than 0", "0"),
        ("p99: 50ms", "draw: newst", "did you mean 'newest'?", "newst"),
        ("p99: 50ms", "rate: 5/s", "the key 'rate' appears twice", "rate"),
        ("rate: 600/s", "rate: !!python/name:os.system 1", "is not allowed here", None),
        ("rate: 600/s", "<<: {rate: 5/s}", "no part of YAML 1.2", "<<"),
        ("rate: 600/s", "5: 6", "a key must be text", "5"),
        ("name: by-bib", 'name: "\\ud800"', "surrogate", None),
        ("name: by-bib", 'name: "a\\tb"', "printable", None),
    ],
)
def test_errors_point_at_what_is_wrong(old: str, new: str, says: str, marked: str | None) -> None:
    text = changed(old, new)
    error = refusal(text)
    assert says in str(error)
    path, line, column = error.where.split(":")
    assert path == "design.yaml"
    if marked is not None:
        assert under_caret(error) == marked
        assert text.splitlines()[int(line) - 1][int(column) - 1 :].startswith(marked)


def test_a_design_in_json_may_escape_any_character() -> None:
    text = json.dumps({"schema": 1, "tables": {"Abc": {"partition_key": "\U0001f600", "row_key": "{id}"}}})
    assert "\\ud83d\\ude00" in text
    (table,) = read_declaration("design.yaml", text)[0].tables
    assert table.partition_key is not None and table.partition_key.text == "\U0001f600"


def test_keys_go_together() -> None:
    without_row = "\n".join(line for line in RACE.splitlines() if "row_key: 'BIB" not in line)
    assert "partition_key without row_key" in str(refusal(without_row))
    without_partition = "\n".join(line for line in RACE.splitlines() if "__{distance}" not in line)
    assert "row_key without partition_key" in str(refusal(without_partition))
    only_index = "schema: 1\ntables: {Abc: {index_rows: [{row_key: a}]}}"
    assert "index_rows without the keys" in str(refusal(only_index))


def test_newest_needs_a_time_of_arrival() -> None:
    query = "{name: q, filter: '', rate: 1/s, draw: {newest: 0.8, window: 1h}}"
    for arrival in ("", "arrival: file_order"):
        assert "when each entity arrived" in str(refusal(classes_yaml(queries=query, extra=arrival)))


def test_a_query_that_reads_everything_says_so() -> None:
    assert table_of(classes_yaml(queries="{name: q, filter: '', rate: 1/s}")).workload.classes[0].filter is None
    assert "filter: ''" in refusal(classes_yaml(queries="{name: q, rate: 1/s}")).fix


def test_table_names_ignore_case() -> None:
    assert "are one table" in str(refusal("schema: 1\ntables: {Abc: {}, aBC: {}}"))


def test_all_errors_of_a_file_are_told_in_one_run() -> None:
    error = refusal(changed("rate: 16/s", "rate: 16", changed("rate: 600/s", "rate: 600")))
    assert "'600' has no unit" in str(error)
    (other,) = error.others
    assert re.match(r"design.yaml:\d+:\d+: rate: '16' has no unit; write ", other)


def test_what_values_say_together_is_checked_to_the_end_of_the_file() -> None:
    """A class that is refused hides neither those behind it, nor a transaction, nor the next table."""
    table = """{{queries: [{{name: a, filter: 'x = 1', rate: 1/s}}, {{name: a, filter: '', rate: 1/s}}],
      writes: [{{name: b, operation: delete, rate: 1/s}}],
      transactions: [{{name: t, together: [{0}], group_by: [x]}}]}}"""
    error = refusal(f"schema: 1\ntables:\n  One: {table.format('a')}\n  Two: {table.format('b')}")
    assert error.what == "= is not an operator here"
    assert [re.sub(r"^\S+ ", "", line).partition(";")[0] for line in error.others] == [
        "the name 'a' appears twice among queries and writes",
        "'b' is a delete and needs either a filter or a key",
        "'a' is a query",
        "= is not an operator here",
        "more after these",
    ]


@pytest.mark.parametrize(
    ("entries", "own", "above"),
    [
        ("    partition_key: a\n   row_key: b", 3, 4),
        ("    partition_key: '{a}'\n      row_key: b", 6, 4),
        ("    queries:\n      - name: a\n       rate: 1/s", 7, 8),
    ],
)
def test_a_line_that_is_indented_otherwise_is_named_with_both_indents(entries: str, own: int, above: int) -> None:
    error = refusal(f"schema: 1\ntables:\n  Orders:\n{entries}\n")
    assert error.where.endswith(f":{3 + len(entries.splitlines())}:{own + 1}")
    assert error.what == f"this line is indented by {own}, the entry above it by {above}"


def test_what_has_no_name_is_named_by_its_shape() -> None:
    text = """
schema: 1
tables:
  Orders:
    queries:
      - {filter: "tenant eq '{tenant}' and order gt {order}", rate: 1/s}
      - {filter: "tenant eq 'order eq ' and order lt {order}", rate: 1/s}
      - {filter: '', rate: 1/s}
      - {name: insert, filter: "tenant eq '{tenant}'", rate: 1/s}
    writes:
      - {operation: insert, rate: 1/s}
      - {operation: update, key: [tenant], sets: [city], rate: 1/s}
    transactions:
      - {together: [insert-2], group_by: [tenant]}
"""
    workload = table_of(text).workload
    names = ["by-tenant-order", "by-tenant-order-2", "all", "insert", "insert-2", "update-city-by-tenant"]
    assert [c.name for c in workload.classes] == names
    assert [t.name for t in workload.transactions] == ["insert-2"]
    kinds = "schema: 1\ntables: {Shop: {kinds: {A: {}, B: {}}, queries: [{kind: B, filter: '', rate: 1/s}]}}"
    assert table_of(kinds).workload.classes[0].name == "B-all"
    assert "has 1 to 64" in str(refusal(classes_yaml(queries="{name: '', filter: '', rate: 1/s}")))


@pytest.mark.parametrize(
    "scalar",
    [
        "\"a eq '{a}' and b = 5\"",
        "'a eq ''{a}'' and b = 5'",
        "a eq {a} and b = 5",
        '"\\x61 eq \\u007ba} and b = 5"',
        "|\n          a eq {a} and\n          b = 5",
        "&anchor \"a eq '{a}' and b = 5\"",
    ],
)
def test_a_filter_error_points_into_the_yaml_text(scalar: str) -> None:
    text = f"schema: 1\ntables:\n  Abc:\n    queries:\n      - name: q\n        rate: 1/s\n        filter: {scalar}\n"
    error = refusal(text)
    assert under_caret(error) == "="
    _, line, column = error.where.split(":")
    if "&" not in scalar:
        assert text.splitlines()[int(line) - 1].index("=") == int(column) - 1


def test_a_folded_filter_shows_itself() -> None:
    text = classes_yaml(queries="name: q\n        rate: 1/s\n        filter: >\n          a eq 5 and\n          b = 5")
    error = refusal(text)
    assert under_caret(error) == "="
    assert error.where == "design.yaml:7:17"

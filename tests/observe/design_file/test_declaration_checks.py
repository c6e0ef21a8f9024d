"""Design files beside data, files that are none, the schema and the skeleton."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration import (
    check_properties,
    design_schema,
    skeleton,
)
from pkadvisor.observe.design_file.read_declaration import load_declaration
from pkadvisor.observe.workload import Operation
from pkadvisor.resources import resource
from pkadvisor.table.edm import EdmType
from tests.observe.design_file.test_declaration import (
    KINDS,
    KNOWN,
    RACE,
    changed,
    classes_yaml,
    load,
    refusal,
    table_of,
    under_caret,
)

# --- properties against the data --------------------------------------------------------------------------------


def test_known_properties_pass() -> None:
    check_properties(table_of(RACE), KNOWN)


@pytest.mark.parametrize(
    ("missing", "line", "role"),
    [
        ("event", 14, "the filter of 'by-bib'"),
        ("bib", 14, "the filter of 'by-bib'"),
        ("age", 15, "the filter of 'by-age'"),
        ("finishers", 18, "'finish' (sets)"),
        ("name", 19, "the filter of 'forget'"),
        ("team", 21, "'team' (group_by)"),
        ("registered_at", 12, "arrival"),
    ],
)
def test_a_property_the_data_lacks_is_refused_where_it_stands(missing: str, line: int, role: str) -> None:
    known = {name: edm for name, edm in KNOWN.items() if name != missing}
    with pytest.raises(UsageError) as caught:
        check_properties(table_of(RACE), {**known, f"{missing}2": EdmType.STRING}, all_asked=True)
    error = caught.value
    assert error.where.startswith(f"design.yaml:{line}:")
    assert role in error.what
    assert under_caret(error) == missing
    assert error.fix == f"did you mean '{missing}2'?"


def test_what_a_query_asks_of_a_declared_property_is_left_out_of_the_cost_where_the_sample_lacks_it() -> None:
    known = {name: edm for name, edm in KNOWN.items() if name != "age"}
    check_properties(
        table_of(
            RACE.replace('{row_key: "AGE:{pad(age,3)}__{pad(bib,5)}", copy: full}', '{row_key: "B:{pad(bib,5)}"}')
        ),
        known,
    )


def test_every_role_is_checked() -> None:
    text = classes_yaml(
        queries="{name: q, filter: 'a eq {p}', order_by: o, rate: 1/s, draw: {by: distinct, of: [d]}}",
        writes="{name: w, operation: update, key: k, sets: s, rate: 1/s, draw: {weight: v}}",
        extra="arrival: t\nisolation: i\nerase_by: e\ntransactions: [{name: x, together: w, group_by: g}]",
    )
    table = table_of(text)
    names = {mention.name for mention in table.mentions}
    assert names == {"a", "p", "o", "d", "k", "s", "v", "t", "i", "e", "g"}
    for name in names:
        with pytest.raises(UsageError):
            check_properties(table, dict.fromkeys(names - {name}, EdmType.STRING))


def test_a_word_inside_a_string_is_not_taken_for_the_property() -> None:
    table = table_of(classes_yaml(queries="{name: q, filter: \"a eq 'zip' and zip eq '{a}'\", rate: 1/s}"))
    with pytest.raises(UsageError) as caught:
        check_properties(table, {"a": EdmType.STRING})
    column = int(caught.value.where.rsplit(":", 1)[1])
    assert column == len("      - {name: q, filter: \"a eq 'zip' and ") + 1


def test_the_keys_are_properties_where_the_table_declares_them() -> None:
    query = "{name: q, filter: \"PartitionKey eq '{PartitionKey}'\", rate: 1/s}"
    with pytest.raises(UsageError):
        check_properties(table_of(classes_yaml(queries=query)), {"a": EdmType.STRING})
    check_properties(table_of(classes_yaml(queries=query, extra="partition_key: x\nrow_key: ''")), {})


def test_arrival_by_timestamp_needs_the_system_property() -> None:
    table = table_of(classes_yaml(extra="arrival: timestamp"))
    check_properties(table, {"Timestamp": EdmType.DATETIME})
    with pytest.raises(UsageError):
        check_properties(table, {"a": EdmType.STRING})
    check_properties(table_of(classes_yaml(extra="arrival: file_order")), {})


def test_kinds_are_checked_one_by_one() -> None:
    table = table_of(KINDS)
    check_properties(table, {"sku": EdmType.STRING}, kind="Line")
    with pytest.raises(UsageError, match="'order'"):
        check_properties(table, {"sku": EdmType.STRING}, kind="Header", all_asked=True)


# --- files that are no design ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "[1]",
        "just words",
        "schema: 1",
        "schema: 1\ntables: {}",
        "schema: 1\ntables:\n  Abc:\n",
        "schema: 1\ntables: {Abc: 5}",
        "schema: 1\ntables: \x07",
        "schema: 1\n---\nschema: 1\n",
        "a: [",
        "a: *nowhere",
        "a: &a [*a]",
        "a: &a {b: *a}",
        "%" * 50,
        "? [a]\n: b",
        "schema: 1\ntables: {'': {}}",
        "\ud800",
    ],
)
def test_what_is_no_design_is_refused_in_a_few_lines(text: str) -> None:
    error = refusal(text)
    assert error.where.startswith("design.yaml")


def test_hostile_yaml_stays_cheap() -> None:
    laughs = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 12)
    )
    assert "aliases are expanded" in str(refusal(laughs))
    for nest in ("[\n" * 50_000, "- " * 50_000, "{a: " * 50_000):
        assert "levels" in str(refusal(nest))


def test_unreadable_files(tmp_path: Path) -> None:
    large = tmp_path / "large.yaml"
    large.write_bytes(b"#" * 2_000_001)
    with pytest.raises(UsageError, match="larger than 2 MB"):
        load_declaration(large)
    utf16 = tmp_path / "utf16.yaml"
    utf16.write_bytes("schema: 1".encode("utf-16"))
    with pytest.raises(UsageError, match="not UTF-8"):
        load_declaration(utf16)
    unreadable = {tmp_path: "directory", tmp_path / "missing.yaml": "no such file", Path("a\0b"): "cannot read"}
    for path, what in unreadable.items():
        with pytest.raises(UsageError, match=what):
            load_declaration(path)


@given(st.integers(0, 2**32), st.integers(1, 6))
def test_a_damaged_design_is_read_or_refused(seed: int, edits: int) -> None:
    chance = random.Random(seed)
    text = RACE
    for _ in range(edits):
        at = chance.randrange(len(text))
        cut = chance.choice((0, 0, 1, 5, 40))
        text = (
            text[:at]
            + chance.choice(("", " ", "'", '"', "{", "}", "[", ":", "- ", "\n", "\t", "5", "&a "))
            + text[at + cut :]
        )
    try:
        load(text)
    except UsageError as error:
        assert len(error.lines()) <= 4
        assert error.where.startswith("design.yaml")


def test_a_plan_for_consistency_says_something() -> None:
    text = RACE.replace("' a queue whose steps can be repeated '", "'  '")
    error = refusal(text)
    assert error.what == "consistency is empty"
    line = text.splitlines().index("    consistency: '  '") + 1
    assert error.where == f"design.yaml:{line}:5"
    assert table_of("schema: 1\ntables: {Orders: {}}").consistency == ""


# --- schema and skeleton ----------------------------------------------------------------------------------------


def plain(text: str) -> Any:
    from pkadvisor.observe.design_file.declaration_yaml import Document

    return Document("design.yaml", text).content


def test_the_schema_accepts_designs_and_refuses_slips() -> None:
    schema = design_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for good in (RACE, KINDS, *(p.read_text("utf-8") for p in sorted(resource("samples").glob("*/design*.yaml")))):
        validator.validate(plain(good))
    for old, new in (("rate: 600/s", "rte: 600/s"), ("rate: 600/s", "rate: 600"), ("schema: 1", "schema: 2")):
        assert not validator.is_valid(plain(changed(old, new)))


def test_every_key_of_the_schema_is_described() -> None:
    def undescribed(part: Any, at: str = "") -> list[str]:
        if not isinstance(part, dict):
            return []
        own = [
            f"{at}.{name}"
            for name, field in (part.get("properties") or {}).items()
            if "description" not in field and "$ref" not in field
        ]
        return own + [f for key in ("$defs", "anyOf") for sub in _parts(part.get(key)) for f in undescribed(sub, at)]

    assert undescribed(design_schema()) == []


def _parts(value: Any) -> list[Any]:
    return list(value.values()) if isinstance(value, dict) else list(value or ())


COLUMNS = (
    ("PartitionKey", EdmType.STRING),
    ("RowKey", EdmType.STRING),
    ("PM2.5", EdmType.DOUBLE),
    ('a "b" \\ #', EdmType.INT32),
    ("no", EdmType.STRING),
    ("größe: x", EdmType.INT64),
    ("seen", EdmType.DATETIME),
    ("bad\x1b", EdmType.STRING),
)


@pytest.mark.parametrize("table", ["orders", "1 my-data.csv", "x", "tables", "日本", "a" * 200])
@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS[3:4], COLUMNS[4:5], ()])
def test_a_skeleton_loads_once_its_rates_are_filled_in(columns: tuple[tuple[str, EdmType], ...], table: str) -> None:
    text = skeleton(columns, table)
    assert "no value yet" in str(refusal(text))
    loaded = table_of(text.replace("rate:  ", "rate: 5/s  # "))
    names = [name for name, _ in loaded.properties]
    assert names == [c for c, _ in columns if c not in ("PartitionKey", "RowKey") and c.isprintable()]
    check_properties(loaded, dict(columns))
    assert [c.operation for c in loaded.workload.classes] == [Operation.QUERY, Operation.INSERT]


def test_what_a_skeleton_only_offers_can_be_taken() -> None:
    text = skeleton([("city", EdmType.STRING)], "Races").replace("rate:  ", "rate: 5/s  # ")
    for word in ("retry", "consistency", "growth", "retention", "entities_total"):
        assert f"    # {word}: " in text
        text = text.replace(f"    # {word}: ", f"    {word}: ")
    assert "{type: string, sensitive: personal}, or secret" in text
    table = table_of(text.replace("city: string", "city: {type: string, sensitive: secret}"))
    assert (table.retry, table.consistency) == ("exponential", "…")


@given(st.lists(st.tuples(st.text(max_size=12), st.sampled_from(EdmType)), max_size=5, unique_by=lambda c: c[0]))
def test_a_skeleton_of_any_columns_is_a_design(columns: list[tuple[str, EdmType]]) -> None:
    table = table_of(skeleton(columns, "data").replace("rate:  ", "rate: 5/s  # "))
    check_properties(table, dict(columns))


def test_a_peak_may_say_when_it_is() -> None:
    rate = "rate: 10/s, peak: 50/s, peak_at: 18:00-20:00"
    (found,) = table_of(
        classes_yaml(queries="{name: q, filter: \"event eq '{event}'\", " + rate + "}")
    ).workload.classes
    assert (found.rate.peak_per_s, found.rate.peak_at) == (50, (1080, 1200))
    for text, says in ((rate.replace("peak: 50/s, ", ""), "not how high"), (rate.replace("18:00-", ""), "time of day")):
        wrong = refusal(classes_yaml(queries="{name: q, filter: \"event eq '{event}'\", " + text + "}"))
        assert says in wrong.what


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('schema: 1\ntables:\n  A:\n    partition_key: "{x\n    row_key: ""\n', 4, 20),
        ("schema: 1\ntables:\n  A:\n    partition_key: '{x\n    row_key: '{y}'\n", 4, 20),
        ('schema: 1\ntables:\n  A:\n    partition_key: "{x}"\n    row_key: "{y\n', 5, 14),
    ],
)
def test_a_quote_that_is_not_closed_is_told_where_it_begins(text: str, line: int, column: int) -> None:
    with pytest.raises(UsageError) as raised:
        load_declaration("design.yaml", text)
    assert raised.value.where == f"design.yaml:{line}:{column}"
    assert "not closed" in raised.value.what and raised.value.excerpt.endswith("^")


def test_a_tab_is_told_to_be_a_tab() -> None:
    with pytest.raises(UsageError) as raised:
        load_declaration("design.yaml", "schema: 1\ntables:\n\tA:\n")
    assert (raised.value.where, raised.value.fix) == ("design.yaml:3:1", "indent with blanks, not with tabs")
    with pytest.raises(UsageError) as raised:
        load_declaration("design.yaml", 'schema: 1\ntables: "a\n  b" c\n')
    assert raised.value.where == "design.yaml:2:9", "an error behind a quote over two lines is in that quote"

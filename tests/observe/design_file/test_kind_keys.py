"""Keys of kinds: a kind has its own or those of its table, and slips in them are shown where they stand."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration import TableDeclaration, design_schema
from pkadvisor.observe.design_file.declaration_yaml import Document
from pkadvisor.observe.design_file.read_declaration import load_declaration, read_declaration

ROWS = '    index_rows:\n      - {row_key: "NAME:{name}"}\n'
SHOP = """\
schema: 1
tables:
  Shop:
    partition_key: "{tenant}"
    row_key: "{id}"
    index_rows:
      - {row_key: "NAME:{name}"}
    kinds:
      Tenants: {}
      Users:
        row_key: "USER:{user}"
      Orders:
        partition_key: "{tenant}"
        row_key: "ORDER:{order}"
        index_rows:
          - {row_key: "PLACED:{placed}", copy: pointer}
      Notes:
        index_rows:
          - {row_key: "WORD:{word}"}
      Files:
        index_rows: []
"""


def declared(text: str) -> TableDeclaration:
    return read_declaration("design.yaml", text)[0].tables[0]


def texts(table: TableDeclaration) -> tuple[str | None, str | None, tuple[str, ...]]:
    key = table.partition_key, table.row_key
    partition, row = (None if part is None else part.text for part in key)
    return partition, row, tuple(index.row_key.text for index in table.index_rows)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (None, ("{tenant}", "{id}", ("NAME:{name}",))),
        ("Tenants", ("{tenant}", "{id}", ("NAME:{name}",))),
        ("Users", ("{tenant}", "USER:{user}", ())),  # index rows of the table belong to other keys
        ("Orders", ("{tenant}", "ORDER:{order}", ("PLACED:{placed}",))),
        ("Notes", ("{tenant}", "{id}", ("WORD:{word}",))),
        ("Files", ("{tenant}", "{id}", ())),
        ("Strangers", ("{tenant}", "{id}", ("NAME:{name}",))),
    ],
)
def test_a_kind_has_its_own_keys_or_else_those_of_its_table(
    kind: str | None, expected: tuple[str | None, str | None, tuple[str, ...]]
) -> None:
    assert texts(declared(SHOP).of_kind(kind)) == expected


def test_a_table_may_declare_one_of_the_keys_of_all_its_kinds() -> None:
    table = declared(
        SHOP.replace('    row_key: "{id}"\n    index_rows:\n      - {row_key: "NAME:{name}"}\n', "", 1)
        .replace("Tenants: {}", 'Tenants: {row_key: ""}')
        .split("      Notes")[0]
    )
    assert texts(table) == (None, None, ())
    assert texts(table.of_kind("Tenants")) == ("{tenant}", "", ())
    assert texts(table.of_kind("Users")) == ("{tenant}", "USER:{user}", ())


def test_kinds_may_have_keys_where_the_table_has_none() -> None:
    table = declared(
        SHOP.replace('    partition_key: "{tenant}"\n    row_key: "{id}"\n', "", 1)
        .split("      Notes")[0]
        .replace('    index_rows:\n      - {row_key: "NAME:{name}"}\n', "", 1)
        .replace('        row_key: "USER', '        partition_key: "{tenant}"\n        row_key: "USER', 1)
    )
    assert texts(table) == (None, None, ())
    assert texts(table.of_kind("Tenants")) == (None, None, ())
    assert texts(table.of_kind("Users")) == ("{tenant}", "USER:{user}", ())


def test_templates_of_a_kind_know_their_lines() -> None:
    row = declared(SHOP).of_kind("Orders").row_key
    assert row is not None
    lines = SHOP.splitlines()
    assert lines[row.line - 1][row.column - 1 :].startswith("ORDER:{order}")


@pytest.mark.parametrize(
    ("old", "new", "says", "marked"),
    [
        (f'    row_key: "{{id}}"\n{ROWS}', "", "kind 'Tenants' has partition_key without row_key", "Tenants"),
        (
            f'    partition_key: "{{tenant}}"\n    row_key: "{{id}}"\n{ROWS}',
            '    row_key: "{id}"\n',
            "kind 'Tenants' has row_key without partition_key",
            "Tenants",
        ),
        ('"USER:{user}"', f'"{"x" * 5000}"', "a key of 5,000 characters", None),
        ('row_key: "USER:{user}"', "row_keys: a", "row_keys", "row_keys"),
    ],
)
def test_slips_in_the_keys_of_a_kind_are_shown(old: str, new: str, says: str, marked: str | None) -> None:
    assert old in SHOP
    with pytest.raises(UsageError) as refused:
        declared(SHOP.replace(old, new, 1))
    assert says in str(refused.value)
    line, caret = refused.value.excerpt.splitlines()[:2] if refused.value.excerpt else ("", "")
    assert marked is None or line[caret.index("^") :].startswith(marked)


def test_index_rows_of_a_kind_need_keys() -> None:
    text = 'schema: 1\ntables: {Shop: {kinds: {Users: {index_rows: [{row_key: "a"}]}}}}\n'
    with pytest.raises(UsageError, match="index_rows without the keys of the table or the kind"):
        declared(text)


def test_the_schema_takes_keys_of_kinds() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(json.dumps(design_schema())))
    validator.validate(Document("design.yaml", SHOP).content)
    assert not validator.is_valid(Document("design.yaml", SHOP.replace('"USER:{user}"', "5")).content)


def test_an_unknown_property_in_the_keys_of_a_kind_names_the_kind(tmp_path: Path) -> None:
    from pkadvisor.design.choice.sections import declared_keys
    from pkadvisor.table.edm import EdmType

    path = tmp_path / "design.yaml"
    path.write_text(SHOP.replace("{user}", "{usr}"), encoding="utf-8")
    table = load_declaration(path).tables[0].of_kind("Users")
    known = {"tenant": EdmType.STRING, "user": EdmType.STRING}
    with pytest.raises(UsageError) as refused:
        declared_keys(table, known, "design.yaml", kind="Users")
    assert refused.value.where == "design.yaml:11:19 (row_key of Shop, kind Users)"
    assert (refused.value.what, refused.value.fix) == ("no property 'usr'", "did you mean 'user'?")
    line, caret = refused.value.excerpt.splitlines()
    assert line[caret.index("^") : caret.rindex("^") + 1] == "usr"


def test_a_path_that_the_file_leaves_out_has_a_name() -> None:
    """A finding about the RowKey of a table whose kinds have their own ended with a KeyError."""
    text = "tables:\n  T:\n    kinds:\n      A: {row_key: '{id}'}\n"
    document = Document("design.yaml", text)
    assert document.logical(("tables", "T", "row_key")) == "tables.T.row_key"
    assert document.logical(("tables", "T", "kinds", "A", "row_key")) == "tables.T.kinds.A.row_key"

"""Kinds of entities in one file: found by column, RowKey prefix or properties, and split without losing a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.observe.data.dataset import Dataset, open_datasets
from pkadvisor.observe.data.kinds import OTHER, KindBy, detect_kinds, split_kinds


def dataset_of(folder: Path, entities: list[dict[str, Any]]) -> Dataset:
    path = folder / "entities.jsonl"
    path.write_text("".join(json.dumps(entity) + "\n" for entity in entities))
    (dataset,) = open_datasets([str(path)])
    return dataset


def shop(kind: bool, rows: int = 300) -> list[dict[str, Any]]:
    entities: list[dict[str, Any]] = []
    for i in range(rows):
        entity: dict[str, Any] = {"PartitionKey": f"c{i % 7}", "RowKey": f"{i:05d}"}
        if i % 3:
            entity.update(total=i, currency="EUR")
        else:
            entity.update(email=f"{i}@example.org", city="Köln")
        if kind:
            entity["EntityType"] = "Order" if i % 3 else "Customer"
        entities.append(entity)
    return entities


def test_by_column(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, shop(kind=True))
    rule = detect_kinds(dataset)[0]
    assert (rule.by, rule.column) == (KindBy.COLUMN, "EntityType")
    assert [(k.name, k.row_count) for k in rule.kinds] == [("Order", 200), ("Customer", 100)]
    orders, customers = split_kinds(dataset, rule)
    assert [c.name for c in customers.columns] == ["PartitionKey", "RowKey", "email", "city", "EntityType"]
    assert all(c.missing == 0 for c in (*orders.columns, *customers.columns))
    assert sum(f.height for f in orders.batches(["total"], rows=33)) == 200
    assert {v for f in orders.batches(["total"]) for v in f["total"]} == {i for i in range(300) if i % 3}
    assert [f.columns for f in customers.batches(["city"])] == [["city"]]


def test_by_properties(tmp_path: Path) -> None:
    dataset = dataset_of(tmp_path, shop(kind=False))
    (rule,) = detect_kinds(dataset)
    assert rule.by is KindBy.PROPERTIES
    assert [(k.name, k.row_count) for k in rule.kinds] == [("total", 200), ("email", 100)]
    assert [sum(f.height for f in part.batches()) for part in split_kinds(dataset, rule)] == [200, 100]


def test_by_row_key_prefix_and_rows_of_no_kind(tmp_path: Path) -> None:
    entities = [{"PartitionKey": "race", "RowKey": f"BIB:{i:05d}", "n": i} for i in range(100)]
    entities += [{"PartitionKey": "race", "RowKey": f"AGE:{i % 90:03d};{i:05d}", "n": i} for i in range(100)]
    entities += [{"PartitionKey": "race", "RowKey": "meta", "n": 0}] * 4
    dataset = dataset_of(tmp_path, entities)
    (rule,) = detect_kinds(dataset)
    assert rule.by is KindBy.ROW_KEY_PREFIX
    assert [(k.name, k.row_count) for k in rule.kinds] == [("AGE", 100), ("BIB", 100), (OTHER, 4)]
    parts = split_kinds(dataset, rule)
    assert sum(f.height for part in parts for f in part.batches()) == 204
    assert dataset_of(tmp_path, [*entities, *[{"PartitionKey": "p", "RowKey": "x"}] * 20]).row_count == 224
    assert detect_kinds(dataset_of(tmp_path, [*entities, *[{"PartitionKey": "p", "RowKey": "x", "n": 1}] * 20])) == ()


def test_a_type_column_without_different_properties_is_a_property(tmp_path: Path) -> None:
    entities = [{"type": "ab"[i % 2], "PartitionKey": "p", "RowKey": f"{i}", "v": i} for i in range(50)]
    assert detect_kinds(dataset_of(tmp_path, entities)) == ()


def test_optional_properties_do_not_make_kinds(tmp_path: Path) -> None:
    entities = [
        {"PartitionKey": "p", "RowKey": f"{2024 + i % 9}_{i}"} | {f"o{j}": i for j in range(5) if (i >> j) & 1}
        for i in range(64)
    ]
    assert detect_kinds(dataset_of(tmp_path, entities)) == ()


@pytest.mark.parametrize(("header", "refused"), [("Name,City", True), ("Name,Item", False), ("", False)])
def test_files_without_a_property_in_common_are_two_tables(header: str, refused: bool, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("PartitionKey,RowKey,Item,Due\np,1,i,d\n")
    (tmp_path / "b.csv").write_text(
        f"PartitionKey,RowKey{',' + header if header else ''}\np,2{',x,y' if header else ''}\n"
    )
    files = [str(tmp_path / name) for name in ("a.csv", "b.csv")]
    if refused:
        with pytest.raises(UsageError, match=r"b\.csv has no property that .*a\.csv has") as told:
            open_datasets(files)
        assert "TABLE=PATH" in str(told.value.fix)
        first, second = open_datasets([f"A={files[0]}", f"B={files[1]}"])
        assert (first.row_count, second.row_count) == (1, 1)
    else:
        (dataset,) = open_datasets(files)
        assert dataset.row_count == 2

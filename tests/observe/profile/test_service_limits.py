"""Entities that the service would refuse."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from pkadvisor.cli.main import main
from pkadvisor.observe.data.dataset import Dataset, open_datasets
from pkadvisor.observe.data.declared_types import in_declared_types
from pkadvisor.observe.profile.data_profile import OverLimit, over_limits, too_early
from pkadvisor.observe.profile.profile import profile_dataset
from pkadvisor.table.edm import EdmType

DESIGN = """schema: 1
tables:
  Docs:
    partition_key: "{owner}"
    row_key: "{pad(id,9)}"
    queries:
      - {name: one, filter: "owner eq '{owner}' and id eq {id}", rate: 5/s}
    writes:
      - {name: put, operation: insert, rate: 1/s}
"""


def opened(folder: Path, header: str, lines: list[str]) -> Dataset:
    path = folder / "docs.csv"
    path.write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    (dataset,) = open_datasets([str(path)])
    return dataset


def over(dataset: Dataset) -> tuple[OverLimit, ...]:
    return over_limits(dataset, profile_dataset(dataset, 1000).properties)


@pytest.mark.parametrize(("units", "refused"), [(32_768, False), (32_769, True)])
def test_a_text_of_more_than_64_kib_is_found_with_its_row(tmp_path: Path, units: int, refused: bool) -> None:
    dataset = opened(tmp_path, "id,body", ["1,x", f"2,{'x' * units}", "3,x", f"4,{'y' * units}"])
    assert over(dataset) == ((OverLimit("body", 2, 2, 65_538, 65_536, "bytes"),) if refused else ())


def test_a_character_beyond_the_first_plane_takes_four_bytes(tmp_path: Path) -> None:
    dataset = opened(tmp_path, "id,body", ["1,x", "2," + "\U0001f600" * 16_385])
    assert over(dataset) == (OverLimit("body", 1, 2, 65_540, 65_536, "bytes"),)


def test_bytes_are_counted_as_bytes(tmp_path: Path) -> None:
    lines = [f"{n},{base64.b64encode(bytes(size)).decode()}" for n, size in enumerate((3, 65_536, 65_537))]
    dataset = in_declared_types(opened(tmp_path, "id,scan", lines), {"scan": EdmType.BINARY})
    assert over(dataset) == (OverLimit("scan", 1, 3, 65_537, 65_536, "bytes"),)


def test_times_before_1601_are_told(tmp_path: Path) -> None:
    lines = ["1,2026-11-01T12:00:00Z", "2,0001-01-01T00:00:00Z", "3,1601-01-01T00:00:00Z", "4,"]
    data = profile_dataset(opened(tmp_path, "id,at", lines))
    (sentence,) = too_early(data)
    assert sentence.startswith("at of 1 of 4 rows is before 1601, such as the year 1:")


def test_an_entity_of_more_than_a_mebibyte_and_one_of_too_many_properties(tmp_path: Path) -> None:
    names = [f"p{n}" for n in range(20)]
    text = ",".join(["x" * 30_000] * 20)
    assert over(opened(tmp_path, ",".join(names), [",".join("x" * 20), text])) == (
        OverLimit("the entity", 1, 2, 1_200_000, 1_048_576, "bytes"),
    )
    many = [f"p{n}" for n in range(253)]
    lines = [",".join(["x"] * 252 + [""]), ",".join(["1"] * 253)]
    assert over(opened(tmp_path, ",".join(many), lines))[-1:] == (
        OverLimit("the entity", 1, 2, 253, 252, "properties"),
    )


def test_size_and_number_of_properties_are_told_apart(tmp_path: Path) -> None:
    names = [f"p{n}" for n in range(260)]
    rows = [[""] * 260, ["y" * 30_000] * 20 + [""] * 240, ["1"] * 260, ["y" * 30_000] * 20 + [""] * 240]
    found = over(opened(tmp_path, ",".join(names), [",".join(row) for row in rows]))
    told = {(f.unit, f.row, f.entities, f.amount) for f in found if f.what == "the entity"}
    assert told == {("bytes", 2, 2, 1_200_000), ("properties", 3, 1, 260)}


@pytest.mark.parametrize("command", [["analyze"], ["score"], ["stress", "--duration", "30s"]])
def test_every_command_names_property_row_and_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    lines = [f"o{n % 7},{n},{'x' * (40_000 if n == 122 else 9)}" for n in range(300)]
    opened(tmp_path, "owner,id,body", lines)
    (tmp_path / "d.yaml").write_text(DESIGN, encoding="utf-8")
    files = [str(tmp_path / "docs.csv"), "--design", str(tmp_path / "d.yaml")]
    code = main([*command, *files])
    captured = capsys.readouterr()
    said = "row 123: body has 80,000 bytes and the service takes 65,536: it refuses these entities"
    assert f"{said}; keep such values in a blob" in " ".join(captured.err.split())
    if command[0] != "stress":  # nor is it lost where notes are not shown, on the page and in the document
        assert f"Caveat: Row 123{said[7:]}." in " ".join(captured.out.split())
        assert main([*command, *files, "--quiet", "--format", "json"]) == 0
        assert f"{said};" in capsys.readouterr().out
    assert code == (3 if command[0] == "stress" else 0)

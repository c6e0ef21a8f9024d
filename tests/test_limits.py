"""The table of limits: complete, dated, consistent; and what a file of overrides may and may not do."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.errors import UsageError
from pkadvisor.limits import NAMES, default_limits, load_limits


def override(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(tmp_path: Path, text: str) -> UsageError:
    with pytest.raises(UsageError) as caught:
        load_limits(override(tmp_path, text))
    assert 1 <= len(caught.value.lines()) <= 4
    return caught.value


def test_the_published_figures() -> None:
    limits = default_limits()
    assert limits.partition_entities_per_s == 2000
    assert limits.account_requests_per_s == 20_000
    assert limits.page_entities == 1000
    assert limits.page_bytes == limits.group_transaction_bytes == 4 * 2**20
    assert limits.query_execution_s == 5
    assert limits.group_transaction_entities == 100
    assert limits.entity_bytes == 2**20
    assert limits.properties == 255
    assert (limits.key_units_warn, limits.key_units_max) == (512, 1024)
    assert limits.filter_comparisons == 15
    assert limits.table_bytes == 500 * 2**40


def test_every_number_has_unit_source_date_and_basis() -> None:
    limits = default_limits()
    assert tuple(entry.name for entry in limits.entries) == NAMES
    for entry in limits.entries:
        assert entry.unit, entry
        assert entry.source, entry
        assert "://" not in entry.source, entry
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", entry.date), entry
        assert entry.basis in ("published", "derived", "assumed"), entry
        assert getattr(limits, entry.name) == entry.value
    # Nobody publishes these: they must never pass for published.
    for name in ("read_latency_ms_p99", "write_latency_ms_p99", "price_per_gb_month", "range_entities_per_s"):
        assert limits.of(name).basis == "assumed"


def test_whole_numbers_are_int() -> None:
    limits = default_limits()
    assert isinstance(limits.page_entities, int)
    assert isinstance(limits.partition_entities_per_s, float)


def test_an_override_changes_its_numbers_and_nothing_else(tmp_path: Path) -> None:
    limits = load_limits(
        override(
            tmp_path,
            'page_entities = 500\n[partition_entities_per_s]\nvalue = 4000\nsource = "own test"\nbasis = "published"\n',
        )
    )
    assert limits.page_entities == 500
    assert limits.of("page_entities").basis == "assumed"
    assert limits.of("page_entities").source == "mine.toml"
    assert limits.of("page_entities").unit == "entities"
    assert limits.of("partition_entities_per_s").source == "own test"
    assert limits.of("partition_entities_per_s").basis == "published"
    unchanged = [e for e in limits.entries if e.name not in ("page_entities", "partition_entities_per_s")]
    assert all(e == default_limits().of(e.name) for e in unchanged)


def test_an_empty_override_is_the_default(tmp_path: Path) -> None:
    assert load_limits(override(tmp_path, "schema = 1\n")) == default_limits()


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("page_entitis = 5", "1:1", "did you mean 'page_entities'?"),
        ("\n  page_entities = -5", "2:3", "must be above 0"),
        ('# c\n[page_entities]\nvalue = "a"', "3:1", "must be a number"),
        ("[page_entities]\nvalue = 3\nunit = 'rows'", "3:1", "the unit is entities"),
        ("[page_bytes]\nvalue = 5\n[page_entities]\nvalue = 2.5", "4:1", "whole number"),
        ("[page_entities]\nvalu = 3", "2:1", "did you mean 'value'?"),
        ("[page_entities]\nbasis = 'guess'", "2:1", "none of published, derived, assumed"),
        ("page_entities = 0x" + "f" * 9000, "1:1", "very large"),
        ("query_execution_s = inf", "1:1", "below 1e18"),
        ("query_execution_s = nan", "1:1", "below 1e18"),
        ("query_execution_s = true", "1:1", "must be a number"),
        ("key_units_warn = 2000", "1:1", "key_units_warn (2000) must not be above key_units_max (1024)"),
        ("key_units_max = 100", "1:1", "key_units_warn (512) must not be above key_units_max (100)"),
        ("headroom_share = 1.5", "1:1", "cannot exceed 1"),
        ("group_transaction_entities = 0", "1:1", "must be above 0"),
        ("schema = 2", "1:1", "schema 2"),
        ("store = 3", "1:1", "store must be a name"),
        ("a = = 3", "1:5", "is not TOML"),
        ("[page_entities.value]\nx = 1", "1:16", "page_entities"),
    ],
)
def test_what_an_override_may_not_do(tmp_path: Path, text: str, where: str, says: str) -> None:
    error = refused(tmp_path, text)
    assert error.where == f"{tmp_path / 'mine.toml'}:{where}"
    assert says in str(error)


def test_prices_may_be_zero(tmp_path: Path) -> None:
    assert load_limits(override(tmp_path, "price_per_gb_month = 0")).price_per_gb_month == 0


def test_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path, Path("a\0b")):
        with pytest.raises(UsageError):
            load_limits(path)
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="UTF-8"):
        load_limits(binary)
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * 2_000_000)
    with pytest.raises(UsageError, match="too large"):
        load_limits(large)


def test_a_value_that_breaks_a_relation_cannot_exist() -> None:
    with pytest.raises(ValueError, match="read_latency_ms_p50"):
        replace(default_limits(), read_latency_ms_p50=99.0)


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.toml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        load_limits(path)
    except UsageError as error:
        assert len(error.lines()) <= 4

"""The engine's options: every one dated and based, the bundled file and the defaults the same, errors with a place."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from pkadvisor.engine import option_file
from pkadvisor.engine.option_file import MAY_BE_ZERO, NAMES, WHOLE, default_options, load_options
from pkadvisor.engine.options import EngineOptions
from pkadvisor.errors import UsageError
from pkadvisor.limits import default_limits
from pkadvisor.resources import resource


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "engine-mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_option_has_a_section_and_every_section_is_an_option() -> None:
    content = tomllib.loads(resource("rules", "limits", "engine.toml").read_text(encoding="utf-8"))
    assert {name for name in content if name != "schema"} == set(NAMES)
    others = {f.name for f in fields(EngineOptions)} - set(NAMES)
    assert others == {"erasure_code", "erasure_suffixes"}, "what is not a number is a choice, and few are"


def test_the_bundled_values_are_the_defaults() -> None:
    found = default_options()
    assert found.options == EngineOptions()
    assert [entry.name for entry in found.entries] == list(NAMES)
    for entry in found.entries:
        value = getattr(found.options, entry.name)
        assert value == entry.value
        assert isinstance(value, int) == (entry.name in WHOLE), entry.name


def test_every_number_says_its_unit_source_date_and_basis() -> None:
    for entry in default_options().entries:
        assert entry.unit, entry
        assert "://" not in entry.source, entry
        assert len(entry.source) > 10, entry
        assert re.fullmatch(r"\d{4}-\d{2}-\d{2}", entry.date), entry
        assert entry.basis in ("published", "derived", "assumed"), entry
        assert (entry.unit == "ns") == ("_ns" in entry.name), entry
        assert (entry.unit in ("bytes", "bytes/s")) == ("_bytes" in entry.name), entry
        if "no figure is stated" in entry.source:
            assert entry.basis == "assumed", entry
    # Nobody publishes these: they must never pass for published.
    for name in ("memory_table_bytes", "page_bytes", "lease_ns", "split_bytes", "queue_wait_ns_max"):
        assert default_options().of(name).basis == "assumed"
    with pytest.raises(KeyError):
        default_options().of("no such option")


def test_what_both_files_say_agrees() -> None:
    options, limits = EngineOptions(), default_limits()
    assert options.evaluate_ns == limits.t_eval_s * 1e9
    assert options.sustain_ns == limits.t_sustain_s * 1e9
    assert options.move_ns == limits.t_move_s * 1e9
    assert options.splits_per_pass == limits.splits_per_pass
    # The policy counts requests, the limits entities: for requests of one entity they are the same capacity.
    assert options.range_requests_per_s == limits.range_entities_per_s
    assert options.server_requests_per_s == limits.server_entities_per_s


def test_every_option_is_read_by_the_engine() -> None:
    """An option that nobody reads is a promise that nobody keeps."""
    engine = Path(option_file.__file__).parent
    told = {engine / "options.py", engine / "option_file.py", engine / "worlds" / "swarm.py"}
    words = set()
    for path in engine.rglob("*.py"):
        if path not in told:
            words |= set(re.findall(r"options\.(\w+)", path.read_text(encoding="utf-8")))
    unread = {field.name for field in fields(EngineOptions)} - words
    assert not unread


def test_a_file_changes_its_options_and_nothing_else(tmp_path: Path) -> None:
    path = written(tmp_path, 'lease_ns = 8_000_000_000\n[page_bytes]\nvalue = 4096\nbasis = "measured"\nsource = "run"')
    found = load_options(path)
    assert found.options.lease_ns == 8_000_000_000
    assert (found.of("lease_ns").basis, found.of("lease_ns").source) == ("assumed", "engine-mine.toml")
    assert (found.of("page_bytes").basis, found.of("page_bytes").source) == ("measured", "run")
    changed = {name for name in NAMES if getattr(found.options, name) != getattr(EngineOptions(), name)}
    assert changed == {"lease_ns", "page_bytes"}
    assert load_options(written(tmp_path, "")) == default_options()


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ("lease_n = 5", "1:1", "did you mean 'lease_ns'?"),
        ("partition_entities_per_s = 5", "1:1", "unknown option 'partition_entities_per_s'"),
        ("\n lease_ns = -5", "2:2", "must be above 0"),
        ("[lease_ns]\nvalue = 12\nunit = 's'", "3:1", "the unit is ns, not 's'"),
        ("lease_ns = 1.5e9\npage_bytes = 4096.5", "2:1", "must be a whole number (bytes)"),
        ("split_load_share = 1.5", "1:1", "cannot exceed 1"),
        ("heartbeat_ns = 20_000_000_000", "1:1", "must not be above lease_ns"),
        ("store = 'mine'", "1:1", "unknown option 'store'"),
        ("schema = 9", "1:1", "schema 9"),
    ],
)
def test_what_a_file_may_not_say(tmp_path: Path, text: str, where: str, says: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(UsageError) as caught:
        load_options(path)
    assert caught.value.where == f"{path}:{where}"
    assert says in str(caught.value)


def test_zero_is_taken_where_it_means_something(tmp_path: Path) -> None:
    for name in sorted(MAY_BE_ZERO):
        assert getattr(load_options(written(tmp_path, f"{name} = 0")).options, name) == 0

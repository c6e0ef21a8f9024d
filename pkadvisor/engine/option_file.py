"""The engine's options with their origins, read from ``rules/limits/engine.toml`` and files put over it.

Options that are numbers, that is; a choice such as ``erasure_code`` has no unit, and the program makes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from pathlib import Path

from pkadvisor.dated_numbers import Limit, Numbers
from pkadvisor.engine.options import EngineOptions
from pkadvisor.resources import resource
from pkadvisor.toml_file import TomlFile

NAMES: tuple[str, ...] = tuple(f.name for f in fields(EngineOptions) if f.type in ("int", "float"))
WHOLE = frozenset(f.name for f in fields(EngineOptions) if f.type == "int")
MAY_BE_ZERO = frozenset(
    {
        "clock_drift_ns_max",
        "elastic_wait_ns_max",
        "garbage_grace_ns",
        "merge_load_share",
        "page_cache_bytes",
        "rejection_ns",
        "split_throttled_share",
    }
)
_SHARES = ("split_throttled_share", "split_load_share", "merge_load_share")
_ORDERED = (
    ("block_bytes_max", "extent_bytes_target"),
    ("clock_drift_ns_max", "lease_ns"),
    ("elastic_wait_ns_max", "queue_wait_ns_max"),
    ("evaluate_ns", "sustain_ns"),
    ("heartbeat_ns", "lease_ns"),
    ("memory_table_bytes", "log_bytes"),
    ("merge_load_share", "split_load_share"),
    ("page_bytes", "block_bytes_max"),
    ("queue_wait_ns_max", "operation_timeout_ns"),
    ("spindle_pending_ns_max", "spindle_unserved_ns_max"),
    ("visibility_timeout_ns", "message_time_to_live_ns"),
)
NUMBERS = Numbers("option", NAMES, WHOLE, MAY_BE_ZERO, _SHARES, _ORDERED)


@dataclass(frozen=True, slots=True)
class DatedOptions:
    """The options, and a :class:`~pkadvisor.dated_numbers.Limit` for each in the order of the fields."""

    options: EngineOptions
    entries: tuple[Limit, ...]

    def of(self, name: str) -> Limit:
        """The option ``name`` with unit, source, date and basis; KeyError for a name that is none."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        raise KeyError(name)


@lru_cache(maxsize=1)
def default_options() -> DatedOptions:
    """The bundled options; their values are the defaults of ``EngineOptions``."""
    return _load(TomlFile(resource("rules", "limits", "engine.toml"), what="options"), None)


def load_options(*paths: Path | str) -> DatedOptions:
    """The bundled options with the sections of TOML files put over them, a later file over an earlier one.

    The rules are those of ``limits.load_limits``. Raises UsageError with the place.
    """
    found = default_options()
    for path in paths:
        found = _load(TomlFile(Path(path), what="options"), found)
    return found


def _load(file: TomlFile, base: DatedOptions | None) -> DatedOptions:
    known = {entry.name: entry for entry in base.entries} if base else {}

    def made(entries: tuple[Limit, ...], texts: Mapping[str, str]) -> DatedOptions:
        numbers = NUMBERS.values(entries)
        broken = NUMBERS.broken(numbers.__getitem__)
        if broken:
            raise ValueError(broken[0][1])
        return DatedOptions(EngineOptions(**numbers), entries)

    return NUMBERS.read(file, known, {}, made)

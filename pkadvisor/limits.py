"""A store's limits, targets, speeds and prices as one value, read from ``rules/limits/*.toml``.

Numbers are attributes (``limits.partition_entities_per_s``); where each one comes from is ``limits.of(name)``. Nothing
else in the package writes a limit down as a literal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from pkadvisor.dated_numbers import Limit, Numbers
from pkadvisor.resources import resource
from pkadvisor.toml_file import TomlFile


@dataclass(frozen=True, slots=True)
class Limits:
    """All numbers of one store. ``entries`` holds a :class:`Limit` per number, in the order of the fields.

    Counts and byte sizes are whole and at least 1; everything else is a positive float (prices may be 0).
    """

    store: str
    entries: tuple[Limit, ...]

    partition_entities_per_s: float
    range_entities_per_s: float
    server_entities_per_s: float
    account_requests_per_s: float
    scan_weight: float
    scan_weight_low: float
    capacity_entity_bytes: int
    account_counts_entities: int
    range_bytes_per_s: float
    burst_s: float
    headroom_share: float
    headroom_warn_share: float

    t_eval_s: float
    t_sustain_s: float
    t_move_s: float
    splits_per_pass: int
    lasting_s: float

    page_entities: int
    page_bytes: int
    query_execution_s: float
    filter_comparisons: int
    scan_boundary_requests: float
    fan_out_parallel: int

    group_transaction_entities: int
    group_transaction_bytes: int
    group_transaction_speedup: float

    entity_bytes: int
    properties: int
    key_units_max: int
    key_units_warn: int
    table_bytes: int

    read_latency_ms_p50: float
    read_latency_ms_p99: float
    write_latency_ms_p50: float
    write_latency_ms_p99: float
    page_latency_ms: float
    scan_ms_per_entity: float
    latency_goal_ms_p99: float
    retry_attempts: int
    retry_wait_ms: float

    price_per_gb_month: float
    price_per_10k_transactions: float

    def __post_init__(self) -> None:
        broken = self.check()
        if broken:
            raise ValueError(broken[0][1])

    def of(self, name: str) -> Limit:
        """The number ``name`` with unit, source, date and basis; KeyError for a name that is no limit."""
        for limit in self.entries:
            if limit.name == name:
                return limit
        raise KeyError(name)

    def check(self) -> tuple[tuple[str, str], ...]:
        """Relations that do not hold, as (name to correct, sentence); empty for every value that exists."""
        return NUMBERS.broken(lambda name: float(getattr(self, name)))

    def with_value(self, name: str, value: float) -> Limits:
        """The limits with one number changed, as far as its kind and its relations to others let it.

        Counts stay whole and at least 1, shares at most 1, and what must not pass another number stops at it. Returns
        ``self`` where nothing moves. KeyError for a name that is no limit.
        """
        before = self.of(name)
        if name in WHOLE and name not in MAY_BE_ZERO:
            value = max(1.0, value)
        if name in _SHARES:
            value = min(1.0, value)
        for low, high in _ORDERED:
            if name == low:
                value = min(value, getattr(self, high))
            elif name == high:
                value = max(value, getattr(self, low))
        value = float(round(value)) if name in WHOLE else value
        if value == before.value:
            return self
        entries = tuple(replace(entry, value=value) if entry is before else entry for entry in self.entries)
        changed: dict[str, Any] = {name: int(value) if name in WHOLE else value}
        return replace(self, entries=entries, **changed)


NAMES: tuple[str, ...] = tuple(f.name for f in fields(Limits) if f.name not in ("store", "entries"))
WHOLE = frozenset(f.name for f in fields(Limits) if f.type == "int")
MAY_BE_ZERO = frozenset(
    {
        "price_per_gb_month",
        "price_per_10k_transactions",
        "page_latency_ms",
        "account_counts_entities",
        "burst_s",
        "scan_boundary_requests",
        "scan_ms_per_entity",
        "retry_attempts",
    }
)
_SHARES = ("headroom_share", "headroom_warn_share", "scan_weight_low", "account_counts_entities")
_ORDERED = (
    ("key_units_warn", "key_units_max"),
    ("headroom_warn_share", "headroom_share"),
    ("entity_bytes", "group_transaction_bytes"),
    ("entity_bytes", "table_bytes"),
    ("t_eval_s", "t_sustain_s"),
    ("read_latency_ms_p50", "read_latency_ms_p99"),
    ("write_latency_ms_p50", "write_latency_ms_p99"),
)
NUMBERS = Numbers("limit", NAMES, WHOLE, MAY_BE_ZERO, _SHARES, _ORDERED, texts=("store",))


def default_limits() -> Limits:
    """The bundled limits of Azure Table Storage."""
    return _bundled()


@lru_cache(maxsize=1)
def _bundled() -> Limits:
    path = resource("rules", "limits", "azure-table.toml")
    return _load(TomlFile(path, what="limits"), None)


def load_limits(*paths: Path | str | TomlFile) -> Limits:
    """The bundled limits with the sections of TOML files put over them, a later file over an earlier one.

    A file may hold any subset, as ``[name]`` sections or as ``name = value``: prices, or capacities that were measured
    on an account (``basis = "measured"``). A number given without an origin is *assumed*, its source the file's name.
    A part of a file that was read already is taken as it is. Raises UsageError with the place for an unknown name, a
    wrong type or unit, a value that cannot be, or a relation between two limits that does not hold.
    """
    limits = default_limits()
    for path in paths:
        limits = _load(path if isinstance(path, TomlFile) else TomlFile(Path(path), what="limits"), limits)
    return limits


def _load(file: TomlFile, base: Limits | None) -> Limits:
    known = {limit.name: limit for limit in base.entries} if base else {}

    def made(entries: tuple[Limit, ...], texts: Mapping[str, str]) -> Limits:
        return Limits(store=texts["store"], entries=entries, **NUMBERS.values(entries))

    return NUMBERS.read(file, known, {"store": base.store if base else ""}, made)

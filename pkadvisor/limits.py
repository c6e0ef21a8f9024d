"""A store's limits, targets, speeds and prices as one value, read from ``rules/limits/*.toml``.

Numbers are attributes (``limits.partition_entities_per_s``); where each one comes from is ``limits.of(name)``. Nothing
else in the package writes a limit down as a literal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.resources import resource
from pkadvisor.toml_file import TomlFile
from pkadvisor.values import dataclass

# ----------------------------------------------------------------------------------------------------------------------
# Files of numbers with their origins: sections of value, unit, source, date and basis, one per number.
#
# What the numbers are is said by :class:`Numbers`; how a file may say them, and what it is told when it does not, is
# the same for all.

T = TypeVar("T")

LimitBasis = Literal["published", "derived", "assumed", "measured"]
_BASES: tuple[str, ...] = get_args(LimitBasis)
_NUMBER_MAX = 1e18
_KEYS = ("value", "unit", "source", "date", "basis")


@dataclass(frozen=True, slots=True)
class Limit:
    """One number with its unit and its origin; ``date`` (ISO) is when it was last checked, or empty."""

    name: str
    value: float
    unit: str
    source: str
    date: str
    basis: LimitBasis


@dataclass(frozen=True, slots=True)
class Numbers:
    """The numbers that a kind of file holds, ``called`` so in messages.

    ``whole`` ones are whole and at least 1 unless they ``may_be_zero``; ``shares`` are at most 1; of each pair of
    ``ordered`` the first is not above the second. ``texts`` are names of the file beside its numbers.
    """

    called: str
    names: tuple[str, ...]
    whole: frozenset[str]
    may_be_zero: frozenset[str] = frozenset()
    shares: tuple[str, ...] = ()
    ordered: tuple[tuple[str, str], ...] = ()
    texts: tuple[str, ...] = ()

    def broken(self, value_of: Callable[[str], float]) -> tuple[tuple[str, str], ...]:
        """Relations that do not hold, as (name to correct, sentence)."""
        return tuple(
            (low, f"{low} ({value_of(low):g}) must not be above {high} ({value_of(high):g})")
            for low, high in self.ordered
            if value_of(low) > value_of(high)
        ) + tuple((name, f"{name} cannot exceed 1") for name in self.shares if value_of(name) > 1)

    def values(self, entries: Iterable[Limit]) -> dict[str, Any]:
        """The numbers by name, as int or float."""
        return {e.name: int(e.value) if e.name in self.whole else float(e.value) for e in entries}

    def read(
        self,
        file: TomlFile,
        known: Mapping[str, Limit],
        texts: Mapping[str, str],
        made: Callable[[tuple[Limit, ...], Mapping[str, str]], T],
    ) -> T:
        """What ``made`` makes of the numbers of a file put over those ``known``, and its texts over ``texts``.

        A number given without an origin is *assumed*, its source the file's name. Raises UsageError with the place for
        an unknown name, a wrong type or unit, a value that cannot be, and where ``made`` raises ValueError for a
        relation that does not hold.
        """
        given: dict[str, Limit] = {}
        texts = dict(texts)
        for name, value in file.content.items():
            if name == "schema":
                if value != 1 or isinstance(value, bool):
                    raise file.error_at(
                        name, None, f"schema {_shown(value)} is not one this version reads", "write schema = 1"
                    )
            elif name in self.texts:
                if not isinstance(value, str) or not value:
                    raise file.error_at(name, None, f"{name} must be a name", f'e.g. {name} = "Azure Table Storage"')
                texts[name] = value
            elif name in self.names:
                given[name] = self._number(file, name, value, known.get(name))
            else:
                hint = did_you_mean(name, self.names) or f"known {self.called}s: {', '.join(self.names[:4])} …"
                raise file.error_at(name, None, f"unknown {self.called} '{name}'", hint)
        missing = [name for name in self.names if name not in given and name not in known]
        if missing:
            raise UsageError(f"lacks the {self.called} '{missing[0]}'", where=str(file.path), fix="add it")
        entries = tuple(given.get(name) or known[name] for name in self.names)
        try:
            return made(entries, texts)
        except ValueError as error:
            what = str(error)
            # Point at whichever of the two related numbers this file gives.
            culprit = next((n for n in self.names if n in given and re.search(rf"\b{n}\b", what)), self.names[0])
            raise file.error_at(culprit, "value", what, "change one of them") from None

    def _number(self, file: TomlFile, name: str, value: Any, known: Limit | None) -> Limit:
        if not isinstance(value, dict):
            value = {"value": value}
        section: Mapping[str, Any] = value
        for key, part in section.items():
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS) or f"known: {', '.join(_KEYS)}"
                raise file.error_at(name, key, f"{name}: unknown key '{key}'", hint)
            if key != "value" and key != "date" and not isinstance(part, str):
                raise file.error_at(name, key, f"{name}: {key} must be text, not {_shown(part)}", f'write {key} = "…"')
        basis = section.get("basis", "assumed" if "value" in section or known is None else known.basis)
        if basis not in _BASES:
            raise file.error_at(name, "basis", f"{name}: basis {_shown(basis)} is none of {', '.join(_BASES)}")
        unit = section.get("unit", known.unit if known else "")
        if known is not None and unit != known.unit:
            what = f"{name}: the unit is {known.unit}, not {_shown(unit)}"
            raise file.error_at(name, "unit", what, f"convert the value to {known.unit}")
        number = section.get("value", known.value if known else None)
        changed = "value" in section
        return Limit(
            name=name,
            value=self._checked(file, name, number, unit),
            unit=unit,
            source=section.get("source", file.path.name if changed or known is None else known.source),
            date=str(section.get("date", "" if changed or known is None else known.date)),
            basis=basis,
        )

    def _checked(self, file: TomlFile, name: str, number: object, unit: str) -> float:
        of_unit = f" ({unit})" if unit else ""
        if isinstance(number, bool) or not isinstance(number, int | float):
            what = f"{name} must be a number{of_unit}, not {_shown(number)}"
            raise file.error_at(name, "value", what, "write it without quotes")
        # The bound comes first: a whole number of TOML may be too large for a float.
        zero = name in self.may_be_zero
        if not -_NUMBER_MAX < number < _NUMBER_MAX or number < 0 or (number == 0 and not zero):
            least = "0 or above" if zero else "above 0"
            what = f"{name} is {_shown(number)}; it must be {least} and below 1e18{of_unit}"
            raise file.error_at(name, "value", what, "correct the value")
        if name in self.whole and number != int(number):
            raise file.error_at(name, "value", f"{name} is {number}; it must be a whole number{of_unit}", "round it")
        return number


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 128:  # repr refuses the largest ones
        return "a very large number"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


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


@lru_cache(maxsize=1)
def default_limits() -> Limits:
    """The bundled limits of Azure Table Storage."""
    return _load(TomlFile(resource("rules", "limits", "azure-table.toml"), what="limits"), None)


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

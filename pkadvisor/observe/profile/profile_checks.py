"""What must agree within a profile document: teams commit it and merge it, and a merge knows no columns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pkadvisor.errors import AdvisorError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.edm_text import polars_type
from pkadvisor.observe.data.records import escape_name
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.table.edm import EdmType

DAMAGE = (AdvisorError, KeyError, TypeError, ValueError, AssertionError, IndexError, AttributeError, OverflowError)
"""What reading a damaged document ends with."""


class DamagedError(ValueError):
    """What is wrong with a document, with its place in it."""


@contextmanager
def within(place: str) -> Iterator[None]:
    """DamagedError, with the place, for whatever reading a part of a document ends with."""
    try:
        yield
    except (*DAMAGE, pl.exceptions.PolarsError) as error:
        inner, _, what = str(error).partition(": ") if isinstance(error, DamagedError) else ("", "", brief(error))
        raise DamagedError(f"{place}.{inner}: {what}" if inner else f"{place}: {what}") from None


def brief(error: BaseException) -> str:
    """The reason in a few words."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    text = error.what if isinstance(error, AdvisorError) else str(error)
    return (text.splitlines() or [type(error).__name__])[0][:120] or type(error).__name__


def check_columns(data: DataProfile) -> None:
    """DamagedError where the sample has other columns, or columns of other types, than the properties say."""
    names = [p.column.name for p in data.properties]
    if strange := [name for name in names if escape_name(name) != name]:
        raise DamagedError(f"properties: {strange[0][:40]!a} is not a name")
    columns = [name for name in data.sample.columns if not name.startswith("#")]
    if sorted(columns) != sorted(names):
        odd = sorted(set(columns) ^ set(names)) or sorted({n for n in names if names.count(n) > 1})
        raise DamagedError(f"sample: its columns are not the properties ({', '.join(odd)[:80]})")
    if unknown := sorted(data.hashed - set(names)):
        raise DamagedError(f"hashed: there is no property {unknown[0][:40]}")
    for property_profile in data.properties:
        name, edm = property_profile.column.name, property_profile.column.edm
        wanted = polars_type(EdmType.STRING if name in data.hashed else edm)
        if data.sample.schema[name] != wanted:
            raise DamagedError(f"sample: the column {name[:40]} does not hold values of the type {edm}")
        if property_profile.column.missing < data.sample.get_column(name).null_count() and data.complete:
            raise DamagedError(f"sample: more values of {name[:40]} are missing than the property says")

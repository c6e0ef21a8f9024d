"""What logged keys say of properties that no key text tells: a hash, or letters in lower case, says nothing back.

The entity with these keys in the data says it. A key that the data lacks stands for a value that no entity has.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from uuid import UUID

from pkadvisor.design.keys.key_columns import tellers
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.rows.key_ranges import HIGH, LOW
from pkadvisor.design.rows.logged.requests import KeyReader, LoggedRequest, Values
from pkadvisor.table.edm import INT32_MIN, INT64_MIN, KEYS, EdmType

if TYPE_CHECKING:
    from pkadvisor.observe.profile.data_profile import DataProfile


_NOBODYS: Final[Mapping[EdmType, object]] = {
    EdmType.DATETIME: datetime(9999, 12, 31, tzinfo=UTC),
    EdmType.INT32: INT32_MIN,
    EdmType.INT64: INT64_MIN,
    EdmType.DOUBLE: float("-inf"),
    EdmType.GUID: str(UUID(int=0)),
}
"""Values that hardly an entity has."""


class EntityReader(KeyReader):
    """Takes keys apart, and looks up in the data what their texts do not tell."""

    def __init__(
        self, scheme: KeyScheme, types: Mapping[str, EdmType], names: tuple[str, ...], data: DataProfile
    ) -> None:
        super().__init__(scheme, types)
        self._types, self._names = types, names
        rows = data.sample.select(*KEYS, *names).iter_rows()
        self._entities = {(pk, rk): dict(zip(names, values, strict=True)) for pk, rk, *values in rows}

    def row_read(self, request: LoggedRequest) -> tuple[int, Values | None]:
        via, values = super().row_read(request)
        if via or values is None or request.partition is None or request.row is None:
            return via, values
        entity = self._entities.get((request.partition, request.row))
        if entity is None:
            others = {**_NOBODYS, EdmType.STRING: request.row}
            nobodys = {name: others.get(self._types.get(name, EdmType.STRING)) for name in self._names}
            entity = {n: values.get(n + LOW, value) for n, value in nobodys.items() if n not in values}
        present = {name: value for name, value in entity.items() if value is not None}
        ends = {name + end for name in present for end in (LOW, HIGH)}
        return via, {n: v for n, v in values.items() if n not in ends} | present


def entity_reader(scheme: KeyScheme, types: Mapping[str, EdmType], data: DataProfile | None) -> KeyReader | None:
    """The reader of keys that do not tell all that they are made of, where the data has the entities; else None."""
    if data is None or not set(KEYS) <= set(data.types) or data.hashed & {*KEYS, *scheme.main.properties}:
        return None
    decoded = {name for name, (_, _, part) in tellers(scheme.main).items() if part.decodes}
    names = tuple(n for n in scheme.main.properties if n not in decoded and n in data.types and n not in KEYS)
    return EntityReader(scheme, types, names, data) if names else None

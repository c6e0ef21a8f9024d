"""Entities as values of rows: a header of fixed length, then the properties as one MessagePack map.

    byte 0        format: 1, or 2 where texts hold lone surrogates and stand as bytes
    bytes 1..8    generation of the table (the sequence number of its creation)
    bytes 9..16   Timestamp in ticks
    bytes 17..20  size by the published capacity formula, in bytes
    bytes 21..    {name: [type, value]}

The generation tells rows of a table from those of an earlier table of the same name: a write that was under way while
the table was deleted can leave a row behind, and nobody must ever see it. [H]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from struct import Struct
from typing import Any, NamedTuple

import msgspec

from pkadvisor.engine.worlds.world import FormatError
from pkadvisor.table.edm import TICKS_PER_SECOND, EdmType, format_ticks
from pkadvisor.table.store import Entity, EntityKey, Property

PLAIN, SURROGATES = 1, 2

_HEADER = Struct(">BQQI")
_HEADER_BYTES = _HEADER.size
_pack_header = _HEADER.pack


class StoredProperty(Property):
    """A property as it comes back from a row; MessagePack knows the type of the value by itself."""

    __slots__ = ()
    value: Any


class Head(NamedTuple):
    """What stands in front of the properties."""

    format: int
    generation: int
    ticks: int
    size_bytes: int


class Body(msgspec.Struct, frozen=True, gc=False):
    """Properties ready to be stored: their encoding, its format, and the entity's size in bytes."""

    encoded: bytes
    format: int
    size_bytes: int


unpack_head = _HEADER.unpack_from
"""``head`` as a plain tuple, for loops over many rows."""

encode_plain = msgspec.msgpack.Encoder().encode
"""The encoding of properties without lone surrogates; UnicodeEncodeError where there are some."""
_decode = msgspec.msgpack.Decoder(dict[str, StoredProperty]).decode


def encode_properties(properties: Mapping[str, Property]) -> tuple[bytes, int]:
    """The encoding of properties and its format."""
    try:
        return encode_plain(properties), PLAIN
    except UnicodeEncodeError:
        return encode_plain({name: _text_as_bytes(p) for name, p in properties.items()}), SURROGATES


def decode_properties(encoded: bytes | memoryview, form: int) -> dict[str, StoredProperty]:
    """Properties from their encoding. FormatError for a format of a newer version."""
    properties = _decode(encoded)
    if form == PLAIN:
        return properties
    if form != SURROGATES:
        raise FormatError(f"entity format {form} is newer than this version reads")
    return {name: _bytes_as_text(p) for name, p in properties.items()}


def encode_value(generation: int, ticks: int, body: Body) -> bytes:
    """The value of an entity's row."""
    return _pack_header(body.format, generation, ticks, body.size_bytes) + body.encoded


def head(value: bytes) -> Head:
    """The header of a row's value."""
    return Head._make(_HEADER.unpack_from(value))


def properties_of(value: bytes) -> dict[str, StoredProperty]:
    """The properties in a row's value."""
    if value[0] == PLAIN:
        return _decode(memoryview(value)[_HEADER_BYTES:])
    return decode_properties(memoryview(value)[_HEADER_BYTES:], value[0])


KEPT_ROWS, KEPT_BYTES = 1 << 15, 1 << 11
"""Values whose properties are kept for scans that come again, and how large one of them may be: 64 MB of bytes in all,
at the most."""


def known_properties(value: bytes) -> Mapping[str, StoredProperty]:
    """As ``properties_of``, for rows that are looked at again and again; what it returns is shared: change nothing."""
    return _kept(value) if len(value) <= KEPT_BYTES else properties_of(value)


_kept = lru_cache(maxsize=KEPT_ROWS)(properties_of)


def entity_of(key: EntityKey, sequence: int, value: bytes, select: Iterable[str] = ()) -> Entity:
    """The entity in a row; with ``select`` only the properties named."""
    properties = properties_of(value)
    if select:
        properties = {name: properties[name] for name in select if name in properties}
    ticks = head(value).ticks
    return Entity(key, properties, ticks, etag(ticks, sequence))


@lru_cache(maxsize=1 << 15)
def etag(ticks: int, sequence: int) -> str:
    """The ETag of one state of an entity: like the service's, its Timestamp, and behind that a number.

    The number is the sequence number of the change. The Timestamp alone could come again when an entity is deleted and
    inserted anew within one tick, or by a server whose clock is behind (invariant T4). Clients take an ETag for opaque.
    """
    seconds, fraction = divmod(ticks, TICKS_PER_SECOND)
    return f"W/\"datetime'{_second(seconds)}.{fraction:07d}Z',{sequence}\""


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    return format_ticks(seconds * TICKS_PER_SECOND, trim=True)[:-1].replace(":", "%3A")


def _text_as_bytes(p: Property) -> tuple[EdmType, object]:
    value = p.value
    return p.type, value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _bytes_as_text(p: StoredProperty) -> StoredProperty:
    if isinstance(p.value, bytes) and p.type is not EdmType.BINARY:
        return StoredProperty(p.type, p.value.decode("utf-8", "surrogatepass"))
    return p

"""The profile document: data and logs as one small file that a team can commit, and that analyses in their place.

Values of texts, Guids, numbers and bytes are replaced by tokens: 60 bits of a keyed hash, equal where the values are
equal, and the punctuation that the value holds, so that a separator can be chosen for keys. Of the greatest number
only the first digit stays. Times and truth values stay, and so do numbers whose order a declared workload needs. With
no salt file the key is the same for everybody, so that profiles merge; then somebody with a list of candidate values
can recognise them.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pkadvisor import __version__
from pkadvisor.documents.profile import StoredProfile
from pkadvisor.documents.schema_errors import converted
from pkadvisor.errors import InputError
from pkadvisor.files import head_of, read_bytes
from pkadvisor.observe.profile.profile_json import DAMAGE, brief, table_document, table_of
from pkadvisor.observe.profile.table_profiles import OPEN_KEY, TableProfile, hide_table, key_check, merge_tables
from pkadvisor.values import dataclass

DOCUMENT: Final = "pkadvisor profile"
SCHEMA_VERSION: Final = 2
BYTES_MAX = 200_000_000


@dataclass(frozen=True, slots=True)
class ProfileDocument:
    """Everything in a profile file. ``key_check`` tells whether two documents hide values with the same key."""

    tables: tuple[TableProfile, ...]
    key_check: str = ""

    def hidden(self, salt: bytes, ordered: frozenset[str] = frozenset()) -> ProfileDocument:
        """The document with key values as tokens; ``ordered`` properties keep their numbers."""
        key = hashlib.sha256(salt).digest()
        tables = tuple(hide_table(t, key, ordered) for t in self.tables)
        return ProfileDocument(tables, key_check(key))

    def opened(self, key: bytes) -> ProfileDocument:
        """The document with the key of its tokens, so that constants of filters can be looked up among them."""
        tables = (replace(t, data=replace(t.data, token_key=key)) if t.data is not None else t for t in self.tables)
        return replace(self, tables=tuple(tables))

    def stored(self) -> StoredProfile:
        """The document as it is written."""
        return StoredProfile(
            document=DOCUMENT,
            schema_version=SCHEMA_VERSION,
            tool_version=__version__,
            key_check=self.key_check,
            tables=[table_document(t) for t in self.tables],
        )


def document_path(text: str) -> Path:
    """The file of ``PATH`` or ``kind=PATH``: a profile knows its own kinds."""
    kind, _, path = text.partition("=")
    return Path(path) if path and kind.isidentifier() and not Path(text).exists() else Path(text)


def is_document(path: str) -> bool:
    """Whether a file is a profile document, by its first bytes."""
    head = b"" if path == "-" else head_of(document_path(path))
    return head.lstrip()[:1] == b"{" and f'"document":"{DOCUMENT}"'.encode() in head.replace(b'": "', b'":"')


def load_document(path: str) -> ProfileDocument:
    """The profile in a file; InputError (3) where it is none, is damaged, or is of another version."""
    where = document_path(path).name
    try:
        stored = json.loads(read_bytes(document_path(path), BYTES_MAX))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"this is not a profile: {brief(error)}", where=where, fix=f"make one: {_MAKE}") from None
    if not isinstance(stored, dict) or stored.get("document") != DOCUMENT:
        other = stored.get("document") if isinstance(stored, dict) else None
        what = f"this is not a profile but a document '{str(other)[:60]}'" if other else "this is not a profile"
        raise InputError(what, where=where, fix=f"make one: {_MAKE}")
    if stored.get("schema_version") != SCHEMA_VERSION:
        version = str(stored.get("schema_version"))[:20]
        raise InputError(
            f"version {version} of the profile format is not known; this reads {SCHEMA_VERSION}",
            where=where,
            fix=f"make it again with this version: {_MAKE}",
        )
    try:
        document = _document_of(stored)
    except DAMAGE as error:
        what = f"the profile is damaged: {brief(error)}"
        raise InputError(what, where=where, fix=f"make it again: {_MAKE}") from None
    return document.opened(OPEN_KEY) if document.key_check == key_check(OPEN_KEY) else document


def _document_of(stored: dict[str, Any]) -> ProfileDocument:
    """The document of JSON values; an error of ``DAMAGE`` where they depart from its schema."""
    value, wrong = converted(stored)
    if wrong:
        raise ValueError(wrong)
    profile: StoredProfile = value
    return ProfileDocument(tuple(table_of(t, n) for n, t in enumerate(profile.tables)), profile.key_check)


_MAKE = "advisor profile DATA --out FILE"


def merge_documents(first: ProfileDocument, second: ProfileDocument) -> ProfileDocument:
    """Both documents as one; ValueError where they hide values with different keys or hold different things."""
    if first.key_check != second.key_check:
        raise ValueError("the profiles were made with different salts: their values cannot be compared")
    mine = {(t.table, t.kind): t for t in first.tables}
    for other in second.tables:
        key = (other.table, other.kind)
        mine[key] = merge_tables(mine[key], other) if key in mine else other
    return ProfileDocument(tuple(mine.values()), first.key_check)

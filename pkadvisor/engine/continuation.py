"""Continuation tokens: where the next page begins, as a text that means nothing to clients.

A token holds the key after the table's prefix. It may name no entity, and stays good whatever happens to ranges and
entities in the meantime (invariant T5). It looks like the service's: version, length, base64 with ``-`` as padding.
"""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode

from pkadvisor.engine.table_rules import TableError

_VERSION = "1"


def encode_token(prefix: bytes, next_key: bytes) -> str:
    """The token for a page that begins at a key of the table with this prefix."""
    assert next_key.startswith(prefix), "a page begins inside its table"
    text = urlsafe_b64encode(next_key[len(prefix) :]).decode().replace("-", "~").replace("=", "-")
    return f"{_VERSION}!{len(text)}!{text}"


def decode_token(prefix: bytes, token: str) -> bytes:
    """The key where the page begins; 400 InvalidInput for what is no token of ours."""
    version, _, rest = token.partition("!")
    length, _, text = rest.partition("!")
    if version != _VERSION or length != str(len(text)):
        raise TableError(400, "InvalidInput")
    try:
        suffix = urlsafe_b64decode(text.replace("-", "=").replace("~", "-").encode("ascii"))
    except (binascii.Error, UnicodeEncodeError):
        raise TableError(400, "InvalidInput") from None
    if encode_token(prefix, prefix + suffix) != token:
        raise TableError(400, "InvalidInput")
    return prefix + suffix

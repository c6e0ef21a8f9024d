"""Names for queries, writes and transactions that a design file leaves without one: made of their shape.

They are put into the content of the document, so that every later step meets a name, whoever gave it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

_COMPARED = re.compile(r"([^\W\d]\w*(?:\.\w+)*)\s+(?:eq|ne|gt|ge|lt|le)\b")
_TEXTS = re.compile(r"'(?:[^']|'')*+'")
_NAME_MAX = 48
"""Characters of a name made here, before the number that tells it from others of the same shape."""


def name_what_has_no_name(content: object) -> None:
    """Add a ``name`` to each query, write and transaction without one; whatever else is wrong stays as it is."""
    for table in _mappings(content, "tables"):
        shape = partial(_of_class, several_kinds=bool(table.get("kinds")))
        _complete([*_items(table, "queries"), *_items(table, "writes")], shape)
        _complete(_items(table, "transactions"), lambda part: "-".join(_texts(part.get("together"))) or "together")


def _complete(parts: list[dict[str, Any]], shape: Callable[[dict[str, Any]], str]) -> None:
    taken = {part["name"] for part in parts if isinstance(part.get("name"), str)}
    for part in parts:
        if "name" not in part:
            base = "".join(c if c.isprintable() else "?" for c in shape(part))[:_NAME_MAX].strip() or "unnamed"
            numbered = (base if n == 1 else f"{base}-{n}" for n in range(1, len(parts) + len(taken) + 2))
            part["name"] = next(name for name in numbered if name not in taken)
            taken.add(part["name"])


def _of_class(part: dict[str, Any], several_kinds: bool) -> str:
    """``by-event-bib``, ``all``, ``insert``, ``update-age-by-bib``; with the kind before it where there are several."""
    given = part.get("filter")
    compared = _COMPARED.findall(_TEXTS.sub("''", given)) if isinstance(given, str) else _texts(part.get("key"))
    by = ["by", *dict.fromkeys(compared)] if compared else []
    operation = part.get("operation")
    words = [operation, *_texts(part.get("sets")), *by] if isinstance(operation, str) else by or ["all"]
    kind = part.get("kind")
    return "-".join([kind, *words] if several_kinds and isinstance(kind, str) else words)


def _texts(value: object) -> list[str]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, str)]


def _mappings(content: object, key: str) -> Iterator[dict[str, Any]]:
    below = content.get(key) if isinstance(content, dict) else None
    yield from (value for value in below.values() if isinstance(value, dict)) if isinstance(below, dict) else ()


def _items(table: dict[str, Any], key: str) -> list[dict[str, Any]]:
    below = table.get(key)
    return [item for item in below if isinstance(item, dict)] if isinstance(below, list) else []

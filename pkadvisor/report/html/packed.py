"""The document of a page with everything that is repeated written once, as JSON; the page's script unpacks it.

A packed document is ``{"keys": [...], "shared": [...], "document": NODE}``. A NODE is

- a number, a text, true, false or null as it is;
- ``[-1 - k, NODE, ...]``: an object with the keys ``keys[k]`` and these values;
- ``[n]``: what ``shared[n]`` is, a node that stands in several places;
- ``{"list": [NODE, ...]}``: a list;
- ``{"runs": "0*12 5 7*3"}``: a list of whole numbers, each with how often it follows itself.

The bytes depend on the document alone, which those of a compressor do not.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

SHARED_FROM = 7
"""Characters from which a text is worth a place of its own."""
RUNS_FROM = 4
"""Whole numbers from which a list is written as runs."""

_Id = int


class _Pool:
    """Every value of a document once, by what it holds, with how many others hold it."""

    def __init__(self) -> None:
        self._ids: dict[tuple[Any, ...], _Id] = {}
        self.nodes: list[tuple[Any, ...]] = []
        self.holders: list[int] = []
        self.keys: dict[tuple[str, ...], int] = {}

    def add(self, value: Any) -> _Id:
        """The id of a value; equal values have one."""
        if isinstance(value, dict):
            shape = self.keys.setdefault(tuple(value), len(self.keys))
            return self._id(("object", shape, *map(self.add, value.values())), 2)
        if isinstance(value, list):
            if len(value) >= RUNS_FROM and all(type(item) is int for item in value):
                return self._id(("runs", *value))
            return self._id(("list", *map(self.add, value)), 1)
        # 1, 1.0 and True are equal, and so are 0.0 and -0.0: they are told apart by type and by how they are written.
        return self._id(("plain", type(value), repr(value) if value == 0 else "", value))

    def _id(self, node: tuple[Any, ...], children_at: int | None = None) -> _Id:
        number = self._ids.get(node)
        if number is None:
            number = self._ids[node] = len(self.nodes)
            self.nodes.append(node)
            self.holders.append(0)
            for child in node[children_at:] if children_at else ():
                self.holders[child] += 1
        return number


def packed(document: Any) -> dict[str, Any]:
    """The document as described above."""
    pool = _Pool()
    root = pool.add(document)
    shared: list[Any] = []
    places: dict[_Id, int] = {}

    def written(id_: _Id) -> Any:
        if pool.holders[id_] < 2 or not _worth_sharing(pool.nodes[id_]):
            return spelt(pool.nodes[id_])
        if id_ not in places:
            node = spelt(pool.nodes[id_])
            places[id_] = len(shared)
            shared.append(node)
        return [places[id_]]

    def spelt(node: tuple[Any, ...]) -> Any:
        kind, *rest = node
        if kind == "object":
            return [-1 - rest[0], *map(written, rest[1:])]
        if kind == "list":
            return {"list": list(map(written, rest))}
        if kind == "runs":
            return {"runs": " ".join(_run(value, len(list(same))) for value, same in groupby(rest))}
        return rest[2]

    body = written(root)
    return {"keys": [list(keys) for keys in pool.keys], "shared": shared, "document": body}


def _worth_sharing(node: tuple[Any, ...]) -> bool:
    if node[0] == "plain":
        return isinstance(node[3], str) and len(node[3]) >= SHARED_FROM
    return len(node) > 2


def _run(value: int, times: int) -> str:
    return str(value) if times == 1 else f"{value}*{times}"

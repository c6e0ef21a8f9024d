"""What names in templates mean that nobody gave: those of pieces of exported keys."""

from __future__ import annotations

import re

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.report.documents.stored import quoted

_FIELD = re.compile(r"\{[^{}]+\}")
_PIECES = re.compile(r"(\{[^{}]+\})")
_INVENTED = re.compile(r"(?<![\w'])[pr][0-9]+(?![\w'])")
"""A name as ``init`` and the inference of keys invent it: p1 of a PartitionKey, r1 of a RowKey."""


def key_names(current: AnalysisFullScheme | None) -> str:
    """By an example, what the invented names in the current keys stand for; empty where there are none."""
    if current is None or not current.examples:
        return ""
    fields = "".join(_FIELD.findall(current.partition_key) + _FIELD.findall(current.row_key))
    names = list(dict.fromkeys(_INVENTED.findall(fields)))
    if not names:
        return ""
    example = current.examples[0]
    keys = " | ".join(
        _marked(template, key)
        for template, key in ((current.partition_key, example.partition_key), (current.row_key, example.row_key))
    )
    are = "are parts of today's keys:" if names[1:] else "is a part of today's keys:"
    return f"{', '.join(names)} {are} {keys}"


def _marked(template: str, key: str) -> str:
    """A key with each piece that an invented name stands for in brackets: ``t[p1=05]`` of ``t{pad(p1,2)}``; as it is
    where the template does not tell its pieces apart."""
    pieces = [piece for piece in _PIECES.split(template) if piece]
    names = [_INVENTED.findall(piece) if _FIELD.fullmatch(piece) else [] for piece in pieces]
    fewest, most = (
        re.fullmatch("".join(f"({re.escape(p)})" if p[0] != "{" else f"({each})" for p in pieces), key, re.DOTALL)
        for each in (".*?", ".*")
    )
    if fewest is None or most is None or fewest.groups() != most.groups():
        return quoted(key)
    texts = (
        f"[{name[0]}={quoted(text)}]" if name else quoted(text)
        for name, text in zip(names, fewest.groups(), strict=True)
    )
    return "".join(texts)

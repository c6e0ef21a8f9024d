"""What names in templates mean that nobody gave: those of pieces of exported keys."""

from __future__ import annotations

import re

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme
from pkadvisor.report.documents.stored import quoted

_FIELD = re.compile(r"\{[^{}]+\}")
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
    keys = f"{quoted(example.partition_key)} | {quoted(example.row_key)}"
    are = "are parts of today's keys:" if names[1:] else "is a part of today's keys:"
    return f"{', '.join(names)} {are} {keys}"

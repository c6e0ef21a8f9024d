"""What the keys under test are called."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkadvisor.design.keys.scheme import KeyScheme

CURRENT, RECOMMENDED = "current", "recommended"


def distinct(schemes: list[tuple[str, KeyScheme]]) -> list[tuple[str, KeyScheme]]:
    """Each scheme once, with all of its labels: keys that are kept are both current and recommended."""
    found: dict[str, tuple[str, KeyScheme]] = {}
    for label, scheme in schemes:
        before = found.get(scheme.text)
        found[scheme.text] = (label, scheme) if before is None else (f"{before[0]}, {label}", scheme)
    return list(found.values())

"""Suppressions: findings that somebody lets pass, with a reason, until a date, in the design file or beside it.

    partition_key: "{day}"   # pkadvisor: ignore[PK101, PK502] reason="3 inserts/s" until=2027-03-31

At the end of a line it is about the mapping entry or list item that starts there, with everything below it; alone on a
line, about the entry below. Rules are named, and a reason is given: there is no form that lets everything pass.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConfiguredSuppression:
    """A suppression of the configuration (``[[review.suppress]]``), for files that cannot be annotated.

    ``rule`` is an id or a name; ``path`` a glob of design files (empty: all); ``target`` a logical path or glob, which
    covers everything below it too (empty: the whole design); ``until`` the last day (ISO) or empty; ``where`` names
    the place that it is written at, such as ``pkadvisor.toml:12``.
    """

    rule: str
    reason: str
    path: str = ""
    target: str = ""
    until: str = ""
    where: str = "pkadvisor.toml"

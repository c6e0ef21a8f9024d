"""What a review is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pkadvisor.review.gate.suppressions import ConfiguredSuppression
from pkadvisor.review.views.findings import Severity
from pkadvisor.toml_file import TomlFile
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What the command line and the configuration ask for; all paths as typed."""

    designs: tuple[str, ...]
    siblings: tuple[str, ...] = ()
    """Further designs of the project, which are not reviewed: tables of a profile may be theirs."""
    profiles: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    """Of a bundled sample; those of others are in profiles."""
    stress: tuple[str, ...] = ()
    """Results of stress tests, which say more of tables under the same keys."""
    limits: tuple[str | TomlFile, ...] = ()
    rules: tuple[str, ...] = ()
    """Folders of a team's own rules."""
    budgets: tuple[str, ...] = ()
    """Bounds, ``K=V``, that every table is compared with."""
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: tuple[tuple[str, Severity], ...] = ()
    """(rule, severity of whatever it finds), in place of its own."""
    fail_on: Severity | None = Severity.ERROR
    new_only: bool = False
    redact: bool = False
    proposing: bool = True
    """Whether keys to take instead are searched for: most of the time of a review with data."""
    against: str = ""
    """The design file as it was before; for one design."""
    against_ref: str = ""
    """The commit, branch or tag that holds the designs and profiles as they were before."""
    suppress: tuple[ConfiguredSuppression, ...] = ()
    today: str = ""
    """The day (ISO) that expiries are compared with; empty: none expires. It stands in no output."""
    baseline: str = ""
    baseline_may_lack: bool = False
    """Whether there may be no such file yet; nothing is known then."""
    write_baseline: bool = False
    prune_baseline: bool = False
    stdin: bytes = b""
    """What the design ``-`` holds."""
    stdin_name: str = ""

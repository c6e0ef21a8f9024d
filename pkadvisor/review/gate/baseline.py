"""The baseline: findings that are known and do not count until they get worse.

One file for all designs, sorted, one entry per line. Entries are matched by the fingerprint of a finding, which holds
no line number. Rules that measure store the value, and a finding that grew by more than 5 % counts again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from pkadvisor.errors import InputError
from pkadvisor.review.gate.changes import DesignReview, grew
from pkadvisor.review.gate.suppressions import decided
from pkadvisor.review.rules.builtin import NEVER_SUPPRESSED, STALE, builtin_finding
from pkadvisor.review.rules.evaluate import Evaluation
from pkadvisor.review.rules.rule import Rule
from pkadvisor.review.views.findings import Finding, Severity, Status
from pkadvisor.values import dataclass

DOCUMENT = "pkadvisor baseline"
SCHEMA_VERSION = "1.0"
FILE = ".pkadvisor-baseline.json"
FILE_BYTES_MAX = 20_000_000
_REMAKE = "make it again: advisor review DESIGN --baseline FILE --write-baseline"


@dataclass(frozen=True, slots=True)
class Entry:
    """A known finding; ``measured`` is None for rules without a ratchet."""

    design: str
    rule: str
    path: str
    subject: str
    severity: Severity
    fingerprint: str
    measured: float | None = None
    unit: str = ""

    @property
    def order(self) -> tuple[str, ...]:
        """Where it stands in the file."""
        return (self.design, self.rule, self.path, self.fingerprint)


@dataclass(frozen=True, slots=True)
class Baseline:
    """Entries, one for a fingerprint, in the order of the file."""

    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        by_fingerprint: dict[str, Entry] = {}
        for entry in self.entries:
            known = by_fingerprint.get(entry.fingerprint)
            by_fingerprint[entry.fingerprint] = entry if known is None else _worse_of(known, entry)
        object.__setattr__(self, "entries", tuple(sorted(by_fingerprint.values(), key=lambda e: e.order)))

    @property
    def by_fingerprint(self) -> dict[str, Entry]:
        """The entries by what they are matched by."""
        return {entry.fingerprint: entry for entry in self.entries}


def _worse_of(one: Entry, other: Entry) -> Entry:
    if one.severity is not other.severity:
        return min(one, other, key=lambda e: e.severity.rank)
    return max(one, other, key=lambda e: e.measured if e.measured is not None else -math.inf)


# -- the file ----------------------------------------------------------------------------------------------------------


def read_baseline(text: str | bytes, where: str) -> Baseline:
    """A baseline from the content of its file; InputError where it is none, is damaged, or is of another version."""
    if len(text) > FILE_BYTES_MAX:
        raise InputError("is larger than 20 MB: it is not a baseline", where=where, fix=_REMAKE)
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = str(error).splitlines()[0][:120] if isinstance(error, ValueError) else "it nests too deep"
        raise InputError(f"the baseline is damaged: {reason}", where=where, fix=_REMAKE) from None
    if not isinstance(document, dict) or document.get("document") != DOCUMENT:
        other = document.get("document") if isinstance(document, dict) else None
        what = f"this is not a baseline but a document '{str(other)[:60]}'" if other else "this is not a baseline"
        raise InputError(what, where=where, fix="name the file that --write-baseline wrote")
    if document.get("schema_version") != SCHEMA_VERSION:
        version = str(document.get("schema_version"))[:20]
        what = f"version {version} of the baseline format is not known; this reads {SCHEMA_VERSION}"
        raise InputError(what, where=where, fix=_REMAKE)
    entries = document.get("entries")
    if not isinstance(entries, list):
        raise InputError("the baseline is damaged: entries is not a list", where=where, fix=_REMAKE)
    return Baseline(tuple(_entry(i, entry, where) for i, entry in enumerate(entries, 1)))


def _entry(number: int, values: Any, where: str) -> Entry:
    try:
        texts = {key: values[key] for key in ("design", "rule", "path", "subject", "fingerprint")}
        measured, unit = values.get("measured"), values.get("unit", "")
        good = all(isinstance(t, str) for t in (*texts.values(), unit)) and len(texts["fingerprint"]) == 64
        good = good and (measured is None or (isinstance(measured, int | float) and not isinstance(measured, bool)))
        if not good or (measured is not None and not math.isfinite(measured)):
            raise ValueError
        number_ = None if measured is None else float(measured)
        return Entry(**texts, severity=Severity(values["severity"]), measured=number_, unit=unit)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        what = f"the baseline is damaged: entry {number} is not an entry"
        raise InputError(what, where=where, fix=_REMAKE) from None


def dump_baseline(baseline: Baseline) -> str:
    """The bytes of the file: one entry per line, in order, so that a change of one finding is a change of one line."""
    lines = [json.dumps(_entry_json(e), ensure_ascii=False, allow_nan=False) for e in baseline.entries]
    head = f'{{"document": "{DOCUMENT}", "schema_version": "{SCHEMA_VERSION}", "entries": ['
    return head + ("\n" + ",\n".join(lines) + "\n" if lines else "") + "]}\n"


def _entry_json(entry: Entry) -> dict[str, Any]:
    made: dict[str, Any] = {
        "design": entry.design,
        "rule": entry.rule,
        "path": entry.path,
        "subject": entry.subject,
        "severity": str(entry.severity),
    }
    if entry.measured is not None:
        made |= {"measured": entry.measured, "unit": entry.unit}
    return made | {"fingerprint": entry.fingerprint}


# -- what it does ------------------------------------------------------------------------------------------------------


def entry_of(finding: Finding, *, ratchet: bool) -> Entry:
    """A finding as an entry."""
    return Entry(
        design=finding.design,
        rule=finding.rule,
        path=finding.path,
        subject=finding.subject,
        severity=finding.severity,
        fingerprint=finding.fingerprint,
        measured=finding.measured if ratchet else None,
        unit=finding.unit if ratchet and finding.measured is not None else "",
    )


def applied(reviews: Sequence[DesignReview], baseline: Baseline, rules: Sequence[Rule]) -> tuple[DesignReview, ...]:
    """The reviews with known findings marked, those that got worse as such, and entries that are stale told as PK904.

    What is about suppressions is never let pass: it is put right in them.
    """
    known = baseline.by_fingerprint
    page = next((rule for rule in rules if rule.id == STALE), None)
    done = []
    for review in reviews:
        evaluations = tuple(
            replace(e, findings=tuple(_marked(f, known.get(f.fingerprint), e.rule.ratchet) for f in e.findings))
            for e in review.evaluations
        )
        if page is not None and review.view is not None:
            view = review.view
            gone = tuple(
                builtin_finding(
                    page,
                    view,
                    f"the baseline holds {e.rule} at {e.path}, which is no longer found",
                    logical=e.path,
                    subject=f"{e.rule} {e.subject}",
                )
                for e in _stale(review, baseline)
            )
            evaluations = (*evaluations, Evaluation(page, len(baseline.entries), gone, 0, ()))
        done.append(replace(review, evaluations=evaluations))
    return tuple(done)


def _marked(finding: Finding, entry: Entry | None, ratchet: bool) -> Finding:
    """A finding as the baseline knows it. One that got worse counts again, and is not in the baseline any more.

    A status that tells of an older design stays, unless the baseline says worse.
    """
    if finding.suppressed is not None or finding.rule in NEVER_SUPPRESSED:
        return finding
    if entry is None:
        return finding if finding.status is not None else replace(finding, status=Status.NEW)
    before = entry.measured if entry.unit == finding.unit else None
    if finding.severity.rank < entry.severity.rank or (ratchet and grew(finding.measured, before)):
        return replace(finding, status=Status.WORSE, before=before)
    if finding.status is not None:
        return replace(finding, baselined=True)
    return replace(finding, baselined=True, status=Status.UNCHANGED, before=before)


def _stale(review: DesignReview, baseline: Baseline) -> list[Entry]:
    """Entries of a design whose rule was asked and does not find them any more; a suppressed finding is still there."""
    if review.view is None:
        return []
    judged = decided(review.evaluations, review.view)
    there = {f.fingerprint for e in review.evaluations for f in e.findings}
    return [e for e in baseline.entries if e.design == review.name and e.rule in judged and e.fingerprint not in there]


def pruned(baseline: Baseline, reviews: Sequence[DesignReview]) -> Baseline:
    """Without what is stale; nothing is added, and no number is changed."""
    return _kept(baseline, lambda e: e not in gone) if (gone := set(_all_stale(baseline, reviews))) else baseline


def written(baseline: Baseline, reviews: Sequence[DesignReview]) -> Baseline:
    """All findings of this run that are not suppressed, with the entries that this run does not judge: of other
    designs, of rules that were not asked, of designs that could not be read."""
    names = {review.name for review in reviews if review.view is not None}
    rules = {r.name: decided(r.evaluations, r.view) for r in reviews if r.view is not None}
    left = [e for e in baseline.entries if e.design not in names or e.rule not in rules[e.design]]
    current = [
        entry_of(f, ratchet=e.rule.ratchet)
        for review in reviews
        for e in review.evaluations
        for f in e.findings
        if f.suppressed is None and f.rule not in NEVER_SUPPRESSED
    ]
    now = {entry.fingerprint for entry in current}
    return Baseline((*(e for e in left if e.fingerprint not in now), *current))


def _all_stale(baseline: Baseline, reviews: Iterable[DesignReview]) -> list[Entry]:
    return [entry for review in reviews for entry in _stale(review, baseline)]


def _kept(baseline: Baseline, keep: Callable[[Entry], bool]) -> Baseline:
    return Baseline(tuple(e for e in baseline.entries if keep(e)))

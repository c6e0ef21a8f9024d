"""What there was before: the designs and profiles of a file or of a commit, to compare with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.design.load.estimates import Budget
from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import Limits
from pkadvisor.observe.design_file.declaration_yaml import FILE_BYTES_MAX
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review.elsewhere import Beside
from pkadvisor.usecases.review.opening import open_design
from pkadvisor.usecases.review.request import ReviewRequest
from pkadvisor.usecases.review.revision import Revision
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.observe.profile.profile_file import ProfileDocument

HEAD = "HEAD"
PROFILE_BYTES_MAX = 50_000_000


@dataclass(frozen=True, slots=True)
class Earlier:
    """Where the designs of before come from: a file, or a commit with its profiles."""

    label: str
    file: str = ""
    revision: Revision | None = None
    profile: ProfileDocument | None = None
    profile_changed: bool = False
    notes: tuple[str, ...] = ()
    beside: Beside | None = None

    def stops(self, error: Exception) -> bool:
        """Whether an error concerns the whole run: what is compared with cannot be read."""
        where = getattr(error, "where", "")
        return where.startswith("--against-ref") or bool(self.file and where.startswith(self.file))


def earlier_of(request: ReviewRequest, profile: ProfileDocument | None) -> Earlier | None:
    if request.against:
        return Earlier(Path(request.against).as_posix(), file=request.against, profile=profile)
    if not request.against_ref:
        return None
    revision = Revision(request.against_ref)
    old, changed, notes = _old_profile(revision, request, profile)
    return Earlier(request.against_ref, "", revision, old, changed, notes, Beside(revision))


def _old_profile(
    revision: Revision, request: ReviewRequest, profile: ProfileDocument | None
) -> tuple[ProfileDocument | None, bool, tuple[str, ...]]:
    """(the profiles of the commit, whether they differ, notes). A file that the commit lacks is taken as it is."""
    import tempfile

    contents = [(path, revision.content_near(path, PROFILE_BYTES_MAX)) for path in request.profiles]
    if all(old is None or _same_json(old, Path(path)) for path, old in contents):
        return profile, False, ()
    from pkadvisor.inputs import merged_profiles

    with tempfile.TemporaryDirectory() as folder:
        files = []
        for i, (path, old) in enumerate(contents):
            if old is None:
                files.append(path)
                continue
            file = Path(folder) / str(i) / Path(path).name
            file.parent.mkdir()
            file.write_bytes(old)
            files.append(str(file))
        try:
            return merged_profiles(files), True, ()
        except (UsageError, InputError) as error:
            note = f"the profile at {revision.ref} cannot be read ({error.what}); the current one is used"
            return profile, True, (note,)


def _same_json(content: bytes, path: Path) -> bool:
    """Whether two profiles say the same, however they are written."""
    import json

    try:
        now = path.read_bytes()
        return now == content or bool(json.loads(now) == json.loads(content))
    except (OSError, ValueError, RecursionError):
        return False


def old_design(
    earlier: Earlier,
    path: str,
    request: ReviewRequest,
    limits: Limits,
    budgets: tuple[Budget, ...],
    *,
    alone: bool,
    elsewhere: frozenset[str] = frozenset(),
) -> tuple[DesignView | None, tuple[str, ...]]:
    """(the design of before under the name of today's, notes); None where there was none, or it cannot be read."""
    name, text = Path(path).as_posix(), None
    if earlier.revision is not None:
        content = earlier.revision.content(path, FILE_BYTES_MAX)
        if content is None:
            return None, earlier.notes
        text = content.decode("utf-8-sig", "surrogateescape")
    shown = earlier.file or f"{earlier.label}:{name}"
    try:
        old = open_design(
            shown,
            text,
            limits,
            profile=earlier.profile,
            data=request.data,
            logs=request.logs,
            alone=alone,
            name=name,
            budgets=budgets,
            elsewhere=elsewhere,
        )
        return old, earlier.notes
    except (UsageError, InputError) as error:
        if earlier.revision is None:
            raise
        return None, (*earlier.notes, f"the design at {earlier.label} cannot be read: {error.what}")


def keys_in_use(view: DesignView, path: str, request: ReviewRequest, limits: Limits) -> dict[str, str]:
    """Tables of a design whose keys must be taken for those of stored rows, each with the reason.

    What was there before is the design that the review is compared with and, in a repository, the last commit: the file
    itself, or another one that declares the table.
    """
    names = tuple(dict.fromkeys(t.section.table for t in view.tables))
    reasons = dict[str, str]()
    asked = [request] if request.against or request.against_ref else []
    head = Revision(HEAD)
    try:
        committed = head.has_commits(path)
        if committed:
            asked.append(replace(request, against="", against_ref=HEAD))
        for one in asked:
            earlier = earlier_of(replace(one, profiles=()), None)
            assert earlier is not None
            if earlier.revision is not None and earlier.revision.content(path, FILE_BYTES_MAX) is None:
                continue
            old, notes = old_design(earlier, path, replace(one, data=()), limits, (), alone=True)
            if old is None:
                return dict.fromkeys(names, f"whether rows are stored cannot be told: {'; '.join(notes)}")
            keyed = {t.section.table.lower() for t in old.tables if t.scheme is not None}
            reasons |= {n: f"{old.document.path} has keys of {n} already" for n in names if n.lower() in keyed}
        for name in names if committed else ():
            other = "" if name in reasons else head.file_with(path, f"{name}:")
            if other:
                reasons[name] = f"{HEAD}:{other} has a table {name} already"
    except (UsageError, InputError) as error:
        return dict.fromkeys(names, f"whether rows are stored cannot be told: {error.what}")
    return reasons

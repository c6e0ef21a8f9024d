"""What there was before: the designs and profiles of a file or of a commit, to compare with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import Limits
from pkadvisor.observe.declaration_yaml import FILE_BYTES_MAX
from pkadvisor.observe.revision import Revision
from pkadvisor.review.views import DesignView
from pkadvisor.reviewer.elsewhere import Beside
from pkadvisor.reviewer.opening import open_design
from pkadvisor.reviewer.request import ReviewRequest

if TYPE_CHECKING:
    from pkadvisor.design.estimates import Budget
    from pkadvisor.observe.profile_file import ProfileDocument

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
    from pkadvisor.advisor import merged_profiles

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
            note = f"the profile at {revision.ref} cannot be read ({error.what}); the one of today stands in for it"
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
            alone=alone,
            name=name,
            budgets=budgets,
        )
        return old, earlier.notes
    except (UsageError, InputError) as error:
        if earlier.revision is None:
            raise
        return None, (*earlier.notes, f"the design at {earlier.label} cannot be read: {error.what}")

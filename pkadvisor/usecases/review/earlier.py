"""What there was before: the designs and profiles of a file or of a commit, to compare with.

Designs of a commit that lay beside the reviewed ones and are gone, or have lost a table: a table does not escape
the comparison because its file got another name.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.design.load.estimates import Budget
from pkadvisor.errors import InputError, UsageError
from pkadvisor.files import exists
from pkadvisor.limits import Limits
from pkadvisor.observe.design_file.declaration_yaml import FILE_BYTES_MAX
from pkadvisor.review.gate.changes import DesignReview
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review.opening import open_design
from pkadvisor.usecases.review.request import ReviewRequest
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    import subprocess

    from pkadvisor.observe.profile.profile_file import ProfileDocument


ENDINGS = (".yaml", ".yml", ".json")
FILES_MAX = 500
"""Changed files of a folder that are looked at."""


@dataclass(frozen=True, slots=True)
class Removed:
    """A design file that is gone, with those of its tables that no reviewed design declares."""

    path: str
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """The files of a commit in the folders of the reviewed designs; what was read once is kept."""

    revision: Revision
    _changed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)

    def changed(self, folder: Path) -> tuple[str, ...]:
        """Paths of files in a folder that differ from the commit or are gone, as designs are named."""
        key = folder.as_posix()
        if key not in self._changed:
            paths = self.revision.changed_in(folder)
            names = [n for n in sorted(paths) if n.lower().endswith(ENDINGS)][:FILES_MAX]
            self._changed[key] = tuple((folder / name).as_posix() for name in names)
        return self._changed[key]

    def text(self, path: str) -> str:
        """The file at the commit; empty where it is no text of a design's size."""
        if path not in self._texts:
            try:
                content = self.revision.content(path, FILE_BYTES_MAX) or b""
            except UsageError:
                content = b""
            self._texts[path] = content.decode("utf-8-sig", "surrogateescape")
        return self._texts[path]

    def gone(self, folder: Path) -> tuple[str, ...]:
        """Files of the commit that are not there any more."""
        return tuple(path for path in self.changed(folder) if not Path(path).exists())


def moved_here(
    view: DesignView,
    beside: Beside,
    path: str,
    designs: Sequence[str],
    limits: Limits,
    budgets: tuple[Budget, ...],
    profile: ProfileDocument | None,
    data: Sequence[str],
) -> tuple[tuple[tuple[DesignView, frozenset[str]], ...], tuple[str, ...]]:
    """((the older design, names of the tables that came from it), notes) for the tables of a design that had nothing
    before them and stood in another file beside one of the reviewed ``designs``, which is gone or does not declare them
    any more."""
    moved, notes = list[tuple[DesignView, frozenset[str]]](), list[str]()
    folders = dict.fromkeys(Path(p).parent for p in (path, *designs))
    for other in (o for folder in folders for o in beside.changed(folder)):
        missing = {t.section.table.lower() for t in view.tables if t.before is None}
        text = beside.text(other).lower() if missing and Path(other) != Path(path) else ""
        wanted = {name for name in missing if name in text} - _tables_of_today(other, bool(text))
        if not wanted:
            continue
        shown = f"{beside.revision.ref}:{other}"
        try:
            old = open_design(
                shown,
                beside.text(other),
                limits,
                profile=profile,
                data=data,
                alone=False,
                name=view.name,
                budgets=budgets,
            )
        except (UsageError, InputError) as error:
            if "tables:" in text or '"tables"' in text:
                notes.append(f"{shown} cannot be read: {error.what}")
            continue
        tables = {(t.section.table.lower(), t.section.kind): t for t in old.tables}
        taken = set[str]()
        for table in view.tables:
            name = table.section.table.lower()
            before = tables.get((name, table.section.kind))
            if table.before is None and name in wanted and before is not None:
                table.before = before
                taken.add(name)
        if taken:
            moved.append((old, frozenset(taken)))
            named = sorted({t.section.table for t in view.tables if t.section.table.lower() in taken})
            notes.append(f"{', '.join(named)} stood in {other}: compared with that")
    return tuple(moved), tuple(notes)


def _tables_of_today(path: str, wanted: bool) -> set[str]:
    """The tables that a file declares now, in small letters; empty where it is gone or cannot be read."""
    if not wanted or not Path(path).exists():
        return set()
    from pkadvisor.observe.design_file.read_declaration import read_declaration

    try:
        return {t.name.lower() for t in read_declaration(path, None)[0].tables}
    except (UsageError, InputError):
        return set()


def removed_designs(reviews: Sequence[DesignReview], beside: Beside) -> tuple[Removed, ...]:
    """The designs of the commit that are gone, with the tables that went with them."""
    from pkadvisor.observe.design_file.read_declaration import read_declaration

    known = {t.section.table.lower() for r in reviews if r.view is not None for t in r.view.tables}
    out = []
    for folder in dict.fromkeys(Path(r.name).parent for r in reviews):
        for path in beside.gone(folder):
            try:
                declared = read_declaration(path, beside.text(path))[0].tables
            except (UsageError, InputError):
                continue  # it was no design
            tables = tuple(t.name for t in declared if t.name.lower() not in known)
            if tables:
                out.append(Removed(path, tables))
    return tuple(out)


def without_moved(reviews: Sequence[DesignReview]) -> list[DesignReview]:
    """The reviews without what counts as fixed because its table went to another reviewed design."""
    declared = {r.name: {t.section.table.lower() for t in r.view.tables} for r in reviews if r.view is not None}
    done = []
    for review in reviews:
        if review.comparison is not None and review.comparison.fixed:
            own = declared.get(review.name, set())
            others = set().union(*(tables for name, tables in declared.items() if name != review.name)) - own
            fixed = tuple(f for f in review.comparison.fixed if f.table.lower() not in others)
            review = replace(review, comparison=replace(review.comparison, fixed=fixed))
        done.append(review)
    return done


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


# -- Files as a commit holds them, read with git.


_TIMEOUT_S = 60.0
_OPTION = "--against-ref"
_LOCAL = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY")


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, by the name that the user gave it."""

    ref: str

    def content(self, path: str, bytes_max: int) -> bytes | None:
        """The bytes of a file at the commit; None where the commit has no such file.

        UsageError outside of a repository, for a name that git does not know, and for a file that is too large.
        """
        file = Path(path)
        folder = file.parent
        while not folder.is_dir() and folder != folder.parent:
            folder = folder.parent  # the folder itself may be new
        self._check(folder)
        listed = _git(folder, "ls-tree", "-z", "-l", self.ref, "--", file.name)
        if listed.returncode or not listed.stdout:
            return None
        kind, size = listed.stdout.split(b"\0")[0].split(b"\t")[0].split()[1:4:2]
        if kind != b"blob":
            return None
        if int(size) > bytes_max:
            raise UsageError(f"{path} at '{self.ref}' is too large to compare with", where=_OPTION)
        shown = _git(folder, "cat-file", "blob", f"{self.ref}:./{file.name}")
        if shown.returncode:
            raise UsageError(f"git cannot show {path} at '{self.ref}': {_reason(shown)}", where=_OPTION)
        return shown.stdout

    def content_near(self, path: str, bytes_max: int) -> bytes | None:
        """As ``content``; None also for a file that lies in no repository."""
        folder = Path(path).parent
        if not folder.is_dir() or _git(folder, "rev-parse", "--is-inside-work-tree").stdout.strip() != b"true":
            return None
        return self.content(path, bytes_max)

    def has_commits(self, path: str) -> bool:
        """Whether a file lies in a git repository that has this commit; UsageError where only git could tell and
        cannot be asked."""
        here = Path(path).absolute().parent
        if not any(exists(folder / ".git") for folder in (here, *here.parents)):
            return False
        while not here.is_dir():
            here = here.parent
        inside = _git(here, "rev-parse", "--is-inside-work-tree")
        if inside.stdout.strip() != b"true":
            raise UsageError(f"git cannot read the repository of {path}: {_reason(inside)}", where=path)
        return not _git(here, "rev-parse", "--verify", "--quiet", f"{self.ref}^{{commit}}").returncode

    def file_with(self, path: str, text: str) -> str:
        """The first YAML file of the commit, in the repository of ``path``, with a line that begins with a text: its
        path from the root, or an empty text."""
        folder = Path(path).absolute().parent
        top = _git(folder, "rev-parse", "--show-toplevel").stdout.decode("utf-8", "surrogateescape").rstrip("\n")
        matches = _git(Path(top or folder), "grep", "-I", "-z", "-n", "-F", "-e", text, self.ref)
        for line in matches.stdout.split(b"\n"):
            name, _, rest = line.partition(b"\0")
            if name.endswith((b".yaml", b".yml")) and rest.rpartition(b"\0")[2].lstrip().startswith(text.encode()):
                return name.decode("utf-8", "replace").removeprefix(f"{self.ref}:")
        return ""

    def changed_in(self, folder: Path) -> tuple[str, ...]:
        """Names of the files in a folder that the commit has, and that are gone or differ now."""
        if not folder.is_dir():
            return ()
        self._check(folder)
        arguments = ("--no-ext-diff", "--no-renames", "--diff-filter=MD", "--name-only", "--relative", "-z")
        listed = _git(folder, "diff", *arguments, self.ref, "--", ".")
        names = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name] if not listed.returncode else []
        return tuple(name for name in names if "/" not in name)

    def _check(self, folder: Path) -> None:
        inside = _git(folder, "rev-parse", "--is-inside-work-tree")
        if inside.stdout.strip() != b"true":
            reason = _reason(inside)
            what = "the design is not in a git repository, so there is nothing to compare with"
            if reason and "not a git repository" not in reason:
                what = f"git cannot read the repository of the design: {reason}"
            raise UsageError(what, where=_OPTION, fix="name the older file instead: --against FILE")
        arguments = ("rev-parse", "--verify", "--quiet", f"{self.ref}^{{commit}}")
        if self.ref.startswith("-") or _git(folder, *arguments).returncode:
            fix = "fetch it first; in a pipeline check out the whole history (fetch-depth: 0)"
            raise UsageError(f"git knows no commit '{self.ref[:100]}'", where=_OPTION, fix=fix)


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """What git says; UsageError where there is no git or it does not answer."""
    import subprocess  # only where something is compared

    command = ["git", "-C", str(folder), "--literal-pathspecs", *arguments]
    # A hook's own repository is not to be taken for that of the design; complaints are read in English.
    environment = {k: v for k, v in os.environ.items() if k not in _LOCAL} | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT_S, check=False, env=environment
        )
    except FileNotFoundError:
        raise UsageError("git is not installed", where=_OPTION, fix="install it, or use --against FILE") from None
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"git does not answer: {type(error).__name__}", where=_OPTION) from None


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """The first line of git's complaint, short."""
    lines = done.stderr.decode("utf-8", "replace").splitlines()
    return lines[0].removeprefix("fatal: ")[:160] if lines else ""

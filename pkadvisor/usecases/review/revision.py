"""Files as a commit holds them, read with git."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.errors import UsageError
from pkadvisor.files import exists
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    import subprocess

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

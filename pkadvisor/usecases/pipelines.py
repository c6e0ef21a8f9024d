"""What runs ``advisor review`` on every change: pipelines, the hook of pre-commit, and where pkadvisor comes from."""

from __future__ import annotations

import json
import re
import shlex
from enum import StrEnum
from pathlib import Path

from pkadvisor import __version__
from pkadvisor.errors import UsageError
from pkadvisor.resources import resource
from pkadvisor.values import dataclass


class Ci(StrEnum):
    github = "github"
    azure = "azure"
    none = "none"


# -- where pkadvisor comes from ----------------------------------------------------------------------------------------

_REQUIREMENT = re.compile(
    r"pkadvisor(?:\[[a-z,]+\])?(?:(?:[=!~]=|[<>]=?)[0-9A-Za-z.*+!]+(?:,(?:[=!~]=|[<>]=?)[0-9A-Za-z.*+!]+)*)?"
)
_ADDRESS = re.compile(r"(?:[a-z]+\+)?(?:https?|ssh|file)://[A-Za-z0-9._~:/?#@!&=+%,;-]+")
_PASSWORD = re.compile(r"//[^/@]*:[^/@]*@")
_PATH = re.compile(r"[A-Za-z0-9._/+-]+")
EXAMPLES = (
    f"name a repository (--install git+https://HOST/OWNER/pkadvisor@v{__version__}), a wheel in the repository "
    f"(--install tools/pkadvisor-{__version__}-py3-none-any.whl), "
    f"or a version of an index (--install pkadvisor=={__version__})"
)


@dataclass(frozen=True, slots=True)
class Install:
    """Where pipelines and hooks install pkadvisor from: ``requirement`` as pip takes it, ``is_wheel`` for a file of the
    repository itself."""

    requirement: str
    is_wheel: bool = False

    @property
    def command(self) -> str:
        """The line of a shell that installs it."""
        return f"pipx install {shlex.quote(self.requirement)}"


def install_from(text: str, root: Path) -> Install:
    """What ``--install`` names: a requirement, an address, or a wheel below the root of the repository.

    UsageError for anything else, for an address with a password, and for a wheel that others would not have.
    """
    if text.endswith(".whl") and "://" not in text:
        return Install(_wheel(text, root), is_wheel=True)
    if _REQUIREMENT.fullmatch(text):
        return Install(text)
    address = text.removeprefix("pkadvisor @ ")
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"'{text[:80]}' is not a source to install pkadvisor from", where="--install", fix=EXAMPLES)
    if _PASSWORD.search(address):
        fix = "leave it out, and give it to git as a credential of the pipeline"
        raise UsageError("the address has a password, which would be committed", where="--install", fix=fix)
    return Install(f"pkadvisor @ {address}")


def _wheel(text: str, root: Path) -> str:
    path = Path(text)
    path = path if path.is_file() else root / text
    if not path.is_file():
        raise UsageError("there is no such wheel", where=f"--install {text}", fix=EXAMPLES)
    if not path.resolve().is_relative_to(root.resolve()):
        fix = f"copy it below {root} and commit it, since pipelines and colleagues have the repository alone"
        raise UsageError("the wheel lies outside the repository", where=f"--install {text}", fix=fix)
    below = path.resolve().relative_to(root.resolve()).as_posix()
    if not _PATH.fullmatch(below):
        raise UsageError("the path of the wheel has characters that a shell reads", where=f"--install {text}")
    return f"./{below}"


def own_source() -> Install:
    """Where this pkadvisor was installed from (PEP 610), if others can install it from there as well.

    UsageError for one that came from a folder or a file of this machine.
    """
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        direct_url = distribution("pkadvisor").read_text("direct_url.json")
    except PackageNotFoundError:
        direct_url = '{"url": "file://"}'
    if direct_url is None:
        return Install(f"pkadvisor=={__version__}")
    source = json.loads(direct_url)
    url, version_control = str(source["url"]), source.get("vcs_info")
    if url.startswith(("https://", "ssh://")) and version_control:
        url = f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
    if url.startswith("file://") or "dir_info" in source or not _ADDRESS.fullmatch(url) or _PASSWORD.search(url):
        what = "this pkadvisor was installed from a folder or a file, so a pipeline does not know where to get it"
        raise UsageError(what, where="--install", fix=EXAMPLES)
    return Install(f"pkadvisor @ {url}")


# -- files -------------------------------------------------------------------------------------------------------------

COMMENT = resource("templates", "init", "comment.sh").read_text("utf-8")
"""The comment of a pull request, replaced where there is one already; the action beside this package runs it too."""
_PIPELINES = {Ci.github: (".github/workflows/schema.yml", "github.yml"), Ci.azure: ("azure-pipelines.yml", "azure.yml")}
"""Where a pipeline lies below the root, and its template."""


def pipeline(ci: Ci, install: Install) -> tuple[str, str]:
    """(path below the root, text) of a pipeline that reviews what a pull request changes."""
    name, template = _PIPELINES[ci]
    text = resource("templates", "init", template).read_text("utf-8")
    comment = "".join(f"          {line}\n" for line in COMMENT.splitlines()).rstrip()
    return name, text.replace("@INSTALL@", install.command).replace("@COMMENT@", comment)


def hook_text(install: Install) -> str:
    """The hook, as it stands below ``repos`` of .pre-commit-config.yaml.

    An environment of pre-commit is made outside the repository, where a wheel of the repository has no path: pipx runs
    that one.
    """
    review = "advisor review --format concise"
    lines = ["- repo: local", "  hooks:", "    - id: pkadvisor-review", "      name: partition-key review"]
    if install.is_wheel:
        lines += [f"      entry: pipx run --spec {install.requirement} {review}", "      language: system"]
    else:
        lines += [f"      entry: {review}", "      language: python"]
        lines += [f"      additional_dependencies: [{json.dumps(install.requirement)}]"]
    lines += ["      files: ^(schema/|pkadvisor\\.toml$)", "      pass_filenames: false"]
    return "".join(f"  {line}\n" for line in lines)


def pre_commit_text(install: Install) -> str:
    """The whole of .pre-commit-config.yaml."""
    return f"repos:\n{hook_text(install)}"

"""The settings of a project as one value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.files import exists
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.review.gate.suppressions import ConfiguredSuppression
    from pkadvisor.review.rules.rule import Rule
    from pkadvisor.toml_file import TomlFile
    from pkadvisor.toml_places import TomlPath

PYPROJECT = "pyproject.toml"
SECTION = ("tool", "pkadvisor")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a project has settled, empty where it has not; paths are relative to the working folder."""

    file: TomlFile | None = None
    designs: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    account: str | None = None
    max_bad_lines: str | None = None
    log_fraction: str | None = None
    profile: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    rules: tuple[str, ...] = ()
    limits: tuple[str | TomlFile, ...] = ()
    budget: tuple[tuple[str, str], ...] = ()
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: tuple[tuple[str, str], ...] = ()
    suppress: tuple[ConfiguredSuppression, ...] = ()
    lines: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """(key, line of the file) of whatever is settled."""

    def where(self, key: str) -> str:
        """FILE:LINE of a key that is settled, else an empty text."""
        line = dict(self.lines).get(key)
        return "" if line is None or self.file is None else f"{self.file.path.as_posix()}:{line}"

    def budgets_with(self, given: Iterable[str] | None) -> tuple[str, ...]:
        """``KEY=VALUE`` of the project and of the command line, which wins."""
        options = tuple(given or ())
        named = {text.partition("=")[0].strip() for text in options}
        return (*(f"{key}={value}" for key, value in self.budget if key not in named), *options)

    def design_files(self, *, missing: bool = True) -> tuple[str, ...]:
        """The designs that ``designs`` names, globs resolved, each once; UsageError for a glob without a file, unless
        ``missing`` says that it is nobody's business."""
        import glob

        out: dict[str, None] = {}
        for number, text in enumerate(self.designs):
            named = [text] if exists(Path(text)) else glob.glob(text, recursive=True)  # noqa: PTH207
            matches = sorted(path for path in named if not Path(path).is_dir())
            if not matches and missing:
                raise self.error(("designs", number), f"no file matches '{text}'", "correct the path or the glob")
            out |= dict.fromkeys(Path(p).as_posix() for p in matches)
        return tuple(out)

    def check_profiles(self) -> None:
        """UsageError for a profile that is not there."""
        for number, text in enumerate(self.profile):
            if not exists(Path(text)):
                fix = "make it with 'advisor profile', or leave the line out"
                several = self.file is not None and isinstance(self.file.content.get("profile"), list)
                path: TomlPath = ("profile", number) if several else ("profile",)
                raise self.error(path, f"there is no such file: {text}", fix)

    def check_rules(self, rules: Sequence[Rule]) -> None:
        """UsageError for a rule that does not exist."""
        words = tuple(w for rule in rules for w in (rule.id, rule.name, *rule.aliases))
        named: list[tuple[TomlPath, str, bool]] = []
        for key, chosen in (("select", self.select), ("ignore", self.ignore)):
            named += [(("review", key, i), word, True) for i, word in enumerate(chosen)]
        named += [(("review", "severity", word), word, False) for word, _ in self.severity]
        named += [(("review", "suppress", i, "rule"), s.rule, False) for i, s in enumerate(self.suppress)]
        for path, word, beginning in named:
            known = word in words or word.upper() in words
            if known or (beginning and any(rule.id.startswith(word.upper()) for rule in rules)):
                continue
            raise self.error(path, f"there is no rule '{word}'", did_you_mean(word, words) or "see: advisor rules list")

    def error(self, path: TomlPath, what: str, fix: str = "") -> UsageError:
        """An error at a key of the file."""
        assert self.file is not None
        return self.file.at((*self.file.prefix, *path), what, fix, at_value=True)


def shown_path(path: Path | str) -> str:
    """A path relative to the working folder, where there is one."""
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive
        return str(path)

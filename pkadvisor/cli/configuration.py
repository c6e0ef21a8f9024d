"""Settings of a project: ``pkadvisor.toml``, or ``[tool.pkadvisor]`` in ``pyproject.toml``.

Looked for in the folder of the design, then upward to the root of the repository; after that in the same way from the
working folder. Outside of a repository only those two folders are looked at. Order: option, environment variable,
file, default. Paths in the file are relative to it. Without a file nothing is imported here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.cli.settings import PYPROJECT, Settings, shown_path
from pkadvisor.errors import UsageError
from pkadvisor.files import exists

if TYPE_CHECKING:
    from pkadvisor.cli.shared import InputOptions, Shared

NAME = "pkadvisor.toml"


def settings_for(shared: Shared, design: str | None = None) -> Settings:
    """The settings that hold for a command, whose first design is ``design``."""
    if shared.isolated:
        if shared.config is not None:
            raise UsageError("--config and --isolated exclude each other", where="--isolated", fix="give one of them")
        return Settings()
    path = Path(shared.config) if shared.config is not None else discover(design)
    if path is None:
        return Settings()
    from pkadvisor.cli.settings_file import read_settings

    return read_settings(path)


def of_the_project(
    data: list[str] | None, reading: InputOptions, shared: Shared
) -> tuple[list[str] | None, InputOptions]:
    """The data, logs and design that the project names, for a command line that names none itself.

    UsageError where the project has several designs: nobody knows which is meant.
    """
    named = data or reading.log or reading.design or reading.profile or reading.sample
    settings = Settings() if named else settings_for(shared)
    if named or not (settings.data or settings.logs):
        return data, reading
    designs = settings.design_files()
    if len(designs) > 1:
        where, fix = settings.where("designs"), f"name one: --design {designs[0]}"
        raise UsageError(f"the project has {len(designs)} designs", where=where, fix=fix)
    design, account = next(iter(designs), None), reading.account or settings.account
    usual = type(reading)()
    shares = {
        name: getattr(settings, name) or given
        for name in ("max_bad_lines", "log_fraction")
        if (given := getattr(reading, name)) == getattr(usual, name)
    }
    completed = replace(reading, log=list(settings.logs), design=design, account=account, **shares)
    return list(settings.data), completed


def discover(design: str | None = None) -> Path | None:
    """The file with the settings of a project, as a path relative to the working folder; None without one."""
    starts = [Path(design).parent] if design and design != "-" else []
    for start in dict.fromkeys((*starts, Path())):
        folders = list(_upward(start))
        for folder in folders:
            if _is_file(folder / NAME):
                return folder / NAME
        for folder in folders:
            if _is_file(folder / PYPROJECT) and _names_us(folder / PYPROJECT):
                return folder / PYPROJECT
    return None


def _upward(start: Path) -> Iterator[Path]:
    """The folder, and those above it up to the root of the repository."""
    try:
        here = start.resolve()
    except (OSError, ValueError, RuntimeError):
        return
    chain = [here, *here.parents]
    root = next((i for i, folder in enumerate(chain) if exists(folder / ".git")), 0)
    for folder in chain[: root + 1]:
        yield Path(shown_path(folder))


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def _names_us(path: Path) -> bool:
    """Whether a pyproject has a section for us; one that others cannot read is theirs."""
    try:
        raw = path.read_bytes()
    except OSError:
        return False
    if b"pkadvisor" not in raw:
        return False
    import tomllib

    try:
        tool = tomllib.loads(raw.decode("utf-8-sig")).get("tool")
    except (ValueError, RecursionError):
        return b"[tool.pkadvisor" in raw
    return isinstance(tool, dict) and "pkadvisor" in tool

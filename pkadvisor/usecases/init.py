"""``advisor init``: the files that a repository needs to be reviewed from now on, as texts."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.resources import resource
from pkadvisor.usecases.pipelines import Ci, Install, pipeline, pre_commit_text
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.draft.facts import Drafted
    from pkadvisor.design.draft.text import Answers
    from pkadvisor.progress import Progress

Ask = Callable[[str, str], str]
"""A question with its default, and the answer."""

MAX_BAD_LINES = 0.01
DESIGN_FILE = "design.yaml"
SETTINGS_FILE = "pkadvisor.toml"
PRE_COMMIT_FILE = ".pre-commit-config.yaml"
TRIES = 3
"""How often one question is asked until its answer makes sense."""
EXAMPLE = "schema/devices.yaml"
SETTINGS = resource("templates", "init", "pkadvisor.toml").read_text("utf-8")
DESIGN = resource("templates", "init", "design.yaml").read_text("utf-8")
"""What a repository begins with where no file tells more."""


@dataclass(frozen=True, slots=True)
class Given:
    """Data files and logs to make a design of, and the storage account that is meant where the logs are of several.

    More than the share ``max_bad_lines`` of unreadable lines, rows or log files is an error. The logs hold the share
    ``log_fraction`` of all requests.
    """

    sources: tuple[str, ...] = ()
    logs: tuple[str, ...] = ()
    account: str | None = None
    max_bad_lines: float = MAX_BAD_LINES
    log_fraction: float = 1.0


def planned(
    root: Path,
    given: Given,
    ci: Ci,
    *,
    pre_commit: bool,
    install: Install | None = None,
    progress: Progress,
    ask: Ask | None = None,
) -> dict[str, str]:
    """The files, by their paths below the root, with their texts.

    ``install`` is where pipelines and hook get pkadvisor from; it is needed for them alone. With data or logs the
    design is theirs; ``ask`` is asked for what they cannot tell, with what is assumed otherwise.
    """
    others = [path for pattern in ("*.yaml", "*.yml") for path in (root / "schema").glob(pattern)]
    files = {SETTINGS_FILE: SETTINGS}
    if given.sources or given.logs:
        files[DESIGN_FILE], sources = design_from(given, progress, ask)
        files[SETTINGS_FILE] = _settings(root, replace(given, sources=sources))
    elif not others or others == [root / EXAMPLE]:  # an example beside real designs would only be in the way
        files[EXAMPLE] = DESIGN
    if install is not None and ci is not Ci.none:
        name, text = pipeline(ci, install)
        files[name] = text
    if install is not None and pre_commit:
        files[PRE_COMMIT_FILE] = pre_commit_text(install)
    return files


def design_from(given: Given, progress: Progress, ask: Ask | None) -> tuple[str, tuple[str, ...]]:
    """The design that data and logs tell, as ``advisor analyze`` accepts it, and the data files as that reads them.

    Raises UsageError (2) and InputError (3) for files that cannot be read or do not belong together.
    """
    from pkadvisor.design.draft.text import classes_of, design_text
    from pkadvisor.inputs import AnalyzeRequest, draft_of
    from pkadvisor.observe.design_file.read_declaration import load_declaration

    request = AnalyzeRequest(
        data=given.sources,
        logs=given.logs,
        account=given.account,
        max_bad_lines=given.max_bad_lines,
        log_fraction=given.log_fraction,
    )
    drafted, _, _ = draft_of(request, progress)
    drafted.check_kinds()
    named = (("--from", given.sources), ("--log", given.logs), ("--account", (given.account,) if given.account else ()))
    words = " ".join(f"{option} {shlex.quote(text)}" for option, texts in named for text in texts)
    shown = " ".join(words.split()) if words.isprintable() else "FILES"
    head = f"Written by 'advisor init {shown[:300]}'."
    text = design_text(drafted, head, classes_of(drafted), _answers(drafted, ask))
    load_declaration(DESIGN_FILE, text)  # whatever a file holds, what is written can be read
    return text, _named(given.sources, drafted)


def _named(sources: tuple[str, ...], drafted: Drafted) -> tuple[str, ...]:
    """The data files as ``TABLE=PATH`` where the log has several tables and no name tells which one they are of."""
    stems = {Path(source).name.split(".")[0].lower() for source in sources}
    (table, *more) = drafted.tables
    if more or not drafted.heat_only or table.name.lower() in stems or any("=" in source for source in sources):
        return sources
    return tuple(f"{table.name}={source}" for source in sources)


def _answers(drafted: Drafted, ask: Ask | None) -> Answers:
    """What a person says of the only table with data, where the files do not tell it."""
    from pkadvisor.design.draft.facts import sampled
    from pkadvisor.design.draft.text import Answers

    (table, *more) = drafted.tables
    if ask is None or more or table.data is None or sampled(table).sure:
        return Answers()
    question = f"How many entities has the table {table.name}? The data has"
    total = int(_answered(ask, question, f"{table.data.rows}", re.compile("[0-9]{1,15}")))
    if total <= table.data.rows:
        return Answers()
    ways = re.compile("random-rows|random-keys|slice")
    return Answers(_answered(ask, f"How were they taken ({ways.pattern.replace('|', ', ')})?", "slice", ways), total)


def _answered(ask: Ask, question: str, default: str, form: re.Pattern[str]) -> str:
    """An answer of a form, asked for thrice at most; else what is assumed."""
    answers = (ask(question, default).replace("_", "").replace(",", "").strip() for _ in range(TRIES))
    return next((answer for answer in answers if form.fullmatch(answer)), default)


def _settings(root: Path, given: Given) -> str:
    """The settings with the design, the data and the logs of a project, as paths below its root."""
    named = 'designs = ["schema/*.yaml"]\n'
    assert named in SETTINGS
    lines = [f"designs = {json.dumps([DESIGN_FILE])}"]
    for key, paths in (("data", given.sources), ("logs", given.logs)):
        if paths:
            lines.append(f"{key} = {json.dumps([_below(root, path) for path in paths], ensure_ascii=False)}")
    if given.account is not None:
        lines.append(f"account = {json.dumps(given.account)}")
    usual = Given()
    for key in ("max_bad_lines", "log_fraction"):
        if (share := getattr(given, key)) != getattr(usual, key):
            lines.append(f'{key} = "{100 * share:g}%"')
    return SETTINGS.replace(named, "\n".join(lines) + "\n", 1)


def _below(root: Path, spec: str) -> str:
    """A data file or log as seen from the root, ``KIND=`` kept."""
    from pkadvisor.observe.data.dataset import split_kind

    kind, path = split_kind(spec)
    seen = Path(os.path.relpath(path, root)).as_posix()
    return seen if kind is None else f"{kind}={seen}"

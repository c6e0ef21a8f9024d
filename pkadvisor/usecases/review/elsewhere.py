"""Designs of a commit that lay beside the reviewed ones and are gone, or have lost a table: a table does not escape
the comparison because its file got another name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pkadvisor.design.load.estimates import Budget
from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import Limits
from pkadvisor.observe.design_file.declaration_yaml import FILE_BYTES_MAX
from pkadvisor.review.gate.reviewed import DesignReview
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review.opening import open_design
from pkadvisor.usecases.review.revision import Revision
from pkadvisor.values import dataclass

if TYPE_CHECKING:
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

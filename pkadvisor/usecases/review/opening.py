"""From a design file to what rules can be asked about: its tables, put together with profiles and data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pkadvisor.design.choice.sections import sections_of
from pkadvisor.design.load.estimates import Budget
from pkadvisor.errors import InputError, UsageError
from pkadvisor.limits import Limits
from pkadvisor.observe.data.dataset import Dataset
from pkadvisor.observe.design_file.declaration import Declaration
from pkadvisor.progress import SilentProgress
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review.request import ReviewRequest

if TYPE_CHECKING:
    from pkadvisor.observe.logs.traffic import Traffic
    from pkadvisor.observe.profile.profile_file import ProfileDocument


def open_design(
    path: str,
    text: str | None,
    limits: Limits,
    *,
    profile: ProfileDocument | None = None,
    data: Sequence[str] = (),
    logs: Sequence[str] = (),
    alone: bool = True,
    name: str = "",
    budgets: tuple[Budget, ...] = (),
    elsewhere: frozenset[str] = frozenset(),
) -> DesignView:
    """A design with its data; ``text`` takes the place of the file's content. ``alone``: no other design is reviewed,
    so that a profile that names no table can only mean this one. ``elsewhere``: tables of other designs of the project,
    in lower case."""
    from pkadvisor.observe.design_file.read_declaration import read_declaration

    declaration, document = read_declaration(path, text, any_names=True)
    given, unmatched = _documents_for(declaration, profile, alone, elsewhere)
    profiled = _data(data, declaration)
    sections = sections_of((), declaration, [p for p, _ in profiled], _traffic(logs, declaration), given)
    held = [(s, next((source for p, source in profiled if p is s.data), None)) for s in sections]
    shown = name or Path(path).as_posix()
    view = DesignView(
        shown, declaration, document, held, limits, has_profile=bool(given), unmatched=unmatched, budgets=budgets
    )
    view.profiled = tuple(dict.fromkeys(t.table for t in profile.tables)) if profile is not None and alone else ()
    return view


def _traffic(logs: Sequence[str], declaration: Declaration) -> Traffic | None:
    if not logs:
        return None
    from pkadvisor.inputs import AnalyzeRequest, traffic_of

    return traffic_of(AnalyzeRequest(logs=tuple(logs)), SilentProgress(), declaration)


def _documents_for(
    declaration: Any, profile: ProfileDocument | None, alone: bool, elsewhere: frozenset[str]
) -> tuple[list[tuple[str, ProfileDocument]], tuple[str, ...]]:
    """(the part of the profile that belongs to this design, names of its tables that do not)."""
    if profile is None:
        return [], ()
    names = {t.name.lower() for t in declaration.tables}
    single = alone and len(names) == 1 and len({t.table for t in profile.tables}) == 1
    mine = tuple(t for t in profile.tables if t.table.lower() in names or (single and t.table == ""))
    other = dict.fromkeys(t.table for t in profile.tables if t not in mine and t.table.lower() not in elsewhere)
    return ([("", replace(profile, tables=mine))] if mine else []), (tuple(other) if alone else ())


def tables_elsewhere(request: ReviewRequest, profile: ProfileDocument | None) -> frozenset[str]:
    """Tables of the profile that designs of the project declare which are not reviewed, in lower case.

    A design that cannot be read declares nothing: whoever reviews it is told.
    """
    from pkadvisor.observe.design_file.read_declaration import read_declaration

    sought = set() if profile is None else {t.table.lower() for t in profile.tables if t.table}
    reviewed = {Path(path).absolute() for path in request.designs}
    names = set[str]()
    for path in request.siblings:
        if sought <= names:
            break
        if Path(path).absolute() not in reviewed:
            try:
                names |= {t.name.lower() for t in read_declaration(path, None)[0].tables}
            except (UsageError, InputError):
                continue
    return frozenset(names)


def budgets_of(request: ReviewRequest) -> tuple[Budget, ...]:
    if not request.budgets:
        return ()
    from pkadvisor.design.cost.budgets import parse_budgets

    return parse_budgets(request.budgets)


def profile_of(request: ReviewRequest) -> ProfileDocument | None:
    if not request.profiles:
        return None
    from pkadvisor.inputs import merged_profiles

    return merged_profiles(request.profiles)


def _data(specs: Sequence[str], declaration: Any) -> list[tuple[Any, Dataset]]:
    if not specs:
        return []
    from pkadvisor.inputs import profiled_data

    return profiled_data(specs, declaration)

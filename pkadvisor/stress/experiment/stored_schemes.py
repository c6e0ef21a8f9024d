"""The schemes of a result that was written before, for data that must be the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.errors import InputError, UsageError
from pkadvisor.report.documents.stored import load_stored

if TYPE_CHECKING:
    from pkadvisor.design.choice.sections import Section
    from pkadvisor.design.keys.candidate_file import Candidate
    from pkadvisor.design.keys.scheme import KeyScheme
    from pkadvisor.inputs import AnalyzeRequest

CURRENT, RECOMMENDED = "current", "recommended"
"""What keys under test are called, besides the numbers of a ranking."""
AGAIN = "advisor analyze … --out json=result.json with these files writes one"


def schemes_of(
    path: str, number: int | None, reading: AnalyzeRequest, sections: Sequence[Section]
) -> list[list[tuple[str, KeyScheme]]]:
    """For each section its current and its recommended keys, or the scheme of a ``number`` in place of these.

    InputError (3) where the result was made of other files, redacted, or has no such table; UsageError (2) for a number
    that it does not have.
    """
    document = load_stored(path, "--result")
    if not isinstance(document, AnalysisDocument):
        raise InputError("is a score card, not a result", where=f"--result {path}", fix=AGAIN)
    _check_files(document, path, reading)
    return [_of_section(document, path, number, section) for section in sections]


def _check_files(document: AnalysisDocument, path: str, reading: AnalyzeRequest) -> None:
    from pkadvisor.inputs import files_read

    listed = document.inputs.files
    if not listed:
        what = "does not say which files it was made of"
        raise InputError(what, where=f"--result {path}", fix=f"it is of an older version, or read a pipe: {AGAIN}")
    made_of = {(f.role, f.xxh3): f.name for f in listed}
    given = {(f.role, f.xxh3): f.name for f in files_read(reading)}
    if made_of.keys() == given.keys():
        return
    missing = sorted(made_of[key] for key in made_of.keys() - given.keys())
    other = sorted(given[key] for key in given.keys() - made_of.keys())
    parts = [f"it was made of {', '.join(missing)}"] if missing else []
    parts += [f"{', '.join(other)} {'is' if len(other) == 1 else 'are'} not what it was made of"] if other else []
    raise InputError(f"is of other files: {'; '.join(parts)}", where=f"--result {path}", fix=AGAIN)


def _of_section(
    document: AnalysisDocument, path: str, number: int | None, section: Section
) -> list[tuple[str, KeyScheme]]:
    assert section.data is not None
    table = next(
        (t for t in document.tables if t.table == section.table and t.kind == section.kind),
        None,
    )
    if table is None:
        names = ", ".join(sorted({t.table for t in document.tables}))
        raise InputError(f"has no table {section.table}; it has {names}", where=f"--result {path}", fix=AGAIN)
    out: list[tuple[str, AnalysisScheme]] = []
    if table.current is not None:
        out.append((CURRENT, table.current))
    if number is not None:
        schemes = [s for s in (table.recommended, *table.alternatives) if s is not None]
        chosen = next((s for s in schemes if s.rank == number), None)
        if chosen is None:
            ranks = ", ".join(str(s.rank) for s in schemes if s.rank is not None)
            raise UsageError(f"{path} has no scheme {number}", where="--scheme", fix=f"it has {ranks}")
        out.append((f"scheme {number}", chosen))
    elif table.recommended is not None:
        out.append((RECOMMENDED, table.recommended))
    types = section.data.types
    return distinct([(label, _read(scheme, f"--result {path}").scheme(types)) for label, scheme in out])


def _read(scheme: AnalysisScheme, where: str) -> Candidate:
    """A scheme of a result with its index rows. UsageError, by ``Candidate.scheme``, where its templates are none."""
    from pkadvisor.design.keys.candidate_file import Candidate, KeyTemplates

    rows = [(KeyTemplates(row.partition_key, row.row_key, where), row.copy) for row in scheme.index_rows]
    return Candidate(KeyTemplates(scheme.partition_key, scheme.row_key, where), tuple(rows))


SAME = " = "
"""Between the labels of keys that are more than one design."""


def distinct(schemes: list[tuple[str, KeyScheme]]) -> list[tuple[str, KeyScheme]]:
    """Each scheme once, with all of its labels: keys that are kept are both current and recommended."""
    out: dict[str, tuple[str, KeyScheme]] = {}
    for label, scheme in schemes:
        before = out.get(scheme.text)
        out[scheme.text] = (label, scheme) if before is None else (f"{before[0]}{SAME}{label}", scheme)
    return list(out.values())

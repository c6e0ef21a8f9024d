"""Documents that were written before, read back: a file is taken for what it may be, somebody else's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pkadvisor.documents.analysis import AnalysisDocument
from pkadvisor.documents.analysis_scheme import AnalysisScheme
from pkadvisor.documents.schema_errors import check
from pkadvisor.documents.score import ScoreDocument
from pkadvisor.errors import InputError, UsageError
from pkadvisor.files import read_bytes

RESULT, SCORE, STRESS = "pkadvisor result", "pkadvisor score", "pkadvisor stress"
REVIEW, COMPARISON = "pkadvisor review", "pkadvisor comparison"
DOCUMENTS = (RESULT, STRESS, REVIEW, COMPARISON, SCORE)
"""What there can be a page of."""
BYTES_MAX = 200_000_000
_WRITES = {STRESS: "advisor stress … --out json=stress.json writes one"}


def load_stored(path: Path | str, where: str) -> AnalysisDocument | ScoreDocument:
    """A result or a score card that keeps to its schema. UsageError (2) where there is no file, InputError (3) where it
    is neither."""
    document = load_document(path, where, kinds=(RESULT, SCORE))
    value: AnalysisDocument | ScoreDocument = check(document, f"{where} {path}".strip())
    return value


def load_document(path: Path | str, where: str, *, kinds: tuple[str, ...]) -> dict[str, Any]:
    """A document of one of the ``kinds``, of a version that is read here; what is in it is not looked at.

    UsageError (2) where there is no file, InputError (3) where it is something else.
    """
    path = Path(path)
    name = f"{where} {path}".strip()
    writes = _WRITES.get(kinds[0], "advisor analyze … --out json=result.json writes one")
    try:
        document = json.loads(read_bytes(path, BYTES_MAX), parse_constant=_no_number)
    except OSError as error:
        raise UsageError(f"cannot be read: {error.strerror or error}", where=name, fix="name a result file") from None
    except (ValueError, RecursionError):
        raise InputError("is not JSON", where=name, fix=writes) from None
    kind = document.get("document") if isinstance(document, dict) else None
    if kind not in kinds:
        raise InputError("is not a stress result" if kinds == (STRESS,) else "is not a result", where=name, fix=writes)
    version = str(document.get("schema_version"))
    if version.split(".")[0] != "1":
        fix = "analyse again" if kind == RESULT else "run the command that made it again"
        raise InputError(f"is of version {version[:20]}, which is not read here", where=name, fix=fix)
    return dict(document)


def _no_number(text: str) -> None:
    """JSON has no NaN and no infinity."""
    raise ValueError(text)


def scheme_text(scheme: AnalysisScheme) -> str:
    """A scheme in one line, as it is written on the command line and in a file of candidates."""
    rows = ""
    for row in scheme.index_rows:
        same = row.partition_key == scheme.partition_key
        where = row.row_key if same else f"{quoted(row.partition_key)} | {quoted(row.row_key)}"
        rows += f" + {where} ({row.copy})"
    return f"{quoted(scheme.partition_key)} | {quoted(scheme.row_key)}{rows}"


def quoted(template: str) -> str:
    """A template, or two quotes for the empty key."""
    return template or "''"

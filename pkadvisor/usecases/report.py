"""``advisor report``: a document that was written before, to be drawn."""

from __future__ import annotations

from typing import Any

from pkadvisor.errors import InputError
from pkadvisor.report.documents.stored import DOCUMENTS, load_document


def document_of(path: str) -> dict[str, Any]:
    """The document of a file; InputError (3) where it is none that there can be a page of, or where it departs from
    its schema or has lists that do not go together."""
    from pkadvisor.report.documents.schema_errors import departure, uneven

    document = load_document(path, "", kinds=DOCUMENTS)
    try:
        wrong = departure(document) or uneven(document)
    except RecursionError:
        wrong = "something in it is nested too deeply"
    if wrong:
        raise InputError(f"is not whole: {wrong}", where=path, fix="made by another version? run it again")
    return document

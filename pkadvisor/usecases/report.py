"""``advisor report``: a document that was written before, to be drawn."""

from __future__ import annotations

from typing import Any

from pkadvisor.documents.schema_errors import check
from pkadvisor.report.documents.stored import DOCUMENTS, load_document


def document_of(path: str) -> dict[str, Any]:
    """The document of a file; InputError (3) where it is none that there can be a page of, or not whole."""
    document = load_document(path, "", kinds=DOCUMENTS)
    check(document, path)
    return document

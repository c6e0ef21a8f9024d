"""``advisor report``: a document that was written before, to be drawn, and what is wrong with one that cannot be."""

from __future__ import annotations

from typing import Any

from pkadvisor.errors import InputError
from pkadvisor.report.documents.stored import DOCUMENTS, load_document

SLIPS = (KeyError, IndexError, TypeError, ValueError, AttributeError, ArithmeticError)
"""What drawing ends with where a document has not the shape that it should have, or where the drawing is wrong."""


def document_of(path: str) -> dict[str, Any]:
    """The document of a file; InputError (3) where it is none that there can be a page of."""
    return load_document(path, "", kinds=DOCUMENTS)


def mistake_of_document(error: Exception, document: dict[str, Any], name: str) -> Exception:
    """The mistake of the document that is behind an error, with its file; the error itself where it is a bug of ours:
    a document that keeps to its schema can be drawn."""
    slip = error.__cause__ if isinstance(error, InputError) else error
    if not isinstance(slip, SLIPS):  # the drawing itself found what is missing
        assert isinstance(error, InputError)
        return InputError(error.what, where=name, fix=error.fix)
    from pkadvisor.report.documents.schema_errors import departure, uneven

    wrong, fix = departure(document) or uneven(document), "made by another version? run it again"
    return InputError(f"is not whole: {wrong}", where=name, fix=fix) if wrong else slip

"""A design file read: YAML, checked against its schema, then what its values say together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from pkadvisor.errors import UsageError, of_several
from pkadvisor.files import head_of
from pkadvisor.observe.design_file.declaration import NAMES_ALLOWED, Declaration, TableDeclaration, is_table_name
from pkadvisor.observe.design_file.declaration_build import TableBuilder
from pkadvisor.observe.design_file.declaration_errors import refusals
from pkadvisor.observe.design_file.declaration_model import DesignModel
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_, read_text
from pkadvisor.observe.design_file.default_names import name_what_has_no_name

_DESIGN_HEAD: Final = re.compile(rb'^[\s{]*"?schema"?\s*:\s*\d[\s,]*"?tables"?\s*:\s*(\{|\n)')
_COMMENTS: Final = re.compile(rb"#[^\n]*")


def is_design(path: Path) -> bool:
    """Whether a file begins as a design does: with its schema and its tables."""
    return _DESIGN_HEAD.search(_COMMENTS.sub(b"", head_of(path))) is not None


def load_declaration(path: Path | str, text: str | None = None) -> Declaration:
    """Read and check a design file; ``text`` takes the place of the file's content.

    Raises UsageError with ``FILE:LINE:COLUMN`` for the first thing that is wrong, in file order; the next ones are told
    in a line each.
    """
    return read_declaration(path, text)[0]


def read_declaration(
    path: Path | str, text: str | None = None, *, any_names: bool = False
) -> tuple[Declaration, Document]:
    """As ``load_declaration``, and the document, which knows the place of every value; with ``any_names`` also where
    the service refuses the name of a table for its hyphens, its underscores or its length."""
    from pydantic import ValidationError

    document = Document(str(path), read_text(Path(path)) if text is None else text)
    if document.content is None:
        raise UsageError("the design file is empty", where=str(path), fix="start with schema: 1 and tables:")
    name_what_has_no_name(document.content)
    try:
        design = DesignModel.model_validate(document.content)
    except ValidationError as error:
        raise of_several(refusals(document, error)) from None
    folded: dict[str, str] = {}
    for name in design.tables:
        at: Path_ = ("tables", name)
        if not is_table_name(name, meant=any_names):
            what = f"'{name}' is not a table name"
            raise document.error(at, what, NAMES_ALLOWED, at_key=True)
        if name.lower() in folded:
            what = f"'{name}' and '{folded[name.lower()]}' are one table: names ignore case"
            raise document.error(at, what, "merge them", at_key=True)
        folded[name.lower()] = name
    tables, errors = list[TableDeclaration](), list[UsageError]()
    for name, table in design.tables.items():
        builder = TableBuilder(document, name, table)
        with builder.collected():
            tables.append(builder.declaration())
        errors += builder.errors
    if errors:
        raise of_several(errors)
    return Declaration(str(path), tuple(tables)), document

"""A design file read: YAML, checked against its schema, then what its values say together."""

from __future__ import annotations

from pathlib import Path

from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration import TABLE_NAME, Declaration
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_, read_text


def load_declaration(path: Path | str, text: str | None = None) -> Declaration:
    """Read and check a design file; ``text`` takes the place of the file's content.

    Raises UsageError with ``FILE:LINE:COLUMN`` for the first thing that is wrong, in file order.
    """
    return read_declaration(path, text)[0]


def read_declaration(path: Path | str, text: str | None = None) -> tuple[Declaration, Document]:
    """As ``load_declaration``, and the document, which knows the place of every value."""
    from pydantic import ValidationError

    from pkadvisor.observe.design_file.declaration_build import TableBuilder
    from pkadvisor.observe.design_file.declaration_errors import first_error
    from pkadvisor.observe.design_file.declaration_model import DesignModel

    document = Document(str(path), read_text(Path(path)) if text is None else text)
    if document.content is None:
        raise UsageError("the design file is empty", where=str(path), fix="start with schema: 1 and tables:")
    try:
        design = DesignModel.model_validate(document.content)
    except ValidationError as error:
        raise first_error(document, error) from None
    folded: dict[str, str] = {}
    for name in design.tables:
        at: Path_ = ("tables", name)
        if not TABLE_NAME.fullmatch(name) or name.lower() == "tables":
            what = f"'{name}' is not a table name"
            fix = "3 to 63 ASCII letters and digits, a letter first; 'tables' is reserved"
            raise document.error(at, what, fix, at_key=True)
        if name.lower() in folded:
            what = f"'{name}' and '{folded[name.lower()]}' are one table: names ignore case"
            raise document.error(at, what, "merge them", at_key=True)
        folded[name.lower()] = name
    tables = tuple(TableBuilder(document, n, t).declaration() for n, t in design.tables.items())
    return Declaration(str(path), tables), document

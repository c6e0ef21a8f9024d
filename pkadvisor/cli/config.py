"""``advisor config``: the published shapes of what is read and written."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pkadvisor.cli.console import write_bytes
from pkadvisor.cli.shared import Shared, examples, option, unfold
from pkadvisor.resources import resource

EPILOG = examples("advisor config schema --of design", "advisor config schema --of result")


class Document(StrEnum):
    design = "design"
    result = "result"
    profile = "profile"
    score = "score"
    comparison = "comparison"
    explanation = "explanation"
    review = "review"


@unfold
def schema(
    *,
    of: Annotated[Document, option("--of", help="Which document.")],
    shared: Shared,
) -> None:
    """Print the JSON Schema of a document, whatever --format says."""
    write_bytes(resource("schemas", f"{of}.schema.json").read_bytes())

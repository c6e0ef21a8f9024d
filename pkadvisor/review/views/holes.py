"""The variable parts of a template, and the text outside of them."""

from __future__ import annotations

import re

HOLES = re.compile(r"\{\{|\}\}|\{[^{}]*\}")


def texts_outside(template: str) -> str:
    """The literal text of a template, without its holes."""
    return HOLES.sub(lambda m: m[0][0] if m[0] in ("{{", "}}") else "", template)

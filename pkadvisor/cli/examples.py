"""The examples at the end of a help page."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """The end of a help page; every line is run by a test, in order, in one empty folder."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)

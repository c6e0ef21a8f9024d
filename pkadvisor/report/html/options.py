"""What the reader of a page may choose; light, so that a command line needs no templates to parse it."""

from __future__ import annotations

from pkadvisor.values import dataclass

MAX_BYTES = 1_500_000
MIN_BYTES = 60_000
"""Less than this the frame of a page alone takes."""


@dataclass(frozen=True, slots=True)
class HtmlOptions:
    """``title`` None for one made of the document; ``theme`` auto, light or dark; ``sections`` empty for all."""

    title: str | None = None
    theme: str = "auto"
    max_bytes: int = MAX_BYTES
    sections: tuple[str, ...] = ()

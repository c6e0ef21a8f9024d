"""What the parts of all documents share: closed objects, and numbers with their bounds."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

Number = int | float
"""A whole number is written without a point, so both are told apart."""
Count = Annotated[int, Meta(ge=0)]
Positive = Annotated[int, Meta(ge=1)]
Amount = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Share = Annotated[int, Meta(ge=0, le=1)] | Annotated[float, Meta(ge=0, le=1)]
Words = Annotated[str, Meta(min_length=1)]


class Part(Struct, frozen=True):
    """An object of a document. It has the members of its fields; what a later minor version adds is passed over."""


class Tool(Part, frozen=True, kw_only=True):
    """The program that wrote a document."""

    name: Literal["pkadvisor"]
    version: Annotated[str, Meta(description="Version of the program that wrote the document.")]


def said(description: str) -> Meta:
    """What a member holds, for readers of the schema."""
    return Meta(description=description)

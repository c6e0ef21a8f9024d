"""``advisor explain``: what a key is made of, and the templates that the keys of the data look like."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from msgspec.structs import asdict
from msgspec.structs import replace as replace_members

from pkadvisor.design.choice.sections import Section, inferred, observed, types_of
from pkadvisor.design.keys.infer.cut import key_text
from pkadvisor.design.keys.infer.proof import read_part
from pkadvisor.design.keys.infer.shapes import GUID_TEXT, classify
from pkadvisor.design.keys.keyreader import reads
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.template import decoder, separators
from pkadvisor.design.keys.transforms import MISSING, Context, Literal, Part
from pkadvisor.design.load.keyfacts import forbidden_in
from pkadvisor.documents.explanation import (
    ExplanationFit,
    ExplanationKey,
    ExplanationKeys,
    ExplanationKeysKind,
    ExplanationPiece,
    ExplanationShape,
)
from pkadvisor.errors import InputError
from pkadvisor.inputs import AnalyzeRequest, read_sections
from pkadvisor.progress import Progress
from pkadvisor.table.edm import KEYS, EdmType, format_ticks, utf16_key
from pkadvisor.usecases.explain import DOCUMENT, SCHEMA_VERSION


def explain_key(request: AnalyzeRequest, value: str, progress: Progress) -> ExplanationKey:
    """One PartitionKey or RowKey taken apart: through the design's templates, else through its shape."""
    fits: list[ExplanationFit] = []
    tried: list[str] = []
    section: Section | None = None
    for section, types, scheme in _schemes(request, progress):
        for place, parts in _places(scheme):
            if not parts:
                continue
            taken = take_apart(parts, value, types)
            tried.append(f"{place}: {''.join(map(str, parts))}")
            if taken is None:
                continue
            fit = ExplanationFit(table=section.table, kinds=[], place=place, **asdict(taken))
            same = next((other for other in fits if replace_members(other, kinds=[]) == fit), None)  # of another kind
            if same is None:
                fits.append(same := fit)
            if section.kind is not None:
                same.kinds.append(section.kind)
    fits = [fit for fit in fits if fit.exact] or fits
    shape = None if fits or tried else _shape(value)
    return ExplanationKey(
        document=DOCUMENT,
        schema_version=SCHEMA_VERSION,
        table=section.table if section and fits else None,
        kind=section.kind if section and fits else None,
        value=value,
        utf16_units=len(utf16_key(value)) // 2,
        forbidden=forbidden_in(value),
        fits=fits,
        tried=list(dict.fromkeys(tried)),
        shape=shape,
    )


def _schemes(request: AnalyzeRequest, progress: Progress) -> list[tuple[Section, Mapping[str, EdmType], KeyScheme]]:
    """The schemes of a design, or those that the keys in the data look like."""
    if not (request.design or request.data or request.profiles or request.logs):
        return []
    out: list[tuple[Section, Mapping[str, EdmType], KeyScheme]] = []
    for section, _ in read_sections(request, progress, draft=False):
        _, current, _ = observed(section)
        types = types_of(section)
        if current is not None:
            out.append((section, types, current))
        elif section.data is not None and set(KEYS) <= set(section.data.types):
            for kind in inferred(section).kinds:
                if kind.explained:
                    out.append((section, dict(kind.types), KeyScheme(kind.key)))
    return out


def _places(scheme: KeyScheme) -> list[tuple[str, tuple[Part, ...]]]:
    out = []
    for number, (key, _) in enumerate(scheme.each_key()):
        row = "" if number == 0 else f" of index row {number}"
        out += [(f"PartitionKey{row}", key.partition), (f"RowKey{row}", key.row)]
    return list(dict.fromkeys(out))


def take_apart(parts: tuple[Part, ...], text: str, types: Mapping[str, EdmType]) -> ExplanationShape | None:
    """The pieces of a key and what they mean; None where the text does not fit the template.

    ``exact`` says whether the template writes this very text for these values.
    """
    known = {**_needed(parts), **types}
    context = Context(known, separators(parts))
    match = decoder(parts, context).fullmatch(text) if reads(parts, text) else None
    if match is None:
        return None
    pieces: list[ExplanationPiece] = []
    exact, index = True, 0
    for part in parts:
        if part.constant is not None:
            pieces.append(ExplanationPiece(part=str(part), text=part.constant, value=None, words="fixed text"))
            continue
        piece = match.group(f"g{index}")
        index += 1
        value, words, same = _meaning(part, piece, context)
        exact = exact and same
        pieces.append(ExplanationPiece(part=str(part), text=piece, value=value, words=words))
    return ExplanationShape(template="".join(map(str, parts)), pieces=pieces, exact=exact)


def _needed(parts: tuple[Part, ...]) -> dict[str, EdmType]:
    """The type that a part needs of a property of which nothing is known."""
    return {part.properties[0]: part.usual_type for part in parts if part.usual_type is not None}


def _meaning(part: Part, piece: str, context: Any) -> tuple[str | None, str, bool]:
    """(the value behind a piece, in words, whether the template would write the piece so)."""
    names = ", ".join(part.properties)
    hashing = part.hashing
    if hashing is not None:
        known = hashing.buckets_total > 10_000 or piece in hashing.buckets()
        return None, f"one of {hashing.buckets_total:,} buckets of {names}; a hash cannot be undone", known
    if piece == MISSING:
        return None, f"{names} is missing", True
    try:
        value = read_part(part, piece, context.types)
    except (ValueError, OverflowError) as error:
        return None, str(error) or "cannot be read", not part.decodes and part.period is None
    timed = part.tells_time or context.edm(part.properties[0]) is EdmType.DATETIME
    shown = format_ticks(value, trim=True) if timed and isinstance(value, int) else str(value)
    again = part.encode({part.properties[0]: value}, context)
    words = f"the period of {names} that begins then" if part.period is not None else names
    return shown, words, again == piece


def _shape(value: str) -> ExplanationShape | None:
    """What a lone key looks like: its pieces between separators, each by its own shape. A guess, and called one."""
    whole = classify([value]).certain or re.fullmatch(GUID_TEXT, value)
    pieces, between = ((value,), ()) if whole else key_text(value).masked
    parts: list[Part] = []
    types: dict[str, EdmType] = {}
    for number, piece in enumerate(pieces):
        if number:
            parts.append(Literal(between[number - 1]))
        if piece:
            shape = classify([piece])
            name = f"p{len(types) + 1}"
            types[name] = shape.edm
            parts.append(shape.part(name))
    return take_apart(tuple(parts), value, types)


def _template(parts: tuple[Part, ...], *, redact: bool) -> str:
    """A template; its letters and digits outside braces are values of the data where these are to be hidden."""
    hidden = [redact and p.constant is not None and any(c.isalnum() for c in p.constant) for p in parts]
    return "".join("[text]" if hide else str(p) for p, hide in zip(parts, hidden, strict=True))


def explain_keys(request: AnalyzeRequest, progress: Progress) -> ExplanationKeys:
    """The templates that the keys in the data look like, with the share of rows that each explains."""
    for section, _ in read_sections(request, progress, draft=False):
        if section.data is None or not set(KEYS) <= set(section.data.types):
            continue
        inference = inferred(section)
        return ExplanationKeys(
            document=DOCUMENT,
            schema_version=SCHEMA_VERSION,
            table=section.table,
            kind=section.kind,
            rows=inference.rows,
            explained=inference.explained,
            complete=section.data.complete,
            kinds=[
                ExplanationKeysKind(
                    label=f"kind {number}" if request.redact else kind.label,
                    partition_key=_template(kind.key.partition, redact=request.redact),
                    row_key=_template(kind.key.row, redact=request.redact),
                    types={n: str(t) for n, t in dict(kind.types).items()},
                    rows=kind.rows,
                    explained=kind.explained,
                    example=None if request.redact else list(kind.example),
                    notes=[] if request.redact else list(kind.notes),
                )
                for number, kind in enumerate(inference.kinds, 1)
            ],
        )
    raise InputError("the data has no PartitionKey and RowKey", fix="give data that was exported from a table")

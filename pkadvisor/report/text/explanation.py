"""An explanation as text: a query under a scheme, a key taken apart, the shape of given keys, a scheme."""

from __future__ import annotations

from msgspec import to_builtins

from pkadvisor.documents.explanation import (
    Explanation,
    ExplanationFit,
    ExplanationKey,
    ExplanationKeys,
    ExplanationQuery,
    ExplanationShape,
)
from pkadvisor.numbers import amount, plural
from pkadvisor.report.text.page import Page, ascii_json
from pkadvisor.report.text.scheme_page import write_scheme


def render_explanation(explanation: Explanation, *, width: int, color: bool, ascii_only: bool) -> str:
    """The whole page; a pure function of the explanation."""
    page = Page(max(24, width), color, ascii_only)
    match explanation:
        case ExplanationQuery():
            _query(page, explanation)
        case ExplanationKey():
            _key(page, explanation)
        case ExplanationKeys():
            _keys(page, explanation)
        case _:
            write_scheme(page, explanation)
    return "\n".join(page.lines).rstrip("\n") + "\n"


def dump_explanation(document: Explanation) -> str:
    """The document as JSON, keys in the order in which they are read."""
    head = {"document": document.document, "schema_version": document.schema_version}
    return ascii_json(head | to_builtins(document))


def _query(page: Page, document: ExplanationQuery) -> None:
    query, scheme = document.query, document.scheme
    owner = document.table + (f" · {document.kind}" if document.kind else "")
    page.line(f"{query.name}   {query.operation}, {amount(query.rate_per_s)}/s, on {owner}", "head")
    if query.filter:
        page.record("filter", query.filter, 10)
    if query.order_by:
        page.record("order by", ", ".join(query.order_by), 10)
    if query.top is not None:
        page.record("first", f"{query.top:,}", 10)
    page.line()
    page.record("under", scheme.main, 10)
    for number, row in enumerate(scheme.index_rows, 1):
        page.record(f"+ row {number}", row, 10)
    page.record("", f"({scheme.which})", 10)
    for warning in document.warnings:
        page.record("! ", warning, 10)
    page.line()
    if document.access is None:
        for reason in document.why_no_better:
            page.wrapped(reason)
        return
    _plan(page, document)
    _counts(page, document)
    for note in document.notes:
        page.record("note", note, 10)
    _key_parts_and_reasons(page, document)


def _plan(page: Page, document: ExplanationQuery) -> None:
    """The access, the requests that are sent, and what the client does with the answers."""
    query = document.query
    via = f" via {document.via}" if document.scheme.index_rows else ""
    page.record("access", f"{document.access}{via}", 10)
    for text in document.filters:
        page.record("request", text or "everything, without a $filter", 10)
    if document.top is not None:
        page.record("", f"$top={document.top}", 10)
    work = list(document.client_work)
    if query.operation in ("update", "upsert", "delete"):
        work.append(f"{query.operation} what was found, by its full key, in every row of the scheme")
    for position, text in enumerate(work):
        page.record("" if position else "then", text, 10)


def _counts(page: Page, document: ExplanationQuery) -> None:
    """Entities read and returned, requests and pages, or why they are not known."""
    counts = document.counts
    if counts is None:
        page.record("reads", document.why_not_counted or "", 10)
        return
    read, returned = amount(counts.entities_read), amount(counts.entities_returned)
    upper = counts.entities_read_max
    most = f" (at most {amount(upper)})" if upper > counts.entities_read else ""
    page.record("reads", f"{read} {'entity' if read == '1' else 'entities'}{most} for {returned} returned", 10)
    requests, queries = counts.requests, counts.fan_out
    pages = f": {_times(queries, 'query', 'queries')} of {_times(counts.pages_per_request, 'page', 'pages')}"
    text = _times(requests, "request", "requests") + (pages if amount(requests) != "1" else "")
    page.record("in", f"{text} (means, {document.basis})", 10)


def _key_parts_and_reasons(page: Page, document: ExplanationQuery) -> None:
    """The key part by part, why no better plan exists, and the requests for one entity."""
    page.head("The key, part by part")
    for part in document.parts:
        page.record(f"{part.key}  {part.part}", part.words, 34)
    page.head("Why no better plan exists under this scheme")
    for reason in document.why_no_better:
        page.wrapped(reason, "  - ", "    ")
    for other in document.other_rows:
        page.wrapped(f"via {other.row} it would be a {other.would}", "  - ", "    ")
    if document.examples:
        page.line()
        total = document.examples_total
        shown = "" if total == len(document.examples) else f", the first {len(document.examples)} of {total:,}"
        page.line(f"For one entity of the data{shown}", "head")
        for text in document.examples:
            page.record("", text or "everything, without a $filter", 0)


def _times(count: float, one: str, more: str) -> str:
    shown = amount(count)
    return f"{shown} {one if shown == '1' else more}"


def _key(page: Page, document: ExplanationKey) -> None:
    page.record("key", document.value, 10)
    page.record(
        "length",
        f"{plural(document.utf16_units, 'UTF-16 unit')}; a key may have 1,024, and 512 (1 KiB) by some documents",
        10,
    )
    if document.forbidden:
        page.record("illegal", f"the service forbids {' '.join(document.forbidden)} in keys", 10)
    for fit in document.fits:
        page.line()
        owners = f" · {', '.join(fit.kinds)}" if fit.kinds else ""
        page.line(f"{fit.place} of {fit.table}{owners}", "head")
        page.record("template", fit.template, 10)
        _pieces(page, fit)
    if document.shape:
        page.head("By its form alone (give --design for its meaning)")
        page.record("template", document.shape.template, 10)
        _pieces(page, document.shape)
    elif not document.fits:
        page.line()
        page.wrapped("it fits no template of the design:" if document.tried else "it has no recognisable parts")
        for template in document.tried:
            page.record("", template, 2)


def _pieces(page: Page, fit: ExplanationShape | ExplanationFit) -> None:
    for piece in fit.pieces:
        value = f" = {piece.value}" if piece.value is not None else ""
        page.record(piece.part, f"{piece.text!r}  {piece.words}{value}", 24)
    if not fit.exact:
        page.wrapped("the template would write these values differently: the key was made in another way")


def _keys(page: Page, document: ExplanationKeys) -> None:
    rows, explained = document.rows, document.explained
    share = f"{100 * explained / rows:.4g} %" if rows else "none"
    looked = "" if document.complete else ", a sample of the data"
    page.line(f"{document.table}: templates that write {explained:,} of {rows:,} keys ({share}){looked}", "head")
    for kind in document.kinds:
        page.line()
        page.record(kind.label or "keys", f"{plural(kind.rows, 'row')}, {kind.explained:,} explained", 14)
        if not kind.explained:
            for note in kind.notes:
                page.wrapped(note, "    ")
            continue
        page.record("PartitionKey", kind.partition_key or "''", 14)
        page.record("RowKey", kind.row_key or "''", 14)
        if kind.types:
            page.record("types", ", ".join(f"{name}: {edm}" for name, edm in kind.types.items()), 14)
        if kind.example:
            page.record("example", " | ".join(kind.example), 14)
        for note in kind.notes:
            page.record("note", note, 14)

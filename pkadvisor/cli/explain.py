"""``advisor explain``: why a query is served as it is, what a key is made of, what keys look like."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pkadvisor.cli.analyze import build_request, listen
from pkadvisor.cli.console import (
    escape_page,
    is_terminal,
    redact_result,
    speaks_unicode,
    wants_color,
    width_of,
    write_bytes,
    write_text,
)
from pkadvisor.cli.inputs import settle
from pkadvisor.cli.shared import Format, Reading, Shared, examples, option, unfold
from pkadvisor.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from pkadvisor.advisor import AnalyzeRequest
    from pkadvisor.progress import Progress

EPILOG = examples(
    "advisor explain query:by-age --sample footrace",
    "advisor explain query:by-age --sample footrace --scheme recommended",
    "advisor explain key '2023 Chicago Marathon__Full' --sample footrace",
    "advisor explain key 2517906304000000000_07",
)
QUERY = "query:"
TARGETS = ("query:NAME", "key", "keys")


@unfold
def explain(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="query:NAME, key VALUE or keys.")],
    texts: Annotated[
        list[str] | None,
        typer.Argument(metavar="[VALUE] [DATA]", help="The key's text for 'key'; then data files.", show_default=False),
    ] = None,
    *,
    reading: Reading,
    scheme: Annotated[
        str | None,
        option(
            "--scheme",
            metavar="WHICH",
            help="For query: current (the keys in use), recommended, a rank such as 2, or 'PARTITIONKEY | ROWKEY'.",
        ),
    ] = None,
    shared: Shared,
) -> None:
    """Explain a query's plan under a scheme, take a key apart, or infer the templates of given keys.

    query:NAME tells the access, the requests, entities read against returned, and why no better plan exists under the
    scheme. key VALUE tells what each piece of a PartitionKey or RowKey means. keys tells the templates that the keys in
    DATA look like, with the share of rows that each explains.
    """
    given = list(texts or ())
    use_case = _use_case(target, given, scheme)
    needs_data = target != "key" or given or reading.sample or reading.design or reading.log or reading.profile
    command = "explain query:by-bib" if target != "key" else "explain key KEY"
    request = _request(given, reading, command, needed=bool(needs_data))
    with listen(shared) as progress:
        document = use_case(request, progress)
    _show(document, shared)


def _use_case(
    target: str, given: list[str], scheme: str | None
) -> Callable[[AnalyzeRequest, Progress], dict[str, Any]]:
    """What to do for a target; takes the key's text off the words."""
    from pkadvisor import explainer

    if target.startswith(QUERY) and len(target) > len(QUERY):
        name = target.removeprefix(QUERY)
        return lambda request, progress: explainer.explain_query(request, name, scheme, progress)
    if scheme is not None:
        raise UsageError("--scheme goes with query:NAME only", where="--scheme")
    if target == "key":
        if not given:
            raise UsageError(
                "which key?", where="key", fix="for example: advisor explain key contoso_0b --design design.yaml"
            )
        value = given.pop(0)
        return lambda request, progress: explainer.explain_key(request, value, progress)
    if target == "keys":
        return explainer.explain_keys
    hint = did_you_mean(target, TARGETS) or f"there are {', '.join(TARGETS)}"
    raise UsageError(f"'{target}' cannot be explained", where="TARGET", fix=hint)


def _request(given: list[str], reading: Reading, command: str, *, needed: bool) -> AnalyzeRequest:
    if not needed:
        from pkadvisor.advisor import AnalyzeRequest

        return replace(AnalyzeRequest(), seed=reading.seed)
    return build_request(settle(given, reading, command=command), reading)


def _show(document: dict[str, Any], shared: Shared) -> None:
    from pkadvisor.report.explanation import dump_explanation, render_explanation

    if shared.format is Format.json:
        write_bytes(redact_result(dump_explanation(document)).encode())
        return
    color = wants_color(shared.color, terminal=is_terminal(sys.stdout))
    page = render_explanation(
        document, width=width_of(sys.stdout), color=color, ascii_only=not speaks_unicode(sys.stdout)
    )
    write_text(escape_page(redact_result(page), color=color))

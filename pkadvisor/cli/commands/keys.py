"""``advisor keys``: what could be a key of data, before any query is known."""

from __future__ import annotations

import shlex

from pkadvisor.cli.commands.analyze import build_request, listen
from pkadvisor.cli.console import redact_result, write_bytes, write_text
from pkadvisor.cli.inputs import settle
from pkadvisor.cli.paging import text_page
from pkadvisor.cli.shared import DATA_FILES, Format, InputOptions, Shared, say_next, unfold


@unfold
def keys(
    data: list[str] | None = DATA_FILES,
    *,
    reading: InputOptions,
    shared: Shared,
) -> None:
    """Show what could be a key of data: what tells entities apart, and what divides them evenly.

    It needs no query and no design. For exported data it shows the templates of the keys that the data has. Which of
    the possible keys is good depends on the queries: 'advisor analyze' chooses once they are known.

    Examples:
        advisor keys --sample footrace
        advisor keys --sample microblog --format json
    """
    inputs = settle(data, reading, command="keys")
    request = build_request(inputs, reading)
    from pkadvisor.usecases.keys import possible_keys

    with listen(shared) as progress:
        document = possible_keys(request, progress)
    from pkadvisor.report.text.keys_page import render_keys
    from pkadvisor.report.text.page import ascii_json

    if shared.format is Format.json:
        write_bytes(redact_result(ascii_json(document)).encode())
        return
    write_text(text_page(render_keys, document, shared, True).decode())
    files = shlex.join(inputs.data)
    say_next(f"advisor init --from {files} writes the design to fill in with queries", shared)

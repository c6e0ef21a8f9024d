"""What reaches a terminal: nothing that could move it, colour it uninvited or carry a secret."""

from __future__ import annotations

import io
import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.cli.console import (
    escape,
    escape_page,
    make_console,
    redact,
    redact_result,
    speaks_unicode,
    wants_color,
    width_of,
)


@given(st.text(st.characters(exclude_categories=())))
def test_an_escaped_text_is_one_line_that_any_utf8_stream_can_carry(text: str) -> None:
    line = escape(text)
    line.encode("utf-8")
    assert len(line.splitlines()) <= 1
    assert not [c for c in line if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")]
    assert not set(line) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c\ufeff")


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m", "\\x9b31m"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("[bold]x[/bold] :smile:", "[bold]x[/bold] :smile:"),
        ("Zürich 東京 👩‍👩‍👧", "Zürich 東京 👩‍👩‍👧"),
    ],
)
def test_escapes(hostile: str, shown: str) -> None:
    assert escape(hostile) == shown


def test_a_page_keeps_line_ends_and_colour_only_where_colour_is_wanted() -> None:
    page = "\x1b[1mKEEP\x1b[0m\nkey \x1b]8;;x\x07 \x1b[2J\n"
    assert escape_page(page, color=False) == "\\x1b[1mKEEP\\x1b[0m\nkey \\x1b]8;;x\\x07 \\x1b[2J\n"
    assert escape_page(page, color=True) == "\x1b[1mKEEP\x1b[0m\nkey \\x1b]8;;x\\x07 \\x1b[2J\n"


@pytest.mark.parametrize(
    "text",
    [
        "AccountName=a;AccountKey=TOPSECRET==;EndpointSuffix=x",
        "https://a.table.example/T?sv=1&sig=TOPSECRET%3D&se=2",
        "SharedAccessSignature=sv=TOPSECRET;x",
        "accountkey=TOPSECRET",
        "T%3Fsig%3DTOPSECRET%26se",
        '{"url": "?sig=TOPSECRET", "b": 1}',
    ],
)
def test_secrets_are_hidden_and_the_rest_stays(text: str) -> None:
    hidden = redact(text)
    assert "TOPSECRET" not in hidden
    assert "***" in hidden
    assert hidden[-2:] == text[-2:] or text.endswith(("TOPSECRET", "%26se"))


def test_a_result_keeps_key_templates_that_look_like_signatures_and_stays_json() -> None:
    signature = "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789%2B%2F%3D"
    document = json.dumps({"key": "sig={sig}__42", "url": f"https://x/T?sig={signature}&a=1", "k": "AccountKey=abc"})
    cleaned = json.loads(redact_result(document))
    assert cleaned == {"key": "sig={sig}__42", "url": "https://x/T?sig=***&a=1", "k": "AccountKey=***"}


@pytest.mark.parametrize(
    ("choice", "terminal", "environment", "expected"),
    [
        ("auto", True, {"TERM": "xterm"}, True),
        ("auto", False, {"TERM": "xterm"}, False),
        ("auto", False, {"FORCE_COLOR": "1", "GITHUB_ACTIONS": "1"}, False),
        ("auto", True, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ("auto", True, {"NO_COLOR": "", "TERM": "xterm"}, True),
        ("auto", True, {"TERM": "dumb"}, False),
        ("auto", True, {"TERM": "dumb", "FORCE_COLOR": "1"}, True),
        ("never", True, {"FORCE_COLOR": "1"}, False),
        ("always", False, {"NO_COLOR": "1"}, True),
    ],
)
def test_colour(choice: str, terminal: bool, environment: dict[str, str], expected: bool) -> None:
    assert wants_color(choice, terminal=terminal, environment=environment) is expected


def test_a_console_without_colour_writes_no_escape_and_reads_no_markup() -> None:
    stream = io.StringIO()
    make_console(stream, color=False).print("[red]1.5[/red] :warning: https://x", style="bold red")
    assert stream.getvalue() == "[red]1.5[/red] :warning: https://x\n"


def test_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "132")
    assert width_of(io.StringIO()) == 132
    monkeypatch.setenv("COLUMNS", "wide")
    assert width_of(io.StringIO()) == 80


def test_only_utf_streams_speak_unicode() -> None:
    def stream(encoding: str) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(), encoding=encoding)

    assert speaks_unicode(stream("utf-8"))
    assert not speaks_unicode(stream("latin-1"))
    assert not speaks_unicode(stream("ascii"))
    assert not speaks_unicode(None)

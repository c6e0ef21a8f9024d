"""Which word of a command line is data and which is a log."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.cli.inputs import spread_logs


def test_every_flag_is_known_to_the_reader_of_logs() -> None:
    """An option without a value that is missing from FLAGS would swallow the word after it."""
    import typer.main

    from pkadvisor.cli.app import app
    from pkadvisor.cli.inputs import FLAGS

    group = typer.main.get_command(app)
    flags = {
        name
        for command in ("analyze", "explain", "profile", "stress")
        for parameter in group.commands[command].params  # type: ignore[attr-defined]
        if getattr(parameter, "is_flag", False)
        for name in parameter.opts
    }
    assert flags == set(FLAGS) - {"-h", "--help"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # a glob that the shell resolved
        ("analyze d.csv --log a.log b.log c.log", "analyze d.csv --log a.log --log b.log --log c.log"),
        ("analyze --log a.log b.log --design d.yaml", "analyze --log a.log --log b.log --design d.yaml"),
        ("analyze d.csv --log a.log.gz b.log.gz", "analyze d.csv --log a.log.gz --log b.log.gz"),
        ("profile --profile p.json --log a b.jsonl", "profile --profile p.json --log a --log b.jsonl"),
        ("analyze d.csv --log a.csv b.csv --log x y -q", "analyze d.csv --log a.csv --log b.csv --log x --log y -q"),
        ("analyze --log a.2026-01.jsonl a.2026-02.jsonl", "analyze --log a.2026-01.jsonl --log a.2026-02.jsonl"),
        # data after a log
        ("analyze --log a.log.gz d.csv.gz", "analyze --log a.log.gz d.csv.gz"),
        ("analyze --log a.log d.csv", "analyze --log a.log d.csv"),
        ("analyze --log a.log -q d.csv", "analyze --log a.log -q d.csv"),
        ("analyze --log a.log -", "analyze --log a.log -"),
        ("analyze d.csv --log a.log Kind=b.log", "analyze d.csv --log a.log Kind=b.log"),
        ("analyze --log a.log -- b.csv", "analyze --log a.log -- b.csv"),
        ("analyze --log=a.log d.csv", "analyze --log=a.log d.csv"),
        ("analyze --log a.log --top 3 d.csv", "analyze --log a.log --top 3 d.csv"),
        # not this command's business
        ("samples write a b", "samples write a b"),
        ("analyze --log", "analyze --log"),
    ],
)
def test_files_after_a_log(line: str, expected: str) -> None:
    assert spread_logs(line.split()) == expected.split()


@given(st.lists(st.sampled_from(["--log", "a.log", "b.csv", "-", "--", "-q", "--design", "k=v", "--log=x"])))
def test_no_word_is_lost_or_reordered(words: list[str]) -> None:
    spread = spread_logs(["analyze", *words])
    remaining = iter(spread)
    assert all(word in remaining for word in ["analyze", *words])
    assert len(spread) - len(words) - 1 == spread.count("--log") - words.count("--log")

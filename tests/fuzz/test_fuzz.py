"""Damaged inputs of every kind for some seconds, and the fuzzer itself: it sees what it looks for, and repeats it."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pkadvisor.errors import AdvisorError, InputError
from tests.fuzz import judge
from tests.fuzz.judge import judge_command, judge_read
from tests.fuzz.kinds import KINDS
from tests.fuzz.running import drawn, judged, run, workplace
from tests.fuzz.shrink import smallest
from tests.tiers import LONG, sizes

LONG_RUN = LONG == "fuzz"
SECONDS = float(os.environ.get("PKADVISOR_FUZZ_SECONDS", "300" if LONG_RUN else "8"))
"""For all kinds together."""
FIRST = random.SystemRandom().randrange(10**9) if LONG_RUN else 0
"""The short form has the same inputs on every machine, as many as there is time for."""


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    """The folder of valid files."""
    with workplace() as folder:
        yield folder


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", KINDS)
def test_damaged_inputs(name: str) -> None:
    tally = run(name, FIRST, seconds=SECONDS / len(KINDS))
    told = [f"python -m tests.fuzz --kind {name} --first {s} --inputs 1: {f} {c[:400]!r}" for s, f, c in tally.failures]
    assert told == []
    assert tally.inputs > 0


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.read is not None])
def test_valid_inputs_are_read(name: str) -> None:
    kind = KINDS[name]
    assert kind.read is not None
    for content in kind.valid():
        path = Path("valid" + kind.suffix)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        if name != "filter":  # of these some stand for values and some do not
            kind.read(path)


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("name", sizes(["profile"], [name for name, kind in KINDS.items() if kind.commands]))
def test_valid_inputs_go_through_every_command(name: str) -> None:
    """Those of several tables, kinds and designs too, which a damaged one often does not reach."""
    kind = KINDS[name]
    for content in kind.valid():
        for which in range(len(kind.commands)):
            assert judged(kind, content, True, which) is None, kind.commands[which]


def test_a_seed_is_the_same_input_every_time_and_another_one_another() -> None:
    for name, kind in KINDS.items():
        assert drawn(kind, 7) == drawn(kind, 7), name
        assert len({drawn(kind, seed)[0] for seed in range(20)}) > 10, name


# -- what it looks for ---------------------------------------------------------------------------------------------


def _traceback(_: Path) -> None:
    raise KeyError("x")


def _hang(_: Path) -> None:
    with contextlib.suppress(Exception):
        while True:
            time.process_time()


def _wait(_: Path) -> None:
    time.sleep(60)


def _memory(_: Path) -> None:
    assert len(bytes(range(256)) * 1_200_000) > 0


def _raw_message(_: Path) -> None:
    os.write(2, b"thread panicked at lib.rs\n")


def _five_lines(_: Path) -> None:
    sys.stderr.write("error: a\nb\nc\nd\ne\n")


def _long_word(_: Path) -> None:
    sys.stderr.write("error: " + "w" * 3000 + "\n")


def _control(_: Path) -> None:
    sys.stderr.write("error: \x1b[2J\n")


def _wrong_exit_code(_: Path) -> None:
    raise AdvisorError("x")


PLANTED = {
    "traceback": _traceback,
    "hang": _hang,
    "death": _memory,
    "raw message": _raw_message,
    "more than four lines": _five_lines,
    "echo": _long_word,
    "control character": _control,
    "exit code": _wrong_exit_code,
}


@pytest.mark.parametrize("what", PLANTED)
@pytest.mark.long("fuzz")
def test_each_kind_of_failure_is_seen(what: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gc.collect()  # garbage of earlier tests that goes meanwhile would hide what is held
    monkeypatch.setattr(judge, "READ_LIMIT_S", 5.0 if what == "death" else 0.2)
    monkeypatch.setattr(judge, "MEMORY_LIMIT_BYTES", 50 << 20)
    found = judge_read(PLANTED[what], tmp_path)
    assert found is not None
    assert found.what == what


@pytest.mark.long("fuzz")
def test_what_waits_for_ever_is_seen(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(judge, "READ_LIMIT_S", 0.02)
    found = judge_read(_wait, tmp_path)
    assert found is not None
    assert found.what == "hang"


def test_an_error_in_four_lines_is_no_failure(tmp_path: Path) -> None:
    def read(_: Path) -> None:
        raise InputError("a", where="b", excerpt="  c\n  ^", fix="d")

    assert judge_read(read, tmp_path) is None


@pytest.mark.usefixtures("place")
def test_a_bug_in_a_command_is_seen_with_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    import pkadvisor.review.rules.rule as rules

    assert judge_command(("rules", "explain", "PK303")) is None
    monkeypatch.setattr(rules, "load_rules", lambda *_, **__: 1 / 0)
    monkeypatch.setattr("pkadvisor.cli.commands.rules.load_rules", lambda *_, **__: 1 / 0, raising=False)
    found = judge_command(("rules", "explain", "PK303"))
    assert found is not None
    assert found.what == "exit code"
    assert found.place.startswith("cli/commands/")


@pytest.mark.usefixtures("place")
@pytest.mark.long("fuzz")
def test_a_planted_mistake_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    import pkadvisor.limits as limits

    def careless(*_: object) -> None:
        raise ZeroDivisionError

    kind = KINDS["limits"]
    assert judged(kind, kind.valid()[0], False, 0) is None
    monkeypatch.setattr(limits, "_check_value", careless, raising=False)
    monkeypatch.setattr(limits, "load_limits", careless)
    tally = run("limits", 0, seconds=None, inputs=3)
    assert [failure.what for _, failure, _ in tally.failures] == ["traceback"]
    assert tally.failures[0][2] == b""


def test_shrinking_leaves_what_matters() -> None:
    text = b"\n".join(b"line %d" % i for i in range(40))
    assert smallest(text, lambda data: b"7" in data and b"3" in data) in (b"3\n7", b"37", b"7\n3")
    document = b'{"a": [1, {"b": "x", "c": 2}], "d": "y"}'
    assert smallest(document, lambda data: b'"c": 2' in data and data.startswith(b"{")) == b'{"c": 2'

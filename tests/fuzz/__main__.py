"""Damaged inputs: ``python -m tests.fuzz --seconds N [--first S] [--kind NAME] [--inputs N] [--keep FOLDER]``.

Every kind gets an equal share of the seconds, in a process of its own, where its inputs run one after the other. A
failure is printed with the command that repeats it; with ``--keep`` its shrunk input stays in the folder. Exit code 1
where anything failed: exit code 4, a traceback, a hang, too much memory, more than four lines of error, a control
character on the terminal, or an echo of a very long word.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.corpus import corpus
from tests.fuzz.judge import Failure
from tests.fuzz.kinds import KINDS
from tests.fuzz.supervised import supervised


def main() -> int:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="for all kinds together")
    parser.add_argument("--first", type=int, default=0, help="the first seed of each kind")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="only this kind; may be repeated")
    parser.add_argument("--inputs", type=int, help="at most so many inputs of each kind")
    parser.add_argument("--keep", type=Path, help="write failing inputs into this folder")
    given = parser.parse_args()
    names = given.kind or list(KINDS)
    corpus()
    tallies = []
    for name in names:
        tally = supervised(name, given.first, given.seconds / len(names), given.inputs)
        tallies.append(tally)
        for seed, failure, content in tally.failures:
            _tell(name, seed, failure, content, given.keep)
    print(f"{'kind':16} {'inputs':>9} {'commands':>9} {'failures':>9}")
    for tally in tallies:
        print(f"{tally.kind:16} {tally.inputs:9,} {tally.commands:9,} {len(tally.failures):9,}")
    total = sum(len(t.failures) for t in tallies)
    inputs, commands = sum(t.inputs for t in tallies), sum(t.commands for t in tallies)
    print(f"{'all':16} {inputs:9,} {commands:9,} {total:9,}")
    return 1 if total else 0


def _tell(name: str, seed: int, failure: Failure, content: bytes, keep: Path | None) -> None:
    print(f"{name} {seed}: {failure.what} at {failure.place or 'no known place'}: {' '.join(failure.command)}")
    print("  " + failure.seen.strip().replace("\n", "\n  ")[-1500:].encode("ascii", "backslashreplace").decode())
    print(f"  input, {len(content):,} bytes: {content[:300]!a}")
    print(f"  again: python -m tests.fuzz --kind {name} --first {seed} --inputs 1", flush=True)
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{name}-{seed}{KINDS[name].suffix.replace('/', '-')}").write_bytes(content)


if __name__ == "__main__":
    sys.exit(main())

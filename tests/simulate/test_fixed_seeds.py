"""Fixed seeds: none has a violation, and what should sometimes happen does."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pkadvisor.engine import worlds
from tests.simulate import nemesis
from tests.simulate.planted import FIXED, FIXED_SHORT
from tests.simulate.run import FAULTS, simulate
from tests.tiers import sizes

SEEDS = sizes(FIXED_SHORT, FIXED, "simulation")
TELLING = (104135, 18, 7, 28)
"""Seeds that together bring about every event: they are tried first."""

SOMETIMES = {
    "replica longer at seal": "S3: it is cut to the sealed length",
    "replica shorter at seal": "S3: it is filled from a longer one",
    "seal with 2 of 3": "S3: the least length of those that answer",
    "sealed because a replica lacks": "S8: an extent that lost a replica takes no more appends",
    "brought back": "S3: who was away comes back to what was decided without it",
    "append goes on elsewhere": "S4: the next extent at once",
    "journal refused": "S12: the data device takes what the journal does not",
    "hedged read": "S11: another replica is asked",
    "damaged block": "S7: wrong bytes are never given out",
    "copy repaired": "S8: sealed extents come back to three good copies",
    "replica mended": "S7: a damaged copy is made good from the others",
    "collected": "S9: what no stream holds goes",
    "state written anew": "S3: the stream manager starts from its own log",
    "lease lapsed": "P2: a range goes to another server only after the lease of the first",
    "zombie rejected": "P2: whoever has lost a range can write nothing",
    "server lost its lease": "P2: a server that lost its lease drops all its ranges",
    "leader elected": "P10: another manager goes on",
    "log replayed": "P3: what the checkpoints lack comes back from the log",
    "duplicate record replayed": "P3: and is applied once",
    "checkpoint": "P6: rows leave the memory table",
    "combine": "P7: checkpoints become one",
    "split": "P4: one range becomes two",
    "merge": "P4: two ranges become one",
    "range made of its parents": "P4: a child finds out by itself what it is",
    "split or merge found done": "P4: one whose answer was lost is found out",
    "split or merge undone": "P4: one that did not happen leaves nothing behind",
    "map refreshed": "P8: a front end that is behind learns where a range is",
    "request arrived twice": "T9: and is carried out once",
    "write uncertain": "T9: and is told to the client as uncertain",
    "empty page with token": "T5: a page may be empty and go on",
}
"""Events that the fixed seeds bring about, each with the invariant or mechanism that it shows at work."""


@pytest.mark.parametrize("seed", SEEDS)
def test_a_fixed_seed_has_no_violation(seed: int) -> None:
    report = simulate(seed)
    assert not report.violation
    assert report.judged
    assert report.counts["acknowledged appends read"] == 2


def test_what_should_sometimes_happen_does() -> None:
    """Seeds are run until each event occurred: a few, unless the engine has changed."""
    counts: Counter[str] = Counter()
    for seed in dict.fromkeys((*TELLING, *SEEDS)):
        counts += simulate(seed).counts
        if all(counts[name] for name in SOMETIMES):
            break
    assert not [f"{name} ({why})" for name, why in SOMETIMES.items() if not counts[name]]


def test_faults_are_named_as_the_world_names_them() -> None:
    """So that no fault drops out of the sums by its name."""
    sources = [*Path(worlds.__file__).parent.glob("*.py"), Path(nemesis.__file__)]
    text = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert not [name for name in FAULTS if f'event("{name}"' not in text]

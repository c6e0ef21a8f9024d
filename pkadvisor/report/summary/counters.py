"""What a summary says of an entity that is changed more often than it can be, which no key helps with."""

from __future__ import annotations

import re

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisScheme
from pkadvisor.documents.analysis_table import AnalysisFlip, AnalysisTable

ENTITY_COMMITS = "commits of one entity by "
"""How the cause of a break begins that no key lifts; the name of a class follows."""
CONTENDED = "hot-entity-contention"
GOT_412 = " of its attempts got 412"
_TOLD = re.compile(
    r"^'(.*)' reads, changes and writes one entity(?:, ('.*'),)? ([^ ]+) times a second at "
    r"the peak.*; ([^ ]+)/s are served .*: divide the counter over ([^ ]+ rows)",
    re.DOTALL,
)


def counter_to_divide(table: AnalysisTable, best: AnalysisFullScheme) -> str:
    """Which entity is changed more often than it can be at the growth asked for, and what helps; else empty."""
    found = next((v.message for v in best.violations if v.code == CONTENDED and v.assumed_growth), "")
    told = _TOLD.search(found)
    if told is None:
        return ""
    noted = next((note.partition(GOT_412)[0] for note in table.notes if GOT_412 in note), "")
    refused = f" ({noted.rpartition(': ')[2]} of the attempts got 412)" if noted else ""
    name, keys, times, served, rows = told.groups()
    counter = f"counter {keys}" if keys else f"counter of '{name}'"
    return (
        f"Divide the {counter} over {rows}; add them up when it is read. One entity bears {served} "
        f"commits a second, and this one takes {times} at the peak{refused}."
    )


def rate_beyond_every_key(flip: AnalysisFlip, table: AnalysisTable, before: float) -> float | None:
    """From which rate of the query of a flip on one entity cannot commit what is asked of it under any key; None where
    the flip comes before that."""
    scheme: AnalysisScheme | None = table.recommended
    breaks = scheme.breaks if scheme is not None else []
    most = min((before * b.factor for b in breaks if b.cause == f"{ENTITY_COMMITS}{flip.query}"), default=None)
    return most if most is not None and flip.rate_per_s is not None and flip.rate_per_s > most else None

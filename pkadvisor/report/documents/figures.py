"""The figures of a scheme that every command tells: taken from the one document of a scheme, never computed again.

- *hottest partition*: of all PartitionKeys of main and index rows the one with the most entities a second in the worst
  minute; its share is of the load of that minute.
- *smallest break factor*: the least growth, of whatever kind, that passes any target, and which.
- *break factor*: the same for what is declared to grow.
- *p99*: predicted for each class, without the time of retries.
- *requests* and *entities*: of all classes but those for analysis, mean and peak.
"""

from __future__ import annotations

from typing import Any

TERMS = (
    "smallest break factor",
    "break factor",
    "requests",
    "requests at peak",
    "entities counted",
    "hottest partition at peak",
    "latency against goal",
    "price",
)
"""Terms among the figures, by their names in a result."""


def figures_of(scheme: dict[str, Any]) -> dict[str, Any]:
    """The figures of a scheme as ``scheme_result`` wrote it; a term that it lacks is None."""
    terms = {term["name"]: term for term in scheme["terms"]}
    hot = scheme["hot_partition"]
    return {
        "hot_partition": None
        if hot is None
        else {name: hot[name] for name in ("partition_key", "entities_per_s_peak", "share")},
        "terms": [{n: terms[name][n] for n in ("name", "value", "unit")} for name in TERMS if name in terms],
        "break_cause": scheme["break_cause"],
        "first_break": scheme["first_break"],
        "classes": [{"name": c["name"], "latency_ms_p99": c["latency_ms_p99"]} for c in scheme["classes"]],
        "violations": scheme["violations"],
    }

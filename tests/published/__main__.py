"""Compare the experts' keys of all published workloads with the recommended ones: ``python -m tests.published``.

One line a table: requests and entities per second under the recommended keys ÷ under the expert's, and both break
factors. Keys that differ follow, with the reason where the recommendation needs more.
"""

from __future__ import annotations

from tests.published.advice import advice
from tests.published.catalogue import WORKLOADS
from tests.published.workload import Compared, Workload


def lines(workload: Workload, compared: Compared) -> list[str]:
    """The comparison of one table, as lines of text."""
    expert, advised = compared.expert, compared.recommended
    requests = advised.requests_per_s / expert.requests_per_s
    entities = advised.entities_per_s / expert.entities_per_s
    name = f"{workload.name} {compared.table}"
    breaks = f"{expert.break_factor:9.1f}x {advised.break_factor:9.1f}x"
    out = [f"{name:30} {requests:9.3f} {entities:9.3f} {breaks}  {'' if expert.keys != advised.keys else 'same keys'}"]
    if expert.keys != advised.keys:
        out += [f"    expert       {expert.keys}", f"    recommended  {advised.keys}"]
    out += [f"    reason       {each.reason}" for each in workload.differences if each.table == compared.table]
    return out


def main() -> None:
    """Print the comparison of all tables."""
    print(f"{'workload and table':30} {'requests':>9} {'entities':>9} {'expert':>10} {'advised':>10}")
    for workload in WORKLOADS:
        for table in workload.tables:
            print("\n".join(lines(workload, advice(workload.name, table.name))))


if __name__ == "__main__":
    main()

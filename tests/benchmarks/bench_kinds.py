"""``advisor analyze`` on one table of six kinds that six transactions join in a ring.

usage: bench_kinds.py [ROWS]

Prints one JSON object: CPU seconds of the command with so many rows of each kind. The goal: 10 CPU seconds.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

KINDS = ("Orders", "Lines", "Bills", "Parcels", "Notes", "Events")


def make(folder: Path, rows: int) -> list[str]:
    """Writes a design and a file for each kind; the arguments for them."""
    kinds, queries, writes, transactions = [], [], [], []
    for n, kind in enumerate(KINDS):
        of_order = "tenant eq '{tenant}' and order eq '{order}'"
        kinds.append(f"      {kind}: {{properties: {{tenant: string, order: string, id{n}: int32, state{n}: int32}}}}")
        for name, text, rate in (
            ("one", f"tenant eq '{{tenant}}' and id{n} eq {{id{n}}}", 40 + n),
            ("of-order", of_order, 10 + n),
            ("by-state", f"tenant eq '{{tenant}}' and state{n} eq {{state{n}}}", 1),
        ):
            draw = "{by: distinct, of: [tenant, order]}" if name == "of-order" else "entities"
            queries.append(
                f'      - {{name: {name}-{kind}, kind: {kind}, filter: "{text}", rate: {rate}/s, draw: {draw}}}'
            )
        writes.append(f"      - {{name: add-{kind}, kind: {kind}, operation: insert, rate: {5 + n}/s}}")
        other, group = KINDS[(n + 1) % len(KINDS)], "[tenant, order]" if n % 2 else "[tenant]"
        transactions.append(
            f"      - {{name: t{n}, together: [add-{kind}, add-{other}], group_by: {group}, "
            f"required: {'false' if n else 'true'}}}"
        )
        lines = [f"t{i % 40},o{i % 700:04d},{i},{i % 9}" for i in range(rows)]
        (folder / f"{kind}.csv").write_text(f"tenant,order,id{n},state{n}\n" + "\n".join(lines) + "\n")
    parts = (("kinds", kinds), ("queries", queries), ("writes", writes), ("transactions", transactions))
    body = "\n".join(line for name, found in parts for line in (f"    {name}:", *found))
    (folder / "design.yaml").write_text(f"schema: 1\ntables:\n  Shop:\n{body}\n")
    return [*(f"{kind}={folder / kind}.csv" for kind in KINDS), "--design", str(folder / "design.yaml")]


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-m", "pkadvisor", "analyze", *make(Path(name), rows)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({"rows": rows, "cpu_s": round(used.ru_utime + used.ru_stime, 2), "goal_s": 10}))


if __name__ == "__main__":
    main()

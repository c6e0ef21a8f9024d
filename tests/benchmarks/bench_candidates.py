"""How long it takes to find, cost and rank some hundred candidates of one section.

usage: bench_candidates.py [--classes N] [--rows N] [--repeats N]

A table of 12 properties and some thousand rows, a growing table: queries by one to three equalities, some with an
order and a range, and writes. Prints how many schemes were ranked, the CPU seconds of the search (median of the
repeats), those of ranking alone, and a JSON object. The package that is measured is the one on PYTHONPATH, so that two
versions can be compared with one script.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pkadvisor.design.load.estimates import Bench

SEED = 36_011
START = datetime(2026, 1, 1, tzinfo=UTC)
GROUPS = {"tenant": 12, "region": 6, "kind": 4, "state": 5, "owner": 150, "device": 300, "batch": 60, "source": 20}
CANDIDATES = 300


def bench_of_classes(count: int, rows: int) -> Bench:
    """A bench with so many classes of queries, and three of writes."""
    import polars as pl

    from pkadvisor.design.load.estimates import Bench
    from pkadvisor.design.rows.demand import demands
    from pkadvisor.design.rows.population import Population
    from pkadvisor.limits import default_limits
    from pkadvisor.observe.workload import Draw, Operation, OrderBy, QueryClass, Rate, Workload
    from pkadvisor.table.edm import EdmType
    from pkadvisor.table.odata import parse_filter

    random = Random(SEED)
    columns: dict[str, list[object]] = {"id": [f"e{n * 7919 % 1_000_003:07d}" for n in range(rows)]}
    columns |= {name: [f"{name[:2]}{random.randrange(size)}" for _ in range(rows)] for name, size in GROUPS.items()}
    columns["at"] = [START + timedelta(seconds=40 * n) for n in range(rows)]
    columns["size"] = [random.randrange(5_000) for _ in range(rows)]
    types = dict.fromkeys(columns, EdmType.STRING) | {"at": EdmType.DATETIME, "size": EdmType.INT32}
    dtypes = {EdmType.DATETIME: pl.Datetime("us", "UTC"), EdmType.INT32: pl.Int32}
    frame = pl.DataFrame({n: pl.Series(n, v, dtype=dtypes.get(types[n], pl.String)) for n, v in columns.items()})
    population = Population(frame, types, arrival="at")

    def asked(number: int) -> QueryClass:
        names = random.sample(list(GROUPS), random.choice((1, 2, 2, 3)))
        text = " and ".join(f"{name} eq {{{name}}}" for name in names)
        newest = random.random() < 0.4
        order = (OrderBy("at", descending=True),) if newest else ()
        rate = round(random.uniform(0.1, 3), 3)
        filter_ = parse_filter(text, parameters=True)
        return QueryClass(
            f"q{number:03}", Operation.QUERY, filter_, Rate(rate, rate), order_by=order, top=20 if newest else None,
            draw=Draw(stated=True),
        )  # fmt: skip

    def written(name: str, operation: Operation, filter_: str | None, *sets: str) -> QueryClass:
        tree = None if filter_ is None else parse_filter(filter_, parameters=True)
        return QueryClass(name, operation, tree, Rate(2.0, 2.0), draw=Draw(stated=True), sets=sets)

    classes = (
        *(asked(n) for n in range(count)),
        written("put", Operation.INSERT, None),
        written("set", Operation.UPDATE, "id eq {id}", "state"),
        written("drop", Operation.DELETE, "id eq {id}"),
    )
    workload = Workload("Table", classes)
    return Bench(population, workload, demands(workload, population, {}), default_limits(), 200.0)


def cpu_s(work: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    """Measure and print."""
    from pkadvisor.design.choice.goals import ranked
    from pkadvisor.design.choice.search import advise

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--classes", type=int, default=24)
    parser.add_argument("--rows", type=int, default=4_000)
    parser.add_argument("--repeats", type=int, default=3)
    chosen = parser.parse_args()
    searches, found = [], []
    for _ in range(chosen.repeats):
        bench = bench_of_classes(chosen.classes, chosen.rows)
        searches.append(cpu_s(lambda: found.append(advise(bench, None))))  # noqa: B023
    pool = found[-1].ranking
    some = sorted(pool, key=lambda c: c.scheme.text)[:CANDIDATES]
    result = {
        "classes": chosen.classes,
        "rows": chosen.rows,
        "candidates": len(pool),
        "search_cpu_s": round(statistics.median(searches), 3),
        "search_ms_each": round(1000 * statistics.median(searches) / len(pool), 2),
        f"ranking_{len(some)}_cpu_s": round(statistics.median(cpu_s(lambda: ranked(some)) for _ in range(5)), 4),
        "recommended": found[-1].recommended.scheme.text,
        "requests_per_s": round(found[-1].recommended.requests_per_s, 3),
        "at_limit": found[-1].search.at_limit if hasattr(found[-1].search, "at_limit") else [],
    }
    for name, value in result.items():
        print(f"{name:24} {value}")
    print(json.dumps(result))


if __name__ == "__main__":
    main()

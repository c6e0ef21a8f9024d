"""The law *large*: worlds of a million rows, of which the tool samples some and counts some figures over every row.

A truth over all rows is computable where a query asks by equality: each row is looked at once for each class. Judged
are the keys in use alone. Held are: entities returned and read and requests of these classes (within the printed
interval, or within ``NEAR``), the number of partitions, stored bytes, and that keys which are not unique are told.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.worlds.answers import Answers
from tests.worlds.law.totals import row_bytes
from tests.worlds.model import Asked, Compare, Parameter, World
from tests.worlds.requests import Requests, plan_of
from tests.worlds.rows import lay_out
from tests.worlds.running import Document, analyzed, scheme_of
from tests.worlds.truth import Broken, Counting

NAME = "large"
ROWS = 1_000_000
INSTANCES_MOST = 2000
NEAR = 0.02
"""Relative, of figures without an interval."""


def countable(asked: Asked) -> bool:
    """Whether each row is looked at once: equalities with parameters, all answers whole."""
    tests = asked.conditions()
    plain = all(isinstance(c, Compare) and c.operator == "eq" and isinstance(c.operand, Parameter) for c in tests)
    even = asked.draw is None or asked.draw.by == "entities"
    return asked.operation == "query" and bool(tests) and plain and even and asked.top is None


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Every figure of the keys in use that is not the true one."""
    table = analyzed(world, folder)["tables"][0]
    current = table["current"]
    if current is None or world.current is None:
        return
    scheme, kind = scheme_of(current), world.kinds[0]
    layout = lay_out(kind, scheme)
    told = any(v["code"] == "not-unique" for v in current["violations"])
    if told == layout.unique:
        yield Broken(NAME, "keys are not unique", scheme.text, told, not layout.unique)
    if not layout.unique:
        return
    for printed in current["classes"]:
        asked = next(a for a in world.asked if a.name == printed["name"])
        answers = Answers(asked, kind)
        if not countable(asked) or not 0 < len(answers.instances) <= INSTANCES_MOST:
            continue
        counting = Counting(Requests(plan_of(asked, printed), layout), answers)
        counts = [(i.weight, counting.count(i)) for i in answers.instances]
        for what in ("read", "returned", "requests"):
            name = what if what == "requests" else f"entities_{what}"
            true = sum(weight * getattr(count, what) for weight, count in counts)
            if not held(printed[name], true, printed["entities_read_interval"] if what == "read" else None):
                yield Broken(NAME, f"{asked.name}: {name}", scheme.text, printed[name], true, counting.requests.plan)
    terms = {t["name"]: t for t in current["terms"]}
    true_terms = {"partitions": float(len({row.partition for row in layout.rows if row.via == 0}))}
    sizes = row_bytes(layout)
    true_terms["stored"] = sum(sizes[row.via] for row in layout.rows) / len(kind.rows)
    for name, true in true_terms.items():
        if not held(terms[name]["value"], true, terms[name]):
            yield Broken(NAME, name, scheme.text, terms[name]["value"], true)


def held(printed: float, true: float, interval: Document | None) -> bool:
    """Whether a figure is near the true one, or its interval holds it."""
    low, high = (interval or {}).get("low"), (interval or {}).get("high")
    if low is not None and high is not None and low <= true <= high:
        return True
    return abs(printed - true) <= NEAR * abs(true)

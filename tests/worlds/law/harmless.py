"""The law *harmless*: changes that mean nothing leave keys and counts as they are.

Two of the changes are drawn for each world, and the unused index row. Compared are the verdict, the keys in the order
of
the ranking, and every count of every scheme; bytes, and what follows from them (prices, milliseconds), are not. The sum
of two halves of a query is compared with the whole. Counts may differ in the last of their six digits (``DIGITS``),
since sums run in another order; keys may be told apart by such a digit nowhere, as every goal has a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from tests.worlds.answers import Answers
from tests.worlds.law.best import beaten, printed_goals
from tests.worlds.law.changes import CHANGES, restored, unused_index_row
from tests.worlds.model import World
from tests.worlds.running import Document, analyzed, ranked, scheme_of, schemes_of, scored
from tests.worlds.truth import Broken

NAME = "harmless"
DIGITS = 2e-5
CHANGES_DRAWN = 2
COUNTS = ("fan_out", "entities_read", "entities_read_max", "entities_returned", "entities_written", "requests")
TERMS = ("requests", "requests at peak", "entities counted", "entities read", "entities written", "partitions")


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Every change whose result differs."""
    random = Random(world.seed)
    before = analyzed(world, folder / "before")
    for name in random.sample(list(CHANGES), CHANGES_DRAWN):
        if name == "rows in another order" and _ordered(world):
            continue
        changed = CHANGES[name](world, random)
        after = ranked(changed, folder / name.replace(" ", "-"))
        for table, other in zip(before["tables"], _aligned(before, after), strict=True):
            if name in LARGER and _tied_by_bytes(changed, table, other, folder / "both"):
                continue
            yield from _compared(name, world, table, other)
    random = Random(f"{world.seed} unused")
    if random.random() < 0.5:
        beside = _with_recommended(world, before)
        yield from _unused(beside, ranked(unused_index_row(beside, random), folder / "unused"))


def _with_recommended(world: World, document: Document) -> World:
    """The world whose recommended keys are counted as any scheme: those serve what is asked best. Keys with a row for
    each value of a list are left out, as no candidate may have them."""
    best = {t["kind"] or world.kinds[0].name: t["recommended"] for t in document["tables"]}
    asked = {kind: scheme_of(keys) for kind, keys in best.items() if keys is not None}
    kinds = (
        replace(k, schemes=(*k.schemes, asked[k.name])) if k.name in asked and "{each(" not in asked[k.name].text else k
        for k in world.kinds
    )
    return replace(world, kinds=tuple(kinds))


def _ordered(world: World) -> bool:
    """Whether ranks under Zipf's law are shared, so that which group is asked for more follows the order of the
    rows."""
    return any(Answers(a, world.kind(a.kind)).tied for a in world.asked)


def _aligned(before: Document, after: Document) -> list[Document]:
    """The tables of the second result in the order of the first."""
    by_kind = {t["kind"]: t for t in after["tables"]}
    return [by_kind[t["kind"]] for t in before["tables"]]


def _classes(scheme: Document) -> dict[str, dict[str, Any]]:
    """The counts of each class; those of two halves as one class of the mean."""
    out: dict[str, dict[str, Any]] = {}
    for each in scheme["classes"]:
        out.setdefault(each["name"].removesuffix("-b"), {n: each[n] for n in COUNTS} | {"access": each["access"]})
    return out


def close(one: float, other: float) -> bool:
    """Whether two figures agree to six digits."""
    return abs(one - other) <= DIGITS * max(abs(one), abs(other), 1e-6)


def _compared(name: str, world: World, table: Document, other: Document) -> Iterator[Broken]:
    def keys(scheme: Document | None) -> str:
        return "none" if scheme is None else restored(scheme_of(scheme).text, world)

    first, second = keys(table["recommended"]), keys(other["recommended"])
    if first != second:
        yield Broken(NAME, f"{name}: recommended keys of {table['kind'] or world.table}", first, second, first)
        return
    if table["verdict"] != other["verdict"]:
        yield Broken(NAME, f"{name}: verdict", first, other["verdict"], table["verdict"])
    theirs = {keys(s): s for s in schemes_of(other)}
    for scheme in schemes_of(table):
        text = keys(scheme)
        if text not in theirs:
            continue  # runners-up beyond the first five are not printed
        mine, beside = _classes(scheme), _classes(theirs[text])
        for cls, counts in mine.items():
            for what, value in counts.items():
                found = beside[cls][what]
                if value != found if isinstance(value, str | None) else not close(value, found):
                    yield Broken(NAME, f"{name}: {cls}: {what}", text, found, value)
        terms = {t["name"]: t["value"] for t in theirs[text]["terms"]}
        for term in scheme["terms"]:
            if term["name"] in TERMS and not close(term["value"], terms[term["name"]]):
                yield Broken(NAME, f"{name}: {term['name']}", text, terms[term["name"]], term["value"])
        hot, theirs_hot = scheme["hot_partition"], theirs[text]["hot_partition"]
        if hot and not close(hot["entities_per_s_peak"], theirs_hot["entities_per_s_peak"]):
            pair = theirs_hot["entities_per_s_peak"], hot["entities_per_s_peak"]
            yield Broken(NAME, f"{name}: hottest partition", text, *pair)


LARGER = ("an unused property",)
"""Changes of which entities grow, so that keys that differ by some bytes differ by less of all stored bytes."""


def _tied_by_bytes(changed: World, table: Document, other: Document, folder: Path) -> bool:
    """Whether other keys are recommended after the change, and those from before are as good then, each goal within its
    tolerance."""
    if table["recommended"] is None or other["recommended"] is None:
        return False
    first = scheme_of(table["recommended"])
    if first.text == scheme_of(other["recommended"]).text:
        return False
    kinds = tuple(
        replace(k, schemes=(first,) if k.name == table["kind"] or len(changed.kinds) == 1 else ())
        for k in changed.kinds
    )
    priced = scored(replace(changed, kinds=kinds), folder)[table["kind"]]
    found = next((s for s in priced if scheme_of(s).text == first.text), None)
    return found is not None and beaten(printed_goals(found), printed_goals(other["recommended"])) is None


SINGLE = ("point", "row range", "partition scan")
"""A scan over several partitions may read the rows of an index row that lie among them."""


def _unused(world: World, document: Document) -> Iterator[Broken]:
    """Reads of queries with and without an index row that serves none of them."""
    for table in document["tables"]:
        kind = world.kind(table["kind"]) if table["kind"] else world.kinds[0]
        by_text = {scheme_of(s).text: s for s in schemes_of(table)}
        for scheme in kind.schemes:
            larger = next((s for t, s in by_text.items() if t.startswith(scheme.text + " + ZZ:")), None)
            smaller = by_text.get(scheme.text)
            if larger is None or smaller is None:
                continue
            for one, two in zip(smaller["classes"], larger["classes"], strict=True):
                if one["operation"] != "query" or one["access"] not in SINGLE or one["via"] != two["via"]:
                    continue
                for what in ("access", "entities_read", "entities_returned", "requests", "fan_out", "filters"):
                    if one[what] != two[what]:
                        text = f"an unused index row: {one['name']}: {what}"
                        yield Broken(NAME, text, scheme.text, two[what], one[what])

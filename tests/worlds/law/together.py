"""The law *together*: what tables and kinds share is compared with their sum, and no scheme that is printed beats the
recommended one in what it breaks.

The account's load lies between the largest of the kinds' requests at the peak and the sum of all, and is the sum where
no class has hours of its own. A scheme beats another that breaks all that it breaks, by as much, and more besides or by
over 5 % more. Two that miss one target, the one by 4 times and the other by 40, are not alike: where something grows,
the worst factor of each is compared, which is printed as a goal.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tests.worlds.model import World
from tests.worlds.running import Document, analyzed, scheme_of
from tests.worlds.truth import Broken

NAME = "together"
CLOSE = 1e-4
ALIKE = 0.05
"""Share of a factor over a limit within which schemes are alike, as the manual says of the first goal."""


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """Where the sum over the kinds, or the choice among what breaks something, is not as the law has it."""
    document = analyzed(world, folder)
    yield from _sum(world, document)
    for table in document["tables"]:
        if table["recommended"] is not None and not document["arrangements"]:
            yield from _dominated(table, grows=world.growth is not None)


def _sum(world: World, document: Document) -> Iterator[Broken]:
    best = [t["recommended"] for t in document["tables"] if t["recommended"] is not None]
    peaks = [t["value"] for scheme in best for t in scheme["terms"] if t["name"] == "requests at peak"]
    if len([p for p in peaks if p]) < 2 or len(best) < len(document["tables"]):
        return
    loads = document["account"]["loads"] if document["account"] else []
    told = next((load["measured"] for load in loads if load["cause"] == "the account's requests"), 0.0)
    told += sum(load["saved_per_s"] for load in loads if load["cause"] == "the account's requests")
    low = max(peaks) if any(a.peak_at for a in world.asked) else sum(peaks)
    if not low * (1 - CLOSE) <= told <= sum(peaks) * (1 + CLOSE):
        yield Broken(NAME, "requests of all kinds", "recommended", f"{told:g}", f"{low:g} to {sum(peaks):g}")
    for scheme in best:
        factor = next((b["factor"] for b in scheme["breaks"] if b["cause"] == "the account's requests"), None)
        if (
            factor is not None
            and loads
            and abs(factor - loads[0]["limit"] / told) > CLOSE * factor * 10
            and not any(load["saved_per_s"] for load in loads)
        ):
            yield Broken(NAME, "break factor of all kinds", scheme_of(scheme).text, f"{factor:g}", f"{told:g}")


def _dominated(table: Document, *, grows: bool) -> Iterator[Broken]:
    mine, worst = _factors(table["recommended"]), _worst(table["recommended"])
    for other in table["alternatives"]:
        theirs = _factors(other)
        less = not grows or _worst(other) <= worst * (1 + CLOSE)
        no_more = all(theirs[code] <= mine.get(code, 0.0) for code in theirs)
        if less and no_more and any(theirs.get(code, 0.0) * (1 + ALIKE) < mine[code] for code in mine):
            yield Broken(NAME, "what is broken", scheme_of(table["recommended"]).text, str(mine), str(theirs))


def _worst(scheme: Document) -> float:
    """The worst factor over a limit, at the horizon where something grows."""
    value: float = next(g["value"] for g in scheme["goals"] if g["goal"] == "constraints")
    return value


def _factors(scheme: Document) -> dict[str, float]:
    """By how much each constraint is missed at the declared load, and the transactions by the share of pairs that they
    break; of those that growth breaks, how near they are now.

    Their factors at the horizon are not printed, but for the worst; of one cause they mostly run as those of now do.
    """
    out: dict[str, float] = {}
    for found in scheme["violations"]:
        if not found["assumed_growth"]:
            told = "/s" in found["unit"] or found["unit"] == "share of pairs"
            times = found["measured"] / (found["limit"] or 1.0) if told else 1.0
            name = "transaction" if found["code"].startswith("transaction") else found["code"]
            out[name] = max(out.get(name, 0.0), times)
    return out

"""Sections of an analysis: what is advised, and among what it was chosen."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pkadvisor.numbers import plural
from pkadvisor.report.charts.stacked_bar import Bar, StackedBars, draw
from pkadvisor.report.documents.stored import quoted
from pkadvisor.report.html.place import At, Context, Figure, Missing
from pkadvisor.report.summary.goals import lost
from pkadvisor.report.summary.verdicts import (
    ADD_INDEX_ROW,
    HEADLINES,
    VERDICTS,
    adds_index_rows_only,
    doubt,
    sureness,
)

FACTS_SHOWN = 4
PARTS_MOST = 10


def limit_of(document: At, name: str) -> At:
    """The value of a limit of the store."""
    found = document["limits"]["values"].find("name", name)
    if found is None:
        return At(None, "limits.values")["value"]
    return found["value"]


def term_of(scheme: At, name: str) -> At | None:
    """The value of a term of a scheme's cost; None where it has no such term."""
    found = scheme["terms"].find("name", name)
    return None if found is None else found["value"]


def keys_of(scheme: At) -> dict[str, Any]:
    """The templates of a scheme, index rows below."""
    return {
        "partition_key": quoted(scheme["partition_key"].text),
        "row_key": quoted(scheme["row_key"].text),
        "index_rows": [
            {
                "partition_key": quoted(row["partition_key"].text),
                "row_key": quoted(row["row_key"].text),
                "copy": "full copy" if row["copy"].text == "full" else "pointer",
                "when": "same partition, same group transaction"
                if row["consistency"].text == "atomic"
                else "another partition, written after",
            }
            for row in scheme["index_rows"]
        ],
    }


def _verdict(table: At) -> str:
    """The verdict as HEADLINES names it."""
    word: str = table["verdict"].among(HEADLINES)
    return ADD_INDEX_ROW if word == "change" and adds_index_rows_only(table.value) else word


def verdict(document: At, table: At) -> Context:
    """The word, the keys, and what changes with them."""
    word, mood = HEADLINES[_verdict(table)]
    best, current = table["recommended"], table["current"]
    warnings = [warning.text for warning in table.maybe("warnings") or ()]
    if not best:
        return {
            "word": word,
            "mood": mood,
            "warnings": warnings,
            "why_not": table["why_not"].text,
            "next": table["next"].text,
            "provisional": "",
            "doubt": "",
            "keys": None,
            "tiles": [],
            "facts": [],
            "grounds": [],
        }
    before = current if current and table["ranking_says"].text != "keep" else None
    return {
        "word": word,
        "mood": mood,
        "warnings": warnings,
        "why_not": table["why_not"].text if table["why_not"] else "",
        "next": table["next"].text if table["next"] else "",
        "provisional": VERDICTS[table["ranking_says"].among(VERDICTS)] if table["why_not"] else "",
        "doubt": doubt(table.value),
        "grounds": [ground | {"next": ""} for ground in grounds_of(table["grounds"])],
        "keys": keys_of(best),
        "was": keys_of(before) if before else None,
        **_lead(document, before, best),
        "tiles": _tiles(document, before, best),
        "facts": _facts(table, before, best),
    }


def grounds_of(grounds: At | None) -> list[dict[str, Any]]:
    """Each thing that a verdict or figures rest on: a mark, what it is, what was measured, and what to give next; none
    of a document that tells of none."""
    return [
        {
            "word": "enough" if ground["carries"].flag else "is not enough",
            "mood": "good" if ground["carries"].flag else "bad",
            "title": ground["title"].text,
            "sentence": ground["sentence"].text,
            "next": ground["next"].text if ground["next"] else "",
        }
        for ground in (grounds or ())
    ]


def _lead(document: At, before: At | None, best: At) -> dict[str, Any]:
    """The first sentence: the hottest partition now and then, against its target, and the first reason."""
    now, then = (scheme["hot_partition"] if scheme else None for scheme in (before, best))
    reasons = [
        *(before["violations"] if before else ()),
        *(v for v in best["violations"] if not v["assumed_growth"].flag),
    ]
    lost_by = before["loses"] if before and before["loses"] else None
    reason = reasons[0]["message"].text if reasons else f"it loses by {lost(lost_by.value)}" if lost_by else ""
    return {
        "peak_now": now["entities_per_s_peak"].figure() if now else None,
        "peak": then["entities_per_s_peak"].figure() if then else "none",
        "target": limit_of(document, "partition_entities_per_s").figure(),
        "reason": f"{'Current' if before and reason else 'Broken'}: {reason}." if reason else "",
    }


def _tiles(document: At, before: At | None, best: At) -> list[dict[str, Any]]:
    """Figures of the keys in place and of those proposed, each with what it is compared with."""
    target = limit_of(document, "partition_entities_per_s")
    tiles = []
    for label, name, form, unit, bound, higher in (
        ("Hottest partition at the peak", "hottest partition at peak", "amount", "entities/s", target, False),
        ("Slowest query against its goal", "latency against goal", "ratio", "the p99 that is wanted", 1, False),
        ("Throttled at the peak", "throttled at peak", "percent", "of attempts", None, False),
        ("Breaks at", "break factor", "breaks", "today's peak", 1, True),
        ("Entities counted, on average", "entities counted", "amount", "entities/s", None, False),
        ("Cost", "price", "amount", "", None, False),
    ):
        after = term_of(best, name)
        if after is None:
            continue
        now = term_of(before, name) if before else None
        if name == "price":
            unit = best["terms"].find("name", name)["unit"].text.replace("/", " a ")  # type: ignore[index]
        tiles.append(
            {
                "label": label,
                "unit": unit,
                "of": bound.figure("amount") if isinstance(bound, At) else None,
                "now": now.figure(form) if now is not None else None,
                "now_word": _held(now, bound, higher) if now is not None else "",
                "after": after.figure(form),
                "word": _held(after, bound, higher),
            }
        )
    return tiles


def _held(value: At, bound: At | float | None, higher: bool) -> str:
    """``over`` or ``within`` a bound; where ``higher`` is better, a value below it is over."""
    if bound is None:
        return ""
    limit = bound.number if isinstance(bound, At) else bound
    if value.value is None:
        return "within" if higher else ""
    return "within" if (value.number >= limit if higher else value.number <= limit) else "over"


def _facts(table: At, before: At | None, best: At) -> list[tuple[str, str]]:
    """What the verdict rests on: why not the keys in place, how sure it is, when the proposed ones break."""
    facts = []
    if before:
        reasons = [v["message"].text for v in before["violations"]]
        if not reasons and before["loses"]:
            reasons = [f"it loses by {lost(before['loses'].value)}"]
        facts += [("now", reason) for reason in reasons[1:FACTS_SHOWN]]  # the first is in the first sentence
    for violation in best["violations"]:
        facts.append(("growth" if violation["assumed_growth"].flag else "limit", violation["message"].text))
    if table["confidence"] and not doubt(table.value) and not table["why_not"]:
        facts.append(("sure", sureness(table["confidence"].value)))
    facts += [("note", remark["message"].text) for remark in list(best["remarks"])[:FACTS_SHOWN]]
    unknown = [text.text for text in table["cannot_be_known"]]
    # Two entities under one key would be lost writes: that question belongs beside the keys, not at the end.
    facts += [("ask first", text) for text in unknown if text.startswith("whether two entities")]
    if unknown:
        facts.append(("unknown", f"{plural(len(unknown), 'thing')} assumed or not to be known: under Method, below"))
    facts.append(("check", "the commands that run it again and test both designs under load: under Reproduce, last"))
    return facts


# -- candidates --------------------------------------------------------------------------------------------------------


def candidates(document: At, table: At) -> Context:
    """The schemes that were ranked, the current one, and the parts of their scores."""
    if not table["recommended"]:
        return Missing("No scheme was ranked: give a data set and a log, or a design with its queries.")
    ranked = [("1", table["recommended"])] + [(str(a["rank"].value), a) for a in table["alternatives"]]
    if table["current"] and table["ranking_says"].text != "keep":
        ranked.append(("now", table["current"]))
    return ranking_of(
        ranked, "The schemes that were ranked, best first. Each is behind the first by the goal that is named."
    )


def ranking_of(ranked: list[tuple[str, At]], intro: str) -> Context:
    """Schemes by label in one table, with the parts of their scores; the first has the queries that all have."""
    first = ranked[0][1]
    names = [entry["name"].text for entry in first["classes"]]
    scored = [(label, scheme) for label, scheme in ranked if scheme["score"].number > 0]
    return {
        "intro": intro,
        "rows": [_candidate(label, scheme) for label, scheme in ranked],
        "classes": names,
        "bars": _bars(first, names, scored),
        "points": [
            {"label": label, "score": scheme["score"].figure("points"), "parts": _points(scheme, names)}
            for label, scheme in ranked
        ],
    }


def _candidate(label: str, scheme: At) -> dict[str, Any]:
    def term(name: str, form: str) -> Figure | None:
        found = term_of(scheme, name)
        return None if found is None else found.figure(form)

    return {
        "label": label,
        **keys_of(scheme),
        "score": scheme["score"].figure("points"),
        "requests": term("requests", "amount"),
        "entities": term("entities counted", "amount"),
        "hottest": term("hottest partition at peak", "amount"),
        "price": term("price", "amount"),
        "breaks": term("break factor", "breaks"),
        "feasible": scheme["feasible"].flag,
        "loses": lost(scheme["loses"].value) if scheme["loses"] else "",
    }


def _points(scheme: At, names: list[str]) -> list[Figure | None]:
    """What each class adds to the score."""
    found = {entry["name"].text: entry["score_points"] for entry in scheme["classes"]}
    return [found[name].figure("points") if name in found else None for name in names]


def _bars(best: At, names: list[str], ranked: list[tuple[str, At]]) -> Markup | None:
    """The same points as bars, where there are few enough to be told apart."""
    parts = {entry["name"].text: entry["score_points"] for entry in best["classes"]}
    shown = [name for name in names if parts[name].value is not None]
    if not ranked or not 1 < len(shown) <= PARTS_MOST:
        return None
    bars = []
    for label, scheme in ranked:
        found = {entry["name"].text: entry["score_points"].value for entry in scheme["classes"]}
        bars.append(Bar(label, tuple(found.get(name) or 0 for name in shown), scheme["score"].number))
    first, last = bars[0], bars[-1]
    alt = f"Scheme {first.label} scores {first.total:.1f} points"
    alt += f", scheme {last.label} {last.total:.1f}" if last is not first else ""
    return draw(StackedBars(alt=alt, parts=tuple(shown), bars=tuple(bars), unit="points"))

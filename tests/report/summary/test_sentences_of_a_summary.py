"""The sentences of a summary: caveats, who is throttled, what would change the advice."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pkadvisor.cli.commands.analyze import unsatisfied
from pkadvisor.design.choice.sections import Judged
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.load.estimates import CostEstimate
from pkadvisor.documents.part import MOVES, OTHER_CASE
from pkadvisor.documents.schema_errors import typed
from pkadvisor.report.stress_words import scheme_target
from pkadvisor.report.summary.changes import heads
from pkadvisor.report.summary.sentences import cautions
from pkadvisor.report.words import _in_keys_alone
from tests.report.summary.test_summary import Document, only, summarize
from tests.report.support import result

STALE = "can 'by-age' do without the newest rows? Its index row comes later."


# -- sentences --------------------------------------------------------------------------------------------------------


def test_the_caveat_and_the_check_are_the_first_of_those_that_matter() -> None:
    """Each thing that is taken away lets the next one be told."""
    found = result("footrace")
    table = found["tables"][0]
    best = table["recommended"]
    violation = {"code": "hot-partition", "measured": 1, "limit": 2, "unit": "x", "assumed_growth": True}
    table["warnings"] = ["none of the keys of by-bib is in the data"]
    best["violations"] = [violation | {"message": "partition 'a' takes 3x; only buckets help"}]
    both = {"name": "both", "kept": False, "required": False, "mean_entities": 2, "sets_over_limit": 0, "sets": 1}
    best["transactions"] = [both | {"entities_most": 100}]
    by_bib, by_age = (next(c for c in best["classes"] if c["name"] == name) for name in ("by-bib", "by-age"))
    by_bib["latency_ms_p99"] = 80
    best["index_rows"][0]["consistency"] = "eventual"
    by_age |= {"access": "table scan", "entities_read": 500, "entities_returned": 10, "via": "index row 1"}

    def said() -> dict[str, str]:
        return dict(only(found).cautions)

    assert said() == {"Caveat": "None of the keys of by-bib is in the data.", "Check": STALE}
    table["warnings"] = []
    assert said()["Caveat"] == "Partition 'a' takes 3x."
    best["violations"] = []
    assert said()["Caveat"].startswith("'both' is not always one group transaction")
    best["transactions"][0]["kept"] = True
    by_bib["notes"] = [f"{MOVES}, which no transaction holds together"]
    assert said()["Caveat"] == "'by-bib' moves entities between partitions, in no transaction."
    by_bib["notes"] = []
    assert said() == {"Caveat": "'by-bib' misses its latency goal: p99 80 ms, goal 50 ms.", "Check": STALE}
    by_bib["latency_ms_p99"] = 40
    assert said() == {"Caveat": "'by-age' still reads 500 rows to return 10.", "Check": STALE}
    best["index_rows"][0]["consistency"] = "atomic"
    by_age["access"] = "row range"
    assert said() == {"Check": "are the 6,000 entities of the sample drawn at random?"}
    table["data"]["sampling"] = "slice"
    assert said() == {"Check": "are the 42,000 entities that were not read like the others?"}
    table["data"]["entities_total"] = 6000
    density = next(g for g in table["grounds"] if g["name"] == "density")
    density |= {"measured": 3.0, "expected": 29.0}
    assert said() == {"Check": "does the table hold more than these 6,000 entities?"}
    table["data"]["sampling"] = "complete"
    assert said() == {"Check": "are the declared rates right? No log was given."}
    found["log"] = result("microblog")["log"]
    assert said() == {"Check": "does the log cover the busiest time?"}
    table["workload"] = [each for each in table["workload"] if each["operation"] == "query"]
    assert said() == {"Check": "is this table only read? The log has no writes of it."}
    found["log"] = None
    density["measured"] = 2.0
    assert said() == {"Check": "are 29/s inserts right? 2/s arrive in the data."}
    table["cannot_be_known"] = ["whether two entities with the same race ever have the same bib", "when"]
    assert said() == {"Check": "can two entities with the same race have the same bib?"}
    notes, asked = table["notes"], "% of what 'by-bib' asks of bib ('x' for 'X')"
    table["notes"] = [*notes, f"34 {asked}{OTHER_CASE}{{lower(bib)}} finds every spelling; eq finds one"]
    caveat = "34 % of what 'by-bib' asks of bib differs in case alone; only {lower(bib)} finds it."
    assert said() == {"Caveat": caveat, "Check": "can two entities with the same race have the same bib?"}
    table["notes"] = [*notes, f"<0.01 {asked}{OTHER_CASE}{{lower(bib)}} finds every spelling; eq finds one"]
    assert "Caveat" not in said() and said()["Check"].startswith("does case matter? <0.01 %")
    table["notes"] = [*notes, f"3 {asked}{OTHER_CASE}{{lower(bib)}} finds every spelling; eq finds one"]
    check = f"does case matter? 3 {asked} differs in case alone; {{lower(bib)}}, a new key, finds it."
    assert said() == {"Check": check}
    best["partition_key"] = "{lower(bib)}"
    assert said() == {"Check": "can two entities with the same race have the same bib?"}


def short_of(label: str, found: dict[str, Any]) -> str:
    """The shortest form of a sentence."""
    return str(only(found).shorter[label][-1])


def throttled_line(change: Callable[[dict[str, Any]], None]) -> str:
    found = result("footrace")
    change(found["tables"][0])
    return only(found).throttled


def violation_of(code: str, message: str) -> Document:
    return {"code": code, "message": message, "measured": 3, "limit": 2, "unit": "x", "assumed_growth": False}


def test_keys_that_collide_are_the_first_reason_for_others() -> None:
    found = result("bank")
    told = "150 of 9,000 entities have a key that an earlier one has, e.g. 2 under 'a' | ''"
    found["tables"][0]["current"]["violations"].append(violation_of("not-unique", told))
    assert only(found).why.startswith("150 of 9,000 entities share a current key: one overwrites the other.")


@pytest.mark.parametrize(
    ("missed", "says"),
    [
        ([("hot-entity-contention", "'vote' has 9/s: shard the counter")], "No key helps: shard the counter."),
        ([("account", "all requests: 3x; a second account")], "No key helps: a second account."),
        (
            [("hot-partition", "p")],
            "No key tried helps: cache the reads, or read one of several copies.",
        ),
        ([("hot-partition", "p"), ("account", "a")], "No key holds both: a holds and b holds."),
        ([("not-unique", "n")], "No key holds both: a holds and b holds."),
    ],
)
def test_what_helps_is_said_where_no_key_does(missed: list[tuple[str, str]], says: str) -> None:
    found = result("orders")
    table = found["tables"][0]
    table |= {"verdict": "unsatisfied", "ranking_says": "unsatisfied"}
    table["recommended"]["violations"] = [violation_of(*each) for each in missed]
    both = [{"code": "x", "subject": None, "sentence": f"{name} holds"} for name in "ab"]
    table["conflicts"] = [{"constraints": both, "relaxed": []}]
    assert dict(only(found).cautions)["Caveat"] == says


def test_the_error_says_what_the_page_says_where_no_key_helps() -> None:
    found = result("orders")
    found["outcome"] = "constraint-unsatisfied"
    table = found["tables"][0]
    table |= {"verdict": "unsatisfied", "ranking_says": "unsatisfied", "conflicts": []}
    table["recommended"]["violations"] = [violation_of("hot-partition", "'x' takes 9/s; use a finer PartitionKey")]
    error = unsatisfied(typed(found))
    assert "finer" not in str(error) and error.fix == "cache the reads, or read one of several copies"


def test_who_is_throttled_is_named_for_both_keys() -> None:
    hot = "'2023 Chicago Marathon__Full' (71.3 % of its attempts, model) and 5 more"

    def refused_after(table: dict[str, Any]) -> None:
        term(table["recommended"])["value"] = 0.2

    def refused_by_none(table: dict[str, Any]) -> None:
        over_together(table)
        table["current"]["breaks"] = []

    def over_together(table: dict[str, Any]) -> None:
        term(table["current"])["value"] = 0.0
        broken = next(b for b in table["current"]["breaks"] if b["limit"] < b["measured"])
        table["current"]["breaks"] = [
            broken | {"cause": "the run of partitions that one query reads", "resource": "range"}
        ]

    def refused_for_a_second(table: dict[str, Any]) -> None:
        refused_by_none(table)
        message = "partition 'x' takes 4,581 entities in its busiest second, 2.29x its target; throttled if"
        table["current"]["remarks"] = [{"code": "throttled-burst", "message": message}]

    def term(scheme: dict[str, Any]) -> dict[str, Any]:
        return next(t for t in scheme["terms"] if t["name"] == "throttled at peak")

    burst = "partition 'x' takes 4,581 entities in its busiest second, 2.29x its target"
    assert throttled_line(refused_for_a_second) == f"{burst}; after: none."
    assert throttled_line(lambda _: None) == f"{hot}; after: none."
    assert throttled_line(refused_after).startswith(f"{hot}; under the recommended keys '")
    assert "' (20 % of its attempts, model)" in throttled_line(refused_after)
    assert (
        throttled_line(over_together) == "no partition, but one server: range scans take 5.14x its target; after: none."
    )
    assert throttled_line(refused_by_none) == "nothing at the peak, under either key."
    assert throttled_line(lambda t: t.update(why_not="too few rows", verdict="not_enough")) == ""


def test_what_a_log_counts_as_throttled_is_told_in_place_of_what_the_model_says() -> None:
    found = result("footrace")
    found["log"] = result("microblog")["log"] | {"throttled": 477, "requests_attempted": 1000}
    hot = "'2023 Chicago Marathon__Full'"
    assert only(found).throttled == f"{hot} (47.7 % of all attempts in the log) and 5 more; after: none."
    assert short_of("Throttled", found) == f"{hot} (47.7 %, log), 5 more; after: none."
    found["log"]["throttled"] = 0
    assert (
        only(found).throttled == f"{hot} (71.3 % of its attempts, model; the log has no 503) and 5 more; after: none."
    )
    assert short_of("Throttled", found) == f"{hot} (71.3 %, model; log: none), 5 more; after: none."
    found["log"] = None
    assert only(found).throttled == f"{hot} (71.3 % of its attempts, model) and 5 more; after: none."


def test_a_log_with_hardly_any_503_is_told_beside_the_model() -> None:
    found = result("footrace")
    found["log"] = result("microblog")["log"] | {"throttled": 5, "requests_attempted": 10_000}
    told = "71.3 % of its attempts, model; 0.05 % of all attempts in the log"
    assert only(found).throttled == f"'2023 Chicago Marathon__Full' ({told}) and 5 more; after: none."


def test_a_new_table_that_must_be_split_first_is_a_caveat_and_a_kept_one_is_not() -> None:
    found = result("bank")
    table = found["tables"][0]
    caveat = "A new table takes the peak after about 6 minutes, once it is split."
    assert ("Caveat", caveat) in only(found).cautions
    warm_up = next(term for term in table["recommended"]["terms"] if term["name"] == "warm-up")
    ranges, warm_up["value"] = warm_up["value"], 1
    assert ("Caveat", caveat) not in only(found).cautions
    warm_up["value"] = ranges
    table["ranking_says"] = table["verdict"] = "keep"
    assert ("Caveat", caveat) not in only(found).cautions


def test_two_shares_that_differ_are_told_with_what_each_is_a_share_of() -> None:
    """The model speaks of one partition at the peak, the log of all its minutes and partitions."""
    hot = "'Channel9'"
    told = "81.3 % of its attempts at the peak, model; 0.629 % of all attempts in the log"
    assert only(result("microblog")).throttled == f"{hot} ({told}); after: none."
    in_short = f"{hot} (peak, model: 81.3 %; whole log: 0.629 %); after: none."
    assert short_of("Throttled", result("microblog")) == in_short


def test_a_log_that_holds_503_is_never_said_to_hold_none() -> None:
    found = result("microblog")
    found["tables"][0]["ranking_says"] = found["tables"][0]["verdict"] = "keep"
    found["tables"][0]["current"]["breaks"] = []
    for term in found["tables"][0]["current"]["terms"]:
        term["value"] = 0 if term["name"] == "throttled at peak" else term["value"]
    found["log"] |= {"throttled": 0, "requests_attempted": 1000}
    assert only(found).throttled == "nothing at the peak."
    found["log"]["throttled"] = 197
    assert only(found).throttled.startswith("19.7 % of all logged attempts; no partition is over")


@pytest.mark.parametrize(
    ("flip", "says"),
    [
        (
            {"turn": "flips", "query": "by-bib", "factor": 4, "rate_per_s": 240, "rank": 2},
            "'by-bib' rises from 60/s to 240/s: see advisor explain scheme:2 --sample footrace.",
        ),
        (
            {"turn": "flips", "query": "by-bib", "factor": 0.1, "rate_per_s": 6, "rank": 3},
            "'by-bib' falls from 60/s to 6/s: see advisor explain scheme:3 --sample footrace.",
        ),
        ({"turn": "dominated"}, "you add queries. No rate of today's queries would change it."),
        (
            {"turn": "ahead", "rank": 2},
            "the tolerances of the ranking change. Compared alone, the next best keys rank first.",
        ),
        ({"turn": "none"}, "you add queries. No rate of one query, 0.001x to 1,000x, would."),
        (None, ""),
    ],
)
def test_what_would_change_the_advice_is_said(flip: dict[str, Any] | None, says: str) -> None:
    found = result("footrace")
    nothing = dict.fromkeys(("rank", "query", "factor", "rate_per_s", "goal", "keys"))
    found["tables"][0]["flip"] = flip and {**nothing, "proof": [], "rates_tried": 1, **flip}
    assert only(found).changes_if == says


def test_some_bytes_of_a_key_are_no_reason_to_rewrite_what_is_kept() -> None:
    found = result("footrace")
    flip = {"turn": "flips", "query": "by-bib", "factor": 4, "rate_per_s": 240, "rank": 2, "keys": None}
    table = found["tables"][0]
    table["ranking_says"] = table["verdict"] = "keep"
    for goal, says in (("requests", "'by-bib' rises from 60/s"), ("storage", "you add queries."), (None, "'by-bib'")):
        table["flip"] = {**flip, "goal": goal, "proof": [], "rates_tried": 1}
        assert only(found).changes_if.startswith(says)


@pytest.mark.parametrize(
    ("keys", "index_rows", "says"),
    [
        (None, (), "no index row is needed"),
        (None, ("", "X"), "an index row 'X' | '' would help"),
        (None, ("", "X", "Y"), "index rows X | '' and Y | '' would help"),
        (None, ("X",), "the index rows are X | ''"),
        (("{event}", "{bib}"), (), "{event} | {bib} with no index row is better"),
        (("{event}_{distance}", "{bib}"), ("X",), "{event}_{distance} | {bib} + X | '' is better"),
    ],
)
def test_a_flip_names_the_keys_or_the_index_rows_that_are_better(
    keys: tuple[str, str] | None, index_rows: tuple[str, ...], says: str
) -> None:
    """An index row named '' is the one that the recommended keys have. The last form is the command that shows them."""
    found = result("footrace")
    best = found["tables"][0]["recommended"]
    partition_key, row_key = keys or (best["partition_key"], best["row_key"])
    rows = [{"partition_key": x, "row_key": "", "copy": "full"} if x else best["index_rows"][0] for x in index_rows]
    other = {"partition_key": partition_key, "row_key": row_key, "index_rows": rows}
    found["tables"][0]["flip"] |= {"turn": "flips", "query": "by-bib", "rate_per_s": 6.0, "rank": 7, "keys": other}
    assert len(best["index_rows"]) == 1
    assert (
        only(found).changes_if == f"'by-bib' falls from 60/s to 6/s: then {says.replace(chr(39) + 'X' + chr(39), 'X')}."
    )
    assert only(found).shorter["Changes if"][0] == only(found).changes_if.replace("from 60/s to", "to")
    command = "'by-bib' falls to 6/s: see advisor explain scheme:7 --sample footrace."
    assert (short_of("Changes if", found) == command) is bool(keys or index_rows)


def test_the_query_that_loads_the_table_most_is_named_once() -> None:
    found = result("footrace")
    assert only(found).why == "'by-age' reads 8,121 rows to return 68.1; it is 99 % of rows handled."
    found["tables"][0]["ranking_says"] = found["tables"][0]["verdict"] = "keep"
    assert only(found).why.endswith(" 'by-age' is 99 % of rows handled.")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({}, "high (first in all random redraws), if the load is as declared."),
        ({"share": 0.97}, "high (first in 97 % of random redraws), if the load is as declared."),
        ({"basis": "counted"}, "high (every row was counted), if the load is as declared."),
        (
            {"basis": "counted", "sure": False, "note": "counted on this file (9 rows)"},
            "medium (this file: 9 rows), if the load is as declared.",
        ),
        (
            {"sure": False, "note": "of this file"},
            "medium (by redraws of this file), if the load is as declared.",
        ),
        (
            {"sure": False, "note": "of this file; 80 % of the draws are assumed", "assumed_share": 0.2},
            "low (first in all random redraws, but 80 % of the draws are assumed).",
        ),
        (
            {"share": None, "note": "counted on this file (40,000 rows), but 80 % of the draws are assumed"},
            "unknown (80 % of the draws are assumed).",
        ),
        (
            {"share": None, "note": "counted on this file (40,000 rows)"},
            "unknown (counted on this file (40,000 rows)).",
        ),
        (
            {"share": None, "note": "a slice: what lies outside may differ"},
            "unknown (a slice: what lies outside may differ).",
        ),
        (
            {"sure": False, "share": 0.6, "rows_needed": 2000, "rows_of": "data"},
            "low (first in 60 % of random redraws; add 2,000 rows of data).",
        ),
    ],
)
def test_confidence_is_told_in_words_with_its_condition(change: Document, said: str) -> None:
    found = result("footrace")
    found["tables"][0]["confidence"] |= change
    assert only(found).confidence == said


def test_confidence_rests_on_the_log_where_there_is_one() -> None:
    assert only(result("microblog")).confidence.endswith(", if 10 min of log are typical.")


def test_without_files_of_the_command_the_document_names_them() -> None:
    found = result("footrace")
    assert only(found).next_command == "advisor stress --sample footrace"
    found["settings"]["command"] = "advisor analyze registrations.csv --design design.yaml --seed 0"
    assert only(found).next_command == "advisor stress registrations.csv --design design.yaml"
    found["tables"][0]["data"] = None
    assert summarize(found, "--log l.gz").tables[0].next_command == "advisor analyze --log l.gz --details"


def test_keys_that_only_the_sample_shows_to_be_unique_are_asked_about_first() -> None:
    found = result("footrace")
    asked = "unique in 6,000 sampled rows: is bib, event unique in the table?"
    found["tables"][0]["cannot_be_known"] = ["when", asked]
    assert [sentence.label for sentence in only(found).prose][:2] == ["Why", "Check"]
    assert only(found).ask_first == "is bib, event unique in the table?"
    found["tables"][0]["cannot_be_known"] = ["when"]
    assert not only(found).ask_first


@pytest.mark.parametrize(
    ("text", "shorter"),
    [
        ("Every query reads only its rows; the next best keys lose by cost.", ["Every query reads only its rows."]),
        ("One. Two; three.", ["One. Two.", "One."]),
        ("word word", []),
        ("may 'by-age' miss writes? Its row comes later.", ["may 'by-age' miss writes?"]),
        ("low (first in 57.5 % of random redraws; add 5 rows).", ["low (first in 57.5 % of random redraws)."]),
        ("'a; b' is hot. It is.", ["'a; b' is hot."]),
        ("today's keys; 'a. b", ["today's keys."]),
        ("{a; b} is long; so.", ["{a; b} is long."]),
    ],
)
def test_a_sentence_without_room_ends_at_a_clause(text: str, shorter: list[str]) -> None:
    assert heads(text) == shorter


@pytest.mark.parametrize(("share", "asked"), [("90", True), ("40", False)])
def test_keys_that_the_data_lacks_ask_for_the_whole_export(share: str, asked: bool) -> None:
    found = result("footrace")
    found["tables"][0]["notes"].append(f"{share} % of the keys that 'by-bib' asks for are not in the data")
    question = f"is the export whole? {share} % of the keys that 'by-bib' asks for are not in it."
    assert (("Check", question) in cautions(typed(found).tables[0], logged=True)) is asked


@pytest.mark.parametrize(
    ("partition", "row", "lost"),
    [
        ("{p1}", "{user}", "r1"),
        ("{p1}", "{ticks(r1)}", ""),
        ("{p1}_x", "{time(r1,'yyyyMMdd')}", ""),
        ("{hash(p1,8)}", "{time(r1,'yyyy')}_{user}", "p1, r1"),
    ],
)
def test_what_only_the_current_keys_hold_is_named(partition: str, row: str, lost: str) -> None:
    """A hash or a year of it is not the value; a day is, where the current keys hold no more."""
    best = cast(CostEstimate, SimpleNamespace(scheme=KeyScheme(parse_key(partition, row))))
    section = SimpleNamespace(declared=SimpleNamespace(key_parts=("p1", "r1")))
    current = SimpleNamespace(scheme=KeyScheme(parse_key("{p1}", "{time(r1,'yyyyMMdd')}")))
    judged = SimpleNamespace(section=section, advice=SimpleNamespace(current=current))
    said = _in_keys_alone(best, cast(Judged, judged))
    assert said == ([f"only the current keys hold {lost}: store what they tell in properties"] if lost else [])


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ([("Shop", None)], "scheme:1"),
        ([("Shop", "Orders"), ("Shop", "Lines")], "scheme:Orders:1"),
        ([("Shop", "My Orders"), ("Shop", "Lines")], "'scheme:My Orders:1'"),
        ([("Shop", None), ("Depot", None)], "scheme:1 --table Shop"),
        ([("Shop", "Orders"), ("Shop", "Lines"), ("Depot", None)], "scheme:Orders:1 --table Shop"),
    ],
)
def test_a_scheme_of_several_rankings_is_named_with_its_kind_and_its_table(
    tables: list[tuple[str, str | None]], says: str
) -> None:
    assert scheme_target(1, tables) == says

"""The verdict has three steps, and each bar stands where it says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import to_builtins

from pkadvisor.stress.experiment.pass_criteria import (
    BURST_SHARE,
    LOST_SHARE,
    QUERY_LOST_SHARE,
    QUIET_SHARE,
    Level,
    level_of,
)
from pkadvisor.stress.experiment.verdict import verdict_of as verdict_of_parts

A_LITTLE = 1e-5


def part(node: Any) -> Any:
    """What a test says of a part of the document, its members as attributes."""
    if isinstance(node, dict):
        return SimpleNamespace(
            **{name: value if name == "throttled_by" else part(value) for name, value in node.items()}
        )
    return [part(each) for each in node] if isinstance(node, list) else node


def verdict_of(designs: list[dict[str, Any]], goals: list[dict[str, Any]]) -> dict[str, Any]:
    verdict: dict[str, Any] = to_builtins(verdict_of_parts(part(designs), part(goals)))
    return verdict


def query(name: str, **told: Any) -> dict[str, Any]:
    calm = {"throttled": 0, "throttled_share": 0.0, "lost": 0, "lost_share": 0.0, "latency_ms_p99": 20.0}
    return {"name": name, **calm, **told}


def run(state: str = "warmed up", *, classes: tuple[dict[str, Any], ...] = (), **told: Any) -> dict[str, Any]:
    calm = {
        "throttled": 5,
        "conflicts": 0,
        "throttled_share": 0.0,
        "throttled_by": {"range": 4, "account": 1},
        "lost": 0,
        "lost_share": 0.0,
        "timed_out": 0,
        "duration_s": 600,
        "hottest": {"partition_key": "k", "times_target": 0.4},
        "throttling": {"seconds": 5, "longest_s": 3},
        "events": [],
    }
    return {"state": state, **calm, **told, "classes": list(classes or (query("list"),))}


def design(label: str, *runs: dict[str, Any], **prediction: Any) -> dict[str, Any]:
    calm: dict[str, Any] = {"classes": [], "load": [], "breaks": [], "audit": None}
    scheme = {"hot_partition": {"partition_key": "k"}}
    held = {"label": label, "scheme": scheme, "refused": [], "untested": None}
    return {**held, "runs": list(runs), "prediction": {**calm, **prediction}}


def goal(label: str, met: bool, name: str = "p99") -> dict[str, Any]:
    marks = [{"label": label, "measured": 99, "met": met, "decides": False}]
    return {"name": name, "query": "list", "most": 50, "unit": "ms" if name == "p99" else "share", "designs": marks}


@pytest.mark.parametrize(
    ("told", "level"),
    [
        ({"throttled_share": QUIET_SHARE}, Level.BEARS),
        ({"throttled_share": QUIET_SHARE + A_LITTLE}, Level.BURSTS),
        ({"throttled_share": BURST_SHARE, "lost_share": LOST_SHARE}, Level.BURSTS),
        ({"throttled_share": BURST_SHARE + A_LITTLE}, Level.FAILS),
        ({"lost_share": LOST_SHARE + A_LITTLE}, Level.FAILS),
        ({"timed_out": 1}, Level.FAILS),
        ({"classes": (query("rare", lost=1, lost_share=QUERY_LOST_SHARE + A_LITTLE),)}, Level.FAILS),
        ({"classes": (query("rare", lost=1, lost_share=QUERY_LOST_SHARE),)}, Level.BEARS),
    ],
)
def test_each_bar(told: dict[str, Any], level: Level) -> None:
    assert level_of(part(run(**told))) is level


def test_bursts_are_borne_only_where_the_goals_for_latencies_are_met() -> None:
    bursts = design("recommended", run(throttled_share=0.003))
    for met, name, level, style in (
        (True, "p99", "bursts", "warn"),
        (False, "p99", "fails", "bad"),
        (False, "throttled", "bursts", "bad"),
    ):
        found = verdict_of([bursts], [goal("recommended", met, name)])
        assert (found["level"], found["bears"], found["style"]) == (level, level == "bursts", style)
    found = verdict_of([bursts], [goal("recommended", False)])
    assert "and the goal p99 of list is missed" in found["designs"][0]["sentence"]
    quiet = verdict_of([design("recommended", run())], [goal("recommended", False)])
    assert (quiet["level"], quiet["style"]) == ("bears", "bad")
    assert quiet["sentences"][1] == "recommended misses the goal p99 of list"


def test_who_is_throttled_and_for_how_long_is_said() -> None:
    classes = (
        query("get"),
        query("list", throttled=4, throttled_share=0.02, latency_ms_p99=930.0),
        query("scan", throttled=1, throttled_share=0.3, latency_ms_p99=None),
        query("put", throttled=1, throttled_share=0.001),
    )
    (told,) = verdict_of([design("recommended", run(throttled_share=0.003, classes=classes))], [])["sentences"]
    assert told == (
        "recommended sustains the load, with bursts throttled and retried: 0.3 % of attempts throttled, mostly by the "
        "target of one range of keys, in 5 of 600 s, at most 3 s at a time; scan 30 %, list 2 % (p99 930 ms) and 1 more"
    )


def test_a_p99_beyond_a_minute_says_what_takes_that_long() -> None:
    for late, said in ((60_000.0, "(p99 60,000 ms)"), (60_001.0, "(p99 over a minute: requests queue or are retried")):
        classes = (query("list", throttled=4, throttled_share=0.02, latency_ms_p99=late),)
        (told,) = verdict_of([design("recommended", run(throttled_share=0.003, classes=classes))], [])["sentences"]
        assert said in told


def test_a_query_that_is_lost_is_named() -> None:
    classes = (query("get", lost=1, lost_share=0.0005), query("scan", lost=9, lost_share=0.9))
    lost = run(throttled_share=0.2, throttled_by={"partition": 5}, lost_share=0.002, classes=classes)
    (told,) = verdict_of([design("current", lost)], [])["sentences"]
    assert told == (
        "current does not sustain the load: 20 % of attempts throttled, by the target of one partition, 0.2 % of the "
        "requests lost, 90 % of scan; with retries the hottest partition, k, is at 0.40x its target"
    )


def test_what_the_analysis_refuses_fails_whatever_was_measured() -> None:
    refused = design("recommended", run()) | {"refused": [{"message": "a counter of 900 commits/s"}, {"message": "b"}]}
    verdict = verdict_of([refused], [])
    (told,) = verdict["designs"]
    assert (verdict["bears"], verdict["level"], told["measured_level"]) == (False, "fails", "bears")
    assert told["sentence"].startswith(
        "recommended is refused by 'advisor analyze': a counter of 900 commits/s and 1 more constraint; in this run "
    )
    assert verdict_of([design("recommended", run())], [])["level"] == "bears"


def test_why_the_hottest_partition_is_not_the_one_that_was_foreseen_is_said_where_it_is_named() -> None:
    fails, bears = design("current", run(throttled_share=0.5)), design("recommended", run())
    assert len(verdict_of([fails, bears], [])["sentences"]) == 2
    for each in (fails, bears):
        each["scheme"] = {"hot_partition": {"partition_key": "other"}}
    told = verdict_of([fails, bears], [])["sentences"]
    assert told[2:] == [
        "current: 'advisor analyze' predicts other as the hottest partition of the worst minute; in this run it is k, "
        "because the run counts retries and leaves out the pages of requests that were given up"
    ]
    fails["runs"][0]["hottest"] = None
    assert len(verdict_of([fails, bears], [])["sentences"]) == 2
    fails["runs"][0]["hottest"], fails["scheme"] = {"partition_key": "k", "times_target": 2.0}, {"hot_partition": None}
    assert len(verdict_of([fails, bears], [])["sentences"]) == 2


def test_each_design_has_its_level_as_a_new_table_too() -> None:
    cold = run("cold start", throttled_share=0.5, lost_share=0.3)
    found = verdict_of([design("current", run(throttled_share=0.5)), design("recommended", run(), cold)], [])
    assert [(each["label"], each["level"], each["new_table_level"]) for each in found["designs"]] == [
        ("current", "fails", "fails"),
        ("recommended", "bears", "fails"),
    ]
    assert (found["bears"], found["new_table_bears"], found["style"]) == (True, False, "good")
    assert found["sentences"][1].endswith(
        "as a new table it loses 30 % of the requests, because nothing is split within this run"
    )


def test_nothing_is_said_of_a_new_table_of_the_keys_in_use() -> None:
    cold = run("cold start", throttled_share=0.5, lost_share=0.3)
    found = verdict_of([design("current = recommended", run(), cold)], [])
    assert "new table" not in " ".join(found["sentences"])
    assert found["new_table_bears"] is False


def test_what_was_predicted_wrongly_is_counted_and_said() -> None:
    measures = [{"name": "requests", "agrees": False}, {"name": "entities read", "agrees": True}]
    wrong = {
        "classes": [{"name": "list", "measures": measures}],
        "load": [{"name": "throttled there", "agrees": False}, {"name": "p50 of list", "agrees": None}],
        "breaks": [{"cause": "the hottest partition", "holds": False}],
        "audit": {"violations": 2},
    }
    found = verdict_of([design("current", run()), design("recommended", run(), **wrong)], [])
    assert (found["failed_predictions"], found["style"]) == (4, "warn")
    assert found["sentences"][-1] == "analyze predicts otherwise for recommended: operations of list; 3 more"
    assert verdict_of([design("current", run(), **wrong), design("recommended", run())], [])["failed_predictions"] == 0


@pytest.mark.parametrize(
    ("before", "after", "requests", "keep"),
    [
        (0, 200, 10_000, True),  # 2 % against none
        (1_400, 1_600, 10_000, True),
        (1_500, 1_510, 10_000, False),  # within 0.1 % of the requests
        (1_500, 1_560, 10_000, False),  # within chance
        (200, 0, 10_000, False),
    ],
)
def test_keys_that_serve_less_are_not_recommended(before: int, after: int, requests: int, keep: bool) -> None:
    current = design("current", run(lost=before, lost_share=before / requests))
    proposed = design("recommended", run(lost=after, lost_share=after / requests))
    found = verdict_of([current, proposed], [])
    assert found["keep_current"] is keep
    assert (
        any(sentence.startswith("do not change the keys: recommended loses") for sentence in found["sentences"]) is keep
    )
    if keep:
        assert found["style"] == "bad"
    refused = current | {"refused": [{"message": "no"}]}
    assert not verdict_of([refused, proposed], [])["keep_current"]
    assert not verdict_of([proposed], [])["keep_current"]


@pytest.mark.parametrize(("after", "keep"), [(200, True), (5, False)])
def test_keys_that_serve_less_in_the_engine_are_not_recommended(after: int, keep: bool) -> None:
    def audit(lost: int, rows: int = 9) -> dict[str, Any]:
        return {"violations": 0, "rows": 9, "table_rows": rows, "engine": {"lost": lost, "lost_share": lost / 10_000}}

    found = verdict_of([design("current", run(), audit=audit(0)), design("recommended", run(), audit=audit(after))], [])
    why = "do not change the keys: in the embedded engine recommended loses 2 % of the requests, current 0 %"
    assert (found["keep_current"], why in found["sentences"]) == (keep, keep)
    assert verdict_of([design("current", run()), design("recommended", run(), audit=audit(after))], [])["bears"]
    parts = [design("current", run(), audit=audit(0, 10)), design("recommended", run(), audit=audit(after, 10))]
    assert not verdict_of(parts, [])["keep_current"], "each design had requests of its own"

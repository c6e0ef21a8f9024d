"""What a stress test hands on: a document that keeps to its schema, hides what it must, and adds up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pkadvisor.documents.schema_errors import typed
from pkadvisor.documents.stress_run import StressAudit
from pkadvisor.errors import UsageError
from pkadvisor.progress import SilentProgress
from pkadvisor.report.stress_words import left_out
from pkadvisor.report.text.stress_page import render_stress
from pkadvisor.stress.experiment import audit
from pkadvisor.stress.experiment.request import REQUESTS_MOST, check_faults, check_flashes, check_size
from pkadvisor.stress.experiment.stress_result import SCHEMA_VERSION, dump
from pkadvisor.stress.requests.retry import policy_of
from pkadvisor.stress.store import engine_rows
from tests.cli.support import checked
from tests.plain import stress
from tests.report.support import schema
from tests.stress.stressed import document, request_of


def runs_of(found: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for table in found["tables"]:
        for design in table["designs"]:
            yield from design["runs"]


@pytest.mark.parametrize("redact", [False, True])
def test_a_document_keeps_to_its_schema(redact: bool) -> None:
    found = checked(dump(document(redact)).decode(), "stress")
    assert found["redacted"] is redact
    assert schema("stress")["properties"]["schema_version"]["const"] == SCHEMA_VERSION == found["schema_version"]


def test_states_are_warm_cold_and_closed() -> None:
    (table,) = document()["tables"]
    assert [d["label"] for d in table["designs"]] == ["current", "recommended"]
    for design in table["designs"]:
        assert [run["state"] for run in design["runs"]] == ["warmed up", "cold start", "3 clients"]
    assert [note.partition(";")[0] for note in table["notes"] if "client" in note] == ["3 clients: run warmed up"]
    assert any("no server fails in the run of the embedded engine" in note for note in table["notes"])


def test_every_run_conserves_what_came() -> None:
    for run in runs_of(document()):
        for counts in (run, *run["classes"]):
            assert counts["requests"] == counts["served"] + counts["lost"]
            assert counts["attempts"] == counts["accepted"] + counts["throttled"] + counts["timed_out"]
            assert sum(counts["throttled_by"].values()) == counts["throttled"]
        assert run["requests"] == sum(c["requests"] for c in run["classes"])


def test_clients_that_wait_never_ask_for_more_than_they_can() -> None:
    closed = [run for run in runs_of(document()) if run["state"] == "3 clients"]
    for run in closed:
        # Each of three clients thinks for 10 ms and waits 1 ms at least.
        assert 0 < run["requests"] <= 3 * (run["duration_s"] / 0.011 + 1)
        assert run["complete"]
    opened = [run for run in runs_of(document()) if run["state"] != "3 clients"]
    assert min(run["requests"] for run in opened) > max(run["requests"] for run in closed)


def test_the_test_of_one_partition_fails_where_all_is_one_and_passes_where_it_is_not() -> None:
    (table,) = document()["tables"]
    hot, cold = (design["partition_test"] for design in table["designs"])
    assert (hot["partition_key"], hot["target_entities_per_s"], hot["passes"]) == ("all", 100, False)
    # 200/s + 5/s and once a second 240 entities
    assert 300 < hot["offered_entities_per_s"] < 700
    assert hot["accepted_entities_per_s"] < hot["offered_entities_per_s"]
    assert hot["throttled_share"] > 0.2
    needed = -(-hot["offered_entities_per_s"] // 100)
    assert f"over at least {needed:g} PartitionKeys" in hot["verdict"]
    assert cold["passes"]
    assert cold["throttled_share"] == 0
    assert cold["accepted_entities_per_s"] == cold["offered_entities_per_s"] < 10


def test_redaction_hides_every_key_value() -> None:
    plain, hidden = (json.dumps(document(redact)) for redact in (False, True))
    assert "secret" in plain
    assert "secret" not in hidden
    assert "p0000" not in hidden
    (table,) = document(True)["tables"]
    for design in table["designs"]:
        assert design["partition_test"]["partition_key"].startswith("[key ")
        for run in design["runs"]:
            assert run["hottest"]["partition_key"].startswith("[key ")
            assert all(row["from_key"].startswith("[key ") for row in run["heat"]["rows"])
            names = [text for e in run["events"] for r in e["ranges"] for text in (r["from_key"], r["until_key"])]
            assert names
            assert all(not text or text.startswith("[key ") for text in names)


def test_figures_are_the_same_hidden_or_not() -> None:
    for plain, hidden in zip(runs_of(document()), runs_of(document(True)), strict=True):
        assert plain["classes"] == hidden["classes"]
        assert plain["timeline"] == hidden["timeline"]


def test_a_key_that_no_design_has_is_told_with_the_nearest(tmp_path: Path) -> None:
    asked = request_of(tmp_path, partition="t3_p0004")
    with pytest.raises(UsageError, match=r"no design that is run has the PartitionKey 't3_p0004'") as raised:
        stress(asked, SilentProgress())
    assert "did you mean 't" in raised.value.what
    assert raised.value.where == "--partition"
    with pytest.raises(UsageError) as raised:
        stress(request_of(tmp_path, partition="t3_p0004", redact=True), SilentProgress())
    assert "did you mean" not in str(raised.value)
    assert "t4_p0004" not in str(raised.value)


class _Interrupting:
    """A policy that is interrupted at its n-th answer."""

    def __init__(self, after: int) -> None:
        self._left, self._policy = after, policy_of("none")
        self.delay_ns_min = 0

    def delay_ns(self, tried: int, request: int, step: int, status: int) -> int | None:
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return self._policy.delay_ns(tried, request, step, status)


def test_what_was_run_before_an_interrupt_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pkadvisor.stress.experiment.request.policy_of", lambda text, seed: _Interrupting(200))
    found = stress(request_of(tmp_path, duration_s=60.0), SilentProgress())
    assert (found["complete"], found["outcome"]) == (False, "incomplete")
    checked(dump(found).decode(), "stress")
    (table,) = found["tables"]
    (design,) = table["designs"]
    (run,) = design["runs"]
    assert not run["complete"]
    assert 1 <= run["duration_s"] < 60
    assert len(run["timeline"]["offered_per_s"]) == run["duration_s"] / run["timeline"]["step_s"]
    # rates are over what was run, not over what was asked for
    assert 100 < run["offered_requests_per_s"] < 500
    assert design["prediction"] == {"classes": [], "load": [], "breaks": [], "audit": None}
    rest = "the rest of Scores, current, from its run 'warmed up' on"
    assert found["not_run"] == [rest, "Scores, recommended"]
    text = render_stress(typed(found), width=200, color=False, ascii_only=False, details=True)
    assert "Predicted and measured" not in text
    assert f"not run: {rest}; Scores, recommended" in text
    assert " of 1 min of " in text


def test_an_interrupt_before_any_run_says_what_was_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pkadvisor.usecases.stress.prepare", stop)
    found = stress(request_of(tmp_path), SilentProgress())
    checked(dump(found).decode(), "stress")
    assert (found["complete"], found["tables"], found["not_run"]) == (
        False,
        [],
        ["Scores, current", "Scores, recommended"],
    )


def test_a_load_is_refused_above_a_stated_number_and_what_to_do_is_told() -> None:
    check_size(REQUESTS_MOST, 600)
    with pytest.raises(
        UsageError, match="400,000,000 requests are more than a run may have, which is 200,000,000"
    ) as told:
        check_size(2 * REQUESTS_MOST, 600)
    assert "--duration 300s" in told.value.fix
    with pytest.raises(UsageError) as told:
        check_size(1e6 * REQUESTS_MOST, 600)
    assert "smaller --load" in told.value.fix


def test_faults_need_a_server_and_a_run_that_lasts() -> None:
    from pkadvisor.stress.load.faults import parse_fault

    check_faults([parse_fault("server-down:server-7@4m"), parse_fault("server-down@9m")], 8, 600)
    with pytest.raises(UsageError, match=r"there is no server 'server-8'; did you mean 'server-"):
        check_faults([parse_fault("server-down:server-8@4m")], 8, 600)
    with pytest.raises(UsageError, match="the run is over after 600 s"):
        check_faults([parse_fault("server-down@10m")], 8, 600)


def test_a_flash_crowd_that_comes_after_the_run_is_refused() -> None:
    check_flashes([0.0, 59.9], 60)
    with pytest.raises(UsageError, match="after 60 s, when the run is over"):
        check_flashes([10.0, 60.0], 60)


def engine_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, settings: tuple[int, ...], partition: str = "all"
) -> list[dict[str, Any] | None]:
    """What the embedded engine says of the first design, for some values of a limit of it."""
    found: list[dict[str, Any] | None] = []
    holder = audit if name == "EFFORT_MAX" else engine_rows

    def only_engine(_: object, prepared: Any, request: Any, policy: Any, *__: object) -> None:
        for most in settings:
            monkeypatch.setattr(holder, name, most)
            found.append(msgspec.to_builtins(audit.audit_of(prepared, request, policy)))
        raise KeyboardInterrupt

    monkeypatch.setattr("pkadvisor.usecases.stress.run_design", only_engine)
    stress(request_of(folder, audited_requests=300, case={"partition": partition}), SilentProgress())
    return found


def test_the_engine_throttles_as_a_run_without_rows_does_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "TRIAL_REQUESTS", 4)
    whole, cut = engine_runs(tmp_path, monkeypatch, "EFFORT_MAX", (audit.EFFORT_MAX, 20))
    assert whole is not None and cut is not None
    assert whole["requests"] == 300 and whole["violations"] == cut["violations"] == 0
    assert 4 < cut["requests"] <= 25 and cut["operations"] <= 1.5 * 20 * audit.EFFORT_CLOSE < whole["operations"]
    assert cut["requests"] == cut["without_rows"]["requests"]
    engine, without = whole["engine"], whole["without_rows"]
    assert engine["throttled_share"] > 0 and engine["attempts"] == whole["operations"]
    assert engine["throttled_share"] == pytest.approx(without["throttled_share"], rel=0.1)
    assert engine["latency_ms_p50"] == pytest.approx(without["latency_ms_p50"], rel=0.1)


def test_the_engine_takes_whole_keys_of_a_large_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 12 teams of 20 rows five fit into 110 rows, and none into 19."""
    part, none = engine_runs(tmp_path, monkeypatch, "ROWS_MAX", (110, 19), partition="{team}")
    assert part is not None and none is None
    assert (part["rows"], part["table_rows"], part["violations"]) == (100, 240, 0)
    assert part["load_share"] == pytest.approx(5 / 12, abs=0.02)
    assert part["entities_read"] >= 0.9 * part["requests"] > 0, "what is asked for is there"
    assert part["engine"]["attempts"] == part["without_rows"]["attempts"]
    assert left_out(msgspec.convert(part, StressAudit)).startswith(" of 240 (whole PartitionKeys")

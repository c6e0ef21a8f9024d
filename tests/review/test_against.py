"""Two designs beside each other: statuses of findings, numbers before and after, keys, and files out of git."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pkadvisor.errors import UsageError
from pkadvisor.inputs import AnalyzeRequest
from pkadvisor.progress import SilentProgress
from pkadvisor.report.formats.review_markdown import render_markdown
from tests.plain import profile
from tests.review.documents import complaints, text, typed
from tests.review.gate_support import DESIGN, TEXT, Folder, finding, told

OLD = "old/orders.yaml"
PROFILE = "schema/orders.profile.json"
HALF = "schema: 1\ntables:\n  Orders:\n    partition_key: '{tenant}'\n    row_key: '{id}'\n    queries:\n"
LOADED = HALF + "      - {name: one, filter: \"tenant eq '{tenant}' and id eq {id}\", rate: 3000/s}\n"
"""Each tenant has its partition; the share of the largest decides about the 2,000/s of one."""


def statuses(document: dict[str, Any]) -> dict[str, str]:
    """The status of each finding, by rule and subject."""
    return {f"{f['rule']} {f['subject']['name']}": f["status"] for d in document["designs"] for f in d["findings"]}


def diff(document: dict[str, Any]) -> dict[str, Any]:
    """The comparison of the one design."""
    (design,) = document["designs"]
    return dict(design["diff"])


def numbers(metrics: list[dict[str, Any]]) -> dict[str, tuple[float | None, float | None, str]]:
    """Before, after and direction of each metric."""
    return {m["name"]: (m["before"], m["after"], m["direction"]) for m in metrics}


def profiled(folder: Folder, rows: list[str]) -> None:
    """Write the profile of orders of the tenants given, one row each."""
    folder.write("orders.csv", "tenant,id\n" + "".join(f"{t},{i}\n" for i, t in enumerate(rows)))
    folder.write("shape.yaml", LOADED)
    request = AnalyzeRequest(data=("orders.csv",), design="shape.yaml")
    folder.write(PROFILE, json.dumps(profile(request, SilentProgress(), salt=b"")))


# -- a file ------------------------------------------------------------------------------------------------------------


def test_each_finding_is_new_worse_unchanged_or_fixed(folder: Folder) -> None:
    folder.write(OLD, TEXT.replace("500", "2_000").replace("by-status", "by-state"))
    folder.write(DESIGN, "# moved\n" * 10 + TEXT.replace("500", "2_200"))
    document = folder.review(against=OLD)
    assert statuses(document) == {"ACME002 by-status": "new", "ACME001 Orders": "worse"}
    assert finding(document, "ACME001")["before"] == 2000.0
    found = diff(document)
    assert [f["subject"]["name"] for f in found["fixed"]] == ["by-state"]
    assert found["counts"] == {"new": 1, "worse": 1, "unchanged": 0, "fixed": 1}
    assert found["against"] == OLD


@pytest.mark.parametrize(("entities", "status"), [("2_100", "unchanged"), ("2_101", "worse"), ("1_500", "unchanged")])
def test_a_metric_is_worse_beyond_five_per_cent(folder: Folder, entities: str, status: str) -> None:
    folder.write(OLD, TEXT.replace("500", "2_000"))
    folder.write(DESIGN, TEXT.replace("500", entities))
    assert statuses(folder.review(against=OLD))["ACME001 Orders"] == status


def test_only_what_is_new_stops_where_that_is_asked_for(folder: Folder) -> None:
    folder.write(OLD, TEXT)
    assert folder.review(against=OLD)["exit_code"] == 1
    document = folder.review(against=OLD, new_only=True)
    assert (document["exit_code"], statuses(document)) == (0, {"ACME002 by-status": "unchanged"})
    folder.write(OLD, TEXT.replace("status eq '{status}'", "tenantId eq '{tenantId}'"))
    assert folder.review(against=OLD, new_only=True)["exit_code"] == 1
    with pytest.raises(UsageError, match="nothing to compare findings with"):
        folder.review(new_only=True)


def test_what_was_suppressed_before_and_no_longer_is_counts_as_new(folder: Folder) -> None:
    folder.write(OLD, TEXT.rstrip("\n") + '  # pkadvisor: ignore[ACME002] reason="weekly"\n')
    document = folder.review(against=OLD, new_only=True)
    assert statuses(document) == {"ACME002 by-status": "new"}
    assert document["exit_code"] == 1


def test_keys_and_queries_are_told_before_and_after(folder: Folder) -> None:
    folder.write(OLD, TEXT.replace("500", "48_000"))
    folder.write(DESIGN, TEXT.replace('"{orderId}"', '"{day}_{orderId}"').replace("500", "48_000"))
    document = folder.review(against=OLD)
    found = diff(document)
    assert found["keys"] == [
        {
            "table": "Orders",
            "kind": None,
            "class": "rewrite",
            "entities": 48_000.0,
            "partition_key": ["{tenantId}", "{tenantId}"],
            "row_key": ["{orderId}", "{day}_{orderId}"],
            "index_rows_added": [],
            "index_rows_removed": [],
        }
    ]
    told_ = {q["name"]: (q["access_before"], q["access_after"], q["direction"]) for q in found["queries"]}
    assert told_ == {
        "one": ("point", "partition scan", "worse"),
        "by-status": ("table scan", "table scan", "same"),
    }
    assert numbers(found["metrics"])["partition and table scans"] == (1.0, 2.0, "worse")
    assert statuses(document) == {
        "ACME002 by-status": "unchanged",
        "ACME001 Orders": "unchanged",
        "PK801 Orders": "new",
        "PK802 one": "new",
    }


def test_an_index_row_is_an_addition(folder: Folder) -> None:
    folder.write(OLD, TEXT)
    row = '    index_rows:\n      - {partition_key: "{status}", row_key: "{tenantId}_{orderId}"}\n    queries:\n'
    folder.write(DESIGN, TEXT.replace("    queries:\n", row))
    document = folder.review(against=OLD)
    (keys,) = diff(document)["keys"]
    assert (keys["class"], keys["entities"], keys["index_rows_removed"]) == ("additive", 500.0, [])
    assert keys["index_rows_added"] == ["{status} | {tenantId}_{orderId} (full)"]
    queries = {q["name"]: q["direction"] for q in diff(document)["queries"]}
    assert queries == {"one": "same", "by-status": "better"}
    assert told(document) == []
    back = folder.review(OLD, against=DESIGN)
    assert diff(back)["keys"][0]["index_rows_removed"] == keys["index_rows_added"]


def test_tables_that_come_and_go(folder: Folder) -> None:
    folder.write(OLD, TEXT.replace("Orders", "Invoices"))
    found = diff(folder.review(against=OLD))
    assert (found["tables_added"], found["tables_removed"], found["keys"]) == (["Orders"], ["Invoices"], [])
    assert found["counts"]["new"] == found["counts"]["fixed"] == 1


def test_a_declared_rate_that_rises_is_a_changed_load(folder: Folder) -> None:
    folder.write(OLD, TEXT.replace("rate: 5/s", "rate: 4/s"))
    assert diff(folder.review(against=OLD))["load_changed"]
    folder.write(OLD, "# the same\n" + TEXT)
    assert not diff(folder.review(against=OLD))["load_changed"]


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"against": OLD, "against_ref": "main"}, "two designs"),
        ({"against": OLD, "designs": 2}, "one file cannot be compared with 2"),
    ],
)
def test_what_cannot_be_compared(folder: Folder, more: dict[str, Any], says: str) -> None:
    folder.write(OLD, TEXT)
    designs = (DESIGN, OLD)[: more.pop("designs", 1)]
    with pytest.raises(UsageError, match=says):
        folder.review(*designs, **more)


def test_a_file_to_compare_with_that_cannot_be_read_stops_the_run(folder: Folder) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        folder.review(against="old/none.yaml")
    folder.write(OLD, "tables: [")
    with pytest.raises(UsageError) as caught:
        folder.review(against=OLD)
    assert caught.value.where.startswith(f"{OLD}:1:")


# -- git ---------------------------------------------------------------------------------------------------------------


def test_a_commit_is_compared_with_what_lies_in_the_folder(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.replace("status eq '{status}'", "tenantId eq '{tenantId}'"))
    folder.commit()
    folder.write(DESIGN, TEXT)
    document = folder.review(against_ref="main")
    assert statuses(document) == {"ACME002 by-status": "new", "PK803 by-status": "new"}
    assert (diff(document)["against"], document["exit_code"]) == ("main", 1)
    folder.commit()
    assert statuses(folder.review(against_ref="main")) == {"ACME002 by-status": "unchanged"}
    assert statuses(folder.review(against_ref="HEAD~1"))["ACME002 by-status"] == "new"


def test_the_repository_of_a_hook_is_not_taken_for_that_of_the_design(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.commit()
    monkeypatch.setenv("GIT_DIR", "elsewhere/.git")
    monkeypatch.setenv("GIT_INDEX_FILE", "elsewhere/index")
    assert statuses(folder.review(against_ref="main")) == {"ACME002 by-status": "unchanged"}


def test_a_design_that_is_new_has_nothing_before_it(folder: Folder) -> None:
    folder.commit()
    folder.write("schema/sub/new.yaml", TEXT)
    document = folder.review("schema/sub/new.yaml", against_ref="main")
    assert statuses(document) == {"ACME002 by-status": "new"}
    found = diff(document)
    assert (found["new_design"], found["metrics"], found["keys"]) == (True, [], [])


def test_several_designs_stand_beside_their_own_past(folder: Folder) -> None:
    other = "schema/other.yaml"
    folder.write(other, TEXT)
    folder.commit()
    folder.write(other, TEXT.replace("by-status", "by-state"))
    document = folder.review(DESIGN, other, against_ref="main", new_only=True)
    assert [d["diff"]["counts"]["new"] for d in document["designs"]] == [0, 1]
    assert document["exit_code"] == 1


def test_outside_of_a_repository_and_for_an_unknown_ref_there_is_one_sentence(folder: Folder) -> None:
    with pytest.raises(UsageError, match="not in a git repository") as caught:
        folder.review(against_ref="main")
    assert "--against FILE" in caught.value.fix
    folder.commit()
    for ref in ("none", "-h", "--output=x", "main:schema", "", "a b"):
        if ref:
            with pytest.raises(UsageError, match="git knows no commit"):
                folder.review(against_ref=ref)


def test_a_past_that_cannot_be_read_does_not_stop_whoever_repairs_it(folder: Folder) -> None:
    folder.write(DESIGN, "tables: [")
    folder.commit()
    folder.write(DESIGN, TEXT)
    document = folder.review(against_ref="main")
    assert statuses(document) == {"ACME002 by-status": "new"}
    (note,) = diff(document)["notes"]
    assert note.startswith("the design at main cannot be read: is not YAML")


# -- the profile -------------------------------------------------------------------------------------------------------


def test_a_change_of_the_profile_alone_fails_the_gate_and_stands_in_the_diff(folder: Folder) -> None:
    folder.write(DESIGN, LOADED)
    profiled(folder, ["a"] * 40 + ["b"] * 30 + ["c"] * 30)
    folder.commit()
    asked: dict[str, Any] = {"select": ("PK103", "PK8", "PK9"), "profiles": (PROFILE,), "new_only": True}
    same = folder.review(against_ref="main", **asked)
    assert (same["exit_code"], diff(same)["profile_changed"], diff(same)["load_metrics"]) == (0, False, [])
    profiled(folder, ["a"] * 80 + ["b"] * 10 + ["c"] * 10)
    document = folder.review(against_ref="main", **asked)
    assert statuses(document) == {"PK103 Orders": "new"}
    assert document["exit_code"] == 1
    found = diff(document)
    assert found["profile_changed"]
    assert found["load_changed"]
    before, after, direction = numbers(found["load_metrics"])["peak partition load"]
    assert before == pytest.approx(0.6, rel=0.02)  # 3,000/s x 0.4 ÷ 2,000/s
    assert after == pytest.approx(1.2, rel=0.02)
    assert direction == "worse"
    was, now, direction = numbers(found["metrics"])["peak partition load"]
    assert (was, direction) == (now, "same"), "the keys are the same, and so is the load of both sides"


def test_other_keys_are_measured_under_the_load_of_the_change(folder: Folder) -> None:
    folder.write(DESIGN, LOADED)
    profiled(folder, ["a"] * 40 + ["b"] * 30 + ["c"] * 30)
    folder.commit()
    folder.write(
        DESIGN, LOADED.replace("'{tenant}'\n    row", "'{tenant}_{hash(id,16)}'\n    row").replace("3000", "4500")
    )
    document = folder.review(against_ref="main", select=("PK103", "PK8"), profiles=(PROFILE,))
    was, now, direction = numbers(diff(document)["metrics"])["peak partition load"]
    assert was == pytest.approx(0.9, rel=0.02)  # the old keys under the new rate: 4,500/s x 0.4 ÷ 2,000/s
    assert now is not None
    assert now < 0.5 * was
    assert direction == "better"
    old_load = numbers(diff(document)["load_metrics"])["peak partition load"][0]
    assert old_load == pytest.approx(0.6, rel=0.02)


def test_a_profile_at_the_ref_that_cannot_be_read_is_told(folder: Folder) -> None:
    folder.write(DESIGN, LOADED)
    folder.write(PROFILE, '{"document": "pkadvisor profile", "schema_version": "0.1"}')
    folder.commit()
    profiled(folder, ["a"] * 80 + ["b"] * 20)
    document = folder.review(against_ref="main", select=("PK103",), profiles=(PROFILE,))
    (note,) = diff(document)["notes"]
    assert "the profile at main cannot be read" in note
    assert statuses(document) == {"PK103 Orders": "unchanged"}


def test_what_is_no_longer_asked_is_not_fixed(folder: Folder) -> None:
    folder.write(DESIGN, LOADED)
    profiled(folder, ["a"] * 80 + ["b"] * 20)
    folder.commit()
    document = json.loads((folder.path / PROFILE).read_text())
    document["tables"] = [table | {"table": "Elsewhere"} for table in document["tables"]]
    folder.write(PROFILE, json.dumps(document))
    found = folder.review(against_ref="main", select=("PK103", "PK905"), profiles=(PROFILE,))
    # Where the share of the largest tenant is not known, the rate itself is told, with the fact that is missing.
    assert statuses(found) == {"PK905 Elsewhere": "new", "PK103 Orders": "worse"}
    assert diff(found)["fixed"] == [], "without its table in the profile nobody measured the partition"


# -- files that go -----------------------------------------------------------------------------------------------------

RENAMED = "schema/renamed.yaml"


def rename(folder: Folder, text: str, to: str = RENAMED) -> None:
    """Commit the design, and put a text into a file of another name in its place."""
    folder.commit()
    (folder.path / DESIGN).unlink()
    folder.write(to, text)


def test_a_table_is_compared_with_what_it_was_in_a_file_of_another_name(folder: Folder) -> None:
    folder.write(DESIGN, TEXT)
    rename(folder, TEXT.replace('"{orderId}"', '"{day}_{orderId}"'))
    document = folder.review(RENAMED, against_ref="main", new_only=True)
    assert statuses(document) == {"ACME002 by-status": "unchanged", "PK801 Orders": "new", "PK802 one": "new"}
    assert document["exit_code"] == 1, "a new name is no way around the gate"
    found = diff(document)
    assert (found["new_design"], found["tables_added"], found["fixed"]) == (False, [], [])
    assert found["notes"] == [f"Orders stood in {DESIGN}: compared with that"]
    assert document["designs_removed"] == []


def test_a_table_that_went_to_another_design_is_neither_new_nor_fixed(folder: Folder) -> None:
    folder.write(DESIGN, TEXT)
    rename(folder, TEXT, "schema/sub/orders.yaml")
    folder.write(DESIGN, TEXT.replace("Orders", "Invoices"))
    document = folder.review(DESIGN, "schema/sub/orders.yaml", against_ref="main")
    first, second = document["designs"]
    assert (first["diff"]["fixed"], first["diff"]["tables_removed"]) == ([], ["Orders"])
    assert first["diff"]["tables_added"] == ["Invoices"]
    assert {f["status"] for f in second["findings"]} == {"unchanged"}


def test_a_table_that_still_stands_where_it_was_is_not_taken_from_there(folder: Folder) -> None:
    folder.write(DESIGN, TEXT)
    folder.commit()
    folder.write(DESIGN, "# touched\n" + TEXT)
    folder.write(RENAMED, TEXT)
    assert diff(folder.review(RENAMED, against_ref="main"))["new_design"]


def test_a_design_that_is_gone_is_told(folder: Folder) -> None:
    folder.write("schema/old.yaml", TEXT.replace("Orders", "Invoices"))
    folder.write("schema/notes.yaml", "tables: of contents\n")
    folder.write(DESIGN, TEXT)
    folder.commit()
    for name in ("old", "notes"):
        (folder.path / f"schema/{name}.yaml").unlink()
    document = folder.review(against_ref="main")
    assert document["designs_removed"] == [{"design": "schema/old.yaml", "tables": ["Invoices"]}]
    assert complaints(document) == []
    assert "schema/old.yaml deleted: table Invoices" in text(document)
    assert "`schema/old.yaml` deleted: table Invoices" in render_markdown(typed(document), {})
    assert "pkadvisor:unchanged" not in render_markdown(typed(document), {}, if_changed=0.5)


def test_nothing_is_said_of_numbers_where_there_was_nothing_to_compare(folder: Folder) -> None:
    folder.write(DESIGN, "tables: [")
    folder.commit()
    folder.write(DESIGN, TEXT)
    unreadable = text(folder.review(against_ref="main"))
    assert "cannot be read" in unreadable
    assert "no number" not in unreadable
    assert "same load" not in unreadable
    folder.commit()
    assert "no number, no access and no key changed" in text(folder.review(against_ref="main"))

"""The baseline: what is known passes until it gets worse, in its own design only, and a wrong file is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pkadvisor.errors import InputError, UsageError
from tests.review.gate_support import DESIGN, TEXT, Folder, finding, told
from tests.review.support import as_dict

FILE = ".pkadvisor-baseline.json"
OTHER = "schema/other.yaml"


def keep(folder: Folder, *designs: str, **more: object) -> str:
    """Write the baseline of a run as the command line does; its text."""
    content = folder.conduct(*designs, baseline=FILE, write_baseline=True, **more).baseline
    assert content is not None
    folder.write(FILE, content)
    return content


def test_beside_a_baseline_a_finding_is_new_or_unchanged(folder: Folder) -> None:
    folder.write(FILE, '{"document": "pkadvisor baseline", "schema_version": "1.0", "entries": []}')
    document = folder.review(baseline=FILE, new_only=True)
    assert (finding(document, "ACME002")["status"], document["exit_code"]) == ("new", 1)
    keep(folder)
    document = folder.review(baseline=FILE, new_only=True)
    assert (finding(document, "ACME002")["status"], document["exit_code"]) == ("unchanged", 0)


def test_a_finding_that_is_older_than_the_change_stays_unchanged_beside_a_baseline(folder: Folder) -> None:
    folder.write("old.yaml", TEXT)
    folder.write(FILE, '{"document": "pkadvisor baseline", "schema_version": "1.0", "entries": []}')
    document = folder.review(baseline=FILE, against="old.yaml")
    assert finding(document, "ACME002")["status"] == "unchanged"


def test_what_is_known_passes_and_what_is_new_does_not(folder: Folder) -> None:
    assert folder.review()["outcome"] == "failed"
    keep(folder)
    document = folder.review(baseline=FILE)
    assert document["outcome"] == "passed"
    assert document["summary"]["baselined"] == 1
    assert finding(document, "ACME002")["baselined"]
    folder.write(DESIGN, TEXT + "      - {name: by-day, filter: \"day eq '{day}'\", rate: 5/s}\n")
    document = folder.review(baseline=FILE)
    assert told(document) == ["ACME002:10"]
    assert document["exit_code"] == 1


def test_the_run_that_writes_a_baseline_passes_under_it(folder: Folder) -> None:
    assert folder.review(baseline=FILE, write_baseline=True)["outcome"] == "passed"


def test_lines_may_move(folder: Folder) -> None:
    keep(folder)
    folder.write(DESIGN, "# moved\n" * 10 + TEXT.replace("tables:", "tables:  # of today"))
    document = folder.review(baseline=FILE)
    assert told(document) == []
    assert finding(document, "ACME002")["place"]["line"] == 19


@pytest.mark.parametrize(
    ("entities", "status"),
    [
        ("2_000", "unchanged"),
        ("2_100", "unchanged"),
        ("2_101", "worse"),
        ("1_500", "unchanged"),
        ("200_000", "worse"),
    ],
)
def test_a_metric_may_grow_by_five_per_cent(folder: Folder, entities: str, status: str) -> None:
    folder.write(DESIGN, TEXT.replace("500", "2_000"))
    keep(folder)
    folder.write(DESIGN, TEXT.replace("500", entities))
    document = folder.review(baseline=FILE)
    found = finding(document, "ACME001")
    assert found["status"] == status
    assert found["before"] == 2000.0
    assert found["baselined"] == (status == "unchanged")
    assert found["gating"] == (entities == "200_000"), "a warning does not stop; one that became an error does"


def test_numbers_of_two_units_are_not_compared(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.replace("500", "2_000"))
    keep(folder)
    kept = (folder.path / FILE).read_text()
    assert '"unit":"entities"' in kept.replace(": ", ":")
    (folder.path / FILE).write_text(kept.replace('"entities"', '"rows"').replace("2000.0", "2.0"))
    found = finding(folder.review(baseline=FILE), "ACME001")
    assert (found["status"], found["before"], found["baselined"]) == ("unchanged", None, True)


def test_a_finding_that_became_more_severe_counts_again(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.replace("500", "99_000"))
    keep(folder)
    folder.write(DESIGN, TEXT.replace("500", "101_000"))  # by 2 % only, and over the border of an error
    found = finding(folder.review(baseline=FILE), "ACME001")
    assert (found["status"], found["severity"], found["gating"]) == ("worse", "error", True)


def test_the_file_is_sorted_with_one_entry_per_line(folder: Folder) -> None:
    folder.write(OTHER, TEXT.replace("500", "2_000").replace("Orders", "Others"))
    content = keep(folder, OTHER, DESIGN)
    lines = content.splitlines()
    entries = [json.loads(line.removesuffix(",")) for line in lines[1:-1]]
    assert [(e["design"], e["rule"]) for e in entries] == [(DESIGN, "ACME002"), (OTHER, "ACME001"), (OTHER, "ACME002")]
    assert [e.get("measured") for e in entries] == [None, 2000.0, None]
    assert json.loads(content)["entries"] == entries
    assert keep(folder, DESIGN, OTHER) == content


def test_entries_of_designs_that_are_not_reviewed_are_left_alone(folder: Folder) -> None:
    folder.write(OTHER, TEXT)
    both = keep(folder, DESIGN, OTHER)
    clean = TEXT.replace("status eq '{status}'", "tenantId eq '{tenantId}'")
    folder.write(DESIGN, clean)
    document = folder.review(OTHER, baseline=FILE)
    assert told(document) == []
    pruned = folder.conduct(OTHER, baseline=FILE, prune_baseline=True).baseline
    assert pruned == both
    rewritten = folder.conduct(OTHER, baseline=FILE, write_baseline=True).baseline
    assert rewritten == both


def test_what_is_gone_is_stale_and_pruning_only_removes(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.replace("500", "2_000"))
    keep(folder)
    folder.write(DESIGN, TEXT.replace("500", "1_500").replace("status eq '{status}'", "tenantId eq '{tenantId}'"))
    document = folder.review(baseline=FILE)
    stale = finding(document, "PK904")
    assert stale["severity"] == "info"
    assert "ACME002 at tables.Orders.queries.by-status" in stale["message"]
    folder.write(DESIGN, (folder.path / DESIGN).read_text() + "      - {name: by-day, filter: day eq 1, rate: 5/s}\n")
    done = folder.conduct(baseline=FILE, prune_baseline=True)
    assert done.baseline is not None
    (left,) = json.loads(done.baseline)["entries"]
    assert (left["rule"], left["measured"]) == ("ACME001", 2000.0), "a number that got better is kept"
    assert told(as_dict(done.document)) == ["ACME002:10"], "what is new is not added"


def test_what_was_not_asked_is_not_stale(folder: Folder) -> None:
    content = keep(folder)
    document = folder.review(baseline=FILE, select=("ACME001", "PK9"))
    assert told(document) == []
    for option in ("prune_baseline", "write_baseline"):
        assert folder.conduct(baseline=FILE, select=("ACME001", "PK9"), **{option: True}).baseline == content
    folder.write(DESIGN, "schema: 1\ntables: 5\n")
    assert folder.conduct(baseline=FILE, write_baseline=True).baseline == content, "a design that cannot be read"


def test_suppressed_findings_do_not_go_into_the_baseline(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.rstrip("\n") + '  # pkadvisor: ignore[ACME002] reason="weekly"\n')
    assert json.loads(keep(folder))["entries"] == []


def test_what_is_wrong_with_suppressions_cannot_be_kept(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.rstrip("\n") + "  # pkadvisor: ignore[ACME002]\n")
    keep(folder)
    document = folder.review(baseline=FILE)
    assert told(document) == ["PK901:9"]
    assert document["exit_code"] == 1


def test_a_missing_baseline_is_an_error_unless_it_is_to_be_written(folder: Folder) -> None:
    with pytest.raises(UsageError, match="no such baseline"):
        folder.review(baseline=FILE)
    with pytest.raises(UsageError, match="no such baseline"):
        folder.review(baseline=FILE, prune_baseline=True)
    with pytest.raises(UsageError, match="no baseline is named"):
        folder.review(write_baseline=True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "damaged"),
        ("[]", "not a baseline"),
        ('{"document": "pkadvisor review"}', "a document 'pkadvisor review'"),
        ('{"document": "pkadvisor baseline", "schema_version": "9.0", "entries": []}', "version 9.0"),
        ('{"document": "pkadvisor baseline", "schema_version": "1.0"}', "entries is not a list"),
        ('{"document": "pkadvisor baseline", "schema_version": "1.0", "entries": [5]}', "entry 1"),
        ('{"document": "pkadvisor baseline", "schema_version": "1.0", "entries": [{"rule": "PK101"}]}', "entry 1"),
        ("[" * 100_000, "damaged"),
        ("\udcff", "damaged"),
    ],
)
def test_a_foreign_or_damaged_baseline_is_refused(folder: Folder, text: str, says: str) -> None:
    Path(FILE).write_bytes(text.encode("utf-8", "surrogateescape"))
    for more in ({}, {"write_baseline": True}):
        with pytest.raises(InputError, match=says) as caught:
            folder.review(baseline=FILE, **more)
        assert caught.value.exit_code == 3
        assert caught.value.where == FILE
        assert "--write-baseline" in caught.value.fix


def test_a_number_that_is_none_is_refused(folder: Folder) -> None:
    folder.write(DESIGN, TEXT.replace("500", "2_000"))
    content = keep(folder)
    for bad in ("NaN", "1e999", '"2000"', "true"):
        folder.write(FILE, content.replace('"measured": 2000.0', f'"measured": {bad}'))
        with pytest.raises(InputError, match="entry 1"):
            folder.review(baseline=FILE)

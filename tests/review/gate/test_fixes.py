"""Edits of ``--fix``: only what is meant changes, byte for byte; a second run is idle; stored keys are kept."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.cli.commands.review import check_fix, fix_files, show_diff
from pkadvisor.cli.main import main
from pkadvisor.design.keys.template import hole_spans, parse_template
from pkadvisor.documents.review import ReviewDocument
from pkadvisor.errors import UsageError
from pkadvisor.limits import default_limits
from pkadvisor.observe.design_file.read_declaration import load_declaration
from pkadvisor.review.gate.fixes import PADDING, SEPARATOR, SUPPRESSION, Fixed, Wanted, fixed
from pkadvisor.review.rules.rule import load_rules
from pkadvisor.review.views.subjects import Scope, subjects_of_design
from pkadvisor.review.views.views import DesignView
from pkadvisor.usecases.review.opening import open_design
from pkadvisor.usecases.review.request import ReviewRequest
from tests.review import documents
from tests.review.gate_support import Folder
from tests.tiers import examples

TYPES = {"bib": "int32", "total": "int64", "city": "string", "ratio": "double"}
PARTS = ("{bib}", "{total}", "{city}", "{ratio}", "{pad(bib,4)}", "{`bib`}", "{hash(city,16)}", "{ bib }")


def opened(text: str) -> DesignView:
    return open_design("design.yaml", text, default_limits())


def wanted(view: DesignView) -> list[Wanted]:
    """A finding at each key and each part."""
    found = []
    for subject in subjects_of_design(view):
        line = view.document.span(subject.path)[0]
        if subject.scope is Scope.PART:
            found.append(Wanted(PADDING, subject.logical, subject.name, line, 1, 2))
        elif subject.scope is Scope.KEY:
            found.append(Wanted(SEPARATOR, subject.logical, subject.name, line, 1, 2))
    return found


def edited(text: str, **more: str) -> Fixed:
    view = opened(text)
    if "before" in more:
        view.compare_with(opened(more["before"]))
    return fixed(view, text, wanted(view), {})


def design(partition_key: str, row_key: str, more: str = "") -> str:
    properties = ", ".join(f"{name}: {kind}" for name, kind in TYPES.items())
    return (
        f"# a comment\nschema: 1\ntables:\n  Races:  # of a year\n    partition_key: {partition_key}   # first\n"
        f"    row_key: {row_key}\n    properties: {{{properties}}}\n{more}"
    )


templates = st.lists(st.sampled_from((*PARTS, "_", "-", "x;", "it's")), min_size=1, max_size=6).map("".join)


@st.composite
def scalars(draw: st.DrawFn) -> str:
    text = draw(templates)
    style = draw(st.sampled_from("'\"p"))
    if style == "p" and not text.startswith(("{", "`", "-", "'")):
        return text
    return "'" + text.replace("'", "''") + "'" if style == "'" else f'"{text}"'


@settings(deadline=None, max_examples=examples(120))
@given(scalars(), scalars(), st.sampled_from(["\n", "\r\n"]))
def test_only_the_keys_change_and_a_second_run_changes_nothing(partition_key: str, row_key: str, end: str) -> None:
    text = design(partition_key, row_key).replace("\n", end)
    result = edited(text)
    back = result.text
    shift = sum(len(e.text) - (e.end - e.start) for e in result.edits)
    for edit in reversed(result.edits):
        shift -= len(edit.text) - (edit.end - edit.start)
        at = edit.start + shift
        assert back[at : at + len(edit.text)] == edit.text
        back = back[:at] + text[edit.start : edit.end] + back[at + len(edit.text) :]
    assert back == text
    old, new = text.split(end), result.text.split(end)
    assert [a for i, a in enumerate(old) if i not in (4, 5)] == [b for i, b in enumerate(new) if i not in (4, 5)]
    table = load_declaration("design.yaml", result.text).tables[0]
    for placed in (table.partition_key, table.row_key):
        assert placed is not None
        spans = hole_spans(placed.text)
        assert len(spans) == sum(not hasattr(p, "text") or bool(p.properties) for p in parse_template(placed.text))
        assert all(a[1] < b[0] for a, b in pairwise(spans))
        names = {p.properties[0] for p in parse_template(placed.text) if p.properties and not p.function}
        assert not names & {"bib", "total"}
    again = edited(result.text)
    assert (again.text, again.edits) == (result.text, ())


def test_numbers_get_the_digits_of_their_type_and_parts_the_separator_of_their_key() -> None:
    result = edited(design('"{city}|{bib}|{total}{city}"', "'{bib}{total}'"))
    assert 'partition_key: "{city}|{pad(bib,10)}|{pad(total,19)}|{city}"   # first' in result.text
    assert "row_key: '{pad(bib,10)}_{pad(total,19)}'" in result.text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (design('"{city}"', '"{bib}"', "    entities_total: 9\n"), "Races holds rows"),
        (
            design('"{city}"', '"{bib}"', "    queries: [{name: one, filter: \"RowKey eq '7'\", rate: 1/s}]\n"),
            "the filter of 'one' spells the key out",
        ),
        (design('"{city}"', '"{ratio}"'), "no declared int32 or int64"),
        (design('"{city}_x"', '"{b\\x69b}"'), "written with escapes"),
        (design('"{city}"', ">-\n      a\n      {bib}"), "folded over lines"),
    ],
)
def test_what_is_not_safe_is_refused_with_the_reason(text: str, why: str) -> None:
    result = edited(text)
    assert (result.text, result.edits) == (text, ())
    assert any(why in refusal.why for refusal in result.refused)


def test_keys_in_use_before_are_a_migration() -> None:
    text = design('"{city}"', '"{bib}"')
    assert edited(text).edits
    result = edited(text, before=text)
    assert not result.edits and "a migration, not a fix" in result.refused[0].why
    view = opened(text)
    assert not fixed(view, text, wanted(view), {}, in_use={"Races": "the last commit has keys"}).edits


def test_an_alias_that_another_value_shares_is_left_alone() -> None:
    text = design('"{city}"', '&key "{bib}"') + "  Other:\n    partition_key: x\n    row_key: *key\n"
    result = edited(text)
    assert result.text == text and any("has an anchor" in r.why for r in result.refused)


IGNORE = '# pkadvisor: ignore[%s] reason="it is fine"'


def suppression(text: str, mark: str, rules: list[str]) -> str:
    """The text after the comment of ``mark`` was found unused for some of its rules."""
    lines = text.split("\n")
    line = next(i for i, words in enumerate(lines) if mark in words)
    column = lines[line].index(mark) + 1
    found = [Wanted(SUPPRESSION, "tables", rule, line + 1, column, column + len(mark)) for rule in rules]
    return fixed(opened(text), text, found, {"PK101": ("append-only-partition",)}).text


@pytest.mark.parametrize(
    ("behind", "rules", "left"),
    [
        (IGNORE % "PK101", ["PK101"], ""),
        (IGNORE % "PK101" + "  # of a year", ["PK101"], "  # of a year"),
        (IGNORE % "PK101, PK502", ["PK502"], "  " + IGNORE % "PK101"),
        (IGNORE % "append-only-partition, PK502", ["PK101"], "  " + IGNORE % "PK502"),
        (IGNORE % "PK101, PK502", ["PK101", "PK502"], ""),
    ],
)
def test_an_unused_suppression_goes_and_the_rest_stays(behind: str, rules: list[str], left: str) -> None:
    text = design('"{city}"', '"{bib}"').replace("   # first", f"  {behind}")
    mark = behind.partition("  #")[0]
    assert suppression(text, mark, rules) == design('"{city}"', '"{bib}"').replace("   # first", left)


def test_a_suppression_alone_on_its_line_takes_the_line_with_it() -> None:
    plain = design('"{city}"', '"{bib}"')
    mark = IGNORE % "PK101"
    assert suppression(plain.replace("    row_key", f"    {mark}\n    row_key"), mark, ["PK101"]) == plain


# -- files -------------------------------------------------------------------------------------------------------------


def result_of(path: Path) -> ReviewDocument:
    """A review's result that finds every key."""
    text = path.read_bytes().decode("utf-8-sig")
    found = [
        {
            **(made := documents.finding(w.rule)),
            "subject": {"scope": "key", "path": w.path, "name": w.subject},
            "place": {**made["place"], "line": w.line, "column": w.column, "end_column": w.end_column},
        }
        for w in wanted(opened(text))
    ]
    result: ReviewDocument = documents.typed(documents.document(documents.design(*found)))
    return result


def test_a_file_keeps_its_mark_and_its_line_ends_and_is_reviewed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "design.yaml"
    before = b"\xef\xbb\xbf" + design('"{city}"', '"{bib}{total}"').replace("\n", "\r\n").encode()
    path.write_bytes(before)
    request = ReviewRequest(designs=(str(path),))
    show_diff(result_of(path), request, color="never", quiet=False)
    shown = capsys.readouterr().out
    assert '-    row_key: "{bib}{total}"' in shown and '+    row_key: "{pad(bib,10)}_{pad(total,19)}"' in shown
    assert path.read_bytes() == before
    runs = []

    def again() -> ReviewDocument:
        runs.append(path.read_bytes())
        return result_of(path)

    fix_files(result_of(path), request, again, color="never", quiet=False)
    assert path.read_bytes() == before.replace(b'"{bib}{total}"', b'"{pad(bib,10)}_{pad(total,19)}"')
    assert runs == [path.read_bytes()]
    assert "3 edits made" in capsys.readouterr().err


def test_what_cannot_be_edited_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="standard input cannot be edited"):
        check_fix(ReviewRequest(designs=("-",)), fix=True, diff=False, machine=False)
    with pytest.raises(UsageError, match="a diff is text"):
        check_fix(ReviewRequest(designs=("a.yaml",)), fix=False, diff=True, machine=True)


def test_the_command_edits_shows_and_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("design.yaml")
    path.write_text(design('"{city}"', '"{hash(city,16)}"'))
    before = path.read_bytes()
    assert main(["review", "design.yaml", "--fix", "--fail-on", "never"]) == 0
    assert "nothing to fix" in capsys.readouterr().err and path.read_bytes() == before
    assert main(["review", "design.yaml", "--diff", "--fail-on", "never"]) == 0
    assert capsys.readouterr().out == "" and path.read_bytes() == before
    assert main(["review", "design.yaml", "--diff", "--format", "json"]) == 2


@pytest.mark.skipif(PADDING not in {rule.id for rule in load_rules()}, reason="the rule is not there")
def test_the_command_pads_a_number_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("design.yaml")
    path.write_text(design('"{city}"', '"{bib}"'))
    assert main(["review", "design.yaml", "--fix", "--fail-on", "never", "--format", "json"]) == 0
    told = capsys.readouterr()
    assert path.read_text() == design('"{city}"', '"{pad(bib,10)}"') and "1 edit made" in told.err
    assert PADDING not in {f["rule"] for f in json.loads(told.out)["designs"][0]["findings"]}
    assert main(["review", "design.yaml", "--fix", "--fail-on", "never"]) == 0
    assert "nothing to fix" in capsys.readouterr().err and path.read_text() == design('"{city}"', '"{pad(bib,10)}"')


def test_keys_that_the_last_commit_has_are_never_edited(folder: Folder, capsys: pytest.CaptureFixture[str]) -> None:
    text = design('"{city}"', '"{bib}"')
    folder.write("design.yaml", text)
    folder.commit()
    for option in ("--fix", "--diff"):
        assert main(["review", "design.yaml", option, "--fail-on", "never"]) == 0
        told = capsys.readouterr()
        assert "nothing to fix" in told.err and "HEAD:design.yaml has keys of Races already" in told.err
        assert (folder.path / "design.yaml").read_text() == text and "+    row_key" not in told.out
    both = text + text.partition("tables:\n")[2].replace("Races", "Later")
    folder.write("design.yaml", both)
    assert main(["review", "design.yaml", "--fix", "--fail-on", "never", "--quiet"]) == 0
    edited_now = (folder.path / "design.yaml").read_text()
    assert edited_now.startswith(text) and 'row_key: "{pad(bib,10)}"' in edited_now[len(text) :], "only the new table"


def test_a_table_that_moved_to_another_file_is_still_that_table(
    folder: Folder, capsys: pytest.CaptureFixture[str]
) -> None:
    text = design('"{city}"', '"{bib}"')
    folder.write("schema/old.yaml", text)
    folder.commit()
    (folder.path / "schema/old.yaml").unlink()
    folder.write("new/design.yaml", text)
    assert main(["review", "new/design.yaml", "--fix", "--fail-on", "never"]) == 0
    assert "HEAD:schema/old.yaml has a table Races already" in capsys.readouterr().err
    assert (folder.path / "new/design.yaml").read_text() == text


def test_keys_of_a_repository_without_a_commit_are_nobodys_yet(folder: Folder) -> None:
    folder.git("init", "-q")
    folder.write("design.yaml", design('"{city}"', '"{bib}"'))
    assert main(["review", "design.yaml", "--fix", "--fail-on", "never", "--quiet"]) == 0
    assert "{pad(bib,10)}" in (folder.path / "design.yaml").read_text()


def test_where_git_cannot_be_asked_no_key_is_edited(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.write("design.yaml", design('"{city}"', '"{bib}"'))
    folder.commit()
    monkeypatch.setenv("PATH", str(folder.path))
    assert main(["review", "design.yaml", "--fix", "--fail-on", "never"]) == 0
    assert "whether rows are stored cannot be told: git is not installed" in capsys.readouterr().err
    assert "pad(" not in (folder.path / "design.yaml").read_text()

"""The summary of a result: the verdict's words, its figures, the caveat that matters most, and its 16 lines."""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import convert
from msgspec.structs import replace

from pkadvisor.documents.analysis_scheme import AnalysisFullScheme, AnalysisScheme
from pkadvisor.documents.schema_errors import typed
from pkadvisor.report.summary.figures import Figures, FirstBreak, first_break, left_out
from pkadvisor.report.summary.sentences import cautions
from pkadvisor.report.summary.summary import TABLES_SHOWN, Summary
from pkadvisor.report.summary.summary import summarize as summary_of
from pkadvisor.report.text.page import Page
from pkadvisor.report.text.verdict_page import LABEL, LINES_MAX, WIDER, figure_lines, render_text, table_lines
from tests.report.support import SAMPLES, result
from tests.tiers import examples

Document = dict[str, Any]


def summarize(found: Document, inputs: str = "") -> Summary:
    return summary_of(typed(found), inputs)


def lines_of(found: Document, width: int = 80, inputs: str = "") -> list[list[str]]:
    """The lines of each table that is shown in full."""
    page = Page(width, color=False, ascii_only=False)
    return [table_lines(page, table) for table in summarize(found, inputs).shown]


def only(found: Document) -> Any:
    (table,) = summarize(found).tables
    return table


# -- the page ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [80, 120])
def test_each_sample_takes_sixteen_lines_at_most_and_says_everything(name: str, width: int) -> None:
    found = result(name)
    for table, lines in zip(found["tables"], lines_of(found, width, f"--sample {name}"), strict=True):
        most = LINES_MAX + (width >= WIDER)
        assert len(lines) <= most
        assert all(len(line) <= width for line in lines)
        text, best = "\n".join(lines), table["recommended"]
        assert "..." not in text, "nothing is cut"
        assert re.findall("--details adds: (.*)", text) in ([], ["Caveat"], ["Check"]), "the rest is on the page"
        for row in (best, *best["index_rows"]):
            assert row["row_key"] in text and (row["partition_key"] in text)
        for label in ("Why:", "Throttled:", "Confidence:", "Changes if:", "next: advisor stress --sample", "breaks at"):
            assert label in text
        first = first_break(convert(best, AnalysisFullScheme))
        assert first is not None and first.cause_short in text
        current = [line for line in lines if line.startswith("  current ")]
        assert (len(lines) < most) <= bool(current), "where there is room the current keys stand beside"
        assert all(table["current"]["row_key"] in line for line in current)


def test_a_key_that_the_service_may_refuse_is_a_caveat_of_one_line() -> None:
    found = deepcopy(result("footrace"))
    long = "RowKey reaches 1,200 bytes in row 203, over the documented 1 KiB"
    best = found["tables"][0]["recommended"]
    best["remarks"].insert(0, {"code": "key-long", "message": f"{long}; {{path}} has 600 UTF-16 units"})
    ((label, text), *_) = cautions(typed(found).tables[0], logged=False)
    assert (label, text) == ("Caveat", f"{long}.") and len(f"  {label}: {text}") <= 80


def test_a_target_that_assumed_growth_passes_is_told_in_one_line() -> None:
    found = result("footrace")
    best = found["tables"][0]["recommended"]
    load = "15,400 requests/s at the peak, 46,200 after 3x growth (assumed), 2.31x the target of 20,000; buy another"
    limit = {"measured": 15_400, "limit": 20_000, "unit": "x", "code": "account", "assumed_growth": True}
    best["violations"] = [limit | {"message": f"all requests together: {load}"}]
    ((label, text), *_) = cautions(typed(found).tables[0], logged=False)
    assert (label, text) == ("Caveat", "All requests together: 2.31x the target after 3x growth (assumed).")
    best["violations"] = [limit | {"message": "all reads: b: 9 entities/s; help"}]
    assert cautions(typed(found).tables[0], logged=False)[0] == ("Caveat", "All reads: b: 9 entities/s.")


@pytest.mark.parametrize(
    ("current", "said"),
    [
        (("T{pad(p1,3)}", "DOC_{pad(r1,6)}"), "The current keys write 'T' and 'DOC_' beside values; these do not."),
        (("orders", "{tenant}_{pad(bib,6)}"), ""),
        (("{tenant}", "BIB:{pad(r1,6)}"), ""),
        (("{tenant}", "a{{b_{pad(r1,6)}"), "The current keys write 'a{b_' beside values; these do not."),
    ],
)
def test_fixed_text_of_the_current_keys_that_the_recommended_keys_leave_out_is_named(
    current: tuple[str, str], said: str
) -> None:
    best = convert(result("footrace")["tables"][0]["recommended"], AnalysisFullScheme)
    best = replace(best, partition_key="{tenant}", row_key="{pad(r1,6)}", index_rows=best.index_rows[:1])
    best = replace(best, index_rows=[replace(best.index_rows[0], partition_key="BIB:{bib}", row_key="")])
    assert left_out(replace(best, partition_key=current[0], row_key=current[1]), best) == said
    assert left_out(None, best) == ""


@pytest.mark.parametrize(("width", "lines", "mean"), [(100, 5, True), (80, 5, False), (60, 12, True)])
def test_figures_stand_side_by_side_as_long_as_their_first_words_fit(width: int, lines: int, mean: bool) -> None:
    passed = FirstBreak(0.002, "partition-scans", ("rate",))
    now = Figures(1200.0, 129_343.0, 30_174.0, 12_245.0, "USD", passed)
    later = Figures(0.5, 2_172.0, 1.0, 206.0, "USD", FirstBreak(2.01, "hottest-partition", ("rate",)))
    written = figure_lines(Page(width, color=False, ascii_only=False), [("current", now), ("recommended", later)])
    assert (len(written), any("(2,172 req/s)" in line for line in written)) == (lines, mean)
    assert all(len(line) <= width for line in written)


words = st.text(alphabet="ab {}_-'\x1b\n\u202eé", min_size=0, max_size=400)
keys = st.text(alphabet="{}abc_()|", min_size=0, max_size=250)
rows = st.fixed_dictionaries(
    {
        "partition_key": keys,
        "row_key": keys,
        "copy": st.sampled_from(["full", "pointer"]),
        "consistency": st.sampled_from(["atomic", "eventual"]),
    }
)
verdicts = st.sampled_from(["keep", "change", "choose", "unsatisfied", "not_enough"])


@settings(max_examples=examples(80), deadline=None)
@given(keys, keys, st.lists(rows, max_size=6), verdicts, words, words, st.booleans())
def test_no_document_takes_more_lines_or_columns(
    partition_key: str, row_key: str, index_rows: list[Document], verdict: str, text: str, inputs: str, warned: bool
) -> None:
    found = result("footrace")
    table = found["tables"][0]
    weak = verdict == "not_enough"
    table |= {"verdict": verdict, "ranking_says": "change" if weak else verdict}
    table["warnings"] = [text] if warned and text else []
    table |= {"why_not": text if weak else None, "next": text if weak else None, "table": text or "T"}
    table["recommended"] |= {"partition_key": partition_key, "row_key": row_key, "index_rows": index_rows}
    table["confidence"] |= {"share": None, "note": text}
    ((*lines,),) = lines_of(found, inputs=inputs)
    assert len(lines) <= LINES_MAX
    assert all(line.isprintable() for line in lines)
    assert all(len(line) <= 80 for line in lines if not line.startswith("  next: advisor"))
    assert sum(line.startswith("  next:") for line in lines) == 1
    text = "".join(line.strip() for line in lines)
    whole = all(row["row_key"] in text for row in (table["recommended"], *index_rows))
    assert weak or whole or "--details shows" in text, "a key is whole, or the page says where it is"
    assert "..." not in text


@settings(max_examples=examples(80), deadline=None)
@given(
    st.integers(0, 3),
    st.integers(1, 30),
    st.integers(0, 60),
    st.sampled_from(["keep", "change", "choose"]),
    st.sampled_from(SAMPLES),
)
def test_all_keys_and_whole_sentences_stand_on_the_page_whatever_names_are_like(
    rows: int, name: int, query: int, verdict: str, sample: str
) -> None:
    """Up to three index rows, property names and query names of any length."""
    found = result(sample)
    table = found["tables"][0]
    table |= {"verdict": verdict, "ranking_says": verdict}
    prop = "{" + "a" * name + "}"
    row = {"copy": "full", "consistency": "eventual", "row_key": f"{prop}_{prop}"}
    table["recommended"] |= {"index_rows": [row | {"partition_key": f"ROW{n}:{prop}"} for n in range(rows)]}
    for entry in (*table["workload"], *(c for key in ("current", "recommended") for c in table[key]["classes"])):
        entry["name"] += "x" * query
    table["flip"]["query"] = table["flip"]["query"] and table["flip"]["query"] + "x" * query
    ((*lines,),) = lines_of(found, inputs=f"--sample {sample}")
    text = " ".join(" ".join(lines).split())
    assert len(lines) <= LINES_MAX and all(len(line) <= 80 for line in lines)
    assert "..." not in text and "--details shows" not in text
    for n in range(rows):
        assert f"ROW{n}:{prop}" in text and f"{prop}_{prop}" in text, "no template is broken"
    by_label = {s.label: s.forms for s in only(found).prose}
    told = [
        " ".join(t.split()) for t in re.split(r"\s(?=(?:Why|Throttled|Confidence|Changes if|Caveat|Check|next):)", text)
    ]
    for said in told:
        label, _, sentence = said.partition(": ")
        if label in by_label and label != "Changes if":
            forms = [form for s in only(found).prose if s.label == label for form in s.forms]
            assert sentence.partition(" next:")[0] in forms
    left_out = by_label.keys() - {label.partition(": ")[0] for label in told}
    for label in left_out - {"Throttled"}:
        assert label in text.partition("--details adds: ")[2] or "more parts" in text


def test_what_is_left_out_is_the_least_important() -> None:
    found = result("footrace")
    table = found["tables"][0]
    row = {"copy": "full", "consistency": "eventual", "partition_key": "A" * 40, "row_key": "B" * 40}
    table["recommended"]["index_rows"] = [row] * 2
    ((*lines,),) = lines_of(found, inputs="--sample footrace")
    text = "\n".join(lines)
    assert len(lines) == LINES_MAX
    assert "Why:" in text and lines[-1].endswith("   # --details adds: Check, Changes if")
    details = render_text(typed(found), width=80, color=False, ascii_only=False, details=True)
    assert "  Changes if:" in details.partition("Details of")[0], "the details have it"


def test_three_tables_are_shown_in_full_and_the_most_urgent_stand_first() -> None:
    found = result("footrace")
    (table,) = found["tables"]
    for name, verdict in (("Kept", "keep"), ("Used", "choose"), ("Failed", "unsatisfied"), ("Kept2", "keep")):
        found["tables"].append(deepcopy(table) | {"table": name, "verdict": verdict, "ranking_says": verdict})
    summary = summarize(found)
    assert [t.table for t in summary.tables] == ["Failed", "Registrations", "Used", "Kept", "Kept2"]
    assert len(summary.shown) == TABLES_SHOWN
    page = render_text(typed(found), width=80, color=False, ascii_only=False)
    last = page.splitlines()[-2:]
    assert last[0].startswith("KEEP THE KEY   Kept   {event}_{distance} | BIB:") and last[1].startswith("KEEP")
    assert "--table Failed" in page, "what is run next is run on this table alone"


def test_what_tables_break_together_stands_below_them() -> None:
    found = result("footrace")
    broken = {"message": "m", "measured": 2, "limit": 1, "unit": "x", "code": "account", "assumed_growth": False}
    found["account"] = {"break_factor": 0.8, "break_cause": "the account's requests", "loads": []}
    found["account"]["violations"] = [broken]
    page = render_text(typed(found), width=80, color=False, ascii_only=False)
    assert page.endswith("All tables together break at 0.80x today's load (the account's requests).\n")


# -- the verdict ------------------------------------------------------------------------------------------------------


def test_only_new_index_rows_are_no_change_of_the_key() -> None:
    found = result("footrace")
    table = found["tables"][0]
    assert only(found).headline == "CHANGE THE KEY"
    for key in ("partition_key", "row_key"):
        table["current"][key] = table["recommended"][key]
    assert only(found).headline == "ADD AN INDEX ROW"
    assert only(found).why == "'by-age' reads 8,121 rows to return 68.1; it is 99 % of rows handled."
    table["current"]["index_rows"] = deepcopy(table["recommended"]["index_rows"])
    table["recommended"]["index_rows"] = []
    assert only(found).headline == "CHANGE THE KEY", "rows that go are no rows that are added"


@pytest.mark.parametrize(
    ("verdict", "headline", "columns"),
    [
        ("keep", "KEEP THE KEY", ["current"]),
        ("choose", "USE THIS KEY", ["current", "recommended"]),
        ("unsatisfied", "NO KEY HOLDS EVERY CONSTRAINT", ["current", "best found"]),
    ],
)
def test_a_verdict_names_its_columns(verdict: str, headline: str, columns: list[str]) -> None:
    found = result("footrace")
    table = found["tables"][0]
    table |= {"verdict": verdict, "ranking_says": verdict}
    ((*lines,),) = lines_of(found)
    assert lines[0].startswith(f"{headline}   Registrations")
    head = next(line for line in lines if line.startswith(" " * LABEL))
    assert [part.strip() for part in head.split("  ") if part] == columns


def test_inputs_that_do_not_carry_advice_offer_no_keys_to_copy() -> None:
    found = result("footrace")
    found["tables"][0] |= {"verdict": "not_enough", "why_not": "too few rows", "next": "more rows"}
    assert lines_of(found) == [
        [
            "NOT ENOUGH TO ADVISE   Registrations   (sample: 6,000 of 48,000 entities)",
            "  Why: Too few rows.",
            "  next: give more rows",
        ]
    ]


def test_a_log_alone_shows_its_hot_keys() -> None:
    found = result("microblog")
    table = found["tables"][0]
    table |= {"verdict": "heat_only", "ranking_says": None, "recommended": None, "current": None, "confidence": None}
    table |= {"data": None, "cannot_be_known": ["who is hot under other keys: give a data set"], "next": None}
    ((*lines,),) = lines_of(found)
    assert lines[0] == "HOT KEYS ONLY   Blogs"
    assert lines[1].split()[-1] == "Channel9" and " of reads" in lines[1]
    assert lines[-1].endswith("--details")
    found["log"]["throttled"] = 0
    assert not any("503" in line for line in lines_of(found)[0])
    found["log"] |= {"throttled": 250, "requests_attempted": 1000}
    assert "  Throttled: 250 of 1,000 attempts in the log got 503 (25 %)." in lines_of(found)[0]


# -- figures ----------------------------------------------------------------------------------------------------------


def test_the_first_break_is_the_smallest_under_any_growth() -> None:
    for name in SAMPLES:
        for table in result(name)["tables"]:
            for scheme in (table["recommended"], table["current"], *table["alternatives"]):
                first = first_break(convert(scheme, AnalysisScheme))
                assert first is not None
                assert first.factor == min(b["factor"] for b in scheme["breaks"] if b["growth_of"])
    orders = result("orders")["tables"][0]["recommended"]
    declared = next(t["value"] for t in orders["terms"] if t["name"] == "break factor")
    first = first_break(convert(orders, AnalysisScheme))
    assert first is not None and first.factor < declared and first.cause == "the hottest partition"


@pytest.mark.parametrize(
    ("row_key", "says"),
    [
        ("{bib}", ""),
        ("{pr1}_'r1'_{lower(r1x)}", ""),
        ("{pad(r1,6)}", "r1 is a part of today's keys: a | [r1=b-2_c-3]"),
        ("b-{r1}_c-{pad(r2,1)}", "r1, r2 are parts of today's keys: a | b-[r1=2]_c-[r2=3]"),
        ("{time(r1,'yyyy')}-{r2}", "r1, r2 are parts of today's keys: a | b-2_c-3"),
        ("{r1}.{r2}", "r1, r2 are parts of today's keys: a | b-2_c-3"),
    ],
)
def test_names_that_nobody_gave_are_told_by_an_example(row_key: str, says: str) -> None:
    """Pieces of exported keys have invented names: p1 alone says nothing. Where a text can be cut in two ways, or does
    not follow its template, it stands without brackets."""
    found = result("footrace")
    current = found["tables"][0]["current"]
    current |= {"partition_key": "{event}", "row_key": row_key}
    current["examples"] = [{"partition_key": "a", "row_key": "b-2_c-3"}]
    (shown,) = summarize(found).tables
    assert next(iter(shown.key_names), "") == says
    assert len(lines_of(found)[0]) <= 16 and (not says or f"  {says}" in lines_of(found)[0])


def test_keys_that_only_get_an_index_row_are_not_shown_twice() -> None:
    found = result("orders")
    assert not [line for line in lines_of(found, 120)[0] if line.startswith("  current  ")]


def test_factors_beyond_a_thousand_are_words() -> None:
    found = result("footrace")
    current = found["tables"][0]["current"]
    current["hot_partition"]["entities_per_s_peak"] = 2_000_001
    current["breaks"][0]["factor"] = 0.0009
    found["tables"][0]["recommended"]["breaks"] = [found["tables"][0]["recommended"]["breaks"][0] | {"factor": 1001}]
    text = "\n".join(*lines_of(found))
    assert "over 1,000x its target" in text and "breaks at, x today's load   now" in text
    assert "over 1,000x: hottest partition" in "\n".join(*lines_of(found, 120))


def test_rows_read_count_the_queries_that_somebody_waits_for() -> None:
    found = result("footrace")
    classes = found["tables"][0]["recommended"]["classes"]
    classes[:] = [c | {"operation": "query", "analytic": False} for c in classes[:3]]
    for entry, (per_s, read, returned, analytic) in zip(
        classes, ((2, 30, 3, False), (1, 10, 4, False), (9, 999, 1, True)), strict=True
    ):
        entry |= {"rate_per_s": per_s, "entities_read": read, "entities_returned": returned, "analytic": analytic}
    assert only(found).recommended.rows_read_per_row_returned == pytest.approx(70 / 10)

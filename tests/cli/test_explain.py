"""``advisor explain`` from the outside: queries, keys, shapes, and what is asked wrongly."""

from __future__ import annotations

import csv
import json
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pkadvisor.report.text.scheme_page import held
from tests.cli.support import Run
from tests.report.support import result

pytestmark = pytest.mark.usefixtures("samples_judged_once")
DAILY = "{station}_{time(ts,'yyyyMMdd')} | {ticks(ts)}"
BY_DAY = "{time(ts,'yyyyMMdd')}_{station} | {ticks(ts)}"
HOSTILE = ["</script>", "\x1b[31mred", "=cmd()", "a\u202eb", "x" * 1000]


def explained(run: Run, *words: str) -> dict[str, Any]:
    done = run("explain", *words, "-q", "--format", "json")
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("scheme", "access", "via", "read", "reason"),
    [
        ("current", "partition scan", "the main key", 8121, "RowKey: {bib}: the query does not fix bib"),
        ("recommended", "row range", "index row 1", 68.1, "only the returned rows are read"),
        ("{age} | {event}_{bib}", "row range", "the main key", None, "distance: not in this key"),
        ("'' | {pad(bib,5)}", "partition scan", "the main key", 34_285, "event, distance, age: not in this key"),
    ],
)
def test_a_query_under_a_scheme(run: Run, scheme: str, access: str, via: str, read: float | None, reason: str) -> None:
    found = explained(run, "query:age", "--sample", "footrace", "--scheme", scheme)  # by the word that tells it apart
    assert (found["access"], found["via"]) == (access, via)
    assert read is None or found["counts"]["entities_read"] == pytest.approx(read, rel=0.01)
    assert any(why.startswith(reason) for why in found["why_no_better"]), found["why_no_better"]
    # Where a scan may stop early, nobody counts where it does.
    word = "counted" if scheme == "recommended" else "estimated"
    assert found["basis"] == f"{word} over 6,000 entities, scaled to 48,000"


@pytest.mark.long("proofs")
def test_the_numbers_are_those_of_the_analysis(run: Run) -> None:
    (table,) = result("footrace", sample_rows=300)["tables"]
    sample = ["--sample", "footrace", "--sample-rows", "300"]
    for key, scheme in (("recommended", "recommended"), ("current", "current")):
        for entry in table[key]["classes"]:
            if entry["access"] is None:
                continue
            found = explained(run, f"query:{entry['name']}", *sample, "--scheme", scheme)
            assert found["access"] == entry["access"]
            assert found["filters"] == entry["filters"]
            if entry["operation"] == "query":
                assert found["counts"]["entities_read"] == pytest.approx(entry["entities_read"], rel=1e-4)
                assert found["counts"]["requests"] == pytest.approx(entry["requests"], rel=1e-4)


def test_a_query_without_data_is_planned_and_not_counted(run: Run, tmp_path: Path) -> None:
    assert run("samples", "write", "footrace", "race").returncode == 0
    found = explained(run, "query:by-bib", "--design", "race/design.yaml")
    assert found["access"] == "row range"
    assert found["counts"] is None
    assert found["examples"] == []
    page = run("explain", "query:by-bib", "--design", "race/design.yaml").stdout.decode()
    assert "not known: there is no data to count" in page
    failed = run("explain", "query:by-bib", "--design", "race/design.yaml", "--scheme", "recommended")
    assert failed.returncode == 2
    assert "without data no scheme can be recommended" in failed.stderr.decode()


def test_examples_are_requests_that_can_be_sent(run: Run) -> None:
    from pkadvisor.table.odata import parse_filter, properties

    # All stations of a day lie together: a month as one range would read them all.
    found = explained(run, "query:month", "--sample", "sensors", "--scheme", BY_DAY)
    assert found["examples_total"] > len(found["examples"]) == 3
    for text in found["examples"]:
        assert {"PartitionKey", "RowKey"} <= set(properties(parse_filter(text)))
    redacted = explained(run, "query:by-age", "--sample", "footrace", "--redact", "keys")
    assert redacted["examples"] == []


def test_an_insert_is_not_searched_for(run: Run) -> None:
    found = explained(run, "query:register", "--sample", "footrace")
    assert found["access"] is None
    assert found["why_no_better"] == ["it is written by its key: nothing is searched for"]


def test_a_key_through_a_design(run: Run) -> None:
    found = explained(run, "key", "1234__J.M__M__55", "--sample", "footrace")
    (fit,) = [f for f in found["fits"] if f["place"] == "RowKey"]
    assert [(p["part"], p["value"]) for p in fit["pieces"] if p["value"]] == [
        ("{bib}", "1234"), ("{initials}", "J.M"), ("{gender}", "M"), ("{age}", "55"),
    ]  # fmt: skip
    assert fit["exact"]
    assert explained(run, "key", "no such key", "--sample", "footrace")["fits"] == []


@pytest.mark.parametrize(
    ("key", "template", "values"),
    [
        ("2517906304000000000_07", "{reverse_ticks(p1)}_{pad(p2,2)}", ["2021-01-26T14:13:19.9999999Z", "7"]),
        ("0636259968000000000", "{ticks(p1)}", ["2017-03-25T00:00:00Z"]),
        ("BIB:00042", "{p1}:{pad(p2,5)}", ["BIB", "42"]),
        ("W:2024-W52_7", "{p1}:{time(p2,'YYYY-Www')}_{p3}", ["W", "2024-12-23T00:00:00Z", "7"]),
        ("contoso_20261101", "{p1}_{time(p2,'yyyyMMdd')}", ["contoso", "2026-11-01T00:00:00Z"]),
        ("0D5B8F31-92C4-4C0F-8D4C-0B8F6F7D9A11", "{p1}", ["0D5B8F31-92C4-4C0F-8D4C-0B8F6F7D9A11"]),
    ],
)
def test_a_key_by_its_looks(run: Run, key: str, template: str, values: list[str]) -> None:
    shape = explained(run, "key", key)["shape"]
    assert shape["template"] == template
    assert [p["value"] for p in shape["pieces"] if p["value"] is not None] == values


@pytest.mark.parametrize("key", HOSTILE)
def test_hostile_keys_are_text(run: Run, key: str) -> None:
    done = run("explain", "key", key)
    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout
    assert "\u202e" not in done.stdout.decode()
    assert explained(run, "key", key)["value"] == key


def test_the_shape_of_given_keys(run: Run, tmp_path: Path) -> None:
    with (tmp_path / "t.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["PartitionKey", "RowKey", "bib"])
        for n in range(120):
            out.writerow([f"race{n % 4}", f"BIB:{n:05d}" if n % 3 else f"AGE:{20 + n % 50:03d}_{n}", n])
    found = explained(run, "keys", "t.csv")
    assert (found["rows"], found["explained"]) == (120, 120)
    assert {kind["row_key"] for kind in found["kinds"]} == {"BIB:{pad(bib,5)}", "AGE:{pad(r1,3)}_{bib}"}
    assert explained(run, "key", "AGE:037_17", "t.csv")["fits"][0]["pieces"][1]["value"] == "37"
    (tmp_path / "u.csv").write_text("a,b\n1,2\n")
    failed = run("explain", "keys", "u.csv")
    assert failed.returncode == 3
    assert "no PartitionKey and RowKey" in failed.stderr.decode()


def test_one_row_for_each_value_is_planned_and_weighed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text(
        "schema: 1\ntables:\n  Posts:\n    partition_key: '{author}'\n    row_key: '{pad(id,4)}'\n"
        "    index_rows:\n      - {partition_key: 'TAG:{each(tags)}', row_key: '{pad(id,4)}', copy: full}\n"
        "    queries:\n"
        "      - {name: by-tag, filter: \"tags eq '{tags}'\", rate: 5/s}\n"
        "      - {name: one, filter: \"author eq '{author}' and id eq {id}\", rate: 5/s}\n"
    )
    posts = [{"author": f"a{n % 5}", "id": n, "tags": json.dumps(["red", f"t{n % 9}"])} for n in range(60)]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(post) + "\n" for post in posts))
    found = explained(run, "query:by-tag", "p.jsonl", "--design", "d.yaml")
    assert (found["access"], found["via"]) == ("partition scan", "index row 1")
    # Of two tags of each post one is 'red', as 60 are; the other is one of nine, of which 6 have 7 posts and 3 have 6.
    returned = (60 * 60 + 6 * 7 * 7 + 3 * 6 * 6) / 120
    assert found["counts"]["entities_returned"] == pytest.approx(returned)
    assert found["counts"]["entities_read"] == pytest.approx(returned)
    assert found["filters"] == ["PartitionKey eq 'TAG:{each(tags)}'"]
    done = run("analyze", "p.jsonl", "--design", "d.yaml", "-v")
    assert done.returncode == 0, done.stderr
    page = " ".join(done.stdout.decode().split())
    assert "tags holds 2 values on average, and by-tag is taken to ask for one of them" in page
    (tmp_path / "d.yaml").write_text(
        (tmp_path / "d.yaml").read_text().replace("key: '{author}'", "key: '{each(tags)}'")
    )
    failed = run("analyze", "p.jsonl", "--design", "d.yaml")
    assert failed.returncode == 2
    assert "put it under index_rows" in failed.stderr.decode()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["query:by-bob", "--sample", "footrace"], "did you mean 'by-bib'"),
        (["query:by", "--sample", "footrace"], "'by' may be one of"),
        (["query:by-bib"], "there is nothing to explain"),
        (["query:", "--sample", "footrace"], "did you mean 'query:NAME'"),
        (["quey:by-bib", "--sample", "footrace"], "cannot be explained"),
        (["key"], "which key?"),
        (["key", "x", "--scheme", "2"], "--scheme goes with query:NAME, or alone"),
        (["query:by-bib", "--sample", "footrace", "--scheme", "best"], "names no scheme"),
        (["query:by-bib", "--sample", "footrace", "--scheme", "999"], "there is no scheme 999"),
        (["query:by-bib", "--sample", "footrace", "--scheme", "{evnt} | {bib}"], "did you mean 'event'"),
        (["query:by-bib", "--sample", "footrace", "--scheme", "{event} | {ticks(bib)}"], "ticks cannot read bib"),
        (["query:by-bib", "--sample", "footrace", "--scheme", "{event} | {each(city)}"], "index_rows"),
    ],
)
def test_what_is_asked_wrongly(run: Run, words: list[str], says: str) -> None:
    done = run("explain", *words)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert len(done.stderr.decode().strip().splitlines()) <= 4


# -- what a user found -----------------------------------------------------------------------------------------------


def _posts(folder: Path, design: str, rows: list[dict[str, Any]]) -> None:
    (folder / "d.yaml").write_text(f"schema: 1\ntables:\n  Posts:\n{design}")
    (folder / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def _rows(count: int = 60) -> list[dict[str, Any]]:
    return [{"blog": f"b{n % 4}", "id": n, "score": n * 37 % 900, "open": n % 2 == 0} for n in range(count)]


KEYS = "    partition_key: '{blog}'\n    row_key: '{pad(score,3)}_{pad(id,4)}'\n    queries:\n"


@pytest.mark.parametrize(
    "text", ["id eq 'x'", "open eq 'true'", "id eq 2147483648", "score gt '5'", "blog eq 5", "id eq '{id}'"]
)
def test_a_constant_of_another_type_is_refused(run: Run, tmp_path: Path, text: str) -> None:
    _posts(tmp_path, f'{KEYS}      - {{name: q, filter: "{text}", rate: 1/s}}\n', _rows())
    for words in (["analyze"], ["explain", "query:q"]):
        done = run(*words, "p.jsonl", "--design", "d.yaml")
        assert done.returncode == 2
        assert "it never holds" in done.stderr.decode()


@pytest.mark.parametrize(
    ("text", "request_text"),
    [
        ("blog eq '{blog}' and score le 1500", "PartitionKey eq '{blog}' and RowKey lt ':'"),
        ("blog eq '{blog}' and score ge -1001 and score lt 2000",
         "PartitionKey eq '{blog}' and RowKey ge '-' and RowKey lt ':'"),
    ],
)  # fmt: skip
def test_a_bound_beyond_the_padding_is_printed_as_it_is_sent(
    run: Run, tmp_path: Path, text: str, request_text: str
) -> None:
    _posts(tmp_path, f'{KEYS}      - {{name: q, filter: "{text}", rate: 1/s}}\n', _rows())
    found = explained(run, "query:q", "p.jsonl", "--design", "d.yaml")
    assert found["filters"] == [request_text]
    assert found["examples"] == [request_text.replace("{blog}", "b0")]


def test_what_is_wrong_with_the_keys_is_said_beside_the_plan(run: Run, tmp_path: Path) -> None:
    _posts(tmp_path, f"{KEYS}      - {{name: q, filter: \"blog eq '{{blog}}'\", rate: 1/s}}\n", _rows())
    words = ["query:q", "p.jsonl", "--design", "d.yaml"]
    (warning,) = explained(run, *words, "--scheme", "{blog} | ''")["warnings"]
    assert warning.startswith("56 of 60 entities have a key that an earlier one has, e.g. 15 under 'b0' | ''")
    (hidden,) = explained(run, *words, "--scheme", "{blog} | ''", "--redact", "keys")["warnings"]
    assert hidden == "56 of 60 entities have a key that an earlier one has"
    (narrow,) = explained(run, *words, "--scheme", "{blog} | {pad(id,1)}", "--redact", "keys")["warnings"]
    assert narrow.startswith("{pad(id,1)} is too narrow for 50 of 60 entities: it needs 2 digits")


def test_an_index_row_over_its_own_entity_is_found(run: Run, tmp_path: Path) -> None:
    design = KEYS.replace(
        "    queries", "    index_rows:\n      - {row_key: '{pad(score,3)}_{pad(id,4)}'}\n    queries"
    )
    _posts(tmp_path, f"{design}      - {{name: q, filter: \"blog eq '{{blog}}'\", rate: 1/s}}\n", _rows())
    page = run("analyze", "p.jsonl", "--design", "d.yaml").stdout.decode()
    assert "index row 1 has the key of another row for 60 of 60 entities" in " ".join(page.split())


def test_several_answers_are_merged_and_cut(run: Run, tmp_path: Path) -> None:
    query = "{name: q, filter: \"blog eq 'b1' or blog eq 'b2'\", order_by: [score], top: 3, rate: 1/s}"
    _posts(tmp_path, f"{KEYS}      - {query}\n", _rows())
    found = explained(run, "query:q", "p.jsonl", "--design", "d.yaml")
    assert found["client_work"] == ["send one request for each value of blog and merge the answers", "keep the first 3"]
    assert found["top"] == 3
    assert found["counts"]["requests"] == 2


@pytest.mark.usefixtures("samples_analyzed_once")
def test_a_scheme_has_the_number_of_the_analysis(run: Run) -> None:
    (table,) = json.loads(run("analyze", "--sample", "bank", "-q", "--format", "json").stdout)["tables"]
    for rank, scheme in enumerate([table["recommended"], *table["alternatives"]][:3], 1):
        found = explained(run, "query:statement", "--sample", "bank", "--scheme", str(rank))
        assert found["scheme"]["main"] == f"{scheme['partition_key']} | {scheme['row_key'] or chr(39) * 2}"


def test_a_week_in_a_key_is_read(run: Run, tmp_path: Path) -> None:
    design = "    partition_key: \"{time(at,'YYYY-Www')}\"\n    row_key: '{pad(id,3)}'\n    queries: []\n"
    (tmp_path / "d.yaml").write_text(f"schema: 1\ntables:\n  Weeks:\n{design}")
    (fit,) = explained(run, "key", "2024-W52", "--design", "d.yaml")["fits"]
    assert (fit["exact"], fit["pieces"][0]["value"]) == (True, "2024-12-23T00:00:00Z")
    (fit,) = explained(run, "key", "042", "--design", "d.yaml")["fits"]
    assert fit["pieces"][0]["value"] == "42"


@pytest.mark.parametrize(
    ("bounds", "count"),
    [
        ("at gt datetime'2024-12-28T22:00:00Z' and at le datetime'2025-01-02T00:00:00Z'", 6),
        ("at gt datetime'2024-12-28T22:00:00Z' and at lt datetime'2025-01-02T00:00:00Z'", 5),
        ("at ge datetime'2025-01-09T00:00:00Z' and at lt datetime'2025-02-09T00:00:00Z'", 31),
    ],
)
def test_periods_are_counted_as_they_are_sent(run: Run, tmp_path: Path, bounds: str, count: int) -> None:
    # Of many posts a day one range over the days would read those of all blogs: the days are asked one by one.
    design = (
        "    entities_total: 10_000_000\n    sampling: random-rows\n"
        "    partition_key: \"{time(at,'yyyyMMdd')}_{blog}\"\n    row_key: '{reverse_ticks(at)}'\n    queries:\n"
    )
    days = [datetime(2024, 12, 20) + timedelta(days=n) for n in range(60)]
    rows = [{"id": n, "blog": f"b{n % 4}", "at": f"{days[n // 4]:%Y-%m-%d}T0{n % 10}:00:00Z"} for n in range(240)]
    query = f"blog eq '{{blog}}' and {bounds}"
    _posts(tmp_path, f'{design}      - {{name: q, filter: "{query}", rate: 1/s}}\n', rows)
    found = explained(run, "query:q", "p.jsonl", "--design", "d.yaml")
    assert found["examples_total"] == count
    assert found["counts"]["fan_out"] == pytest.approx(count)


def test_periods_are_one_range_where_that_costs_less(run: Run, tmp_path: Path) -> None:
    design = "    partition_key: \"{time(at,'yyyyMMdd')}\"\n    row_key: '{reverse_ticks(at)}'\n    queries:\n"
    rows = [{"id": n, "at": f"2024-12-{1 + n % 31:02d}T0{n % 10}:00:00Z"} for n in range(60)]
    bounds = "at ge datetime'2024-12-03T00:00:00Z' and at lt datetime'2024-12-23T00:00:00Z'"
    _posts(tmp_path, f'{design}      - {{name: q, filter: "{bounds}", rate: 1/s}}\n', rows)
    found = explained(run, "query:q", "p.jsonl", "--design", "d.yaml")
    assert found["examples"] == [f"PartitionKey ge '20241203' and PartitionKey le '20241222' and {bounds}"]
    assert found["counts"]["fan_out"] == 1
    assert found["counts"]["entities_read"] == pytest.approx(40)  # two posts of each of 20 days


@pytest.mark.parametrize(
    ("assumed", "says"),
    [
        ((), "every constraint"),
        ((True,), "every constraint today, and not all after the growth that is assumed"),
        ((True, False), "not every constraint"),
    ],
)
def test_growth_that_nobody_declared_breaks_no_constraint_today(assumed: tuple[bool, ...], says: str) -> None:
    violations = [SimpleNamespace(assumed_growth=each) for each in assumed]
    assert held(cast(Any, SimpleNamespace(feasible=not assumed, violations=violations))) == says


def test_one_key_of_two_is_told_as_such(run: Run) -> None:
    failed = run("explain", "--scheme", "{bib}", "--sample", "footrace")
    assert failed.returncode == 2
    assert failed.stderr.decode().splitlines()[-1].strip() == "two are needed: --scheme '{bib} | ROWKEY'"

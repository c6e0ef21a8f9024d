"""Any design that can be read can be reviewed: the same each time, and every finding points into the file."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pkadvisor.limits import default_limits
from pkadvisor.report.documents.review_result import build_review, dump
from pkadvisor.review.gate.changes import DesignReview
from pkadvisor.review.gate.gate import Gate
from pkadvisor.review.rules.rule import load_rules
from tests.review.support import as_dict, review_text
from tests.tiers import examples

TYPES = {
    "tenant": "string",
    "device": "guid",
    "number": "int32",
    "total": "int64",
    "at": "datetime",
    "ratio": "double",
    "live": "boolean",
    "été": "string",
}
LITERALS = {
    "string": ("'x'", "'a''b'", "'{p}'"),
    "guid": ("guid'00000000-0000-4000-8000-000000000001'", "guid'{p}'"),
    "int32": ("7", "{p}"),
    "int64": ("7L", "{p}"),
    "datetime": ("datetime'2026-01-01T00:00:00Z'", "datetime'{p}'"),
    "double": ("1.5", "{p}"),
    "boolean": ("true", "{p}"),
}
names = st.sampled_from(tuple(TYPES))
parts = st.one_of(
    names.map(lambda n: f"{{{n}}}"),
    st.sampled_from(
        (
            "{pad(number,5)}",
            "{reverse_pad(total,12)}",
            "{time(at,'yyyyMMddHH')}",
            "{time(at,'yyyy-MM')}",
            "{ticks(at)}",
            "{reverse_ticks(at)}",
            "{hash(device,16)}",
            "{hash(lower(tenant),8)}",
            "{lower(tenant)}",
            "{prefix(tenant,3)}",
            "{seq(3)}",
        )
    ),
    st.sampled_from(("_", "-", "log", "~", "A/b", "#", " ", "{{", "ü", "")),
)
templates = st.lists(parts, max_size=4).map("".join)
rates = st.sampled_from(("1/day", "5/min", "3/s", "900/s", "30000/s"))


@st.composite
def comparisons(draw: st.DrawFn) -> str:
    name = draw(st.sampled_from((*TYPES, "PartitionKey", "RowKey", "Timestamp", "unknown")))
    kind = {"Timestamp": "datetime"}.get(name, TYPES.get(name, "string"))
    operator = draw(st.sampled_from(("eq", "ge", "lt", "ne")))
    return f"{name} {operator} {draw(st.sampled_from(LITERALS[kind])).replace('{p}', '{' + name + '}')}"


filters = st.recursive(
    comparisons(),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from((" and ", " or ")), inner).map(lambda t: f"({t[0]}{t[1]}{t[2]})"),
        inner.map(lambda f: f"not ({f})"),
    ),
    max_leaves=5,
)


@st.composite
def classes(draw: st.DrawFn, name: str, kinds: tuple[str, ...], *, write: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"name": name, "rate": draw(rates)}
    if kinds:
        made["kind"] = draw(st.sampled_from(kinds))
    if write:
        made["operation"] = draw(st.sampled_from(("insert", "upsert", "update", "delete")))
    if not write or made["operation"] in ("update", "delete"):
        made["filter"] = draw(filters)
    if not write:
        if draw(st.booleans()):
            made["order_by"] = [draw(names) + draw(st.sampled_from(("", " desc")))]
            made["top"] = draw(st.integers(1, 2000))
        made["analytic"] = draw(st.booleans())
    elif made["operation"] == "update":
        made["sets"] = draw(st.lists(names, min_size=1, max_size=2, unique=True))
    return made


@st.composite
def tables(draw: st.DrawFn) -> dict[str, Any]:
    kinds = draw(st.sampled_from(((), (), ("Head", "Line"))))
    made: dict[str, Any] = {}
    if draw(st.integers(0, 9)):
        made |= {"partition_key": draw(templates), "row_key": draw(templates)}
        rows = st.fixed_dictionaries({"row_key": templates}, optional={"partition_key": templates})
        made["index_rows"] = draw(st.lists(rows, max_size=2))
    if kinds:
        made["kinds"] = {kind: {"properties": TYPES} for kind in kinds}
    elif draw(st.booleans()):
        made["properties"] = TYPES
    if draw(st.booleans()):
        made["entities_total"] = draw(st.sampled_from((10, 50_000, 2_000_000_000)))
    made["queries"] = [draw(classes(f"q{i}", kinds, write=False)) for i in range(draw(st.integers(0, 3)))]
    made["writes"] = [draw(classes(f"w{i}", kinds, write=True)) for i in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()) and made["writes"]:
        made["transactions"] = [
            {"name": "together", "together": [made["writes"][0]["name"]], "group_by": [draw(names)]}
        ]
    made |= draw(
        st.fixed_dictionaries(
            {},
            optional={
                "retention": st.sampled_from(("1 day", "24 months")),
                "isolation": st.just("tenant"),
                "erase_by": st.just("tenant"),
                "arrival": st.just("at"),
                "growth": st.just({"rate": "8 %/month", "of": "rate"}),
            },
        )
    )
    return made


designs = st.lists(tables(), min_size=1, max_size=2).map(
    lambda made: json.dumps(
        {"schema": 1, "tables": {f"Table{i}": t for i, t in enumerate(made)}}, indent=1, ensure_ascii=False
    )
)
RULES = load_rules()


def document(review: DesignReview) -> dict[str, Any]:
    return as_dict(build_review([review], rules=RULES, gate=Gate(), redact=False))


@settings(deadline=None, max_examples=examples(60), suppress_health_check=[HealthCheck.too_slow])
@given(designs)
def test_a_review_never_fails_and_points_into_the_file(text: str) -> None:
    from pkadvisor.errors import UsageError

    try:
        review = review_text(text, RULES, default_limits(), name="d.yaml")
    except UsageError as error:
        assert error.where.startswith("d.yaml:") and 1 <= len(error.lines()) <= 4
        return
    made = document(review)
    again = review_text(text, RULES, default_limits(), name="d.yaml")
    assert dump(made) == dump(document(again))
    lines = text.split("\n")
    for found in made["designs"][0]["findings"]:
        place = found["place"]
        assert 1 <= place["line"] == place["end_line"] <= len(lines)
        assert place["excerpt"] == lines[place["line"] - 1]
        assert 1 <= place["column"] < place["end_column"] <= len(place["excerpt"]) + 1
    findings = [f for e in review.evaluations for f in e.findings]
    marks = {(f.rule, f.path, f.subject) for f in findings}
    assert len({f.fingerprint for f in findings}) == len(marks)
    assert len(marks) == len(findings), "one rule says one thing about one subject"

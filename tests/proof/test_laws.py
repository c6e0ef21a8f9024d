"""Plans of random keys over random, hostile entities: exact for every transform, filter and order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.template import parse_template
from pkadvisor.design.keys.transforms import TRANSFORMS
from pkadvisor.observe.workload import QueryClass
from pkadvisor.table.edm import EdmType
from tests.design.support import VALUES, bench_of, hostile_texts, population_of, query
from tests.proof.support import Case, PlainTable, constants, layout, prove
from tests.tiers import examples

TYPES = {
    "n": EdmType.INT32,
    "m": EdmType.INT64,
    "d": EdmType.DOUBLE,
    "t": EdmType.DATETIME,
    "s": EdmType.STRING,
    "u": EdmType.STRING,
    "g": EdmType.GUID,
}
# A few periods, so that ranges meet something, and now and then any of sixty years.
DATES = st.one_of(
    st.datetimes(datetime(2023, 12, 20), datetime(2024, 1, 20)),
    st.datetimes(datetime(1990, 1, 1), datetime(2050, 1, 1)),
).map(lambda moment: moment.replace(tzinfo=UTC))
FEW_TEXTS = st.one_of(st.sampled_from(["a", "ab", "a_b", "A", "", "~", "a~", "b!"]), hostile_texts)
COLUMNS: dict[str, st.SearchStrategy[object]] = {
    "n": st.one_of(st.none(), st.integers(-12, 120)),
    "m": st.one_of(st.integers(-3, 3), VALUES[EdmType.INT64]),
    "d": st.one_of(st.sampled_from([-1.5, -0.0, 0.0, 2.25]), st.floats(-1e6, 1e6)),
    "t": st.one_of(st.none(), DATES),
    "s": FEW_TEXTS,
    "u": st.one_of(st.none(), FEW_TEXTS),
    "g": VALUES[EdmType.GUID],
}
PARTS = {
    "": ["{s}", "{u}", "{n}", "{t}", "{g}", "{d}"],
    "pad": ["{pad(n,2)}", "{pad(n,3)}", "{pad(m,19)}", "{pad(s,3)}"],
    "reverse_pad": ["{reverse_pad(n,3)}"],
    "sortable": ["{sortable(n)}", "{sortable(m)}", "{sortable(d)}"],
    "reverse_sortable": ["{reverse_sortable(n)}", "{reverse_sortable(d)}", "{reverse_sortable(t)}"],
    "time": ["{time(t,'yyyyMM')}", "{time(t,'YYYY-Www')}", "{time(t,'ddMMyyyy')}"],
    "time_of_day": ["{time_of_day(t,'HHmm')}", "{time_of_day(t,'HH')}", "{time_of_day(t,3)}"],
    "ticks": ["{ticks(t)}"],
    "reverse_ticks": ["{reverse_ticks(t)}"],
    "hash": ["{hash(n,3)}", "{hash(lower(s),2)}"],
    "hash_prefix": ["{hash_prefix(s,1)}"],
    "md5_prefix": ["{md5_prefix(s,1)}"],
    "lower": ["{lower(s)}"],
    "prefix": ["{prefix(u,1)}", "{prefix(s,2)}"],
    "reverse": ["{reverse(s)}", "{reverse(n)}"],
    "concat": ["{hash(concat(s,'_',n),3)}"],
}
LATER = {"each", "seq"}
"""Several rows for an entity, and a number that nobody asks for: proved by hand in test_by_hand and in the samples."""
CONDITIONS = [
    "n eq {n}", "n ge {n}", "n gt {n}", "n le {n+7}", "n lt {n+200}", "n ne {n}", "(n eq {n} or n eq 5 or n eq 6)",
    "m eq {m}", "m ge {m}", "m lt {m+9}", "d ge {d}", "d le {d+1.5}", "d eq {d}",
    "t ge {t}", "t gt {t-24h}", "t lt {t+9d}", "t le {t}", "t eq {t}",
    "s eq {s}", "s ge {s}", "s lt {s}", "u eq {u}", "u gt {u}", "not (s eq {s})", "(s eq {s} or s eq 'a')", "g eq {g}",
]  # fmt: skip


def test_every_transform_is_in_the_law() -> None:
    assert set(PARTS) - {""} == set(TRANSFORMS) - LATER


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, str, QueryClass, Sequence[Mapping[str, object]]]:
    kinds = st.sampled_from(sorted(PARTS))
    parts = [draw(st.sampled_from(PARTS[draw(kinds)])) for _ in range(draw(st.integers(1, 4)))]
    cut = draw(st.integers(0, len(parts)))
    between = draw(st.sampled_from(["_", "_", "-", "__", ""]))
    partition = draw(st.sampled_from(["", "P:"])) + between.join(parts[:cut])
    # What identifies an entity ends the RowKey, so that no two share a key.
    row = draw(st.sampled_from(["", "R"])) + "_".join([between.join(parts[cut:]), "{g}"] if parts[cut:] else ["{g}"])
    # Mostly about what the key is made of: anything else ends at the first part.
    names = {name for part in parse_template("".join(parts), known=TYPES) for name in part.properties}
    about = [c for c in CONDITIONS if set(re.findall(r"[a-z]+(?= (?:eq|ne|g|l))", c)) <= names]
    pool = st.sampled_from(draw(st.sampled_from([about, about, about, CONDITIONS])) or CONDITIONS)
    conditions = draw(st.lists(pool, min_size=1, max_size=4, unique=True))
    wanted = draw(st.lists(st.sampled_from(["n", "-n", "t", "-t", "s", "d", "-m"]), max_size=2, unique=True))
    order = tuple(o for i, o in enumerate(wanted) if o.strip("-") not in [x.strip("-") for x in wanted[:i]])
    top = draw(st.one_of(st.none(), st.integers(1, 4)))
    rows = draw(st.lists(st.fixed_dictionaries(COLUMNS), min_size=2, max_size=14, unique_by=lambda r: r["g"]))
    return partition, row, query("q", " and ".join(conditions), order=order, top=top), rows


@settings(max_examples=examples(800))
@given(cases())
def test_plans_are_exact(case: tuple[str, str, QueryClass, Sequence[Mapping[str, object]]]) -> None:
    partition, row, asked, rows = case
    scheme = KeyScheme(parse_key(partition, row, known=TYPES))
    population = population_of({n: [r[n] for r in rows] for n in TYPES}, TYPES)
    entities = tuple(constants(r, TYPES) for r in rows)
    whole = Case("law", bench_of(population, asked), entities, (scheme,), 1)
    place = layout(scheme, entities, TYPES)
    found = list(prove(whole, scheme, PlainTable(place.rows), place, instances=3))
    assert [p for p in found if p.wrong] == []

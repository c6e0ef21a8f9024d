"""How parameters are drawn, and how many entities a filter returns."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.keys.transforms import Field
from pkadvisor.design.rows.asked import matching_rows
from pkadvisor.design.rows.demand import Demand, demands
from pkadvisor.design.rows.draws import draw_weights
from pkadvisor.design.rows.logged.inserts import with_unknown_properties
from pkadvisor.design.rows.population import Population
from pkadvisor.design.rows.sets.pairs import group_sizes
from pkadvisor.observe.workload import Basis, Draw, DrawBy, Operation, Transaction, Workload
from pkadvisor.table.edm import EdmType
from tests.design.support import frame_of, population_of, query

TYPES = {"tenant": EdmType.STRING, "size": EdmType.INT32, "at": EdmType.DATETIME}
START = datetime(2024, 1, 1, tzinfo=UTC)


def table(tenants: list[str], **options: object) -> Population:
    n = len(tenants)
    return population_of(
        {"tenant": tenants, "size": list(range(n)), "at": [START + timedelta(hours=i) for i in range(n)]},
        TYPES,
        **options,
    )


tenants_ = st.lists(st.sampled_from("abcd"), min_size=1, max_size=15)
DRAWS = [
    Draw(),
    Draw(DrawBy.DISTINCT, of=("tenant",)),
    Draw(DrawBy.ZIPF, of=("tenant",), exponent=1.2),
    Draw(DrawBy.WEIGHT, column="size"),
    Draw(DrawBy.NEWEST, share=0.7, window_s=7200),
]


@given(tenants_, st.sampled_from(DRAWS))
def test_weights_sum_to_one(tenants: list[str], draw: Draw) -> None:
    instances, weights = draw_weights(draw, table(tenants, arrival="at"))
    assert instances.tolist() == list(range(len(tenants)))
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


@given(st.lists(st.sampled_from("abcd"), min_size=1, max_size=300), st.randoms(use_true_random=False))
def test_means_do_not_depend_on_the_order_of_rows(tenants: list[str], random: Random) -> None:
    """A sum in another order differs in its last digit, and keys that are equally good would change places by it."""
    means = set()
    for _ in range(4):
        random.shuffle(tenants)
        (of_one,) = demands(Workload("T", (query("q", "tenant eq '{tenant}'"),)), table(tenants), {})
        means.add(of_one.mean(of_one.returned / 7))
    assert len(means) == 1


def by_tenant(tenants: list[str], weights: np.ndarray) -> dict[str, float]:  # type: ignore[type-arg]
    return {t: float(sum(w for n, w in zip(tenants, weights, strict=True) if n == t)) for t in sorted(set(tenants))}


TENANTS = list("aaaaaabbbc")


def test_entities_are_equally_likely() -> None:
    _, weights = draw_weights(DRAWS[0], table(TENANTS))
    assert by_tenant(TENANTS, weights) == pytest.approx({"a": 0.6, "b": 0.3, "c": 0.1})


def test_distinct_values_are_equally_likely() -> None:
    _, weights = draw_weights(DRAWS[1], table(TENANTS))
    assert by_tenant(TENANTS, weights) == pytest.approx({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})


@pytest.mark.parametrize("exponent", [0.0, 1.0, 2.0])
def test_zipf_falls_with_the_rank_of_the_frequency(exponent: float) -> None:
    _, weights = draw_weights(Draw(DrawBy.ZIPF, of=("tenant",), exponent=exponent), table(TENANTS))
    raw = [1.0, 2**-exponent, 3**-exponent]
    assert by_tenant(TENANTS, weights) == pytest.approx(dict(zip("abc", [r / sum(raw) for r in raw], strict=True)))


def test_a_weight_column_is_proportional() -> None:
    _, weights = draw_weights(DRAWS[3], table(TENANTS))
    assert weights == pytest.approx(np.arange(10) / 45)


def test_the_newest_take_their_share() -> None:
    _, weights = draw_weights(DRAWS[4], table(TENANTS, arrival="at"))
    assert weights[:8] == pytest.approx(np.full(8, 0.03))  # two hours back, the bound itself outside: rows 8 and 9
    assert weights[8:] == pytest.approx(np.full(2, 0.03 + 0.35))


def test_a_weight_of_nothing_falls_back_to_entities() -> None:
    population = population_of({"size": [0, 0, 0]}, {"size": EdmType.INT32})
    _, weights = draw_weights(Draw(DrawBy.WEIGHT, column="size"), population)
    assert weights == pytest.approx(np.full(3, 1 / 3))


@pytest.mark.parametrize("draw", [Draw(DrawBy.WEIGHT, column="size"), Draw(DrawBy.NEWEST, share=0.7, window_s=7200)])
def test_a_draw_by_hidden_values_is_assumed_and_said(draw: Draw) -> None:
    hidden = population_of(
        {"size": ["#b2", "#a1", "#c3"], "at": ["#k", "#m", "#l"]},
        {"size": EdmType.STRING, "at": EdmType.STRING},
        hashed=frozenset({"size", "at"}),
        arrival="at",
    )
    asked = query("read", "size eq '{size}'", draw=draw)
    (demand,) = demands(Workload(table="t", classes=(asked,)), hidden, {})
    assert demand.weights == pytest.approx(np.full(3, 1 / 3))
    assert demand.draw_basis is Basis.ASSUMED
    assert "the profile hides" in demand.notes[0]


def returned(text: str, population: Population, **options: object) -> list[float]:
    (found,) = demands(Workload("T", (query("q", text, **options),)), population, {})  # type: ignore[arg-type]
    return [round(float(v), 6) for v in found.returned]


def test_returned_counts_the_whole_filter() -> None:
    population = table(list("aab"))
    assert returned("tenant eq {tenant}", population) == [2, 2, 1]
    assert returned("tenant eq {tenant} and size ge {size}", population) == [2, 1, 1]
    assert returned("tenant eq {tenant} and size gt {size}", population) == [1, 0, 0]
    assert returned("tenant eq {tenant} and size ne 0", population) == [1, 1, 1]
    assert returned("size lt {size+2}", population) == [2, 3, 3]
    assert returned("at ge {at} and at lt {at+2h}", population) == [2, 2, 1]
    assert returned("tenant eq 'a'", population) == [2, 2, 2]  # whatever row the other parameters come from
    assert returned("tenant eq 'a' and size eq {size}", population) == [1, 1, 0]
    assert returned("tenant eq 'a' or tenant eq 'x'", population) == [2, 2, 2]
    assert returned("not (tenant eq 'a')", population) == [1, 1, 1]


def test_basis_says_whether_somebody_stated_the_draw() -> None:
    population = table(TENANTS)

    def basis(draw: Draw, operation: Operation = Operation.QUERY) -> Basis:
        classes = (query("q", "tenant eq {tenant}", draw=draw, operation=operation),)
        return demands(Workload("T", classes), population, {})[0].draw_basis

    assert basis(Draw()) is Basis.ASSUMED
    assert basis(Draw(stated=True)) is Basis.DECLARED
    assert basis(Draw(), Operation.INSERT) is Basis.DECLARED


def test_logged_parameters_are_the_instances() -> None:
    import polars as pl

    ghosts = frame_of({"tenant": ["b", "zz"]}, TYPES)
    population = table(TENANTS, ghosts=ghosts)
    asked = query("q", "tenant eq {tenant}")
    logged = ghosts.with_columns(pl.Series("_weight", [0.25, 0.75]))
    (found,) = demands(Workload("T", (asked,), instances={"q": logged}), population, {"q": (10, 12)})
    assert found.instances.tolist() == [10, 11]
    assert found.weights.tolist() == [0.25, 0.75]
    assert found.returned.tolist() == [3, 0]
    assert found.mean(found.returned) == 0.75
    assert found.draw_basis is Basis.COUNTED


def test_a_logged_bound_of_a_text_is_placed_among_the_texts_of_its_property() -> None:
    """Texts have no numbers of their own: a bound that no entity has lies between two that entities have."""
    import polars as pl

    bounds = frame_of({"tenant.from": ["b", "bb", "a"], "tenant.until": ["c", "zz", "a"]}, dict.fromkeys(
        ("tenant.from", "tenant.until"), EdmType.STRING
    ))  # fmt: skip
    population = table(["a", "b", "b", "c", "d"], ghosts=bounds)
    asked = query("q", "tenant ge {tenant.from} and tenant lt {tenant.until}")
    logged = bounds.with_columns(pl.lit(1 / 3).alias("_weight"))
    (found,) = demands(Workload("T", (asked,), instances={"q": logged}), population, {"q": (5, 8)})
    assert found.returned.tolist() == [2, 2, 0]


def test_a_property_that_a_logged_query_does_not_name_is_missing_of_no_entity() -> None:
    population = table(["a", "b"], ghosts=frame_of({"tenant": ["b", None]}, TYPES))
    assert population.always_there("size") and population.always_there("tenant")
    assert not population.may_lack("size")
    lacking = table(["a", None], ghosts=frame_of({"tenant": ["b"]}, TYPES))  # type: ignore[list-item]
    assert lacking.may_lack("tenant") and not lacking.always_there("tenant")


def test_a_logged_insert_has_what_no_key_tells_from_entities_like_it() -> None:
    types = {"id": EdmType.INT32, "team": EdmType.STRING, "city": EdmType.STRING}
    data = frame_of({"id": [1, 2, 3, 4], "team": ["a", "a", "b", "b"], "city": ["x", "y", "z", "z"]}, types)
    by_id = with_unknown_properties(frame_of({"id": [3, 1]}, types), data)
    assert by_id.select("team", "city").rows() == [("b", "z"), ("a", "x")]
    by_team = with_unknown_properties(frame_of({"id": [9, 8, 7], "team": ["a", "a", "b"]}, types), data)
    assert by_team["city"].to_list() == ["x", "y", "z"]  # those alike take turns
    assert by_team["id"].to_list() == [9, 8, 7]
    unlike = with_unknown_properties(frame_of({"id": [9, 8], "team": ["q", "q"]}, types), data)
    assert unlike["city"].to_list() == ["x", "z"]


def test_group_sizes() -> None:
    tenants = ["a"] * 101 + ["b"] * 100 + ["c"]
    assert group_sizes(Transaction("t", (), ("tenant",)), table(tenants), 100) == (pytest.approx(202 / 3), 1, 3)


def test_hidden_numbers_fall_into_buckets_by_their_tokens() -> None:
    """A profile hides a number behind a text, which has the bucket of the text and not of a number."""
    from pkadvisor.design.cost.buckets import _digests

    tokens = ["#b2", "#a1", "#b2", "#c3"]
    frame = frame_of({"price": tokens}, {"price": EdmType.STRING})
    hidden = Population(frame, {"price": EdmType.DOUBLE}, hashed=frozenset({"price"}))
    codes, _ = hidden.atom(("h", "price", "64"))
    shown = population_of({"price": tokens}, {"price": EdmType.STRING})
    assert codes.tolist() == shown.atom(("h", "price", "64"))[0].tolist()
    assert _digests(Field("price"), hidden).tolist() == _digests(Field("price"), shown).tolist()


BOX = "tenant eq {tenant} and size ge {size-3} and size lt {size+3} and at lt datetime'{at}'"
POINTS = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=15)


def in_boxes(points: list[tuple[str, int, int]]) -> list[int]:
    return [sum(p[0] == t and s - 3 <= p[1] < s + 3 and p[2] < h for p in points) for t, s, h in points]


def asked_in_boxes(points: list[tuple[str, int, int]]) -> Demand:
    tenants, sizes, hours = zip(*points, strict=True)
    times = [START + timedelta(hours=h) for h in hours]
    population = population_of({"tenant": list(tenants), "size": list(sizes), "at": times}, TYPES)
    (demand,) = demands(Workload("T", (query("box", BOX),)), population, {})
    return demand


@given(POINTS, st.sampled_from([1, 3, 1_000_000]))
def test_entities_in_several_ranges_are_counted(points: list[tuple[str, int, int]], at_once: int) -> None:
    with patch.object(matching_rows, "COMPARED_AT_ONCE", at_once):
        demand = asked_in_boxes(points)
    assert demand.returned.tolist() == in_boxes(points)
    assert demand.notes == ()


@given(POINTS)
def test_of_too_many_to_compare_an_upper_bound_is_told(points: list[tuple[str, int, int]]) -> None:
    with patch.object(matching_rows, "COMPARED_MOST", 0):
        demand = asked_in_boxes(points)
    assert all(demand.returned >= in_boxes(points))
    note = "the ranges on at are not counted: entities returned are an upper bound"
    assert demand.notes == ((note,) if len({hour for _, _, hour in points}) > 1 else ())

"""Keys that always have the same text are one key, by the rules between properties, and all kinds write them alike."""

from __future__ import annotations

from dataclasses import replace

from pkadvisor.design.choice.search import advise
from pkadvisor.design.choice.several_kinds.arrange import _common
from pkadvisor.design.choice.several_kinds.kinds import Bond, KindPool, Member
from pkadvisor.design.cost.cost import estimate
from pkadvisor.design.keys.scheme import KeyScheme, parse_key
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.load.estimates import CostEstimate
from pkadvisor.design.rows.dependencies import dependencies, in_one_way, sentences
from pkadvisor.design.rows.population import Population
from pkadvisor.table.edm import EdmType
from tests.design.support import bench_of, population_of, query

TYPES = {"number": EdmType.INT32, "code": EdmType.STRING, "alias": EdmType.STRING, "name": EdmType.STRING}


def orders(wrong: dict[int, str] | None = None) -> Population:
    """400 orders whose code is the number with eight digits, but for those that are wrong; the alias is the code."""
    codes = [(wrong or {}).get(n, f"{n * 3:08d}") for n in range(400)]
    return population_of(
        {
            "number": [n * 3 for n in range(400)],
            "code": codes,
            "alias": codes,
            "name": [f"n{n % 7}" for n in range(400)],
        },
        TYPES,
    )


def test_parts_with_one_text_are_written_in_one_way() -> None:
    population = orders()
    ways = [parse_key("", text).row for text in ("{code}", "{alias}", "{pad(number,8)}")]
    assert {in_one_way(parts, population) for parts in ways} == {parse_key("", "{pad(number,8)}").row}
    other = parse_key("{pad(number,9)}", "{name}")
    assert (in_one_way(other.partition, population), in_one_way(other.row, population)) == (other.partition, other.row)


def test_two_texts_that_are_equal_do_not_run_in_a_circle() -> None:
    population = population_of(
        {name: [f"x{n}" for n in range(50)] for name in ("b", "a")}, {"b": EdmType.STRING, "a": EdmType.STRING}
    )
    assert {format_template(in_one_way(parse_key("", f"{{{n}}}").row, population)) for n in "ab"} == {"{a}"}


def test_keys_with_one_text_are_one_scheme_and_serve_look_ups_by_either() -> None:
    bench = bench_of(orders(), query("by-code", "code eq '{code}'"), query("by-number", "number eq {number}"))
    advice = advise(bench, None)
    mains = [c.scheme.main for c in advice.ranking if not c.scheme.index_rows]
    texts = [tuple(in_one_way(parts, bench.population) for parts in (key.partition, key.row)) for key in mains]
    assert len(texts) == len(set(texts))
    assert advice.recommended.scheme.index_rows == ()
    assert [round(c.entities_read, 9) for c in advice.recommended.classes] == [1, 1]


def test_a_rule_that_some_rows_break_is_dropped_and_they_are_named() -> None:
    population = orders({17: "lost", 203: "00000001"})
    assert [d for d in dependencies(population) if d.target == "code" and d.source == "number"] == []
    told = [line for line in sentences(population) if line.startswith("code is pad(number,8)")]
    assert told == [
        "code is pad(number,8) in all but 2 of 400 entities looked at (row 18, 204): no rule that a key could use"
    ]
    many = orders({n: f"{n:08d}x" for n in range(0, 400, 20)})
    assert [line for line in sentences(many) if "all but" in line] == []


def test_kinds_of_one_aggregate_share_a_key_though_each_writes_it_otherwise() -> None:
    """One kind was given the code, the other pads the number: they lie in one partition, and are told one template."""
    schemes = {"Head": "{code}", "Line": "{pad(number,8)}"}
    bench = bench_of(orders(), query("by-number", "number eq {number}"))
    found: dict[str, tuple[CostEstimate, ...]] = {
        kind: (estimate(KeyScheme(parse_key(key, "{name}")), bench),) for kind, key in schemes.items()
    }
    pools = {kind: KindPool(kind, bench, estimates) for kind, estimates in found.items()}
    members = tuple(Member(kind, kind, 1.0) for kind in schemes)
    bond = Bond("place", True, ("number",), members, 1.0, 1.0, ())
    # The RowKey is no concern here: a scheme that is not unique stays out, so it is taken off.
    free = {kind: (_unbroken(each[0]),) for kind, each in found.items()}
    offers = _common(tuple(schemes), (bond,), pools, lambda kind, _: free[kind])
    assert [text for text, _ in offers] == ["{pad(number,8)}"]
    for estimates in offers[0][1].values():
        assert format_template(estimates.scheme.main.partition) == "{pad(number,8)}"


def _unbroken(found: CostEstimate) -> CostEstimate:
    return replace(found, violations=())

"""Planted mistakes: each function puts one wrong line into the package for as long as a ``MonkeyPatch`` lives.

Several are mistakes that the package once had. They touch different mechanisms: plans, counts, loads, bytes, group
transactions, growth, key texts, logs, candidates and the engine.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest


def wrapped(patch: pytest.MonkeyPatch, target: str, change: Callable[..., Any]) -> None:
    """Replace a function, by the name of its module or class, by what ``change(original)`` makes of it."""
    from importlib import import_module

    module, _, name = target.rpartition(".")
    owner: Any
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        outer, _, inner = module.rpartition(".")
        owner = getattr(import_module(outer), inner)
    right = getattr(owner, name)
    wrong = change(right)
    _called_alike(right, wrong, target)
    patch.setattr(owner, name, wrong)


def _called_alike(right: Any, wrong: Any, target: str) -> None:
    """A mistake takes all that the function takes: one that ends in an exception would be found by that alone."""
    if not (callable(right) and callable(wrong)):
        return
    names = inspect.signature(right).parameters.values()
    positional = [p for p in names if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = {p.name: None for p in names if p.kind == p.KEYWORD_ONLY}
    try:
        inspect.signature(wrong).bind(*([None] * len(positional)), **named)
    except TypeError as error:
        raise AssertionError(f"the mistake planted in {target} takes other arguments: {error}") from error


def updates_do_not_move(patch: pytest.MonkeyPatch) -> None:
    """An update that looks its entity up is counted as one that knows its key."""
    wrapped(patch, "pkadvisor.design.cost.class_cost.locates", lambda _: lambda *__: False)


def index_rows_for_missing_values(patch: pytest.MonkeyPatch) -> None:
    """Inserts write index rows of entities that miss what they are looked up by."""

    def always(_: Any) -> Any:
        import numpy as np

        return lambda key, row, population: np.ones(population.size)

    wrapped(patch, "pkadvisor.design.cost.class_cost.has_row", always)


def everybody_is_asked_for(patch: pytest.MonkeyPatch) -> None:
    """Entities that miss a parameter are asked for as well."""
    wrapped(patch, "pkadvisor.design.rows.demand._asked", lambda _: lambda query, population, weights: weights)


def pages_of_ten(patch: pytest.MonkeyPatch) -> None:
    """A page holds a hundredth of what it does."""
    wrapped(
        patch,
        "pkadvisor.design.cost.plan_reads.pages_of",
        lambda right: lambda scanned, returned, bench: right(scanned * 100, returned, bench),
    )


def ranges_take_both_ends(patch: pytest.MonkeyPatch) -> None:
    """``gt`` is counted as ``ge``, ``lt`` as ``le``."""

    def both(right: Any) -> Any:
        def bounds(name: str, bound: Any, population: Any, instances: Any) -> Any:
            return right(name, replace(bound, low_inclusive=True, high_inclusive=True), population, instances)

        return bounds

    wrapped(patch, "pkadvisor.design.rows.asked.matching_rows.bounds_of", both)


def one_range_sent_as_included(patch: pytest.MonkeyPatch) -> None:
    """The upper bound of a range of keys leaves out its own value."""

    def cut(right: Any) -> Any:
        def bounds(name: str, parts: Any, prefix: Any, part: Any, wanted: Any, *more: Any, **named: Any) -> Any:
            ranges = {n: replace(r, high_inclusive=False) for n, r in wanted.ranges.items()}
            return right(name, parts, prefix, part, replace(wanted, ranges=ranges), *more, **named)

        return bounds

    wrapped(patch, "pkadvisor.design.plan.plan.bounds", cut)


def order_of_every_part(patch: pytest.MonkeyPatch) -> None:
    """Plain numbers are taken to sort as text does."""
    wrapped(patch, "pkadvisor.design.keys.transforms.texts.Field.order", lambda _: lambda self, context: 1)


def order_always_served(patch: pytest.MonkeyPatch) -> None:
    """Every order is taken for that of the key: ``$top`` cuts off rows that are wanted."""
    wrapped(patch, "pkadvisor.design.plan.plan._Planner.order_served", lambda _: lambda *__: True)


def no_separators(patch: pytest.MonkeyPatch) -> None:
    """Values are written into keys without the escapes of their separators."""
    wrapped(patch, "pkadvisor.design.keys.scheme.separators", lambda _: lambda parts: "")


def newest_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A share of requests that goes to the newest entities goes to all."""

    def nobody(_: Any) -> Any:
        import numpy as np

        return lambda population, window_s: np.zeros(population.rows, dtype=bool)

    wrapped(patch, "pkadvisor.design.rows.draws._recent", nobody)


def buckets_of_one(patch: pytest.MonkeyPatch) -> None:
    """Requests for all buckets are counted as one."""
    wrapped(patch, "pkadvisor.design.plan.access_plan.product", lambda _: lambda parts: 1)


def peaks_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Loads of partitions are halved."""
    wrapped(
        patch,
        "pkadvisor.design.load.heat.LoadMap.at_instances",
        lambda right: lambda self, parts, instances, load, **more: right(self, parts, instances, load / 2, **more),
    )


# -- plans -------------------------------------------------------------------------------------------------------------


def labels_cost_top(patch: pytest.MonkeyPatch) -> None:
    """Index rows in other partitions are taken to lie among the main rows, so that ``$top`` is not sent."""
    wrapped(patch, "pkadvisor.design.plan.plan._Planner.apart", lambda _: lambda *__: False)


def falling_numbers_rise(patch: pytest.MonkeyPatch) -> None:
    """Numbers counted down are taken to rise in the key."""
    wrapped(patch, "pkadvisor.design.keys.transforms.numbers.ReverseSortable.order", lambda _: lambda self, context: 1)


def periods_end_early(patch: pytest.MonkeyPatch) -> None:
    """Of the periods between two bounds the last is not asked for."""
    wrapped(
        patch,
        "pkadvisor.design.cost.plan_reads._period_count",
        lambda right: lambda *given: (right(*given) - 1).clip(1),
    )


def ends_left_out_are_read(patch: pytest.MonkeyPatch) -> None:
    """A range over periods reads the period that begins where it ends."""
    wrapped(patch, "pkadvisor.design.keys.key_terms._tick_before", lambda _: lambda bound: bound)
    wrapped(
        patch,
        "pkadvisor.design.rows.population.Population.period_codes",
        lambda right: (
            lambda self, atom, moments, side: right(self, atom, moments + (1 if side == "right" else 0), side)
        ),
    )


def walks_end_early(patch: pytest.MonkeyPatch) -> None:
    """Going back over periods stops one before the last row that is wanted."""

    def shorter(right: Any) -> Any:
        def walk(*given: Any) -> Any:
            found = right(*given)
            return dataclasses.replace(found, periods=(found.periods - 1).clip(1))

        return walk

    wrapped(patch, "pkadvisor.design.cost.plan_reads.walk_back", shorter)


# -- counts ------------------------------------------------------------------------------------------------------------


def choices_counted_once(patch: pytest.MonkeyPatch) -> None:
    """The values of an ``or`` are one request."""

    def once(_: Any) -> Any:
        import numpy as np

        return lambda demand, *__: np.ones(len(demand.instances))

    wrapped(patch, "pkadvisor.design.cost.plan_reads.choice_count", once)


def equal_choices_counted_twice(patch: pytest.MonkeyPatch) -> None:
    """A parameter that equals a constant of its ``or`` is sent all the same."""
    wrapped(patch, "pkadvisor.design.rows.demand._own_among", lambda right: lambda *given: right(*given) & False)


def constants_forgotten(patch: pytest.MonkeyPatch) -> None:
    """The load of a filter with constants falls on all rows."""
    for module in ("class_cost", "scan_load", "scan_runs"):
        wrapped(patch, f"pkadvisor.design.cost.{module}.rows_of_constants", lambda _: lambda *__: None)


def nothing_matches_all(patch: pytest.MonkeyPatch) -> None:
    """A query without a filter returns a page."""

    def one_page(right: Any) -> Any:
        def returned(demand: Any, *given: Any) -> Any:
            found = right(demand, *given)
            return found if demand.query.filter is not None else found.clip(None, 100)

        return returned

    wrapped(patch, "pkadvisor.design.rows.demand._returned", one_page)


def zipf_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Zipf's law draws each value alike."""

    def even(_: Any) -> Any:
        import numpy as np

        return lambda size, block, exponent: np.ones(size)

    wrapped(patch, "pkadvisor.design.rows.draws._rank_masses", even)


def distinct_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Distinct values are drawn as often as entities have them."""
    wrapped(
        patch,
        "pkadvisor.design.rows.demand.draw_weights",
        lambda right: (
            lambda draw, population: right(replace(draw, by="entities") if draw.by == "distinct" else draw, population)
        ),
    )


def pointers_are_whole(patch: pytest.MonkeyPatch) -> None:
    """A pointer needs no request for the entity behind it."""

    def without(right: Any) -> Any:
        return lambda found, *given: replace(right(replace(found, pointer=False), *given), plan=found)

    wrapped(patch, "pkadvisor.design.cost.class_cost.read", without)


def copies_written_for_free(patch: pytest.MonkeyPatch) -> None:
    """An index row in another partition is written by the request of its entity."""
    wrapped(
        patch,
        "pkadvisor.design.keys.scheme.KeyScheme.places",
        lambda _: lambda self: (tuple(range(self.rows_per_entity)),),
    )


def each_index_row_by_itself(patch: pytest.MonkeyPatch) -> None:
    """Index rows of an entity with one PartitionKey of their own are written one by one."""

    def apart(right: Any) -> Any:
        return lambda self: (right(self)[0], *((via,) for place in right(self)[1:] for via in place))

    wrapped(patch, "pkadvisor.design.keys.scheme.KeyScheme.places", apart)


def sets_of_any_size(patch: pytest.MonkeyPatch) -> None:
    """A group transaction takes a set of the mean size, whatever the sizes are."""

    def by_mean(_: Any) -> Any:
        from pkadvisor.design.rows.sets.pairs import set_counts

        return lambda declared, population, most: 1 / min(most, set_counts(declared, population).mean())

    wrapped(patch, "pkadvisor.design.cost.cost.requests_each", by_mean)


# -- loads, bytes and growth -------------------------------------------------------------------------------------------


def pointers_load_nothing(patch: pytest.MonkeyPatch) -> None:
    """The entities that pointers lead to load no partition."""
    wrapped(
        patch,
        "pkadvisor.design.cost.plan_reads.load_led_to",
        lambda right: lambda *given: right(*given) * 0,
    )


def the_newest_load_every_period(patch: pytest.MonkeyPatch) -> None:
    """Going back for the newest loads all periods alike."""

    def spread(right: Any) -> Any:
        def alike(*given: Any) -> Any:
            rows = right(*given)
            return rows * 0 + rows.sum() / len(rows)

        return alike

    wrapped(patch, "pkadvisor.design.cost.plan_reads.load_going_back", spread)


def bytes_of_rows_not_written(patch: pytest.MonkeyPatch) -> None:
    """Entities without an index row store its bytes."""
    wrapped(patch, "pkadvisor.design.load.counting.present", lambda _: lambda *__: 1.0)


def growth_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Growth is that of a month."""
    patch.setattr("pkadvisor.observe.workload.Growth.factor", property(lambda self: self.factor_per_month))


def months_are_years(patch: pytest.MonkeyPatch) -> None:
    """A limit is passed twelve times as early."""

    def earlier(right: Any) -> Any:
        def months(self: Any, growth: Any) -> Any:
            found = right(self, growth)
            return None if found is None else found / 12

        return months

    wrapped(patch, "pkadvisor.design.load.estimates.Break.months", earlier)


def buckets_of_other_hashes(patch: pytest.MonkeyPatch) -> None:
    """Rows are counted in the bucket behind their own."""
    wrapped(
        patch,
        "pkadvisor.design.rows.coded_rows.bucket",
        lambda right: lambda text, count: (right(text, count) + len(text)) % count,
    )


def doubles_lose_their_sign(patch: pytest.MonkeyPatch) -> None:
    """Numbers below zero are read from keys without their sign."""
    wrapped(
        patch,
        "pkadvisor.design.keys.transforms.numbers.Sortable.value_of",
        lambda right: lambda self, plain, context: abs(right(self, plain, context)),
    )


# -- other laws --------------------------------------------------------------------------------------------------------


def shared_keys_untold(patch: pytest.MonkeyPatch) -> None:
    """That rows of two kinds have one key is not said."""
    wrapped(patch, "pkadvisor.design.cost.findings.shared_violations", lambda _: lambda *__: [])


def logged_ranges_are_open(patch: pytest.MonkeyPatch) -> None:
    """The upper end of a range in a log is not read."""
    wrapped(
        patch,
        "pkadvisor.design.rows.key_ranges._bound",
        lambda right: lambda *given, upper: None if upper else right(*given, upper=upper),
    )


def the_engine_drops_lower_bounds(patch: pytest.MonkeyPatch) -> None:
    """The engine's ``ge`` leaves out what equals the bound."""
    import operator

    from pkadvisor.engine.tables import compiled_filter, table_requests
    from pkadvisor.table.odata import Operator

    patch.setitem(compiled_filter._COMPARE, Operator.GE, operator.gt)
    patch.setattr(table_requests, "compiled", compiled_filter.compiled.__wrapped__)


def one_pattern_is_tried(patch: pytest.MonkeyPatch) -> None:
    """All entities are proposed to lie in one partition, and no other key."""
    from pkadvisor.design.choice import candidates

    for name in [n for n in candidates.PATTERNS if n != "single partition"]:
        patch.delitem(candidates.PATTERNS, name)

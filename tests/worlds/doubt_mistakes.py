"""Planted mistakes in what is sure, in kinds and in pairs; each as in ``mistakes``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.worlds.mistakes import wrapped


def density_not_measured(patch: pytest.MonkeyPatch) -> None:
    """Inserts are not compared with the density of the data."""
    wrapped(patch, "pkadvisor.design.evidence.grounds.density_of", lambda _: lambda population, workload: None)


def windows_of_any_length(patch: pytest.MonkeyPatch) -> None:
    """No two figures of times contradict each other."""
    patch.setattr("pkadvisor.design.evidence.grounds.APART", float("inf"))


def any_total_believed(patch: pytest.MonkeyPatch) -> None:
    """A total of entities is taken as it is, whatever the rows are."""
    for module in ("given", "grounds"):
        patch.setattr(f"pkadvisor.design.evidence.{module}.TOTAL_APART", float("inf"))


def any_log_believed(patch: pytest.MonkeyPatch) -> None:
    """A log that shows other rates than are declared covers them."""
    patch.setattr("pkadvisor.design.evidence.grounds.COVERED", 0.0)


def strangers_asked_for(patch: pytest.MonkeyPatch) -> None:
    """A log may ask for what the data does not have."""
    for module in ("grounds", "given"):
        patch.setattr(f"pkadvisor.design.evidence.{module}.FOUND", 0.0)


def every_difference_doubted(patch: pytest.MonkeyPatch) -> None:
    """Figures that lie a hundredth apart contradict each other."""
    patch.setattr("pkadvisor.design.evidence.grounds.APART", 1.01)


def windows_not_told_by_rate(patch: pytest.MonkeyPatch) -> None:
    """Windows of time are as the data holds them, whatever the rate of inserts."""
    wrapped(patch, "pkadvisor.design.load.windows._by_rate", lambda _: lambda demand, *__: demand)


def windows_of_half_the_rate(patch: pytest.MonkeyPatch) -> None:
    """By the rate of inserts a window holds half of what it does."""

    def halved(right: Any) -> Any:
        def told(*given: Any) -> Any:
            found = right(*given)
            held = found.by_rate
            if held is None or held.returned is None:
                return found
            return replace(found, by_rate=replace(held, returned=held.returned / 2))

        return told

    wrapped(patch, "pkadvisor.design.load.windows._by_rate", halved)


def every_value_is_new(patch: pytest.MonkeyPatch) -> None:
    """Nothing is known of a window, as if further inserts had further values of everything."""
    wrapped(
        patch, "pkadvisor.design.load.windows._new_values", lambda _: lambda demand, arrival, population: (arrival,)
    )


def grounds_do_not_count(patch: pytest.MonkeyPatch) -> None:
    """The verdict is what the ranking says, whatever it rests on."""
    wrapped(patch, "pkadvisor.report.documents.result.verdict_of", lambda right: lambda judged, _: right(judged, ()))


# -- tables and kinds together -----------------------------------------------------------------------------------------


def the_largest_kind_is_the_account(patch: pytest.MonkeyPatch) -> None:
    """Of what the kinds ask of the account the largest part alone is counted."""

    def largest(right: Any) -> Any:
        def load_of(askers: Any, *more: Any) -> Any:
            askers = sorted(askers, key=lambda a: -sum(a.by_class.values()))
            return right(
                [replace(a, by_class={n: v * (not i) for n, v in a.by_class.items()}) for i, a in enumerate(askers)],
                *more,
            )

        return load_of

    wrapped(patch, "pkadvisor.design.choice.several_kinds.account.account_load_of", largest)


def each_kind_breaks_alone(patch: pytest.MonkeyPatch) -> None:
    """The break factor of a kind is told at its own load of the account."""
    for user in ("design.choice.several_kinds.account", "stress.experiment.designs"):
        wrapped(patch, f"pkadvisor.{user}.bench_beside", lambda _: lambda bench, *__: bench)


def broken_sets_weigh_nothing(patch: pytest.MonkeyPatch) -> None:
    """Required transactions that are not kept are not counted among what a scheme misses."""
    wrapped(
        patch,
        "pkadvisor.design.choice.goals.missed_by",
        lambda right: lambda violations: right(v for v in violations if not v.sets_of),
    )


def mixed_ids_are_kinds(patch: pytest.MonkeyPatch) -> None:
    """Rows whose PartitionKeys look otherwise are of another kind."""
    wrapped(patch, "pkadvisor.design.keys.infer.kinds._mixed_ids", lambda _: lambda *groups: False)


# -- pairs -------------------------------------------------------------------------------------------------------------


def pairs_in_buckets_meet(patch: pytest.MonkeyPatch) -> None:
    """Values that share a bucket of a hash count as kept together."""
    wrapped(
        patch,
        "pkadvisor.design.rows.sets.pairs._read",
        lambda _: lambda parts: tuple(sorted({p.atom for p in parts if p.atom is not None})),
    )


def one_entity_speaks_for_its_value(patch: pytest.MonkeyPatch) -> None:
    """A value counts as lying in the last partition that one of its entities lies in."""

    def by_last(_: Any) -> Any:
        import numpy as np

        def places(pair: Any, atoms: Any, population: Any) -> Any:
            coded, rows = population.coded(pair.property), population.rows
            out = np.full(coded.size, -1)
            out[coded.codes[:rows]] = population.groups(atoms)[0][:rows]
            return out

        return places

    wrapped(patch, "pkadvisor.design.rows.sets.pairs._places", by_last)


def pairs_are_not_weighed(patch: pytest.MonkeyPatch) -> None:
    """A pair that rows name many times counts once."""

    def alike(right: Any) -> Any:
        import polars as pl

        def of_rows(pair: Any, frame: Any) -> Any:
            found = right(pair, frame)
            return None if found is None else found.with_columns(pl.lit(1 / found.height).alias("_weight"))

        return of_rows

    wrapped(patch, "pkadvisor.design.choice.bench_of_section.pairs_of_rows", alike)


def entities_meet_themselves(patch: pytest.MonkeyPatch) -> None:
    """Where any two values may meet, a value meets itself."""

    def with_itself(_: Any) -> Any:
        import numpy as np

        def share(pair: Any, atoms: Any, population: Any) -> Any:
            from pkadvisor.design.rows.sets.pairs import _places

            place, codes = _places(pair, atoms, population), population.coded(pair.property).codes[: population.rows]
            own = place[codes]
            return float((np.bincount(own[own >= 0]) ** 2).sum()) / len(own) ** 2

        return share

    wrapped(patch, "pkadvisor.design.rows.sets.pairs._share_of_any", with_itself)

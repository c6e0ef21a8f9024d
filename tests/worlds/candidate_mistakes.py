"""Planted mistakes in the candidates, in what a caller knows, and in ties; each as in ``mistakes``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.worlds.mistakes import wrapped


def _nothing(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **more: iter(())


def ranges_need_an_equality(patch: pytest.MonkeyPatch) -> None:
    """A class that fixes no property gets no index row in the order that it wants."""
    wrapped(patch, "pkadvisor.design.choice.index_candidates._without_equality", _nothing)


def rules_serve_no_other_property(patch: pytest.MonkeyPatch) -> None:
    """A property that always follows from another one is not looked up by it."""
    wrapped(patch, "pkadvisor.design.rows.demand.dependencies", lambda _: lambda population: ())


def callers_know_every_key(patch: pytest.MonkeyPatch) -> None:
    """An update or delete by an index row is counted as if its filter named the key of the entity."""
    wrapped(patch, "pkadvisor.design.plan.caller.Caller._names_entity", lambda _: lambda *__: True)


def periods_only_close_a_key(patch: pytest.MonkeyPatch) -> None:
    """A period with more behind it in the PartitionKey is read as one range of partitions."""

    def last(right: Any) -> Any:
        def enumerated(parts: Any, *given: Any) -> Any:
            found = right(parts, *given)
            return found if found is None or parts[-1].properties == (found.property,) else None

        return enumerated

    wrapped(patch, "pkadvisor.design.plan.plan.enumerated", last)


def lists_pass_in_silence(patch: pytest.MonkeyPatch) -> None:
    """A property that holds several values is taken for one, and nothing is said."""
    wrapped(patch, "pkadvisor.design.choice.judge.with_values_asked", lambda _: lambda bench: bench)
    wrapped(patch, "pkadvisor.design.choice.asked_texts._several_notes", _nothing)


def case_passes_in_silence(patch: pytest.MonkeyPatch) -> None:
    """That a property differs only in case is not seen: neither keys nor notes fold it."""
    for module in ("candidates", "asked_texts"):
        wrapped(patch, f"pkadvisor.design.choice.{module}.spellings", lambda _: lambda *given: None)


def texts_break_ties(patch: pytest.MonkeyPatch) -> None:
    """Of schemes that are equal by every goal the first by its text is taken."""
    wrapped(patch, "pkadvisor.design.choice.goals._simplicity", lambda _: lambda estimate: estimate.scheme.text)


def index_rows_repeat_the_main_key(patch: pytest.MonkeyPatch) -> None:
    """An index row ends with every part of the main key, also where fewer tell its rows apart."""
    from pkadvisor.design.keys.scheme import variable

    def every(_: Any) -> Any:
        def telling(known: Any, main: Any, ground: Any) -> Any:
            there = {name for part in known for name in part.properties}
            parts = [p for p in (*variable(main.partition), *variable(main.row)) if p.properties and p.injective]
            return [part for part in parts if part.properties[0] not in there]

        return telling

    wrapped(patch, "pkadvisor.design.choice.index_candidates._telling", every)


def missing_values_sort_first(patch: pytest.MonkeyPatch) -> None:
    """Rows that lack a property are taken to lie before the others, though the text of nothing sorts behind numbers."""

    def first(right: Any) -> Any:
        def order(self: Any, part: Any, atom: Any) -> Any:
            found, (codes, _) = right(self, part, atom), self.atom(atom)
            lacks = atom[0] in ("p", "t") and self.coded(atom[1]).has_missing and found.max(initial=-1) > codes.max()
            return codes if lacks else found

        return order

    wrapped(patch, "pkadvisor.design.rows.population.Population._part_order", first)

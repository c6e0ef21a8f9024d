"""What a function of sampled rows and hashable values gave: computed once, kept by the rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def remembered(what: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what a function gives in the ``memo`` of its argument ``population``, or of the first where none is called
    so, under a name and its other arguments."""

    def decorate(compute: Callable[P, T]) -> Callable[P, T]:
        names = compute.__code__.co_varnames[: compute.__code__.co_argcount]
        place = names.index("population") if "population" in names else 0

        @wraps(compute)
        def known(*values: P.args, **named: P.kwargs) -> T:
            memo: dict[object, Any] = values[place].memo  # type: ignore[attr-defined]
            key = (what, *values[:place], *values[place + 1 :], *named.values())
            if key not in memo:
                memo[key] = compute(*values, **named)
            return memo[key]  # type: ignore[no-any-return]

        return known

    return decorate

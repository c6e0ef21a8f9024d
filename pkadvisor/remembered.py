"""What a function of sampled rows and hashable values gave: computed once, kept by the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
_ABSENT = object()


def remembered(what: str, of: Callable[..., Hashable] | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Keep what a function gives in the ``memo`` of its argument ``population`` or ``bench``, or of the first where
    none is called so, under a name and its other arguments, or ``of`` them what its result depends on."""

    def decorate(compute: Callable[P, T]) -> Callable[P, T]:
        names = compute.__code__.co_varnames[: compute.__code__.co_argcount]
        place = next((names.index(name) for name in ("population", "bench") if name in names), 0)

        @wraps(compute)
        def known(*values: P.args, **named: P.kwargs) -> T:
            memo: dict[object, object] = cast(Any, values[place]).memo
            of_values = (*values[:place], *values[place + 1 :], *named.values()) if of is None else of(*values, **named)
            key = what, of_values
            found = memo.get(key, _ABSENT)  # once: to hash a key of templates takes longer than to look it up
            if found is _ABSENT:
                found = memo[key] = compute(*values, **named)
            return cast(T, found)

        return known

    return decorate

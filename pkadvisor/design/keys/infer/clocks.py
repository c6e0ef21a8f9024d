"""The forms in which keys write the time of day."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import islice

from pkadvisor.design.keys.transforms import TimeOfDay

_CLOCK = re.compile(r"([01][0-9]|2[0-3])(?:([:._-]?)([0-5][0-9])(?:\2([0-5][0-9])(?:(\2|[.,])([0-9]{1,7}))?)?)?")
_PROBE = 20


def clock_of_texts(name: str, texts: Collection[str]) -> TimeOfDay | None:
    """The time of day of a property that could write these texts: HH, HHmm, HH:mm, HHmmssfff and such; else None.

    The first texts are looked at: whether it writes all of them only the values of the property tell.
    """
    forms = {_form(text) for text in islice(texts, _PROBE)}
    form = forms.pop() if len(forms) == 1 else ""
    return TimeOfDay(name, form) if form else None


@lru_cache(maxsize=4096)
def _form(text: str) -> str:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return ""
    _, between, minutes, seconds, point, fraction = match.groups()
    out = "HH"
    if minutes:
        out += f"{between}mm"
    if seconds:
        out += f"{between}ss"
    return out + f"{point}{'f' * len(fraction)}" if fraction else out

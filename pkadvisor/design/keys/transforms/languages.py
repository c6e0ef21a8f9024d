"""Which texts a part of a key can be, as runs of characters: enough to tell that two keys never meet.

A *language* is a set of texts that holds every text that a part can produce, and may hold more: what it says of texts
that never meet is certain, what it says of texts that may meet is not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pkadvisor.values import dataclass

HEX = frozenset("0123456789abcdef")
DIGITS = frozenset("0123456789")
_OF_ESCAPES = frozenset("~0123456789ABCDEF")


@dataclass(frozen=True, slots=True)
class Run:
    """``least`` to ``most`` characters of an alphabet; None stands for any character, and for any number."""

    alphabet: frozenset[str] | None
    least: int
    most: int | None

    def __post_init__(self) -> None:
        if self.least < 0 or (self.most is not None and self.most < self.least):
            raise ValueError(f"a run of {self.least} to {self.most} characters")


Language = tuple[tuple[Run, ...], ...]
"""Alternatives, each of runs that follow one another."""

ANY: Language = ((Run(None, 0, None),),)
"""All texts."""


def exactly(text: str) -> Language:
    """One text."""
    return (tuple(Run(frozenset(c), 1, 1) for c in text),)


def digits(least: int, most: int | None) -> Language:
    """Decimal digits."""
    return ((Run(DIGITS, least, most),),)


def escaped(language: Language, special: Iterable[str]) -> Language:
    """The language with some characters escaped (``~`` and four hex digits for each)."""
    characters = frozenset(special)

    def run(each: Run) -> Run:
        if each.alphabet is None:
            return Run(None, each.least, None)
        if characters.isdisjoint(each.alphabet):
            return each
        return Run((each.alphabet - characters) | _OF_ESCAPES, each.least, None)

    return tuple(tuple(run(each) for each in runs) for runs in language)


def cut(language: Language, count: int) -> Language:
    """The beginnings of ``count`` characters at most."""

    def one(runs: tuple[Run, ...]) -> tuple[Run, ...]:
        out, left = list[Run](), count
        for each in runs:
            if each.least != each.most:  # where it ends is open, and so is what follows it
                rest = runs[len(out) :]
                letters = (
                    None
                    if any(r.alphabet is None for r in rest)
                    else frozenset[str]().union(*(r.alphabet or () for r in rest))
                )
                return (*out, Run(letters, 0, left))
            out.append(Run(each.alphabet, min(left, each.least), min(left, each.least)))
            left -= min(left, each.least)
        return tuple(out)

    return tuple(one(runs) for runs in language)


def turned(language: Language) -> Language:
    """The texts read from their end."""
    return tuple(runs[::-1] for runs in language)


def lowered(language: Language) -> Language:
    """The texts with A to Z in lower case."""
    return tuple(
        tuple(
            Run(
                None if r.alphabet is None else frozenset(c.lower() if c.isascii() else c for c in r.alphabet),
                r.least,
                r.most,
            )
            for r in runs
        )
        for runs in language
    )


def fixed_length(language: Language) -> int | None:
    """How many characters every text has; None where they differ."""
    lengths = {sum(r.least for r in runs) if all(r.least == r.most for r in runs) else None for runs in language}
    return lengths.pop() if len(lengths) == 1 else None


@lru_cache(maxsize=16_384)
def may_meet(one: tuple[Language, ...], other: tuple[Language, ...]) -> bool:
    """Whether some text can be put together from either sequence of languages.

    Both are read in step, a character at a time: a place in a sequence is (which language, alternative and run, how
    many characters of it), and a pair of places that was looked at is not looked at again.
    """
    seen = set[tuple[_Place, _Place]]()
    todo = [(a, b) for a in _starts(one, 0) for b in _starts(other, 0)]
    while todo:
        pair = todo.pop()
        if pair in seen:
            continue
        seen.add(pair)
        left, right = pair
        if left is None and right is None:
            return True
        if left is None or right is None:
            continue
        mine, theirs = _run(one, left).alphabet, _run(other, right).alphabet
        if mine is not None and theirs is not None and mine.isdisjoint(theirs):
            continue
        todo += [(a, b) for a in _after(one, left) for b in _after(other, right)]
    return False


_FIRST_LETTERS = "xa10"
"""Letters that a text in common is made of where there is a choice."""


def text_in_common(one: tuple[Language, ...], other: tuple[Language, ...], letters: str = _FIRST_LETTERS) -> str | None:
    """A shortest text that can be put together from either sequence of languages; None where there is none.

    Where there is a choice it is made of the first of these ``letters`` that can be.
    """
    starts = [(a, b) for a in _starts(one, 0) for b in _starts(other, 0)]
    texts = dict.fromkeys(starts, "")
    todo = deque(texts)
    while todo:
        pair = todo.popleft()
        left, right = pair
        if left is None and right is None:
            return texts[pair]
        if left is None or right is None:
            continue
        letter = _letter_of(_run(one, left).alphabet, _run(other, right).alphabet, letters)
        for following in ((a, b) for a in _after(one, left) for b in _after(other, right)) if letter else ():
            if following not in texts:
                texts[following] = texts[pair] + letter
                todo.append(following)
    return None


def _letter_of(mine: frozenset[str] | None, theirs: frozenset[str] | None, letters: str) -> str:
    """A character of two alphabets; empty where they share none."""
    if mine is None and theirs is None:
        return letters[0]
    shared = (mine if theirs is None else theirs if mine is None else mine & theirs) or frozenset()
    return next((c for c in letters if c in shared), min(shared, default=""))


_Place = tuple[int, int, int, int] | None
"""The next character to be read, or None behind the last."""


def _run(languages: tuple[Language, ...], place: tuple[int, int, int, int]) -> Run:
    return languages[place[0]][place[1]][place[2]]


def _starts(languages: tuple[Language, ...], index: int) -> Iterator[_Place]:
    """The places at which what follows from a language on can begin."""
    if index == len(languages):
        yield None
        return
    for alternative in range(len(languages[index])):
        yield from _from_run(languages, index, alternative, 0)


def _from_run(languages: tuple[Language, ...], index: int, alternative: int, number: int) -> Iterator[_Place]:
    runs = languages[index][alternative]
    for n in range(number, len(runs)):
        if runs[n].most != 0:
            yield index, alternative, n, 0
        if runs[n].least > 0:
            return
    yield from _starts(languages, index + 1)


def _after(languages: tuple[Language, ...], place: tuple[int, int, int, int]) -> Iterator[_Place]:
    """Where the next character can be, when the one at a place was read."""
    index, alternative, number, count = place
    run = languages[index][alternative][number]
    count += 1
    if run.most is None:
        yield index, alternative, number, min(count, run.least)
    elif count < run.most:
        yield index, alternative, number, count
    if count >= run.least:
        yield from _from_run(languages, index, alternative, number + 1)

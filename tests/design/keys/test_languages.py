"""Languages of key parts: each holds every text of its part, and keys that are said never to meet never do."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pkadvisor.design.keys.template import languages_of, parse_template
from pkadvisor.design.keys.transforms import Context, Part, Sequence
from pkadvisor.design.keys.transforms.languages import (
    ANY,
    Language,
    Run,
    cut,
    exactly,
    fixed_length,
    lowered,
    may_meet,
    turned,
)
from pkadvisor.table.edm import EdmType
from tests.design.keys.test_transforms import parts_with_values
from tests.design.support import python_value
from tests.tiers import examples

runs = st.tuples(st.sets(st.sampled_from("aB"), min_size=1), st.integers(0, 2), st.integers(0, 2)).map(
    lambda drawn: Run(frozenset(drawn[0]), drawn[1], drawn[1] + drawn[2])
)
languages = st.lists(st.lists(runs, max_size=3).map(tuple), min_size=1, max_size=2).map(tuple)


def holds(languages: tuple[Language, ...], text: str) -> bool:
    """Whether a text can be put together from one text of each language, in order."""
    return may_meet(languages, (exactly(text),))


def texts_of(language: Language) -> set[str]:
    """Every text of a language whose runs have an end."""
    found = set[str]()
    for alternative in language:
        lengths = [range(run.least, (run.most or 0) + 1) for run in alternative]
        for counts in product(*lengths):
            letters = [
                sorted(run.alphabet or ()) for run, count in zip(alternative, counts, strict=True) for _ in range(count)
            ]
            found |= {"".join(text) for text in product(*letters)}
    return found


@settings(max_examples=examples(400))
@given(parts_with_values())
def test_every_text_of_a_part_is_in_its_language(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, _, values, context = case
    for value in [*values, None]:
        text = part.encode({"p": python_value(value)}, context)
        assert holds((part.texts(context),), text), text


@settings(max_examples=examples(200))
@given(parts_with_values())
def test_texts_have_the_length_that_is_told(case: tuple[Part, EdmType, list[object], Context]) -> None:
    part, _, values, context = case
    length = part.usual_length(context)
    for value in values if length is not None and part.function not in ("pad", "reverse_pad") else []:
        text = part.encode({"p": python_value(value)}, context)
        assert value is None or "~" in text or len(text) == length, (text, length)


@given(st.integers(0, 10**6), st.integers(1, 9))
def test_every_number_that_the_application_assigns_is_in_its_language(number: int, width: int) -> None:
    part = Sequence(width)
    assert holds((part.texts(Context({})),), part.encode({"#seq": number}, Context({})))


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(languages, max_size=2), st.lists(languages, max_size=2))
def test_languages_meet_where_they_share_a_text(one: list[Language], other: list[Language]) -> None:
    def all_of(parts: list[Language]) -> set[str]:
        return {"".join(pieces) for pieces in product(*(sorted(texts_of(part)) for part in parts))}

    assert may_meet(tuple(one), tuple(other)) == bool(all_of(one) & all_of(other))


@given(languages, st.integers(0, 4))
def test_what_is_made_of_a_language_holds_what_is_made_of_its_texts(language: Language, count: int) -> None:
    for text in texts_of(language):
        assert holds((cut(language, count),), text[:count])
        assert holds((turned(language),), text[::-1])
        assert holds((lowered(language),), text.lower())
        assert holds((ANY,), text)
        assert fixed_length(language) in (None, len(text))


@pytest.mark.parametrize(
    ("one", "other", "meet"),
    [
        ("{pad(box,5)}", "B:{name}", False),
        ("{pad(box,5)}", "{name}", True),
        ("B:{pad(box,5)}", "B:{name}", True),
        ("B:{pad(box,5)}", "BX{name}", False),
        ("{ticks(at)}", "{reverse_ticks(at)}", True),
        ("{ticks(at)}", "{hash(name,16)}", False),
        ("{ticks(at)}", "n_{name}", False),
        ("{time(at,'yyyyMMdd')}", "{time(at,'yyyyMM')}", True),  # where both are missing
        ("{time(at,'yyyyMMdd')}x", "{time(at,'yyyyMM')}y", False),
        ("{time(at,'yyyyMMdd')}", "{time(at,'ddMMyyyy')}", True),
        ("{hash_prefix(name,4)}", "by{name}", False),
        ("{hash_prefix(name,4)}", "be{name}", True),
        ("{lower(name)}", "x_{name}", True),
        ("{prefix(ticks(at),8)}", "n_{name}", False),
        ("{reverse(pad(box,5))}", "n_{name}", False),
        ("{sortable(box)}", "{sortable(size)}", True),  # where both are missing
        ("{box}", "_{name}", False),
        ("{flag}", "t{name}", True),
        ("{flag}", "x{name}", False),
        ("{at}", "2{name}", True),
        ("{at}", "x{name}", False),
        ("{size}", "e{name}", True),
        ("{size}", "x{name}", False),
        ("", "{name}", True),
        ("", "x{name}", False),
        ("{pad(box,5)}_{pad(box,5)}", "{time(at,'yyyyMMdd')}", False),
    ],
)
def test_templates_meet_where_they_can_make_the_same_key(one: str, other: str, meet: bool) -> None:
    types = {
        "box": EdmType.INT32,
        "name": EdmType.STRING,
        "at": EdmType.DATETIME,
        "flag": EdmType.BOOLEAN,
        "size": EdmType.DOUBLE,
    }
    left, right = (languages_of(parse_template(text), types) for text in (one, other))
    assert may_meet(left, right) is meet
    assert may_meet(right, left) is meet

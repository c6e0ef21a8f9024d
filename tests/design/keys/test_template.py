"""Template text and parts: both directions, braces, and errors that point at the mistake."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, parse_key
from pkadvisor.design.keys.template import TemplateError, decoder, format_template, parse_template, separators
from pkadvisor.design.keys.transforms import (
    FORBIDDEN,
    Concat,
    Each,
    Field,
    Hash,
    HashPrefix,
    Literal,
    Lower,
    Pad,
    Part,
    Prefix,
    Reverse,
    ReversePad,
    ReverseTicks,
    Sequence,
    Sortable,
    Ticks,
    Time,
)

names = st.one_of(
    st.from_regex(r"[A-Za-zé_][\w.]{0,6}([ -@][\w.]{1,3})?", fullmatch=True),
    st.text(st.sampled_from("9a`'(){},\" é"), min_size=1, max_size=4),
)
literals = st.text(
    st.one_of(st.sampled_from("{}_;: 09az~'(,"), st.characters(exclude_categories=("Cs",))), min_size=1, max_size=6
).map(lambda text: "".join(c for c in text if c not in FORBIDDEN))
texts = literals.filter(bool).map(Literal)
sources = st.recursive(
    st.one_of(names, st.builds(Pad, names, st.integers(1, 38)), st.builds(Time, names, st.just("yyyyMM"))),
    lambda inner: st.one_of(
        st.builds(Lower, inner),
        st.builds(Prefix, inner, st.integers(1, 512)),
        st.builds(Reverse, inner),
        st.builds(Concat, st.lists(st.one_of(inner, texts), min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=4,
)
variables = st.one_of(
    names.map(Field),
    st.builds(Pad, names, st.integers(1, 38)),
    st.builds(ReversePad, names, st.integers(1, 38)),
    st.builds(Time, names, st.sampled_from(["yyyy", "yyyyMM", "yyyy-MM-dd", "yyyyMMdd HH", "mmHHddMMyyyy"])),
    st.builds(Ticks, names),
    st.builds(ReverseTicks, names),
    st.builds(Sortable, names),
    st.builds(Hash, sources, st.integers(2, 10_000)),
    st.builds(HashPrefix, sources, st.integers(1, 16)),
    st.builds(Lower, sources),
    st.builds(Prefix, sources, st.integers(1, 512)),
    st.builds(Reverse, sources),
    st.builds(Each, names, st.text(st.sampled_from(";,|'`} "), max_size=2)),
    st.builds(Sequence, st.integers(1, 38)),
)


@given(st.lists(st.one_of(variables, literals.filter(bool).map(Literal)), max_size=6))
def test_parts_survive_their_text(parts: list[Part]) -> None:
    merged: list[Part] = []
    for part in parts:
        if merged and isinstance(part, Literal) and isinstance(merged[-1], Literal):
            merged[-1] = Literal(merged[-1].text + part.text)  # text that touches is one text
        else:
            merged.append(part)
    text = format_template(merged)
    assert parse_template(text) == tuple(merged)
    assert format_template(parse_template(text)) == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        ("all", (Literal("all"),)),
        ("{a}", (Field("a"),)),
        ("{{a}}", (Literal("{a}"),)),
        ("{{{a}}}", (Literal("{"), Field("a"), Literal("}"))),
        ("{ pad( bib , 5 ) }", (Pad("bib", 5),)),
        ("BIB:{pad(bib,5)}__{name}", (Literal("BIB:"), Pad("bib", 5), Literal("__"), Field("name"))),
        ("{tenant}_{hash(device,16)}", (Field("tenant"), Literal("_"), Hash("device", 16))),
        ("{time(t,'yyyy-MM')}{seq(3)}", (Time("t", "yyyy-MM"), Sequence(3))),
        ("{a.b}{Größe}", (Field("a.b"), Field("Größe"))),
        ("{`9 (a)`}_{hash(`x``y`,4)}", (Field("9 (a)"), Literal("_"), Hash("x`y", 4))),
        ("{`bib`}", (Field("bib"),)),
        ("{hash(lower(mail),16)}", (Hash(Lower("mail"), 16),)),
        ("{hash( concat(a, '_', pad(b,3)) ,16)}", (Hash(Concat(("a", Literal("_"), Pad("b", 3))), 16),)),
        ("{prefix(reverse(a),2)}", (Prefix(Reverse("a"), 2),)),
        ("{each(tags)}{each(tags,';')}", (Each("tags"), Each("tags", ";"))),
        ("{each(tags,'}''')}", (Each("tags", "}'"),)),
        ("{time(t,'YYYY-Www')}", (Time("t", "YYYY-Www"),)),
        ("{Customer ID}_{pad(Line No,3)}", (Field("Customer ID"), Literal("_"), Pad("Line No", 3))),
    ],
)
def test_text_to_parts(text: str, parts: tuple[Part, ...]) -> None:
    assert parse_template(text) == parts


@pytest.mark.parametrize(
    ("text", "under", "says"),
    [
        ("{eventt}_{bib}", "eventt", "did you mean 'event'"),
        ("{event}_{pad(bibb,5)}", "bibb", "did you mean 'bib'"),
        ("{event}_{paad(bib,5)}", "paad", "did you mean 'pad'"),
        ("{zzz}", "zzz", "the data has: bib, event"),
        ("{event", "{", "write {{ for a brace"),
        ("event}", "}", "write }} for a brace"),
        ("{event}_{}", "}", "empty braces"),
        ("{event}_{  }", " ", "empty braces"),
        ("{event}/{bib}", "/", "not allowed in a key"),
        ("{event}{{#x?", "#", "not allowed in a key"),
        ("{event}/{{{{{{{{", "/", "not allowed in a key"),
        ("x_{event}_\x01", "\x01", "not allowed in a key"),
        ("{event}_{pad(bib)}", "p", "pad takes (property, integer)"),
        ("{pad(5,bib)}", "p", "pad takes (property, integer)"),
        ("{pad(bib,0)}", "0", "takes 1 to 38"),
        ("{pad(bib,39)}", "3", "takes 1 to 38"),
        ("{hash(bib,1)}", "1", "takes 2 to 10000"),
        ("{hash(bib,10001)}", "1", "takes 2 to 10000"),
        ("{time(bib,'yyyyQQ')}", "'", "none of yyyy MM dd HH mm ss YYYY ww"),
        ("{time(bib,'yyyy/MM')}", "'", "not allowed in a key"),
        ("{time(bib,'HH')}", "'", "is not a period"),
        ("{pad(bib;5)}", "p", "pad takes"),
        ("{concat(event,bib)}", "concat", "concat stands inside another function only"),
        ("{hash(hash(bib,3),5)}", "hash(bib", "hash makes no text for hash"),
        ("{hash(lower(bibb),5)}", "bibb", "did you mean 'bib'"),
        ("{pad(lower(bib),5)}", "p", "pad takes (property, integer)"),
        ("{lower(bib,5)}", "l", "lower takes (source)"),
        ("{hash_prefix(bib,65)}", "6", "takes 1 to 64"),
        ("{each(bib,'')}", "'", "empty text"),
        ("{hash(concat(bib,''),4)}", "'", "empty text"),
        ("{`bob`}", "`bob`", "did you mean 'bib'"),
        ("{time(bib,'YYYY-MM')}", "'", "is not a period"),
        ("{event!}_", "event!", "did you mean 'event'"),
        ("{pad(bib,5}", "", "cannot read"),
        ("{9}", "9", "cannot read"),
    ],
)
def test_mistakes_are_pointed_at(text: str, under: str, says: str) -> None:
    with pytest.raises(TemplateError) as caught:
        parse_template(text, known=["event", "bib"], where="row_key")
    error = caught.value
    source, carets = error.excerpt.split("\n")
    assert says in str(error)
    assert error.where == "row_key"
    assert error.exit_code == 2
    place = carets.index("^")
    assert source[2:] == text.replace("\n", " ")
    assert source[place:].startswith(under)
    assert 1 <= len(error.lines()) <= 4


def test_a_number_of_ten_thousand_digits_is_an_error_and_not_a_crash() -> None:
    with pytest.raises(TemplateError, match="takes 1 to 38"):
        parse_template("{pad(bib," + "9" * 10_000 + ")}")


@pytest.mark.parametrize("text", ["{" + "lower(" * 9_000 + "a" + ")" * 9_000 + "}", "{" + "lower(" * 9_000])
def test_calls_that_are_nested_too_deeply_are_an_error_and_not_a_crash(text: str) -> None:
    with pytest.raises(TemplateError, match=r"cannot read|never closed"):
        parse_template(text)


@given(st.text(alphabet="{}()',_ab9` /pdy", max_size=24))
def test_any_text_is_parts_or_an_error_with_its_place(text: str) -> None:
    try:
        parts = parse_template(text, known=["a", "b"])
    except TemplateError as error:
        assert "^" in error.excerpt
    else:
        assert parse_template(format_template(parts)) == parts


def test_separators_are_what_follows_a_variable_part() -> None:
    assert separators(parse_template("BIB:{pad(bib,5)}__{name}-x")) == "-_"
    assert separators(parse_template("all")) == ""
    assert separators(parse_template("A{a}")) == ""


def test_decoder_cuts_between_escapes_only() -> None:
    parts = parse_template("{a}0{b}")
    match = decoder(parts).fullmatch("x~0030y0z")
    assert match is not None
    assert match.groups() == ("x~0030y", "z")
    fixed = decoder(parse_template("{pad(a,3)}{pad(b,2)}")).fullmatch("00712")
    assert fixed is not None
    assert fixed.groups() == ("007", "12")


def test_scheme_text_and_identity() -> None:
    main = parse_key("{event}", "BIB:{pad(bib,5)}", known=["event", "bib"])
    inside = IndexRow(parse_key("{event}", "AGE:{age}"))
    outside = IndexRow(parse_key("", "{age}"), "pointer")
    scheme = KeyScheme(main, (inside, outside))
    assert scheme.text == "{event} | BIB:{pad(bib,5)} + {event} | AGE:{age} (full) + '' | {age} (pointer)"
    assert (scheme.same_partition(inside), scheme.same_partition(outside)) == (True, False)
    assert scheme.rows_per_entity == 3
    assert [key for key, _ in scheme.each_key()] == [main, inside.key, outside.key]
    assert main.properties == ("event", "bib")
    assert main.encode({"event": "A/B", "bib": 7}, {}) == ("A~002FB", "BIB:00007")
    with pytest.raises(ValueError, match="copy is"):
        IndexRow(main, "half")
    with pytest.raises(TemplateError, match=re.escape("design.yaml, RowKey")):
        parse_key("{event}", "{bob}", known=["event", "bib"], where="design.yaml")


def test_a_key_without_parts_is_the_empty_text() -> None:
    import polars as pl

    from pkadvisor.design.keys.scheme import key_expression

    assert Key((), (Field("a"),)).encode({"a": "x"}, {}) == ("", "x")
    frame = pl.DataFrame({"a": ["x", "y"]})
    assert frame.with_columns(key_expression((), {}).alias("k")).get_column("k").to_list() == ["", ""]


def test_a_column_is_named_as_in_its_file_or_as_it_is_read() -> None:
    for text in ("{Airport Name}", "{`Airport Name`}", "{Airport_Name}"):
        assert [part.properties for part in parse_template(text, known=["Airport_Name"])] == [("Airport_Name",)]

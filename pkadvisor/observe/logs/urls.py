"""Table service URLs in bulk: shapes of URLs, percent-decoding of distinct values, keys out of addresses and filters.

A million URLs have a few shapes. ``blanked`` takes the literals out with polars, ``UrlShape.of`` reads each distinct
shape once in Python.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote, unquote_plus

from pkadvisor.lazy import pl
from pkadvisor.table.odata import normalise
from pkadvisor.values import dataclass

_HEAD = re.compile(r"^(?:[A-Za-z][A-Za-z0-9+.-]*://\s*([^/?#]*))?(/?[^?]*)(?:\?(.*))?$", re.S)
_NAME = re.compile(r"^[A-Za-z][A-Za-z0-9]{2,62}$")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_LOCAL_HOST = re.compile(r"^(?:localhost|\[[0-9a-fA-F:]+\]|[0-9.]+|[^.:]+)(?::[0-9]+)?$")

FILTER_OPTION: Final = r"[?&](?:\$|%24)filter=([^&#]*)"
_SPACE: Final = r"(?:%20|\+|\s)"
_QUOTED: Final = r"'((?:[^']|'')*)'"
_PK_EQUAL: Final = rf"PartitionKey{_SPACE}+eq{_SPACE}+{_QUOTED}"
_PK_BEGINS: Final = "PartitionKey%20eq%20'"
_PK_EQUAL_SHAPE = re.compile(r"(?:^|[\s(])PartitionKey eq \{p[0-9]+:String\}(?:$|[\s)])")
_NO_CONJUNCTION = re.compile(r"(?:^|[\s)(])(?:or|not)(?:$|[\s(])")


def html_decoded(text: str) -> str:
    """Character references that end with ``;`` replaced; others (``&copy=1`` in a query string) stay as they are."""
    return _ENTITY.sub(lambda match: html.unescape(match.group()), text)


def map_distinct(values: pl.Series, needle: str, change: Callable[[str], str]) -> pl.Series:
    """``change`` applied to the distinct values that contain ``needle``; the others are untouched."""
    hit = values.str.contains(needle, literal=True)
    if not hit.any():
        return values
    old = values.filter(hit).unique()
    return values.replace(old, pl.Series([change(text) for text in old], dtype=pl.String))


@lru_cache(maxsize=1)
def _ascii_escapes() -> tuple[list[str], list[str]]:
    pairs = {form % code: chr(code) for code in range(128) for form in ("%%%02X", "%%%02x")}
    return list(pairs), list(pairs.values())


def decoded(values: pl.Series) -> pl.Series:
    """Percent-decoded as UTF-8 (undecodable bytes become U+FFFD), ``+`` untouched: for paths.

    One pass over all escapes of ASCII characters is exact for texts that hold no other escape; the distinct texts that
    do go through ``urllib.parse.unquote``.
    """
    hit = values.str.contains("%", literal=True)
    if not hit.any():
        return values
    some = values.filter(hit)
    escapes, texts = _ascii_escapes()
    plain = some.str.replace_many(escapes, texts)
    wide = some.str.contains("%[89A-Fa-f][0-9A-Fa-f]")
    if wide.any():
        exact = map_distinct(some.filter(wide), "%", unquote)
        plain = pl.select(pl.when(wide).then(spread(exact, wide)).otherwise(plain))[:, 0]
    if len(some) == len(values):
        return plain
    return pl.select(pl.when(hit).then(spread(plain, hit)).otherwise(values))[:, 0]


def decoded_literals(values: pl.Series) -> pl.Series:
    """Literals of a query string: ``+`` is a blank, percent-decoded, ``''`` is one quote."""
    values = decoded(values.str.replace_all("+", " ", literal=True))
    return values.str.replace_all("''", "'", literal=True)


def plain_quotes(urls: pl.Series) -> pl.Series:
    """The texts with ``%27`` written as ``'``."""
    if not urls.str.contains("%27", literal=True).any():
        return urls
    return urls.str.replace_all("%27", "'", literal=True)


def blanked(url: pl.Expr) -> pl.Expr:
    """URLs (see ``plain_quotes``) with every quoted literal, also several in a row, replaced by one ``'``."""
    return url.str.replace_all(r"(?:'[^']*')+", "'")


def coarse(shapes: pl.Series) -> pl.Series:
    """Blanked URLs without what varies between requests of one kind: numbers in filters, tokens, signatures."""
    start = r"((?:%20|%28|\+|\s|\()-?)"
    return (
        # The replacements keep the type: a double, an Int64 by its length; the suffix L stays by itself.
        shapes.str.replace_all(start + r"[0-9]+(?:\.[0-9]+)?[eE][+-]?[0-9]+", "${1}0.5")
        .str.replace_all(start + r"[0-9]+\.[0-9]+", "${1}0.5")
        .str.replace_all(start + r"[0-9]{10,}", "${1}9999999999")
        .str.replace_all(start + r"[0-9]{1,9}([^0-9]|$)", "${1}0${2}")
        .str.replace_all(r"(Next(?:PartitionKey|RowKey)=)[^&\n]*", "${1}")
        .str.replace_all(
            r"([?&])(?:timeout|api-version|s[prtveigk]|spr|sip|tn|[se][pr]k|sig|skoid|sktid|ske|skv)=[^&\n]*", "${1}"
        )
    )


def keys_of_address(urls: pl.Series) -> tuple[pl.Series, pl.Series]:
    """PartitionKey and RowKey of ``Table(PartitionKey='..',RowKey='..')``, decoded; null where a URL names none."""
    plain = urls.str.replace_all("%27", "'", literal=True)

    def key(name: str) -> pl.Series:
        raw = plain.str.extract(rf"[(,](?:%20|\s)*{name}={_QUOTED}")
        return decoded(raw).str.replace_all("''", "'", literal=True)

    return key("PartitionKey"), key("RowKey")


def keys_are_encoded(keys: pl.DataFrame, others: pl.DataFrame, plain: pl.DataFrame) -> bool:
    """Whether object keys are percent-encoded, by what the addresses of the same requests say.

    Without such requests, whether ``others`` hold nothing that encoding replaces, and what they stand for (``plain``)
    may be a key: one that an application has encoded itself mostly stands for text that may not.
    """
    if not keys.height:
        return bool(
            others.select(pl.all_horizontal(pl.all().str.contains(_ENCODED).fill_null(True)).all()).item()
            and not plain.select(pl.any_horizontal(pl.all().str.contains(_NO_KEY)).any()).item()
        )
    both = keys.filter((pl.col("pk") != pl.col("address_pk")) | (pl.col("rk") != pl.col("address_rk")))
    pk, rk, address_pk, address_rk = both.select("pk", "rk", "address_pk", "address_rk").get_columns()
    return bool(both.height and (address_pk.eq(decoded(pk)) & address_rk.eq(decoded(rk))).all())


_ENCODED: Final = "^(?:[!$&-;=@-Z_a-z~]|%[0-9A-Fa-f]{2})*$"
_NO_KEY: Final = r"[/\\#?\x00-\x1f\x7f-\x9f\x{FFFD}]"


def before(text: pl.Expr, place: pl.Expr) -> pl.Expr:
    """The bytes before a place (all where it is null), which has to be the border of a character."""
    # Slices of bytes share the text; those by characters count through it, and splitting copies.
    return text.cast(pl.Binary).bin.slice(0, place).cast(pl.String)


def after(text: pl.Expr, place: pl.Expr) -> pl.Expr:
    """The bytes from a place on; null where it is null."""
    return text.cast(pl.Binary).bin.slice(place).cast(pl.String)


def filters_of(urls: pl.Series) -> pl.Series:
    """The raw text of ``$filter`` of URLs with a query string; null without one."""
    # Searching and slicing is many times as fast as the regular expression, which decides what they cannot.
    frame = urls.to_frame("u").select("u", place=pl.col("u").str.find("filter=", literal=True))
    frame = frame.select(
        head=before(pl.col("u"), pl.col("place")), rest=after(pl.col("u"), pl.col("place") + len("filter="))
    )
    frame = frame.with_columns(end=pl.col("rest").str.find("&", literal=True))
    raw, plain = frame.select(
        raw=before(pl.col("rest"), pl.col("end")),
        plain=pl.col("head").str.ends_with("?$") | pl.col("head").str.ends_with("?%24"),
    ).get_columns()
    unclear = ~plain & raw.is_not_null() | raw.str.contains("#", literal=True).fill_null(False)
    if unclear.any():
        column = spread(urls.filter(unclear).str.extract(FILTER_OPTION), unclear)
        return pl.select(pl.when(unclear).then(column).otherwise(raw))[:, 0]
    return raw


def pk_of_filter(filters: pl.Series) -> pl.Series:
    """The literal of the first ``PartitionKey eq '..'`` of percent-encoded filters, decoded; else null.

    Quotes must be plain, see ``plain_quotes``.
    """
    halves = pl.col("f").str.splitn("'", 3).struct
    pk, usual = (
        filters.to_frame("f")
        .select(
            halves.field("field_1"),
            usual=(halves.field("field_0") == "PartitionKey%20eq%20")
            & ~halves.field("field_2").str.starts_with("'").fill_null(True),
        )
        .get_columns()
    )
    unusual = (~usual & filters.is_not_null()).fill_null(False)
    if unusual.any():
        column = spread(filters.filter(unusual).str.extract(_PK_EQUAL), unusual)
        pk = pl.select(pl.when(unusual).then(column).otherwise(pk))[:, 0]
    return decoded_literals(pk)


def spread(values: pl.Series, mask: pl.Series) -> pl.Series:
    """A column as long as ``mask`` with ``values`` in order where it is true and nulls elsewhere."""
    if not len(values):
        return pl.Series([None], dtype=values.dtype).new_from_index(0, len(mask))
    place = pl.select(pl.when(mask).then(mask.cum_sum() - 1))[:, 0]
    return values.gather(place)


_FORMS: Final = ("", "(PartitionKey=',RowKey=')", "(PartitionKey=')", "(RowKey=',PartitionKey=')", "()")


def forms_of_addresses(named: pl.Series) -> pl.Series:
    """Which keys the text behind the first ``(`` of a URL names, as a place in ``_FORMS``; null: no bracket."""
    frame = named.to_frame("n").select(
        "n",
        pk_first=pl.col("n").str.starts_with("PartitionKey="),
        has_rk=pl.col("n").str.contains("RowKey=", literal=True),
    )
    has_pk = pl.lit(False)
    if frame.select((~pl.col("pk_first") & pl.col("has_rk")).any()).item():
        has_pk = pl.col("n").str.contains("PartitionKey=", literal=True)
    with_rk = pl.when("pk_first").then(1).when(has_pk).then(3).otherwise(4)
    without = pl.when("pk_first").then(2).otherwise(4)
    form = pl.when(pl.col("pk_first").is_null()).then(0).when("has_rk").then(with_rk).otherwise(without)
    return frame.select(form.cast(pl.UInt8))[:, 0]


def plain_shape(head: pl.Expr, form: pl.Series) -> pl.Expr:
    """The shape of URLs without a query string: what is before the first ``(``, and a standard form of what follows."""
    return pl.concat_str(head, pl.Series([_FORMS[place] for place in form], dtype=pl.String))


def url_queries(urls: pl.Series) -> pl.DataFrame:
    """Of URLs with a query string: raw ``filter``, the decoded ``pk`` that it pins, and a hash of the shape, ``kind``.

    ``plain`` is the URL with plain quotes: what ``shapes_of`` needs. Shapes of the usual URLs (at most two literals,
    no quote in them) are hashed by what is around the literals; the others are blanked.
    """
    filters = filters_of(urls)
    plain = plain_quotes(urls)
    piece = [f"p{i}" for i in range(5)]
    first, pk, second, _, last = (pl.col(name) for name in piece)
    frame = plain.str.splitn("'", 5).struct.rename_fields(piece).struct.unnest()
    frame = frame.select(
        *piece,
        usual=(
            (second.is_not_null() | pk.is_null())
            & (last.is_not_null() | pl.col("p3").is_null())
            & (second.fill_null(" ") != "")
            & ~last.fill_null("").str.contains("'", literal=True)
        ),
    )
    usual = frame.get_column("usual")
    kind = frame.select(first.hash(4) ^ second.hash(5) ^ last.hash(6))[:, 0]
    if not usual.all():
        others = plain.filter(~usual)
        hashes = pl.select(blanked(pl.lit(others)).hash(7))[:, 0]
        kind = pl.select(pl.when(usual).then(kind).otherwise(spread(hashes, ~usual)))[:, 0]
    if plain is urls:
        # The first quote of the URL is the one that opens the literal of a filter which begins with the PartitionKey.
        begins = first.str.ends_with("?$filter=PartitionKey%20eq%20") & pl.lit(filters).str.starts_with(_PK_BEGINS)
        whole = second.is_not_null() & ((second != "") | pl.col("p3").is_null()) & ~pk.str.contains("[&#]")
        raw, sure = frame.select(pk, sure=(begins & whole).fill_null(False)).get_columns()
        unsure = ~sure & filters.is_not_null()
        pks = decoded_literals(pl.select(pl.when(sure).then(raw))[:, 0])
        if unsure.any():
            others = spread(pk_of_filter(filters.filter(unsure)), unsure)
            pks = pl.select(pl.when(unsure).then(others).otherwise(pks))[:, 0]
    else:
        pks = pk_of_filter(plain_quotes(filters))
    return pl.DataFrame({"plain": plain, "kind": kind, "filter": filters, "pk": pks})


def shapes_of(queries: pl.DataFrame) -> pl.Series:
    """The blanked URLs of rows of ``url_queries``."""
    return queries.select(blanked(pl.col("plain")))[:, 0]


def pins_partition(shape: str) -> bool:
    """Whether a decoded filter shape is a conjunction with ``PartitionKey eq``."""
    return _PK_EQUAL_SHAPE.search(shape) is not None and _NO_CONJUNCTION.search(shape) is None


@dataclass(frozen=True, slots=True)
class UrlShape:
    """What a URL without its literals says.

    ``kind``: ``batch``, ``address`` (both keys), ``partition`` (address with a PartitionKey alone), ``set``
    (``Table()``), ``collection`` (``Table``), ``definition`` (tables, policies, service), ``other``. ``account``: in
    lower case, empty where the URL names none.
    """

    kind: str
    table: str = ""
    shape: str = ""
    select: str = ""
    top: int | None = None
    continued: bool = False
    account: str = ""

    @classmethod
    def of(cls, blank: str) -> UrlShape:
        """Read one blanked URL, with or without scheme and host."""
        match = _HEAD.match(blank.strip())
        if match is None:
            return cls("other")
        host, path, query = match.groups()
        parts = [part for part in path.split("/") if part]
        options = _options(query or "")
        if not parts or "comp" in options or "restype" in options:
            return cls("definition")
        local = host is not None and _LOCAL_HOST.match(host) is not None
        account = _account(host) if host and not local else ""
        if len(parts) == 2 and (local or host is None):
            account, parts = unquote(parts[0]).lower(), parts[1:]
        elif len(parts) == 1 and local:
            return cls("definition")
        if len(parts) != 1:
            return cls("other")
        name, bracket, address = unquote(parts[0]).partition("(")
        name = name.strip()
        if name == "$batch":
            return cls("batch", account=account)
        if name.lower() == "tables":
            return cls("definition")
        if not _NAME.match(name):
            return cls("other")
        top = options.get("$top", "").strip()
        shape = normalise(options.get("$filter", "").replace("'", "''"))[0]
        select = ",".join(sorted(part.strip() for part in options.get("$select", "").split(",") if part.strip()))
        kind = "collection"
        if bracket:
            has_pk, has_rk = "PartitionKey=" in address, "RowKey=" in address
            kind = "address" if has_pk and has_rk else "partition" if has_pk else "set"
        if kind == "partition":
            rest = options.get("$filter", "").replace("'", "''")
            shape = normalise(f"PartitionKey eq '' and ({rest})" if rest else "PartitionKey eq ''")[0]
        return cls(
            kind,
            name,
            shape,
            select,
            int(top) if top.isascii() and top.isdigit() and len(top) < 9 else None,
            "NextPartitionKey" in options or "NextRowKey" in options,
            account,
        )


def _account(host: str) -> str:
    """The storage account of ``ACCOUNT.table.core.windows.net`` and the like, also of its second endpoint for reads."""
    return host.split(".", 1)[0].lower().removesuffix("-secondary")


def _options(query: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        options.setdefault(unquote_plus(name), unquote_plus(value))
    return options


_LITERALS = re.compile(r"(?:'[^']*')+")
_ADDRESS_KEY = {
    name: re.compile(rf"[(,](?:%20|\s)*{name}='((?:[^']|'')*)'") for name in ("PartitionKey", "RowKey")
}  # fmt: skip
_FILTER_TEXT = re.compile(FILTER_OPTION)
_PK_TEXT = re.compile(_PK_EQUAL)


def blank_text(url: str) -> str:
    """``blanked`` for one URL."""
    return _LITERALS.sub("'", url.replace("%27", "'"))


def address_keys(url: str) -> tuple[str | None, str | None]:
    """``keys_of_address`` for one URL."""
    plain = url.replace("%27", "'")
    matches = [pattern.search(plain) for pattern in _ADDRESS_KEY.values()]
    pk, rk = (None if f is None else unquote(f[1]).replace("''", "'") for f in matches)
    return pk, rk


def raw_filter(url: str) -> str | None:
    """The raw text of ``$filter`` of one URL."""
    match = _FILTER_TEXT.search(url)
    return match[1] if match else None


def pk_of_text(raw: str) -> str | None:
    """``pk_of_filter`` for one filter."""
    match = _PK_TEXT.search(raw.replace("%27", "'"))
    return unquote(match[1].replace("+", " ")).replace("''", "'") if match else None


_PK_PLAIN = re.compile(r"(?:^|[\s(])PartitionKey eq '((?:[^']|'')*)'")


def pk_of_plain(text: str) -> str | None:
    """The literal of the first ``PartitionKey eq '..'`` of a decoded filter."""
    match = _PK_PLAIN.search(text)
    return match[1].replace("''", "'") if match else None

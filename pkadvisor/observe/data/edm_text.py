"""Edm types of text: which type a column of strings has, and how its strings become typed polars values.

The counts are exact over all values, not a guess from the first rows. What counts as which type:

| type | text |
| --- | --- |
| Int32, Int64 | ``0``, ``-7``, ``42``; never with leading zeros or a plus sign |
| Double | ``17850.0``, ``.5``, ``1e-3``; no leading zeros; whole numbers beyond Int64 stay String |
| Boolean | ``true``, ``False`` |
| DateTime | ISO 8601 date, or date and time with ``T`` or a space; zone optional; impossible dates stay String |
| Guid | 8-4-4-4-12 hexadecimal digits in lower case: as a Guid, others would lose their case, which keys may hold |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final

from pkadvisor.lazy import pl
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

MISSING_MARKERS: Final = ("", "NA", "N/A", "null", "NULL", "NaN", "–")
"""Texts that mean "no value" in a column whose other values are all of one type other than String."""

_INTEGER = r"^(?:0|-?[1-9][0-9]{0,18})$"
_NUMBER = r"^-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?$"
_WHOLE = r"^-?[0-9]+$"
_BOOLEAN = r"^(?i:true|false)$"
DATE: Final = r"[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_MINUTE = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]"
CLOCK: Final = rf"{_MINUTE}:[0-5][0-9]"
_ZONE = r"(?:Z|[-+][0-9]{2}:?[0-9]{2})"
_DATETIME = rf"^{DATE}(?:[T ](?:{_MINUTE}|{CLOCK}(?:\.[0-9]{{1,9}})?){_ZONE}?)?$"
_DATETIME_ZONED = rf"T.*{_ZONE}$|.* .*{_ZONE}$"
_GUID = r"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"
_GUID_AS_WRITTEN = _GUID.replace("A-F", "")
_MARKER = r"^(?:|NA|N/A|null|NULL|NaN|–)$"
# One look that lets most text go by: what fails here is String and no marker.
_WORTH_A_LOOK = r"^(?:[-.0-9]|(?i:true|false)$|NA$|N/A$|null$|NULL$|NaN$|–$|$|[0-9a-fA-F]{8}-)"
_DOUBLE_STATED = rf"{_NUMBER}|^(?:NaN|-?Infinity|-?INF)$"
_BASE64 = r"^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$"


def polars_type(edm: EdmType) -> pl.DataType:
    """The canonical polars type of an Edm type (see ``pkadvisor.table.edm``)."""
    return {
        EdmType.STRING: pl.String(),
        EdmType.GUID: pl.String(),
        EdmType.INT32: pl.Int32(),
        EdmType.INT64: pl.Int64(),
        EdmType.DOUBLE: pl.Float64(),
        EdmType.BOOLEAN: pl.Boolean(),
        EdmType.DATETIME: pl.Datetime("us", "UTC"),
        EdmType.BINARY: pl.Binary(),
    }[edm]


def edm_of(spelling: str) -> EdmType | None:
    """The type behind ``Int32`` or ``Edm.Int32``, in any case; None if there is no such type."""
    plain = spelling.strip().removeprefix("Edm.").removeprefix("edm.").lower()
    return next((edm for edm in EdmType if edm.lower() == plain), None)


def datetime_expr(text: pl.Expr) -> pl.Expr:
    """DateTime texts (as matched above) as Datetime("us", "UTC"); a time without zone is taken as UTC.

    Digits beyond microseconds are cut; impossible dates become null.
    """

    def part(offset: int) -> pl.Expr:
        return text.str.slice(offset, 2).cast(pl.Int64, strict=False).fill_null(0)

    fraction = text.str.extract(r"\.([0-9]{1,6})").str.pad_end(6, "0").cast(pl.Int64, strict=False).fill_null(0)
    zone = text.str.extract(r"([-+][0-9]{2}:?[0-9]{2})$")
    # A date alone also ends in "-dd", never in a sign and four digits after a time.
    zone = pl.when(text.str.len_bytes() > 10).then(zone)
    minutes = zone.str.slice(1, 2).cast(pl.Int64, strict=False) * 60 + zone.str.slice(-2, 2).cast(
        pl.Int64, strict=False
    )
    minutes = pl.when(zone.str.starts_with("-")).then(-minutes).otherwise(minutes).fill_null(0)
    with_seconds = pl.when(text.str.slice(16, 1) == ":").then(part(17)).otherwise(0)
    seconds = part(11) * 3600 + part(14) * 60 + with_seconds - minutes * 60
    day = text.str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    micros = day.cast(pl.Int64) * 86_400_000_000 + seconds * 1_000_000 + fraction
    return micros.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def typed_expr(name: str, source: pl.DataType, edm: EdmType, *, markers_missing: bool) -> pl.Expr:
    """Column ``name`` of polars type ``source`` in the canonical type of ``edm``.

    Values that do not fit become null, so ask for a type only after counting. With ``markers_missing`` the markers
    (``NaN`` above all) are null.
    """
    value = pl.col(name)
    target = polars_type(edm)
    if source == target and edm is not EdmType.GUID and not (markers_missing and edm is EdmType.STRING):
        return value
    if source != pl.String():
        return value.cast(target, strict=False)
    if edm is EdmType.STRING:
        # Only where a design declares so: markers among texts that look like numbers stay missing, as they are noted.
        return pl.when(~value.is_in(MISSING_MARKERS)).then(value).alias(name) if markers_missing else value
    if edm is EdmType.DOUBLE:
        plain = value if markers_missing else value.str.replace("^(-?)(?:Infinity|INF)$", "${1}inf")
        number = plain.cast(pl.Float64, strict=False)
        return number.fill_nan(None) if markers_missing else number
    if edm is EdmType.BOOLEAN:
        lower = value.str.to_lowercase()
        return pl.when(lower == "true").then(True).when(lower == "false").then(False).alias(name)
    if edm is EdmType.DATETIME:
        return datetime_expr(value).alias(name)
    if edm is EdmType.GUID:
        return (
            pl.when(value.is_in(MISSING_MARKERS)).then(None).otherwise(value.str.to_lowercase()).alias(name)
            if markers_missing
            else value.str.to_lowercase()
        )
    if edm is EdmType.BINARY:
        return value.str.decode("base64", strict=False)
    return value.cast(target, strict=False)


@dataclass(slots=True)
class TypeCounts:
    """How many values of one column have which type; filled chunk by chunk, in any order.

    ``inferred`` are types read off the text, ``stated`` types that the file itself declares.
    ``markers`` are texts that may mean "missing", ``zoneless`` are DateTime texts without a zone.
    """

    inferred: Counter[EdmType] = field(default_factory=Counter)
    stated: Counter[EdmType] = field(default_factory=Counter)
    markers: int = 0
    zoneless: int = 0
    guess: EdmType | None = None

    def state(self, counts: Mapping[EdmType, int]) -> None:
        """Add declared types."""
        self.stated += Counter(counts)

    def _infer(self, edm: EdmType, n: int) -> None:
        if n:
            self.inferred[edm] += n

    def infer(self, values: pl.Series, *, temporal_only: bool = False) -> None:
        """Count a chunk of texts; ``temporal_only`` looks for DateTime and Guid only (texts of a JSON file)."""
        rest = values.drop_nulls()
        if temporal_only:
            rest = self._take(rest, (EdmType.DATETIME, EdmType.GUID))
            self._infer(EdmType.STRING, len(rest))
            return
        order = [EdmType.INT32, EdmType.DOUBLE, EdmType.DATETIME, EdmType.BOOLEAN, EdmType.GUID]
        guess = self.guess
        if guess is None or guess is EdmType.STRING:
            looked = rest.str.contains(_WORTH_A_LOOK)
            text = len(rest) - int(looked.sum() or 0)
            self._infer(EdmType.STRING, text)
            if text:
                rest = rest.filter(looked)
        elif guess in order:
            order.remove(guess)
            order.insert(0, guess)
        rest = self._take(rest, order[:1])
        if len(rest):
            marked = rest.str.contains(_MARKER)
            self.markers += int(marked.sum() or 0)
            rest = self._take(rest.filter(~marked), order[1:])
        self._infer(EdmType.STRING, len(rest))
        if self.inferred:
            top = max(self.inferred, key=lambda edm: (self.inferred[edm], edm))
            self.guess = EdmType.INT32 if top is EdmType.INT64 else top

    def _take(self, values: pl.Series, order: Iterable[EdmType]) -> pl.Series:
        """Count the values of the types in ``order``, one after the other; returns those that fit none."""
        for edm in order:
            if not len(values):
                break
            if edm is EdmType.INT32:
                fits = values.str.contains(_INTEGER)
                numbers = values.filter(fits).cast(pl.Int64, strict=False)
                beyond = numbers.null_count()
                if beyond:
                    fits = fits & values.cast(pl.Int64, strict=False).is_not_null()
                small = int(numbers.is_between(-(2**31), 2**31 - 1).sum() or 0)
                self._infer(EdmType.INT32, small)
                self._infer(EdmType.INT64, len(numbers) - beyond - small)
            elif edm is EdmType.DOUBLE:
                fits = values.str.contains(_NUMBER)
                count = int(fits.sum() or 0)
                # Whole numbers among them were either counted before or belong to the integers still to come.
                whole = values.str.contains(_WHOLE) if count else fits
                fits = fits & ~whole
                self._infer(EdmType.DOUBLE, int(fits.sum() or 0))
            elif edm is EdmType.DATETIME:
                fits = values.str.contains(_DATETIME)
                if fits.any():
                    fits = _fit(values, EdmType.DATETIME)
                    count = int(fits.sum() or 0)
                    self._infer(EdmType.DATETIME, count)
                    self.zoneless += count - int((fits & values.str.contains(_DATETIME_ZONED)).sum() or 0)
            else:
                fits = values.str.contains(_BOOLEAN if edm is EdmType.BOOLEAN else _GUID_AS_WRITTEN)
                self._infer(edm, int(fits.sum() or 0))
            values = values.filter(~fits)
        return values


def fits_expr(text: pl.Expr, edm: EdmType, *, stated: bool = False) -> pl.Expr:
    """Whether a text is a value of a type that somebody declares: numbers may have leading zeros, but Doubles of which
    the file itself has ``stated`` the type."""
    if edm is EdmType.STRING:
        return text.is_not_null()
    if edm.integer:
        number = text.cast(pl.Int64, strict=False)
        limit = 2**31 if edm is EdmType.INT32 else 2**63
        return (text.str.contains(_WHOLE) & number.is_between(-limit, limit - 1)).fill_null(False)
    if edm is EdmType.DATETIME:
        return text.str.contains(_DATETIME) & datetime_expr(text).is_not_null()
    patterns = {
        EdmType.DOUBLE: _DOUBLE_STATED if stated else rf"{_DOUBLE_STATED}|{_WHOLE}|^-?0[0-9]+\.[0-9]*$",
        EdmType.BOOLEAN: _BOOLEAN,
        EdmType.GUID: _GUID,
        EdmType.BINARY: _BASE64,
    }
    return text.str.contains(patterns[edm])


def _fit(values: pl.Series, edm: EdmType) -> pl.Series:
    """Which texts are values of the type that the file states."""
    return values.to_frame("t").select(fits_expr(pl.col("t"), edm, stated=True)).to_series()


def count_stated(values: pl.Series, edm: EdmType) -> dict[EdmType, int]:
    """How many of the texts are of the type that the file states; the others count as String."""
    present = values.drop_nulls()
    if edm is EdmType.STRING:
        return {edm: len(present)}
    fits = int(_fit(present, edm).sum() or 0)
    return {edm: fits, EdmType.STRING: len(present) - fits}

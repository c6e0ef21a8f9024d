"""One table of a profile: its key values replaced by tokens, its workload thinned, and two of a table merged."""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Mapping
from dataclasses import replace

from pkadvisor.lazy import pl
from pkadvisor.observe.minutes import MinuteSeries, added, bounded
from pkadvisor.observe.profile.data_profile import DataProfile
from pkadvisor.observe.profile.profile import canonical_column, merge_data
from pkadvisor.observe.workload import REQUESTS, SPAN, BusyRequests, QueryClass, Rate, Transaction, Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.values import dataclass

TOKEN_LETTERS = 12
_CAME = "_came"
"""The column with the second since 1970 in which a logged request came."""
_PUNCTUATION = "_;|!-:~."
_SHOWN = (EdmType.DATETIME, EdmType.BOOLEAN)
_SUFFIXES = (".from", ".until")
INSTANCES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class TableProfile:
    """One table or kind: its data, its logged workload, and the seconds that the log covers."""

    table: str
    kind: str | None
    data: DataProfile | None
    workload: Workload | None
    covered_s: float


def seed_of(salt: bytes) -> int:
    """The seed of row hashes: without the salt nobody can test a guess against them."""
    return int.from_bytes(hashlib.sha256(b"rows" + salt).digest()[:8], "big") if salt else 0


def token(value: str, key: bytes) -> str:
    """The token of a canonical text: letters and the digits 2 to 7, then the punctuation that the text holds."""
    digest = hashlib.blake2b(value.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
    letters = base64.b32encode(digest).decode("ascii").lower()[:TOKEN_LETTERS]
    return letters + "".join(mark for mark in _PUNCTUATION if mark in value)


def key_check(key: bytes) -> str:
    """What tells keys apart and does not tell the key."""
    return hashlib.sha256(b"check" + key).hexdigest()[:12]


OPEN_KEY = hashlib.sha256(b"").digest()
"""The key where no salt file was given."""


def hide_table(table: TableProfile, key: bytes, ordered: frozenset[str]) -> TableProfile:
    data = table.data
    types = data.types if data is not None else {}
    hidden = frozenset(n for n, e in types.items() if e not in _SHOWN and not (n in ordered and e.numeric))
    if data is not None:
        frame = data.sample.with_columns(hide_values(data.sample, n, types[n], key) for n in sorted(hidden))
        properties = tuple(
            replace(p, largest=_blurred(p.largest)) if p.column.name in hidden else p for p in data.properties
        )
        data = replace(data, sample=frame, properties=properties, hashed=hidden, token_key=key)
    workload = table.workload
    if workload is not None:
        instances = {n: _hide_frame(f, types, hidden, key) for n, f in workload.instances.items()}
        busy = {n: replace(b, rows=_hide_frame(b.rows, types, hidden, key)) for n, b in workload.busy.items()}
        workload = replace(workload, instances=instances, busy=busy)
    return replace(table, data=data, workload=workload)


def _blurred(number: int) -> int:
    """The number with nines after its first digit: as many digits, and as near to the next."""
    text = str(number)
    return int(text[0] + "9" * (len(text) - 1))


def _hide_frame(frame: pl.DataFrame, types: Mapping[str, EdmType], hidden: frozenset[str], key: bytes) -> pl.DataFrame:
    out = []
    for name in frame.columns:
        plain = name.removesuffix(_SUFFIXES[0]).removesuffix(_SUFFIXES[1])
        edm = types.get(plain, EdmType.STRING)
        if (
            name not in ("_weight", _CAME, SPAN, REQUESTS)
            and edm not in _SHOWN
            and (plain in hidden or plain not in types)
        ):
            out.append(hide_values(frame, name, edm, key))
        else:
            out.append(frame.get_column(name))
    return pl.DataFrame(out)


def hide_values(frame: pl.DataFrame, name: str, edm: EdmType, key: bytes) -> pl.Series:
    """A column with its values as tokens."""
    text = canonical_column(frame, name, edm)
    values = text.drop_nulls().unique().to_list()
    return text.replace_strict(values, [token(v, key) for v in values], default=None, return_dtype=pl.String).alias(
        name
    )


def show_values(frame: pl.DataFrame, rows: pl.DataFrame, types: Mapping[str, EdmType]) -> pl.DataFrame:
    """Logged parameters with the values of some rows in place of the tokens that are theirs under ``OPEN_KEY``.

    Parameters with a token that no row has are left out: nobody can tell what they were. Weights sum to 1 again.
    """
    for name in frame.columns:
        plain = name.removesuffix(_SUFFIXES[0]).removesuffix(_SUFFIXES[1])
        edm = types.get(plain)
        if edm is None or plain not in rows.columns or edm in _SHOWN or frame.schema[name] != pl.String:
            continue
        values = rows.select(plain).drop_nulls().unique(maintain_order=True)
        tokens = hide_values(values, plain, edm, OPEN_KEY)
        unlike = pl.col(name).is_not_null() & ~pl.col(name).is_in(tokens.implode())
        back = pl.col(name).replace_strict(tokens, values[plain], default=None, return_dtype=values.schema[plain])
        frame = frame.filter(~unlike).with_columns(back)
    return frame.with_columns(pl.col("_weight") / pl.col("_weight").sum()) if "_weight" in frame.columns else frame


def timed(workload: Workload, name: str) -> pl.DataFrame:
    """The parameters of a class, with the second in which each came, where the log tells."""
    frame, came = workload.instances[name], workload.came.get(name)
    if came is None:
        return frame
    return frame.with_columns(pl.Series(_CAME, came, dtype=pl.Int64) // 1_000_000)


def untimed(frame: pl.DataFrame) -> tuple[pl.DataFrame, list[int] | None]:
    """(the parameters of a class, when each came in µs since 1970 where all have a time)."""
    if _CAME not in frame.columns:
        return frame, None
    came = frame.get_column(_CAME) * 1_000_000
    return frame.drop(_CAME), None if came.null_count() else came.to_list()


def thinned(frame: pl.DataFrame, most: int = INSTANCES_MAX) -> pl.DataFrame:
    """At most ``most`` rows at equal steps, with weights that sum to 1."""
    return weighed(frame.gather_every(-(-frame.height // most)) if frame.height > most else frame)


def weighed(frame: pl.DataFrame) -> pl.DataFrame:
    """The weights brought to a sum of 1."""
    weights = frame.get_column("_weight")
    total = math.fsum(weights.to_list())
    if total <= 0:
        raise ValueError("weights that sum to nothing")
    return frame.with_columns(weights / total)


def merge_tables(first: TableProfile, second: TableProfile) -> TableProfile:
    data = first.data or second.data
    if first.data is not None and second.data is not None:
        data = merge_data(first.data, second.data)
    workload = first.workload or second.workload
    if first.workload is not None and second.workload is not None:
        workload = _merge_workloads(first, second)
    return TableProfile(first.table, first.kind, data, workload, first.covered_s + second.covered_s)


def _merge_workloads(first: TableProfile, second: TableProfile) -> Workload:
    """Classes of the same shape become one: mean rates by covered time, the higher peaks, parameters by requests."""
    assert first.workload is not None and second.workload is not None
    whole = max(first.covered_s + second.covered_s, 1e-9)
    classes: dict[tuple[object, ...], QueryClass] = {}
    frames: dict[str, list[pl.DataFrame]] = {}
    minutes: dict[str, MinuteSeries] = {}
    busy: dict[str, BusyRequests] = {}
    transactions: dict[Transaction, None] = {}
    for table in (first, second):
        assert table.workload is not None
        share = table.covered_s / whole
        renamed: dict[str, str] = {}
        for query in table.workload.classes:
            shape = (
                query.operation,
                query.filter,
                query.top,
                query.order_by,
                query.kind,
                query.entities_per_request > 1,
            )
            known = classes.get(shape)
            name = known.name if known else _unused(query.name, {c.name for c in classes.values()})
            renamed[query.name] = name
            series = table.workload.minutes.get(query.name)
            if series is not None:
                minutes[name] = _both_minutes(minutes.get(name), series, known.rate if known else None, query.rate)
            classes[shape] = replace(
                known or query, name=name, rate=_both(query.rate, share, known.rate if known else None)
            )
            if query.name in table.workload.busy:
                asked = table.workload.busy[query.name]
                busy[name] = busy[name].beside(asked) if name in busy else asked
            if query.name in table.workload.instances:
                frame = timed(table.workload, query.name)
                requests = max(query.rate.mean_per_s * table.covered_s, 1e-9)
                frames.setdefault(name, []).append(frame.with_columns(pl.col("_weight") * requests))
        for group in table.workload.transactions:
            transactions[replace(group, together=tuple(renamed.get(n, n) for n in group.together))] = None
    every = {name: untimed(thinned(pl.concat(of, how="diagonal_relaxed"))) for name, of in frames.items()}
    hidden = first.workload.hidden
    return Workload(
        first.table,
        tuple(_with_cut_minute(c, minutes.get(c.name)) for c in classes.values()),
        tuple(transactions),
        instances={name: frame for name, (frame, _) in every.items()},
        came={name: came for name, (_, came) in every.items() if came is not None},
        hidden=hidden,
        minutes=bounded(minutes),
        busy=busy,
        bursts_refused=first.workload.bursts_refused or second.workload.bursts_refused,
    )


def _with_cut_minute(query: QueryClass, series: MinuteSeries | None) -> QueryClass:
    """The class with its busiest minute, which may be one that the logs were cut in."""
    if series is None or query.entities_per_request > 1 or query.rate.peak_minute_per_s is None:
        return query
    most = max(query.rate.peak_minute_per_s, max(series.requests, default=0) / 60)
    return replace(query, rate=replace(query.rate, peak_minute_per_s=most))


def _both_minutes(known: MinuteSeries | None, series: MinuteSeries, was: Rate | None, rate: Rate) -> MinuteSeries:
    """The minutes of two parts of a log; the burst is that of the busier second, of equal ones the earlier."""
    if known is None or was is None:
        return series
    if was.peak_per_s == rate.peak_per_s:
        burst = min((b for b in (known.burst_at, series.burst_at) if b is not None), default=None)
    else:
        burst = known.burst_at if was.peak_per_s > rate.peak_per_s else series.burst_at
    return added(known, series, burst)


def _both(rate: Rate, share: float, known: Rate | None) -> Rate:
    """A rate over a share of the time, added to what is known of the rest."""
    mean = rate.mean_per_s * share + (known.mean_per_s if known else 0.0)
    minutes = [r for r in (rate.peak_minute_per_s, known.peak_minute_per_s if known else None) if r is not None]
    peak = max(rate.peak_per_s, known.peak_per_s if known else 0.0, mean)
    return Rate(mean, peak, max(minutes, default=None), rate.basis)


def _unused(name: str, taken: set[str]) -> str:
    """The name, with a number where another shape has it already."""
    if name not in taken:
        return name
    return next(n for n in (f"{name} ({i})" for i in range(2, len(taken) + 3)) if n not in taken)

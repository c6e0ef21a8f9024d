"""What else files tell of a table: how the data was taken from it, in which order entities came, how fast it grows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pkadvisor.design.draft.tables import DraftKind, DraftTable, check_log, draft_table, logged_keys, strangers
from pkadvisor.design.keys.keyreader import fits, tellers, with_key_parts
from pkadvisor.design.keys.transforms import Part, part_properties
from pkadvisor.design.rows.arrivals import differ
from pkadvisor.design.rows.decode import NOT_FOUND
from pkadvisor.design.rows.logged.requests import LoggedRequest, reader_of
from pkadvisor.errors import UsageError
from pkadvisor.lazy import np, pl
from pkadvisor.numbers import amount
from pkadvisor.observe.data.dataset import Column, Dataset
from pkadvisor.observe.data.records import Chunk, Tally
from pkadvisor.observe.logs.traffic import TableTraffic, Traffic
from pkadvisor.observe.profile.data_profile import KEYS_OF_LOG, DataProfile
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import properties
from pkadvisor.values import dataclass

COMPLETE: Final = 0.98
"""Share of the logged keys of existing entities that the data must hold to be taken for the whole table."""
KEYS_MIN: Final = 30
_READS: Final = ("query", "update", "merge")
"""Operations whose entities an export holds that was made after the log, too: what the log deletes is gone by then."""
_ADDS: Final = ("insert", "upsert")
_KEEPS: Final = ("insert", "delete", "batch")
"""Writes that change no entity that is there; the parts of a group transaction are told one by one."""
_WORDS: Final = ("created", "inserted", "posted", "registered", "received", "arrived", "logged", "ingested")
_OTHER_TIMES: Final = (
    *("expir", "until", "notafter", "validto", "deadline", "due", "birth", "scheduled"),
    *("updat", "modif", "change", "edited", "lastseen", "lastlogin", "accessed"),
)
"""Words in the names of times that lie ahead, or that a later request writes again."""
INSERTS_MIN: Final = 30
SPREAD_US: Final = 3_600_000_000
"""By how much the times that entities tell may differ more or less from the times at which a log inserts them, over the
middle half of the inserts, to be those of their arrival: clocks and zones differ by a constant."""
APART: Final = 1000.0
"""Times by which the rate of a log's inserts differs from that of a time in the data, if this is not that of arrival: a
log may be of the busiest minutes of a year, and the data one of several hundred rows."""
LATER: Final = 0.5
"""Share of a property's times after the end of the log from which on they lie in the future, as those of an expiry."""
GROWTH_MONTHS: Final = 3
GROWTH_ROWS: Final = 300
GROWTH_ERRORS: Final = 2.0
"""Standard errors by which the growth of arrivals differs from zero, if it is one and not chance or a season."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """How the data was taken: a word of the design language, why it is thought so, and entities in the whole table.

    ``by`` are the properties whose values were drawn, ``doubt`` the times by which chance may move the total; ``sure``
    is false where nothing was measured.
    """

    sampling: str
    why: str
    sure: bool
    total: int | None = None
    by: tuple[str, ...] = ()
    doubt: float = 1.0


def sampled(table: DraftTable) -> Sampled:
    """How the data was taken from the table, by the share of the logged keys that it holds."""
    data = table.data
    if table.from_log:
        return _sampled_by_log(table)
    if data is None or table.traffic is None or not set(KEYS) <= set(data.types):
        return Sampled("complete", "nothing shows whether it is", False)
    if not data.complete:
        return Sampled("complete", "the data is too large to look up every logged key", False)
    asked, count = _older(_of_known_keys(_existing(table.traffic), table.kinds), table.traffic)
    if count < KEYS_MIN:
        return Sampled("complete", "the log names too few existing keys to tell", False)
    if _deleted(table.traffic).height > count:
        return Sampled("complete", "the log deletes most of the keys that it names: others may be gone, too", False)
    rows = data.sample.select(KEYS).unique()
    there = asked.join(rows, on=list(KEYS), how="semi").height
    added = _added(table.traffic).join(_deleted(table.traffic), on=list(KEYS), how="anti")
    newer = added.join(rows, on=list(KEYS), how="semi").height
    if there < COMPLETE * count and newer * count >= there * added.height:  # as much of what came with the log
        asked, count, there = pl.concat([asked, added]), count + added.height, there + newer
    if not there:
        return Sampled("complete", f"none of {count:,} logged keys of existing entities is in the data", False)
    held = min(1.0, there / count)
    measured = f"{held:.1%} of {count:,} logged keys of existing entities are in the data"
    if held >= COMPLETE:
        return Sampled("complete", f"deduced: {measured}", True)
    partitions = asked.select(KEYS[0]).join(rows.select(KEYS[0]).unique(), on=KEYS[0], how="semi")
    inside = there / partitions.height if partitions.height else 0.0
    total = round(data.rows / held) if held > 0.01 else None
    doubt = 1 + 2 / there**0.5  # two standard errors of the keys that are found
    by = _partition_properties(table)
    if inside >= COMPLETE and by:
        return Sampled(
            "random-keys", f"deduced: {measured}, and all keys of the partitions that it holds", True, total, by, doubt
        )
    return Sampled("random-rows", f"deduced: {measured}", True, total, doubt=doubt)


def _sampled_by_log(table: DraftTable) -> Sampled:
    """How the keys of a log were taken: where it inserts more than were looked at, these stand for all of them."""
    adding = [c for c in table.traffic.classes if str(c.op) in _ADDS] if table.traffic is not None else []
    inserts, looked_at = sum(c.requests for c in adding), sum(c.sample.height for c in adding)
    if table.traffic is None or inserts <= looked_at:
        return Sampled("slice", "only keys that the log names are known", True)
    inserted = _added(table.traffic).height
    total = table.looked_at - inserted + round(inserted * inserts / looked_at)
    return Sampled("random-rows", f"{looked_at:,} of the {inserts:,} inserts of the log were looked at", True, total)


def _older(asked: pl.DataFrame, traffic: TableTraffic) -> tuple[pl.DataFrame, int]:
    """The keys without those that the log itself inserts, and how many they are without those that it inserts in
    requests beyond its sample."""
    adding = tuple(c for c in traffic.classes if str(c.op) in _ADDS)
    requests = sum(c.requests for c in adding)
    if not requests:
        return asked, asked.height
    left = asked.join(_added(traffic), on=list(KEYS), how="anti")
    held = min(1.0, sum(c.sample.height for c in adding) / requests)
    return left, max(0, left.height - round((asked.height - left.height) * (1 / held - 1)))


def _keys_of(traffic: TableTraffic, operations: Sequence[str]) -> pl.DataFrame:
    """Keys that requests of some operations name."""
    return logged_keys(replace(traffic, classes=tuple(c for c in traffic.classes if str(c.op) in operations)))


def _added(traffic: TableTraffic) -> pl.DataFrame:
    """Keys that the log inserts."""
    return _keys_of(traffic, _ADDS)


def _existing(traffic: TableTraffic) -> pl.DataFrame:
    """Keys that requests name of which the entities are there: not those that are answered by 404, or deleted."""
    there = (replace(c, sample=c.sample.filter(pl.col("status") != NOT_FOUND)) for c in traffic.classes)
    existing = _keys_of(replace(traffic, classes=tuple(there)), _READS)
    return existing.join(_deleted(traffic), on=list(KEYS), how="anti")


def _deleted(traffic: TableTraffic) -> pl.DataFrame:
    """Keys that the log deletes."""
    return _keys_of(traffic, ("delete",))


def _of_known_keys(keys: pl.DataFrame, kinds: Sequence[DraftKind]) -> pl.DataFrame:
    """The keys that a template of some kind writes: others are of entities that the data does not show at all, and so
    say nothing of the share of the rows in it."""
    readers = [reader_of(kind.scheme, kind.types) for kind in kinds]
    if not readers:
        return keys
    requests = [LoggedRequest(pk, rk, {}, {}, {}) for pk, rk in keys.select(KEYS).iter_rows()]
    return keys.filter(pl.Series([any(r.fits(one) for r in readers) for one in requests], dtype=pl.Boolean))


def _partition_properties(table: DraftTable) -> tuple[str, ...]:
    kinds = table.kinds
    names = [part_properties(k.key.partition) for k in kinds]
    return names[0] if names and all(n == names[0] for n in names) else ()


@dataclass(frozen=True, slots=True)
class Arrival:
    """The property that tells when an entity came, and why it is taken for that."""

    name: str
    why: str


def arrival(table: DraftTable, kind: DraftKind | None) -> Arrival | None:
    """The time by which entities come; None where nothing tells."""
    without = kind.without if kind is not None else ()
    types = {n: e for n, e in (table.data.types if table.data is not None else {}).items() if n not in without}
    times = [n for n, edm in types.items() if edm is EdmType.DATETIME and n.lower() != "timestamp"]
    named = next((n for n in times if any(word in n.lower() for word in _WORDS)), None)
    if named is not None:
        return Arrival(named, "by its name")
    if kind is not None:
        exact = [n for n, (_, _, part) in tellers(kind.key).items() if part.tells_time and _to_the_second(part)]
        part = next((n for n in exact if kind.types.get(n) is EdmType.DATETIME), None)
        if part is not None and _at_inserts(table, kind, part):
            return Arrival(part, "assumed: the time in the key")
    stamp = next((n for n in types if n.lower() == "timestamp" and types[n] is EdmType.DATETIME), None)
    stamp = stamp if stamp and table.data is not None and differ(table.data.sample.get_column(stamp)) else None
    if stamp is not None:
        return Arrival("timestamp", "the service's own time of the last change")
    only = times[0] if len(times) == 1 and not any(word in times[0].lower() for word in _OTHER_TIMES) else None
    if only is None or _in_future(table, only) or _other_pace(table, only):
        return None
    return Arrival(only, "assumed: the only time")


def _at_inserts(table: DraftTable, kind: DraftKind, name: str) -> bool:
    """Whether a time in the keys goes with the times at which a log inserts them; a due time does not."""
    classes = table.traffic.classes if table.traffic is not None else ()
    frames = [c.sample.select("pk", "rk", "at_us") for c in classes if str(c.op) in _ADDS and c.address]
    if not frames:
        return True
    inserts = pl.concat(frames).rename({"pk": KEYS[0], "rk": KEYS[1]}).drop_nulls()
    entities = with_key_parts(inserts.filter(fits(kind.key, kind.types)), kind.key, [name], kind.types)
    if entities.height < INSERTS_MIN:
        return True
    apart = entities.select(pl.col(name).dt.epoch("us") - pl.col("at_us")).to_series()
    low, high = apart.quantile(0.25), apart.quantile(0.75)
    return low is None or high is None or high - low <= SPREAD_US


def _in_future(table: DraftTable, name: str) -> bool:
    """Whether a time mostly lies after the end of the log."""
    last = max((c.last_us or 0 for c in table.traffic.classes), default=0) if table.traffic is not None else 0
    if not last or table.data is None or not isinstance(table.data.sample.schema[name], pl.Datetime):
        return False
    times = table.data.sample.get_column(name).dt.epoch("us").drop_nulls()
    return bool(times.len() and int((times > last).sum()) > LATER * times.len())


def _other_pace(table: DraftTable, name: str) -> bool:
    """Whether a log inserts entities far faster, or far slower, than a time of theirs goes on: then they do not come at
    that time. Compared are the newest of the data and all of it, whichever is nearer to the log."""
    lasts = table.traffic.lasts_s if table.traffic is not None else None
    if table.traffic is None or table.data is None or not lasts:
        return False
    inserts = sum(c.requests for c in table.traffic.classes if str(c.op) in _ADDS)
    if inserts < INSERTS_MIN or not isinstance(table.data.sample.schema[name], pl.Datetime):
        return False
    times = table.data.sample.get_column(name).dt.epoch("us").drop_nulls().sort()
    paces = []
    for part in (times, times.tail(max(2, times.len() // 10))):
        spans_s = (int(part[-1]) - int(part[0])) / 1e6 if part.len() > 1 else 0.0
        if spans_s > 0:
            paces.append(part.len() / times.len() * table.data.rows / spans_s)
    apart = [max(pace * lasts / inserts, inserts / (pace * lasts)) for pace in paces]
    return bool(apart) and min(apart) > APART


def _to_the_second(part: Part) -> bool:
    return part.decodes or (part.period is not None and part.period.to_the_second)


def _changes(table: DraftTable) -> bool:
    """Whether entities are changed after they came, as far as a log tells; taken for true without a log."""
    return table.traffic is None or any(c.op.writes and str(c.op) not in _KEEPS for c in table.traffic.classes)


@dataclass(frozen=True, slots=True)
class ArrivalGrowth:
    """How the arrivals of the whole months grow: the factor of a month, and entities a day in the first and last one.

    ``steady``: the factor is within GROWTH_ERRORS standard errors of one.
    """

    factor: float
    steady: bool
    ends: tuple[tuple[str, float], tuple[str, float]]

    @property
    def basis(self) -> str:
        (first, before), (last, after) = self.ends
        return f"{amount(before)} entities a day in {first}, {amount(after)} in {last}"


def growth(table: DraftTable, kind: DraftKind | None, by: Arrival | None) -> ArrivalGrowth | None:
    """What arrivals say of growth; None where they span too little, or where the time of the last change is all there
    is and entities are changed.

    The slope of ln(entities a day) over the months, by least squares. Its error is that of the residuals or of
    Poisson's counts, whichever is larger.
    """
    data = table.data
    if data is None or by is None or (by.name == "timestamp" and _changes(table)):
        return None
    frame = data.sample
    if kind is not None and by.name in kind.parts:
        frame = with_key_parts(frame.select(KEYS), kind.key, [by.name], kind.types)
    name = by.name if by.name in frame.columns else next((n for n in frame.columns if n.lower() == by.name), "")
    if not name or not isinstance(frame.schema[name], pl.Datetime) or not frame.height:
        return None
    months = frame.select(m=pl.col(name).dt.truncate("1mo")).drop_nulls().group_by("m").len().sort("m")
    whole = months.slice(1, max(0, months.height - 2))  # the first and the last month may be cut
    starts, counts = whole.to_series(0), whole.to_series(1).to_numpy()
    if whole.height < GROWTH_MONTHS or int(counts.sum()) < GROWTH_ROWS:
        return None
    days = starts.dt.month_end().dt.day().to_numpy()
    at = (starts.dt.year() * 12 + starts.dt.month()).to_numpy()
    at = at - at.mean()
    logs = np.log(counts / days)
    slope, level = np.polyfit(at, logs, 1)
    residuals = logs - level - slope * at
    variance = max(float((residuals**2).sum()) / (whole.height - 2), float((1 / counts).mean()))
    error = (variance / float((at**2).sum())) ** 0.5
    a_day = counts / days * (data.rows / frame.height)
    first, last = starts[0].strftime("%Y-%m"), starts[-1].strftime("%Y-%m")
    ends = (first, float(a_day[0])), (last, float(a_day[-1]))
    return ArrivalGrowth(float(np.exp(slope)), abs(slope) < GROWTH_ERRORS * error, ends)


# -- Which data belongs to which table of a log, where no design says so.


@dataclass(frozen=True, slots=True)
class Drafted:
    """Tables as they look from the files, each with the data set that belongs to it (None where there is none)."""

    tables: tuple[DraftTable, ...]
    datasets: tuple[Dataset | None, ...]
    heat_only: tuple[str, ...] = ()
    """Tables of the log of which nothing but heat is told: the data is of another one."""
    kinds_of: str = ""
    """The only table of the log where several data sets are given and none has its name: they look like its kinds."""

    def check_kinds(self) -> None:
        """UsageError where kinds would have to be guessed."""
        if self.kinds_of:
            names = ", ".join(dataset.name for dataset in self.datasets if dataset is not None)
            raise UsageError(
                f"the log has one table, {self.kinds_of}, and the data are of other names: {names}",
                where="--log",
                fix=f"declare them as kinds of {self.kinds_of} in a design file (advisor manual design-file), or give "
                "the data of each table as TABLE=PATH",
            )


def drafted(
    data: Sequence[tuple[DataProfile, Dataset]], traffic: Traffic | None, table_name: str = "", *, redact: bool = False
) -> Drafted:
    """The tables of data and a log; ``redact`` hides the keys that are shown as examples.

    UsageError (2) where the log is of another table than the data.
    """
    logged = list(traffic.tables) if traffic is not None else []
    pairs: list[tuple[DraftTable, Dataset | None]] = []
    rest = list(logged)
    for profile, dataset in data:
        own = _log_of(profile, rest)
        rest = [t for t in rest if t is not own]
        name = own.name if own is not None else table_name or name_of(profile.kind or profile.name)
        table = draft_table(name, profile, own, None)
        if own is not None:
            check_log(table, dataset.paths[0].name if dataset.paths else profile.name, redact=redact)
        pairs.append((table.without_examples() if redact else table, replace(dataset, name=name, kind=None)))
    if data:
        kinds_of = logged[0].name if len(logged) == 1 and _of_kinds(data, logged[0].name) else ""
        names = [name_of(profile.kind or profile.name) if kinds_of else None for profile, _ in data]
        datasets = (replace(d, name=name or d.name) if d else d for (_, d), name in zip(pairs, names, strict=True))
        return Drafted(tuple(t for t, _ in pairs), tuple(datasets), tuple(t.name for t in rest), kinds_of)
    for own in rest:
        keys = logged_keys(own)
        table = draft_table(own.name, None, own, keys)
        pairs.append((table, key_dataset(own.name, keys) if table.kinds else None))
    if redact:
        pairs = [(table.without_examples(), dataset) for table, dataset in pairs]
    return Drafted(tuple(t for t, _ in pairs), tuple(d for _, d in pairs))


def _of_kinds(data: Sequence[tuple[DataProfile, Dataset]], table: str) -> bool:
    """Whether several data sets are given as ``KIND=PATH``, and none as the table."""
    kinds = {(profile.kind or "").lower() for profile, _ in data}
    return len(data) > 1 and "" not in kinds and table.lower() not in kinds


def _log_of(profile: DataProfile, logged: Sequence[TableTraffic]) -> TableTraffic | None:
    """The table of a log that data belongs to: by its name, else the only one, else that whose requests fit it best."""
    names = {(profile.kind or "").lower(), profile.name.split("/")[-1].split(".")[0].lower()}
    named = next((t for t in logged if t.name.lower() in names), None)
    if named is not None or len(logged) < 2:
        return named or next(iter(logged), None)
    return max(logged, key=lambda t: (_fit(profile, t), t.requests, t.name))


def _fit(profile: DataProfile, traffic: TableTraffic) -> float:
    """The share of a table's logged requests that the data can explain: by their keys, else by their properties."""
    wrong, total, _ = strangers(draft_table(traffic.name, profile, traffic, None))
    if total:
        return 1 - wrong / total
    filters = [(set(properties(c.filter)), c.requests) for c in traffic.classes if c.filter is not None]
    asked = sum(n for _, n in filters)
    return sum(n for names, n in filters if names <= set(profile.types)) / asked if asked else 0.0


def name_of(source: str) -> str:
    """A table name made of that of a file."""
    words = re.findall(r"[A-Za-z0-9]+", source.split("/")[-1].split(".")[0])
    stem = "".join(word[:1].upper() + word[1:] for word in words).lstrip("0123456789")[:63]
    return stem if len(stem) >= 3 and stem.lower() != "tables" else f"{stem[:58]}Table"


@dataclass(slots=True)
class _Frame:
    """A frame as a data file."""

    path: Path
    where: str
    format: str
    frame: pl.DataFrame

    def chunks(self, tally: Tally, columns: frozenset[str] | None = None) -> Iterator[Chunk]:
        """The whole frame at once."""
        del columns
        tally.rows += self.frame.height
        stated = {name: {EdmType.STRING: self.frame.height} for name in self.frame.columns}
        yield Chunk(self.frame.height, self.frame, stated)


def key_dataset(name: str, keys: pl.DataFrame) -> Dataset:
    """Keys that a log names as a data set, for a table of which nothing else is at hand."""
    rows = keys.height
    columns = tuple(Column(n, EdmType.STRING, rows, 0, ((EdmType.STRING, rows),)) for n in keys.columns)
    note = "only the keys that the log names are known: no property, and no entity that nobody asked for"
    return Dataset(name, None, (), KEYS_OF_LOG, columns, rows, (note,), (_Frame(Path(), name, KEYS_OF_LOG, keys),))

"""Which data belongs to which table of a log, where no design says so."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pkadvisor.design.draft.tables import DraftTable, check_log, draft_table, logged_keys, strangers
from pkadvisor.errors import UsageError
from pkadvisor.lazy import pl
from pkadvisor.observe.data.dataset import Column, Dataset
from pkadvisor.observe.data.records import Chunk, Tally
from pkadvisor.observe.logs.traffic import TableTraffic, Traffic
from pkadvisor.observe.profile.data_profile import KEYS_OF_LOG, DataProfile
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import properties
from pkadvisor.values import dataclass


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
    words = "".join(word[:1].upper() + word[1:] for word in _words(source.split("/")[-1].split(".")[0]))
    stem = words.lstrip("0123456789")[:63]
    return stem if len(stem) >= 3 and stem.lower() != "tables" else f"{stem[:58]}Table"


def _words(text: str) -> list[str]:
    import re

    return re.findall(r"[A-Za-z0-9]+", text)


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

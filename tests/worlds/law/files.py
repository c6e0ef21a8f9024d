"""The law *files*: a world written as an export and a log tells ``init --from`` the keys and rates it was made with.

The export (CSV, JSON lines, REST JSON or Parquet) has the keys in use with either all properties or only those that are
in no key; the log has point reads, reads of a partition, inserts, updates and deletes of the entities, in one of the
formats, which may hold more (``QUIRKS``). Held are: one kind of rows; templates that write every exported key again,
where a column is named by the very same part, and else by a form that every key has, with as many variable parts as the
keys were made of, and a hash as that hash; and a class for each kind of request with its rate, whose filter names what
the request named.
Nothing is analysed: two files are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from tests.worlds.files import SUFFIX, data_text
from tests.worlds.key_text import MISSING, Call, Part, Property, Writer, parse, properties, separators
from tests.worlds.law.drawn_log import QUIRKS, SHARE, DrawnLog, in_hex
from tests.worlds.law.log_lines import FORMATS, PROXIES
from tests.worlds.law.log_lines import SUFFIX as LOG_SUFFIX
from tests.worlds.law.logs import RATE, ROWS, invertible
from tests.worlds.model import Kind, Scheme, World
from tests.worlds.rows import Layout, lay_out
from tests.worlds.truth import Broken
from tests.worlds.values import BINARY, DATETIME, GUID, STRING, Row, canonical

NAME = "files"
ROWS_MIN = 60
"""Entities below which keys show no pattern."""
KEYS = ("PartitionKey", "RowKey")
HASHES = ("hash({},16)", "hash_prefix({},2)", "md5_prefix({},2)")
TIMES = ("{at}", "{ticks(at)}", "{reverse_ticks(at)}")
HASHED, CLOCKED, LOWERED = 0.3, 0.2, 0.2
"""Of the worlds, whose PartitionKey begins with a hash of what its RowKey has, whose time is a day in the PartitionKey
and a time of day in the RowKey, and whose identifier is written in lower case."""


def broken(world: World, folder: Path) -> Iterator[Broken]:
    """What the design that the files tell says otherwise than the world."""
    from pkadvisor.observe.design_file.read_declaration import load_declaration
    from pkadvisor.progress import SilentProgress
    from pkadvisor.usecases.init import Given, design_from

    random = Random(world.seed)
    quirks = {quirk for quirk in QUIRKS if random.random() < SHARE}
    quirks |= {"upsert"} if Random(f"{world.seed} upsert").random() < SHARE else set()
    kind = replace(world.kinds[0], rows=world.kinds[0].rows[:ROWS])
    kind = in_hex(kind) if "hex" in quirks else kind
    scheme = _hashed(random, kind, _hidden(random, kind, invertible(random, kind)))
    layout = lay_out(kind, scheme)
    if len(world.kinds) > 1 or len(kind.rows) < ROWS_MIN or not layout.unique:
        return
    in_keys = {n for key in (scheme.partition, scheme.row) for p in parse(key) for n in _names(p)}
    columns = tuple(n for n in kind.types if random.random() < 0.5 or n not in in_keys)
    drawn = DrawnLog(layout, columns, quirks, random)
    form = random.choice((*FORMATS, *PROXIES))
    data = _export(kind, drawn.exported, columns, random.choice((*SUFFIX, "parquet")), folder / world.table)
    log = folder / f"requests.{LOG_SUFFIX[form]}"
    log.write_text(drawn.text(world.table, form), encoding="utf-8")
    text, _ = design_from(Given((str(data),), (str(log),)), SilentProgress(), None)
    (table,) = (t for t in load_declaration("design.yaml", text).tables if t.name == world.table)
    if table.kinds or table.partition_key is None or table.row_key is None:
        shown = ", ".join(k.name for k in table.kinds) or "no keys"
        yield Broken(NAME, f"{form}: kinds of rows", scheme.text, shown, "one kind")
        return
    found = Scheme(table.partition_key.text, table.row_key.text)
    yield from _same_keys(scheme, found, drawn.exported, columns)
    classes = [(str(w.operation), w.rate.mean_per_s) for w in table.workload.classes]
    yield from _same_rates(", ".join([form, *sorted(quirks)]), scheme, drawn, classes)


def _names(part: Part) -> tuple[str, ...]:
    return properties(part) if not isinstance(part, str) else ()


def _hidden(random: Random, kind: Kind, scheme: Scheme) -> Scheme:
    """The keys with a part, or two, that do not tell by themselves what they are made of."""
    time = next((text for text in TIMES if text in scheme.row), "")
    if time and random.random() < CLOCKED:
        row = scheme.row.replace(time, "{time_of_day(at,7)}")
        scheme = replace(scheme, partition=_behind("{time(at,'yyyyMMdd')}", random, kind, scheme), row=row)
    if kind.types["id"] == STRING and random.random() < LOWERED:
        scheme = replace(scheme, row=scheme.row.replace("{id}", "{lower(id)}"))
    return scheme


def _hashed(random: Random, kind: Kind, scheme: Scheme) -> Scheme:
    """The keys with a hash of the identifier as the PartitionKey, or in front of one that holds no separators."""
    if random.random() >= HASHED:
        return scheme
    part = "{" + random.choice(HASHES).format("id") + "}"
    return replace(scheme, partition=_behind(part, random, kind, scheme))


def _behind(part: str, random: Random, kind: Kind, scheme: Scheme) -> str:
    """A part as the PartitionKey, or in front of one whose values hold no separators."""
    plain = all(stored.partition.isalnum() for stored in lay_out(kind, scheme).rows)
    return f"{part}_{scheme.partition}" if plain and random.random() < 0.5 else part


# -- files -------------------------------------------------------------------------------------------------------------


def _export(kind: Kind, layout: Layout, columns: Sequence[str], form: str, table: Path) -> Path:
    """The entities with their keys; ``columns`` are the properties that the export has beside these."""
    rows = tuple(
        Row({**{n: kind.rows[r.entity][n] for n in columns}, **dict(zip(KEYS, (r.partition, r.row), strict=True))})
        for r in sorted(layout.rows, key=lambda r: r.entity)
    )
    types = {**dict.fromkeys(KEYS, STRING), **{n: kind.types[n] for n in columns}}
    path = table.with_suffix(f".{SUFFIX.get(form, form)}")
    if form == "parquet":
        import polars as pl

        series = []
        for name, edm in types.items():
            values = [row[name] for row in rows]
            dtype = {DATETIME: pl.Datetime("us", "UTC"), BINARY: pl.Binary, STRING: pl.String, GUID: pl.String}.get(edm)
            texts = [None if v is None else canonical(v, edm) for v in values] if edm == GUID else values
            series.append(pl.Series(name, texts, dtype=dtype))
        pl.DataFrame(series).write_parquet(path)
    else:
        path.write_text(data_text(replace(kind, types=types, rows=rows), form), encoding="utf-8", newline="")
    return path


# -- what is held ------------------------------------------------------------------------------------------------------


def _same_keys(scheme: Scheme, found: Scheme, layout: Layout, columns: Sequence[str]) -> Iterator[Broken]:
    """Whether templates write every exported key again, and tell as much of it as the keys were made of."""
    writer = Writer(layout.kind.types)
    halves = ((scheme.partition, found.partition, "partition"), (scheme.row, found.row, "row"))
    for written, inferred, half in halves:
        parts = parse(inferred)
        pattern = re.compile("".join(_pattern(p, separators(parts)) for p in parts), re.S)
        own = {n: p for n, p in enumerate(p for p in parts if not isinstance(p, str)) if _shown(p, layout, columns)}
        wrong = 0
        for stored in layout.rows:
            match = pattern.fullmatch(getattr(stored, half))
            entity = layout.kind.rows[stored.entity]
            same = match is not None and all(
                writer.key((part,), entity) == match[n + 1] or writer.key(parts, entity) == match[0]
                for n, part in own.items()
            )
            wrong += not same
        if wrong:
            yield Broken(NAME, f"keys that {inferred} writes again", scheme.text, len(layout.rows) - wrong, "all")
        varying = [p for p in parse(written) if not isinstance(p, str) and _varies(p, layout, writer)]
        variable = [p for p in parts if not isinstance(p, str)]
        hashes = {p.name for p in varying if isinstance(p, Call) and p.name in ("hash", "hash_prefix", "md5_prefix")}
        known = "id" in columns or "{id}" in written or "{id}" in scheme.row
        lost = hashes - {p.name for p in variable if isinstance(p, Call)} if known else set()
        if len(variable) < len(varying) or lost:
            yield Broken(NAME, f"parts of the {half} key", scheme.text, inferred, written)


def _shown(part: Part, layout: Layout, columns: Sequence[str]) -> bool:
    """Whether the export shows what a part is made of, as what the world has: CSV makes numbers of texts of digits."""
    read = isinstance(part, Call) and "sortable" in part.name and layout.kind.types.get(_names(part)[0]) == STRING
    return set(_names(part)) <= set(columns) and not read


def _varies(part: Part, layout: Layout, writer: Writer) -> bool:
    return len({writer.key((part,), row) for row in layout.kind.rows}) > 1


def _pattern(part: Part, between: frozenset[str]) -> str:
    """What the texts of a part look like."""
    if isinstance(part, str):
        return re.escape(part)
    if isinstance(part, Property):
        apart = "".join(re.escape(c) for c in sorted(between))
        return f"((?:[^{apart}])*)" if apart else "(.*)"
    forms = {"ticks": "[0-9]{19}", "reverse_ticks": "[0-9]{19}", "sortable": "[0-9a-f]+"}
    width = part.arguments[1] if isinstance(part, Call) and part.name == "pad" else None
    form = forms.get(part.name, ".*") if width is None else f"-?[0-9]{{{width},}}"
    return f"({form}|{re.escape(MISSING)})"


def _same_rates(form: str, scheme: Scheme, drawn: DrawnLog, classes: Sequence[tuple[str, float]]) -> Iterator[Broken]:
    """Whether each kind of request has a class of its own, with its rate."""
    writes, counts = ("insert", "update", "upsert", "delete"), drawn.counts
    queries = [kind for kind in counts if kind not in writes]
    for operation, kinds in (("query", queries), *((w, [w] if w in counts else []) for w in writes)):
        wanted = sorted(counts[kind] / drawn.length_s for kind in kinds)
        rates = sorted(rate for op, rate in classes if op == operation)
        close = len(rates) == len(wanted) and all(abs(r - w) <= RATE * w for r, w in zip(rates, wanted, strict=True))
        if not close:
            yield Broken(NAME, f"{form}: rates of {operation}", scheme.text, rates, wanted)

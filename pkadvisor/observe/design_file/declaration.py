"""The design file: the current keys of a table and the workload that no log tells yet, as checked values.

``load_declaration`` reads YAML (``declaration_yaml``), checks its shape (``declaration_model``) and then what several
values say together: names, kinds, keys, filters, transactions (``declaration_build``). Every error is a UsageError with
``FILE:LINE:COLUMN``, the line and a caret. Templates are not parsed here: they come with their place (``Placed``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import Any

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.design_file.declaration_yaml import PlacedText
from pkadvisor.observe.workload import Workload
from pkadvisor.table.edm import KEYS, SYSTEM_PROPERTIES, EdmType
from pkadvisor.values import dataclass

ARRIVAL_TIMESTAMP = "timestamp"
ARRIVAL_FILE_ORDER = "file_order"
_TABLE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{2,62}")
_MEANT_AS_ONE = re.compile("[A-Za-z0-9_-]{1,63}")
NAMES_ALLOWED = "3 to 63 ASCII letters and digits, a letter first; 'tables' is reserved"


class Sampling(StrEnum):
    """How the data set was taken from the table."""

    COMPLETE = "complete"
    RANDOM_ROWS = "random-rows"
    RANDOM_KEYS = "random-keys"
    SLICE = "slice"
    """A prefix in key order, one day, …: no interval can be given for what is estimated from it."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A property named in the design file: as what, for which kind, and where; ``asked``: by a query or a write, which
    can be left out of the cost."""

    name: str
    role: str
    kind: str | None
    where: str
    excerpt: str
    asked: bool = False


@dataclass(frozen=True, slots=True)
class IndexRowDeclaration:
    """A further row per entity, in its own partition if it has a ``partition_key``; ``copy`` is full or pointer."""

    partition_key: PlacedText | None
    row_key: PlacedText
    copy: str


@dataclass(frozen=True, slots=True)
class DeclaredKeys:
    """The keys in use of a table or of one of its kinds; PartitionKey and RowKey are both given or both None."""

    partition: PlacedText | None = None
    row: PlacedText | None = None
    index_rows: tuple[IndexRowDeclaration, ...] = ()


@dataclass(frozen=True, slots=True)
class KindDeclaration:
    """One entity kind of a table; ``sizes`` are declared mean sizes (bytes of Binary, characters of String),
    ``sensitive`` the properties declared ``personal`` or ``secret``, ``keys`` its own keys or else the table's."""

    name: str
    properties: tuple[tuple[str, EdmType], ...]
    entities_total: int | None
    arrival: str | None
    sizes: tuple[tuple[str, int], ...] = ()
    sensitive: tuple[tuple[str, str], ...] = ()
    keys: DeclaredKeys = DeclaredKeys()
    sampling: Sampling | None = None
    """How the data of this kind was taken; None: as that of the table."""
    sampled_by: tuple[str, ...] = ()
    key_parts: tuple[str, ...] = ()
    """Those of the properties that stand in no column: the keys tell them."""
    distinct: tuple[tuple[str, int], ...] = ()
    """How many values properties are declared to have at the most, now and later."""


@dataclass(frozen=True, slots=True)
class TableDeclaration:
    """All that the design file says about one table.

    ``partition_key`` and ``row_key`` are both given or both None. ``arrival`` is ``timestamp``, ``file_order``, a
    property, or None: unknown. With ``kinds``, ``properties`` is empty and each class of the workload names its kind.
    """

    name: str
    partition_key: PlacedText | None
    row_key: PlacedText | None
    index_rows: tuple[IndexRowDeclaration, ...]
    properties: tuple[tuple[str, EdmType], ...]
    entities_total: int | None
    sampling: Sampling
    sampled_by: tuple[str, ...]
    arrival: str | None
    kinds: tuple[KindDeclaration, ...]
    workload: Workload
    sizes: tuple[tuple[str, int], ...] = ()
    sensitive: tuple[tuple[str, str], ...] = ()
    consistency: str = ""
    """How what no group transaction covers is kept right, in the owner's words; empty where nobody says."""
    mentions: tuple[Mention, ...] = field(default=(), repr=False, compare=False)
    retry: str | None = None
    """How clients retry what the service refuses as busy: none, fixed or exponential; None where nobody says."""
    sampling_stated: bool = True
    """Whether the file says how the data was taken."""
    key_parts: tuple[str, ...] = ()
    """Those of the properties that stand in no column: the keys tell them."""
    distinct: tuple[tuple[str, int], ...] = ()
    """How many values properties are declared to have at the most, now and later."""

    def kind_named(self, name: str | None) -> KindDeclaration | None:
        """The kind of this name; None where there is none."""
        return next((kind for kind in self.kinds if kind.name == name), None)

    def of_kind(self, kind: str | None) -> TableDeclaration:
        """The table with the keys and the sampling of one of its kinds; the table itself for None and for a name that
        is no kind."""
        of_this = self.kind_named(kind)
        if of_this is None:
            return self
        keys = of_this.keys
        own = replace(self, partition_key=keys.partition, row_key=keys.row, index_rows=keys.index_rows)
        if of_this.sampling is None:
            return own
        return replace(own, sampling=of_this.sampling, sampled_by=of_this.sampled_by, sampling_stated=True)


@dataclass(frozen=True, slots=True)
class Declaration:
    """A design file; ``tables`` in file order."""

    path: str
    tables: tuple[TableDeclaration, ...]


def check_properties(
    table: TableDeclaration,
    known: Mapping[str, EdmType],
    *,
    kind: str | None = None,
    others: Sequence[str] | None = None,
    all_asked: bool = False,
) -> None:
    """Refuse the first property that the design names and ``known`` lacks (UsageError with its place).

    With ``kind`` what is said about that kind is checked, and of the whole table what neither this kind nor ``others``
    have (None: nobody knows); what isolates is a property of each kind. PartitionKey and RowKey are known wherever the
    table declares its keys. A placeholder ``{x}`` names the property x. What a query asks of a declared property is no
    mistake, unless ``all_asked``: the sample lacks it, and the query is left out of the cost.
    """
    declared = {name for kind_ in table.kinds if kind in (None, kind_.name) for name, _ in kind_.properties}
    declared |= {name for name, _ in table.properties}
    names = dict.fromkeys((*known, *(KEYS if table.partition_key else ())))
    for mention in table.mentions:
        if mention.name in names or (kind is not None and mention.kind not in (None, kind)):
            continue
        if mention.asked and mention.name in declared and not all_asked:
            continue
        if kind is not None and mention.kind is None and (others is None or mention.name in others):
            if others is None or mention.role != "isolation":
                continue
            raise UsageError(
                f"isolation names the property '{mention.name}', which {kind} does not have: no key can keep its "
                "entities apart",
                where=mention.where,
                fix=f"give {kind} the property, or declare it as a table of its own",
                excerpt=mention.excerpt,
            )
        if mention.name == ARRIVAL_TIMESTAMP and mention.role == "arrival" and "Timestamp" in names:
            continue
        shown = ", ".join(list(names)[:8]) + (" …" if len(names) > 8 else "")
        raise UsageError(
            f"{mention.role} names the property '{mention.name}', which the data does not have",
            where=mention.where,
            fix=did_you_mean(mention.name, tuple(names)) or f"the data has: {shown or 'no properties'}",
            excerpt=mention.excerpt,
        )


def design_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a design file, with descriptions; the order of its keys is stable."""
    from pkadvisor.observe.design_file.declaration_model import json_schema

    return json_schema()


def is_table_name(name: str, *, meant: bool = False) -> bool:
    """Whether the service takes a name for a table; ``meant``: whether it can have been meant as one."""
    return (_MEANT_AS_ONE if meant else _TABLE_NAME).fullmatch(name) is not None and (meant or name.lower() != "tables")


def skeleton(dataset_columns: Sequence[tuple[str, EdmType]], table: str) -> str:
    """A commented design file for a data set: valid YAML, and a valid design once its rates are filled in.

    A ``table`` that is no table name is bent into one; columns whose names a design cannot hold are left out.
    """
    name = re.sub(r"^[0-9]+", "", re.sub(r"[^A-Za-z0-9]", "", table))[:63]
    name = name if is_table_name(name) else f"{name[:58]}Table"
    columns = [(c, t) for c, t in dataset_columns if c and len(c) <= 255 and c.isprintable()]
    own = [(c, t) for c, t in columns if c not in SYSTEM_PROPERTIES]
    first = next(((c, t) for c, t in own if is_filter_name(c)), None)
    times = [c for c, t in own if t is EdmType.DATETIME] + (
        ["timestamp"] if ("Timestamp", EdmType.DATETIME) in columns else []
    )
    properties = "".join(f"      {plain_or_quoted(c)}: {t.value.lower()}\n" for c, t in own)
    placeholder = "" if first is None else f"'{{{first[0]}}}'" if first[1] is EdmType.STRING else f"{{{first[0]}}}"
    filter_text = "" if first is None else f"{first[0]} eq {placeholder}"
    arrival = plain_or_quoted(times[0]) if times else "file_order"
    return _SKELETON.format(
        table=name,
        properties=properties and f"    {_PROPERTIES}\n{properties}",
        arrival=f"{'' if times else '# '}arrival: {arrival}",
        filter=plain_or_quoted(filter_text),
        first=plain_or_quoted(first[0]) if first else "id",
    )


def plain_or_quoted(text: str) -> str:
    """A text as a design file can hold it: as it is where YAML reads it so, else in quotes."""
    plain = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text) and text.lower() not in _YAML_WORDS
    return text if plain else quoted(text)


def quoted(text: str) -> str:
    """A text in double quotes, with escapes for what YAML refuses."""
    return escaped_for_yaml(json.dumps(text, ensure_ascii=False))


def escaped_for_yaml(text: str) -> str:
    """A text for a quoted value or a comment, with JSON's escapes for the characters that YAML refuses."""
    return _NOT_IN_YAML.sub(lambda refused: json.dumps(refused[0])[1:-1], text)


def is_filter_name(name: str) -> bool:
    """Whether a filter can name a property of this name."""
    return _FILTER_NAME.fullmatch(name) is not None


_FILTER_NAME = re.compile(r"(?!(?:and|or|not|null|true|false|NaN|INF|eq|ne|gt|ge|lt|le)$)[^\W\d]\w*(?:\.\w+)*")
_NOT_IN_YAML = re.compile("[\x7f-\x9f\ud800-\udfff\ufeff\ufffe\uffff\u2028\u2029]")
"""What is no ``c-printable`` of YAML 1.2 (production 1), what ends a line, and the mark at the beginning of a file."""
_YAML_WORDS = ("true", "false", "null", "yes", "no", "on", "off", "y", "n", "nan", "inf")
_PROPERTIES = "properties:                         # people's data: {type: string, sensitive: personal}, or secret"
_SKELETON = """\
# What no log tells yet: fill in the rates, remove what does not apply.
schema: 1
tables:
  {table}:
    # partition_key: "…"                # the keys of today, if there are any
    # row_key: "…"
{properties}    # entities_total: 2_000_000         # if the data set is a sample of the table
    # sampling: random-rows             # complete | random-rows | random-keys | slice
    {arrival}   # a time column, timestamp or file_order: in which order entities come
    queries:
      - name: first-query
        filter: {filter}
        rate:                           # e.g. 600/s; also /min, /h, /day
        # peak: 3000/s                  # the highest rate to plan for
        # p99: 50ms                     # the goal
        # draw: {{by: distinct, of: [{first}]}}
    writes:
      - name: new-entity
        operation: insert
        rate:                           # e.g. 16/s
    # transactions:
    #   - {{name: together, together: [new-entity], group_by: [{first}], required: true}}
    #   - {{name: transfer, together: [book], pair: {{from: account, to: account}}}}
    # growth: {{rate: 8 %/month, of: new_keys}}
    # retention: 24 months
    # retry: exponential                # none | fixed | exponential: what clients do when the service is busy
    # consistency: "…"                  # how copies in several partitions are kept consistent
"""

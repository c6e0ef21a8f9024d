"""A draft as the text of a design file: every line with a comment that says where it comes from and how sure it is."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from pkadvisor.design.draft.facts import Arrival, ArrivalGrowth, Drafted, Sampled, arrival, growth, sampled
from pkadvisor.design.draft.guesses import likely_filter, likely_keys, shown
from pkadvisor.design.draft.tables import DraftKind, DraftTable
from pkadvisor.design.draft.workload import DraftClass, draft_classes, is_query, rate_of
from pkadvisor.design.keys.keyreader import fits, tellers
from pkadvisor.design.keys.template import format_template
from pkadvisor.design.keys.transforms import part_properties
from pkadvisor.lazy import pl
from pkadvisor.observe.design_file.declaration import escaped_for_yaml, plain_or_quoted, quoted
from pkadvisor.observe.workload import Basis, QueryClass
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import Comparison, conjuncts, properties
from pkadvisor.values import dataclass

# ----------------------------------------------------------------------------------------------------------------------
# Kinds of rows that the group transactions of a log write together.

SHARE_LEAST = 0.1
"""Share of the logged groups from which kinds that they write together are told."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Writes of several kinds that come in one group transaction: in ``groups`` of the ``looked_at`` ones."""

    writes: tuple[str, ...]
    group_by: tuple[str, ...]
    groups: int
    looked_at: int


def joined_kinds(table: DraftTable, classes: Sequence[DraftClass]) -> tuple[Joined, ...]:
    """The kinds that groups of the log write together, where one template writes the PartitionKey of all of them."""
    if table.traffic is None or len(table.kinds) < 2:
        return ()
    counts = _kinds_of_groups(table)
    looked_at, out = sum(counts.values()), []
    by_name = {kind.name: kind for kind in table.kinds}
    for kinds, groups in sorted(counts.items(), key=lambda entry: (-entry[1], sorted(map(str, entry[0])))):
        members = [by_name[name] for name in by_name if name in kinds]
        writes = tuple(
            c.query.name for c in classes if c.kind in kinds and not is_query(c) and c.query.entities_per_request > 1
        )
        shared = _shared_properties(members)
        if len(members) > 1 and len(writes) > 1 and shared and groups >= SHARE_LEAST * looked_at:
            out.append(Joined(writes, shared, groups, looked_at))
    return tuple(out[:1])


def _shared_properties(kinds: Sequence[DraftKind]) -> tuple[str, ...]:
    """The properties of the PartitionKey that all kinds write alike; none where they differ."""
    texts = {format_template(kind.key.partition) for kind in kinds}
    names = part_properties(kinds[0].key.partition)
    alike = all(len({kind.types[name] for kind in kinds}) == 1 for name in names) if len(texts) == 1 else False
    return names if alike else ()


def _kinds_of_groups(table: DraftTable) -> Counter[frozenset[str | None]]:
    """How many of the sampled groups write which kinds; of those whose parts all have keys that some kind writes."""
    assert table.traffic is not None
    parts = [(number, pk, rk) for number, group in enumerate(table.traffic.groups.sample) for _, pk, rk in group]
    schema = {"group": pl.Int64, KEYS[0]: pl.String, KEYS[1]: pl.String}
    left = pl.DataFrame(parts, schema=schema, orient="row")
    kinds: dict[int, set[str | None]] = {}
    for kind in table.kinds:
        own = fits(kind.key, kind.types)
        for number in left.filter(own).get_column("group").unique().to_list():
            kinds.setdefault(number, set()).add(kind.name)
        left = left.filter(~own)
    unknown = set(left.get_column("group").to_list())
    return Counter(frozenset(names) for number, names in kinds.items() if number not in unknown)


_NOT_PROPERTIES = (*KEYS, "timestamp")
_WIDTH = 118


@dataclass(frozen=True, slots=True)
class Answers:
    """What a person said of a table: that its data is all of it, or how many entities there are."""

    sampling: str | None = None
    entities_total: int | None = None


def inferred_notes(table: DraftTable, *, redact: bool = False) -> list[str]:
    """What is said of a table whose design was drafted and not given; ``redact`` hides the fixed text of keys."""
    if not table.kinds:
        return []
    if redact:
        return [f"no design file: keys are taken apart by their looks ({_explained(table)})"]
    keys = " and ".join(str(kind.key) for kind in table.kinds[:3]) + (" …" if len(table.kinds) > 3 else "")
    return [f"no design file: keys are read as {keys} ({_explained(table)}); 'advisor init --from' writes it down"]


_MONTH: Final = re.compile(r"(?P<stem>.*?)_?(?:19|20)[0-9]{2}(?P<month>_?(?:0[1-9]|1[0-2])(?P<day>_?[0-3][0-9])?)?")


def by_period_notes(tables: Sequence[DraftTable]) -> list[str]:
    """For tables whose names differ in a year, a month or a day alone and that have the same keys: that they look like
    one."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for table in tables:
        match = _MONTH.fullmatch(table.name)
        if match and match["stem"] and table.kinds:
            unit = "day" if match["day"] else "month" if match["month"] else "year"
            keys = " and ".join(str(kind.key) for kind in table.kinds)
            alike.setdefault((match["stem"], unit, keys), []).append(table.name)
    return [
        f"{', '.join(names[:-1])} and {names[-1]} have the same keys: they look like one table by {unit}, {stem}, and "
        "need one answer"
        for (stem, unit, _), names in alike.items()
        if len(names) > 1
    ]


def classes_of(drafted: Drafted) -> list[list[DraftClass]]:
    """The classes of each drafted table's log."""
    return [draft_classes(table) for table in drafted.tables]


def design_text(
    drafted: Drafted,
    head: str,
    classes: Sequence[list[DraftClass]],
    answers: Answers | None = None,
    *,
    to_fill_in: bool = False,
) -> str:
    """The design file of some tables and of the classes of each one's log; ``head`` says what it was made from.

    Where no log tells what is asked of a table, requests stand in comments, or with ``to_fill_in`` without their rates:
    then it is no design yet.
    """
    tables = drafted.tables
    lines = [f"# {head}", "# What is measured, counted or deduced comes from these files; correct what is assumed."]
    lines += ["# " + part for note in by_period_notes(tables) for part in wrap(note, _WIDTH - 2)]
    lines += ["schema: 1", "tables:"]
    for table, own, dataset in zip(tables, classes, drafted.datasets, strict=True):
        files = len(dataset.paths) if dataset is not None else 0
        lines += _table(table, own, answers or Answers(), to_fill_in, files)
    for name in drafted.heat_only:
        lines += _line(2, f"{name}: {{}}", "in the log; its data is not among the files")
    return "\n".join(lines) + "\n"


def _line(indent: int, text: str, comment: str = "") -> list[str]:
    """A line with its comment, which goes before a line that is long."""
    shown = " " * indent + text
    if not comment:
        return [shown]
    comment = escaped_for_yaml(" ".join(comment.split()))
    if len(shown) + len(comment) + 4 <= _WIDTH:
        return [f"{shown}  # {comment}"]
    return [*(" " * indent + "# " + part for part in wrap(comment, _WIDTH - indent - 2)), shown]


def _table(table: DraftTable, classes: list[DraftClass], answers: Answers, to_fill_in: bool, files: int) -> list[str]:
    several = len(table.kinds) > 1
    only = table.kinds[0] if len(table.kinds) == 1 else None
    lines = list[str]()
    if several:
        lines += _line(4, "kinds:", f"told apart by their keys; {_explained(table)}")
        for kind in table.kinds:
            lines += _line(6, f"{plain_or_quoted(str(kind.name))}:")
            lines += _keys(kind, table, 8)
            lines += _properties(table, 8, several=True)
            lines += _arrival(arrival(table, kind), 8)
    else:
        lines += _keys(only, table, 4) if only is not None else _line(4, "# partition_key:", _no_keys(table))
        lines += _properties(table, 4, several=False)
    lines += _sampling(sampled(table), answers, table)
    if not several:
        by = arrival(table, only)
        lines += _arrival(by, 4)
        lines += _growth(growth(table, only, by))
    lines += _classes(table, classes, to_fill_in)
    nothing = all(line.lstrip().startswith("#") for line in lines)
    return _line(2, f"{table.name}: {{}}" if nothing else f"{table.name}:", _source(table, files)) + lines


def _source(table: DraftTable, files: int) -> str:
    if table.from_log and table.kinds:
        return f"its {table.looked_at:,} keys are those that the log names"
    if table.data is None:
        return "known from the log alone"
    rows = f"{table.data.rows:,} {'rows' if table.index_rows else 'entities'} in {table.data.name}"
    rows += f" ({files:,} files)" if files > 1 else ""
    return rows + (
        f", of them {_share_of_entities(table):.0%} entities and the rest index rows" if table.index_rows else ""
    )


def _share_of_entities(table: DraftTable) -> float:
    """The share of the rows that are no index rows."""
    return 1 - table.index_rows / table.looked_at if table.looked_at else 1.0


def _explained(table: DraftTable) -> str:
    if table.over_columns:
        return f"the columns make {table.looked_at - table.unexplained:,} of {table.looked_at:,} logged keys"
    rest = f", {table.unexplained:,} fit none" if table.unexplained else ""
    return f"{table.looked_at - table.unexplained:,} of {table.looked_at:,} keys come out exactly{rest}"


def _no_keys(table: DraftTable) -> str:
    if table.looked_at and not table.over_columns:
        return "no template writes these keys: they are taken as they are"
    if table.unexplained_keys:
        lacks = "of which nothing else is known" if table.data is None else "that the data lacks"
        return f"the log names keys {lacks}: say what they are made of, or give an export with its keys"
    return "no keys yet, as far as the files tell"


def _keys(kind: DraftKind, table: DraftTable, indent: int) -> list[str]:
    of = "logged keys" if table.from_log else "exported keys"
    share = f"{kind.exact:,} of {kind.rows:,} {of} come out character for character"
    if table.over_columns:
        share = f"{kind.exact:,} of {kind.rows:,} logged keys are those that the columns make like this"
    elif len(table.kinds) == 1:
        rows = table.looked_at - table.index_rows
        share = f"{kind.exact:,} of {rows:,} {of} ({kind.exact / rows:.1%}) come out exactly"
    shown = f"e.g. '{kind.example[0][:60]}' | '{kind.example[1][:60]}'"
    lines = _line(indent, f"partition_key: {quoted(format_template(kind.key.partition))}", f"inferred: {share}")
    lines += _line(indent, f"row_key: {quoted(format_template(kind.key.row))}", shown)
    for note in kind.notes:
        lines += _line(indent, f"# {note}")
    if kind.parts:
        lines += _line(
            indent, "key_parts:", "pieces of the keys that are no column of the data, with invented names: rename them"
        )
        parts_by_name = tellers(kind.key)
        for name in kind.parts:
            column, _, part = parts_by_name[name]
            text = f"{plain_or_quoted(name)}: {kind.types.get(name, EdmType.STRING).value.lower()}"
            lines += _line(indent + 2, text, f"in {column} as {part}")
    return lines + _index_rows(kind, indent)


def _index_rows(kind: DraftKind, indent: int) -> list[str]:
    """The further rows of an entity, as they were found among the rows of the data."""
    lines: list[str] = []
    for index in kind.index_rows:
        key = index.row.key
        fields = [f"row_key: {quoted(format_template(key.row))}"]
        if key.partition != kind.key.partition:
            fields.insert(0, f"partition_key: {quoted(format_template(key.partition))}")
        fields += [f"copy: {index.row.copy}"] if index.row.copy != "full" else []
        shown = f"{index.rows:,} rows repeat an entity, e.g. '{index.example[0][:40]}' | '{index.example[1][:40]}'"
        swap = "; either row could be the entity's own: swap the keys if it is this one" if index.alike else ""
        lines += _line(indent + 2, f"- {{{', '.join(fields)}}}", f"deduced: {shown}{swap}")
    return [*_line(indent, "index_rows:"), *lines] if lines else []


def _properties(table: DraftTable, indent: int, *, several: bool) -> list[str]:
    data = table.data
    own = [p for p in (data.properties if data is not None else ()) if p.column.name.lower() not in _IGNORED]
    own = [p for p in own if p.column.name and len(p.column.name) <= 255 and p.column.name.isprintable()]
    if not own or several:  # which kind has which columns, the data tell when they are read
        return []
    assert data is not None
    lines = _line(
        indent, "properties:", "types read off all values; people's data: {type: string, sensitive: personal}"
    )
    for p in own:
        column = p.column
        # Index rows count with the others here: what is missing or distinct, 'analyze' tells of the entities alone.
        facts = "" if table.index_rows else shown(p, data)
        lines += _line(indent + 2, f"{plain_or_quoted(column.name)}: {column.edm.value.lower()}", facts)
    likely = likely_keys(table)
    if likely and not table.kinds and table.traffic is None:
        lines += _line(indent, f"# the entities differ most by {', '.join(likely[:3])}: keys begin there")
    return lines


_IGNORED = tuple(name.lower() for name in _NOT_PROPERTIES)


def _sampling(sampled: Sampled, answers: Answers, table: DraftTable) -> list[str]:
    data = table.data
    entities = round(sampled.total * _share_of_entities(table)) if sampled.total is not None else None
    sampling, why = (answers.sampling, "as you said") if answers.sampling else (sampled.sampling, sampled.why)
    total, known = answers.entities_total, "as you said"
    if not total and entities is not None:
        total, most = entities, round(entities * sampled.doubt)
        known = f"estimated, {round(entities / sampled.doubt):,} to {most:,}" if sampled.doubt > 1 else "counted"
    lines = []
    rows = data.rows * _share_of_entities(table) if data is not None else table.looked_at
    if total is not None and total > rows:
        of_what = "the data is" if data is not None else "these keys are"
        lines += _line(4, f"entities_total: {total}", f"{known}: {of_what} a sample of the table")
    elif sampling != "complete" or not sampled.sure:
        lines += _line(4, "# entities_total: 2_000_000", "if the table has more entities than the data")
    if sampled.sure or answers.sampling:
        lines += _line(4, f"sampling: {sampling}", why)
    else:
        lines += _line(4, f"# sampling: {sampling}", f"if the data is the whole table; {why}")
    if sampling == "random-keys" and sampled.by:
        lines += _line(4, f"sampled_by: [{', '.join(map(plain_or_quoted, sampled.by))}]")
    return lines


def _arrival(arrives: Arrival | None, indent: int) -> list[str]:
    if arrives is None:
        return _line(indent, "# arrival: created", "which property tells when an entity came? nothing shows it")
    return _line(indent, f"arrival: {plain_or_quoted(arrives.name)}", arrives.why)


STEEP: Final = 25.0
"""Per cent a month, 15 times a year, from which on a measured growth is that of a table that is being filled."""


def _growth(measured: ArrivalGrowth | None) -> list[str]:
    if measured is None:
        return _line(
            4, "# growth: {rate: 8 %/month, of: new_keys}", "not measured; without it a factor of 3 is assumed"
        )
    if measured.steady:
        why = f"arrivals are steady: {measured.basis}; how much growth is to be planned for?"
        return _line(4, "# growth: {rate: 8 %/month, of: new_keys}", why)
    percent = 100 * (measured.factor - 1)
    if percent < 0:
        why = f"fewer arrive: {measured.basis}; how much growth is to be planned for?"
        return _line(4, "# growth: {rate: 8 %/month, of: new_keys}", why)
    text = f"{{rate: {percent:.1f} %/month, of: new_keys}}"
    if percent > STEEP:
        why = f"too steep to go on for a year: {measured.basis}; how much is to be planned for?"
        return _line(4, f"# growth: {text}", why)
    return _line(4, f"growth: {text}", f"measured by arrival: {measured.basis}")


def _classes(table: DraftTable, classes: list[DraftClass], to_fill_in: bool) -> list[str]:
    if table.traffic is None or not classes or table.unexplained_keys:
        return _undeclared(table, to_fill_in)
    lines: list[str] = []
    unknown = [c for c in classes if (table.from_log or table.data is not None) and _beyond_files(c, table)]
    for one in unknown:
        rate, _ = rate_of(one.query.rate)
        what = f"'{one.query.name}' ({rate}) is left out: no file holds the properties in {one.filter}"
        lines += ["    # " + part for part in wrap(what, _WIDTH - 6)]
    classes = [c for c in classes if c not in unknown]
    queries, writes = [c for c in classes if is_query(c)], [c for c in classes if not is_query(c)]
    for word, group in (("queries", queries), ("writes", writes)):
        if group:
            lines += _line(4, f"{word}:")
        for one in group:
            asked = {name for q in queries if q.kind == one.kind for name in _fixed_by(q.query)}
            lines += _class(one, sorted(asked - {*one.keys, *one.query.sets}))
    return lines + [line for joined in joined_kinds(table, writes) for line in _transaction(joined)]


def _transaction(joined: Joined) -> list[str]:
    names, by = ", ".join(map(quoted, joined.writes)), ", ".join(map(plain_or_quoted, joined.group_by))
    seen = f"measured: {joined.groups:,} of {joined.looked_at:,} logged group transactions write these together"
    lines = [*_line(4, "transactions:"), *_line(6, '- name: "written together"', seen)]
    lines += [*_line(8, f"together: [{names}]"), *_line(8, f"group_by: [{by}]")]
    return lines + _line(8, "required: false", "true refuses every key that would split them")


def _beyond_files(one: DraftClass, table: DraftTable) -> bool:
    """Whether a class names properties that neither a key holds nor the data."""
    known = {name for kind in table.kinds for name in kind.types}
    known |= {*table.data.types, *KEYS} if table.data is not None else set()
    return one.query.filter is not None and not set(properties(one.query.filter)) <= known


def _fixed_by(query: QueryClass) -> list[str]:
    """The properties that a query fixes by equality."""
    parts = conjuncts(query.filter) if query.filter is not None else ()
    return [part.property for part in parts if isinstance(part, Comparison) and part.operator == "eq"]


def _class(one: DraftClass, asked: Sequence[str]) -> list[str]:
    """A query or a write; ``asked`` are properties that queries of its entities name and it does not."""
    query = one.query
    mean, peak = rate_of(query.rate)
    lines = _line(6, f"- name: {quoted(query.name)}")
    if one.kind is not None:
        lines += _line(8, f"kind: {plain_or_quoted(one.kind)}")
    if is_query(one):
        lines += _line(8, f"filter: {quoted(one.filter)}", "; ".join(one.notes))
    else:
        lines += _line(8, f"operation: {query.operation}")
        if str(query.operation) in ("update", "delete") and not one.keys:
            lines += _line(8, f"filter: {quoted(one.filter)}")
        elif str(query.operation) in ("update", "delete"):
            more = f"add {' or '.join(asked)} if the application knows it here: fewer look-ups" if asked else ""
            lines += _line(8, f"key: [{', '.join(map(plain_or_quoted, one.keys))}]", more)
        if query.sets:
            lines += _line(8, f"sets: [{', '.join(map(plain_or_quoted, query.sets))}]", "deduced from the log")
    if query.read_modify_write:
        lines += _line(8, "read_modify_write: true", "deduced: attempts got 412, as the entity had changed")
    whole = query.rate.basis is Basis.COUNTED
    lines += _line(8, f"rate: {mean}", "measured" if whole else "measured, and scaled up to all requests")
    if peak:
        lines += _line(
            8, f"peak: {peak}", f"measured: the busiest minute (busiest second: {query.rate.peak_per_s:g}/s)"
        )
    if is_query(one):
        if query.analytic:
            lines += _line(8, "analytic: true", "assumed of what comes once a day: a report, whose load is not weighed")
        if query.top is not None:
            lines += _line(8, f"top: {query.top}")
        if query.order_by:
            order = ", ".join(f'"{o.property}{" desc" if o.descending else ""}"' for o in query.order_by)
            lines += _line(8, f"order_by: [{order}]", "" if one.order_logged else "the order of the current keys")
        else:
            lines += _line(8, "# order_by: []", "unknown: a log does not tell in which order the caller wants entities")
    elif query.entities_per_request > 1:
        lines += _line(8, f"entities_per_request: {query.entities_per_request:.4g}", "measured: group transactions")
    return lines


def _undeclared(table: DraftTable, to_fill_in: bool) -> list[str]:
    """Requests to be filled in, over what could be asked for."""
    mark = "" if to_fill_in else "# "
    kind = f"kind: {plain_or_quoted(str(table.kinds[0].name))}" if len(table.kinds) > 1 else ""
    rate = "rate:          " if to_fill_in else "rate: 10/s"
    entries = [
        ["- name: first-query", f"  filter: {quoted(likely_filter(table))}"],
        ["- name: new-entity", "  operation: insert"],
    ]
    why = "no log" if table.traffic is None else "no property is known that the log asks for"
    lines = _line(4, f"{mark}queries:", f"{why}: say what is asked of the table, and how often")
    for word, entry in zip(("", "writes:"), entries, strict=True):
        lines += _line(4, f"{mark}{word}") if word else []
        for text in [*entry, *([f"  {kind}"] if kind else []), f"  {rate}"]:
            lines += _line(4, f"{mark}  {text}", "for example: 600/s, 20/min" if text.endswith(rate) else "")
    return lines

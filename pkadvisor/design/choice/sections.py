"""Sections: each table, or entity kind of one, with the data, the log and the declaration that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.observe.workload import Workload
from pkadvisor.table.edm import EdmType
from pkadvisor.table.odata import fit_types
from pkadvisor.values import dataclass

if TYPE_CHECKING:
    from pkadvisor.design.choice.certainty.flips import Turning
    from pkadvisor.design.choice.conflicts import Conflict
    from pkadvisor.design.choice.search import Advice
    from pkadvisor.design.keys.infer import Inference
    from pkadvisor.design.keys.scheme import Key, KeyScheme
    from pkadvisor.design.load.estimates import Bench, CostEstimate
    from pkadvisor.design.rows.samples.screen import PartitionFacts
    from pkadvisor.observe.design_file.declaration import Declaration, KindDeclaration, TableDeclaration
    from pkadvisor.observe.logs.traffic import TableTraffic, Traffic
    from pkadvisor.observe.profile.data_profile import DataProfile
    from pkadvisor.observe.profile.profile_file import ProfileDocument


@dataclass(frozen=True, slots=True)
class Section:
    """One table, or one entity kind of it, ready to be judged."""

    table: str
    kind: str | None
    declared: TableDeclaration | None
    data: DataProfile | None
    traffic: TableTraffic | None
    workload: Workload | None
    """From a profile document: already over properties."""
    design_path: str = ""
    entities_total: int | None = None
    """Entities of the table as the command line says, over what the design file says."""
    siblings: tuple[Section, ...] = field(default=(), repr=False, compare=False)
    """The other kinds of the same table."""

    @property
    def declared_kind(self) -> KindDeclaration | None:
        """What the design file says of the kind; None of a whole table, and where it says nothing."""
        return None if self.declared is None else self.declared.kind_named(self.kind)

    @property
    def own_declaration(self) -> KindDeclaration | TableDeclaration | None:
        """What the design file says of the kind, else of the table."""
        return self.declared_kind or self.declared

    @property
    def declared_total(self) -> int | None:
        """Entities of the whole table, or of the kind, as the command line or the design file says; else None."""
        table, kind = self.declared, self.declared_kind
        declared = (kind.entities_total if kind else None) or (table.entities_total if table else None)
        return self.entities_total or declared

    @property
    def entities(self) -> int:
        """Entities of the whole table, or of the kind, of which the data may hold some; 0 where nobody says."""
        held = self.data.rows if self.data is not None else 0
        return max(held, self.declared_total or held)


@dataclass(frozen=True, slots=True)
class Judged:
    """A section with its answer. ``bench`` and ``advice`` are None where keys cannot be judged; ``why_not`` says
    why."""

    section: Section
    workload: Workload
    bench: Bench | None
    advice: Advice | None
    scheme: KeyScheme | None
    notes: tuple[str, ...]
    why_not: str
    verified_rows: int
    conflicts: tuple[Conflict, ...] = ()
    """Where no design holds every constraint: which of them contradict each other."""
    named: tuple[KeyScheme, ...] = ()
    """Schemes that the user named: they take part in the ranking and are shown wherever they end."""
    turning: Turning | None = None
    """What would put another scheme before the recommended one."""
    give: str = ""
    """Where keys cannot be judged: what to give, so that they can."""
    warnings: tuple[str, ...] = ()
    """What the reader must know before the verdict."""
    counted: tuple[tuple[Key, PartitionFacts], ...] = ()
    """Main keys whose partitions were counted over every row, where only a sample was looked at closely."""

    def ranking(self) -> tuple[CostEstimate, ...]:
        """The ranking as it is numbered: the keys in use have no number of their own."""
        advice = self.advice
        if advice is None:
            return ()
        return tuple(c for c in advice.ranking if c is advice.recommended or c is not advice.current)


def sections_of(
    tables: Sequence[str],
    declaration: Declaration | None,
    data: Sequence[DataProfile],
    traffic: Traffic | None,
    documents: Sequence[tuple[str, ProfileDocument]],
) -> list[Section]:
    """One section per table and kind. A data set belongs to the table or kind of its name, or to the only one there
    is."""
    declared = {t.name: t for t in (declaration.tables if declaration else ())}
    logged = {t.name: t for t in (traffic.tables if traffic else ())}
    profiled = [t for _, document in documents for t in document.tables]
    wanted = {name.lower() for name in tables}
    for name in tables:
        known = [*declared, *logged]
        if known and name.lower() not in {k.lower() for k in known}:
            raise UsageError(
                f"there is no table '{name}'",
                where="--table",
                fix=did_you_mean(name, known) or f"there are {', '.join(known)}",
            )
    if len(declared) == 1 and len({t.table for t in profiled}) == 1:
        profiled = [replace(t, table=next(iter(declared))) for t in profiled]  # one of each: they belong together
    names = list(dict.fromkeys([*declared, *(t.table for t in profiled if t.table and not declared), *logged]))
    if declared and logged:
        folded = {n.lower(): n for n in declared}
        names = [n for n in names if n in declared or n.lower() not in folded]
    if not names:
        names = [_table_name(d) for d in data[:1]] or ["Table"]
    sections: list[Section] = []
    for name in names:
        if wanted and name.lower() not in wanted:
            continue
        table = declared.get(name)
        log = next((t for t in logged.values() if t.name.lower() == name.lower()), None)
        kinds: list[str | None] = [k.name for k in table.kinds] if table and table.kinds else [None]
        if kinds == [None] and len(data) > 1 and len(names) == 1 and all(d.kind for d in data):
            kinds = [d.kind for d in data]
        for kind in kinds:
            rows = _data_for(name, kind, data, only=len(names) == 1 and len(kinds) == 1, alone=len(declared) <= 1)
            seen = next((t for t in profiled if t.table in ("", name) and t.kind == kind), None)
            workload = seen.workload if seen else None
            profile = rows or (seen.data if seen else None)
            own = table.of_kind(kind) if table is not None else None
            sections.append(Section(name, kind, own, profile, log, workload, declaration.path if declaration else ""))
    unknown = [t.table for t in profiled if t.table and t.table not in names]
    if unknown and len(unknown) == len(profiled):
        fix = did_you_mean(unknown[0], names) or f"the design has {', '.join(names)}"
        raise UsageError(f"the profile holds a table '{unknown[0]}' that the design does not name", fix=fix)
    used = {id(s.data) for s in sections}
    stray = [d for d in data if id(d) not in used]
    if stray and sections:
        fix = f"name it kind=PATH with a table or kind of the design: {', '.join(names)}"
        raise UsageError(f"no table or kind belongs to the data set '{stray[0].name}'", fix=fix)
    return [
        replace(s, siblings=tuple(o for o in sections if o.table == s.table and o is not s)) if s.kind else s
        for s in sections
    ]


def _table_name(data: DataProfile) -> str:
    stem = "".join(ch for ch in data.name.split(".")[0].title() if ch.isalnum())
    return stem if len(stem) >= 3 and stem[0].isalpha() else "Table"


def _data_for(
    table: str, kind: str | None, data: Sequence[DataProfile], *, only: bool, alone: bool
) -> DataProfile | None:
    wanted = (kind or table).lower()
    data = [profile for profile in data if profile.table.lower() in ("", table.lower())]
    for profile in data:
        if profile.kind is not None and profile.kind.lower() == wanted:
            return profile
    for profile in data:
        if profile.kind is None and profile.name.split("/")[-1].split(".")[0].lower() == wanted:
            return profile
    if only and len(data) == 1:
        return data[0]
    return data[0] if alone and len(data) == 1 and kind is None else None


def observed(
    section: Section, fitted_to: Mapping[str, EdmType] | None = None
) -> tuple[Workload, KeyScheme | None, tuple[str, ...]]:
    """(the workload over properties, the current design, notes).

    Constants of filters are in the types of the data, or in those of ``fitted_to``.
    """
    table, notes = section.declared, list[str]()
    types = types_of(section)
    known = types if section.data is not None else None
    scheme = declared_keys(table, known, section.design_path, _example_of(section), kind=section.kind)
    declared = for_kind(table.workload, section.kind) if table else None
    if section.traffic is not None:
        from pkadvisor.design.rows.decode import observe
        from pkadvisor.design.rows.logged.shapes import requests_in

        own = _own_traffic(section, scheme, types)
        every, alone = requests_in(section.traffic), not section.siblings
        seen = observe(own, scheme, types, declared, every, one_kind=alone, data=section.data)
        notes += seen.notes
        foreign = seen.workload.foreign
        if 2 * foreign.requests > foreign.logged:
            what = f"{foreign.requests:,} of {foreign.logged:,} logged requests of {section.table} do not fit its keys"
            raise UsageError(what, where=section.design_path, fix="correct partition_key, row_key and index_rows in it")
        workload = seen.workload
        if scheme is not None:
            from pkadvisor.design.rows.strange_values import strange_requests

            notes = [*strange_requests(workload, section.data, section.entities), *notes]
    elif section.workload is not None:
        names = {c.name for c in section.workload.classes}
        extra = tuple(c for c in declared.classes if c.name not in names) if declared else ()
        base = declared or section.workload
        workload = replace(
            base,
            classes=(*section.workload.classes, *extra),
            instances=section.workload.instances,
            came=section.workload.came,
            hidden=True,
            minutes=section.workload.minutes,
            busy=section.workload.busy,
            bursts_refused=section.workload.bursts_refused,
        )
    else:
        workload = declared or Workload(section.table, ())
    if wanted := fitted_to or types:
        fitted = tuple(
            replace(c, filter=fit_types(c.filter, wanted)) if c.filter is not None else c for c in workload.classes
        )
        workload = replace(workload, classes=fitted)
    return workload, scheme, tuple(notes)


def declared_values(section: Section) -> dict[str, int]:
    """How many values the properties of a table or kind are declared to have at the most."""
    return dict(own.distinct) if (own := section.own_declaration) else {}


def sensitivity_of(section: Section) -> dict[str, str]:
    """``personal`` or ``secret`` by property, as the design declares it for a table or kind."""
    return dict(own.sensitive) if (own := section.own_declaration) else {}


def _own_traffic(section: Section, scheme: KeyScheme | None, types: Mapping[str, EdmType]) -> TableTraffic:
    """The log of a table, of one with several kinds the requests that name this kind, or of which the keys or the
    properties are its own."""
    from pkadvisor.design.rows.kind_traffic import traffic_of_entities, traffic_of_kind, traffic_of_name

    assert section.traffic is not None
    names = {other.kind or "": types_of(other) for other in section.siblings}
    traffic = traffic_of_name(section.traffic, section.kind or "", types, names)
    others = []
    for other in section.siblings if scheme is not None else ():
        known = types_of(other)
        keys = declared_keys(other.declared, known or None, other.design_path, kind=other.kind)
        if keys is not None:
            others.append((keys, known))
    if scheme is None or not others:
        return traffic_of_entities(traffic, scheme, types)
    return traffic_of_entities(traffic_of_kind(traffic, (scheme, types), others), scheme, types)


def for_kind(workload: Workload, kind: str | None) -> Workload:
    """The classes and transactions of one kind."""
    if kind is None:
        return workload
    queries = tuple(c for c in workload.classes if c.kind in (None, kind))
    names = {c.name for c in queries}
    groups = tuple(t for t in workload.transactions if set(t.together) <= names)
    return replace(workload, classes=queries, transactions=groups)


def types_of(section: Section) -> dict[str, EdmType]:
    """The types of a section's properties: those of its data, else the declared ones."""
    return declared_types(section) if section.data is None else dict(section.data.types)


def declared_types(section: Section) -> dict[str, EdmType]:
    """The types that the design file declares for a table or kind."""
    return dict(own.properties) if (own := section.own_declaration) else {}


def _example_of(section: Section) -> Callable[[str], object]:
    """A value of a property from the data; None where there is none to show."""

    def example(name: str) -> object:
        data = section.data
        if data is None or name in data.hashed or name not in data.sample.columns:
            return None
        values = data.sample.get_column(name).drop_nulls()
        return values[0] if len(values) else None

    return example


def declared_keys(
    table: TableDeclaration | None,
    known: Mapping[str, EdmType] | None,
    path: str,
    examples: Callable[[str], object] = lambda name: None,
    *,
    kind: str | None = None,
) -> KeyScheme | None:
    """The design in place, if the file names one; errors name the ``kind`` whose keys they are."""
    if table is None or table.partition_key is None or table.row_key is None:
        return None
    from pkadvisor.design.keys.scheme import IndexRow, Key, KeyScheme, check_types
    from pkadvisor.design.keys.template import parse_template

    owner = table.name if kind is None else f"{table.name}, kind {kind}"

    def parts(text: Any, what: str) -> Any:
        where = f"{path}:{text.line}:{text.column} ({what} of {owner})"
        transforms = parse_template(text.text, known=known, where=where)
        check_types(transforms, dict(known or {}), where, examples)
        return transforms

    main = Key(parts(table.partition_key, "partition_key"), parts(table.row_key, "row_key"))
    rows = tuple(
        IndexRow(
            Key(
                parts(row.partition_key, "partition_key") if row.partition_key else main.partition,
                parts(row.row_key, "row_key"),
            ),
            row.copy,
        )
        for row in table.index_rows
    )
    for part in (*main.partition, *main.row):
        if part.function == "each":
            what = f"{part} makes a row for each value, and an entity has one main key"
            where = f"{path}:{table.partition_key.line}:{table.partition_key.column} ({owner})"
            raise UsageError(what, where=where, fix="put it under index_rows")
    return KeyScheme(main, rows, "current")


def inferred(section: Section, rows: int | None = None) -> Inference:
    """The shape of the keys that a data set carries."""
    from pkadvisor.design.keys.infer import infer_keys
    from pkadvisor.observe.profile.profile import POSITION

    assert section.data is not None
    frame = section.data.sample.sort(POSITION).drop(POSITION, "#hash")
    return infer_keys(frame if rows is None else frame.head(rows), section.data.types)


def keys_in_use(section: Section) -> KeyScheme | None:
    """The declared keys of a section; None where there are none."""
    known = types_of(section) if section.data is not None else None
    return declared_keys(section.declared, known, section.design_path, kind=section.kind)

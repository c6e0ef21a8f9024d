"""From the checked shape of a table to its declaration: what several values of the file say together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pkadvisor.errors import UsageError, did_you_mean
from pkadvisor.numbers import MONTH_S
from pkadvisor.observe.design_file import declaration_model as model
from pkadvisor.observe.design_file.declaration import (
    ARRIVAL_FILE_ORDER,
    DeclaredKeys,
    KindDeclaration,
    Sampling,
    TableDeclaration,
)
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_
from pkadvisor.observe.design_file.declared_names import DeclaredNames
from pkadvisor.observe.workload import (
    Draw,
    DrawBy,
    Growth,
    GrowthOf,
    Operation,
    OrderBy,
    Pair,
    QueryClass,
    Rate,
    Transaction,
    Workload,
)
from pkadvisor.table import odata
from pkadvisor.table.edm import EdmType

_GROWTH_MAX = 1e9


class TableBuilder(DeclaredNames):
    """Turns one table's model into its declaration, collecting the properties it names."""

    def __init__(self, document: Document, name: str, table: model.TableModel) -> None:
        super().__init__(document)
        self.name = name
        self.given = table
        self.table = table = table.with_shared_properties()
        self.at: Path_ = ("tables", name)
        self.types: dict[str, dict[str, EdmType]] = {
            kind: {n: p.type for n, p in _every(part).items()} for kind, part in table.kinds.items()
        }

    def declaration(self) -> TableDeclaration:
        table, at = self.table, self.at
        keys = self.keys_of(table, at, None)
        self.property_names(self.given.properties, (*at, "properties"))
        kinds = self.kinds(keys)
        keys = keys if keys.partition and keys.row else DeclaredKeys()
        self.key_parts(table, at, keys)
        self.arrival(table.arrival, at, None)
        return TableDeclaration(
            name=self.name,
            partition_key=keys.partition,
            row_key=keys.row,
            index_rows=keys.index_rows,
            entities_total=self.entities_total(kinds),
            sampling=Sampling(table.sampling or "complete"),
            sampling_stated=table.sampling is not None,
            arrival=table.arrival,
            kinds=kinds,
            workload=self.workload(),
            consistency=self.consistency(),
            mentions=tuple(self.mentions),
            retry=table.retry,
            **_stated(table),
        )

    # --- the table itself -----------------------------------------------------------------------------------------

    def kinds(self, of_table: DeclaredKeys) -> tuple[KindDeclaration, ...]:
        table, at = self.table, self.at
        if table.kinds and table.key_parts:
            what, fix = "a table with kinds has its key_parts under each kind", "move them to kinds.<Kind>.key_parts"
            raise self.document.error((*at, "key_parts"), what, fix, at_key=True)
        result = []
        for name, kind in table.kinds.items():
            here = (*at, "kinds", name)
            self.check_name(name, here, "kind", at_key=True)
            self.property_names(self.given.kinds[name].properties, (*here, "properties"))
            self.arrival(kind.arrival, here, name)
            keys = self.keys_of(kind, here, of_table)
            self.key_parts(kind, here, keys)
            result.append(
                KindDeclaration(
                    name=name,
                    entities_total=kind.entities_total,
                    arrival=kind.arrival or table.arrival,
                    keys=keys,
                    sampling=None if kind.sampling is None else Sampling(kind.sampling),
                    **_stated(kind),
                )
            )
        return tuple(result)

    def entities_total(self, kinds: tuple[KindDeclaration, ...]) -> int | None:
        """The declared total; with a total for every kind, their sum."""
        totals = [kind.entities_total for kind in kinds]
        declared = self.table.entities_total
        counted = [total for total in totals if total is not None]
        complete = bool(kinds) and len(counted) == len(totals)
        if declared is not None and (sum(counted) > declared or (complete and sum(counted) != declared)):
            what = f"entities_total is {declared:,}, but its kinds have {sum(counted):,}"
            raise self.document.error((*self.at, "entities_total"), what, "leave it out: the sum of the kinds is taken")
        return sum(counted) if declared is None and complete else declared

    def consistency(self) -> str:
        text = self.table.consistency
        if text is not None and not text.strip():
            what = "consistency is empty"
            fix = "say how copies are kept consistent, e.g. a queue with idempotent steps; or remove it"
            raise self.document.error((*self.at, "consistency"), what, fix, at_key=True)
        return (text or "").strip()

    def property_names(self, properties: Iterable[str], at: Path_) -> None:
        for name in properties:
            if not name or len(name) > 255 or not name.isprintable():
                what = "a property name has 1 to 255 printable characters"
                raise self.document.error((*at, name), what, at_key=True)

    def key_parts(self, part: model.TableModel | model.KindModel, at: Path_, keys: DeclaredKeys) -> None:
        """Refuse key parts that no key holds, and those that are declared as columns as well."""
        self.property_names(part.key_parts, (*at, "key_parts"))
        templates = "".join(placed.text for placed in (keys.partition, keys.row) if placed is not None)
        for name in part.key_parts:
            here = (*at, "key_parts", name)
            if name in part.properties:
                fix = "remove it from one of the two: a key part is not a column of the data"
                raise self.document.error(here, f"'{name}' is in properties as well", fix, at_key=True)
            if not re.search(rf"\{{[^{{}}]*{re.escape(name)}[^{{}}]*\}}", templates):
                fix = "name it in partition_key or row_key, or remove it"
                raise self.document.error(here, f"no key holds the key part '{name}'", fix, at_key=True)

    def arrival(self, arrival: str | None, at: Path_, kind: str | None) -> None:
        if arrival is not None and arrival != ARRIVAL_FILE_ORDER:
            self.mention(arrival, "arrival", (*at, "arrival"), kind)

    # --- properties named -----------------------------------------------------------------------------------------

    # --- workload -------------------------------------------------------------------------------------------------

    def workload(self) -> Workload:
        table, at = self.table, self.at
        classes: list[QueryClass] = []
        names: dict[str, str] = {}
        groups: tuple[tuple[str, Sequence[model.QueryModel | model.WriteModel]], ...] = (
            ("queries", table.queries),
            ("writes", table.writes),
        )
        for group, parts in groups:
            for i, part in enumerate(parts):
                here = (*at, group, i)
                with self.collected():
                    self.check_name(part.name, (*here, "name"), "class")
                    if part.name in names:
                        what = f"the name '{part.name}' appears twice among queries and writes"
                        raise self.document.error((*here, "name"), what, "give each class its own name")
                    names[part.name] = group
                    classes.append(self.query_class(part, here))
        for role in ("isolation", "erase_by"):
            if (name := getattr(table, role)) is not None:
                self.mention(name, role, (*at, role), None)
        for i, name in enumerate(table.sampled_by):
            self.mention(name, "sampled_by", (*at, "sampled_by", i), None)
        return Workload(
            table=self.name,
            classes=tuple(classes),
            transactions=tuple(t.of_requests(classes) for t in self.transactions(names)),
            growth=self.growth(),
            retention_s=table.retention,
            isolation=table.isolation,
            erase_by=table.erase_by,
        )

    def query_class(self, part: model.QueryModel | model.WriteModel, at: Path_) -> QueryClass:
        kind = self.kind_of(part, at)
        parsed = self.filter_of(part, at, kind)
        common: dict[str, Any] = {
            "name": part.name,
            "filter": parsed,
            "rate": self.rate_of(part, at),
            "kind": kind,
            "latency_goal_ms_p99": part.p99,
            "draw": self.draw(part, at, kind),
        }
        if isinstance(part, model.WriteModel):
            operation = Operation(part.operation)
            if part.sets and operation not in (Operation.UPDATE, Operation.UPSERT):
                what = f"'{part.name}' is {_an(part.operation)} and sets no properties"
                raise self.document.error((*at, "sets"), what, "remove sets", at_key=True)
            if part.read_modify_write and operation is Operation.INSERT:
                what = f"'{part.name}' is an insert: there is nothing to read before"
                raise self.document.error((*at, "read_modify_write"), what, "remove it", at_key=True)
            self.mention_all(part.sets, f"'{part.name}' (sets)", (*at, "sets"), kind)
            return QueryClass(
                **common,
                operation=operation,
                sets=tuple(dict.fromkeys(part.sets)),
                read_modify_write=part.read_modify_write,
                entities_per_request=part.entities_per_request,
            )
        return QueryClass(
            **common,
            operation=Operation.QUERY,
            order_by=self.order_by(part.order_by, (*at, "order_by"), part.name, kind),
            top=part.top,
            analytic=part.analytic,
        )

    def kind_of(self, part: model.QueryModel | model.WriteModel, at: Path_) -> str | None:
        kinds = tuple(self.table.kinds)
        if part.kind is None:
            if len(kinds) > 1:
                what = f"'{part.name}' does not say which kind of entity it is about"
                raise self.document.error(at, what, f"add kind: {' | '.join(kinds[:6])}")
            return kinds[0] if kinds else None
        if part.kind not in kinds:
            fix = did_you_mean(part.kind, kinds) or (
                f"kinds: {', '.join(kinds[:6])}" if kinds else "declare it in kinds"
            )
            raise self.document.error((*at, "kind"), f"unknown kind '{part.kind}'", fix)
        return part.kind

    def rate_of(self, part: model.QueryModel | model.WriteModel, at: Path_) -> Rate:
        peak = part.rate if part.peak is None else part.peak
        if peak < part.rate:
            what = f"the peak of '{part.name}' ({peak:g}/s) is below its mean rate ({part.rate:g}/s)"
            raise self.document.error((*at, "peak"), what, "peak is the highest rate to plan for")
        if part.peak_at is not None and part.peak is None:
            what = f"'{part.name}' says when its peak is, and not how high"
            raise self.document.error((*at, "peak_at"), what, "add peak, e.g. peak: 600/s", at_key=True)
        return Rate(mean_per_s=part.rate, peak_per_s=peak, peak_at=part.peak_at)

    def filter_of(self, part: model.QueryModel | model.WriteModel, at: Path_, kind: str | None) -> odata.Filter | None:
        if isinstance(part, model.WriteModel):
            located = part.operation in ("update", "delete")
            if part.key:
                self.mention_all(part.key, f"'{part.name}' (key)", (*at, "key"), kind)
            if not located:
                if part.filter is not None:
                    what = f"'{part.name}' is {_an(part.operation)}: it carries the entity itself"
                    raise self.document.error((*at, "filter"), what, "remove filter", at_key=True)
                return None
            if (part.filter is None) == (part.key is None) or not (part.key or (part.filter or "").strip()):
                what = f"'{part.name}' is {_an(part.operation)} and needs either a filter or a key"
                raise self.document.error(at, what, "say which entity: filter: \"id eq '{id}'\", or key: [id]")
            if part.key:
                types = self.types[kind] if kind else {n: p.type for n, p in _every(self.table).items()}
                equal = tuple(
                    odata.Comparison(name, odata.Operator.EQ, odata.Parameter(name, types.get(name)))
                    for name in dict.fromkeys(part.key)
                )
                return equal[0] if len(equal) == 1 else odata.And(equal)
        text = part.filter or ""
        if not text.strip():
            return None
        here = (*at, "filter")
        try:
            parsed = odata.parse_filter(text, parameters=True, limit=None)  # how many is judged with the rest
        except odata.FilterSyntaxError as error:
            width = error.excerpt.rpartition("\n")[2].count("^")
            raise self.document.error_within(here, error.column, max(1, width), error.what, error.fix) from None
        except UsageError as error:
            raise self.document.error(here, error.what, error.fix) from None
        self.mention_in_filter(parsed, text, here, kind, f"'{part.name}'")
        return parsed

    def order_by(self, items: list[str], at: Path_, name: str, kind: str | None) -> tuple[OrderBy, ...]:
        result = []
        for i, item in enumerate(items):
            if item.startswith("-"):  # as other query languages write a falling order
                raise self.document.error((*at, i), f"'{item}' is not a sort key", f"write '{item[1:].strip()} desc'")
            match = re.fullmatch(r"\s*(\S+)(?:\s+(asc|desc))?\s*", item)
            if match is None:
                what = f"'{item}' is not a sort key"
                raise self.document.error((*at, i), what, "write a property, or a property and desc")
            self.mention(match[1], f"'{name}' (order_by)", (*at, i), kind, asked=True)
            result.append(OrderBy(match[1], match[2] == "desc"))
        return tuple(result)

    def draw(self, part: model.QueryModel | model.WriteModel, at: Path_, kind: str | None) -> Draw:
        given = part.draw
        if given is None:
            return Draw()
        here = (*at, "draw")
        shown = [key for key in ("zipf", "weight", "newest") if getattr(given, key) is not None]
        by = given.by or (shown[0] if shown else None)
        if by is None:
            raise self.document.error(here, "draw does not say how", f"add by: {' | '.join(_DRAW_KEYS)}")
        allowed = _DRAW_KEYS[by]
        present = [key for key in ("of", "zipf", "weight", "newest", "window") if getattr(given, key) not in (None, [])]
        for key in present:
            if key not in allowed:
                raise self.document.error((*here, key), f"draw by {by} has no {key}", "remove it", at_key=True)
        for key in allowed:
            if key not in present:
                raise self.document.error(here, f"draw by {by} needs {key}", f"e.g. {_DRAW_EXAMPLES[by]}")
        role = f"'{part.name}' (draw)"
        of = tuple(dict.fromkeys(given.of or ()))
        self.mention_all(given.of or (), role, (*here, "of"), kind, asked=True)
        if given.weight is not None:
            self.mention(given.weight, role, (*here, "weight"), kind, asked=True)
        if by == "newest":
            arrival = (self.table.kinds[kind].arrival if kind else None) or self.table.arrival
            if arrival in (None, ARRIVAL_FILE_ORDER):
                what = "draw by newest needs to know when each entity arrived"
                raise self.document.error(here, what, "add arrival: with a time column to the table")
        return Draw(
            by=DrawBy(by),
            of=of,
            exponent=given.zipf or 0.0,
            column=given.weight or "",
            share=given.newest if given.newest is not None else 1.0,
            window_s=given.window or 0.0,
            stated=True,
        )

    def transactions(self, names: Mapping[str, str]) -> tuple[Transaction, ...]:
        result: dict[str, Transaction] = {}
        for i, part in enumerate(self.table.transactions):
            with self.collected():
                if part.name in result:
                    here = (*self.at, "transactions", i, "name")
                    raise self.document.error(here, f"the name '{part.name}' appears twice", "rename one")
                result[part.name] = self.transaction(part, (*self.at, "transactions", i), names)
        return tuple(result.values())

    def transaction(self, part: model.TransactionModel, here: Path_, names: Mapping[str, str]) -> Transaction:
        writes = tuple(name for name, group in names.items() if group == "writes")
        self.check_name(part.name, (*here, "name"), "transaction")
        if part.pair is None and "group_by" not in part.model_fields_set:
            what, fix = (
                f"'{part.name}' does not say what belongs together",
                "add group_by: [property, …], or a pair",
            )
            raise self.document.error(here, what, fix)
        for key in ("together",) if part.pair is not None else ("together", "group_by"):
            if not getattr(part, key):
                what = f"{key} of '{part.name}' is empty"
                raise self.document.error((*here, key), what, "name at least one", at_key=True)
        for j, name in enumerate(part.together):
            if name not in writes:
                what = f"'{name}' is {'a query' if name in names else 'no write of this table'}"
                fix = did_you_mean(name, writes) or f"writes: {', '.join(writes) or 'none'}"
                raise self.document.error((*here, "together", j), what, fix)
        self.mention_all(part.group_by, f"'{part.name}' (group_by)", (*here, "group_by"), None)
        together, group_by = (tuple(dict.fromkeys(p)) for p in (part.together, part.group_by))
        pair = self.pair(part, here)
        return Transaction(part.name, together, group_by, part.required, pair=pair)

    def pair(self, part: model.TransactionModel, at: Path_) -> Pair | None:
        """The two parameters of one property; errors name the line."""
        if part.pair is None:
            return None
        here = (*at, "pair")
        if part.group_by:
            what = f"'{part.name}' has both group_by and pair"
            raise self.document.error(here, what, "keep one: a pair has no value in common", at_key=True)
        names = list(part.pair)
        if len(names) != 2:
            what = f"pair of '{part.name}' has {len(names)} parameter{'' if len(names) == 1 else 's'}, not two"
            raise self.document.error(here, what, _PAIR_EXAMPLE, at_key=True)
        first, second = part.pair.values()
        if first != second:
            what = f"pair of '{part.name}' is of two properties, {first} and {second}"
            raise self.document.error((*here, names[1]), what, f"name one property twice, {_PAIR_EXAMPLE}")
        kinds = dict.fromkeys(c.kind for c in self.table.writes if c.name in part.together)
        if len(kinds) > 1:
            what = f"'{part.name}' is a pair of {first}, and its writes are of {' and '.join(map(str, kinds))}"
            raise self.document.error((*at, "together"), what, "name writes of one kind", at_key=True)
        for name in names:
            self.mention(first, f"'{part.name}' (pair)", (*here, name), next(iter(kinds)))
        return Pair(first, (names[0], names[1]))

    def growth(self) -> Growth | None:
        given = self.table.growth
        if given is None:
            return None
        months = 12.0 if given.horizon is None else given.horizon / MONTH_S
        try:
            growth = Growth(given.rate, GrowthOf(given.of), months)
            if growth.factor <= _GROWTH_MAX:
                return growth
        except OverflowError:
            pass
        raise self.document.error(
            (*self.at, "growth"), "grows more than 1e9-fold over its horizon", "check both numbers"
        )


_PAIR_EXAMPLE = "e.g. pair: {from: account, to: account}"
_DRAW_KEYS = {
    "entities": (),
    "distinct": ("of",),
    "zipf": ("zipf", "of"),
    "weight": ("weight",),
    "newest": ("newest", "window"),
}
_DRAW_EXAMPLES = {
    "distinct": "draw: {by: distinct, of: [event, age]}",
    "zipf": "draw: {zipf: 1.1, of: [channel]}",
    "weight": "draw: {weight: visits}",
    "newest": "draw: {newest: 0.8, window: 1h}",
}


def _an(operation: str) -> str:
    return f"{'a' if operation == 'delete' else 'an'} {operation}"


def _every(part: model.TableModel | model.KindModel) -> dict[str, model.PropertyModel]:
    """The properties in columns and those in keys."""
    return {**part.properties, **part.key_parts}


def _stated(part: model.TableModel | model.KindModel) -> dict[str, Any]:
    """What a table and a kind say alike of their properties."""
    properties = _every(part)

    def given(name: str) -> tuple[tuple[str, Any], ...]:
        return tuple((n, getattr(p, name)) for n, p in properties.items() if getattr(p, name) is not None)

    return {
        "properties": given("type"),
        "sizes": given("size"),
        "sensitive": given("sensitive"),
        "distinct": given("distinct"),
        "sampled_by": tuple(part.sampled_by),
        "key_parts": tuple(part.key_parts),
    }

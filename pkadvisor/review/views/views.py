"""A design as it is reviewed: what its file declares, put together with what a profile tells.

Without data there are keys, plans and declared rates. With data a table is priced once, when the first fact asks for
it; the search for better keys runs only where a finding proposes some.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pkadvisor.design.choice.sections import Judged, Section, declared_keys, declared_types, observed
from pkadvisor.design.keys.conditions import conditions
from pkadvisor.design.keys.key_terms import KeysThemselves
from pkadvisor.design.keys.scheme import KeyScheme
from pkadvisor.design.keys.transforms import time_unit
from pkadvisor.design.plan.access_plan import Access, AccessPlan
from pkadvisor.design.plan.plan import FINE_PERIODS, bounded, plan
from pkadvisor.errors import UsageError
from pkadvisor.observe.design_file.declaration_yaml import Document, Path_
from pkadvisor.observe.workload import Operation, QueryClass, Workload
from pkadvisor.review.views.as_sent import AS_SENT, beginnings_known, names_keys, over_properties, plan_as_sent
from pkadvisor.review.views.lenient_reading import as_shown, shown, without, without_forbidden, without_keys
from pkadvisor.review.views.stressed import Stressed, keys_of
from pkadvisor.table.edm import KEYS, EdmType
from pkadvisor.table.odata import MAX_COMPARISONS, comparison_count, mismatches

if TYPE_CHECKING:
    from pkadvisor.design.evidence.given import Ground
    from pkadvisor.design.load.estimates import Bench, Budget, ClassCost, CostEstimate, Violation
    from pkadvisor.design.rows.population import Population
    from pkadvisor.limits import Limits
    from pkadvisor.observe.data.dataset import Dataset
    from pkadvisor.observe.design_file.declaration import Declaration
    from pkadvisor.review.views.findings import FilePlace

PROMISED = KeysThemselves()
"""What a design is taken to promise where no data tells better: texts sort as they stand, and nothing is missing."""


class DesignView:
    """A design file as it is reviewed: its declaration, its document, and a view of each table or kind."""

    def __init__(
        self,
        name: str,
        declaration: Declaration,
        document: Document,
        sections: list[tuple[Section, Dataset | None]],
        limits: Limits,
        *,
        has_profile: bool = False,
        unmatched: tuple[str, ...] = (),
        budgets: tuple[Budget, ...] = (),
    ) -> None:
        self.name = name
        """The path as it is shown, with forward slashes."""
        self.declaration = declaration
        self.document = document
        self.limits = limits
        self.has_profile = has_profile
        self.unmatched = unmatched
        """Tables of the profile that no design of the project names."""
        self.profiled: tuple[str, ...] = ()
        """All tables of the profile, where no other design is reviewed."""
        self.budgets = budgets
        """Bounds that every table is compared with."""
        self.declared_elsewhere: Mapping[str, tuple[str, str]] | None = None
        """Tables in lower case that a design file before it declares: the path of that file and the keys in it."""
        self.stressed: tuple[Stressed, ...] = ()
        """What stress tests measured, of whatever tables and keys."""
        self.tables = tuple(TableView(self, section, dataset) for section, dataset in sections)

    @cached_property
    def together(self) -> Mapping[int, CostEstimate]:
        """The estimate of each priced table, by its identity, beside the other tables and kinds of the account."""
        priced = [t for t in self.tables if t.has_data and t.estimate is not None and t.bench is not None]
        if not priced:
            return {}
        from pkadvisor.design.choice.several_kinds.given_keys import GivenKeys, together

        given = [GivenKeys(t.section, t.bench, (t.estimate,)) for t in priced]  # type: ignore[arg-type]
        unpriced = [t.section for t in self.tables if not t.has_data]
        priced_together, _ = together(given, unpriced, self.limits)
        return {id(t): group.schemes[0][0] for t, group in zip(priced, priced_together, strict=True)}

    def compare_with(self, old: DesignView) -> None:
        """Take the keys of another design as those that were in use before; the load stays that of this one."""
        tables = {(t.section.table.lower(), t.section.kind): t for t in old.tables}
        for table in self.tables:
            table.before = tables.get((table.section.table.lower(), table.section.kind))

    def place(self, path: Path_, *, at_key: bool = False, within: tuple[int, int] | None = None) -> FilePlace:
        """The place of a value of the file, or of some characters ``within`` its text: (from which, how many)."""
        from pkadvisor.review.views.findings import FilePlace

        span = self.document.span(path, at_key=at_key) if within is None else self.document.span_within(path, *within)
        line, column, end_line, end_column = span
        return FilePlace(line, column, end_line, end_column, self.document.line(line))


class TableView:
    """A table, or one kind of entity in it: keys, plans without data, and with data what they cost.

    ``before``: the keys of the design that it is compared with; the load is the same for both.
    """

    def __init__(self, design: DesignView, section: Section, dataset: Dataset | None) -> None:
        self.design = design
        self.section = section
        self.dataset = dataset
        self.limits = design.limits
        self.before: TableView | None = None

    @property
    def declared(self) -> Any:
        """The table as the design file declares it."""
        assert self.section.declared is not None
        return self.section.declared

    @property
    def keys_declared(self) -> tuple[Any, ...]:
        """The templates of PartitionKey, RowKey and index rows with their places: equal where kinds share them."""
        declared = self.section.declared
        return () if declared is None else (declared.partition_key, declared.row_key, declared.index_rows)

    @cached_property
    def declared_types(self) -> dict[str, EdmType]:
        """The types that the design file declares."""
        return declared_types(self.section)

    @cached_property
    def types(self) -> dict[str, EdmType]:
        """Declared types, and for the other properties those that the data shows.

        A text such as '00123' looks like a number in a CSV file, so what is declared counts more.
        """
        data = self.section.data
        return {**(dict(data.types) if data is not None else {}), **self.declared_types}

    @cached_property
    def _looks_different(self) -> bool:
        """Whether the data shows another type than the declared one for any property."""
        data = self.section.data
        return data is not None and any(data.types.get(n, edm) is not edm for n, edm in self.declared_types.items())

    @cached_property
    def scheme(self) -> KeyScheme | None:
        """The keys in use. Characters that no key may have are taken out of its texts: a rule names them."""
        return self._keys[0]

    @cached_property
    def _keys(self) -> tuple[KeyScheme | None, str]:
        declared = self.section.declared
        if declared is None or declared.partition_key is None or declared.row_key is None:
            return None, "the design names no partition_key and row_key"
        allowed = replace(
            declared,
            partition_key=without_forbidden(declared.partition_key),
            row_key=without_forbidden(declared.row_key),
            index_rows=tuple(
                replace(r, partition_key=without_forbidden(r.partition_key), row_key=without_forbidden(r.row_key))
                for r in declared.index_rows
            ),
        )
        return declared_keys(allowed, None, self.design.name), ""

    @cached_property
    def workload(self) -> Workload:
        """Declared classes, and those of the profile."""
        section = self.section
        if section.traffic is None:  # a log names keys, which are read by what they are made of
            section = replace(section, declared=without_keys(section.declared))
        return observed(section, self.types)[0]

    def plans_under(self, query: QueryClass, scheme: KeyScheme) -> tuple[AccessPlan, ...]:
        """The ways in which a scheme can serve a class, best access first; empty for inserts."""
        if query.operation in (Operation.INSERT, Operation.UPSERT):
            return ()
        if names_keys(query):
            plans = tuple(self._in_order_as_sent(query, p, scheme) for p in plan_as_sent(query, self.types))
        else:
            plans = bounded(self._all_plans(query, scheme), query)
        ordered = bool(query.order_by)
        return tuple(
            sorted(
                plans,
                key=lambda p: (p.access.rank, p.buckets, len(p.unserved), ordered and not p.order_served, p.via),
            )
        )

    def _in_order_as_sent(self, query: QueryClass, plan: AccessPlan, scheme: KeyScheme) -> AccessPlan:
        """The plan of a request as it stands, which ends at its ``$top`` where the rows lie in the wanted order."""
        over = over_properties(query, plan, scheme, self.types) if query.top and not plan.unserved else None
        by_properties = self._all_plans(over, scheme)[:1] if over is not None and scheme is not AS_SENT else ()
        return replace(plan, order_served=True, top=query.top) if any(p.order_served for p in by_properties) else plan

    def _all_plans(self, query: QueryClass, scheme: KeyScheme) -> tuple[AccessPlan, ...]:
        wanted = conditions(query.filter)
        return plan(query, wanted, beginnings_known(scheme, wanted.ranges), self.types, PROMISED)

    def back_unit(self, query: QueryClass) -> str | None:
        """The day, hour or shorter period that a query can only go back by, for what it fixes beside the time; None
        where it is served otherwise, or where the periods are longer."""
        plan, scheme = self.plan_of(query), self.scheme
        if plan is None or scheme is None or names_keys(query) or query.filter is None:
            return None
        way = plan if plan.back else None
        if plan.access is Access.TABLE_SCAN:
            way = next((p for p in self._all_plans(query, scheme) if p.back), None)
        unit = time_unit(way.periods.format) if way is not None and way.periods is not None else None
        return unit if unit in FINE_PERIODS else None

    @cached_property
    def _plans(self) -> dict[str, tuple[AccessPlan, ...]]:
        scheme = self.scheme
        return {
            c.name: self.plans_under(c, scheme or AS_SENT)
            for c in self.workload.classes
            if scheme is not None or names_keys(c)
        }

    def plans_of(self, query: QueryClass) -> tuple[AccessPlan, ...]:
        """The ways in which the keys in use can serve a class, best access first."""
        return self._plans.get(query.name, ())

    def plan_of(self, query: QueryClass) -> AccessPlan | None:
        """How the keys in use serve a class: with data the cheapest plan, else the one of the best access.

        A filter that names PartitionKey or RowKey is one request, as it stands.
        """
        cost = None if names_keys(query) else self.cost_of(query)
        plans = self.plans_of(query)
        if cost is not None and cost.plan is not None:
            scanned = cost.plan.access is Access.TABLE_SCAN
            ranges = conditions(query.filter).ranges
            if scanned and self.scheme is not None and beginnings_known(self.scheme, ranges) != self.scheme:
                return plans[0] if plans else None
            if self._looks_different:  # the order of texts is not that of the numbers that they look like
                sent = (cost.plan.via, cost.plan.back, cost.plan.access)
                return next((p for p in plans if (p.via, p.back, p.access) == sent), cost.plan)
            return cost.plan
        return plans[0] if plans else None

    # --- with data ------------------------------------------------------------------------------------------------

    @property
    def has_data(self) -> bool:
        """Whether a profile or data set tells what the entities are like."""
        return self.section.data is not None

    @cached_property
    def unpriced(self) -> frozenset[str]:
        """Names of the classes that no data can price: they name keys, properties that the data does not have or
        constants of another type, or they are longer than the service takes. Their plans are known all the same."""
        data, declared = self.section.data, self.section.declared
        if data is None:
            return frozenset()
        own = self.scheme.main.properties if self.scheme else ()
        names = {c.name for c in self.workload.classes if set(names_keys(c)) - set(own)}
        for query in self.workload.classes:
            if query.filter is not None and (
                mismatches(query.filter, self.types)
                or mismatches(as_shown(query.filter, data.types), data.types)
                or comparison_count(query.filter) > min(MAX_COMPARISONS, self.limits.filter_comparisons)
            ):
                names.add(query.name)
        strange = [
            m.role
            for m in (declared.mentions if declared else ())
            if m.name not in data.types and m.name not in KEYS and m.kind in (None, self.section.kind)
        ]
        return frozenset(names | {c.name for c in self.workload.classes if any(f"'{c.name}'" in r for r in strange)})

    @cached_property
    def _priced(self) -> Section:
        """The section without the classes that the keys in use give no true price for, so that the rest has one."""
        return self._section_without(self.unpriced)

    def _section_without(self, gone: frozenset[str]) -> Section:
        section = self.section
        declared, data = section.declared, section.data
        if data is not None and declared is not None and self._looks_different:
            declared = replace(declared, workload=shown(declared.workload, data.types))
            section = replace(section, declared=declared)
        if not gone:
            return section
        if declared is not None:
            mentions = tuple(m for m in declared.mentions if not any(f"'{name}'" in m.role for name in gone))
            declared = replace(declared, workload=without(declared.workload, gone), mentions=mentions)
        workload = None if section.workload is None else without(section.workload, gone)
        return replace(section, declared=declared, workload=workload)

    @cached_property
    def _prepared(self) -> tuple[Bench | None, str]:
        if self.section.data is None:
            return None, "there is no profile of this table"
        if self.scheme is None:
            return None, self._keys[1]
        from pkadvisor.design.choice.prepared import prepared

        try:
            return prepared(self._priced, self.limits, self.dataset)[0], ""
        except UsageError as error:
            return None, str(error.what)

    @property
    def stressed(self) -> Stressed | None:
        """What a stress test measured of this table under these keys; None where there was none."""
        if self.scheme is None:
            return None
        keys, name, kind = keys_of(self.scheme), self.section.table.lower(), self.section.kind
        mine = (s for s in self.design.stressed if (s.table.lower(), s.kind, s.keys) == (name, kind, keys))
        return next(mine, None)

    @property
    def bench(self) -> Bench | None:
        """What keys of this table are measured on."""
        return self._prepared[0]

    @cached_property
    def population(self) -> Population | None:
        """The rows at hand, also where no workload is declared; None without data."""
        data = self.section.data
        if data is None or self.bench is not None:
            return self.bench.population if self.bench is not None else None
        from pkadvisor.design.rows.coded_rows import Sizes
        from pkadvisor.design.rows.population import Population
        from pkadvisor.observe.profile.profile import POSITION

        sizes = {
            p.column.name: Sizes(
                p.characters / max(1, p.column.present),
                p.characters_max,
                p.largest,
                p.column.present / max(1, data.rows),
            )
            for p in data.properties
        }
        frame = data.sample.sort(POSITION).drop(POSITION, "#hash")
        return Population(frame, data.types, total=data.rows, complete=data.complete, sizes=sizes, hashed=data.hashed)

    @property
    def why_not_priced(self) -> str:
        """Why there is no estimate; empty where there is one."""
        return self._prepared[1]

    @cached_property
    def estimate(self) -> CostEstimate | None:
        """What the keys in use cost; None without data, keys or workload."""
        return None if self.scheme is None else self.estimate_of(self.scheme)

    @property
    def told(self) -> CostEstimate | None:
        """The figures of the keys in use as every command tells them: beside the other tables and kinds."""
        return self.design.together.get(id(self))

    @property
    def refused(self) -> tuple[Violation, ...]:
        """The constraints that the keys in use break at the declared peak or after declared growth."""
        return tuple(v for v in self.told.violations if not v.assumed) if self.told is not None else ()

    @cached_property
    def grounds(self) -> tuple[Ground, ...]:
        """What the figures of the keys in use rest on; none without data, keys or workload."""
        if self.estimate is None or self.bench is None:
            return ()
        from pkadvisor.design.evidence.grounds import grounds_under

        return grounds_under(self.estimate, self.bench, self.section)

    def estimate_of(self, scheme: KeyScheme) -> CostEstimate | None:
        """What other keys of this table would cost under its load."""
        if self.bench is None:
            return None
        from pkadvisor.design.cost.cost import estimate

        return estimate(scheme, self.bench)

    @cached_property
    def estimate_before(self) -> CostEstimate | None:
        """What the keys that were in use before would cost under the load of today; None where that is not known."""
        old = self.before.scheme if self.before is not None else None
        if old is None or self.section.data is None:
            return None
        if old == self.scheme:
            return self.estimate
        known = set(self.section.data.types)
        named = {p for key, _ in old.each_key() for part in (*key.partition, *key.row) for p in part.properties}
        return self.estimate_of(old) if named <= known else None

    def cost_of(self, query: QueryClass) -> ClassCost | None:
        """The cost of one class under the keys in use, told of its best plan beside a scan of the table."""
        return self._costs.get(query.name)

    @cached_property
    def _costs(self) -> dict[str, ClassCost]:
        if self.section.data is None or self.estimate is None:
            return {}
        return {c.name: self._as_keys_serve(c) for c in self.estimate.classes}

    def _as_keys_serve(self, cost: ClassCost) -> ClassCost:
        """A class that scans the table only since the sample is so small, along the keys that are there to serve it."""
        bench, scheme = self.bench, self.scheme
        if cost.plan is None or cost.plan.access is not Access.TABLE_SCAN or bench is None or scheme is None:
            return cost
        from pkadvisor.design.cost.class_cost import preference
        from pkadvisor.design.cost.plan_reads import read

        demand = next(d for d in bench.demands if d.query.name == cost.name)
        plans = plan(demand.query, demand.conditions, scheme, bench.population.types, bench.population)
        served = [p for p in plans if p.access is not Access.TABLE_SCAN]
        if not served:
            return cost
        best = min((read(p, demand, scheme, bench) for p in served), key=preference)
        cost = replace(cost, plan=best.plan, entities_read=best.entities, entities_read_max=best.entities_max)
        if cost.operation is not Operation.QUERY:
            return cost
        return replace(
            cost,
            entities_returned=best.returned,
            requests=best.requests,
            fan_out=best.fan_out,
            round_trips=best.round_trips,
            continuations=best.continuations,
            range_ends=best.range_ends,
        )

    @cached_property
    def judged(self) -> Judged | None:
        """The search for better keys: seconds of work, and only where somebody asks."""
        if self.bench is None:
            return None
        from pkadvisor.design.choice.judge import judge

        return judge(self._section_without(self.unpriced), self.limits, self.dataset, detailed=False)

    def raw_text(self, row: int, is_partition: bool) -> str:
        """A key template as the file has it."""
        declared = self.declared
        keys = declared if row == 0 else declared.index_rows[row - 1]
        placed = keys.partition_key if is_partition else keys.row_key
        return placed.text if placed is not None else ""
